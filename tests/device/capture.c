/*
 * A stream capture under way, in another thread or in this one, stays valid whatever MPI calls are
 * made: also the first ones, which load kernels, make streams and get pinned memory.
 */
#include "memory.h"

#include <pthread.h>

enum { SIZE = 400000 };

static pthread_barrier_t barrier;

static CUstream begin_capture(void)
{
    CUstream stream;
    /* One that waits for the legacy default stream, which the library therefore must not use. */
    CALLED(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    CALLED(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    return stream;
}

static void end_capture(CUstream stream, const char *where)
{
    CUgraph graph;
    CUstreamCaptureStatus status;
    CALLED(cuStreamIsCapturing(stream, &status));
    CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE, "a capture in %s has been invalidated", where);
    CHECK(cuStreamEndCapture(stream, &graph) == 0, "a capture in %s has failed", where);
}

static void *capturing(void *context)
{
    CALLED(cuCtxPushCurrent_v2(context));
    CUstream stream = begin_capture();
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    end_capture(stream, "another thread");
    return NULL;
}

static void use(Memory from, Memory to, Memory host)
{
    int next = (check_rank + 1) % check_size, last = (check_rank + check_size - 1) % check_size;
    MPI_Datatype gaps, list;
    int places[] = {0, 5, 17, 100};
    MPI_Type_vector(SIZE / 16, 8, 16, MPI_BYTE, &gaps);
    MPI_Type_create_indexed_block(4, 3, places, MPI_BYTE, &list);
    MPI_Type_commit(&gaps);
    MPI_Type_commit(&list);
    Memory sources[] = {from, host, from}, targets[] = {to, to, host};
    for (int i = 0; i < 3; i++) {
        MPI_Sendrecv(sources[i].bytes, 1, gaps, next, 0, targets[i].bytes, 1, gaps, last, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(sources[i].bytes, 1, list, next, 0, targets[i].bytes, 1, list, last, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Allreduce(from.bytes, to.bytes, SIZE / 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Sendrecv(from.bytes, SIZE, MPI_BYTE, next, 0, to.bytes, SIZE, MPI_BYTE, last, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&gaps);
    MPI_Type_free(&list);
}

int main(int count, char **words)
{
    start_threads(&count, &words);
    start_device(check_rank);
    CUcontext context;
    CALLED(cuCtxGetCurrent(&context));
    Memory from = pattern_in(true, SIZE, 1), to = pattern_in(true, SIZE, 2);
    Memory host = pattern_in(false, SIZE, 3);
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, capturing, context);
    pthread_barrier_wait(&barrier);
    use(from, to, host);
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    CHECK_MEMORY(to, SIZE, 1);
    CUstream stream = begin_capture();
    use(from, to, host);
    end_capture(stream, "this thread");
    return finish();
}
