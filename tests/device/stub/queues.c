/* The functions of streams. */
#define _GNU_SOURCE
#include "stub.h"

#include <stdlib.h>
#include <string.h>

static CUresult create(CUstream *stream, unsigned flags)
{
    if (!stream || flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&state);
    *stream = new_stream(current_context(), flags);
    pthread_mutex_unlock(&state);
    return *stream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    ENTER(cuStreamCreate);
    return create(stream, flags);
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
    ENTER(cuStreamCreateWithPriority);
    (void)priority;
    return create(stream, flags);
}

/* The work that the stream has is still done. */
CUresult cuStreamDestroy_v2(CUstream handle)
{
    ENTER(cuStreamDestroy_v2);
    CUstream stream;
    if (find_stream(handle, &stream) || stream != handle) return CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&state);
    end_stream(stream);
    pthread_mutex_unlock(&state);
    return CUDA_SUCCESS;
}

/* Asking for the end of work that is only captured makes the capture invalid. */
static CUresult find_idle(CUstream handle, CUstream *stream)
{
    CUresult result = find_stream(handle, stream);
    if (result) return result;
    pthread_mutex_lock(&state);
    bool captured = (*stream)->capture;
    if (captured) (*stream)->capture = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    pthread_mutex_unlock(&state);
    return captured ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : capture_allows_unsafe_call();
}

CUresult cuStreamSynchronize(CUstream handle)
{
    ENTER(cuStreamSynchronize);
    CUstream stream;
    CUresult result = find_idle(handle, &stream);
    return result ? result : synchronize(stream);
}

CUresult cuStreamQuery(CUstream handle)
{
    ENTER(cuStreamQuery);
    CUstream stream;
    CUresult result = find_idle(handle, &stream);
    if (result) return result;
    pthread_mutex_lock(&state);
    bool done = stream->done == stream->enqueued;
    CUstream other = stream->legacy ? stream->context->streams : NULL;
    for (; other; other = other->next)
        if (!(other->flags & CU_STREAM_NON_BLOCKING)) done = done && other->done == other->enqueued;
    result = stream->context->error;
    pthread_mutex_unlock(&state);
    if (result) return result;
    return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

struct value {
    CUdeviceptr to;
    cuuint32_t value;
};

static CUresult write_value(CUcontext context, void *data)
{
    struct value *value = data;
    pthread_rwlock_rdlock(&memory);
    cuuint32_t *place = view(context, value->to, sizeof *place, false);
    if (place) __atomic_store_n(place, value->value, __ATOMIC_RELEASE);
    pthread_rwlock_unlock(&memory);
    return place ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

CUresult cuStreamWriteValue32_v2(CUstream handle, CUdeviceptr to, cuuint32_t value, unsigned flags)
{
    ENTER(cuStreamWriteValue32_v2);
    CUstream stream;
    CUresult result = find_stream(handle, &stream);
    if (result) return result;
    if (to % 4 || flags > 1) return CUDA_ERROR_INVALID_VALUE;
    struct value *data = malloc(sizeof *data);
    if (!data) return CUDA_ERROR_OUT_OF_MEMORY;
    *data = (struct value){to, value};
    return submit(stream, new_work(write_value, free, data));
}

struct host_function {
    CUhostFn function;
    void *data;
};

static CUresult call_host(CUcontext context, void *data)
{
    (void)context;
    struct host_function *host = data;
    in_host_function = true;
    host->function(host->data);
    in_host_function = false;
    return CUDA_SUCCESS;
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void *user)
{
    ENTER(cuLaunchHostFunc);
    CUstream stream;
    CUresult result = find_stream(handle, &stream);
    if (result) return result;
    if (!function) return CUDA_ERROR_INVALID_VALUE;
    struct host_function *data = malloc(sizeof *data);
    if (!data) return CUDA_ERROR_OUT_OF_MEMORY;
    *data = (struct host_function){function, user};
    return submit(stream, new_work(call_host, free, data));
}
