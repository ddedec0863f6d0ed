/*
 * The guidelines of guidelines.c as a table, and the communicators that they need.
 */
#ifndef TOWPATH_BENCHMARKS_GUIDELINE_TABLE_H
#define TOWPATH_BENCHMARKS_GUIDELINE_TABLE_H

#include <sys/types.h>

#include "guideline_mockups.h"

enum { NAME_LENGTH = 48, MOST_GUIDELINES = 200, ROTATING = -1, QUARTERS = 4 };

/* What measurements scatter by, and seconds between two ticks of the scheduler. */
static const double TOLERANCE = 1.1, TICK = 4e-3;

enum measure { TIME, SWITCHES, LINK, LEAST_SWITCHES, LEAST_BYTES };

/* One side of a guideline: what is called, by whom, and what is measured. */
struct side {
    char name[NAME_LENGTH];
    enum operation operation;
    enum form form;
    void (*mockup)(const struct call *);
    const struct team *team;
    int root;
    int parts; /* the bytes are divided by this, and so many calls count as one */
    int repeats;
    int hog;
    enum measure measure;
};

struct guideline {
    int group;
    struct side left, right;
    double factor, extra;
};

static struct guideline guidelines[MOST_GUIDELINES];
static int number;
/* A stopped process that computes, or 0. */
static pid_t hog;
static struct team half, dealt, equal, unequal;
/* Hosts, and their ranks if those are blocks of the same size, or 0. */
static int hosts, ranks_of_host;

