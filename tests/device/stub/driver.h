/*
 * The part of the CUDA driver interface that the stub offers, in declarations of our own.
 *
 * `compare.c` includes the published header first and defines PUBLISHED, so that the compiler
 * compares both: types are left out then, and each function is declared a second time.
 */
#ifndef STUB_DRIVER_H
#define STUB_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#ifndef PUBLISHED
#define CONSTANT(name, value) name = value,
enum {
#include "constants.h"
};
#undef CONSTANT
#define CUDAAPI
#define CU_LAUNCH_PARAM_END ((void *)0)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)1)
#define CU_LAUNCH_PARAM_BUFFER_SIZE ((void *)2)
#define CU_STREAM_LEGACY ((CUstream)1)
#define CU_STREAM_PER_THREAD ((CUstream)2)

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef int CUpointer_attribute, CUdevice_attribute, CUfunction_attribute, CUjit_option;
typedef int CUstreamCaptureMode, CUstreamCaptureStatus, CUdriverProcAddressQueryResult;
typedef int CUmemAllocationHandleType, CUmemAllocationGranularity_flags;
typedef unsigned long long CUmemGenericAllocationHandle;
typedef uint32_t cuuint32_t;
typedef uint64_t cuuint64_t;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUgraph_st *CUgraph;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef void (*CUhostFn)(void *);
typedef struct {
    char bytes[16];
} CUuuid;
typedef struct {
    char reserved[64];
} CUipcMemHandle;
typedef struct {
    int type, id;
} CUmemLocation;
typedef struct {
    CUmemLocation location;
    int flags;
} CUmemAccessDesc;
typedef struct {
    int type, requestedHandleTypes;
    CUmemLocation location;
    void *win32HandleMetaData;
    unsigned char allocFlags[8];
} CUmemAllocationProp;
typedef struct {
    unsigned char reserved[64];
} CUmemPoolPtrExportData;
/* In version 12.0 the pool's reserved part got further members; nothing of it is used here. */
typedef struct {
    int allocType, handleTypes;
    CUmemLocation location;
    void *win32SecurityAttributes;
    unsigned char reserved[64];
} CUmemPoolProps;
typedef struct {
    size_t srcXInBytes, srcY;
    int srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    void *srcArray;
    size_t srcPitch;
    size_t dstXInBytes, dstY;
    int dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    void *dstArray;
    size_t dstPitch;
    size_t WidthInBytes, Height;
} CUDA_MEMCPY2D;
#endif

#pragma GCC visibility push(default)
#define CALL(name, needs, parameters) CUresult CUDAAPI name parameters;
#include "calls.h"
#undef CALL
#pragma GCC visibility pop

#endif
