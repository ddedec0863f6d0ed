/*
 * Stream captures: work that is put into a capturing stream is dropped, and calls that could
 * disturb a capture are refused and invalidate it, by the rules of the manual for
 * cuStreamBeginCapture and cuThreadExchangeStreamCaptureMode.
 */
#define _GNU_SOURCE
#include "stub.h"

enum { MOST = 32 };

static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
/* Captures under way in the process. */
static CUstream captures[MOST];

/* The capture that an unsafe call of this thread would disturb. */
static CUstream disturbed(void)
{
    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return NULL;
    for (int place = 0; place < MOST; place++) {
        CUstream stream = captures[place];
        if (!stream) continue;
        bool own = pthread_equal(stream->capture_thread, pthread_self());
        if (own && stream->capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED) return stream;
        if (!own && thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL
            && stream->capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL)
            return stream;
    }
    return NULL;
}

CUresult capture_allows_unsafe_call(void)
{
    pthread_mutex_lock(&state);
    CUstream stream = disturbed();
    if (stream) stream->capture = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    pthread_mutex_unlock(&state);
    return stream ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult capture_allows_work(CUstream stream)
{
    if (stream->capture == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!stream->legacy) return CUDA_SUCCESS;
    /* The legacy default stream would have to wait for work that is not done. */
    for (int place = 0; place < MOST; place++) {
        CUstream other = captures[place];
        if (!other || other->context != stream->context) continue;
        if (other->flags & CU_STREAM_NON_BLOCKING) continue;
        other->capture = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    return CUDA_SUCCESS;
}

void end_capture(CUstream stream)
{
    stream->capture = CU_STREAM_CAPTURE_STATUS_NONE;
    for (int place = 0; place < MOST; place++)
        if (captures[place] == stream) captures[place] = NULL;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    ENTER(cuThreadExchangeStreamCaptureMode);
    if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    CUstreamCaptureMode before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status)
{
    ENTER(cuStreamIsCapturing);
    CUstream stream;
    CUresult result = find_stream(handle, &stream);
    if (result || !status) return result ? result : CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&state);
    if (stream->legacy) result = capture_allows_work(stream);
    *status = stream->capture;
    pthread_mutex_unlock(&state);
    return result;
}

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode)
{
    ENTER(cuStreamBeginCapture_v2);
    CUstream stream;
    CUresult result = find_stream(handle, &stream);
    if (result) return result;
    if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    if (stream->legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    pthread_mutex_lock(&state);
    int place = 0;
    while (place < MOST && captures[place]) place++;
    if (stream->capture || place == MOST) {
        result = CUDA_ERROR_INVALID_VALUE;
    } else {
        captures[place] = stream;
        stream->capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
        stream->capture_mode = mode;
        stream->capture_thread = pthread_self();
    }
    pthread_mutex_unlock(&state);
    return result;
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *graph)
{
    ENTER(cuStreamEndCapture);
    CUstream stream;
    CUresult result = find_stream(handle, &stream);
    if (result || !graph) return result ? result : CUDA_ERROR_INVALID_VALUE;
    *graph = NULL;
    pthread_mutex_lock(&state);
    if (!stream->capture) {
        result = CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    } else if (stream->capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED
               && !pthread_equal(stream->capture_thread, pthread_self())) {
        result = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    } else {
        if (stream->capture == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
            result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        else
            *graph = (CUgraph)stream;
        end_capture(stream);
    }
    pthread_mutex_unlock(&state);
    return result;
}
