// The program uses MPI itself, before, while and after chares run.
#include "check.hpp"

#include <mpi.h>

using namespace towpath;

int sum_of_ranks() {
    int mine = 0, all = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &mine);
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

struct Branch : Chare<Branch> {
    // Every branch calls this: a collective operation of MPI within a method.
    void collective(Callback done) { contribute(maximum, sum_of_ranks(), done); }
    // A message of MPI from one rank to the next, while chares send others.
    void ring(Callback done) {
        int next = (rank() + 1) % ranks(), previous = (rank() + ranks() - 1) % ranks();
        int mine = rank() * rank(), got = -1;
        MPI_Request request;
        MPI_Irecv(&got, 1, MPI_INT, previous, 5, MPI_COMM_WORLD, &request);
        all()[next].send<&Branch::nothing>();
        MPI_Send(&mine, 1, MPI_INT, next, 5, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        contribute(sum, got, done);
    }
    void nothing() {}
    // The rows of a matrix without its first column, and every second of its elements.
    void matrix(View<const double> column, View<const int> halves, Callback done) {
        CHECK(column.size() == COUNT && halves.size() == 2 * COUNT);
        for (std::size_t at = 0; at < COUNT; ++at)
            CHECK(column[at] == double(at) * WIDTH + 1);
        for (std::size_t at = 0; at < halves.size(); ++at)
            CHECK(halves[at] == int(at / 2 * 4 + at % 2));
        contribute(done);
    }

    static constexpr std::size_t COUNT = 30000, WIDTH = 4;
};

// Columns of a matrix, and pairs that have a distance, as MPI describes them.
Task<> send_strided(CollectionProxy<Branch> branches) {
    constexpr auto count = Branch::COUNT, width = Branch::WIDTH;
    std::vector<double> matrix(count * width);
    std::vector<int> numbers(4 * count);
    for (std::size_t at = 0; at < matrix.size(); ++at)
        matrix[at] = double(at), numbers[at] = int(at);
    MPI_Datatype column, pair;
    MPI_Type_vector(int(count), 1, int(width), MPI_DOUBLE, &column);
    MPI_Type_create_resized(MPI_2INT, 0, 4 * sizeof(int), &pair);
    MPI_Type_commit(&column);
    MPI_Type_commit(&pair);
    Future<> done;
    branches.send<&Branch::matrix>(strided(matrix.data() + 1, 1, column),
                                   strided(numbers.data(), count, pair), done.callback());
    // They were copied into the message.
    std::ranges::fill(matrix, 0.0);
    std::ranges::fill(numbers, 0);
    MPI_Type_free(&column);
    MPI_Type_free(&pair);
    co_await done;
}

int run_chares(int code) {
    return run([=]() -> Task<> {
        auto branches = create_group<Branch>();
        int expected = 0;
        for (int at = 0; at < ranks(); ++at)
            expected += at * at;
        for (int round = 0; round < 10; ++round) {
            Future<int> most, total;
            branches.send<&Branch::collective>(most.callback());
            CHECK(co_await most == ranks() * (ranks() - 1) / 2);
            branches.send<&Branch::ring>(total.callback());
            CHECK(co_await total == expected);
        }
        co_await send_strided(branches);
        towpath::exit(code);
    });
}

int main(int count, char **arguments) {
    MPI_Init(&count, &arguments);
    int mine = 0, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &mine);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    bool is_well = sum_of_ranks() == ranks * (ranks - 1) / 2;
    // The program may run chares again: MPI is its own.
    for (int code : {7, 0, 3})
        is_well = is_well && run_chares(code) == code;
    int finalized = 1;
    MPI_Finalized(&finalized);
    is_well = is_well && !finalized && sum_of_ranks() == ranks * (ranks - 1) / 2;
    MPI_Finalize();
    if (mine == 0)
        std::puts(is_well ? "ok" : "not well");
    return is_well ? 0 : 1;
}
