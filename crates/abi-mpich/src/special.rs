//! The functions that return no error code or have no body in the core.

use crate::prelude::*;

export! {
    /// This is not the standard ABI: the answer is -1, -1, by which programs tell the two apart.
    PMPI_Abi_get_version, MPI_Abi_get_version(major: *mut c_int, minor: *mut c_int) {
        // SAFETY: the program gives two variables or NULL.
        unsafe {
            put(major, -1);
            put(minor, -1);
        }
        0
    }
}

export! {
    /// Seconds since a moment in the past (MPI 5.0, 9.6).
    PMPI_Wtime, MPI_Wtime() -> f64 {
        towpath_mpi::environment::wtime()
    }
}

export! {
    /// Seconds between two ticks of MPI_Wtime.
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
    /// A call for tools, which this library ignores. C passes further arguments, which nothing
    /// reads.
    PMPI_Pcontrol, MPI_Pcontrol(level: c_int) {
        let _ = level;
        0
    }
}

export! {
    /// Whether GPU memory of a kind may be passed: no (MPICH extension).
    PMPIX_GPU_query_support, MPIX_GPU_query_support(kind: c_int, supported: *mut c_int) {
        let _ = kind;
        // SAFETY: the program gives a variable or NULL.
        unsafe { put(supported, 0) };
        0
    }
}

export! {
    /// Whether CUDA memory may be passed: no (MPICH extension).
    PMPIX_Query_cuda_support, MPIX_Query_cuda_support() {
        0
    }
}

export! {
    /// Whether Level Zero memory may be passed: no (MPICH extension).
    PMPIX_Query_ze_support, MPIX_Query_ze_support() {
        0
    }
}

export! {
    /// Whether HIP memory may be passed: no (MPICH extension).
    PMPIX_Query_hip_support, MPIX_Query_hip_support() {
        0
    }
}

export! {
    /// The state of an asynchronous thing, of which there is none (MPICH extension).
    PMPIX_Async_get_state, MPIX_Async_get_state(thing: *mut c_void) -> *mut c_void {
        let _ = thing;
        std::ptr::null_mut()
    }
}
