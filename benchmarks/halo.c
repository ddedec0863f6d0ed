/*
 * The halo of a three-dimensional grid: each rank exchanges with its six neighbours. The grid is
 * periodic, so that an axis with one rank exchanges with itself, as such programs do.
 *
 *     halo SECONDS_PER_FIGURE FIRST LAST [pin=CORE,CORE]
 *
 * Prints "name bytes microseconds" for every power of two from FIRST to LAST bytes per neighbour, as
 * the slowest rank saw it, the best of three batches: "halo" (all six at once: MPI_Irecv, MPI_Isend,
 * MPI_Waitall) and "halo-staged" (one neighbour after the other: MPI_Irecv, MPI_Send, MPI_Wait).
 * Buffers begin 16 bytes behind a page. Then the line ping-pong before and after (0 but for
 * two pinned ranks).
 */
#define _GNU_SOURCE
#include <mpi.h>

#include "line.h"
#include "measure.h"

enum { BATCHES = 3, AXES = 3, NEIGHBOURS = 2 * AXES, LEAST_COUNT = 10, LARGEST_COUNT = 4000 };

static int neighbours[NEIGHBOURS];
static char *out[NEIGHBOURS], *in[NEIGHBOURS];
static MPI_Comm grid;

/* A message to the neighbour below carries the axis and comes in from the one above it. */
static int opposite(int i)
{
    return i % 2 ? i - 1 : i + 1;
}

static void at_once(int bytes)
{
    MPI_Request requests[2 * NEIGHBOURS];
    for (int i = 0; i < NEIGHBOURS; i++)
        MPI_Irecv(in[i], bytes, MPI_BYTE, neighbours[i], opposite(i), grid, &requests[i]);
    for (int i = 0; i < NEIGHBOURS; i++)
        MPI_Isend(out[i], bytes, MPI_BYTE, neighbours[i], i, grid, &requests[NEIGHBOURS + i]);
    MPI_Waitall(2 * NEIGHBOURS, requests, MPI_STATUSES_IGNORE);
}

static void staged(int bytes)
{
    MPI_Request request;
    for (int i = 0; i < NEIGHBOURS; i++) {
        MPI_Irecv(in[i], bytes, MPI_BYTE, neighbours[opposite(i)], i, grid, &request);
        MPI_Send(out[i], bytes, MPI_BYTE, neighbours[i], i, grid);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* Seconds of one exchange, as the slowest rank saw it. */
static double batch(void (*exchange)(int), int bytes, int count)
{
    MPI_Barrier(grid);
    double started = MPI_Wtime(), mine, slowest;
    for (int i = 0; i < count; i++)
        exchange(bytes);
    mine = (MPI_Wtime() - started) / count;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, grid);
    return slowest;
}

static double measure(void (*exchange)(int), int bytes, double budget)
{
    batch(exchange, bytes, 2);
    double best = batch(exchange, bytes, LEAST_COUNT);
    int count = (int)(budget / BATCHES / best);
    count = count < LEAST_COUNT ? LEAST_COUNT : count > LARGEST_COUNT ? LARGEST_COUNT : count;
    for (int i = 0; i < BATCHES; i++) {
        double seconds = batch(exchange, bytes, count);
        best = i == 0 || seconds < best ? seconds : best;
    }
    return best;
}

int main(int argc, char **argv)
{
    int dims[AXES] = {0, 0, 0}, periods[AXES] = {1, 1, 1}, rank, size;
    const char *cores = placement(&argc, argv);
    if (argc != 4) {
        fprintf(stderr, "usage: halo SECONDS FIRST LAST [pin=CORE,CORE]\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    pin(cores, rank);
    open_line(cores, rank, size);
    MPI_Dims_create(size, AXES, dims);
    MPI_Cart_create(MPI_COMM_WORLD, AXES, dims, periods, 0, &grid);
    for (int axis = 0; axis < AXES; axis++)
        MPI_Cart_shift(grid, axis, 1, &neighbours[2 * axis], &neighbours[2 * axis + 1]);
    for (int i = 0; i < NEIGHBOURS; i++) {
        out[i] = block((size_t)atoi(argv[3]));
        in[i] = block((size_t)atoi(argv[3]));
    }
    for (int bytes = atoi(argv[2]); bytes <= atoi(argv[3]); bytes = next_size(bytes)) {
        double before = line_now(rank), together = measure(at_once, bytes, atof(argv[1]));
        double between = line_now(rank), apart = measure(staged, bytes, atof(argv[1]));
        double after = line_now(rank);
        if (rank == 0)
            printf("halo %d %.6g %.1f %.1f\nhalo-staged %d %.6g %.1f %.1f\n", bytes, together * 1e6, before, between,
                   bytes, apart * 1e6, between, after);
    }
    MPI_Finalize();
    return 0;
}
