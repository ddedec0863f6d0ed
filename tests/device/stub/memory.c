/*
 * The table of all memory that the driver knows, and the functions that get and free it.
 *
 * cuMemFree does not wait for work that uses the memory, which the manual does not promise either:
 * such work fails with CUDA_ERROR_ILLEGAL_ADDRESS when its turn comes.
 */
#define _GNU_SOURCE
#include "stub.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

pthread_rwlock_t memory = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

/* In the order of addresses. */
static struct region **regions;
static size_t count, capacity;

/* The number of regions that begin at or before the address. */
static size_t begun(uint64_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (regions[middle]->base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct region *find_region(uint64_t address)
{
    size_t place = begun(address);
    if (!place) return NULL;
    struct region *region = regions[place - 1];
    return address - region->base < region->size ? region : NULL;
}

struct region *next_region(uint64_t address)
{
    struct region *region = find_region(address);
    if (region) return region;
    size_t place = begun(address);
    return place < count ? regions[place] : NULL;
}

struct region *add_region(enum kind kind, uint64_t base, uint64_t size, CUcontext context)
{
    /* The number of a buffer is never used again. */
    static uint64_t ids;
    struct region *region = calloc(1, sizeof *region);
    if (!region) return NULL;
    if (count == capacity) {
        size_t larger = capacity ? 2 * capacity : 64;
        struct region **grown = realloc(regions, larger * sizeof *grown);
        if (!grown) {
            free(region);
            return NULL;
        }
        regions = grown;
        capacity = larger;
    }
    region->kind = kind;
    region->base = base;
    region->size = size;
    region->context = context;
    region->device = context ? context->device : 0;
    region->id = ++ids;
    region->ready = true;
    size_t at = begun(base);
    memmove(regions + at + 1, regions + at, (count - at) * sizeof *regions);
    regions[at] = region;
    count++;
    return region;
}

struct region *allocate_region(enum kind kind, CUcontext context, CUmemoryPool pool, uint64_t size)
{
    uint64_t base;
    struct block *block = place(context, pool, size, &base);
    struct region *region = block ? add_region(kind, base, size, context) : NULL;
    if (!region) return NULL;
    region->block = block;
    region->pool = pool;
    block->regions++;
    return region;
}

void remove_region(struct region *region)
{
    size_t at = begun(region->base) - 1;
    memmove(regions + at, regions + at + 1, (count - at - 1) * sizeof *regions);
    count--;
    if (region->block) drop_from_block(region->block);
    if (region->kind == MANAGED || region->kind == HOST_ALLOCATED)
        munmap((void *)(uintptr_t)region->base, region->size);
    free(region);
}

void remove_memory_of(CUcontext context)
{
    pthread_rwlock_wrlock(&memory);
    for (size_t at = count; at--;)
        if (regions[at]->context == context) remove_region(regions[at]);
    pthread_rwlock_unlock(&memory);
}

bool host_kind(enum kind kind) { return kind == HOST_ALLOCATED || kind == HOST_REGISTERED; }

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size)
{
    ENTER(cuMemAlloc_v2);
    if (!address || !size) return CUDA_ERROR_INVALID_VALUE;
    pthread_rwlock_wrlock(&memory);
    struct region *region = allocate_region(DEVICE, current_context(), NULL, size);
    if (region) *address = region->base;
    pthread_rwlock_unlock(&memory);
    return region ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult free_memory(uint64_t address)
{
    pthread_rwlock_wrlock(&memory);
    struct region *region = find_region(address);
    bool own = region && region->base == address
               && (region->kind == DEVICE || region->kind == POOL || region->kind == MANAGED);
    if (own) remove_region(region);
    pthread_rwlock_unlock(&memory);
    return own ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
    ENTER(cuMemFree_v2);
    return address ? free_memory(address) : CUDA_SUCCESS;
}

/* Memory that the processor and the device share at one address. */
static CUresult map_host(enum kind kind, size_t size, void **address)
{
    if (!address || !size) return CUDA_ERROR_INVALID_VALUE;
    uint64_t whole = (size + 4095) / 4096 * 4096;
    void *mapped = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_rwlock_wrlock(&memory);
    bool known = add_region(kind, (uint64_t)mapped, size, current_context());
    pthread_rwlock_unlock(&memory);
    if (!known) {
        munmap(mapped, whole);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *address = mapped;
    return CUDA_SUCCESS;
}

CUresult cuMemAllocManaged(CUdeviceptr *address, size_t size, unsigned flags)
{
    ENTER(cuMemAllocManaged);
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
        return CUDA_ERROR_INVALID_VALUE;
    return map_host(MANAGED, size, (void **)address);
}

CUresult cuMemHostAlloc(void **address, size_t size, unsigned flags)
{
    ENTER(cuMemHostAlloc);
    (void)flags;
    return map_host(HOST_ALLOCATED, size, address);
}

/* Removes the region of that kind that begins there. */
static bool remove_host(enum kind kind, void *address)
{
    pthread_rwlock_wrlock(&memory);
    struct region *region = find_region((uint64_t)address);
    bool found = region && region->kind == kind && region->base == (uint64_t)address;
    if (found) remove_region(region);
    pthread_rwlock_unlock(&memory);
    return found;
}

CUresult cuMemFreeHost(void *address)
{
    ENTER(cuMemFreeHost);
    return remove_host(HOST_ALLOCATED, address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemHostRegister_v2(void *address, size_t size, unsigned flags)
{
    ENTER(cuMemHostRegister_v2);
    (void)flags;
    if (!address || !size || device_address((uint64_t)address)) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    pthread_rwlock_wrlock(&memory);
    struct region *next = next_region((uint64_t)address);
    if (!next || next->base >= (uint64_t)address + size) {
        bool known = add_region(HOST_REGISTERED, (uint64_t)address, size, current_context());
        result = known ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    pthread_rwlock_unlock(&memory);
    return result;
}

CUresult cuMemHostUnregister(void *address)
{
    ENTER(cuMemHostUnregister);
    return remove_host(HOST_REGISTERED, address) ? CUDA_SUCCESS
                                                 : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *host, unsigned flags)
{
    ENTER(cuMemHostGetDevicePointer_v2);
    (void)flags;
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    pthread_rwlock_rdlock(&memory);
    struct region *region = find_region((uint64_t)host);
    bool known = region && host_kind(region->kind);
    pthread_rwlock_unlock(&memory);
    if (known) *device = (uint64_t)host;
    return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
