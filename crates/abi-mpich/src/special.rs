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
    /// True if buffers may be in Level Zero memory; always false (MPICH extension).
    PMPIX_Query_ze_support, MPIX_Query_ze_support() {
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
