/*
 * Collectives on all ranks, called in different ways.
 *
 *     collective MODE SECONDS_PER_FIGURE NAME,NAME SIZE... [until=SECONDS] [root=RANK]
 *                [counters=PROGRAM] [pin=CORE,CORE]
 *
 * MODE: back (one call behind the other, the root moves on with every call), fixed (the same with
 * one root, 0 unless another one is given), sync (a barrier before each call, whose time does not
 * count), fixed-sync (both), span (a barrier before each call; what counts is the time from the
 * moment when the first rank leaves it to that when the last one leaves the call), fixed-span
 * (both), unequal (before each call one rank computes for 0 to 2 microseconds, the same random
 * numbers for each library; what a rank computes does not count, what the others wait for it does),
 * processors (like fixed; what counts is the processor time of all ranks for a call), traffic (like
 * fixed; what counts is what crosses a link).
 * NAME: nothing (an empty call), barrier, bcast, reduce, allreduce, allgather, alltoall, gather,
 * scatter, gatherv, scatterv, alltoallv (these three with equal blocks), reduce-scatter, scan,
 * ibarrier, ibcast, ireduce, iallreduce, iallgather, ialltoall (each with MPI_Wait), or, between
 * the neighbours of a periodic ring, neighbor-alltoall, neighbor-allgather, neighbor-ialltoall,
 * neighbor-persistent, neighbor-by-hand (MPI_Isend, MPI_Irecv and MPI_Waitall).
 * SIZE: bytes that one rank contributes (per pair in alltoall); a barrier or nothing is measured
 * with the first.
 *
 * Prints "NAME[-MODE] bytes microseconds", the mean over a batch of calls as the slowest rank saw
 * it: the best of three batches. In the modes with fixed and sync, where ranks differ,
 * "NAME-MODE-mean" is the mean over the ranks too, and in the mode unequal "NAME-unequal" is. Where
 * a call takes more than 5 ms, two calls are all that is measured. Sizes behind one whose call
 * takes longer than "until", by default 5 ms, are left out.
 *
 * In the modes with sync each rank subtracts the time that it spends in the barriers. But data
 * moves while a root is still in the barrier that others have left: so a gather of 229 KB over a
 * link of 1 Gbit/s, which needs 1.8 ms, takes 1 ms by these figures. They are for one host, where
 * no link bounds a call and each library has the same processors for both. Between hosts the modes
 * with span say how long a call takes. Their ranks are on one machine, so all have the same clock.
 * A rank keeps the moments of all calls of a batch, which are compared after it. Each figure is
 * the median over the calls of one batch (the lower one of two): as many calls as fill the time,
 * two at least.
 *
 * In the mode traffic PROGRAM prints the counters of the link of rank 0's host as "tc -s qdisc
 * show" does, first for what the host receives, then for what it sends. Rank 0 starts it before
 * and after 20 calls, three times. Prints "NAME-DIRECTION-bytes BYTES value" and
 * "NAME-DIRECTION-frames BYTES value" for in and out: of one call, without what the barriers
 * around the calls send, the median of the three. So what a library sends now and then, such as to
 * measure links, does not count.
 *
 * Buffers begin 16 bytes behind a page. Then the line ping-pong before and after (0 but for two
 * pinned ranks).
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sys/resource.h>
#include <time.h>

#include "line.h"
#include "measure.h"

enum {
    BATCHES = 3,
    TRIES = 2,
    LEAST_COUNT = 10,
    LARGEST_COUNT = 4000,
    SLOW_COUNT = 2,
    COUNTED_CALLS = 20,
    MOST_NANOSECONDS = 2000,
    NAME_LENGTH = 32,
};

static const double SLOW = 5e-3;
static double longest = 5e-3;
/* Acknowledgements that a receiver holds back are sent by then. */
static const struct timespec QUIET = {0, 100000000};

/* The figures of a batch in seconds for a call. */
struct figures {
    double slowest, mean, processors;
};

