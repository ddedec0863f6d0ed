/*
 * Checks of streams: the orders that CUDA promises hold always, and those that it does not
 * promise are broken at least once in many trials.
 */
#define _GNU_SOURCE
#include "checks.h"

enum { TRIALS = 200 };

struct streams {
    CUstream first, second;
    CUdeviceptr place, other;
    char *host;
};

static struct streams set_up(unsigned flags)
{
    struct streams s;
    start();
    WORKS(cuStreamCreate(&s.first, flags));
    WORKS(cuStreamCreateWithPriority(&s.second, flags, -1));
    WORKS(cuMemAlloc_v2(&s.place, 4096));
    WORKS(cuMemAlloc_v2(&s.other, 4096));
    WORKS(cuMemHostAlloc((void **)&s.host, 4096, 0));
    return s;
}

/* What the last of two fills by these streams leaves; `wait` puts an order between them. */
static char last_of(struct streams *s, bool wait)
{
    CUevent event;
    WORKS(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    WORKS(cuMemsetD8Async(s->place, 1, 1, s->first));
    WORKS(cuEventRecord(event, s->first));
    if (wait) WORKS(cuStreamWaitEvent(s->second, event, 0));
    WORKS(cuMemsetD8Async(s->place, 2, 1, s->second));
    WORKS(cuEventDestroy_v2(event));
    WORKS(cuStreamSynchronize(s->first));
    WORKS(cuStreamSynchronize(s->second));
    WORKS(cuMemcpyDtoH_v2(s->host, s->place, 1));
    return s->host[0];
}

static void streams_overtake(void)
{
    struct streams s = set_up(CU_STREAM_NON_BLOCKING);
    int seen[3] = {0};
    for (int trial = 0; trial < TRIALS; trial++) seen[(int)last_of(&s, false)]++;
    MUST(seen[1] > 0 && seen[2] > 0);
    for (int trial = 0; trial < TRIALS; trial++) MUST(last_of(&s, true) == 2);
}

static void one_stream_keeps_its_order(void)
{
    struct streams s = set_up(CU_STREAM_NON_BLOCKING);
    for (int trial = 0; trial < TRIALS; trial++) {
        WORKS(cuMemsetD8Async(s.place, (unsigned char)trial, 64, s.first));
        WORKS(cuMemcpyDtoDAsync_v2(s.other, s.place, 64, s.first));
        WORKS(cuMemcpyDtoHAsync_v2(s.host, s.other, 64, s.first));
        WORKS(cuStreamSynchronize(s.first));
        MUST(s.host[63] == (char)trial);
    }
}

/* How often the default stream's fill came before the one that the stream got earlier. */
static int overtaken(struct streams *s)
{
    int count = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        WORKS(cuMemsetD8Async(s->place, 1, 1, s->first));
        WORKS(cuMemsetD8Async(s->place, 2, 1, NULL));
        WORKS(cuCtxSynchronize());
        WORKS(cuMemcpyDtoH_v2(s->host, s->place, 1));
        count += s->host[0] == 1;
        WORKS(cuMemsetD8_v2(s->place, 3, 1));
        WORKS(cuMemsetD8Async(s->place, 4, 1, s->first));
        WORKS(cuCtxSynchronize());
        WORKS(cuMemcpyDtoH_v2(s->host, s->place, 1));
        count += s->host[0] == 3;
    }
    return count;
}

static void legacy_stream(void)
{
    struct streams s = set_up(CU_STREAM_DEFAULT);
    MUST(overtaken(&s) == 0);
}

static void legacy_stream_and_non_blocking_ones(void)
{
    struct streams s = set_up(CU_STREAM_NON_BLOCKING);
    MUST(overtaken(&s) > 0);
}

/* How often another stream does not see a "synchronous" copy that has returned. */
static int unseen(struct streams *s, bool from_device)
{
    char source[64], *back = s->host;
    int count = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        memset(source, trial, sizeof source);
        if (from_device) {
            WORKS(cuMemsetD8_v2(s->other, (unsigned char)trial, 64));
            WORKS(cuCtxSynchronize());
            WORKS(cuMemcpyDtoD_v2(s->place, s->other, 64));
        } else {
            WORKS(cuMemcpyHtoD_v2(s->place, source, 64));
        }
        memset(source, 77, sizeof source);
        WORKS(cuMemcpyDtoHAsync_v2(back, s->place, 64, s->second));
        WORKS(cuStreamSynchronize(s->second));
        count += back[63] != (char)trial;
        WORKS(cuCtxSynchronize());
        WORKS(cuMemcpyDtoH_v2(back, s->place, 64));
        MUST(back[0] == (char)trial && back[63] == (char)trial);
    }
    return count;
}

