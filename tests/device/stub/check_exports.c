/* Checks of virtual memory, and of pools and virtual memory that another process imports. */
#define _GNU_SOURCE
#include "checks.h"

enum { SIZE = 2 << 20, FILE_TYPE = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR };

/* Maps physical memory at new addresses, with access. */
static CUdeviceptr map(CUmemGenericAllocationHandle handle)
{
    CUdeviceptr address;
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                              CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    WORKS(cuMemAddressReserve(&address, SIZE, 0, 0, 0));
    WORKS(cuMemMap(address, SIZE, 0, handle, 0));
    WORKS(cuMemSetAccess(address, SIZE, &access, 1));
    return address;
}

static CUmemGenericAllocationHandle create(int types)
{
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .requestedHandleTypes = types,
                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    size_t granularity;
    WORKS(cuMemGetAllocationGranularity(&granularity, &properties,
                                        CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    MUST(granularity == SIZE);
    WORKS(cuMemCreate(&handle, SIZE, &properties, 0));
    return handle;
}

static void virtual_memory(void)
{
    CUcontext context = start();
    CUmemGenericAllocationHandle handle = create(CU_MEM_HANDLE_TYPE_NONE), again;
    uint64_t size = 0, base = 0, number = 0, other = 1;
    CUdeviceptr address = map(handle), second = map(handle);
    unsigned type = 0, capable = 1;
    int file;
    CUipcMemHandle ipc;
    fill(address, 3, SIZE);
    MUST(byte_at(second + SIZE - 1) == 3 && !readable((void *)address));
    WORKS(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address + 5));
    WORKS(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, address + 5));
    WORKS(cuPointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                                address + 5));
    MUST(type == CU_MEMORYTYPE_DEVICE && !context && !capable);
    WORKS(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, address + 5));
    WORKS(cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, address + 5));
    WORKS(cuPointerGetAttribute(&number, CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, address));
    WORKS(cuPointerGetAttribute(&other, CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, second));
    MUST(size == SIZE && base == address && number == other);
    GIVES(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(&ipc, address));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemExportToShareableHandle(&file, handle, FILE_TYPE, 0));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(address));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(address, SIZE));
    WORKS(cuMemRetainAllocationHandle(&again, (void *)(second + 1)));
    MUST(again == handle);
    WORKS(cuMemRelease(handle));
    WORKS(cuMemRelease(handle));
    WORKS(cuMemUnmap(address, SIZE));
    WORKS(cuMemAddressFree(address, SIZE));
    MUST(byte_at(second) == 3);
    WORKS(cuMemUnmap(second, SIZE));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemRelease(handle));
    GIVES(CUDA_ERROR_INVALID_VALUE,
          cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, second));
}

static void virtual_memory_without_access(void)
{
    start();
    CUdeviceptr address;
    WORKS(cuMemAddressReserve(&address, SIZE, 0, 0, 0));
    WORKS(cuMemMap(address, SIZE, 0, create(CU_MEM_HANDLE_TYPE_NONE), 0));
    WORKS(cuMemsetD8_v2(address, 1, 1));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
}

static void virtual_memory_of_another_process(void)
{
    int side = two_processes(), file;
    char token = 0;
    start();
    CUmemGenericAllocationHandle handle;
    if (side == 0) {
        handle = create(FILE_TYPE);
        CUdeviceptr address = map(handle);
        fill(address, 4, SIZE);
        WORKS(cuMemExportToShareableHandle(&file, handle, FILE_TYPE, 0));
        put_file(file);
        get(&token, 1);
        MUST(byte_at(address + 7) == 5);
    } else {
        file = get_file();
        WORKS(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)file, FILE_TYPE));
        close(file);
        CUdeviceptr address = map(handle);
        MUST(byte_at(address + 7) == 4);
        fill(address + 7, 5, 1);
        put(&token, 1);
    }
    both_end(side);
}

static void pool_of_another_process(void)
{
    int side = two_processes(), file;
    char token = 0;
    start();
    CUmemoryPool pool;
    CUdeviceptr address;
    CUmemPoolPtrExportData data;
    if (side == 0) {
        CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                     .handleTypes = FILE_TYPE,
                                     .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
        WORKS(cuMemPoolCreate(&pool, &properties));
        WORKS(cuMemAllocFromPoolAsync(&address, 1000, pool, NULL));
        WORKS(cuMemAllocFromPoolAsync(&address, 1000, pool, NULL));
        fill(address, 6, 1000);
        WORKS(cuMemPoolExportToShareableHandle(&file, pool, FILE_TYPE, 0));
        WORKS(cuMemPoolExportPointer(&data, address));
        put_file(file);
        put(&data, sizeof data);
        get(&token, 1);
        MUST(byte_at(address + 999) == 7);
    } else {
        file = get_file();
        get(&data, sizeof data);
        WORKS(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)file, FILE_TYPE, 0));
        WORKS(cuMemPoolImportPointer(&address, pool, &data));
        GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAllocFromPoolAsync(&(CUdeviceptr){0}, 8, pool, NULL));
        MUST(byte_at(address + 999) == 6);
        fill(address + 999, 7, 1);
        put(&token, 1);
        WORKS(cuMemFree_v2(address));
    }
    both_end(side);
}

const struct check export_checks[] = {
    {"virtual_memory", virtual_memory},
    {"virtual_memory_without_access", virtual_memory_without_access},
    {"virtual_memory_of_another_process", virtual_memory_of_another_process},
    {"pool_of_another_process", pool_of_another_process},
    {NULL, NULL},
};
