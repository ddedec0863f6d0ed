/* What every function does first, and the start and end of the driver in this process. */
#define _GNU_SOURCE
#include "stub.h"

#include <stdlib.h>
#include <string.h>

enum needs { NOTHING, STARTED, CURRENT, UNCAPTURED };

static struct {
    const char *name;
    void *function;
    enum needs needs;
    atomic_ulong calls;
} table[CALL_COUNT] = {
#define CALL(name, needs, parameters) {#name, (void *)name, needs, 0},
#include "calls.h"
#undef CALL
};

static enum { UNUSED, RUNNING, FORKED, ENDED } phase;
_Thread_local bool in_host_function;

CUresult enter(enum call_name name)
{
    unsigned long call = ++table[name].calls;
    enum needs needs = table[name].needs;
    if (needs >= STARTED || name == CALL_cuInit) {
        if (in_host_function) return CUDA_ERROR_NOT_PERMITTED;
        if (phase == ENDED) return CUDA_ERROR_DEINITIALIZED;
    }
    if (needs >= STARTED && phase != RUNNING) return CUDA_ERROR_NOT_INITIALIZED;
    if (needs >= CURRENT) {
        CUcontext context = current_context();
        if (!context) return CUDA_ERROR_INVALID_CONTEXT;
        if (!valid_context(context)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        if (context->error) return context->error;
    }
    if (needs >= UNCAPTURED) {
        CUresult refused = capture_allows_unsafe_call();
        if (refused) return refused;
    }
    CUresult failure = injected(table[name].name, call);
    /* Errors from 700 to 719 are those that a context does not survive. */
    if (failure >= 700 && failure <= 719 && needs >= CURRENT) current_context()->error = failure;
    return failure;
}

static void forked(void)
{
    if (phase == RUNNING) phase = FORKED;
}

/* As the real driver, which ends with the exit handlers of the process, before destructors. */
static void end(void)
{
    if (phase != RUNNING) return;
    phase = ENDED;
    end_streams();
    write_log();
}

__attribute__((destructor)) static void log_again(void)
{
    if (phase == ENDED) write_log();
}

CUresult cuInit(unsigned flags)
{
    ENTER(cuInit);
    if (flags) return CUDA_ERROR_INVALID_VALUE;
    if (phase == FORKED) return CUDA_ERROR_NOT_INITIALIZED;
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&once);
    if (phase == UNUSED) {
        find_devices();
        if (device_count()) {
            pthread_atfork(NULL, NULL, forked);
            atexit(end);
            phase = RUNNING;
        }
    }
    pthread_mutex_unlock(&once);
    return phase == RUNNING ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult cuDriverGetVersion(int *version)
{
    ENTER(cuDriverGetVersion);
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    *version = (int)setting("TOWPATH_STUB_VERSION", 13000);
    return CUDA_SUCCESS;
}

/* The place of a function in the table, by its name with or without the suffix _v2. */
static int find_call(const char *name)
{
    size_t length = strlen(name);
    for (int place = 0; place < CALL_COUNT; place++) {
        const char *other = table[place].name;
        if (strncmp(other, name, length)) continue;
        if (other[length] == 0 || strcmp(other + length, "_v2") == 0) return place;
    }
    return -1;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status)
{
    ENTER(cuGetProcAddress_v2);
    (void)version;
    if (!symbol || !function) return CUDA_ERROR_INVALID_VALUE;
    /* Flag 2 asks for the variants whose default stream belongs to a thread. */
    int place = flags & 2 ? -1 : find_call(symbol);
    *function = place < 0 ? NULL : table[place].function;
    if (status)
        *status = place < 0 ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND : CU_GET_PROC_ADDRESS_SUCCESS;
    return place < 0 ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

/* For tests: how often a function was called in this process. */
__attribute__((visibility("default"))) unsigned long towpath_stub_calls(const char *name)
{
    int place = find_call(name);
    return place < 0 ? 0 : table[place].calls;
}

void each_call(void (*tell)(const char *name, unsigned long calls, void *data), void *data)
{
    for (int place = 0; place < CALL_COUNT; place++)
        if (table[place].calls) tell(table[place].name, table[place].calls, data);
}
