/*
 * The first messages of two ranks, as half round trips in microseconds: prints "first-KIND BYTES us",
 * the very first one, "thousand-KIND BYTES us", the mean of the first thousand, and "steady-KIND BYTES
 * us", the median of those behind the first.
 *
 *     first declared|strangers BYTES
 *
 * declared: the two are neighbours in a grid that the program has declared. A pair has one first message only, so the harness starts this
 * program once for each figure. Messages to itself come before, so that the first message to the other does not wait for the code of the
 * library to come from memory.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUND_TRIPS = 1000 };

static int ascending(const void *first, const void *second)
{
    double a = *(const double *)first, b = *(const double *)second;
    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    int rank, size, dims[1], periods[1] = {0};
    double times[ROUND_TRIPS];
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *kind = argc > 1 ? argv[1] : "declared";
    int bytes = argc > 2 ? atoi(argv[2]) : 4096;
    char *out = malloc((size_t)bytes), *in = malloc((size_t)bytes);
    memset(out, 1, (size_t)bytes);
    memset(in, 2, (size_t)bytes);
    dims[0] = size;
    if (!strcmp(kind, "declared"))
        MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm);
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < ROUND_TRIPS; i++) {
        MPI_Request request;
        MPI_Irecv(in, bytes, MPI_BYTE, rank, 1, comm, &request);
        MPI_Send(out, bytes, MPI_BYTE, rank, 1, comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Isend(out, bytes, MPI_BYTE, rank, 1, comm, &request);
        MPI_Recv(in, bytes, MPI_BYTE, rank, 1, comm, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(comm);
    /* The one that answers shall be there before the first message comes, and still be polling for it. */
    double started = MPI_Wtime();
    while (rank == 0 && MPI_Wtime() - started < 0.00001)
        ;
    for (int i = 0; i < ROUND_TRIPS && rank < 2; i++) {
        double begin = MPI_Wtime();
        if (rank == 0)
            MPI_Send(out, bytes, MPI_BYTE, 1, 1, comm);
        MPI_Recv(in, bytes, MPI_BYTE, 1 - rank, 1, comm, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(out, bytes, MPI_BYTE, 0, 1, comm);
        times[i] = (MPI_Wtime() - begin) * 0.5e6;
    }
    if (rank == 0) {
        double first = times[0], sum = 0;
        for (int i = 0; i < ROUND_TRIPS; i++)
            sum += times[i];
        qsort(times + 1, ROUND_TRIPS - 1, sizeof *times, ascending);
        printf("first-%s %d %.6g\n", kind, bytes, first);
        printf("thousand-%s %d %.6g\n", kind, bytes, sum / ROUND_TRIPS);
        printf("steady-%s %d %.6g\n", kind, bytes, times[1 + ROUND_TRIPS / 2]);
    }
    MPI_Finalize();
    return 0;
}
