/*
 * Copies. When a call returns before its work is done, and when not, is what the manual says under
 * "API synchronization behavior":
 *
 *  - "synchronous" copies from pageable memory return when the source is staged, those within the
 *    device at once, unless CU_POINTER_ATTRIBUTE_SYNC_MEMOPS is set; all others when they are done;
 *  - asynchronous copies from and to pageable memory may be synchronous: here at random.
 */
#define _GNU_SOURCE
#include "stub.h"

#include <stdlib.h>
#include <string.h>

struct copy {
    uint64_t to, from;
    size_t width, height, to_pitch, from_pitch;
    /* A copy of the source, freed with this. */
    void *staged;
};

enum place { PAGEABLE, PINNED, ON_DEVICE };

static enum place place_of(uint64_t address, bool *sync_memops)
{
    pthread_rwlock_rdlock(&memory);
    struct region *region = find_region(address);
    enum place place = region ? host_kind(region->kind) ? PINNED : ON_DEVICE : PAGEABLE;
    if (region && region->sync_memops) *sync_memops = true;
    pthread_rwlock_unlock(&memory);
    /* Unknown addresses of the device fail when the work is done. */
    return device_address(address) ? ON_DEVICE : place;
}

static enum direction direction_of(enum place to, enum place from)
{
    if (to == ON_DEVICE) return from == ON_DEVICE ? DEVICE_TO_DEVICE : HOST_TO_DEVICE;
    return from == ON_DEVICE ? DEVICE_TO_HOST : HOST_TO_HOST;
}

static CUresult run_copy(CUcontext context, void *data)
{
    struct copy *copy = data;
    bool ignored;
    enum direction direction =
        direction_of(place_of(copy->to, &ignored),
                     copy->staged ? PAGEABLE : place_of(copy->from, &ignored));
    CUresult result = CUDA_SUCCESS;
    pthread_rwlock_rdlock(&memory);
    for (size_t row = 0; row < copy->height && !result; row++) {
        void *to = view(context, copy->to + row * copy->to_pitch, copy->width, true);
        void *from = copy->staged
                         ? (char *)copy->staged + row * copy->width
                         : view(context, copy->from + row * copy->from_pitch, copy->width, true);
        if (to && from)
            memcpy(to, from, copy->width);
        else
            result = CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    pthread_rwlock_unlock(&memory);
    if (!result) count_bytes(direction, copy->width * copy->height);
    return result;
}

static void free_copy(void *data)
{
    struct copy *copy = data;
    free(copy->staged);
    free(copy);
}

/* Reads a source in pageable memory now. */
static CUresult stage(struct copy *copy)
{
    copy->staged = malloc(copy->width * copy->height + 1);
    if (!copy->staged) return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t row = 0; row < copy->height; row++)
        memcpy((char *)copy->staged + row * copy->width,
               (const char *)(uintptr_t)copy->from + row * copy->from_pitch, copy->width);
    return CUDA_SUCCESS;
}

static CUresult copied(const struct copy *wanted, CUstream handle, bool synchronous)
{
    CUstream stream;
    CUresult result = find_stream(handle, &stream);
    if (result) return result;
    if (!wanted->width || !wanted->height) return CUDA_SUCCESS;
    bool sync_memops = false;
    enum place to = place_of(wanted->to, &sync_memops);
    enum place from = place_of(wanted->from, &sync_memops);
    enum direction direction = direction_of(to, from);
    struct copy *copy = malloc(sizeof *copy);
    if (!copy) return CUDA_ERROR_OUT_OF_MEMORY;
    *copy = *wanted;
    bool staged = from == PAGEABLE && to == ON_DEVICE && (synchronous || random_below(2));
    /* The synchronous call waits for the stream before it reads its source. */
    if (staged && synchronous) result = synchronize(stream);
    if (staged && !result) result = stage(copy);
    if (result) {
        free_copy(copy);
        return result;
    }
    result = submit(stream, new_work(run_copy, free_copy, copy));
    if (result) return result;
    bool wait = direction == HOST_TO_HOST;
    if (synchronous) wait = wait || sync_memops || !(staged || direction == DEVICE_TO_DEVICE);
    if (!synchronous && to == PAGEABLE) wait = wait || random_below(2);
    return wait && !stream->capture ? synchronize(stream) : CUDA_SUCCESS;
}

