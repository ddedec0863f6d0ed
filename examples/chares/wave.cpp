// Waves in a square basin, by the 2-D wave equation. The basin is an array of strips, each of which
// exchanges its first and last row with the strips beside it. The end is a picture.
//
//     wave [strips [picture]]
#include <towpath/chare.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

constexpr int size = 128;
constexpr std::uint32_t steps = 150;
towpath::ReadOnly<int> strips;

// Rows of the basin, from one row above the first to one row below the last.
struct Rows {
    int first, count;
    std::vector<double> before, now;

    Rows(int first, int count) : first(first), count(count), before((count + 2) * size) {
        for (int row = 0; row < count + 2; ++row)
            for (int column = 0; column < size; ++column)
                before[row * size + column] = initial(first + row - 1, column);
        now = before;
    }

    // A drop has fallen in.
    static double initial(int row, int column) {
        double x = row - 0.3 * size, y = column - 0.4 * size;
        return std::max(0.0, 1.0 - (x * x + y * y) / 64.0);
    }

    double *row(int at) { return now.data() + at * size; }

    // One step of the wave equation; the water rests at the rim.
    void update() {
        constexpr double courant = 0.25;
        std::vector<double> next(now.size());
        for (int at = 1; at <= count; ++at) {
            if (first + at - 1 == 0 || first + at - 1 == size - 1)
                continue;
            for (int column = 1; column < size - 1; ++column) {
                int here = at * size + column;
                double bend = now[here - 1] + now[here + 1] + now[here - size] + now[here + size] -
                              4.0 * now[here];
                next[here] = 2.0 * now[here] - before[here] + courant * bend;
            }
        }
        before = std::move(now);
        now = std::move(next);
    }
};

struct Strip : towpath::Chare<Strip> {
    Rows rows;
    towpath::Mailbox<towpath::View<const double>> from_above, from_below;

    Strip() : rows(index() * (size / strips), size / strips) {}

    towpath::Task<> run(towpath::Callback picture) {
        bool has_above = index() > 0, has_below = index() + 1 < strips;
        for (std::uint32_t step = 0; step < steps; ++step) {
            if (has_above)
                all()[index() - 1].with({.reference = step})
                    .send<&Strip::from_below>(std::span(rows.row(1), size));
            if (has_below)
                all()[index() + 1].with({.reference = step})
                    .send<&Strip::from_above>(std::span(rows.row(rows.count), size));
            if (has_above) {
                auto [row] = co_await from_above.receive(step);
                std::ranges::copy(row, rows.row(0));
            }
            if (has_below) {
                auto [row] = co_await from_below.receive(step);
                std::ranges::copy(row, rows.row(rows.count + 1));
            }
            rows.update();
        }
        contribute(towpath::sum, part(), picture);
    }

    // The basin, which is zero but for the rows of this strip.
    std::vector<double> part() {
        std::vector<double> basin(size * size);
        std::copy(rows.row(1), rows.row(rows.count + 1), basin.begin() + rows.first * size);
        return basin;
    }
};

void write_picture(const char *file, const std::vector<double> &basin) {
    std::ofstream picture(file, std::ios::binary);
    picture << "P5 " << size << ' ' << size << " 255\n";
    for (double height : basin)
        picture.put(static_cast<char>(std::clamp(128.0 + 512.0 * height, 0.0, 255.0)));
    if (!picture.flush())
        throw towpath::Error(std::string("the picture ") + file + " cannot be written");
}

std::vector<double> sequential() {
    Rows rows(0, size);
    for (std::uint32_t step = 0; step < steps; ++step)
        rows.update();
    return {rows.row(1), rows.row(size + 1)};
}

int main(int argc, char **argv) {
    const char *file = argc > 2 ? argv[2] : "wave.pgm";
    return towpath::run([=]() -> towpath::Task<> {
        strips = argc > 1 ? std::atoi(argv[1]) : 8;
        if (strips < 1 || size % strips != 0)
            throw towpath::Error("the number of strips must divide " + std::to_string(size));
        towpath::Future<std::vector<double>> picture;
        auto basin = towpath::create_array<Strip>({strips});
        basin.send<&Strip::run>(picture.callback());
        std::vector<double> heights = co_await picture;
        write_picture(file, heights);
        bool right = heights == sequential();
        std::printf("wave with %d strips is %s, see %s\n", strips.get(), right ? "right" : "wrong",
                    file);
        towpath::exit(right ? 0 : 1);
    });
}
