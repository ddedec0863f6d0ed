/* Contexts: those that programs create, the primary one of each device, and each thread's stack. */
#define _GNU_SOURCE
#include "stub.h"

#include <stdlib.h>

enum { MAGIC = 0x43747831, DEPTH = 64, MOST_DEVICES = 16 };

pthread_mutex_t state = PTHREAD_MUTEX_INITIALIZER;
/* Contexts are never freed, so that a destroyed one can be told from another one. */
static CUcontext primaries[MOST_DEVICES];
static _Thread_local CUcontext stack[DEPTH];
static _Thread_local int depth;

CUcontext current_context(void) { return depth ? stack[depth - 1] : NULL; }

/* The primary context stays valid as a handle, but only counts while somebody retains it. */
bool valid_context(CUcontext context) { return context->magic == MAGIC && context->retained; }

static CUresult start(CUcontext context, CUdevice device)
{
    if (!claim_device(device)) return CUDA_ERROR_DEVICE_UNAVAILABLE;
    context->magic = MAGIC;
    context->device = device;
    context->error = CUDA_SUCCESS;
    context->peers = 1ull << device;
    context->legacy = new_stream(context, CU_STREAM_DEFAULT);
    if (!context->legacy) return CUDA_ERROR_OUT_OF_MEMORY;
    context->legacy->legacy = true;
    context->retained = 1;
    return CUDA_SUCCESS;
}

/* Its work ends, its memory is freed. */
static void stop(CUcontext context)
{
    synchronize_context(context);
    pthread_mutex_lock(&state);
    context->retained = 0;
    while (context->streams) end_stream(context->streams);
    context->legacy = NULL;
    release_device(context->device);
    pthread_mutex_unlock(&state);
    remove_memory_of(context);
}

CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device)
{
    ENTER(cuCtxCreate_v2);
    (void)flags;
    if (!context) return CUDA_ERROR_INVALID_VALUE;
    if (!valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    if (depth == DEPTH) return CUDA_ERROR_OUT_OF_MEMORY;
    CUcontext created = calloc(1, sizeof *created);
    pthread_mutex_lock(&state);
    CUresult result = created ? start(created, device) : CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_unlock(&state);
    if (result) return result;
    stack[depth++] = created;
    *context = created;
    return CUDA_SUCCESS;
}

CUresult cuCtxDestroy_v2(CUcontext context)
{
    ENTER(cuCtxDestroy_v2);
    if (!context || !valid_context(context) || context->primary) return CUDA_ERROR_INVALID_CONTEXT;
    stop(context);
    if (current_context() == context) depth--;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    ENTER(cuDevicePrimaryCtxRetain);
    if (!context) return CUDA_ERROR_INVALID_VALUE;
    if (!valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    CUresult result = CUDA_SUCCESS;
    pthread_mutex_lock(&state);
    if (!primaries[device]) primaries[device] = calloc(1, sizeof **primaries);
    CUcontext primary = primaries[device];
    if (!primary) {
        result = CUDA_ERROR_OUT_OF_MEMORY;
    } else if (primary->retained) {
        primary->retained++;
    } else {
        primary->primary = true;
        result = start(primary, device);
    }
    pthread_mutex_unlock(&state);
    if (!result) *context = primary;
    return result;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    ENTER(cuDevicePrimaryCtxRelease_v2);
    if (!valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    CUcontext primary = primaries[device];
    if (!primary || !primary->retained) return CUDA_ERROR_INVALID_CONTEXT;
    if (primary->retained == 1)
        stop(primary);
    else
        primary->retained--;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    ENTER(cuDevicePrimaryCtxGetState);
    if (!flags || !active) return CUDA_ERROR_INVALID_VALUE;
    if (!valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    *flags = 0;
    *active = primaries[device] && primaries[device]->retained;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
    ENTER(cuCtxGetCurrent);
    if (!context) return CUDA_ERROR_INVALID_VALUE;
    *context = current_context();
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    ENTER(cuCtxSetCurrent);
    if (context && !valid_context(context)) return CUDA_ERROR_INVALID_CONTEXT;
    if (depth) depth--;
    if (context) stack[depth++] = context;
    return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    ENTER(cuCtxPushCurrent_v2);
    if (!context || !valid_context(context)) return CUDA_ERROR_INVALID_CONTEXT;
    if (depth == DEPTH) return CUDA_ERROR_INVALID_VALUE;
    stack[depth++] = context;
    return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    ENTER(cuCtxPopCurrent_v2);
    if (!depth) return CUDA_ERROR_INVALID_CONTEXT;
    depth--;
    if (context) *context = stack[depth];
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    ENTER(cuCtxGetDevice);
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    *device = current_context()->device;
    return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
    ENTER(cuCtxEnablePeerAccess);
    CUcontext context = current_context();
    if (flags) return CUDA_ERROR_INVALID_VALUE;
    if (!peer || !valid_context(peer) || peer == context) return CUDA_ERROR_INVALID_CONTEXT;
    if (!peers(shared_number(context->device), shared_number(peer->device)))
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    if (context->peers >> peer->device & 1) return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    context->peers |= 1ull << peer->device;
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
    ENTER(cuCtxSynchronize);
    CUcontext context = current_context();
    synchronize_context(context);
    return context->error;
}