/* What crosses a link, in each direction. */
enum { IN, OUT, DIRECTIONS };
struct traffic {
    double bytes[DIRECTIONS], frames[DIRECTIONS];
};

static int rank, size, fixed_root, is_span;
static const char *mode, *counters = "";
/* When this rank has left the barrier before each call of a batch, and the call. */
static double begun[LARGEST_COUNT], ended[LARGEST_COUNT];
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
    else if (!strcmp(name, "nothing"))
        return;
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
    int rotating = strncmp(mode, "fixed", 5) != 0 && strcmp(mode, "processors") != 0 &&
                   strcmp(mode, "traffic") != 0;
    double started = now(), left_out = 0;
    for (int i = 0; i < count; i++) {
        if (is_span || strstr(mode, "sync")) {
            double before = now();
            MPI_Barrier(MPI_COMM_WORLD);
            begun[i] = now();
            left_out += begun[i] - before;
        } else if (!strcmp(mode, "unequal"))
            left_out += compute();
        call(name, bytes, rotating ? i % size : fixed_root);
        if (is_span)
            ended[i] = now();
    }
    return now() - started - left_out;
}

static int compare(const void *left, const void *right)
{
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

/* The lower one of two in the middle. */
static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[(count - 1) / 2];
}

/* Seconds from the first rank that begins a call to the last one that ends it: the median over the
 * calls of a batch. */