static void fail(const char *what, const char *name)
{
    fprintf(stderr, "guidelines: %s%s\n", what, name);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* A team of the ranks that have the same color, in the order of a key. */
static struct team split(int color, int key)
{
    struct team found = {MPI_COMM_NULL, 0, 0};
    MPI_Comm_split(MPI_COMM_WORLD, color, key, &found.comm);
    if (found.comm == MPI_COMM_NULL)
        return found;
    MPI_Comm_rank(found.comm, &found.rank);
    MPI_Comm_size(found.comm, &found.size);
    return found;
}

/* Counts the hosts and their ranks. */
static void find_hosts(void)
{
    MPI_Comm host;
    int first, rank, size, leads, most;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &rank);
    MPI_Comm_size(host, &size);
    MPI_Allreduce(&world.rank, &first, 1, MPI_INT, MPI_MIN, host);
    MPI_Comm_free(&host);
    leads = rank == 0;
    MPI_Allreduce(&leads, &hosts, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&size, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    int regular = size == most && first % size == 0 && world.rank == first + rank, all;
    MPI_Allreduce(&regular, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    ranks_of_host = all ? size : 0;
}

static void make_teams(void)
{
    world.comm = MPI_COMM_WORLD;
    MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world.size);
    find_hosts();
    int rank = world.rank, size = world.size, each = ranks_of_host;
    if (hosts == 1)
        each = size % 2 ? size : size / 2;
    half = split(rank < divided_up(size, 2) ? 0 : MPI_UNDEFINED, rank);
    if (each == 0)
        return;
    node = split(rank / each, rank);
    lane = split(rank % each, rank);
    dealt = split(0, rank % each * size + rank);
    /* The second host gives a rank to the first one. */
    int host = rank / each, more = host == 0 ? 1 : host == 1 ? -1 : 0;
    equal = split(rank % each < each / 2 ? 0 : MPI_UNDEFINED, rank);
    unequal = split(rank % each < each / 2 + more ? 0 : MPI_UNDEFINED, rank);
}

static void make_ring(void)
{
    /* Two ranks would be each other's neighbours on both sides. */
    int size = world.size, periodic = size > 2;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
    MPI_Cart_shift(ring, 0, 1, &left_neighbor, &right_neighbor);
}

static struct side plain(enum operation operation)
{
    struct side side = {
        .operation = operation, .team = &world, .root = ROTATING, .parts = 1, .repeats = 1};
    snprintf(side.name, sizeof side.name, "%s", OPERATION_NAMES[operation]);
    return side;
}

static struct side variant(enum operation operation, const char *name)
{
    struct side side = plain(operation);
    snprintf(side.name, sizeof side.name, "%s-%s", OPERATION_NAMES[operation], name);
    return side;
}

static struct side mockup(enum operation operation, const char *name,
                          void (*call)(const struct call *))
{
    struct side side = plain(operation);
    snprintf(side.name, sizeof side.name, "%s", name);
    side.mockup = call;
    return side;
}

static void add(int group, struct side left, struct side right, double factor, double extra)
{
    if (number == MOST_GUIDELINES)
        fail("too many guidelines at ", left.name);
    guidelines[number++] = (struct guideline){group, left, right, factor, extra};
}

/* An operation may not take longer than a mock-up of it. */
static void add_mockup(int group, enum operation operation, const char *name,
                       void (*call)(const struct call *))
{
    add(group, plain(operation), mockup(operation, name, call), TOLERANCE, 0);
}

/* Groups 1 to 4: rooted operations. */
static void add_rooted(void)
{
    add_mockup(1, GATHER, "gatherv", gather_by_gatherv);
    add(1, plain(GATHER), plain(ALLGATHER), TOLERANCE, 0);
    add_mockup(1, GATHER, "reduce", gather_by_reduce);
    add_mockup(1, GATHER, "isend-irecv", gather_by_messages);
    add_mockup(2, SCATTER, "scatterv", scatter_by_scatterv);
    add_mockup(2, SCATTER, "bcast", scatter_by_bcast);
    add_mockup(3, BCAST, "scatter+allgather", bcast_by_scatter_allgather);
    add_mockup(3, BCAST, "allgatherv", bcast_by_allgatherv);
    add(4, plain(REDUCE), plain(ALLREDUCE), TOLERANCE, 0);
    add_mockup(4, REDUCE, "reduce-scatter+gather", reduce_by_reduce_scatter_gather);
}

/* Groups 5 to 7: operations without a root. */
static void add_rootless(void)
{
    add_mockup(5, ALLREDUCE, "reduce+bcast", allreduce_by_reduce_bcast);
    add_mockup(5, ALLREDUCE, "reduce-scatter+allgather", allreduce_by_reduce_scatter_allgather);
    add_mockup(6, ALLGATHER, "gather+bcast", allgather_by_gather_bcast);
    add_mockup(6, ALLGATHER, "allgatherv", allgather_by_allgatherv);
    add_mockup(6, ALLGATHER, "alltoall", allgather_by_alltoall);
    add_mockup(6, ALLGATHER, "allreduce", allgather_by_allreduce);
    add_mockup(7, ALLTOALL, "alltoallv", alltoall_by_alltoallv);
    add(7, mockup(ALLTOALL, "alltoallv", alltoall_by_alltoallv),
        mockup(ALLTOALL, "alltoallw", alltoall_by_alltoallw), TOLERANCE, 0);
    add(7, mockup(BARRIER, "neighbor-alltoall", neighbor_alltoall),
        mockup(BARRIER, "alltoallv-with-zeros", neighbor_by_alltoallv), TOLERANCE, 0);
    add_mockup(7, REDUCE_SCATTER, "reduce+scatter", reduce_scatter_by_reduce_scatter);
    add_mockup(7, REDUCE_SCATTER, "allreduce", reduce_scatter_by_allreduce);
    add_mockup(7, SCAN, "exscan+reduce-local", scan_by_exscan);
    add_mockup(7, BARRIER, "allreduce", barrier_by_allreduce);
}

/* The mock-ups by nodes and lanes of groups 1 to 5. */
static void add_nodes(void)
{
    if (node.size == 0)
        return;
    add_mockup(1, GATHER, "gather-by-nodes", gather_by_nodes);
    add_mockup(2, SCATTER, "scatter-by-nodes", scatter_by_nodes);
    add_mockup(3, BCAST, "bcast-by-nodes", bcast_by_nodes);
    add_mockup(4, REDUCE, "reduce-by-nodes", reduce_by_nodes);
    add_mockup(5, ALLREDUCE, "allreduce-by-nodes", allreduce_by_nodes);
    add_mockup(5, ALLREDUCE, "allreduce-by-lanes", allreduce_by_lanes);
}

/* Group 8. */
static void add_monotony(enum operation operation)
{
    struct side few = variant(operation, "half-the-ranks");
    few.team = &half;
    add(8, few, plain(operation), TOLERANCE, 0);
    if (operation == BARRIER)
        return;
    struct side less = variant(operation, "half-the-bytes"),
                quarters = variant(operation, "four-quarters");
    less.parts = 2;
    quarters.parts = quarters.repeats = QUARTERS;
    add(8, less, plain(operation), TOLERANCE, 0);
    add(8, plain(operation), quarters, TOLERANCE, 0);
}

/* Group 9. */
static void add_forms(enum operation operation)
{
    static const struct {
        const char *name;
        enum form form;
        double factor, extra;
    } FORMS[] = {{"nonblocking", NONBLOCKING, 1.05, 80e-9},
                 {"persistent", PERSISTENT, 1, 40e-9},
                 {"contiguous", CONTIGUOUS, TOLERANCE, 0},
                 {"in-place", IN_PLACE, TOLERANCE, 0}};
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++) {
        struct side side = variant(operation, FORMS[i].name);
        side.form = FORMS[i].form;
        if (has_form(operation, side.form))
            add(9, side, plain(operation), FORMS[i].factor, FORMS[i].extra);
    }
}

