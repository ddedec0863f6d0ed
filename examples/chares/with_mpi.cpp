// Chares in a program of MPI: a group works on what each rank has, and MPI sees the result.
#include <mpi.h>
#include <towpath/chare.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

// The part of this rank.
std::vector<double> part;

struct Worker : towpath::Chare<Worker> {
    // Makes the largest number of all ranks 1.
    towpath::Task<> normalize(towpath::Callback done) {
        double largest = co_await reduce(towpath::maximum, *std::ranges::max_element(part));
        for (double &number : part)
            number /= largest;
        contribute(done);
    }
};

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    part.assign(1000, rank + 1.0);

    int code = towpath::run([] {
        auto workers = towpath::create_group<Worker>();
        workers.send<&Worker::normalize>(towpath::Callback::exit());
    });

    double sum = 0, total, expected = 500.0 * (ranks + 1);
    for (double number : part)
        sum += number;
    MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    bool right = std::abs(total - expected) < 1e-9 * expected;
    if (rank == 0)
        std::printf("the sum is %g, expected %g\n", total, expected);
    MPI_Finalize();
    return code == 0 && right ? 0 : 1;
}
