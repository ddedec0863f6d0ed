/*
 * Collectives on buffers in host and device memory, which differ between the ranks: blocking,
 * nonblocking and persistent, in place and not. The result is compared with that of the same call
 * on host buffers.
 *
 *     collectives ROUNDS SEED
 */
#include "random_types.h"

enum { MOST = 9000 };

/* Those that reduce are neighbours. */
enum {
    BCAST,
    GATHER,
    GATHERV,
    SCATTER,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    REDUCE,
    ALLREDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    CALLS
};

/* The arguments of one call: vectors of `count` elements for each rank. */
typedef struct {
    int call, count, root;
    bool in_place;
    MPI_Datatype type;
    MPI_Op op;
    int *counts, *places;
    MPI_Datatype *types;
} Arguments;

static void *source(const Arguments *a, void *from) { return a->in_place ? MPI_IN_PLACE : from; }

/* Of the collectives with a root, only the root may pass MPI_IN_PLACE. */
static void *at_root(const Arguments *a, void *buffer)
{
    return a->in_place && check_rank == a->root ? MPI_IN_PLACE : buffer;
}

static int begin(const Arguments *a, void *from, void *to, MPI_Request *request)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    void *send = source(a, from);
    int n = a->count;
    MPI_Datatype t = a->type;
    switch (a->call) {
    case BCAST: return MPI_Ibcast(to, n, t, a->root, comm, request);
    case GATHER: return MPI_Igather(at_root(a, from), n, t, to, n, t, a->root, comm, request);
    case SCATTER: return MPI_Iscatter(from, n, t, at_root(a, to), n, t, a->root, comm, request);
    case ALLGATHER: return MPI_Iallgather(send, n, t, to, n, t, comm, request);
    case ALLTOALL: return MPI_Ialltoall(send, n, t, to, n, t, comm, request);
    case ALLGATHERV: return MPI_Iallgatherv(send, n, t, to, a->counts, a->places, t, comm, request);
    case ALLTOALLV: return MPI_Ialltoallv(send, a->counts, a->places, t, to, a->counts, a->places,
                                          t, comm, request);
    case ALLTOALLW: return MPI_Ialltoallw(send, a->counts, a->places, a->types, to, a->counts,
                                          a->places, a->types, comm, request);
    case REDUCE: return MPI_Ireduce(at_root(a, from), to, n, t, a->op, a->root, comm, request);
    case ALLREDUCE: return MPI_Iallreduce(send, to, n, t, a->op, comm, request);
    case REDUCE_SCATTER: return MPI_Ireduce_scatter(send, to, a->counts, t, a->op, comm, request);
    case REDUCE_SCATTER_BLOCK: return MPI_Ireduce_scatter_block(send, to, n, t, a->op, comm,
                                                                request);
    case SCAN: return MPI_Iscan(send, to, n, t, a->op, comm, request);
    case EXSCAN: return MPI_Iexscan(send, to, n, t, a->op, comm, request);
    default: return MPI_Igatherv(at_root(a, from), n, t, to, a->counts, a->places, t, a->root, comm,
                                 request);
    }
}

static int make(const Arguments *a, void *from, void *to, MPI_Request *request)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    void *send = source(a, from);
    int n = a->count;
    MPI_Datatype t = a->type;
    switch (a->call) {
    case BCAST: return MPI_Bcast_init(to, n, t, a->root, comm, MPI_INFO_NULL, request);
    case ALLTOALL: return MPI_Alltoall_init(send, n, t, to, n, t, comm, MPI_INFO_NULL, request);
    case ALLREDUCE: return MPI_Allreduce_init(send, to, n, t, a->op, comm, MPI_INFO_NULL, request);
    case SCAN: return MPI_Scan_init(send, to, n, t, a->op, comm, MPI_INFO_NULL, request);
    default: return MPI_Allgather_init(send, n, t, to, n, t, comm, MPI_INFO_NULL, request);
    }
}

