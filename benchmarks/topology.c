/*
 * A halo exchange with windows on a 2-D grid that is declared, not declared, or declared anew every 1,000 iterations: prints
 * "halo-KIND BYTES microseconds" for an iteration, and for the last kind "topology-change 0 microseconds", the part of one change that rank
 * 0 spends in the calls.
 *
 *     topology declared|undeclared|changing BYTES WINDOW ITERATIONS
 *
 * All kinds exchange the same messages with the same neighbours; changing alternates between two grids of other shape.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEIGHBOURS = 4, MOST = 64, CHANGE = 1000 };

static char *out, *in;

static void exchange(MPI_Comm comm, const int *neighbours, int bytes, int window)
{
    MPI_Request requests[2 * NEIGHBOURS * MOST], *next = requests;
    for (int i = 0; i < window; i++)
        for (int j = 0; j < NEIGHBOURS; j++)
            MPI_Irecv(in + ((size_t)i * NEIGHBOURS + (size_t)j) * (size_t)bytes, bytes, MPI_BYTE, neighbours[j], j ^ 1, comm, next++);
    for (int i = 0; i < window; i++)
        for (int j = 0; j < NEIGHBOURS; j++)
            MPI_Isend(out, bytes, MPI_BYTE, neighbours[j], j, comm, next++);
    MPI_Waitall((int)(next - requests), requests, MPI_STATUSES_IGNORE);
}

/* A grid of the first or the second shape; the communicator that messages travel on. */
static MPI_Comm declare(int second, int is_declared, int *neighbours)
{
    int size, dims[2] = {0, 0}, periods[2] = {1, 1};
    MPI_Comm grid;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, dims);
    if (second) {
        int first = dims[0];
        dims[0] = dims[1], dims[1] = first;
    }
    if (is_declared) {
        MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
        MPI_Cart_shift(grid, 0, 1, &neighbours[0], &neighbours[1]);
        MPI_Cart_shift(grid, 1, 1, &neighbours[2], &neighbours[3]);
        return grid;
    }
    int rank, row, column;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    row = rank / dims[1], column = rank % dims[1];
    neighbours[0] = (row + dims[0] - 1) % dims[0] * dims[1] + column;
    neighbours[1] = (row + 1) % dims[0] * dims[1] + column;
    neighbours[2] = row * dims[1] + (column + dims[1] - 1) % dims[1];
    neighbours[3] = row * dims[1] + (column + 1) % dims[1];
    MPI_Comm_dup(MPI_COMM_WORLD, &grid);
    return grid;
}

int main(int argc, char **argv)
{
    int rank, neighbours[NEIGHBOURS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *kind = argc > 1 ? argv[1] : "declared";
    int bytes = argc > 2 ? atoi(argv[2]) : 16384, window = argc > 3 ? atoi(argv[3]) : 8, count = argc > 4 ? atoi(argv[4]) : 2000;
    window = window > MOST ? MOST : window;
    int is_declared = strcmp(kind, "undeclared"), is_changing = !strcmp(kind, "changing");
    out = calloc(1, (size_t)bytes);
    in = calloc((size_t)window * NEIGHBOURS, (size_t)bytes);
    MPI_Comm comm = declare(0, is_declared, neighbours);
    for (int i = 0; i < 10; i++)
        exchange(comm, neighbours, bytes, window);
    MPI_Barrier(MPI_COMM_WORLD);
    double started = MPI_Wtime(), in_changes = 0;
    int changes = 0;
    for (int i = 0; i < count; i++) {
        if (is_changing && i % CHANGE == CHANGE / 2) {
            double begin = MPI_Wtime();
            MPI_Comm_free(&comm);
            comm = declare(i / CHANGE % 2 == 0, is_declared, neighbours);
            in_changes += MPI_Wtime() - begin;
            changes++;
        }
        exchange(comm, neighbours, bytes, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("halo-%s %d %.6g\n", kind, bytes, (MPI_Wtime() - started) / count * 1e6);
    if (rank == 0 && changes)
        printf("topology-change 0 %.6g\n", in_changes / changes * 1e6);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
