/* Events: each names a place in a stream. */
#define _GNU_SOURCE
#include "stub.h"

#include <stdlib.h>
#include <time.h>

enum { MAGIC = 0x45766e31 };

/* An event is freed when it is destroyed and no work refers to it. */
struct CUevent_st {
    unsigned magic, flags, references;
    CUcontext context;
    /* NULL until it is recorded. */
    CUstream stream;
    uint64_t sequence;
    double milliseconds;
    bool captured;
};

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    ENTER(cuEventCreate);
    if (!event || flags > 7) return CUDA_ERROR_INVALID_VALUE;
    *event = calloc(1, sizeof **event);
    if (!*event) return CUDA_ERROR_OUT_OF_MEMORY;
    (*event)->magic = MAGIC;
    (*event)->flags = flags;
    (*event)->references = 1;
    (*event)->context = current_context();
    return CUDA_SUCCESS;
}

static bool valid(CUevent event) { return event && event->magic == MAGIC; }

static void drop(void *data)
{
    CUevent event = data;
    if (--event->references == 0) free(event);
}

static CUresult take_time(CUcontext context, void *data)
{
    (void)context;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    pthread_mutex_lock(&state);
    ((CUevent)data)->milliseconds = (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
    pthread_mutex_unlock(&state);
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream handle)
{
    ENTER(cuEventRecord);
    CUstream stream;
    if (!valid(event)) return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = find_stream(handle, &stream);
    if (result) return result;
    if (stream->context != event->context) return CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&state);
    event->references++;
    result = submit_locked(stream, new_work(take_time, drop, event));
    event->captured = stream->capture == CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (!result && !event->captured) {
        event->stream = stream;
        event->sequence = stream->enqueued;
    }
    pthread_mutex_unlock(&state);
    return result;
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags)
{
    ENTER(cuStreamWaitEvent);
    CUstream stream;
    if (flags > 1) return CUDA_ERROR_INVALID_VALUE;
    if (!valid(event)) return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = find_stream(handle, &stream);
    if (result) return result;
    struct work *work = new_work(NULL, NULL, NULL);
    pthread_mutex_lock(&state);
    if (event->stream) add_wait(work, event->stream, event->sequence);
    result = submit_locked(stream, work);
    pthread_mutex_unlock(&state);
    return result;
}

/* Checks that the event may be asked for, which is unsafe during captures. */
static CUresult check(CUevent event)
{
    if (!valid(event)) return CUDA_ERROR_INVALID_HANDLE;
    return event->captured ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : capture_allows_unsafe_call();
}

CUresult cuEventQuery(CUevent event)
{
    ENTER(cuEventQuery);
    CUresult result = check(event);
    if (result) return result;
    pthread_mutex_lock(&state);
    bool done = !event->stream || event->stream->done >= event->sequence;
    result = event->context->error;
    pthread_mutex_unlock(&state);
    if (result) return result;
    return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(CUevent event)
{
    ENTER(cuEventSynchronize);
    CUresult result = check(event);
    if (result) return result;
    if (event->stream) wait_for(event->stream, event->sequence);
    return event->context->error;
}

CUresult cuEventDestroy_v2(CUevent event)
{
    ENTER(cuEventDestroy_v2);
    if (!valid(event)) return CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&state);
    event->magic = 0;
    drop(event);
    pthread_mutex_unlock(&state);
    return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent from, CUevent to)
{
    ENTER(cuEventElapsedTime);
    if (!milliseconds) return CUDA_ERROR_INVALID_VALUE;
    if (!valid(from) || !valid(to) || !from->stream || !to->stream
        || (from->flags | to->flags) & CU_EVENT_DISABLE_TIMING)
        return CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&state);
    bool done = from->stream->done >= from->sequence && to->stream->done >= to->sequence;
    *milliseconds = (float)(to->milliseconds - from->milliseconds);
    pthread_mutex_unlock(&state);
    return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
