/*
 * Collectives on all ranks, called in different ways.
 *
 *     collective MODE SECONDS_PER_FIGURE NAME,NAME SIZE... [until=SECONDS] [pin=CORE,CORE]
 *
 * MODE: back (one call behind the other, the root moves on with every call), fixed (the same with
 * root 0), sync (a barrier before each call, whose time does not count), fixed-sync (both), unequal
 * (before each call one rank computes for 0 to 2 microseconds, the same random numbers for each
 * library; what a rank computes does not count, what the others wait for it does), processors (like
 * fixed; what counts is the processor time of all ranks for a call).
 * NAME: barrier, bcast, reduce, allreduce, allgather, alltoall, gather, scatter, gatherv, scatterv,
 * alltoallv (these three with equal blocks), reduce-scatter, scan, ibarrier, ibcast, ireduce,
 * iallreduce, iallgather, ialltoall (each with MPI_Wait), or, between the neighbours of a periodic
 * ring, neighbor-alltoall, neighbor-allgather, neighbor-ialltoall, neighbor-persistent,
 * neighbor-by-hand (MPI_Isend, MPI_Irecv and MPI_Waitall).
 * SIZE: bytes that one rank contributes (per pair in alltoall); barrier is measured with the first.
 *
 * Prints "NAME[-MODE] bytes microseconds", the mean over a batch of calls as the slowest rank saw
 * it: the best of three batches. In the modes with fixed and sync, where ranks differ,
 * "NAME-MODE-mean" is the mean over the ranks too, and in the mode unequal "NAME-unequal" is. Where
 * a call takes more than 5 ms, two calls are all that is measured. Sizes behind one whose call
 * takes longer than "until", by default 5 ms, are left out.
 * Buffers begin 16 bytes behind a page. Then the line ping-pong before and after (0 but for two
 * pinned ranks).
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sys/resource.h>
#include <time.h>

#include "line.h"
#include "measure.h"

enum { BATCHES = 3, TRIES = 2, LEAST_COUNT = 10, LARGEST_COUNT = 4000, MOST_NANOSECONDS = 2000, NAME_LENGTH = 32 };

static const double SLOW = 5e-3;
static double longest = 5e-3;

/* The figures of a batch in seconds for a call. */
struct figures {
    double slowest, mean, processors;
};

static int rank, size;
static const char *mode;
static char *out, *in;
static MPI_Comm ring = MPI_COMM_NULL;
static int left, right;
static MPI_Request again;
/* The blocks of the forms with an array of lengths. */
static int *lengths, *places;
static unsigned random_state;

static unsigned below(unsigned limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 16) % limit;
}

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

static void call_nonblocking(const char *name, int bytes, int root)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request request = MPI_REQUEST_NULL;
    if (!strcmp(name, "ibarrier"))
        MPI_Ibarrier(comm, &request);
    else if (!strcmp(name, "ibcast"))
        MPI_Ibcast(out, bytes, MPI_BYTE, root, comm, &request);
    else if (!strcmp(name, "ireduce"))
        MPI_Ireduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, root, comm, &request);
    else if (!strcmp(name, "iallreduce"))
        MPI_Iallreduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, comm, &request);
    else if (!strcmp(name, "iallgather"))
        MPI_Iallgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, comm, &request);
    else if (!strcmp(name, "ialltoall"))
        MPI_Ialltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, comm, &request);
    else {
        fprintf(stderr, "collective: there is no \"%s\"\n", name);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void call(const char *name, int bytes, int root)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    if (!strncmp(name, "neighbor", 8))
        call_neighbors(name, bytes);
    else if (!strcmp(name, "barrier"))
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
    else if (!strcmp(name, "gather"))
        MPI_Gather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root, comm);
    else if (!strcmp(name, "scatter"))
        MPI_Scatter(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root, comm);
    else if (!strcmp(name, "gatherv"))
        MPI_Gatherv(out, bytes, MPI_BYTE, in, lengths, places, MPI_BYTE, root, comm);
    else if (!strcmp(name, "scatterv"))
        MPI_Scatterv(out, lengths, places, MPI_BYTE, in, bytes, MPI_BYTE, root, comm);
    else if (!strcmp(name, "alltoallv"))
        MPI_Alltoallv(out, lengths, places, MPI_BYTE, in, lengths, places, MPI_BYTE, comm);
    else if (!strcmp(name, "reduce-scatter"))
        MPI_Reduce_scatter_block(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, comm);
    else if (!strcmp(name, "scan"))
        MPI_Scan(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, comm);
    else
        call_nonblocking(name, bytes, root);
}

