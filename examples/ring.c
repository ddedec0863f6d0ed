/* A ring: a number goes from rank to rank, each adds its own rank, and says where it runs and what it got. The same binary runs
   under every launcher: docs/hosts.md shows it under seven. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    MPI_Comm host, leaders;
    int rank, size, local, number = 0, sum = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    /* Ranks that can share memory are on one host; hosts are numbered by their first ranks. */
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &local);
    MPI_Comm_split(MPI_COMM_WORLD, local == 0 ? 0 : MPI_UNDEFINED, rank, &leaders);
    if (local == 0) {
        MPI_Comm_rank(leaders, &number);
        MPI_Comm_free(&leaders);
    }
    MPI_Bcast(&number, 1, MPI_INT, 0, host);
    MPI_Comm_free(&host);

    if (rank > 0)
        MPI_Recv(&sum, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sum += rank;
    MPI_Send(&sum, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Recv(&sum, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("rank %d of %d on host %d: the sum is %d here\n", rank, size, number, sum);
    MPI_Finalize();
    return 0;
}
