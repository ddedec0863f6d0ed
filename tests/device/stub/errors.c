/* Names and sentences of errors. */
#define _GNU_SOURCE
#include "stub.h"

#include <string.h>

static const struct {
    CUresult error;
    const char *name;
} names[] = {
#define CONSTANT(name, value) {value, #name},
#include "constants.h"
#undef CONSTANT
};

static const char *name_of(CUresult error)
{
    for (unsigned place = 0; place < sizeof names / sizeof *names; place++) {
        bool is_error = place == 0 || strncmp(names[place].name, "CUDA_ERROR", 10) == 0;
        if (is_error && names[place].error == error) return names[place].name;
    }
    return NULL;
}

CUresult cuGetErrorName(CUresult error, const char **text)
{
    ENTER(cuGetErrorName);
    if (!text) return CUDA_ERROR_INVALID_VALUE;
    *text = name_of(error);
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
    ENTER(cuGetErrorString);
    if (!text) return CUDA_ERROR_INVALID_VALUE;
    switch (error) {
    case CUDA_SUCCESS: *text = "no error"; break;
    case CUDA_ERROR_INVALID_VALUE: *text = "invalid argument"; break;
    case CUDA_ERROR_OUT_OF_MEMORY: *text = "out of memory"; break;
    case CUDA_ERROR_NOT_INITIALIZED: *text = "initialization error"; break;
    case CUDA_ERROR_DEINITIALIZED: *text = "driver shutting down"; break;
    case CUDA_ERROR_NO_DEVICE: *text = "no CUDA-capable device is detected"; break;
    case CUDA_ERROR_INVALID_CONTEXT: *text = "invalid device context"; break;
    case CUDA_ERROR_ILLEGAL_ADDRESS: *text = "an illegal memory access was encountered"; break;
    case CUDA_ERROR_LAUNCH_FAILED: *text = "unspecified launch failure"; break;
    case CUDA_ERROR_NOT_SUPPORTED: *text = "operation not supported"; break;
    default: *text = name_of(error);
    }
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