static void copies_return_early(void)
{
    struct streams s = set_up(CU_STREAM_NON_BLOCKING);
    MUST(unseen(&s, false) > 0);
    MUST(unseen(&s, true) > 0);
    unsigned one = 1;
    WORKS(cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, s.place));
    MUST(unseen(&s, false) == 0);
    MUST(unseen(&s, true) == 0);
}

static void pageable_memory_is_read_late(void)
{
    struct streams s = set_up(CU_STREAM_NON_BLOCKING);
    char source[64];
    int late = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        memset(source, 1, sizeof source);
        WORKS(cuMemcpyAsync(s.place, (CUdeviceptr)source, 64, s.first));
        memset(source, 2, sizeof source);
        WORKS(cuStreamSynchronize(s.first));
        WORKS(cuMemcpyDtoH_v2(s.host, s.place, 64));
        late += s.host[63] == 2;
    }
    MUST(late > 0 && late < TRIALS);
}

static void rows(void)
{
    struct streams s = set_up(CU_STREAM_NON_BLOCKING);
    char source[64], back[64] = {0};
    for (int n = 0; n < 64; n++) source[n] = (char)n;
    CUDA_MEMCPY2D in = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = source, .srcPitch = 8,
                        .srcXInBytes = 2, .srcY = 1, .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = s.place, .dstPitch = 100, .WidthInBytes = 3, .Height = 4};
    WORKS(cuMemcpy2D_v2(&in));
    WORKS(cuMemcpyDtoH_v2(back, s.place + 200, 3));
    MUST(memcmp(back, source + 8 * 3 + 2, 3) == 0);
    CUDA_MEMCPY2D out = {.srcMemoryType = CU_MEMORYTYPE_UNIFIED, .srcDevice = s.place,
                         .srcPitch = 100, .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = back,
                         .dstPitch = 16, .WidthInBytes = 3, .Height = 4};
    WORKS(cuMemcpy2DAsync_v2(&out, s.first));
    WORKS(cuStreamSynchronize(s.first));
    MUST(memcmp(back + 48, source + 8 * 4 + 2, 3) == 0);
    out.srcPitch = 2;
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&out));
}

static void events(void)
{
    struct streams s = set_up(CU_STREAM_NON_BLOCKING);
    CUevent from, to;
    float milliseconds = -1;
    int waited = 0;
    WORKS(cuEventCreate(&from, 0));
    WORKS(cuEventCreate(&to, 0));
    WORKS(cuEventQuery(from));
    for (int trial = 0; trial < TRIALS; trial++) {
        WORKS(cuEventRecord(from, s.first));
        WORKS(cuMemsetD8Async(s.place, 1, 64, s.first));
        WORKS(cuEventRecord(to, s.first));
        CUresult result = cuEventQuery(to);
        MUST(result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY);
        waited += result == CUDA_ERROR_NOT_READY;
        WORKS(cuEventSynchronize(to));
        WORKS(cuEventQuery(to));
        WORKS(cuStreamQuery(s.first));
    }
    MUST(waited > 0);
    WORKS(cuEventElapsedTime(&milliseconds, from, to));
    MUST(milliseconds >= 0 && milliseconds < 10000);
}

static CUresult in_function = CUDA_SUCCESS;
static void host_function(void *data)
{
    CUcontext context;
    in_function = cuCtxGetCurrent(&context);
    *(int *)data = 1;
}

static void host_functions_and_values(void)
{
    struct streams s = set_up(CU_STREAM_NON_BLOCKING);
    int called = 0;
    WORKS(cuStreamWriteValue32_v2(s.first, (CUdeviceptr)s.host, 12345, 0));
    WORKS(cuLaunchHostFunc(s.first, host_function, &called));
    WORKS(cuStreamSynchronize(s.first));
    MUST(called && in_function == CUDA_ERROR_NOT_PERMITTED && *(int *)s.host == 12345);
}

