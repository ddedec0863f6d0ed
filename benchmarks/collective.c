/*
 * Collectives on all ranks: barrier, bcast, reduce, allreduce, allgather, alltoall, gather; or, with the word "neighbors", those between the
 * neighbours of a periodic ring in their three forms, and the same exchange by MPI_Isend, MPI_Irecv and MPI_Waitall.
 *
 *     collective SECONDS_PER_FIGURE [neighbors] [SIZES...]
 *
 * Prints "name bytes microseconds": the mean over a batch of calls of the slowest rank's time, the best of three batches (of one where
 * a call takes more than 50 ms: a library that spins on shared cores would take the whole day). The size is the number of bytes that
 * one rank contributes (per pair in alltoall). The root changes with every call, as it does in programs.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 3, LARGEST_COUNT = 4000 };

static int rank, size;
static char *out, *in;
static MPI_Comm ring = MPI_COMM_NULL;
static int left, right;
static MPI_Request again;

/* Between the neighbours of `ring`. */
static void call_neighbors(const char *name, int bytes)
{
    MPI_Request requests[4];
    if (!strcmp(name, "neighbor-alltoall")) {
        MPI_Neighbor_alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, ring);
    } else if (!strcmp(name, "neighbor-allgather")) {
        MPI_Neighbor_allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, ring);
    } else if (!strcmp(name, "neighbor-ialltoall")) {
        MPI_Ineighbor_alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, ring, requests);
        MPI_Wait(requests, MPI_STATUS_IGNORE);
    } else if (!strcmp(name, "neighbor-persistent")) {
        MPI_Start(&again);
        MPI_Wait(&again, MPI_STATUS_IGNORE);
    } else {
        MPI_Irecv(in, bytes, MPI_BYTE, left, 1, ring, requests);
        MPI_Irecv(in + bytes, bytes, MPI_BYTE, right, 2, ring, requests + 1);
        MPI_Isend(out, bytes, MPI_BYTE, left, 2, ring, requests + 2);
        MPI_Isend(out + bytes, bytes, MPI_BYTE, right, 1, ring, requests + 3);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    }
}

static void call(const char *name, int bytes, int root)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    if (!strncmp(name, "neighbor", 8)) {
        call_neighbors(name, bytes);
        return;
    }
    if (!strcmp(name, "barrier"))
        MPI_Barrier(comm);
    else if (!strcmp(name, "bcast"))
        MPI_Bcast(out, bytes, MPI_BYTE, root, comm);
    else if (!strcmp(name, "reduce"))
        MPI_Reduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, root, comm);
    else if (!strcmp(name, "allreduce"))
        MPI_Allreduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, comm);
    else if (!strcmp(name, "allgather"))
        MPI_Allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, comm);
    else if (!strcmp(name, "alltoall"))
        MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, comm);
    else
        MPI_Gather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root, comm);
}

/* Seconds for one call, as the slowest rank saw it. */
static double batch(const char *name, int bytes, int count)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double started = MPI_Wtime(), mine, slowest;
    for (int i = 0; i < count; i++)
        call(name, bytes, i % size);
    mine = (MPI_Wtime() - started) / count;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

static double measure(const char *name, int bytes, double budget)
{
    /* The first calls make what a library makes when it is needed; the next ones say how many calls the time is enough for. */
    batch(name, bytes, 2);
    double best = batch(name, bytes, 2);
    int count = (int)(budget / BATCHES / (best > 1e-7 ? best : 1e-7));
    count = count < 2 ? 2 : count > LARGEST_COUNT ? LARGEST_COUNT : count;
    MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
    int batches = best > 0.05 ? 1 : BATCHES;
    for (int i = 0; i < batches; i++) {
        double seconds = batch(name, bytes, count);
        best = i == 0 || seconds < best ? seconds : best;
    }
    return best;
}

int main(int argc, char **argv)
{
    static const char *all[] = {"barrier", "bcast", "reduce", "allreduce", "allgather", "alltoall", "gather"};
    static const char *near[] = {"neighbor-alltoall", "neighbor-allgather", "neighbor-ialltoall", "neighbor-persistent", "neighbor-by-hand"};
    const char **names = all;
    unsigned number = sizeof all / sizeof *all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double budget = argc > 1 ? atof(argv[1]) : 0.1;
    int first = 2, periodic = 1;
    if (argc > 2 && !strcmp(argv[2], "neighbors")) {
        names = near;
        number = sizeof near / sizeof *near;
        first = 3;
        MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
        MPI_Cart_shift(ring, 0, 1, &left, &right);
    }
    for (int a = first; a < argc; a++) {
        int bytes = atoi(argv[a]);
        size_t room = (size_t)bytes * (size_t)(size > 2 ? size : 2) + 64;
        out = malloc(room);
        in = malloc(room);
        memset(out, 0, room);
        memset(in, 0, room);
        if (names == near)
            MPI_Neighbor_alltoall_init(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, ring, MPI_INFO_NULL, &again);
        for (unsigned i = 0; i < number; i++) {
            int is_barrier = names == all && i == 0;
            if (is_barrier && a > 2)
                continue;
            double seconds = measure(names[i], bytes, budget);
            if (rank == 0) {
                printf("%s %d %.6g\n", names[i], is_barrier ? 0 : bytes, seconds * 1e6);
                fflush(stdout);
            }
        }
        if (names == near)
            MPI_Request_free(&again);
        free(out);
        free(in);
    }
    MPI_Finalize();
    return 0;
}
