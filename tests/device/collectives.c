/*
 * Collectives on buffers in host and device memory, which differ between the ranks: blocking,
 * nonblocking and persistent, in place and not. The result is compared with that of the same call
 * on host buffers.
 *
 *     collectives ROUNDS SEED
 */
#include "memory.h"
#include "random_types.h"

enum { CALLS = 15, MOST = 9000 };

static int rank, size;

/* The arguments of one call: vectors of `count` elements for each rank. */
typedef struct {
    int call, count, root;
    bool in_place;
    MPI_Datatype type;
    MPI_Op op;
    int *counts, *places;
    MPI_Datatype *types;
} Arguments;

static int begin(const Arguments *a, void *from, void *to, MPI_Request *request)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    void *send = a->in_place ? MPI_IN_PLACE : from;
    int n = a->count;
    MPI_Datatype t = a->type;
    switch (a->call) {
    case 0: return MPI_Ibcast(to, n, t, a->root, comm, request);
    case 1: return MPI_Igather(rank == a->root ? send : from, n, t, to, n, t, a->root, comm, request);
    case 2: return MPI_Iscatter(from, n, t, rank == a->root && a->in_place ? MPI_IN_PLACE : to, n, t,
                                a->root, comm, request);
    case 3: return MPI_Iallgather(send, n, t, to, n, t, comm, request);
    case 4: return MPI_Ialltoall(send, n, t, to, n, t, comm, request);
    case 5: return MPI_Iallgatherv(send, n, t, to, a->counts, a->places, t, comm, request);
    case 6: return MPI_Ialltoallv(send, a->counts, a->places, t, to, a->counts, a->places, t, comm,
                                  request);
    case 7: return MPI_Ialltoallw(send, a->counts, a->places, a->types, to, a->counts, a->places,
                                  a->types, comm, request);
    case 8: return MPI_Ireduce(rank == a->root ? send : from, to, n, t, a->op, a->root, comm, request);
    case 9: return MPI_Iallreduce(send, to, n, t, a->op, comm, request);
    case 10: return MPI_Ireduce_scatter(send, to, a->counts, t, a->op, comm, request);
    case 11: return MPI_Ireduce_scatter_block(send, to, n, t, a->op, comm, request);
    case 12: return MPI_Iscan(send, to, n, t, a->op, comm, request);
    case 13: return MPI_Iexscan(send, to, n, t, a->op, comm, request);
    default: return MPI_Igatherv(rank == a->root ? send : from, n, t, to, a->counts, a->places, t,
                                 a->root, comm, request);
    }
}

static int make(const Arguments *a, void *from, void *to, MPI_Request *request)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    void *send = a->in_place ? MPI_IN_PLACE : from;
    int n = a->count;
    MPI_Datatype t = a->type;
    switch (a->call) {
    case 0: return MPI_Bcast_init(to, n, t, a->root, comm, MPI_INFO_NULL, request);
    case 4: return MPI_Alltoall_init(send, n, t, to, n, t, comm, MPI_INFO_NULL, request);
    case 9: return MPI_Allreduce_init(send, to, n, t, a->op, comm, MPI_INFO_NULL, request);
    case 12: return MPI_Scan_init(send, to, n, t, a->op, comm, MPI_INFO_NULL, request);
    default: return MPI_Allgather_init(send, n, t, to, n, t, comm, MPI_INFO_NULL, request);
    }
}

