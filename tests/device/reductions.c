/*
 * Long reductions of vectors in device memory: bitwise the same as in host memory, wherever the
 * vectors of the other ranks are, and if all are on devices of one host, without a byte to or from
 * the host. The argument is the form of the calls; "outstanding" with a number of rounds and a seed
 * has several under way at a time.
 */
#include "memory.h"

enum { SHORT = 300001, LONG = 2500003, MOST_RANKS = 64 };

unsigned long towpath_stub_bytes(int direction);

typedef enum { ALLREDUCE, REDUCE, SCATTER, BLOCKS, SCAN, EXSCAN, KINDS } Kind;

static const char *const names[] = {"allreduce", "reduce", "reduce_scatter", "reduce_scatter_block",
                                    "scan", "exscan"};

typedef enum { BLOCKING, NONBLOCKING, PERSISTENT, FORMS } Form;

static const char *const forms[] = {"blocking", "nonblocking", "persistent"};

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

static const void *sent(const Job *job, const void *send)
{
    return job->in_place && (job->kind != REDUCE || check_rank == job->root) ? MPI_IN_PLACE : send;
}

static void reduce(const Job *job, const void *send, void *receive)
{
    const void *from = sent(job, send);
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

/* Starts the reduction in `comm`; `counts` must live until its end. */
static MPI_Request begin(const Job *job, Form form, const void *send, void *receive, int *counts,
                         MPI_Comm comm)
{
    const void *from = sent(job, send);
    void *to = job->kind != REDUCE || check_rank == job->root ? receive : NULL;
    bool keeps = form == PERSISTENT;
    MPI_Request request;
    blocks_of(job, counts);
    switch (job->kind) {
    case ALLREDUCE:
        if (keeps)
            MPI_Allreduce_init(from, to, job->count, job->type, job->op, comm, MPI_INFO_NULL, &request);
        else
            MPI_Iallreduce(from, to, job->count, job->type, job->op, comm, &request);
        break;
    case REDUCE:
        if (keeps)
            MPI_Reduce_init(from, to, job->count, job->type, job->op, job->root, comm, MPI_INFO_NULL,
                            &request);
        else
            MPI_Ireduce(from, to, job->count, job->type, job->op, job->root, comm, &request);
        break;
    case SCATTER:
        if (keeps)
            MPI_Reduce_scatter_init(from, to, counts, job->type, job->op, comm, MPI_INFO_NULL, &request);
        else
            MPI_Ireduce_scatter(from, to, counts, job->type, job->op, comm, &request);
        break;
    case BLOCKS:
        if (keeps)
            MPI_Reduce_scatter_block_init(from, to, job->count / check_size, job->type, job->op, comm,
                                          MPI_INFO_NULL, &request);
        else
            MPI_Ireduce_scatter_block(from, to, job->count / check_size, job->type, job->op, comm,
                                      &request);
        break;
    case SCAN:
        if (keeps)
            MPI_Scan_init(from, to, job->count, job->type, job->op, comm, MPI_INFO_NULL, &request);
        else
            MPI_Iscan(from, to, job->count, job->type, job->op, comm, &request);
        break;
    default:
        if (keeps)
            MPI_Exscan_init(from, to, job->count, job->type, job->op, comm, MPI_INFO_NULL, &request);
        else
            MPI_Iexscan(from, to, job->count, job->type, job->op, comm, &request);
    }
    if (keeps)
        MPI_Start(&request);
    return request;
}

/* The reduction in any form. A persistent one is started twice, unless it changes its operand. */
static void reduce_by(const Job *job, Form form, const void *send, void *receive)
{
    int counts[MOST_RANKS];
    if (form == BLOCKING) {
        reduce(job, send, receive);
        return;
    }
    MPI_Request request = begin(job, form, send, receive, counts, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (form == PERSISTENT && !job->in_place) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (form == PERSISTENT)
        MPI_Request_free(&request);
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

/* True if devices compute the reduction. */
static bool is_of_devices(const Job *job, Place place)
{
    return place == ALL_ON_DEVICES && job->count >= SHORT && job->type != MPI_LONG_DOUBLE &&
           (job->op == MPI_SUM || job->op == MPI_MAX) && !getenv("TOWPATH_STUB_JIT");
}

/* True if the settings leave the data of a reduction where it is. */
static bool stays_on_devices(void)
{
    return !getenv("TOWPATH_STUB_IPC") && !getenv("TOWPATH_STUB_PEER_ACCESS") &&
           !getenv("TOWPATH_DEVICE_PATH") && !getenv("CUDA_VISIBLE_DEVICES") &&
           !getenv("TOWPATH_NETWORK");
}

/* True if devices reduce among hosts: not short vectors of which copies are reduced in phases. */
static bool stays_between_hosts(Form form)
{
    return getenv("TOWPATH_NETWORK") && (form == BLOCKING || check_size == 2);
}

static void check(const Job *job, Form form, Place place)
{
    int size;
    MPI_Type_size(job->type, &size);
    size_t bytes = (size_t)job->count * size, result = result_bytes(job, size);
    void *own = calloc(1, bytes + 1), *expected = calloc(1, bytes + 1), *found = malloc(bytes + 1);
    fill(own, job, check_rank);
    if (job->in_place)
        memcpy(expected, own, bytes);
    reduce(job, own, expected);
    Memory send = memory_of(is_on_device(place, true), bytes ? bytes : 1);
    size_t room = job->in_place ? bytes : result;
    Memory receive = memory_of(is_on_device(place, false), room ? room : 1);
    write_memory(send, own);
    if (job->in_place)
        write_memory(receive, own);
    unsigned long before = towpath_stub_bytes(0) + towpath_stub_bytes(1);
    unsigned long launches = towpath_stub_calls("cuLaunchKernel");
    reduce_by(job, form, send.bytes, receive.bytes);
    unsigned long moved = towpath_stub_bytes(0) + towpath_stub_bytes(1) - before;
    launches = towpath_stub_calls("cuLaunchKernel") - launches;
    read_memory(receive, found);
    CHECK(!memcmp(found, expected, result), "%s %s of %d%s, place %d: %s", forms[form],
          names[job->kind], job->count, job->in_place ? " in place" : "", place,
          "the result differs from the host's");
    /* At first the library clears some words of its own. */
    if (is_of_devices(job, place) && stays_on_devices())
        CHECK(moved < 1024, "%s %s of %d: %lu bytes between device and host", forms[form],
              names[job->kind], job->count, moved);
    MPI_Allreduce(MPI_IN_PLACE, &launches, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (is_of_devices(job, place) && stays_between_hosts(form))
        CHECK(launches > 0, "%s %s of %d: no device has reduced", forms[form], names[job->kind],
              job->count);
    read_memory(send, found);
    CHECK(!memcmp(found, own, bytes), "%s %s of %d: the send buffer has changed", forms[form],
          names[job->kind], job->count);
    free_memory(send);
    free_memory(receive);
    free(own);
    free(expected);
    free(found);
}

/* One of several reductions that are under way. */
typedef struct {
    Job job;
    Memory send, receive;
    void *expected;
    size_t result;
    int counts[MOST_RANKS];
    bool is_freed;
} Begun;

static unsigned long state;

/* The same at all ranks. */
static int chosen(int number)
{
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    return (int)((state >> 33) % number);
}

static MPI_Request begin_one(Begun *begun, MPI_Comm comm)
{
    Job *job = &begun->job;
    *job = (Job){chosen(KINDS), chosen(4) ? SHORT : 5, chosen(check_size), MPI_FLOAT, MPI_SUM, false};
    begun->is_freed = chosen(4) == 0;
    Place place = chosen(PLACES);
    size_t bytes = job->count * sizeof(float);
    void *own = calloc(1, bytes);
    begun->expected = calloc(1, bytes);
    begun->result = result_bytes(job, sizeof(float));
    fill(own, job, check_rank);
    reduce(job, own, begun->expected);
    begun->send = memory_of(is_on_device(place, true), bytes);
    begun->receive = memory_of(is_on_device(place, false), bytes);
    write_memory(begun->send, own);
    memset(own, 0, bytes);
    write_memory(begun->receive, own);
    free(own);
    Form form = begun->is_freed || chosen(2) ? NONBLOCKING : PERSISTENT;
    MPI_Request request = begin(job, form, begun->send.bytes, begun->receive.bytes, begun->counts, comm);
    if (begun->is_freed)
        MPI_Request_free(&request);
    return request;
}

/* Checks a result. That of a request that was freed need not be there yet. */
static void finish_one(Begun *begun)
{
    void *found = malloc(begun->receive.size);
    bool is_right = false;
    for (double end = MPI_Wtime() + 30; !is_right && MPI_Wtime() < end;) {
        int flag;
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
        read_memory(begun->receive, found);
        is_right = !memcmp(found, begun->expected, begun->result);
        if (!begun->is_freed)
            break;
    }
    CHECK(is_right, "%s of %d%s: the result differs from the host's", names[begun->job.kind],
          begun->job.count, begun->is_freed ? ", freed" : "");
    /* Other ranks may still read what this one sends. */
    MPI_Barrier(MPI_COMM_WORLD);
    free_memory(begun->send);
    free_memory(begun->receive);
    free(begun->expected);
    free(found);
}

/* Several reductions at a time, in communicators that are freed meanwhile. */
static void check_outstanding(int rounds, unsigned long seed)
{
    enum { MOST = 4 };
    Begun begun[MOST];
    MPI_Request requests[MOST];
    state = seed;
    for (int round = 0; round < rounds; round++) {
        int number = 1 + chosen(MOST);
        MPI_Comm comms[2] = {MPI_COMM_WORLD, MPI_COMM_NULL};
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
        for (int i = 0; i < number; i++)
            requests[i] = begin_one(&begun[i], comms[chosen(2)]);
        MPI_Comm_free(&comms[1]);
        for (int left = number; left > 0; left--) {
            int index;
            MPI_Waitany(number, requests, &index, MPI_STATUS_IGNORE);
            if (index != MPI_UNDEFINED && requests[index] != MPI_REQUEST_NULL)
                MPI_Request_free(&requests[index]);
        }
        for (int i = 0; i < number; i++)
            finish_one(&begun[i]);
    }
}

static Form form_of(const char *word)
{
    for (Form form = 0; form < FORMS; form++)
        if (!strcmp(word, forms[form]))
            return form;
    CHECK(false, "there is no form \"%s\"", word);
    return BLOCKING;
}

int main(int count, char **words)
{
    start(&count, &words);
    start_device(check_rank);
    if (count == 4) {
        check_outstanding(atoi(words[2]), strtoul(words[3], NULL, 10));
        return finish();
    }
    Form form = count > 1 ? form_of(words[1]) : BLOCKING;
    MPI_Op own;
    MPI_Op_create(product, 1, &own);
    for (Kind kind = 0; kind < KINDS; kind++)
        for (int in_place = 0; in_place < 2; in_place++)
            for (Place place = 0; place < PLACES; place++) {
                int root = (kind + (int)place) % check_size;
                check(&(Job){kind, SHORT, root, MPI_FLOAT, MPI_SUM, in_place}, form, place);
            }
    Job rest[] = {{ALLREDUCE, LONG, 0, MPI_FLOAT, MPI_SUM, false},
                  {ALLREDUCE, SHORT, 0, MPI_INT, MPI_MAX, false},
                  {ALLREDUCE, SHORT, 0, MPI_LONG_DOUBLE, MPI_SUM, false},
                  {ALLREDUCE, SHORT, 0, MPI_FLOAT, own, false},
                  {ALLREDUCE, 0, 0, MPI_FLOAT, MPI_SUM, false},
                  {REDUCE, LONG, check_size - 1, MPI_FLOAT, MPI_SUM, true}};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        check(&rest[i], form, ALL_ON_DEVICES);
    MPI_Op_free(&own);
    return finish();
}
