/*
 * Self-consistency guidelines: a collective may not take longer than another way to do the same.
 *
 *     guidelines back|sync SECONDS_PER_BATCH ROUNDS WHICH SIZE... [hog=PID] [pin=CORE,CORE]
 *
 * WHICH: "all" but group 0, or a list of groups (1,2,9) and rows (gather:gatherv@1024) separated by
 * commas.
 * SIZE: bytes that a rank contributes (per pair in alltoall, of a block in reduce-scatter), a
 * multiple of 8. Sizes whose buffers take more than 4 GiB in all ranks are left out.
 * back: calls one behind the other, the root moves on with every call. sync: a barrier before each
 * call, whose time does not count.
 * hog: a stopped process that computes without end when it continues; group 10 needs it.
 *
 * Both sides are measured in turn, so that a machine which changes its speed does not matter. Where
 * both deliver the same, their results are compared first. Prints "rows NUMBER", then for each row
 * "GROUP LEFT RIGHT BYTES UNIT FACTOR EXTRA left right left right ...": a figure is the mean over a
 * batch as the slowest rank sees it, and the left may be FACTOR times the right and EXTRA more.
 *
 *  0. Control: each operation against itself, which shows how far measurements scatter
 *  1. Gather: Gatherv, Allgather, Reduce of all blocks (zero but for the own one), Isend and Irecv,
 *     by nodes
 *  2. Scatter: Scatterv, Bcast of all blocks, by nodes
 *  3. Bcast: Scatter and Allgather, Allgatherv to which the root contributes all, by nodes
 *  4. Reduce: Allreduce, Reduce_scatter_block and Gather, by nodes
 *  5. Allreduce: Reduce and Bcast, Reduce_scatter_block and Allgather, by nodes, by lanes
 *  6. Allgather: Gather and Bcast, Allgatherv, Alltoall, Allreduce of all blocks
 *  7. Alltoall: Alltoallv. Alltoallv: Alltoallw. Neighbor_alltoall: Alltoallv with zeros.
 *     Reduce_scatter_block: Reduce and Scatter, Allreduce. Scan: Exscan and Reduce_local.
 *     Barrier: Allreduce of 8 bytes
 *  8. Monotony: half of the bytes take no longer than all, half of the ranks no longer than all,
 *     and one call no longer than four with a quarter of the bytes
 *  9. Forms: nonblocking and MPI_Wait no longer than 1.05 times blocking and 80 ns, persistent no
 *     longer than blocking and 40 ns; on a derived contiguous type no longer than on bytes; in
 *     place no longer than out of place
 * 10. Robustness: beside a process that computes no longer than three times as long and a tick of
 *     the scheduler; ranks dealt out over the nodes no longer than in blocks; the last or middle
 *     root no longer than root 0; unequal numbers of ranks on the hosts no longer than equal ones
 * 11. Limits: bytes over the link of the first host, root 0, no more than the operation needs where
 *     other hosts pass on what they have (mode back; 64 KiB and more and long frames, so that
 *     headers do not count); context switches of all ranks in a call no more than one for each rank
 *     (mode sync)
 *
 * A node is a host, or half of the ranks if there is one host. Guidelines about nodes are left out
 * where the ranks of hosts are no blocks of the same size, those about links on one host, and those
 * about unequal numbers where a host has fewer than four ranks.
 *
 * Groups 1 to 8 are from: J. L. Träff, W. D. Gropp, R. Thakur, "Self-consistent MPI performance
 * requirements" (EuroPVM/MPI 2007) and "Self-consistent MPI performance guidelines" (IEEE TPDS
 * 21(5), 2010). That mock-ups are whole implementations follows PGMPI: S. Hunold, A. Carpen-Amarie,
 * F. D. Lübbe, J. L. Träff, "Automatic verification of self-consistent MPI performance guidelines"
 * (Euro-Par 2016, arXiv:1606.00215); those by nodes and lanes are of its successor PGMPITuneLib.
 * ReproMPI, of the same authors, starts calls at agreed times. Ranks that share cores cannot wait
 * for a time, so the mode sync has a barrier.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include "guideline_table.h"

enum {
    LEAST_COUNT = 5,
    LARGEST_COUNT = 4000,
    SLOW_COUNT = 2,
    BUFFERS = 4, /* what is sent, what arrives, what is in between, and a result to compare */
    LARGEST_CHECKED = 64 << 10,
    LEAST_FOR_LINK = 64 << 10,
};

