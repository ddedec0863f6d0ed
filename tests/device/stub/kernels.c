/*
 * Modules and launches. A module is PTX text; of that only the names of its entries are used,
 * and a kernel is the C function of that name. Its threads run one after the other, in random
 * order. TOWPATH_STUB_JIT=0 refuses all modules, as a driver that is older than the PTX.
 */
#define _GNU_SOURCE
#include "stub.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODULE = 0x4d6f6431, FUNCTION = 0x46756e31, MOST_THREADS = 1024, RANGES = 16, WINDOWS = 4 };

struct CUfunc_st {
    unsigned magic;
    const struct kernel *kernel;
    CUmodule module;
    CUfunction next;
};
struct CUmod_st {
    unsigned magic;
    CUcontext context;
    CUfunction functions;
};

/* The number that follows a word of the text: "7.8" as 78, "sm_70" as 70; 0 if there is none. */
static int number_after(const char *text, const char *word, const char *digits)
{
    const char *place = strstr(text, word);
    if (!place) return 0;
    place += strlen(word);
    place += strspn(place, digits);
    char *end;
    int number = (int)strtol(place, &end, 10);
    return *end == '.' ? 10 * number + (int)strtol(end + 1, NULL, 10) : number;
}

/* Adds the functions that the text defines and the stub has. */
static bool add_functions(CUmodule module, const char *text)
{
    for (const char *place = text; (place = strstr(place, ".entry"));) {
        char name[128];
        place += strlen(".entry");
        if (sscanf(place, " %127[A-Za-z0-9_$]", name) != 1) return false;
        const struct kernel *kernel = find_kernel(name);
        CUfunction function = kernel ? malloc(sizeof *function) : NULL;
        if (!function) continue;
        *function = (struct CUfunc_st){FUNCTION, kernel, module, module->functions};
        module->functions = function;
    }
    return true;
}

static CUresult load(CUmodule *module, const void *image)
{
    if (!module || !image) return CUDA_ERROR_INVALID_VALUE;
    if (!setting("TOWPATH_STUB_JIT", 1)) return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    const char *text = image;
    if (strncmp(text, "\177ELF", 4) == 0) return CUDA_ERROR_NO_BINARY_FOR_GPU;
    int version = number_after(text, ".version", " \t");
    int target = number_after(text, ".target", " \tsm_");
    if (!version || !target) return CUDA_ERROR_INVALID_PTX;
    if (version > (int)setting("TOWPATH_STUB_PTX", 90)) return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    if (target > (int)setting("TOWPATH_STUB_CAPABILITY", 90)) return CUDA_ERROR_NO_BINARY_FOR_GPU;
    CUmodule loaded = calloc(1, sizeof *loaded);
    if (!loaded) return CUDA_ERROR_OUT_OF_MEMORY;
    loaded->magic = MODULE;
    loaded->context = current_context();
    if (!add_functions(loaded, text)) return CUDA_ERROR_INVALID_PTX;
    *module = loaded;
    return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    ENTER(cuModuleLoadData);
    return load(module, image);
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count,
                            CUjit_option *options, void **values)
{
    ENTER(cuModuleLoadDataEx);
    if (count && (!options || !values)) return CUDA_ERROR_INVALID_VALUE;
    return load(module, image);
}

CUresult cuModuleUnload(CUmodule module)
{
    ENTER(cuModuleUnload);
    if (!module || module->magic != MODULE) return CUDA_ERROR_INVALID_HANDLE;
    /* The structures stay, so that a later use is found. */
    module->magic = 0;
    for (CUfunction function = module->functions; function; function = function->next)
        function->magic = 0;
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    ENTER(cuModuleGetFunction);
    if (!function || !name) return CUDA_ERROR_INVALID_VALUE;
    if (!module || module->magic != MODULE) return CUDA_ERROR_INVALID_HANDLE;
    CUfunction found = module->functions;
    while (found && strcmp(found->kernel->name, name)) found = found->next;
    if (!found) return CUDA_ERROR_NOT_FOUND;
    *function = found;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    ENTER(cuFuncGetAttribute);
    if (!function || function->magic != FUNCTION) return CUDA_ERROR_INVALID_HANDLE;
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? MOST_THREADS
             : attribute == CU_FUNC_ATTRIBUTE_NUM_REGS            ? 32
                                                                  : 0;
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads,
                                                     size_t shared)
{
    ENTER(cuOccupancyMaxActiveBlocksPerMultiprocessor);
    (void)shared;
    if (!function || function->magic != FUNCTION) return CUDA_ERROR_INVALID_HANDLE;
    if (!blocks || threads < 1 || threads > MOST_THREADS) return CUDA_ERROR_INVALID_VALUE;
    *blocks = 2 * MOST_THREADS / threads;
    return CUDA_SUCCESS;
}

