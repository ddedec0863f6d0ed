/*
 * HIP's runtime library and its compiler hiprtc on the stub driver, for libamdhip64.so.6. Names,
 * numbers and types are those of the published headers of ROCm 6. What the library under test asks
 * of HIP is here; the numbers of errors and pointer attributes are CUDA's.
 */
#define _GNU_SOURCE
#include "stub.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

typedef CUresult hipError_t;

enum { COPY_DEFAULT = 4, NOT_SUPPORTED = 801, POINTER_ATTRIBUTE_CONTEXT = 1 };
/* hipDeviceAttribute_t, and the numbers of CUDA. */
static const int attributes[][2] = {{63, 16}, {6, 20}, {85, 41}, {16, 18}};

#define SAME(hip, cuda, parameters, arguments)                                                     \
    EXPORTED hipError_t hip parameters                                                             \
    {                                                                                              \
        return cuda arguments;                                                                     \
    }

SAME(hipInit, cuInit, (unsigned flags), (flags))
SAME(hipDriverGetVersion, cuDriverGetVersion, (int *version), (version))
SAME(hipGetDeviceCount, cuDeviceGetCount, (int *count), (count))
SAME(hipDeviceGet, cuDeviceGet, (CUdevice * device, int number), (device, number))
SAME(hipDeviceGetName, cuDeviceGetName, (char *name, int length, CUdevice device),
     (name, length, device))
SAME(hipDeviceTotalMem, cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device), (bytes, device))
SAME(hipDeviceGetUuid, cuDeviceGetUuid, (CUuuid * uuid, CUdevice device), (uuid, device))
SAME(hipDrvGetErrorName, cuGetErrorName, (hipError_t error, const char **text), (error, text))
SAME(hipDrvGetErrorString, cuGetErrorString, (hipError_t error, const char **text), (error, text))
SAME(hipCtxGetCurrent, cuCtxGetCurrent, (CUcontext * context), (context))
SAME(hipCtxSetCurrent, cuCtxSetCurrent, (CUcontext context), (context))
SAME(hipCtxGetDevice, cuCtxGetDevice, (CUdevice * device), (device))
SAME(hipDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState,
     (CUdevice device, unsigned *flags, int *active), (device, flags, active))
SAME(hipDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device),
     (context, device))
SAME(hipDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (CUdevice device), (device))
SAME(hipPointerSetAttribute, cuPointerSetAttribute,
     (const void *value, CUpointer_attribute attribute, CUdeviceptr at), (value, attribute, at))
SAME(hipMalloc, cuMemAlloc_v2, (CUdeviceptr * at, size_t bytes), (at, bytes))
SAME(hipFree, cuMemFree_v2, (CUdeviceptr at), (at))
SAME(hipHostMalloc, cuMemHostAlloc, (void **at, size_t bytes, unsigned flags), (at, bytes, flags))
SAME(hipHostRegister, cuMemHostRegister_v2, (void *at, size_t bytes, unsigned flags),
     (at, bytes, flags))
SAME(hipHostUnregister, cuMemHostUnregister, (void *at), (at))
SAME(hipHostGetDevicePointer, cuMemHostGetDevicePointer_v2,
     (CUdeviceptr * device, void *host, unsigned flags), (device, host, flags))
SAME(hipStreamCreateWithFlags, cuStreamCreate, (CUstream * stream, unsigned flags), (stream, flags))
SAME(hipStreamSynchronize, cuStreamSynchronize, (CUstream stream), (stream))
SAME(hipStreamQuery, cuStreamQuery, (CUstream stream), (stream))
SAME(hipEventCreateWithFlags, cuEventCreate, (CUevent * event, unsigned flags), (event, flags))
SAME(hipEventRecord, cuEventRecord, (CUevent event, CUstream stream), (event, stream))
SAME(hipEventQuery, cuEventQuery, (CUevent event), (event))
SAME(hipModuleLoadDataEx, cuModuleLoadDataEx,
     (CUmodule * module, const void *image, unsigned count, CUjit_option *options, void **values),
     (module, image, count, options, values))
SAME(hipModuleGetFunction, cuModuleGetFunction,
     (CUfunction * function, CUmodule module, const char *name), (function, module, name))
SAME(hipModuleLaunchKernel, cuLaunchKernel,
     (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
      unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **parameters,
      void **extra),
     (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, parameters,
      extra))
SAME(hipIpcGetMemHandle, cuIpcGetMemHandle, (CUipcMemHandle * handle, CUdeviceptr at), (handle, at))
SAME(hipIpcOpenMemHandle, cuIpcOpenMemHandle_v2,
     (CUdeviceptr * at, CUipcMemHandle handle, unsigned flags), (at, handle, flags))
