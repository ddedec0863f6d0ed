/* Checks of memory and of what pointers are. */
#define _GNU_SOURCE
#include "checks.h"

static unsigned long long id_of(CUdeviceptr address)
{
    unsigned long long id = 0;
    WORKS(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, address));
    return id;
}

static unsigned number(CUpointer_attribute attribute, CUdeviceptr address)
{
    unsigned value = 99;
    WORKS(cuPointerGetAttribute(&value, attribute, address));
    return value;
}

static void order_of_calls(void)
{
    CUdeviceptr address;
    CUcontext context;
    int ordinal = 0;
    GIVES(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc_v2(&address, 8));
    GIVES(CUDA_ERROR_NOT_INITIALIZED, cuPointerGetAttribute(&ordinal, 9, 0x1000));
    GIVES(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&ordinal));
    WORKS(cuInit(0));
    GIVES(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc_v2(&address, 8));
    GIVES(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
    WORKS(cuCtxGetCurrent(&context));
    MUST(!context);
    GIVES(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&ordinal, 9, (CUdeviceptr)&ordinal));
    start();
    WORKS(cuMemAlloc_v2(&address, 8));
    MUST(!towpath_stub_calls || towpath_stub_calls("cuMemAlloc_v2") == 3);
    MUST(!towpath_stub_calls || towpath_stub_calls("cuMemAlloc") == 3);
}

static void device_memory_faults(void)
{
    start();
    CUdeviceptr address;
    WORKS(cuMemAlloc_v2(&address, 3 << 20));
    MUST(!readable((void *)address));
    MUST(!readable((void *)(address + (3 << 20) - 1)));
    char bytes[64], back[64];
    for (int n = 0; n < 64; n++) bytes[n] = (char)n;
    WORKS(cuMemcpyHtoD_v2(address + 12345, bytes, 64));
    WORKS(cuMemcpyDtoH_v2(back, address + 12345, 64));
    MUST(memcmp(bytes, back, 64) == 0);
    WORKS(cuMemFree_v2(address));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(address));
    MUST(!readable((void *)address));
}

static void addresses_are_used_again(void)
{
    start();
    CUdeviceptr first, second, large, again;
    WORKS(cuMemAlloc_v2(&first, 1000));
    WORKS(cuMemAlloc_v2(&second, 1000));
    MUST(first % 512 == 0 && second == first + 1024);
    WORKS(cuMemAlloc_v2(&large, 5 << 20));
    unsigned long long before = id_of(first);
    WORKS(cuMemFree_v2(first));
    WORKS(cuMemAlloc_v2(&again, 500));
    MUST(again == first && id_of(again) > before);
    CUdeviceptr base;
    size_t size;
    WORKS(cuMemGetAddressRange_v2(&base, &size, again + 499));
    MUST(base == again && size == 500);
    GIVES(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange_v2(&base, &size, again + 500));
    before = id_of(large);
    WORKS(cuMemFree_v2(large));
    WORKS(cuMemAlloc_v2(&again, 5 << 20));
    MUST(again == large && id_of(again) > before);
}

static void memory_is_limited(void)
{
    start();
    CUdeviceptr first, second;
    size_t total;
    WORKS(cuDeviceTotalMem_v2(&total, 0));
    MUST(total == 8 << 20);
    WORKS(cuMemAlloc_v2(&first, 6 << 20));
    GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&second, 3 << 20));
    WORKS(cuMemFree_v2(first));
    WORKS(cuMemAlloc_v2(&second, 3 << 20));
}

static void attributes(void)
{
    CUcontext context = start(), found;
    CUdeviceptr address, managed;
    void *host;
    WORKS(cuMemAlloc_v2(&address, 100));
    WORKS(cuMemAllocManaged(&managed, 100, CU_MEM_ATTACH_GLOBAL));
    WORKS(cuMemHostAlloc(&host, 100, 0));
    MUST(number(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address + 99) == CU_MEMORYTYPE_DEVICE);
    MUST(number(CU_POINTER_ATTRIBUTE_IS_MANAGED, address) == 0);
    MUST(number(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) == 0);
    MUST(number(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, address) == 1);
    WORKS(cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_CONTEXT, address));
    MUST(found == context);
    MUST(number(CU_POINTER_ATTRIBUTE_IS_MANAGED, managed) == 1);
    MUST(number(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)host) == CU_MEMORYTYPE_HOST);
    *(char *)managed = 1;
    *(char *)host = 1;
    CUdeviceptr device;
    WORKS(cuMemHostGetDevicePointer_v2(&device, host, 0));
    MUST(device == (CUdeviceptr)host);
    GIVES(CUDA_ERROR_INVALID_VALUE,
          cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_HOST_POINTER, address));
    unsigned one = 1;
    MUST(number(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address) == 0);
    WORKS(cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address));
    MUST(number(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address) == 1);
    WORKS(cuMemFreeHost(host));
    GIVES(CUDA_ERROR_INVALID_VALUE,
          cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_CONTEXT, (CUdeviceptr)host));
}

