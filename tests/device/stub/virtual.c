/*
 * Virtual memory: addresses and physical memory apart. The physical memory is a file, which is also
 * what another process imports; it can be exported only if it was created so. Legacy IPC refuses
 * it.
 */
#define _GNU_SOURCE
#include "stub.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAGIC = 0x56697231 };

/* Guarded by `memory`. Handles and mappings hold it. */
struct physical {
    unsigned magic, references;
    int file;
    uint64_t size, number;
    CUmemAllocationProp properties;
};

int handle_types(const struct physical *physical)
{
    return physical->properties.requestedHandleTypes;
}

uint64_t number_of(const struct physical *physical) { return physical->number; }

static struct physical *find(CUmemGenericAllocationHandle handle)
{
    struct physical *physical = (struct physical *)(uintptr_t)handle;
    return physical && physical->magic == MAGIC ? physical : NULL;
}

static void drop(struct physical *physical)
{
    if (--physical->references) return;
    close(physical->file);
    /* The structure stays, so that a later use of the handle is found. */
    physical->magic = 0;
}

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *properties,
                                       CUmemAllocationGranularity_flags option)
{
    ENTER(cuMemGetAllocationGranularity);
    (void)option;
    if (!granularity || !properties) return CUDA_ERROR_INVALID_VALUE;
    *granularity = BLOCK;
    return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr *address, size_t size, size_t alignment,
                             CUdeviceptr wanted, unsigned long long flags)
{
    ENTER(cuMemAddressReserve);
    /* A wanted address is a hint only. */
    (void)wanted;
    if (!address || !size || size % BLOCK || alignment > BLOCK || flags)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_rwlock_wrlock(&memory);
    *address = take_addresses(size);
    pthread_rwlock_unlock(&memory);
    return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t size)
{
    ENTER(cuMemAddressFree);
    if (!device_address(address) || !size || (address | size) % BLOCK)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_rwlock_wrlock(&memory);
    struct region *next = next_region(address);
    bool unmapped = !next || next->base >= address + size;
    if (unmapped) give_addresses(address, size);
    pthread_rwlock_unlock(&memory);
    return unmapped ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult create(CUmemGenericAllocationHandle *handle, int file, uint64_t size,
                       const CUmemAllocationProp *properties)
{
    struct physical *physical = file < 0 ? NULL : malloc(sizeof *physical);
    if (!physical) return CUDA_ERROR_OUT_OF_MEMORY;
    static atomic_ulong numbers;
    *physical = (struct physical){MAGIC, 1, file, size, ++numbers, *properties};
    *handle = (uint64_t)physical;
    return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                     const CUmemAllocationProp *properties, unsigned long long flags)
{
    ENTER(cuMemCreate);
    if (!handle || !properties || !size || size % BLOCK || flags
        || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED
        || properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    if (!valid_device(properties->location.id)) return CUDA_ERROR_INVALID_DEVICE;
    return create(handle, new_file(properties->location.id, size), size, properties);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    ENTER(cuMemRelease);
    pthread_rwlock_wrlock(&memory);
    struct physical *physical = find(handle);
    if (physical) drop(physical);
    pthread_rwlock_unlock(&memory);
    return physical ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    ENTER(cuMemMap);
    if (!device_address(address) || (address | size | offset) % BLOCK || !size || flags)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    pthread_rwlock_wrlock(&memory);
    struct physical *physical = find(handle);
    struct region *next = next_region(address);
    bool possible = physical && offset + size <= physical->size
                    && (!next || next->base >= address + size)
                    && map_shadow(address, size, physical->file, offset);
    struct region *region = possible ? add_region(VIRTUAL, address, size, NULL) : NULL;
    if (region) {
        region->device = physical->properties.location.id;
        region->physical = physical;
        /* Until access is granted. */
        region->ready = false;
        physical->references++;
        result = CUDA_SUCCESS;
    }
    pthread_rwlock_unlock(&memory);
    return result;
}

/* The virtual memory that is mapped exactly there. */
static struct region *mapped(CUdeviceptr address, size_t size)
{
    struct region *region = find_region(address);
    bool same = region && region->kind == VIRTUAL && region->base == address
                && region->size == size;
    return same ? region : NULL;
}

CUresult cuMemUnmap(CUdeviceptr address, size_t size)
{
    ENTER(cuMemUnmap);
    pthread_rwlock_wrlock(&memory);
    struct region *region = mapped(address, size);
    if (region) {
        drop(region->physical);
        unmap_shadow(address, size);
        remove_region(region);
    }
    pthread_rwlock_unlock(&memory);
    return region ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc *access,
                        size_t count)
{
    ENTER(cuMemSetAccess);
    if (!access || !count) return CUDA_ERROR_INVALID_VALUE;
    pthread_rwlock_wrlock(&memory);
    struct region *region = mapped(address, size);
    CUresult result = region ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    for (size_t place = 0; region && place < count; place++)
        if (!valid_device(access[place].location.id)
            || !peers(shared_number(region->device), shared_number(access[place].location.id)))
            result = CUDA_ERROR_INVALID_DEVICE;
    for (size_t place = 0; !result && place < count; place++) {
        uint64_t bit = 1ull << access[place].location.id;
        region->accessible = access[place].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                 ? region->accessible | bit
                                 : region->accessible & ~bit;
    }
    if (!result) region->ready = region->accessible != 0;
    pthread_rwlock_unlock(&memory);
    return result;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address)
{
    ENTER(cuMemRetainAllocationHandle);
    if (!handle) return CUDA_ERROR_INVALID_VALUE;
    pthread_rwlock_wrlock(&memory);
    struct region *region = find_region((uint64_t)address);
    bool found = region && region->kind == VIRTUAL;
    if (found) {
        region->physical->references++;
        *handle = (uint64_t)region->physical;
    }
    pthread_rwlock_unlock(&memory);
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemExportToShareableHandle(void *shareable, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags)
{
    ENTER(cuMemExportToShareableHandle);
    if (!shareable || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_INVALID_VALUE;
    int file = -1;
    pthread_rwlock_rdlock(&memory);
    struct physical *physical = find(handle);
    if (physical && handle_types(physical) & type)
        file = fcntl(physical->file, F_DUPFD_CLOEXEC, 0);
    pthread_rwlock_unlock(&memory);
    if (file >= 0) *(int *)shareable = file;
    return file >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *shareable,
                                        CUmemAllocationHandleType type)
{
    ENTER(cuMemImportFromShareableHandle);
    struct stat description;
    int file = (int)(intptr_t)shareable;
    if (!handle || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || fstat(file, &description))
        return CUDA_ERROR_INVALID_VALUE;
    CUmemAllocationProp properties = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = type,
        .location = {CU_MEM_LOCATION_TYPE_DEVICE, device_of_file(file)},
    };
    if (!valid_device(properties.location.id)) return CUDA_ERROR_INVALID_DEVICE;
    file = fcntl(file, F_DUPFD_CLOEXEC, 0);
    return create(handle, file, (uint64_t)description.st_size, &properties);
}