/* The system's clock, the same for each library. */
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Seconds that this rank has spent on processors. */
static double processor_time(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double microseconds = (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + microseconds * 1e-6;
}

/* One rank computes; the time that this rank spends on it. */
static double compute(void)
{
    unsigned late = below((unsigned)size), nanoseconds = below(MOST_NANOSECONDS);
    if ((unsigned)rank != late)
        return 0;
    double started = now(), spent = 0;
    while (spent < nanoseconds * 1e-9)
        spent = now() - started;
    return spent;
}

/* Seconds that this rank spends in so many calls. */
static double calls(const char *name, int bytes, int count)
{
    int rotating = strncmp(mode, "fixed", 5) != 0 && strcmp(mode, "processors") != 0;
    double started = now(), left_out = 0;
    for (int i = 0; i < count; i++) {
        if (strstr(mode, "sync")) {
            double before = now();
            MPI_Barrier(MPI_COMM_WORLD);
            left_out += now() - before;
        } else if (!strcmp(mode, "unequal"))
            left_out += compute();
        call(name, bytes, rotating ? i % size : 0);
    }
    return now() - started - left_out;
}

static struct figures batch(const char *name, int bytes, int count)
{
    struct figures found;
    random_state = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    double before = processor_time();
    double mine = calls(name, bytes, count) / count;
    double spent = (processor_time() - before) / count;
    MPI_Allreduce(&mine, &found.slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &found.mean, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&spent, &found.processors, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    found.mean /= size;
    return found;
}

/* The best figures of some batches, or those of two calls where they are slow. */
static struct figures measure(const char *name, int bytes, double budget)
{
    /* The first calls make what a library makes when it is needed, or are interrupted. */
    struct figures best = batch(name, bytes, 2);
    for (int i = 0; i < TRIES && best.slowest > SLOW; i++)
        best = batch(name, bytes, 2);
    if (best.slowest > SLOW)
        return best;
    /* The next say how many fill the time. */
    best = batch(name, bytes, LEAST_COUNT);
    int count = (int)(budget / BATCHES / (best.slowest > 1e-7 ? best.slowest : 1e-7));
    count = count < LEAST_COUNT ? LEAST_COUNT : count > LARGEST_COUNT ? LARGEST_COUNT : count;
    for (int i = 0; i < BATCHES; i++) {
        struct figures one = batch(name, bytes, count);
        best.slowest = i == 0 || one.slowest < best.slowest ? one.slowest : best.slowest;
        best.mean = i == 0 || one.mean < best.mean ? one.mean : best.mean;
        best.processors = i == 0 || one.processors < best.processors ? one.processors : best.processors;
    }
    return best;
}

static void print(const char *name, int bytes, const struct figures *found, double before, double after)
{
    double slowest = found->slowest * 1e6, mean = found->mean * 1e6;
    if (!strcmp(mode, "back"))
        printf("%s %d %.6g %.1f %.1f\n", name, bytes, slowest, before, after);
    else if (!strcmp(mode, "processors"))
        printf("%s-processors %d %.6g %.1f %.1f\n", name, bytes, found->processors * 1e6, before, after);
    else if (!strcmp(mode, "unequal"))
        printf("%s-unequal %d %.6g %.1f %.1f\n", name, bytes, mean, before, after);
    else
        printf("%s-%s %d %.6g %.1f %.1f\n%s-%s-mean %d %.6g %.1f %.1f\n", name, mode, bytes, slowest, before, after,
               name, mode, bytes, mean, before, after);
    fflush(stdout);
}

/* All sizes of one collective. */
static void measure_sizes(const char *name, double budget, char **sizes, int number)
{
    int barrier = !strcmp(name, "barrier"), persistent = !strcmp(name, "neighbor-persistent");
    for (int i = 0; i < (barrier ? 1 : number); i++) {
        int bytes = atoi(sizes[i]);
        size_t room = (size_t)bytes * (size_t)(size > 2 ? size : 2);
        out = block(room);
        in = block(room);
        for (int peer = 0; peer < size; peer++) {
            lengths[peer] = bytes;
            places[peer] = peer * bytes;
        }
        if (persistent)
            MPI_Neighbor_alltoall_init(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, ring, MPI_INFO_NULL, &again);
        double before = line_now(rank);
        struct figures found = measure(name, bytes, budget);
        double after = line_now(rank);
        if (rank == 0)
            print(name, barrier ? 0 : bytes, &found, before, after);
        if (persistent)
            MPI_Request_free(&again);
        release(out);
        release(in);
        if (found.slowest > longest)
            return;
    }
}

int main(int argc, char **argv)
{
    char name[NAME_LENGTH];
    int periodic = 1, taken = 0;
    const char *cores = placement(&argc, argv);
    if (argc > 1 && sscanf(argv[argc - 1], "until=%lf", &longest) == 1)
        argc--;
    if (argc < 5) {
        fprintf(stderr, "usage: collective back|fixed|sync|fixed-sync|unequal|processors SECONDS NAME,NAME "
                        "SIZE... [until=SECONDS] [pin=CORE,CORE]\n");
        return 2;
    }
    mode = argv[1];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    pin(cores, rank);
    open_line(cores, rank, size);
    lengths = calloc((size_t)size, sizeof *lengths);
    places = calloc((size_t)size, sizeof *places);
    if (strstr(argv[3], "neighbor")) {
        MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
        MPI_Cart_shift(ring, 0, 1, &left, &right);
    }
    for (const char *at = argv[3]; sscanf(at, "%31[^,]%n", name, &taken) == 1; at += taken + (at[taken] == ','))
        measure_sizes(name, atof(argv[2]), argv + 4, argc - 4);
    free(lengths);
    free(places);
    MPI_Finalize();
    return 0;
}