static double median_span(int count)
{
    MPI_Allreduce(MPI_IN_PLACE, begun, count, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, ended, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        ended[i] -= begun[i];
    return median(ended, count);
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
    if (is_span)
        found.slowest = median_span(count);
    return found;
}

/* How many calls fill a time. */
static int count_for(double time, double of_one, int least)
{
    double count = time / (of_one > 1e-7 ? of_one : 1e-7);
    return count < least ? least : count > LARGEST_COUNT ? LARGEST_COUNT : (int)count;
}

/* The best figures of some batches, or those of two calls where they are slow; in the modes with
 * span those of one batch. */
static struct figures measure(const char *name, int bytes, double budget)
{
    /* The first calls make what a library makes when it is needed, or are interrupted. */
    struct figures best = batch(name, bytes, SLOW_COUNT);
    int tries = is_span && SLOW_COUNT * best.slowest > budget ? 0 : TRIES;
    for (int i = 0; i < tries && best.slowest > SLOW; i++)
        best = batch(name, bytes, SLOW_COUNT);
    if (is_span)
        return batch(name, bytes, count_for(budget, best.slowest, SLOW_COUNT));
    if (best.slowest > SLOW)
        return best;
    /* The next say how many fill the time. */
    best = batch(name, bytes, LEAST_COUNT);
    int count = count_for(budget / BATCHES, best.slowest, LEAST_COUNT);
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
    else if (is_span)
        printf("%s-%s %d %.6g %.1f %.1f\n", name, mode, bytes, slowest, before, after);
    else
        printf("%s-%s %d %.6g %.1f %.1f\n%s-%s-mean %d %.6g %.1f %.1f\n", name, mode, bytes, slowest, before, after,
               name, mode, bytes, mean, before, after);
    fflush(stdout);
}

/* What has crossed the link so far; 0 on all ranks but 0. */
static struct traffic traffic_so_far(void)
{
    struct traffic found = {{0}, {0}};
    char line[256];
    int direction = IN;
    if (rank != 0)
        return found;
    nanosleep(&QUIET, NULL);
    FILE *output = popen(counters, "r");
    while (output && direction < DIRECTIONS && fgets(line, sizeof line, output))
        direction += sscanf(line, " Sent %lf bytes %lf pkt", found.bytes + direction,
                            found.frames + direction) == 2;
    if (!output || pclose(output) || direction < DIRECTIONS) {
        fprintf(stderr, "collective: %s does not print the counters of two directions\n", counters);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return found;
}

/* What crosses the link in so many calls and the barriers around them. */
static struct traffic traffic_of(const char *name, int bytes, int count)
{
    MPI_Barrier(MPI_COMM_WORLD);
    struct traffic before = traffic_so_far();
    MPI_Barrier(MPI_COMM_WORLD);
    calls(name, bytes, count);
    MPI_Barrier(MPI_COMM_WORLD);
    struct traffic after = traffic_so_far();
    /* Before that nobody may begin with anything else. */
    MPI_Barrier(MPI_COMM_WORLD);
    for (int direction = IN; direction < DIRECTIONS; direction++) {
        after.bytes[direction] -= before.bytes[direction];
        after.frames[direction] -= before.frames[direction];
    }
    return after;
}

/* Prints what crosses the link in a call. */
static void count_traffic(const char *name, int bytes)
{
    static const char *const names[DIRECTIONS] = {"in", "out"};
    double all[DIRECTIONS][BATCHES], frames[DIRECTIONS][BATCHES];
    calls(name, bytes, SLOW_COUNT);
    struct traffic none = traffic_of(name, bytes, 0);
    for (int i = 0; i < BATCHES; i++) {
        struct traffic one = traffic_of(name, bytes, COUNTED_CALLS);
        for (int direction = IN; direction < DIRECTIONS; direction++) {
            all[direction][i] = (one.bytes[direction] - none.bytes[direction]) / COUNTED_CALLS;
            frames[direction][i] = (one.frames[direction] - none.frames[direction]) / COUNTED_CALLS;
        }
    }
    for (int direction = IN; rank == 0 && direction < DIRECTIONS; direction++) {
        printf("%s-%s-bytes %d %.6g\n", name, names[direction], bytes,
               median(all[direction], BATCHES));
        printf("%s-%s-frames %d %.6g\n", name, names[direction], bytes,
               median(frames[direction], BATCHES));
    }
    fflush(stdout);
}

/* Measures or counts one size; seconds of a call as the slowest rank saw it. */
static double measure_size(const char *name, int bytes, double budget)
{
    if (!strcmp(mode, "traffic")) {
        count_traffic(name, bytes);
        return 0;
    }
    double before = line_now(rank);
    struct figures found = measure(name, bytes, budget);
    double after = line_now(rank);
    if (rank == 0)
        print(name, bytes, &found, before, after);
    return found.slowest;
}

/* All sizes of one collective. */
static void measure_sizes(const char *name, double budget, char **sizes, int number)
{
    int is_empty = !strcmp(name, "barrier") || !strcmp(name, "nothing");
    int persistent = !strcmp(name, "neighbor-persistent");
    for (int i = 0; i < (is_empty ? 1 : number); i++) {
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
        double slowest = measure_size(name, is_empty ? 0 : bytes, budget);
        if (persistent)
            MPI_Request_free(&again);
        release(out);
        release(in);
        if (slowest > longest)
            return;
    }
}

/* Whether a word is an option, which is in effect then. */
static int is_option(const char *word)
{
    if (!strncmp(word, "counters=", 9)) {
        counters = word + 9;
        return 1;
    }
    return sscanf(word, "until=%lf", &longest) == 1 || sscanf(word, "root=%d", &fixed_root) == 1;
}

int main(int argc, char **argv)
{
    char name[NAME_LENGTH];
    int periodic = 1, taken = 0;
    const char *cores = placement(&argc, argv);
    while (argc > 1 && is_option(argv[argc - 1]))
        argc--;
    if (argc < 5 || (!strcmp(argv[1], "traffic") && !*counters)) {
        fprintf(stderr, "usage: collective back|fixed|sync|fixed-sync|span|fixed-span|unequal|"
                        "processors|traffic SECONDS NAME,NAME SIZE... [until=SECONDS] "
                        "[root=RANK] [counters=PROGRAM] [pin=CORE,CORE]\n");
        return 2;
    }
    mode = argv[1];
    is_span = strstr(mode, "span") != NULL;
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
