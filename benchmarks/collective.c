/*
 * Collectives on all ranks: barrier, bcast, reduce, allreduce, allgather, alltoall, gather.
 *
 *     collective SECONDS_PER_FIGURE [SIZES...]
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

static void call(const char *name, int bytes, int root)
{
    MPI_Comm comm = MPI_COMM_WORLD;
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
    static const char *names[] = {"barrier", "bcast", "reduce", "allreduce", "allgather", "alltoall", "gather"};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double budget = argc > 1 ? atof(argv[1]) : 0.1;
    for (int a = 2; a < argc; a++) {
        int bytes = atoi(argv[a]);
        size_t room = (size_t)bytes * (size_t)size + 64;
        out = malloc(room);
        in = malloc(room);
        memset(out, 0, room);
        memset(in, 0, room);
        for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
            if (i == 0 && a > 2)
                continue;
            double seconds = measure(names[i], bytes, budget);
            if (rank == 0) {
                printf("%s %d %.6g\n", names[i], i ? bytes : 0, seconds * 1e6);
                fflush(stdout);
            }
        }
        free(out);
        free(in);
    }
    MPI_Finalize();
    return 0;
}