static const double SLOW = 5e-3, MOST_BYTES = 4294967296.0;

static int rounds, synchronized;
static double seconds;

/* The system's clock, the same for each library. */
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void call_side(const struct side *side, const struct call *call)
{
    if (side->mockup)
        side->mockup(call);
    else
        call_operation(side->operation, side->form, call);
}

/* Seconds that this rank spends in so many calls. */
static double calls(const struct side *side, int bytes, int count)
{
    struct call call = {side->team, bytes / side->parts, side->root};
    double started = now(), left_out = 0;
    for (int i = 0; i < count; i++) {
        if (side->root == ROTATING)
            call.root = i % side->team->size;
        if (synchronized) {
            double before = now();
            MPI_Barrier(side->team->comm);
            left_out += now() - before;
        }
        for (int repeat = 0; repeat < side->repeats; repeat++)
            call_side(side, &call);
    }
    return now() - started - left_out;
}

static void signal_hog(const struct side *side, int signal)
{
    if (side->hog && world.rank == 0)
        kill(hog, signal);
}

/* Seconds of a call, the mean over so many, as the slowest rank saw it. */
static double time_of(const struct side *side, int bytes, int count)
{
    double mine = 0, slowest;
    signal_hog(side, SIGCONT);
    MPI_Barrier(MPI_COMM_WORLD);
    if (side->team->comm != MPI_COMM_NULL)
        mine = calls(side, bytes, count) / count;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    signal_hog(side, SIGSTOP);
    return slowest;
}

/* Context switches of this process so far. */
static double switches_so_far(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_nvcsw + usage.ru_nivcsw);
}

/* Context switches of all ranks in a call, without those in the barrier before it. */
static double switches_of(const struct side *side, int bytes, int count)
{
    double mine = 0, all;
    for (int i = 0; i < count; i++) {
        struct call call = {side->team, bytes, i % side->team->size};
        MPI_Barrier(side->team->comm);
        double before = switches_so_far();
        call_side(side, &call);
        mine += switches_so_far() - before;
    }
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all / count;
}

/* Bytes that this host has received and sent so far, but for those to itself. */
static double traffic_so_far(void)
{
    char line[512], name[32];
    double received, sent, sum = 0;
    FILE *file = fopen("/proc/self/net/dev", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, " %31[^: ]: %lf %*f %*f %*f %*f %*f %*f %*f %lf", name, &received,
                   &sent) == 3 &&
            strcmp(name, "lo"))
            sum += received + sent;
    if (file)
        fclose(file);
    return sum;
}

