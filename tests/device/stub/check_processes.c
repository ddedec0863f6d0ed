/* Checks with two processes and of devices: IPC, visible devices, exit. */
#define _GNU_SOURCE
#include "checks.h"

static void ipc(void)
{
    int side = two_processes();
    start();
    CUdeviceptr address, second, again;
    CUipcMemHandle handle;
    char token = 0;
    if (side == 0) {
        WORKS(cuMemAlloc_v2(&address, 1000));
        WORKS(cuMemAlloc_v2(&address, 1000));
        fill(address, 5, 1000);
        WORKS(cuIpcGetMemHandle(&handle, address + 10));
        GIVES(CUDA_ERROR_INVALID_CONTEXT, cuIpcOpenMemHandle_v2(&second, handle, 1));
        put(&handle, sizeof handle);
        get(&token, 1);
        MUST(byte_at(address + 999) == 6);
        WORKS(cuMemFree_v2(address));
        put(&token, 1);
        get(&token, 1);
        put(&handle, sizeof handle);
    } else {
        get(&handle, sizeof handle);
        WORKS(cuIpcOpenMemHandle_v2(&address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
        MUST(!readable((void *)address));
        MUST(byte_at(address) == 5);
        fill(address + 999, 6, 1);
        WORKS(cuIpcOpenMemHandle_v2(&again, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
        MUST(again == address);
        WORKS(cuIpcCloseMemHandle(address));
        put(&token, 1);
        get(&token, 1);
        /* The owner has freed it. */
        MUST(byte_at(address) == 5 && byte_at(address + 999) == 6);
        WORKS(cuIpcCloseMemHandle(address));
        GIVES(CUDA_ERROR_INVALID_VALUE, cuIpcCloseMemHandle(address));
        put(&token, 1);
        get(&handle, sizeof handle);
    }
    both_end(side);
}

static void ipc_of_freed_memory(void)
{
    int side = two_processes();
    start();
    CUdeviceptr address;
    CUipcMemHandle handle;
    if (side == 0) {
        WORKS(cuMemAlloc_v2(&address, 4 << 20));
        WORKS(cuIpcGetMemHandle(&handle, address));
        WORKS(cuMemFree_v2(address));
        WORKS(cuMemAlloc_v2(&address, 4 << 20));
        put(&handle, sizeof handle);
    } else {
        get(&handle, sizeof handle);
        GIVES(CUDA_ERROR_INVALID_VALUE, cuIpcOpenMemHandle_v2(&address, handle, 1));
    }
    both_end(side);
}

static void ipc_refused(void)
{
    start();
    CUdeviceptr address;
    CUipcMemHandle handle;
    WORKS(cuMemAlloc_v2(&address, 100));
    GIVES(CUDA_ERROR_NOT_SUPPORTED, cuIpcGetMemHandle(&handle, address));
}

static void ipc_without_peer_access(void)
{
    int side = two_processes();
    CUcontext context = start();
    CUdeviceptr address;
    CUipcMemHandle handle;
    if (side == 0) {
        WORKS(cuMemAlloc_v2(&address, 100));
        WORKS(cuIpcGetMemHandle(&handle, address));
        put(&handle, sizeof handle);
    } else {
        int can = 1;
        WORKS(cuDeviceCanAccessPeer(&can, 0, 1));
        MUST(can == 0);
        get(&handle, sizeof handle);
        WORKS(cuDevicePrimaryCtxRetain(&context, 1));
        WORKS(cuCtxSetCurrent(context));
        GIVES(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, cuIpcOpenMemHandle_v2(&address, handle, 1));
    }
    both_end(side);
}

/* With CUDA_VISIBLE_DEVICES=2,0. */
static void visible_devices(void)
{
    start();
    int count = 0;
    CUuuid first, second;
    char bus[32];
    WORKS(cuDeviceGetCount(&count));
    MUST(count == 2);
    WORKS(cuDeviceGetUuid_v2(&first, 0));
    WORKS(cuDeviceGetUuid(&second, 1));
    MUST(first.bytes[15] == 2 && second.bytes[15] == 0);
    WORKS(cuDeviceGetPCIBusId(bus, sizeof bus, 0));
    MUST(strcmp(bus, "0000:03:00.0") == 0);
    GIVES(CUDA_ERROR_INVALID_DEVICE, cuDeviceTotalMem_v2(&(size_t){0}, 2));
}

static void exclusive(void)
{
    int side = two_processes();
    CUcontext context;
    char token = 0;
    WORKS(cuInit(0));
    if (side == 0) {
        WORKS(cuDevicePrimaryCtxRetain(&context, 0));
        put(&token, 1);
        get(&token, 1);
        WORKS(cuDevicePrimaryCtxRelease_v2(0));
        put(&token, 1);
        get(&token, 1);
    } else {
        get(&token, 1);
        GIVES(CUDA_ERROR_DEVICE_UNAVAILABLE, cuDevicePrimaryCtxRetain(&context, 0));
        put(&token, 1);
        get(&token, 1);
        WORKS(cuDevicePrimaryCtxRetain(&context, 0));
        put(&token, 1);
    }
    both_end(side);
}

static void no_driver_in_a_fork(void)
{
    start();
    if (two_processes()) {
        int count;
        GIVES(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
        GIVES(CUDA_ERROR_NOT_INITIALIZED, cuInit(0));
        _exit(0);
    }
    both_end(0);
}

__attribute__((destructor)) static void after_the_end(void)
{
    int count;
    CUresult result = cuDeviceGetCount(&count);
    if (result != CUDA_ERROR_DEINITIALIZED && result != CUDA_ERROR_NOT_INITIALIZED) _exit(3);
    /* The runner expects this line of the check of that name. */
    if (result == CUDA_ERROR_DEINITIALIZED) printf("the driver has ended\n");
    fflush(stdout);
}

static void no_driver_at_exit(void)
{
    CUdeviceptr address;
    start();
    WORKS(cuMemAlloc_v2(&address, 8));
}

const struct check process_checks[] = {
    {"ipc", ipc},
    {"ipc_of_freed_memory", ipc_of_freed_memory},
    {"ipc_refused", ipc_refused},
    {"ipc_without_peer_access", ipc_without_peer_access},
    {"visible_devices", visible_devices},
    {"exclusive", exclusive},
    {"no_driver_in_a_fork", no_driver_in_a_fork},
    {"no_driver_at_exit", no_driver_at_exit},
    {NULL, NULL},
};