static CUresult copied_line(uint64_t to, uint64_t from, size_t size, CUstream handle,
                            bool synchronous)
{
    struct copy copy = {to, from, size, 1, size, size, NULL};
    return copied(&copy, handle, synchronous);
}

/* Whether a pointer may be passed where the call demands one of the device. */
static bool of_device(CUdeviceptr address)
{
    bool ignored;
    return place_of(address, &ignored) != PAGEABLE;
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size)
{
    ENTER(cuMemcpy);
    return copied_line(to, from, size, NULL, true);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size)
{
    ENTER(cuMemcpyHtoD_v2);
    if (!of_device(to)) return CUDA_ERROR_INVALID_VALUE;
    return copied_line(to, (uint64_t)from, size, NULL, true);
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size)
{
    ENTER(cuMemcpyDtoH_v2);
    if (!of_device(from)) return CUDA_ERROR_INVALID_VALUE;
    return copied_line((uint64_t)to, from, size, NULL, true);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t size)
{
    ENTER(cuMemcpyDtoD_v2);
    if (!of_device(to) || !of_device(from)) return CUDA_ERROR_INVALID_VALUE;
    return copied_line(to, from, size, NULL, true);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
{
    ENTER(cuMemcpyAsync);
    return copied_line(to, from, size, stream, false);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size, CUstream stream)
{
    ENTER(cuMemcpyHtoDAsync_v2);
    if (!of_device(to)) return CUDA_ERROR_INVALID_VALUE;
    return copied_line(to, (uint64_t)from, size, stream, false);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, CUstream stream)
{
    ENTER(cuMemcpyDtoHAsync_v2);
    if (!of_device(from)) return CUDA_ERROR_INVALID_VALUE;
    return copied_line((uint64_t)to, from, size, stream, false);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
{
    ENTER(cuMemcpyDtoDAsync_v2);
    if (!of_device(to) || !of_device(from)) return CUDA_ERROR_INVALID_VALUE;
    return copied_line(to, from, size, stream, false);
}

/* The address that an end of a copy names, or 0. */
static uint64_t end_of(int type, const void *host, CUdeviceptr device, size_t pitch, size_t x,
                       size_t y)
{
    uint64_t start = type == CU_MEMORYTYPE_HOST ? (uint64_t)host : device;
    bool known = type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_UNIFIED
                 || (type == CU_MEMORYTYPE_DEVICE && of_device(device));
    return known ? start + y * pitch + x : 0;
}

static CUresult copied_rows(const CUDA_MEMCPY2D *wanted, CUstream handle, bool synchronous)
{
    if (!wanted) return CUDA_ERROR_INVALID_VALUE;
    struct copy copy = {
        .to = end_of(wanted->dstMemoryType, wanted->dstHost, wanted->dstDevice, wanted->dstPitch,
                     wanted->dstXInBytes, wanted->dstY),
        .from = end_of(wanted->srcMemoryType, wanted->srcHost, wanted->srcDevice, wanted->srcPitch,
                       wanted->srcXInBytes, wanted->srcY),
        .width = wanted->WidthInBytes,
        .height = wanted->Height,
        .to_pitch = wanted->dstPitch ? wanted->dstPitch : wanted->WidthInBytes,
        .from_pitch = wanted->srcPitch ? wanted->srcPitch : wanted->WidthInBytes,
    };
    bool narrow = copy.to_pitch < copy.width || copy.from_pitch < copy.width;
    if (!copy.to || !copy.from || narrow) return CUDA_ERROR_INVALID_VALUE;
    return copied(&copy, handle, synchronous);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy)
{
    ENTER(cuMemcpy2D_v2);
    return copied_rows(copy, NULL, true);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream)
{
    ENTER(cuMemcpy2DAsync_v2);
    return copied_rows(copy, stream, false);
}
