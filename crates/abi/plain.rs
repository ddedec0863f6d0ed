//! Functions without a body in `mpi` that are the same in both ABIs.

use crate::prelude::*;

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
    /// True if buffers may be in CUDA memory (extension of Open MPI and MPICH).
    PMPIX_Query_cuda_support, MPIX_Query_cuda_support() {
        c_int::from(towpath_mpi::extensions::query_cuda_support())
    }
}

export! {
    /// True if buffers may be in HIP memory (extension of MPICH).
    PMPIX_Query_hip_support, MPIX_Query_hip_support() {
        c_int::from(towpath_mpi::extensions::query_hip_support())
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
