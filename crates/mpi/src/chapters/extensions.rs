//! Whether buffers may be in the memory of a device: extensions of Open MPI and MPICH.

use towpath_device::{Api, is_supported};
use towpath_neutral::error::{Result, fail};

/// Values of MPICH's MPIX_GPU_SUPPORT_ constants.
const CUDA: i32 = 0;
const LEVEL_ZERO: i32 = 1;
const HIP: i32 = 2;

/// MPIX_GPU_query_support: whether buffers may be in memory of this kind of device.
pub fn gpu_query_support(gpu_type: i32) -> Result<bool> {
    match gpu_type {
        CUDA => Ok(query_cuda_support()),
        HIP => Ok(query_hip_support()),
        LEVEL_ZERO => Ok(false),
        _ => fail!(
            ERR_ARG,
            "argument gpu_type is {gpu_type}; MPIX_GPU_SUPPORT_CUDA ({CUDA}), _ZE ({LEVEL_ZERO}) \
             and _HIP ({HIP}) are known"
        ),
    }
}

/// MPIX_Query_cuda_support: whether buffers may be in CUDA memory.
pub fn query_cuda_support() -> bool {
    is_supported(Api::Cuda)
}

/// MPIX_Query_hip_support: whether buffers may be in HIP memory.
pub fn query_hip_support() -> bool {
    is_supported(Api::Hip)
}