/* Bytes over the link of the first host in a call with root 0. */
static double link_of(const struct side *side, int bytes, int count)
{
    struct call call = {side->team, bytes, 0};
    MPI_Barrier(MPI_COMM_WORLD);
    double before = traffic_so_far();
    for (int i = 0; i < count; i++)
        call_side(side, &call);
    MPI_Barrier(MPI_COMM_WORLD);
    double mine = (traffic_so_far() - before) / count;
    MPI_Bcast(&mine, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return mine;
}

/* The bytes that an operation must send over the link of its root's host, in both directions. */
static double least_bytes(enum operation operation, double bytes)
{
    double here = ranks_of_host, others = world.size - ranks_of_host;
    switch (operation) {
    case GATHER:
    case SCATTER: return others * bytes;
    case ALLGATHER:
    case REDUCE_SCATTER: return (here + others) * bytes;
    case ALLTOALL: return 2 * here * others * bytes;
    case ALLREDUCE: return 2 * bytes;
    default: return bytes;
    }
}

static double measure(const struct side *side, int bytes, int count)
{
    switch (side->measure) {
    case SWITCHES: return switches_of(side, bytes, count);
    case LINK: return link_of(side, bytes, count);
    case LEAST_SWITCHES: return world.size;
    case LEAST_BYTES: return least_bytes(side->operation, bytes);
    default: return time_of(side, bytes, count) * 1e6;
    }
}

/* Calls in which a library makes what it needs, for each root that has a request of its own. */
static int first_calls(const struct side *side)
{
    int requests = requests_of(side->operation, side->team);
    return side->form == PERSISTENT ? SLOW_COUNT * requests : SLOW_COUNT;
}

/* How many calls fill a batch. */
static int count_of(const struct side *side, int bytes)
{
    if (side->measure >= LEAST_SWITCHES)
        return 1;
    time_of(side, bytes, first_calls(side));
    double one = time_of(side, bytes, SLOW_COUNT);
    if (one > SLOW)
        return SLOW_COUNT;
    one = time_of(side, bytes, LEAST_COUNT);
    double count = seconds / (one > 1e-7 ? one : 1e-7);
    return count < LEAST_COUNT ? LEAST_COUNT : count > LARGEST_COUNT ? LARGEST_COUNT : (int)count;
}

/* Numbers that can be summed exactly, other ones in each rank and block. */
static void fill(const struct side *side, int bytes)
{
    size_t length = (size_t)bytes / 8 * (size_t)world.size;
    for (size_t i = 0; i < length; i++)
        ((double *)out)[i] = (double)((i * 5 + i / 7 + (size_t)world.rank * 3) % 16);
    memcpy(in, out, length * 8);
    /* In place, that is where a rank's own block is. */
    if (side->operation == GATHER || side->operation == ALLGATHER)
        memcpy(in + (size_t)world.rank * (size_t)bytes, out, (size_t)bytes);
}

/* Bytes of the result that a rank has. */
static size_t result_of(const struct side *side, int bytes, int root)
{
    int everywhere = !is_for_root(side->operation) || world.rank == root;
    switch (side->operation) {
    case GATHER:
    case ALLGATHER:
    case ALLTOALL: return everywhere * (size_t)bytes * (size_t)world.size;
    /* In place, the root's own block stays where it is. */
    case SCATTER: return side->form != IN_PLACE || world.rank != root ? (size_t)bytes : 0;
    case BARRIER: return side->mockup == neighbor_alltoall ? (size_t)bytes * 2 : 0;
    default: return everywhere * (size_t)bytes;
    }
}

/* Whether both sides deliver the same to this rank. The buffers are zero afterwards. */
static int delivers_the_same(const struct guideline *row, int bytes)
{
    struct call call = {&world, bytes, world.size - 1};
    size_t length = result_of(&row->left, bytes, call.root),
           room = (size_t)bytes * (size_t)world.size;
    char *saved = (char *)malloc(length + 1);
    fill(&row->left, bytes);
    call_side(&row->left, &call);
    memcpy(saved, in, length);
    fill(&row->right, bytes);
    call_side(&row->right, &call);
    int same = memcmp(saved, in, length) == 0;
    free(saved);
    memset(out, 0, room);
    memset(in, 0, room);
    memset(work, 0, room);
    return same;
}

static void check(const struct guideline *row, int bytes)
{
    int comparable = row->group < 8 || row->group == 9;
    if (comparable && bytes <= LARGEST_CHECKED && !delivers_the_same(row, bytes))
        fail("the sides deliver different results: ", row->left.name);
}

static void print(const struct guideline *row, int bytes, const double *figures)
{
    static const char *const UNITS[] = {"us", "switches", "bytes"};
    const struct side *left = &row->left;
    printf("%d %s %s %d %s %g %g", row->group, left->name, row->right.name, bytes,
           UNITS[left->measure], row->factor, row->extra * 1e6);
    for (int i = 0; i < 2 * rounds; i++)
        printf(" %.6g", figures[i]);
    printf("\n");
    fflush(stdout);
}

static void measure_row(const struct guideline *row, int bytes)
{
    const struct side *left = &row->left;
    double *figures = (double *)calloc((size_t)rounds, 2 * sizeof *figures);
    if (left->team->comm != MPI_COMM_NULL)
        prepare(left->operation, left->form, left->team, bytes / left->parts);
    check(row, bytes);
    int of_left = count_of(left, bytes), of_right = count_of(&row->right, bytes);
    for (int i = 0; i < rounds; i++) {
        figures[2 * i] = measure(left, bytes, of_left);
        figures[2 * i + 1] = measure(&row->right, bytes, of_right);
    }
    if (left->team->comm != MPI_COMM_NULL)
        finish(left->operation, left->form, left->team);
    if (world.rank == 0)
        print(row, bytes, figures);
    free(figures);
}

/* Whether a row is measured in this mode, at this size, or only once for all sizes. */
static int applies(const struct guideline *row, int bytes, int first)
{
    const struct side *left = &row->left;
    int parts = left->parts > row->right.parts ? left->parts : row->right.parts;
    int has_size = left->operation != BARRIER || left->mockup == neighbor_alltoall;
    if (left->measure == SWITCHES && !synchronized)
        return 0;
    if (left->measure == LINK && (synchronized || bytes < LEAST_FOR_LINK))
        return 0;
    return bytes % (8 * parts) == 0 && (first || has_size);
}

/* Whether a list of groups and rows contains this one. */
static int is_chosen(const char *which, const struct guideline *row, int bytes)
{
    char group[NAME_LENGTH], name[3 * NAME_LENGTH];
    const char *names[] = {row->group ? "all" : group, group, name};
    snprintf(group, sizeof group, "%d", row->group);
    snprintf(name, sizeof name, "%s:%s@%d", row->left.name, row->right.name, bytes);
    for (const char *at = which; *at; at += strcspn(at, ","), at += *at == ',') {
        size_t length = strcspn(at, ",");
        for (int i = 0; i < 3; i++)
            if (strlen(names[i]) == length && !strncmp(at, names[i], length))
                return 1;
    }
    return 0;
}

static int fits(int bytes)
{
    return BUFFERS * (double)bytes * world.size * world.size <= MOST_BYTES;
}

/* Visits all rows that are chosen, and measures them or not; how many there are. */
static int visit(const char *which, char **sizes, int number_of_sizes, int measures)
{
    int found = 0;
    for (int i = 0; i < number_of_sizes; i++)
        for (int g = 0; g < number; g++) {
            int bytes = atoi(sizes[i]);
            if (!fits(bytes) || !applies(&guidelines[g], bytes, i == 0) ||
                !is_chosen(which, &guidelines[g], bytes))
                continue;
            found++;
            if (measures)
                measure_row(&guidelines[g], bytes);
        }
    return found;
}

/* Buffers for the largest size that fits. */
static void make_buffers(char **sizes, int number_of_sizes)
{
    size_t ranks = (size_t)world.size, largest = 8;
    for (int i = 0; i < number_of_sizes; i++)
        if (fits(atoi(sizes[i])) && (size_t)atoi(sizes[i]) > largest)
            largest = (size_t)atoi(sizes[i]);
    /* Neighbours have two blocks in any case. */
    size_t room = largest * (ranks > 2 ? ranks : 2);
    out = block(room);
    in = block(room);
    work = block(room);
    counts = (int *)calloc(ranks, sizeof *counts);
    displacements = (int *)calloc(ranks, sizeof *displacements);
    types = (MPI_Datatype *)calloc(ranks, sizeof *types);
    requests = (MPI_Request *)calloc(ranks, sizeof *requests);
    persistent = (MPI_Request *)calloc(ranks, sizeof *persistent);
}

int main(int argc, char **argv)
{
    const char *cores = placement(&argc, argv);
    if (argc > 1 && !strncmp(argv[argc - 1], "hog=", 4))
        hog = atoi(argv[--argc] + 4);
    if (argc < 6) {
        fprintf(
            stderr,
            "usage: guidelines back|sync SECONDS ROUNDS WHICH SIZE... [hog=PID] [pin=CORE,CORE]\n");
        return 2;
    }
    synchronized = !strcmp(argv[1], "sync");
    seconds = atof(argv[2]);
    rounds = atoi(argv[3]);
    MPI_Init(&argc, &argv);
    make_teams();
    make_ring();
    pin(cores, world.rank);
    make_buffers(argv + 5, argc - 5);
    add_all();
    int rows = visit(argv[4], argv + 5, argc - 5, 0);
    if (world.rank == 0) {
        printf("rows %d\n", rows);
        fflush(stdout);
    }
    visit(argv[4], argv + 5, argc - 5, 1);
    MPI_Finalize();
    return 0;
}
