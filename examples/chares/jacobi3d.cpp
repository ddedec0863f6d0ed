// Jacobi iteration in a cube whose boundary is hot on one face. Blocks exchange their faces in each
// step; only in every tenth do they ask how much the cube has changed, so some are ahead of others
// in between, and take the faces by the number of the step.
//
//     jacobi3d [blocks in each direction]
#include <towpath/chare.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>

constexpr int size = 24;
constexpr double tolerance = 1e-2;
constexpr std::uint32_t check_interval = 10;
towpath::ReadOnly<int> blocks;

using Position = std::array<int, 3>;

// A cube of points, and one layer of points around it.
struct Grid {
    int edge = 0;
    std::vector<double> values;

    Grid() = default;
    explicit Grid(int edge) : edge(edge), values((edge + 2) * (edge + 2) * (edge + 2), 0.0) {}

    int offset(const Position &at) const {
        return (at[0] * (edge + 2) + at[1]) * (edge + 2) + at[2];
    }
    double &operator[](const Position &at) { return values[offset(at)]; }
    double operator[](const Position &at) const { return values[offset(at)]; }

    // Calls a function with all points of the layer where one coordinate has this value.
    void for_layer(int dimension, int layer, auto function) const {
        Position at;
        at[dimension] = layer;
        int &i = at[(dimension + 1) % 3], &j = at[(dimension + 2) % 3];
        for (i = 1; i <= edge; ++i)
            for (j = 1; j <= edge; ++j)
                function(at);
    }

    std::vector<double> layer(int dimension, int layer) const {
        std::vector<double> face;
        for_layer(dimension, layer, [&](const Position &at) { face.push_back((*this)[at]); });
        return face;
    }

    void set_layer(int dimension, int layer, const double *face) {
        for_layer(dimension, layer, [&](const Position &at) { (*this)[at] = *face++; });
    }

    void heat_lowest_layer() { set_layer(0, 0, std::vector<double>(edge * edge, 100.0).data()); }

    // One step; how much the point that changed most has changed.
    double update() {
        const Grid old = *this;
        double change = 0;
        for (int layer = 1; layer <= edge; ++layer)
            for_layer(0, layer, [&](const Position &at) {
                double total = 0;
                for (int dimension = 0; dimension < 3; ++dimension)
                    for (int direction : {-1, 1}) {
                        Position next = at;
                        next[dimension] += direction;
                        total += old[next];
                    }
                (*this)[at] = total / 6;
                change = std::max(change, std::abs(total / 6 - old[at]));
            });
        return change;
    }
};

struct Block : towpath::Chare<Block, Position> {
    Grid grid;
    // Dimension, the layer of the receiver that it is, values.
    towpath::Mailbox<int, int, towpath::View<const double>> faces;

    Block() : grid(size / blocks) {
        if (index()[0] == 0)
            grid.heat_lowest_layer();
    }

    towpath::Task<> solve(towpath::Callback solved) {
        double change = tolerance;
        for (std::uint32_t step = 1; change >= tolerance; ++step) {
            int neighbours = send_faces(step);
            for (int face = 0; face < neighbours; ++face) {
                auto [dimension, layer, values] = co_await faces.receive(step);
                grid.set_layer(dimension, layer, values.data());
            }
            double changed_here = grid.update();
            if (step % check_interval == 0)
                change = co_await reduce(towpath::maximum, changed_here);
        }
        contribute(towpath::concatenation, points(), solved);
    }

    // Sends faces to all neighbours; how many there are.
    int send_faces(std::uint32_t step) {
        int neighbours = 0;
        for (int dimension = 0; dimension < 3; ++dimension)
            for (int direction : {-1, 1}) {
                Position neighbour = index();
                neighbour[dimension] += direction;
                if (neighbour[dimension] < 0 || neighbour[dimension] >= blocks)
                    continue;
                ++neighbours;
                int ours = direction < 0 ? 1 : grid.edge;
                int theirs = direction < 0 ? grid.edge + 1 : 0;
                all()[neighbour].with({.reference = step})
                    .send<&Block::faces>(dimension, theirs, grid.layer(dimension, ours));
            }
        return neighbours;
    }

    struct Point {
        Position position;
        double value;
    };

    std::vector<Point> points() const {
        std::vector<Point> points;
        for (int layer = 1; layer <= grid.edge; ++layer)
            grid.for_layer(0, layer, [&](const Position &at) {
                Position position = at;
                for (int dimension = 0; dimension < 3; ++dimension)
                    position[dimension] += index()[dimension] * grid.edge;
                points.push_back({position, grid[at]});
            });
        return points;
    }
};

// Whether the points are those of a cube that one loop computes, and all of them.
bool is_right(const std::vector<Block::Point> &points) {
    Grid cube(size);
    cube.heat_lowest_layer();
    double change = tolerance;
    for (std::uint32_t step = 1; change >= tolerance; ++step) {
        double changed = cube.update();
        if (step % check_interval == 0)
            change = changed;
    }
    for (auto &[position, value] : points)
        if (value != cube[position])
            return false;
    return points.size() == size * size * size;
}

int main(int argc, char **argv) {
    return towpath::run([=]() -> towpath::Task<> {
        blocks = argc > 1 ? std::atoi(argv[1]) : 3;
        if (blocks < 1 || size % blocks != 0)
            throw towpath::Error("the number of blocks must divide " + std::to_string(size));
        towpath::Future<std::vector<Block::Point>> solved;
        auto cube = towpath::create_array<Block>({blocks, blocks, blocks});
        cube.send<&Block::solve>(solved.callback());
        bool right = is_right(co_await solved);
        std::printf("jacobi3d with %d blocks in each direction is %s\n", blocks.get(),
                    right ? "right" : "wrong");
        towpath::exit(right ? 0 : 1);
    });
}
