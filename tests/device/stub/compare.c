/* Compares the stub's declarations with the published header: it only has to compile. */
#include <cuda.h>

#define PUBLISHED
#include "driver.h"

#define CONSTANT(name, value) _Static_assert((int)name == value, #name);
#include "constants.h"

#define OFFSET(type, member, value)                                                                \
    _Static_assert(offsetof(type, member) == value, #type "." #member)
_Static_assert(sizeof(CUipcMemHandle) == 64, "CUipcMemHandle");
_Static_assert(sizeof(CUuuid) == 16, "CUuuid");
_Static_assert(sizeof(CUmemPoolProps) == 88, "CUmemPoolProps");
OFFSET(CUmemPoolProps, handleTypes, 4);
OFFSET(CUmemPoolProps, location, 8);
_Static_assert(sizeof(CUmemPoolPtrExportData) == 64, "CUmemPoolPtrExportData");
_Static_assert(sizeof(CUmemAccessDesc) == 12, "CUmemAccessDesc");
_Static_assert(sizeof(CUmemAllocationProp) == 32, "CUmemAllocationProp");
OFFSET(CUmemAllocationProp, requestedHandleTypes, 4);
OFFSET(CUmemAllocationProp, location, 8);
_Static_assert(sizeof(CUDA_MEMCPY2D) == 128, "CUDA_MEMCPY2D");
OFFSET(CUDA_MEMCPY2D, srcHost, 24);
OFFSET(CUDA_MEMCPY2D, srcPitch, 48);
OFFSET(CUDA_MEMCPY2D, dstXInBytes, 56);
OFFSET(CUDA_MEMCPY2D, dstPitch, 104);
OFFSET(CUDA_MEMCPY2D, Height, 120);
