/* Checks of modules, launches and injected errors. */
#define _GNU_SOURCE
#include "checks.h"

#include "../../../crates/device/kernels/move.cu"

enum { WORDS = 1000, SIZE = 8, GRID = 3, BLOCK = 64 };

static Layout contiguous(CUdeviceptr base)
{
    /* With as many words as the message has, the quotient is always 0. */
    return (Layout){.base = base, .word = SIZE, .block = {WORDS, 1, 31, 0}};
}

static CUfunction load(const char *name)
{
    CUmodule module;
    CUfunction function;
    WORKS(cuModuleLoadDataEx(&module, ptx(name), 0, NULL, NULL));
    GIVES(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&function, module, "towpath_nothing"));
    WORKS(cuModuleGetFunction(&function, module, name));
    return function;
}

static CUresult launch(CUfunction function, Move *move)
{
    void *parameters[] = {move};
    return cuLaunchKernel(function, GRID, 1, 1, BLOCK, 1, 1, 0, NULL, parameters, NULL);
}

static void set_up(CUdeviceptr *from, CUdeviceptr *to, Move *move)
{
    start();
    WORKS(cuMemAlloc_v2(from, WORDS * SIZE));
    WORKS(cuMemAlloc_v2(to, WORDS * SIZE));
    *move = (Move){contiguous(*from), contiguous(*to), 0, WORDS, {0}};
}

static void kernels(void)
{
    CUdeviceptr from, to;
    Move move;
    uint64_t numbers[WORDS], back[WORDS] = {0};
    set_up(&from, &to, &move);
    for (int n = 0; n < WORDS; n++) numbers[n] = (uint64_t)n * 77;
    WORKS(cuMemcpyHtoD_v2(from, numbers, sizeof numbers));
    CUfunction function = load("towpath_move_8");
    int blocks, threads;
    WORKS(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 256, 0));
    WORKS(cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
    MUST(blocks == 8 && threads == 1024);
    WORKS(launch(function, &move));
    /* The parameters are copied by the call. */
    memset(&move, 0, sizeof move);
    WORKS(cuMemcpyDtoH_v2(back, to, sizeof back));
    MUST(memcmp(numbers, back, sizeof back) == 0);
    MUST(!towpath_stub_bytes || towpath_stub_bytes(4) == WORDS * SIZE);
    MUST(!towpath_stub_bytes || towpath_stub_bytes(0) == WORDS * SIZE);
}

static void kernel_faults(void)
{
    CUdeviceptr from, to;
    Move move;
    set_up(&from, &to, &move);
    CUfunction function = load("towpath_move_8");
    WORKS(cuMemFree_v2(to));
    WORKS(launch(function, &move));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, launch(function, &move));
}

static void kernel_misaligned(void)
{
    CUdeviceptr from, to;
    Move move;
    set_up(&from, &to, &move);
    CUfunction function = load("towpath_move_8");
    move.from.base += 4;
    WORKS(launch(function, &move));
    GIVES(CUDA_ERROR_MISALIGNED_ADDRESS, cuCtxSynchronize());
}

static void kernel_and_host_memory(void)
{
    CUdeviceptr from, to;
    Move move;
    set_up(&from, &to, &move);
    CUfunction function = load("towpath_move_8");
    uint64_t *pinned, pageable[WORDS];
    WORKS(cuMemHostAlloc((void **)&pinned, sizeof pageable, 0));
    memset(pinned, 9, sizeof pageable);
    move.from.base = (CUdeviceptr)pinned;
    WORKS(launch(function, &move));
    WORKS(cuMemcpyDtoH_v2(pageable, to, sizeof pageable));
    MUST(memcmp(pageable, pinned, sizeof pageable) == 0);
    move.from.base = (CUdeviceptr)pageable;
    WORKS(launch(function, &move));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
}

/* With two devices: memory of the other one only once access is enabled. */
static void peer_access(void)
{
    CUdeviceptr from, to;
    Move move;
    CUcontext first, second;
    CUdeviceptr other;
    set_up(&from, &to, &move);
    CUfunction function = load("towpath_move_8");
    WORKS(cuCtxGetCurrent(&first));
    WORKS(cuDevicePrimaryCtxRetain(&second, 1));
    WORKS(cuCtxPushCurrent_v2(second));
    WORKS(cuMemAlloc_v2(&other, WORDS * SIZE));
    GIVES(CUDA_ERROR_INVALID_HANDLE, launch(function, &move));
    WORKS(cuCtxPopCurrent_v2(&second));
    move.from.base = other;
    WORKS(cuCtxEnablePeerAccess(second, 0));
    GIVES(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(second, 0));
    WORKS(launch(function, &move));
    WORKS(cuCtxSynchronize());
    WORKS(cuCtxSetCurrent(second));
    WORKS(cuMemcpyDtoD_v2(to, other, SIZE));
    function = load("towpath_move_8");
    WORKS(launch(function, &move));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
}

static void jit_refuses(void)
{
    CUmodule module;
    start();
    GIVES(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, cuModuleLoadData(&module, ptx("towpath_move_1")));
}

static void bad_modules(void)
{
    CUmodule module;
    start();
    GIVES(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&module, "nothing"));
    GIVES(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
          cuModuleLoadData(&module, ".version 9.9\n.target sm_70\n"));
    GIVES(CUDA_ERROR_NO_BINARY_FOR_GPU,
          cuModuleLoadData(&module, ".version 7.8\n.target sm_100\n"));
}

/* With TOWPATH_STUB_FAIL=cuLaunchKernel:3,cuMemAlloc:2:2. */
static void injected_errors(void)
{
    CUdeviceptr from, to;
    Move move;
    start();
    WORKS(cuMemAlloc_v2(&from, WORDS * SIZE));
    GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&to, WORDS * SIZE));
    WORKS(cuMemAlloc_v2(&to, WORDS * SIZE));
    move = (Move){contiguous(from), contiguous(to), 0, WORDS, {0}};
    CUfunction function = load("towpath_move_8");
    WORKS(launch(function, &move));
    WORKS(launch(function, &move));
    GIVES(CUDA_ERROR_LAUNCH_FAILED, launch(function, &move));
    GIVES(CUDA_ERROR_LAUNCH_FAILED, cuCtxSynchronize());
}

/* With TOWPATH_STUB_FAIL=cuMemsetD8Async:2+:719:later. */
static void injected_later(void)
{
    CUdeviceptr to;
    start();
    WORKS(cuMemAlloc_v2(&to, 64));
    WORKS(cuMemsetD8Async(to, 1, 64, NULL));
    WORKS(cuCtxSynchronize());
    WORKS(cuMemsetD8Async(to, 1, 64, NULL));
    GIVES(CUDA_ERROR_LAUNCH_FAILED, cuCtxSynchronize());
}

const struct check kernel_checks[] = {
    {"kernels", kernels},
    {"kernel_faults", kernel_faults},
    {"kernel_misaligned", kernel_misaligned},
    {"kernel_and_host_memory", kernel_and_host_memory},
    {"peer_access", peer_access},
    {"jit_refuses", jit_refuses},
    {"bad_modules", bad_modules},
    {"injected_errors", injected_errors},
    {"injected_later", injected_later},
    {NULL, NULL},
};
