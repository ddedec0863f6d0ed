// A matrix times a vector: blocks in two dimensions, and sections for their rows and columns.
//
//     matrix [blocks in each direction]
#include <towpath/chare.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>

constexpr int size = 96;

double element(int row, int column) { return (row * 31 + column * 17) % 13 - 6.0; }
double input(int column) { return column % 7 - 3.0; }

using Values = std::vector<double>;
using Extremes = towpath::Results<double, double, std::vector<towpath::Statistics>>;

struct Block : towpath::Chare<Block, std::array<int, 2>> {
    int extent = 0;
    towpath::Section<Block> row;
    towpath::Callback multiplied;

    Block() = default;
    explicit Block(int extent) : extent(extent) {}
    void serialize(auto &archive) { archive & extent & row & multiplied; }

    // A member contributes to a section once it has had a message that was sent to it.
    void join_row(const towpath::Section<Block> &joined, const towpath::Callback &done) {
        row = joined;
        multiplied = done;
    }

    // All blocks of a column get this part of the vector, and a row adds up what its blocks make.
    void multiply(towpath::View<const double> part) {
        auto [down, right] = index();
        Values product;
        for (int i = down * extent; i < (down + 1) * extent; ++i) {
            product.push_back(0);
            int column = right * extent;
            for (double value : part)
                product.back() += element(i, column++) * value;
        }
        contribute(row, towpath::sum, product, multiplied);
    }

    void describe(towpath::Callback done) {
        auto [down, right] = index();
        Values all;
        for (int at = 0; at < extent * extent; ++at)
            all.push_back(element(down * extent + at / extent, right * extent + at % extent));
        auto [least, most] = std::ranges::minmax(all);
        contribute(towpath::tuple_of(towpath::minimum, towpath::maximum, towpath::statistics),
                   std::tuple(least, most, all), done);
    }
};

// What differs from the product of a sequential loop.
double error_of(const Values &result, int first_row) {
    double error = 0;
    for (int row = first_row; double value : result) {
        double expected = 0;
        for (int column = 0; column < size; ++column)
            expected += element(row, column) * input(column);
        error = std::max(error, std::abs(value - expected));
        ++row;
    }
    return error;
}

towpath::Task<double> multiply(towpath::CollectionProxy<Block> matrix, int blocks) {
    int extent = size / blocks;
    std::vector<towpath::Future<Values>> rows(static_cast<std::size_t>(blocks));
    for (int down = 0; const auto &result : rows) {
        auto row = matrix.section_between({down, 0}, {down + 1, blocks});
        row.send<&Block::join_row>(row, result.callback());
        ++down;
    }
    co_await towpath::quiescence();
    for (int right = 0; right < blocks; ++right) {
        Values part;
        for (int at = 0; at < extent; ++at)
            part.push_back(input(right * extent + at));
        auto column = matrix.section_between({0, right}, {blocks, right + 1});
        column.send<&Block::multiply>(part);
    }
    double error = 0;
    for (int row = 0; const auto &result : rows) {
        error = std::max(error, error_of(co_await result, row));
        row += extent;
    }
    co_return error;
}

int main(int argc, char **argv) {
    int blocks = argc > 1 ? std::atoi(argv[1]) : 4;
    return towpath::run([blocks]() -> towpath::Task<> {
        if (blocks < 1 || size % blocks != 0)
            throw towpath::Error("the number of blocks must divide " + std::to_string(size));
        auto matrix = towpath::create_array<Block>({blocks, blocks}, size / blocks);
        double error = co_await multiply(matrix, blocks);
        towpath::Future<Extremes> described;
        matrix.send<&Block::describe>(described.callback());
        auto [least, most, places] = co_await described;
        bool is_right = error == 0 && least == -6 && most == 6 &&
                        places[0].count == static_cast<std::uint64_t>(blocks * blocks);
        std::printf("matrix with %d x %d blocks is %s\n", blocks, blocks,
                    is_right ? "right" : "wrong");
        towpath::exit(is_right ? 0 : 1);
    });
}