static int block(const Arguments *a, void *from, void *to)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    void *send = a->in_place ? MPI_IN_PLACE : from;
    int n = a->count;
    MPI_Datatype t = a->type;
    switch (a->call) {
    case 0: return MPI_Bcast(to, n, t, a->root, comm);
    case 1: return MPI_Gather(rank == a->root ? send : from, n, t, to, n, t, a->root, comm);
    case 2: return MPI_Scatter(from, n, t, rank == a->root && a->in_place ? MPI_IN_PLACE : to, n, t,
                               a->root, comm);
    case 3: return MPI_Allgather(send, n, t, to, n, t, comm);
    case 4: return MPI_Alltoall(send, n, t, to, n, t, comm);
    case 5: return MPI_Allgatherv(send, n, t, to, a->counts, a->places, t, comm);
    case 6: return MPI_Alltoallv(send, a->counts, a->places, t, to, a->counts, a->places, t, comm);
    case 7: return MPI_Alltoallw(send, a->counts, a->places, a->types, to, a->counts, a->places,
                                 a->types, comm);
    case 8: return MPI_Reduce(rank == a->root ? send : from, to, n, t, a->op, a->root, comm);
    case 9: return MPI_Allreduce(send, to, n, t, a->op, comm);
    case 10: return MPI_Reduce_scatter(send, to, a->counts, t, a->op, comm);
    case 11: return MPI_Reduce_scatter_block(send, to, n, t, a->op, comm);
    case 12: return MPI_Scan(send, to, n, t, a->op, comm);
    case 13: return MPI_Exscan(send, to, n, t, a->op, comm);
    default: return MPI_Gatherv(rank == a->root ? send : from, n, t, to, a->counts, a->places, t,
                                a->root, comm);
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

static bool is_reduction(int call) { return call >= 8 && call <= 13; }

static Arguments arguments(Random *random)
{
    Arguments a = {.call = between(random, 0, CALLS - 1), .root = between(random, 0, size - 1)};
    a.count = between(random, 0, 3) ? between(random, 1, 40) : between(random, 1, MOST / size);
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
    a.counts = malloc(size * sizeof *a.counts);
    a.places = malloc(size * sizeof *a.places);
    a.types = malloc(size * sizeof *a.types);
    MPI_Aint lower, extent;
    MPI_Type_get_extent(a.type, &lower, &extent);
    for (int i = 0; i < size; i++) {
        a.counts[i] = a.count;
        a.places[i] = i * a.count * (a.call == 7 ? (int)extent : 1);
        a.types[i] = a.type;
    }
    return a;
}

static bool is_defined(const Arguments *a)
{
    return !(a->call == 8 && rank != a->root) && !(a->call == 13 && rank == 0 && !a->in_place);
}

static int differs(Random *random, int number)
{
    Arguments a = arguments(random);
    int way = between(random, 0, 2), spaces = between(random, 0, 3), mixed = between(random, 0, 1);
    bool persistent = a.call == 0 || a.call == 3 || a.call == 4 || a.call == 9 || a.call == 12;
    if (way == 2 && !persistent)
        way = 1;
    bool from_device = (spaces & 1) != (mixed && rank % 2), to_device = spaces & 2;
    size_t length = (size_t)a.count * size * 16 + 64;
    int *data = malloc(length), *expected = malloc(length);
    Memory from = memory_of(from_device, length), to = memory_of(to_device, length);
    int *host = malloc(length);
    for (size_t i = 0; i < length / sizeof *data; i++) {
        data[i] = (int)(draw(&(Random){i * 64 + rank}) & 0xffffff);
        expected[i] = data[i] ^ 0x55555;
    }
    write_memory(from, data);
    write_memory(to, expected);
    memcpy(host, data, length);
    run(way, &a, host, expected);
    run(way, &a, from.bytes, to.bytes);
    read_memory(to, data);
    int wrong = is_defined(&a) && memcmp(data, expected, length) != 0;
    if (wrong)
        printf("rank %d of %d, round %d: call %d, way %d, count %d, in place %d, from %s to %s\n", rank,
               size, number, a.call, way, a.count, a.in_place, from_device ? "device" : "host",
               to_device ? "device" : "host");
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
    start(&count, &words);
    rank = check_rank;
    size = check_size;
    int rounds = count > 1 ? atoi(words[1]) : 100;
    Random random = {count > 2 ? strtoull(words[2], NULL, 10) : 1};
    start_device(rank);
    for (int number = 0; number < rounds; number++)
        REQUIRE(!differs(&random, number), "round %d", number);
    return finish();
}
