/*
 * Memory that comes and goes in the order of a stream, from pools. Legacy IPC refuses it; a pool
 * can be exported only if it was created so: as a file that names the pool, and then each
 * allocation by its own name.
 */
#define _GNU_SOURCE
#include "stub.h"

#include <stdlib.h>
#include <string.h>

enum { MAGIC = 0x506f6f31, MOST_DEVICES = 16 };

struct CUmemPoolHandle_st {
    unsigned magic;
    CUdevice device;
    bool exportable, imported;
};

bool exportable(CUmemoryPool pool) { return pool->exportable; }

static struct CUmemPoolHandle_st default_pools[MOST_DEVICES];

static void make_default_pools(void)
{
    for (CUdevice device = 0; device < MOST_DEVICES; device++)
        default_pools[device] = (struct CUmemPoolHandle_st){MAGIC, device, false, false};
}

static CUmemoryPool default_pool(CUdevice device)
{
    static pthread_once_t made = PTHREAD_ONCE_INIT;
    pthread_once(&made, make_default_pools);
    return &default_pools[device];
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties)
{
    ENTER(cuMemPoolCreate);
    if (!pool || !properties || properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED
        || properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    if (!valid_device(properties->location.id)) return CUDA_ERROR_INVALID_DEVICE;
    *pool = malloc(sizeof **pool);
    if (!*pool) return CUDA_ERROR_OUT_OF_MEMORY;
    bool file = properties->handleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    **pool = (struct CUmemPoolHandle_st){MAGIC, properties->location.id, file, false};
    return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
    ENTER(cuMemPoolDestroy);
    if (!pool || pool->magic != MAGIC) return CUDA_ERROR_INVALID_VALUE;
    /* Its memory may still be in use: the structure stays. */
    pool->magic = 0;
    return CUDA_SUCCESS;
}

static CUresult begin(CUcontext context, void *data)
{
    (void)context;
    pthread_rwlock_wrlock(&memory);
    struct region *region = find_region((uint64_t)data);
    if (region) region->ready = true;
    pthread_rwlock_unlock(&memory);
    return CUDA_SUCCESS;
}

static CUresult finish(CUcontext context, void *data)
{
    (void)context;
    return free_memory((uint64_t)data) ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS;
}

static CUresult allocate(CUdeviceptr *address, size_t size, CUmemoryPool pool, CUstream handle)
{
    CUstream stream;
    CUresult result = find_stream(handle, &stream);
    if (result) return result;
    if (!address || !size || !pool || pool->magic != MAGIC || pool->imported)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_rwlock_wrlock(&memory);
    struct region *region = allocate_region(POOL, current_context(), pool, size);
    if (region) {
        region->device = pool->device;
        region->ready = false;
        *address = region->base;
    }
    pthread_rwlock_unlock(&memory);
    if (!region) return CUDA_ERROR_OUT_OF_MEMORY;
    return submit(stream, new_work(begin, NULL, (void *)(uintptr_t)*address));
}

CUresult cuMemAllocAsync(CUdeviceptr *address, size_t size, CUstream stream)
{
    ENTER(cuMemAllocAsync);
    return allocate(address, size, default_pool(current_context()->device), stream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t size, CUmemoryPool pool,
                                 CUstream stream)
{
    ENTER(cuMemAllocFromPoolAsync);
    return allocate(address, size, pool, stream);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle)
{
    ENTER(cuMemFreeAsync);
    CUstream stream;
    CUresult result = find_stream(handle, &stream);
    if (result) return result;
    pthread_rwlock_rdlock(&memory);
    struct region *region = find_region(address);
    bool known = region && region->base == address
                 && (region->kind == POOL || region->kind == DEVICE);
    pthread_rwlock_unlock(&memory);
    if (!known) return CUDA_ERROR_INVALID_VALUE;
    return submit(stream, new_work(finish, NULL, (void *)(uintptr_t)address));
}

CUresult cuMemPoolExportToShareableHandle(void *handle, CUmemoryPool pool,
                                          CUmemAllocationHandleType type, unsigned long long flags)
{
    ENTER(cuMemPoolExportToShareableHandle);
    if (!handle || !pool || pool->magic != MAGIC || flags) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || !pool->exportable)
        return CUDA_ERROR_INVALID_VALUE;
    int file = new_file(pool->device, 0);
    if (file < 0) return CUDA_ERROR_OPERATING_SYSTEM;
    *(int *)handle = file;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *pool, void *handle,
                                            CUmemAllocationHandleType type,
                                            unsigned long long flags)
{
    ENTER(cuMemPoolImportFromShareableHandle);
    if (!pool || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_INVALID_VALUE;
    CUdevice device = device_of_file((int)(intptr_t)handle);
    if (!valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    *pool = malloc(sizeof **pool);
    if (!*pool) return CUDA_ERROR_OUT_OF_MEMORY;
    **pool = (struct CUmemPoolHandle_st){MAGIC, device, false, true};
    return CUDA_SUCCESS;
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *data, CUdeviceptr address)
{
    ENTER(cuMemPoolExportPointer);
    if (!data) return CUDA_ERROR_INVALID_VALUE;
    pthread_rwlock_rdlock(&memory);
    struct region *region = find_region(address);
    bool possible = region && region->kind == POOL && region->pool->exportable;
    if (possible) {
        struct name name = name_of_region(region);
        memset(data, 0, sizeof *data);
        memcpy(data, &name, sizeof name);
    }
    pthread_rwlock_unlock(&memory);
    return possible ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolImportPointer(CUdeviceptr *address, CUmemoryPool pool,
                                CUmemPoolPtrExportData *data)
{
    ENTER(cuMemPoolImportPointer);
    if (!address || !data || !pool || pool->magic != MAGIC || !pool->imported)
        return CUDA_ERROR_INVALID_VALUE;
    struct name name;
    memcpy(&name, data, sizeof name);
    CUresult result;
    pthread_rwlock_wrlock(&memory);
    struct region *region = map_name(&name, POOL, current_context(), &result);
    if (region) {
        region->pool = pool;
        region->device = pool->device;
        *address = region->base;
    }
    pthread_rwlock_unlock(&memory);
    return result;
}
