// Jacobi iteration on a square plate whose rim is hot on one side. The plate is an array of blocks;
// in each step every block exchanges its edges with its neighbours, and all learn how much the
// plate has changed.
//
//     jacobi2d [blocks in each direction]
#include <towpath/chare.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>

constexpr int size = 48;
constexpr double tolerance = 1e-3;
towpath::ReadOnly<int> blocks;

// A rectangle of points, and a rim of one point around it.
struct Grid {
    int rows = 0, columns = 0;
    std::vector<double> values;

    Grid() = default;
    Grid(int rows, int columns)
        : rows(rows), columns(columns), values((rows + 2) * (columns + 2), 0.0) {}

    double &at(int row, int column) { return values[row * (columns + 2) + column]; }
    double at(int row, int column) const { return values[row * (columns + 2) + column]; }

    void heat_upper_rim() {
        for (int column = 0; column < columns + 2; ++column)
            at(0, column) = 100.0;
    }

    // One step; how much the point that changed most has changed.
    double update() {
        Grid old = *this;
        double change = 0;
        for (int row = 1; row <= rows; ++row)
            for (int column = 1; column <= columns; ++column) {
                double mean = 0.25 * (old.at(row - 1, column) + old.at(row + 1, column) +
                                      old.at(row, column - 1) + old.at(row, column + 1));
                change = std::max(change, std::abs(mean - old.at(row, column)));
                at(row, column) = mean;
            }
        return change;
    }
};

struct Point {
    int row, column;
    double value;
};

enum Side { upper, lower, left, right };

struct Block : towpath::Chare<Block, std::array<int, 2>> {
    Grid grid;
    int first_row, first_column;
    towpath::Mailbox<Side, towpath::View<const double>> edges;

    Block() {
        int rows = size / blocks, columns = size / blocks;
        grid = Grid(rows, columns);
        first_row = index()[0] * rows;
        first_column = index()[1] * columns;
        if (index()[0] == 0)
            grid.heat_upper_rim();
    }

    towpath::Task<> solve(towpath::Callback solved) {
        double change = tolerance;
        for (std::uint32_t step = 0; change >= tolerance; ++step) {
            int neighbours = send_edges(step);
            for (int edge = 0; edge < neighbours; ++edge) {
                auto [side, values] = co_await edges.receive(step);
                set_rim(side, values);
            }
            change = co_await reduce(towpath::maximum, grid.update());
        }
        contribute(towpath::concatenation, points(), solved);
    }

    // Sends edges to all neighbours; how many there are.
    int send_edges(std::uint32_t step) {
        auto [row, column] = index();
        return send_edge(row - 1, column, lower, row_of(1), step) +
               send_edge(row + 1, column, upper, row_of(grid.rows), step) +
               send_edge(row, column - 1, right, column_of(1), step) +
               send_edge(row, column + 1, left, column_of(grid.columns), step);
    }

    // Sends values to a block, which has them on this side of its rim, if there is such a block.
    int send_edge(int row, int column, Side side, const std::vector<double> &values,
                  std::uint32_t step) {
        if (row < 0 || row >= blocks || column < 0 || column >= blocks)
            return 0;
        all()[{row, column}].with({.reference = step}).send<&Block::edges>(side, values);
        return 1;
    }

    std::vector<double> row_of(int row) const {
        std::vector<double> values;
        for (int column = 1; column <= grid.columns; ++column)
            values.push_back(grid.at(row, column));
        return values;
    }

    std::vector<double> column_of(int column) const {
        std::vector<double> values;
        for (int row = 1; row <= grid.rows; ++row)
            values.push_back(grid.at(row, column));
        return values;
    }

    void set_rim(Side side, towpath::View<const double> values) {
        for (int at = 0; at < static_cast<int>(values.size()); ++at)
            switch (side) {
            case upper: grid.at(0, at + 1) = values[at]; break;
            case lower: grid.at(grid.rows + 1, at + 1) = values[at]; break;
            case left: grid.at(at + 1, 0) = values[at]; break;
            case right: grid.at(at + 1, grid.columns + 1) = values[at]; break;
            }
    }

    std::vector<Point> points() const {
        std::vector<Point> points;
        for (int row = 1; row <= grid.rows; ++row)
            for (int column = 1; column <= grid.columns; ++column)
                points.push_back({first_row + row, first_column + column, grid.at(row, column)});
        return points;
    }
};

// Whether the points are those of a plate that one loop computes, and all of them.
bool is_right(const std::vector<Point> &points) {
    Grid plate(size, size);
    plate.heat_upper_rim();
    while (plate.update() >= tolerance) {
    }
    for (auto &[row, column, value] : points)
        if (value != plate.at(row, column))
            return false;
    return points.size() == size * size;
}

int main(int argc, char **argv) {
    return towpath::run([=]() -> towpath::Task<> {
        blocks = argc > 1 ? std::atoi(argv[1]) : 4;
        if (blocks < 1 || size % blocks != 0)
            throw towpath::Error("the number of blocks must divide " + std::to_string(size));
        towpath::Future<std::vector<Point>> solved;
        auto plate = towpath::create_array<Block>({blocks, blocks});
        plate.send<&Block::solve>(solved.callback());
        bool right = is_right(co_await solved);
        std::printf("jacobi2d with %d x %d blocks is %s\n", blocks.get(), blocks.get(),
                    right ? "right" : "wrong");
        towpath::exit(right ? 0 : 1);
    });
}
