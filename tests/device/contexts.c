/*
 * The library leaves the program's contexts alone: each call ends with the context current that was
 * current before, in threads that have none too; no context is created, and no device is started
 * that the program has not started. Buffers are on two devices, in primary contexts and another
 * one.
 */
#include "memory.h"

#include <pthread.h>

enum { SIZE = 200000, BUFFERS = 3 };

static CUcontext contexts[BUFFERS];
static Memory from[BUFFERS], to[BUFFERS];
static MPI_Datatype gaps;

/* Makes contexts[i], and buffers in it. */
static void make_buffers(int i)
{
    if (i < 2)
        CALLED(cuDevicePrimaryCtxRetain(&contexts[i], i));
    else
        CALLED(cuCtxCreate_v2(&contexts[i], 0, 0));
    CALLED(cuCtxSetCurrent(contexts[i]));
    from[i] = pattern_in(true, SIZE, i);
    to[i] = pattern_in(true, SIZE, 9);
}

static void is_current(CUcontext expected, const char *call)
{
    CUcontext current;
    CALLED(cuCtxGetCurrent(&current));
    CHECK(current == expected, "after %s another context is current", call);
}

/* MPI calls of all kinds with buffer i; `current` is this thread's context. */
static void use(int i, CUcontext current)
{
    int next = (check_rank + 1) % check_size, last = (check_rank + check_size - 1) % check_size;
    int position = 0, done = 0;
    static char packed[SIZE];
    MPI_Request requests[2];
    MPI_Irecv(to[i].bytes, 1, gaps, last, 0, MPI_COMM_WORLD, &requests[0]);
    is_current(current, "MPI_Irecv");
    MPI_Isend(from[i].bytes, 1, gaps, next, 0, MPI_COMM_WORLD, &requests[1]);
    is_current(current, "MPI_Isend");
    while (!done) {
        MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
        is_current(current, "MPI_Testall");
    }
    MPI_Sendrecv(from[i].bytes, SIZE, MPI_BYTE, next, 0, to[i].bytes, SIZE, MPI_BYTE, last, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    is_current(current, "MPI_Sendrecv");
    MPI_Pack(from[i].bytes, 1, gaps, packed, SIZE, &position, MPI_COMM_WORLD);
    is_current(current, "MPI_Pack");
    MPI_Bcast(to[i].bytes, SIZE, MPI_BYTE, 0, MPI_COMM_WORLD);
    is_current(current, "MPI_Bcast");
    MPI_Allreduce(MPI_IN_PLACE, to[i].bytes, SIZE, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    is_current(current, "MPI_Allreduce");
}

static void *without_context(void *unused)
{
    for (int i = 0; i < BUFFERS; i++)
        use(i, NULL);
    return unused;
}

int main(int count, char **words)
{
    start_threads(&count, &words);
    CALLED(cuInit(0));
    for (int i = 0; i < BUFFERS; i++)
        make_buffers(i);
    unsigned long created = towpath_stub_calls("cuCtxCreate_v2");
    MPI_Type_vector(SIZE / 16, 8, 16, MPI_BYTE, &gaps);
    MPI_Type_commit(&gaps);
    for (int current = 0; current < BUFFERS; current++)
        for (int i = 0; i < BUFFERS; i++) {
            CALLED(cuCtxSetCurrent(contexts[current]));
            use(i, contexts[current]);
        }
    pthread_t thread;
    pthread_create(&thread, NULL, without_context, NULL);
    pthread_join(thread, NULL);
    CHECK(towpath_stub_calls("cuCtxCreate_v2") == created, "the library has created a context");
    unsigned flags;
    int active = 1;
    CALLED(cuDevicePrimaryCtxGetState(2, &flags, &active));
    CHECK(!active, "the library has started device 2");
    for (int i = 0; i < BUFFERS; i++) {
        CALLED(cuCtxSetCurrent(contexts[i]));
        CHECK_MEMORY(to[i], SIZE, i);
    }
    MPI_Type_free(&gaps);
    return finish();
}
