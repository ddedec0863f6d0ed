/* Which memory Towpath takes as buffers: the names that Open MPI and MPICH offer for it. */
#ifndef TOWPATH_MPI_EXT_H
#define TOWPATH_MPI_EXT_H

#include <mpi.h>

/* What this library can do, whatever the machine has. */
#define MPIX_CUDA_AWARE_SUPPORT 1
#define MPIX_ROCM_AWARE_SUPPORT 1

#ifndef MPIX_GPU_SUPPORT_CUDA
#define MPIX_GPU_SUPPORT_CUDA 0
#define MPIX_GPU_SUPPORT_ZE 1
#define MPIX_GPU_SUPPORT_HIP 2
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* 1 if buffers may be in such memory in this process, else 0. May be called at any time. */
int MPIX_Query_cuda_support(void);
int MPIX_Query_hip_support(void);

/* The same for a kind of device, MPIX_GPU_SUPPORT_*. Returns an error code. */
int MPIX_GPU_query_support(int gpu_type, int *is_supported);

#ifdef __cplusplus
}
#endif

#endif
