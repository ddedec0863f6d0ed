/*
 * Long reductions of vectors in device memory: bitwise the same as in host memory, wherever the
 * vectors of the other ranks are, and if all are on devices, without a byte to or from the host.
 */
#include "memory.h"

enum { SHORT = 300001, LONG = 2500003, MOST_RANKS = 8 };

unsigned long towpath_stub_bytes(int direction);

typedef enum { ALLREDUCE, REDUCE, SCATTER, BLOCKS, SCAN, EXSCAN, KINDS } Kind;

static const char *const names[] = {"allreduce", "reduce", "reduce_scatter", "reduce_scatter_block",
                                    "scan", "exscan"};

/* A reduction of `count` elements, for REDUCE to `root`. */
typedef struct {
    Kind kind;
    int count, root;
    MPI_Datatype type;
    MPI_Op op;
    bool in_place;
} Job;

/* Where the vectors are. */
typedef enum { ALL_ON_DEVICES, EVEN_RANKS, ONLY_SENT, ONLY_RECEIVED, PLACES } Place;

/* An operation of the program: it must find host memory. */
static void product(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((float *)inout)[i] *= ((float *)in)[i];
}

static void blocks_of(const Job *job, int *counts)
{
    for (int rank = 0, left = job->count; rank < check_size; rank++) {
        counts[rank] = rank + 1 < check_size ? job->count / (check_size + 1) * (rank % 2 + 1) / 2
                                             : left;
        left -= counts[rank];
    }
}

static void reduce(const Job *job, const void *send, void *receive)
{
    const void *from = job->in_place && (job->kind != REDUCE || check_rank == job->root)
                           ? MPI_IN_PLACE
                           : send;
    int counts[MOST_RANKS];
    switch (job->kind) {
    case ALLREDUCE:
        MPI_Allreduce(from, receive, job->count, job->type, job->op, MPI_COMM_WORLD);
        break;
    case REDUCE:
        MPI_Reduce(from, check_rank == job->root ? receive : NULL, job->count, job->type, job->op,
                   job->root, MPI_COMM_WORLD);
        break;
    case SCATTER:
        blocks_of(job, counts);
        MPI_Reduce_scatter(from, receive, counts, job->type, job->op, MPI_COMM_WORLD);
        break;
    case BLOCKS:
        MPI_Reduce_scatter_block(from, receive, job->count / check_size, job->type, job->op,
                                 MPI_COMM_WORLD);
        break;
    case SCAN:
        MPI_Scan(from, receive, job->count, job->type, job->op, MPI_COMM_WORLD);
        break;
    default:
        MPI_Exscan(from, receive, job->count, job->type, job->op, MPI_COMM_WORLD);
    }
}

/* The bytes of the result at this rank. */
static size_t result_bytes(const Job *job, size_t size)
{
    int counts[MOST_RANKS];
    switch (job->kind) {
    case REDUCE:
        return check_rank == job->root ? job->count * size : 0;
    case SCATTER:
        blocks_of(job, counts);
        return counts[check_rank] * size;
    case BLOCKS:
        return job->count / check_size * size;
    case EXSCAN:
        return check_rank > 0 ? job->count * size : 0;
    default:
        return job->count * size;
    }
}

/* Numbers whose sums depend on the order of the operands. */
static void fill(void *bytes, const Job *job, int rank)
{
    for (int i = 0; i < job->count; i++) {
        int number = (int)(pattern_byte(i, rank + 1) % 100) + 1;
        if (job->type == MPI_FLOAT)
            ((float *)bytes)[i] = (float)number / 7;
        else if (job->type == MPI_LONG_DOUBLE)
            ((long double *)bytes)[i] = (long double)number / 7;
        else
            ((int *)bytes)[i] = number * 1000003;
    }
}

static bool is_on_device(Place place, bool sent)
{
    switch (place) {
    case EVEN_RANKS:
        return check_rank % 2 == 0;
    case ONLY_SENT:
        return sent;
    case ONLY_RECEIVED:
        return !sent;
    default:
        return true;
    }
}

/* True if the settings leave the data of a reduction where it is. */
static bool stays_on_devices(const Job *job, Place place)
{
    bool is_forced = getenv("TOWPATH_STUB_IPC") || getenv("TOWPATH_STUB_JIT") ||
                     getenv("TOWPATH_STUB_PEER_ACCESS") || getenv("TOWPATH_DEVICE_PATH") ||
                     getenv("CUDA_VISIBLE_DEVICES") || getenv("TOWPATH_NETWORK");
    return check_size > 1 && place == ALL_ON_DEVICES && !is_forced && job->type != MPI_LONG_DOUBLE &&
           job->op != MPI_OP_NULL && (job->op == MPI_SUM || job->op == MPI_MAX);
}

static void check(const Job *job, Place place)
{
    int size;
    MPI_Type_size(job->type, &size);
    size_t bytes = (size_t)job->count * size, result = result_bytes(job, size);
    void *own = calloc(1, bytes), *expected = calloc(1, bytes), *found = malloc(bytes + 1);
    fill(own, job, check_rank);
    if (job->in_place)
        memcpy(expected, own, bytes);
    reduce(job, own, expected);
    Memory send = memory_of(is_on_device(place, true), bytes);
    size_t room = job->in_place ? bytes : result;
    Memory receive = memory_of(is_on_device(place, false), room ? room : 1);
    write_memory(send, own);
    if (job->in_place)
        write_memory(receive, own);
    unsigned long before = towpath_stub_bytes(0) + towpath_stub_bytes(1);
    reduce(job, send.bytes, receive.bytes);
    unsigned long moved = towpath_stub_bytes(0) + towpath_stub_bytes(1) - before;
    read_memory(receive, found);
    CHECK(!memcmp(found, expected, result), "%s of %d%s, place %d: %s", names[job->kind],
          job->count, job->in_place ? " in place" : "", place, "the result differs from the host's");
    /* At first the library clears some words of its own. */
    if (stays_on_devices(job, place))
        CHECK(moved < 1024, "%s of %d: %lu bytes between device and host", names[job->kind],
              job->count, moved);
    read_memory(send, found);
    CHECK(!memcmp(found, own, bytes), "%s of %d: the send buffer has changed", names[job->kind],
          job->count);
    free_memory(send);
    free_memory(receive);
    free(own);
    free(expected);
    free(found);
}

int main(int count, char **words)
{
    start(&count, &words);
    start_device(check_rank);
    MPI_Op own;
    MPI_Op_create(product, 1, &own);
    for (Kind kind = 0; kind < KINDS; kind++)
        for (int in_place = 0; in_place < 2; in_place++)
            for (Place place = 0; place < PLACES; place++) {
                int root = (kind + (int)place) % check_size;
                check(&(Job){kind, SHORT, root, MPI_FLOAT, MPI_SUM, in_place}, place);
            }
    Job rest[] = {{ALLREDUCE, LONG, 0, MPI_FLOAT, MPI_SUM, false},
                  {ALLREDUCE, SHORT, 0, MPI_INT, MPI_MAX, false},
                  {ALLREDUCE, SHORT, 0, MPI_LONG_DOUBLE, MPI_SUM, false},
                  {ALLREDUCE, SHORT, 0, MPI_FLOAT, own, false},
                  {REDUCE, LONG, check_size - 1, MPI_FLOAT, MPI_SUM, true}};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        check(&rest[i], ALL_ON_DEVICES);
    MPI_Op_free(&own);
    return finish();
}