static void *other_thread(void *argument)
{
    CUcontext context = argument;
    CUdeviceptr address;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    WORKS(cuCtxSetCurrent(context));
    WORKS(cuThreadExchangeStreamCaptureMode(&mode));
    MUST(mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
    WORKS(cuMemAlloc_v2(&address, 8));
    WORKS(cuThreadExchangeStreamCaptureMode(&mode));
    GIVES(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc_v2(&address, 8));
    return NULL;
}

static void captures(void)
{
    struct streams s = set_up(CU_STREAM_DEFAULT);
    CUcontext context;
    CUgraph graph;
    CUstreamCaptureStatus status;
    pthread_t thread;
    WORKS(cuCtxGetCurrent(&context));
    WORKS(cuMemsetD8_v2(s.place, 1, 1));
    WORKS(cuStreamBeginCapture_v2(s.first, CU_STREAM_CAPTURE_MODE_RELAXED));
    WORKS(cuMemsetD8Async(s.place, 2, 1, s.first));
    WORKS(cuStreamIsCapturing(s.first, &status));
    MUST(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    WORKS(cuStreamEndCapture(s.first, &graph));
    WORKS(cuMemcpyDtoH_v2(s.host, s.place, 1));
    /* What was captured was not done. */
    MUST(graph && s.host[0] == 1);
    WORKS(cuStreamBeginCapture_v2(s.first, CU_STREAM_CAPTURE_MODE_GLOBAL));
    MUST(!pthread_create(&thread, NULL, other_thread, context) && !pthread_join(thread, NULL));
    GIVES(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s.first, &graph));
    WORKS(cuStreamBeginCapture_v2(s.first, CU_STREAM_CAPTURE_MODE_RELAXED));
    GIVES(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuMemsetD8Async(s.place, 2, 1, NULL));
    GIVES(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s.first, &graph));
}

static void freed_while_in_use(void)
{
    struct streams s = set_up(CU_STREAM_NON_BLOCKING);
    WORKS(cuMemFree_v2(s.place));
    WORKS(cuMemcpyDtoDAsync_v2(s.other, s.place, 64, s.first));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(s.first));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemFree_v2(s.other));
    const char *text;
    WORKS(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
    MUST(strcmp(text, "CUDA_ERROR_ILLEGAL_ADDRESS") == 0);
    WORKS(cuGetErrorString(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
}

/* Messages of one thread through memory that is new each time. */
static void *send_through(void *argument)
{
    enum { BYTES = 3000 };
    WORKS(cuCtxSetCurrent(argument));
    char *host;
    CUstream stream, second;
    CUevent event;
    WORKS(cuMemHostAlloc((void **)&host, 2 * BYTES, 0));
    WORKS(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    WORKS(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (int trial = 0; trial < TRIALS; trial++) {
        CUdeviceptr from, to;
        memset(host, trial, BYTES);
        WORKS(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
        WORKS(cuMemAlloc_v2(&from, BYTES));
        WORKS(cuMemAllocAsync(&to, BYTES, second));
        WORKS(cuMemcpyHtoDAsync_v2(from, host, BYTES, stream));
        WORKS(cuEventRecord(event, stream));
        WORKS(cuStreamWaitEvent(second, event, 0));
        WORKS(cuMemcpyDtoDAsync_v2(to, from, BYTES, second));
        WORKS(cuMemcpyDtoHAsync_v2(host + BYTES, to, BYTES, second));
        WORKS(cuMemFreeAsync(to, second));
        WORKS(cuEventRecord(event, second));
        WORKS(cuStreamDestroy_v2(second));
        WORKS(cuEventSynchronize(event));
        WORKS(cuMemFree_v2(from));
        MUST(memcmp(host, host + BYTES, BYTES) == 0);
    }
    return NULL;
}

static void many_threads(void)
{
    enum { THREADS = 6 };
    pthread_t threads[THREADS];
    CUcontext context = start();
    for (int n = 0; n < THREADS; n++)
        MUST(!pthread_create(&threads[n], NULL, send_through, context));
    for (int n = 0; n < THREADS; n++) MUST(!pthread_join(threads[n], NULL));
    WORKS(cuCtxSynchronize());
}

const struct check stream_checks[] = {
    {"many_threads", many_threads},
    {"streams_overtake", streams_overtake},
    {"one_stream_keeps_its_order", one_stream_keeps_its_order},
    {"legacy_stream", legacy_stream},
    {"legacy_stream_and_non_blocking_ones", legacy_stream_and_non_blocking_ones},
    {"copies_return_early", copies_return_early},
    {"pageable_memory_is_read_late", pageable_memory_is_read_late},
    {"rows", rows},
    {"events", events},
    {"host_functions_and_values", host_functions_and_values},
    {"captures", captures},
    {"freed_while_in_use", freed_while_in_use},
    {NULL, NULL},
};
