// Jacobi iteration on a square plate that is divided into stripes of rows. In each step a stripe
// puts its first and its last row into memory of its neighbours, by persistent channels.
//
//     stripes [how many]
#include <towpath/chare.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>

constexpr int size = 48, steps = 200;
towpath::ReadOnly<int> stripes;

using Row = std::vector<double>;

// The rows of a step, from those of the step before and the rows above and below them.
void update(std::vector<Row> &rows, const Row &above, const Row &below) {
    auto old = rows;
    for (std::size_t row = 0; row < rows.size(); ++row) {
        const Row &upper = row == 0 ? above : old[row - 1];
        const Row &lower = row + 1 == rows.size() ? below : old[row + 1];
        for (int column = 1; column < size - 1; ++column)
            rows[row][column] = 0.25 * (upper[column] + lower[column] + old[row][column - 1] +
                                        old[row][column + 1]);
    }
}

enum Side { above, below };

struct Stripe : towpath::Chare<Stripe> {
    using Channel = towpath::PersistentChannel<Stripe, double>;
    std::vector<Row> rows;
    // Memory for the rows of both neighbours, and their memory for those of this stripe. A
    // neighbour may be one step ahead, so even and odd steps have their own.
    Row rims[2][2];
    Channel neighbours[2][2];
    towpath::Mailbox<Side, int, Channel> opened;
    towpath::Mailbox<> put;

    Stripe() : rows(size / stripes, Row(size, 0.0)) {
        for (auto &of_side : rims)
            for (auto &rim : of_side)
                rim.assign(size, 0.0);
        // The upper rim of the plate is hot.
        if (index() == 0)
            rims[above][0] = rims[above][1] = Row(size, 100.0);
    }

    bool has(Side side) const { return side == above ? index() > 0 : index() + 1 < stripes; }

    towpath::Task<> solve(towpath::Callback solved) {
        int sides = 0;
        for (Side side : {above, below}) {
            if (!has(side))
                continue;
            ++sides;
            auto neighbour = all()[index() + (side == above ? -1 : 1)];
            for (int turn : {0, 1})
                neighbour.send<&Stripe::opened>(side == above ? below : above, turn,
                                                open_channel(rims[side][turn]));
        }
        for (int at = 0; at < 2 * sides; ++at) {
            auto [side, turn, channel] = co_await opened.receive();
            neighbours[side][turn] = channel;
        }
        for (int step = 0; step < steps; ++step) {
            int turn = step % 2;
            towpath::SendOptions with_step{.reference = static_cast<std::uint32_t>(step)};
            if (has(above))
                neighbours[above][turn].put_with<&Stripe::put>(with_step, rows.front());
            if (has(below))
                neighbours[below][turn].put_with<&Stripe::put>(with_step, rows.back());
            for (int at = 0; at < sides; ++at)
                co_await put.receive(with_step.reference);
            update(rows, rims[above][turn], rims[below][turn]);
        }
        contribute(towpath::set, std::pair(index(), rows), solved);
    }
};

int main(int argc, char **argv) {
    return towpath::run([=]() -> towpath::Task<> {
        stripes = argc > 1 ? std::atoi(argv[1]) : 6;
        if (stripes < 1 || size % stripes != 0)
            throw towpath::Error("the number of stripes must divide " + std::to_string(size));
        towpath::Future<towpath::Set<std::pair<int, std::vector<Row>>>> solved;
        towpath::create_array<Stripe>({stripes}).send<&Stripe::solve>(solved.callback());
        auto parts = co_await solved;
        std::vector<Row> plate(size, Row(size, 0.0));
        for (int step = 0; step < steps; ++step)
            update(plate, Row(size, 100.0), Row(size, 0.0));
        bool is_right = parts.values.size() == static_cast<std::size_t>(stripes);
        for (const auto &[stripe, rows] : parts.values)
            for (std::size_t row = 0; row < rows.size(); ++row)
                is_right = is_right && rows[row] == plate[stripe * rows.size() + row];
        std::printf("stripes: %d are %s\n", int(stripes), is_right ? "right" : "wrong");
        towpath::exit(is_right ? 0 : 1);
    });
}