struct launch {
    const struct kernel *kernel;
    uint32_t threads;
    _Alignas(16) char parameters[];
};

/* Where a kernel that touches what it may not ends. */
static _Thread_local sigjmp_buf ending;
static _Thread_local CUcontext running;
static _Thread_local CUresult fault;

static _Noreturn void end_kernel(CUresult error)
{
    fault = error;
    siglongjmp(ending, 1);
}

/* The regions that the kernel touched last, and where they are seen: words are mostly in one that
 * was touched before. */
static _Thread_local struct window {
    uint64_t base, size;
    char *place;
} windows[WINDOWS];
static _Thread_local unsigned next_window;

void *towpath_stub_view(uint64_t address, size_t size)
{
    if (address % size) end_kernel(CUDA_ERROR_MISALIGNED_ADDRESS);
    for (unsigned place = 0; place < WINDOWS; place++) {
        const struct window *window = &windows[place];
        uint64_t offset = address - window->base;
        if (offset < window->size && size <= window->size - offset) return window->place + offset;
    }
    void *found = view(running, address, size, false);
    if (!found) end_kernel(CUDA_ERROR_ILLEGAL_ADDRESS);
    const struct region *region = find_region(address);
    char *place = (char *)found - (address - region->base);
    windows[next_window++ % WINDOWS] = (struct window){region->base, region->size, place};
    return found;
}

/* Runs all threads: ranges of them in random order, each range forwards or backwards. */
static void run_threads(const struct launch *launch)
{
    uint32_t order[RANGES];
    for (uint32_t place = 0; place < RANGES; place++) {
        uint32_t other = random_below(place + 1);
        order[place] = order[other];
        order[other] = place;
    }
    for (uint32_t place = 0; place < RANGES; place++) {
        uint32_t first = (uint32_t)((uint64_t)launch->threads * order[place] / RANGES);
        uint32_t end = (uint32_t)((uint64_t)launch->threads * (order[place] + 1) / RANGES);
        bool backwards = random_below(2);
        for (uint32_t n = 0; n < end - first; n++)
            launch->kernel->run(launch->parameters, backwards ? end - 1 - n : first + n,
                                launch->threads);
    }
}

static CUresult run(CUcontext context, void *data)
{
    struct launch *launch = data;
    running = context;
    fault = CUDA_SUCCESS;
    pthread_rwlock_rdlock(&memory);
    memset(windows, 0, sizeof windows);
    if (sigsetjmp(ending, 0) == 0) run_threads(launch);
    pthread_rwlock_unlock(&memory);
    if (!fault) count_bytes(BY_KERNEL, bytes_of(launch->kernel, launch->parameters));
    return fault;
}

/* Copies the parameters from either form in which a program may give them. */
static bool copy_parameters(struct launch *launch, void **parameters, void **extra)
{
    size_t size = launch->kernel->size;
    const void *from = parameters ? parameters[0] : NULL;
    for (; !parameters && extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) from = extra[1];
        if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE && *(size_t *)extra[1] != size) return false;
    }
    if (from) memcpy(launch->parameters, from, size);
    return from;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        CUstream handle, void **parameters, void **extra)
{
    ENTER(cuLaunchKernel);
    CUstream stream;
    CUresult result = find_stream(handle, &stream);
    if (result) return result;
    if (!function || function->magic != FUNCTION || function->module->context != stream->context)
        return CUDA_ERROR_INVALID_HANDLE;
    uint64_t threads = (uint64_t)grid_x * block_x;
    /* The kernels of the library have one dimension. */
    if (!threads || threads > UINT32_MAX || block_x > MOST_THREADS || grid_y != 1 || grid_z != 1
        || block_y != 1 || block_z != 1 || shared)
        return CUDA_ERROR_INVALID_VALUE;
    size_t rounded = (function->kernel->size + 15) / 16 * 16;
    struct launch *launch = aligned_alloc(16, sizeof *launch + rounded);
    if (!launch) return CUDA_ERROR_OUT_OF_MEMORY;
    launch->kernel = function->kernel;
    launch->threads = (uint32_t)threads;
    if (!copy_parameters(launch, parameters, extra)) {
        free(launch);
        return CUDA_ERROR_INVALID_VALUE;
    }
    return submit(stream, new_work(run, free, launch));
}
