/*
 * Streams: work in its order, each stream on a thread of its own, so that streams overtake each
 * other.
 *
 * Before each work the thread sleeps for up to TOWPATH_STUB_DELAY_US microseconds (20), by random
 * numbers from TOWPATH_STUB_SEED. A stream that is not CU_STREAM_NON_BLOCKING waits for the work
 * that the legacy default stream of its context had before, and the other way round. A stream's
 * structure is never freed: later work may still wait for it.
 */
#define _GNU_SOURCE
#include "stub.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { MAGIC = 0x53747231 };

/* Work is done, or the driver has ended. A stream's own thread waits for new work elsewhere. */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool ended;

CUstream new_stream(CUcontext context, unsigned flags)
{
    CUstream stream = calloc(1, sizeof *stream);
    if (!stream) return NULL;
    stream->magic = MAGIC;
    stream->context = context;
    stream->flags = flags;
    pthread_cond_init(&stream->wake, NULL);
    stream->next = context->streams;
    context->streams = stream;
    return stream;
}

void end_stream(CUstream stream)
{
    CUstream *before = &stream->context->streams;
    while (*before != stream) before = &(*before)->next;
    *before = stream->next;
    end_capture(stream);
    stream->magic = 0;
    stream->destroyed = true;
    pthread_cond_signal(&stream->wake);
}

void end_streams(void)
{
    pthread_mutex_lock(&state);
    ended = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&state);
}

/* The default stream of this thread in its current context. */
static CUstream own_stream(CUcontext context)
{
    pthread_mutex_lock(&state);
    CUstream stream = context->streams;
    while (stream && !(stream->per_thread && pthread_equal(stream->thread, pthread_self())))
        stream = stream->next;
    if (!stream && (stream = new_stream(context, CU_STREAM_DEFAULT))) {
        stream->per_thread = true;
        stream->thread = pthread_self();
    }
    pthread_mutex_unlock(&state);
    return stream;
}

CUresult find_stream(CUstream handle, CUstream *stream)
{
    CUcontext context = current_context();
    if (!handle || handle == CU_STREAM_LEGACY)
        *stream = context->legacy;
    else if (handle == CU_STREAM_PER_THREAD)
        *stream = own_stream(context);
    else
        *stream = handle->magic == MAGIC ? handle : NULL;
    return *stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

struct work *new_work(CUresult (*run)(CUcontext, void *), void (*release)(void *), void *data)
{
    struct work *work = calloc(1, sizeof *work);
    if (!work) abort();
    work->run = run;
    work->release = release;
    work->data = data;
    return work;
}

void add_wait(struct work *work, CUstream stream, uint64_t sequence)
{
    if (stream->done >= sequence) return;
    struct wait *waits = realloc(work->waits, (work->wait_count + 1) * sizeof *waits);
    if (!waits) abort();
    work->waits = waits;
    waits[work->wait_count++] = (struct wait){stream, sequence};
}

static void release(struct work *work)
{
    if (work->release) work->release(work->data);
    free(work->waits);
    free(work);
}

static void delay(void)
{
    /* Read once: programs may change their environment meanwhile. */
    static _Thread_local long longest = -1;
    if (longest < 0) longest = (long)setting("TOWPATH_STUB_DELAY_US", 20);
    /* Often none at all, so that one stream also runs far ahead of another one. */
    if (longest && random_below(2)) usleep(random_below((uint32_t)longest + 1));
}

static void perform(CUstream stream, struct work *work)
{
    for (unsigned place = 0; place < work->wait_count; place++)
        while (work->waits[place].stream->done < work->waits[place].sequence && !ended)
            pthread_cond_wait(&changed, &state);
    if (ended) return;
    pthread_mutex_unlock(&state);
    delay();
    CUcontext context = stream->context;
    CUresult error = context->error;
    if (!error) error = work->failure;
    if (!error && work->run) error = work->run(context, work->data);
    pthread_mutex_lock(&state);
    if (error && !context->error) context->error = error;
    stream->done = work->sequence;
    release(work);
    pthread_cond_broadcast(&changed);
}

static void *work_through(void *argument)
{
    CUstream stream = argument;
    /* By default the system lets each sleep last up to 50 microseconds longer. */
    prctl(PR_SET_TIMERSLACK, 1);
    pthread_mutex_lock(&state);
    while (!ended) {
        struct work *work = stream->first;
        if (work) {
            stream->first = work->next;
            if (!work->next) stream->last = NULL;
            perform(stream, work);
        } else if (stream->destroyed) {
            break;
        } else {
            pthread_cond_wait(&stream->wake, &state);
        }
    }
    pthread_mutex_unlock(&state);
    return NULL;
}

/* Starts the thread, to which no signal of the program goes. */
static bool start(CUstream stream)
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    stream->started = pthread_create(&thread, NULL, work_through, stream) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (stream->started) pthread_detach(thread);
    return stream->started;
}

/* The order between the legacy default stream and the blocking ones of its context. */
static void add_implicit_waits(CUstream stream, struct work *work)
{
    if (stream->flags & CU_STREAM_NON_BLOCKING) return;
    if (!stream->legacy) {
        CUstream legacy = stream->context->legacy;
        if (legacy) add_wait(work, legacy, legacy->enqueued);
        return;
    }
    for (CUstream other = stream->context->streams; other; other = other->next)
        if (!(other->flags & CU_STREAM_NON_BLOCKING)) add_wait(work, other, other->enqueued);
}

CUresult submit_locked(CUstream stream, struct work *work)
{
    CUresult refused = capture_allows_work(stream);
    if (!refused && !stream->started && !start(stream)) refused = CUDA_ERROR_OPERATING_SYSTEM;
    if (refused || stream->capture == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
        release(work);
        return refused;
    }
    add_implicit_waits(stream, work);
    work->failure = take_later_failure();
    work->sequence = ++stream->enqueued;
    if (stream->last)
        stream->last->next = work;
    else
        stream->first = work;
    stream->last = work;
    pthread_cond_signal(&stream->wake);
    return CUDA_SUCCESS;
}

CUresult submit(CUstream stream, struct work *work)
{
    pthread_mutex_lock(&state);
    CUresult result = submit_locked(stream, work);
    pthread_mutex_unlock(&state);
    return result;
}

void wait_for(CUstream stream, uint64_t sequence)
{
    pthread_mutex_lock(&state);
    while (stream->done < sequence && !ended) pthread_cond_wait(&changed, &state);
    pthread_mutex_unlock(&state);
}

CUresult synchronize(CUstream stream)
{
    CUresult refused = CUDA_SUCCESS;
    pthread_mutex_lock(&state);
    /* The legacy default stream is idle when all blocking streams are. */
    if (stream->legacy) refused = submit_locked(stream, new_work(NULL, NULL, NULL));
    uint64_t sequence = stream->enqueued;
    pthread_mutex_unlock(&state);
    if (refused) return refused;
    wait_for(stream, sequence);
    return stream->context->error;
}

void synchronize_context(CUcontext context)
{
    pthread_mutex_lock(&state);
    for (CUstream stream = context->streams; stream;) {
        if (stream->done < stream->enqueued && !ended) {
            pthread_cond_wait(&changed, &state);
            /* The list may have changed meanwhile. */
            stream = context->streams;
        } else {
            stream = stream->next;
        }
    }
    pthread_mutex_unlock(&state);
}
