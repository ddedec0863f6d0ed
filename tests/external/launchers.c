/* One behaviour under any launcher: every rank sees its place, all sum up, rank 0 says so. With the word "abort" rank 1 ends the job. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, size, sum, place;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    place = rank + 1;
    MPI_Allreduce(&place, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (argc > 1 && strcmp(argv[1], "abort") == 0 && rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 7);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s: %d ranks, sum %d\n", sum == size * (size + 1) / 2 ? "ok" : "wrong", size, sum);
    MPI_Finalize();
    return 0;
}
