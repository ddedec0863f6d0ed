/* Fills of device memory. */
#define _GNU_SOURCE
#include "stub.h"

#include <stdlib.h>
#include <string.h>

struct fill {
    uint64_t to;
    size_t size;
    unsigned char value;
};

static CUresult run(CUcontext context, void *data)
{
    struct fill *fill = data;
    pthread_rwlock_rdlock(&memory);
    void *to = view(context, fill->to, fill->size, false);
    if (to) memset(to, fill->value, fill->size);
    pthread_rwlock_unlock(&memory);
    return to ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

static CUresult filled(CUdeviceptr to, unsigned char value, size_t size, CUstream handle, bool wait)
{
    CUstream stream;
    CUresult result = find_stream(handle, &stream);
    if (result || !size) return result;
    pthread_rwlock_rdlock(&memory);
    struct region *region = find_region(to);
    bool known = region || device_address(to);
    /* Only fills of the device's own memory return before they are done. */
    wait = wait && region && (host_kind(region->kind) || region->sync_memops);
    pthread_rwlock_unlock(&memory);
    if (!known) return CUDA_ERROR_INVALID_VALUE;
    struct fill *fill = malloc(sizeof *fill);
    if (!fill) return CUDA_ERROR_OUT_OF_MEMORY;
    *fill = (struct fill){to, size, value};
    result = submit(stream, new_work(run, free, fill));
    return !result && wait ? synchronize(stream) : result;
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t size)
{
    ENTER(cuMemsetD8_v2);
    return filled(to, value, size, NULL, true);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t size, CUstream stream)
{
    ENTER(cuMemsetD8Async);
    return filled(to, value, size, stream, false);
}