static int block(const Arguments *a, void *from, void *to)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    void *send = source(a, from);
    int n = a->count;
    MPI_Datatype t = a->type;
    switch (a->call) {
    case BCAST: return MPI_Bcast(to, n, t, a->root, comm);
    case GATHER: return MPI_Gather(at_root(a, from), n, t, to, n, t, a->root, comm);
    case SCATTER: return MPI_Scatter(from, n, t, at_root(a, to), n, t, a->root, comm);
    case ALLGATHER: return MPI_Allgather(send, n, t, to, n, t, comm);
    case ALLTOALL: return MPI_Alltoall(send, n, t, to, n, t, comm);
    case ALLGATHERV: return MPI_Allgatherv(send, n, t, to, a->counts, a->places, t, comm);
    case ALLTOALLV: return MPI_Alltoallv(send, a->counts, a->places, t, to, a->counts, a->places, t,
                                         comm);
    case ALLTOALLW: return MPI_Alltoallw(send, a->counts, a->places, a->types, to, a->counts,
                                         a->places, a->types, comm);
    case REDUCE: return MPI_Reduce(at_root(a, from), to, n, t, a->op, a->root, comm);
    case ALLREDUCE: return MPI_Allreduce(send, to, n, t, a->op, comm);
    case REDUCE_SCATTER: return MPI_Reduce_scatter(send, to, a->counts, t, a->op, comm);
    case REDUCE_SCATTER_BLOCK: return MPI_Reduce_scatter_block(send, to, n, t, a->op, comm);
    case SCAN: return MPI_Scan(send, to, n, t, a->op, comm);
    case EXSCAN: return MPI_Exscan(send, to, n, t, a->op, comm);
    default: return MPI_Gatherv(at_root(a, from), n, t, to, a->counts, a->places, t, a->root, comm);
    }
}

/* Runs the call `way`: 0 blocking, 1 nonblocking, 2 persistent. */
static void run(int way, const Arguments *a, void *from, void *to)
{
    MPI_Request request;
    if (way == 0) {
        block(a, from, to);
        return;
    }
    if (way == 1) {
        begin(a, from, to, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        return;
    }
    make(a, from, to, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}

static bool is_reduction(int call) { return call >= REDUCE; }

static Arguments arguments(unsigned *random)
{
    Arguments a = {.call = between(random, 0, CALLS - 1)};
    bool few = between(random, 0, 3);
    a.root = between(random, 0, check_size - 1);
    a.count = between(random, 1, few ? 40 : MOST / check_size);
    a.in_place = between(random, 0, 2) == 0;
    a.op = between(random, 0, 1) ? MPI_SUM : MPI_MAX;
    if (is_reduction(a.call) || between(random, 0, 1))
        MPI_Type_dup(MPI_INT, &a.type);
    else {
        MPI_Datatype pairs;
        MPI_Type_vector(2, 1, 2, MPI_INT, &pairs);
        MPI_Type_create_resized(pairs, 0, 16, &a.type);
        MPI_Type_free(&pairs);
    }
    MPI_Type_commit(&a.type);
    a.counts = malloc(check_size * sizeof *a.counts);
    a.places = malloc(check_size * sizeof *a.places);
    a.types = malloc(check_size * sizeof *a.types);
    MPI_Aint lower, extent;
    MPI_Type_get_extent(a.type, &lower, &extent);
    for (int i = 0; i < check_size; i++) {
        a.counts[i] = a.count;
        a.places[i] = i * a.count * (a.call == ALLTOALLW ? (int)extent : 1);
        a.types[i] = a.type;
    }
    return a;
}

/* Whether the standard says what this rank's buffer holds afterwards. */
static bool is_defined(const Arguments *a)
{
    if (a->call == REDUCE)
        return check_rank == a->root;
    return a->call != EXSCAN || check_rank > 0 || a->in_place;
}

static bool round_is_wrong(unsigned *random, int round)
{
    Arguments a = arguments(random);
    int way = between(random, 0, 2), spaces = between(random, 0, 3), mixed = between(random, 0, 1);
    bool persistent = a.call == BCAST || a.call == ALLGATHER || a.call == ALLTOALL
                      || a.call == ALLREDUCE || a.call == SCAN;
    if (way == 2 && !persistent)
        way = 1;
    bool from_device = (spaces & 1) != (mixed && check_rank % 2), to_device = spaces & 2;
    size_t length = (size_t)a.count * check_size * 16 + 64;
    int *data = malloc(length), *expected = malloc(length);
    Memory from = memory_of(from_device, length), to = memory_of(to_device, length);
    int *host = malloc(length);
    unsigned numbers = random_from(check_rank);
    for (size_t i = 0; i < length / sizeof *data; i++) {
        data[i] = (int)(next_random(&numbers) & 0xffffff);
        expected[i] = data[i] ^ 0x55555;
    }
    write_memory(from, data);
    write_memory(to, expected);
    memcpy(host, data, length);
    run(way, &a, host, expected);
    run(way, &a, from.bytes, to.bytes);
    bool wrong = is_defined(&a) && !holds(to, expected);
    if (wrong)
        printf("rank %d of %d, round %d: call %d, way %d, count %d, in place %d, from %s to %s\n",
               check_rank, check_size, round, a.call, way, a.count, a.in_place,
               from_device ? "device" : "host", to_device ? "device" : "host");
    free_memory(from);
    free_memory(to);
    free(host);
    free(data);
    free(expected);
    free(a.counts);
    free(a.places);
    free(a.types);
    MPI_Type_free(&a.type);
    return wrong;
}

int main(int count, char **words)
{
    return run_rounds(count, words, round_is_wrong);
}
