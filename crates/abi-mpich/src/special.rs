//! Functions that return no error code or have no body in the `mpi` crate.

use crate::prelude::*;

export! {
    /// Returns -1 and -1, by which programs recognize that this is not the standard ABI.
    PMPI_Abi_get_version, MPI_Abi_get_version(major: *mut c_int, minor: *mut c_int) {
        // SAFETY: `major` and `minor` are NULL or point to writable variables.
        unsafe {
            put(major, -1);
            put(minor, -1);
        }
        0
    }
}

export! {
    /// Seconds since an arbitrary time in the past (MPI 5.0, 9.6).
    PMPI_Wtime, MPI_Wtime() -> f64 {
        towpath_mpi::environment::wtime()
    }
}

export! {
    /// Resolution of MPI_Wtime in seconds.
    PMPI_Wtick, MPI_Wtick() -> f64 {
        towpath_mpi::environment::wtick()
    }
}

export! {
    /// Sum of an address and a displacement (MPI 5.0, 5.1.5).
    PMPI_Aint_add, MPI_Aint_add(base: i64, displacement: i64) -> i64 {
        base.wrapping_add(displacement)
    }
}

export! {
    /// Difference of two addresses.
    PMPI_Aint_diff, MPI_Aint_diff(first: i64, second: i64) -> i64 {
        first.wrapping_sub(second)
    }
}

export! {
    /// Profiling control, which this library ignores. C passes further arguments, which are not
    /// read.
    PMPI_Pcontrol, MPI_Pcontrol(level: c_int) {
        let _ = level;
        0
    }
}

export! {
    /// True if buffers may be in GPU memory of this kind; always false (MPICH extension).
    PMPIX_GPU_query_support, MPIX_GPU_query_support(kind: c_int, supported: *mut c_int) {
        let _ = kind;
        // SAFETY: `supported` is NULL or points to a writable variable.
        unsafe { put(supported, 0) };
        0
    }
}

export! {
    /// True if buffers may be in CUDA memory; always false (MPICH extension).
    PMPIX_Query_cuda_support, MPIX_Query_cuda_support() {
        0
    }
}

export! {
    /// True if buffers may be in Level Zero memory; always false (MPICH extension).
    PMPIX_Query_ze_support, MPIX_Query_ze_support() {
        0
    }
}

export! {
    /// True if buffers may be in HIP memory; always false (MPICH extension).
    PMPIX_Query_hip_support, MPIX_Query_hip_support() {
        0
    }
}

export! {
    /// The state of an asynchronous operation, of which there are none (MPICH extension).
    PMPIX_Async_get_state, MPIX_Async_get_state(thing: *mut c_void) -> *mut c_void {
        let _ = thing;
        std::ptr::null_mut()
    }
}