static void several_attributes(void)
{
    CUcontext context = start(), found = context;
    CUdeviceptr address;
    WORKS(cuMemAlloc_v2(&address, 100));
    unsigned type = 7;
    unsigned long long id = 7;
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                   CU_POINTER_ATTRIBUTE_CONTEXT};
    void *data[] = {&type, &id, &found};
    WORKS(cuPointerGetAttributes(3, names, data, (CUdeviceptr)&id));
    MUST(type == 0 && id == 0 && !found);
    WORKS(cuPointerGetAttributes(3, names, data, address + 50));
    MUST(type == CU_MEMORYTYPE_DEVICE && id && found == context);
    WORKS(cuMemFree_v2(address));
    WORKS(cuPointerGetAttributes(3, names, data, address + 50));
    MUST(type == 0 && id == 0 && !found);
}

static void registered_memory(void)
{
    start();
    char *host = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    WORKS(cuMemHostRegister_v2(host, 8192, 0));
    GIVES(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2(host + 4096, 4096, 0));
    MUST(number(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)host + 5) == CU_MEMORYTYPE_HOST);
    WORKS(cuMemHostUnregister(host));
    GIVES(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(host));
}

static void pools(void)
{
    start();
    CUstream stream;
    CUdeviceptr address;
    CUmemoryPool pool;
    CUipcMemHandle handle;
    int file;
    WORKS(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    WORKS(cuMemAllocAsync(&address, 4096, stream));
    MUST(number(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, address) == 0);
    GIVES(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(&handle, address));
    unsigned one = 1;
    GIVES(CUDA_ERROR_NOT_SUPPORTED,
          cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address));
    WORKS(cuMemsetD8Async(address, 7, 4096, stream));
    WORKS(cuMemFreeAsync(address, stream));
    WORKS(cuStreamSynchronize(stream));
    GIVES(CUDA_ERROR_INVALID_VALUE,
          cuPointerGetAttribute(&one, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    WORKS(cuMemPoolCreate(&pool, &properties));
    WORKS(cuMemAllocFromPoolAsync(&address, 4096, pool, stream));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemPoolExportToShareableHandle(
                                        &file, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    WORKS(cuMemPoolDestroy(pool));
}

static void context_stack(void)
{
    CUcontext first = start(), second, found;
    CUdeviceptr address;
    WORKS(cuCtxCreate_v2(&second, 0, 0));
    WORKS(cuMemAlloc_v2(&address, 10));
    WORKS(cuCtxPopCurrent_v2(&found));
    MUST(found == second);
    WORKS(cuCtxGetCurrent(&found));
    MUST(found == first);
    WORKS(cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_CONTEXT, address));
    MUST(found == second);
    WORKS(cuCtxPushCurrent_v2(second));
    WORKS(cuCtxDestroy_v2(second));
    GIVES(CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent_v2(second));
    GIVES(CUDA_ERROR_INVALID_VALUE,
          cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_CONTEXT, address));
    unsigned flags;
    int active = 0;
    WORKS(cuDevicePrimaryCtxGetState(0, &flags, &active));
    MUST(active == 1);
    WORKS(cuDevicePrimaryCtxRelease_v2(0));
    WORKS(cuDevicePrimaryCtxGetState(0, &flags, &active));
    MUST(active == 0);
    GIVES(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc_v2(&address, 10));
}

static void functions_by_name(void)
{
    CUdriverProcAddressQueryResult status;
    CUresult (*allocate)(CUdeviceptr *, size_t);
    CUdeviceptr address;
    start();
    WORKS(cuGetProcAddress_v2("cuMemAlloc", (void **)&allocate, 12000, 0, &status));
    WORKS(allocate(&address, 8));
    GIVES(CUDA_ERROR_NOT_FOUND, cuGetProcAddress_v2("cuNothing", (void **)&allocate, 12000, 0,
                                                    &status));
    MUST(status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

const struct check memory_checks[] = {
    {"order_of_calls", order_of_calls},
    {"device_memory_faults", device_memory_faults},
    {"addresses_are_used_again", addresses_are_used_again},
    {"memory_is_limited", memory_is_limited},
    {"attributes", attributes},
    {"several_attributes", several_attributes},
    {"registered_memory", registered_memory},
    {"pools", pools},
    {"context_stack", context_stack},
    {"functions_by_name", functions_by_name},
    {NULL, NULL},
};
