/*
 * Threads that send messages of random datatypes between host and device memory at the same time,
 * each to its namesake in the next rank; in half of the threads no context is current.
 *
 *     threads ROUNDS SEED
 */
#include "random_types.h"

#include <pthread.h>

enum { THREADS = 4, LARGEST = 1 << 20 };

static int rounds;
static unsigned seed;
static CUcontext context;

typedef struct {
    int number;
    MPI_Comm comm;
    /* Host and device memory. */
    Memory from[2], to[2];
    unsigned char *expected;
    bool has_context;
} Worker;

/* The driver's copies need a context, which the thread may lack between its messages. */
static void with_context(const Worker *worker, bool begins)
{
    if (!worker->has_context)
        CALLED(cuCtxSetCurrent(begins ? context : NULL));
}

static void round_of(Worker *worker, unsigned *random, int number)
{
    MPI_Datatype type = random_type(random);
    MPI_Aint lower, extent;
    MPI_Request requests[2];
    int next = (check_rank + 1) % check_size, last = (check_rank + check_size - 1) % check_size;
    Memory from = worker->from[between(random, 0, 1)], to = worker->to[between(random, 0, 1)];
    MPI_Type_get_true_extent(type, &lower, &extent);
    from.size = to.size = (size_t)(lower + extent);
    REQUIRE(from.size <= LARGEST, "a datatype reaches over %zu bytes", from.size);
    with_context(worker, true);
    set_pattern(from, (unsigned)number);
    set_pattern(to, (unsigned)number + 1);
    with_context(worker, false);
    MPI_Irecv(to.bytes, 1, type, last, 0, worker->comm, &requests[0]);
    MPI_Isend(from.bytes, 1, type, next, 0, worker->comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    unsigned char *source = malloc(from.size);
    pattern_fill(source, from.size, (unsigned)number);
    pattern_fill(worker->expected, to.size, (unsigned)number + 1);
    MPI_Sendrecv(source, 1, type, 0, 0, worker->expected, 1, type, 0, 0, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
    with_context(worker, true);
    bool right = holds(to, worker->expected);
    with_context(worker, false);
    REQUIRE(right, "thread %d, round %d", worker->number, number);
    free(source);
    MPI_Type_free(&type);
}

static void *work(void *pointer)
{
    Worker *worker = pointer;
    unsigned random = random_from(seed * 100 + worker->number);
    if (worker->has_context)
        CALLED(cuCtxPushCurrent_v2(context));
    for (int number = 0; number < rounds; number++)
        round_of(worker, &random, number);
    return NULL;
}

int main(int count, char **words)
{
    start_threads(&count, &words);
    start_device(check_rank);
    CALLED(cuCtxGetCurrent(&context));
    rounds = rounds_of(count, words);
    seed = seed_of(count, words);
    pthread_t threads[THREADS];
    Worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (Worker){.number = i, .expected = malloc(LARGEST), .has_context = i % 2};
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
        for (int device = 0; device < 2; device++) {
            workers[i].from[device] = memory_of(device, LARGEST);
            workers[i].to[device] = memory_of(device, LARGEST);
        }
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, &workers[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_free(&workers[i].comm);
        free(workers[i].expected);
    }
    return finish();
}
