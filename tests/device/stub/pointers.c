/* What a pointer is: for programs that ask, and for work that uses it. */
#define _GNU_SOURCE
#include "stub.h"

#include <string.h>

/* The version of a driver that knows mappings, or an older one. */
enum { NEW = 12000 };

/* Whether kernels and copies of the context reach the memory. */
static bool reachable(CUcontext context, const struct region *region)
{
    if (host_kind(region->kind) || region->kind == MANAGED) return true;
    if (region->kind == VIRTUAL) return region->accessible >> context->device & 1;
    return context->peers >> region->device & 1;
}

void *view(CUcontext context, uint64_t address, uint64_t size, bool pageable)
{
    struct region *region = find_region(address);
    if (!region) return pageable && !device_address(address) ? (void *)(uintptr_t)address : NULL;
    if (size > region->base + region->size - address) {
        /* Registered memory has ordinary pages on both sides. */
        return pageable && host_kind(region->kind) ? (void *)(uintptr_t)address : NULL;
    }
    if (!region->ready || (!pageable && !reachable(context, region))) return NULL;
    return device_address(address) ? shadow_of(address) : (void *)(uintptr_t)address;
}

/* Writes a value of that many bytes. */
static CUresult give(void *data, const void *value, size_t size)
{
    memcpy(data, value, size);
    return CUDA_SUCCESS;
}

static CUresult give_number(void *data, uint64_t value, size_t size)
{
    return give(data, &value, size);
}

/* Whether the attribute exists, and the bytes of its value. */
static size_t attribute_size(CUpointer_attribute attribute)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: return 8;
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        return setting("TOWPATH_STUB_VERSION", NEW) < NEW ? 0 : 8;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED: return 4;
    default: return 0;
    }
}

/* How the memory can be exported. */
static uint64_t types_of(const struct region *region)
{
    if (region->physical) return (uint64_t)handle_types(region->physical);
    bool file = region->pool && exportable(region->pool);
    return file ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
}

static CUresult attribute_of(const struct region *region, CUpointer_attribute attribute,
                             uint64_t at, void *data)
{
    size_t size = attribute_size(attribute);
    bool host = host_kind(region->kind);
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: {
        /* Memory of pools and virtual memory belong to none. */
        bool none = region->kind == POOL || region->kind == VIRTUAL;
        CUcontext context = none ? NULL : region->context;
        return give(data, &context, size);
    }
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return give_number(data, host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE, size);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return give_number(data, at, size);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (!host && region->kind != MANAGED) return CUDA_ERROR_INVALID_VALUE;
        return give_number(data, at, size);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: return give_number(data, region->sync_memops, size);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: return give_number(data, region->id, size);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: return give_number(data, region->kind == MANAGED, size);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return give(data, &region->device, size);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        return give_number(data, region->kind == DEVICE, size);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: return give_number(data, region->base, size);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return give_number(data, region->size, size);
    case CU_POINTER_ATTRIBUTE_MAPPED: return give_number(data, 1, size);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        return give_number(data, types_of(region), size);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: return give(data, &region->pool, size);
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        return give_number(data, region->block ? region->block->base : region->base, size);
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        return give_number(data, region->block ? region->block->size : region->size, size);
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        return give_number(data, region->physical ? number_of(region->physical) : region->id, size);
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr at)
{
    ENTER(cuPointerGetAttribute);
    if (!data || !attribute_size(attribute)) return CUDA_ERROR_INVALID_VALUE;
    pthread_rwlock_rdlock(&memory);
    struct region *region = find_region(at);
    CUresult result =
        region ? attribute_of(region, attribute, at, data) : CUDA_ERROR_INVALID_VALUE;
    pthread_rwlock_unlock(&memory);
    return result;
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **data,
                                CUdeviceptr at)
{
    ENTER(cuPointerGetAttributes);
    if (!count || !attributes || !data) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned place = 0; place < count; place++)
        if (!data[place] || !attribute_size(attributes[place])) return CUDA_ERROR_INVALID_VALUE;
    pthread_rwlock_rdlock(&memory);
    struct region *region = find_region(at);
    for (unsigned place = 0; place < count; place++) {
        memset(data[place], 0, attribute_size(attributes[place]));
        if (region) attribute_of(region, attributes[place], at, data[place]);
    }
    pthread_rwlock_unlock(&memory);
    return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr at)
{
    ENTER(cuPointerSetAttribute);
    if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) return CUDA_ERROR_INVALID_VALUE;
    pthread_rwlock_wrlock(&memory);
    struct region *region = find_region(at);
    /* Memory of pools and virtual memory do not have it. */
    bool possible = region && (region->kind == DEVICE || region->kind == OPENED);
    if (possible) region->sync_memops = *(const unsigned *)value != 0;
    pthread_rwlock_unlock(&memory);
    if (!region) return CUDA_ERROR_INVALID_VALUE;
    return possible ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr at)
{
    ENTER(cuMemGetAddressRange_v2);
    pthread_rwlock_rdlock(&memory);
    struct region *region = find_region(at);
    if (region && base) *base = region->base;
    if (region && size) *size = region->size;
    pthread_rwlock_unlock(&memory);
    return region ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
