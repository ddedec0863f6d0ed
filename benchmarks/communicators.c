/*
 * What it costs to make a communicator and to free it again: MPI_Comm_dup, MPI_Comm_split, MPI_Comm_split_type, MPI_Comm_create,
 * MPI_Cart_create (without and with reordering), MPI_Graph_create and MPI_Dist_graph_create_adjacent on all ranks.
 *
 *     communicators SECONDS_PER_FIGURE [NAMES...] [pin=CORE,CORE]
 *
 * Prints "name 0 microseconds": the mean over a batch of the slowest rank's time, the best of three batches. The rows "name-used" also
 * have the first collective (an allreduce of 8 bytes) and the first 16 KB to each of two neighbours in a ring.
 */
#define _GNU_SOURCE
#include <mpi.h>

#include "measure.h"

enum { BATCHES = 3, LARGEST_COUNT = 4000, BYTES = 16384 };

static int rank, size;
static char *out, *in;

static MPI_Comm grid(int reorder)
{
    int dims[2] = {0, 0}, periods[2] = {1, 1};
    MPI_Comm made;
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, reorder, &made);
    return made;
}

static MPI_Comm graph(void)
{
    int *index = malloc(sizeof *index * (size_t)size), *edges = malloc(sizeof *edges * 2 * (size_t)size);
    MPI_Comm made;
    for (int i = 0; i < size; i++) {
        index[i] = 2 * (i + 1);
        edges[2 * i] = (i + size - 1) % size;
        edges[2 * i + 1] = (i + 1) % size;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &made);
    free(index);
    free(edges);
    return made;
}

static MPI_Comm make(const char *name)
{
    int neighbors[2] = {(rank + size - 1) % size, (rank + 1) % size};
    MPI_Group group;
    MPI_Comm made;
    if (!strncmp(name, "dup", 3))
        MPI_Comm_dup(MPI_COMM_WORLD, &made);
    else if (!strncmp(name, "split_type", 10))
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
    else if (!strncmp(name, "split", 5))
        MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &made);
    else if (!strncmp(name, "create", 6)) {
        MPI_Comm_group(MPI_COMM_WORLD, &group);
        MPI_Comm_create(MPI_COMM_WORLD, group, &made);
        MPI_Group_free(&group);
    } else if (!strncmp(name, "cart-reorder", 12))
        made = grid(1);
    else if (!strncmp(name, "cart", 4))
        made = grid(0);
    else if (!strncmp(name, "graph", 5))
        made = graph();
    else
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, neighbors, MPI_UNWEIGHTED, 2, neighbors, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
    return made;
}

/* The first collective, and the first long messages to both neighbours. */
static void use(MPI_Comm comm)
{
    MPI_Request requests[4];
    double mine = 1, all;
    int me, left, right;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Comm_rank(comm, &me);
    left = (me + size - 1) % size;
    right = (me + 1) % size;
    MPI_Irecv(in, BYTES, MPI_BYTE, left, 1, comm, requests);
    MPI_Irecv(in + BYTES, BYTES, MPI_BYTE, right, 2, comm, requests + 1);
    MPI_Isend(out, BYTES, MPI_BYTE, left, 2, comm, requests + 2);
    MPI_Isend(out, BYTES, MPI_BYTE, right, 1, comm, requests + 3);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

/* Seconds for one communicator, as the slowest rank saw it. */
static double batch(const char *name, int count)
{
    int is_used = strstr(name, "-used") != NULL;
    MPI_Barrier(MPI_COMM_WORLD);
    double started = MPI_Wtime(), mine, slowest;
    for (int i = 0; i < count; i++) {
        MPI_Comm made = make(name);
        if (is_used)
            use(made);
        MPI_Comm_free(&made);
    }
    mine = (MPI_Wtime() - started) / count;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

static double measure(const char *name, double budget)
{
    batch(name, 2);
    double best = batch(name, 2);
    int count = (int)(budget / BATCHES / (best > 1e-7 ? best : 1e-7));
    count = count < 2 ? 2 : count > LARGEST_COUNT ? LARGEST_COUNT : count;
    MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
    int batches = best > 0.05 ? 1 : BATCHES;
    for (int i = 0; i < batches; i++) {
        double seconds = batch(name, count);
        best = i == 0 || seconds < best ? seconds : best;
    }
    return best;
}

int main(int argc, char **argv)
{
    static const char *names[] = {"dup", "split", "split_type", "create", "cart", "cart-reorder", "graph", "dist_graph"};
    const char *cores = placement(&argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pin(cores, rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double budget = argc > 1 ? atof(argv[1]) : 0.1;
    out = calloc(1, BYTES);
    in = calloc(2, BYTES);
    for (unsigned i = 0; i < 2 * sizeof names / sizeof *names; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s%s", names[i / 2], i % 2 ? "-used" : "");
        int is_wanted = argc <= 2;
        for (int a = 2; a < argc; a++)
            is_wanted |= !strcmp(argv[a], name);
        if (!is_wanted)
            continue;
        double seconds = measure(name, budget);
        if (rank == 0) {
            printf("%s 0 %.6g\n", name, seconds * 1e6);
            fflush(stdout);
        }
    }
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