/* The operation with one root is no slower than with root 0. */
static void add_root(int group, enum operation operation, const char *name, int root)
{
    struct side any = variant(operation, name), first = variant(operation, "root-0");
    any.root = root;
    first.root = 0;
    add(group, any, first, TOLERANCE, 0);
}

/* Group 0: the same on both sides, so that a violation is an error of the measurement. */
static void add_control(enum operation operation)
{
    add(0, variant(operation, "again"), plain(operation), TOLERANCE, 0);
    if (is_rooted(operation))
        add_root(0, operation, "root-0-again", 0);
}

/* The operation in one team is no slower than in another. */
static void add_teams(enum operation operation, const char *left_name, const struct team *left,
                      const char *right_name, const struct team *right)
{
    struct side one = variant(operation, left_name), other = variant(operation, right_name);
    one.team = left;
    other.team = right;
    /* The same process in both; with roots that move on, the next one may be on another host. */
    one.root = other.root = 0;
    add(10, one, other, TOLERANCE, 0);
}

/* Group 10. */
static void add_robustness(enum operation operation)
{
    if (hog) {
        struct side beside = variant(operation, "beside-a-hog");
        beside.hog = 1;
        add(10, beside, plain(operation), 3, TICK);
    }
    if (lane.size > 1 && node.size > 1)
        add_teams(operation, "dealt-out", &dealt, "in-blocks", &world);
    if (is_rooted(operation)) {
        add_root(10, operation, "last-root", world.size - 1);
        if (world.size > 2)
            add_root(10, operation, "middle-root", world.size / 2);
    }
    if (hosts > 1 && ranks_of_host >= 4)
        add_teams(operation, "unequal", &unequal, "equal", &equal);
}

/* Group 11. */
static void add_limits(enum operation operation)
{
    struct side switches = variant(operation, "switches"),
                bytes = variant(operation, "bytes-of-link"), limit = plain(operation);
    switches.measure = SWITCHES;
    bytes.measure = LINK;
    snprintf(limit.name, sizeof limit.name, "one-per-rank");
    limit.measure = LEAST_SWITCHES;
    add(11, switches, limit, 1.2, 0);
    if (hosts == 1 || ranks_of_host == 0 || operation == BARRIER)
        return;
    snprintf(limit.name, sizeof limit.name, "least-bytes");
    limit.measure = LEAST_BYTES;
    add(11, bytes, limit, 1.03, 0);
}

static void add_all(void)
{
    add_rooted();
    add_rootless();
    add_nodes();
    void (*each[])(enum operation) = {add_control, add_monotony, add_forms, add_robustness,
                                      add_limits};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        for (enum operation operation = BARRIER; operation < OPERATIONS; operation++)
            each[i](operation);
}

#endif