SAME(hipIpcCloseMemHandle, cuIpcCloseMemHandle, (CUdeviceptr at), (at))
SAME(hipThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode,
     (CUstreamCaptureMode * mode), (mode))

/* What is popped does not become current again in HIP, so nobody should push. */
EXPORTED hipError_t hipCtxPushCurrent(CUcontext context)
{
    (void)context;
    return NOT_SUPPORTED;
}

EXPORTED hipError_t hipCtxPopCurrent(CUcontext *context)
{
    (void)context;
    return NOT_SUPPORTED;
}

EXPORTED hipError_t hipDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (attributes[i][0] == attribute)
            return cuDeviceGetAttribute(value, (CUdevice_attribute)attributes[i][1], device);
    return CUDA_ERROR_INVALID_VALUE;
}

EXPORTED hipError_t hipMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, int kind,
                                   CUstream stream)
{
    if (kind != COPY_DEFAULT) return CUDA_ERROR_INVALID_VALUE;
    return cuMemcpyAsync(to, from, bytes, stream);
}

/* The runtime starts by itself, which fails without a device. What its header calls unsupported is
 * refused. */
EXPORTED hipError_t hipDrvPointerGetAttributes(unsigned count, CUpointer_attribute *wanted,
                                               void **values, CUdeviceptr at)
{
    hipError_t started = cuInit(0);
    if (started) return started;
    for (unsigned i = 0; i < count; i++)
        if (wanted[i] == POINTER_ATTRIBUTE_CONTEXT) return NOT_SUPPORTED;
    return cuPointerGetAttributes(count, wanted, values, at);
}

/* Unlike CUDA's, it needs no context. */
EXPORTED hipError_t hipMemGetAddressRange(CUdeviceptr *start, size_t *size, CUdeviceptr at)
{
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                    CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *values[] = {start, size};
    return cuPointerGetAttributes(2, wanted, values, at);
}

/* A program is its source, and its code the names of the kernels that the stub has instead, in the
 * form that the stub loads. */
struct program {
    char *source, *code;
};

enum { COMPILATION_FAILED = 6, INVALID_PROGRAM = 4 };

extern const struct kernel *const __start_kernels[], *const __stop_kernels[];

static char *code_for(const char *source)
{
    char *code = NULL;
    size_t length = 0;
    FILE *text = open_memstream(&code, &length);
    fputs(".version 7.8\n.target sm_70\n", text);
    for (const struct kernel *const *entry = __start_kernels; entry < __stop_kernels; entry++) {
        bool moves = strncmp((*entry)->name, "towpath_move", strlen("towpath_move")) == 0;
        if (strstr(source, moves ? "towpath_move" : "towpath_reduce"))
            fprintf(text, ".visible .entry %s(\n", (*entry)->name);
    }
    fclose(text);
    return code;
}

EXPORTED int hiprtcCreateProgram(struct program **program, const char *source, const char *name,
                                 int count, const char **headers, const char **names)
{
    (void)name;
    if (count != 1 || strcmp(names[0], "dialect.h") || !strstr(headers[0], "TOWPATH_DIALECT_H"))
        return COMPILATION_FAILED;
    *program = calloc(1, sizeof **program);
    (*program)->source = strdup(source);
    return 0;
}

EXPORTED int hiprtcCompileProgram(struct program *program, int count, const char **options)
{
    for (int i = 0; i < count; i++)
        if (options[i][0] != '-') return COMPILATION_FAILED;
    if (!setting("TOWPATH_STUB_JIT", 1)) return COMPILATION_FAILED;
    program->code = code_for(program->source);
    return 0;
}

EXPORTED int hiprtcGetCodeSize(struct program *program, size_t *size)
{
    if (!program->code) return INVALID_PROGRAM;
    *size = strlen(program->code) + 1;
    return 0;
}

EXPORTED int hiprtcGetCode(struct program *program, char *code)
{
    if (!program->code) return INVALID_PROGRAM;
    memcpy(code, program->code, strlen(program->code) + 1);
    return 0;
}

EXPORTED int hiprtcDestroyProgram(struct program **program)
{
    free((*program)->source);
    free((*program)->code);
    free(*program);
    *program = NULL;
    return 0;
}

EXPORTED const char *hiprtcGetErrorString(int error)
{
    return error == COMPILATION_FAILED ? "HIPRTC_ERROR_COMPILATION" : "HIPRTC_ERROR_OTHER";
}
