//! Names outside the standard (MPIX_).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::useless_conversion)]

use crate::prelude::*;

export! {
    PMPIX_GPU_query_support, MPIX_GPU_query_support(gpu_type: c_int, is_supported: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(556, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(is_supported, "is_supported")?;
                let outcome = towpath_mpi::extensions::gpu_query_support(gpu_type);
                deliver(
                    outcome,
                    |v_is_supported| {
                        *is_supported = c_int::from(v_is_supported);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPIX_Grequest_class_allocate, MPIX_Grequest_class_allocate(
        greq_class: c_int,
        extra_state: *mut c_void,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(557, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Grequest_class_create, MPIX_Grequest_class_create(
        query_fn: *const c_void,
        free_fn: *const c_void,
        cancel_fn: *const c_void,
        poll_fn: *const c_void,
        wait_fn: *const c_void,
        greq_class: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(558, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Grequest_start, MPIX_Grequest_start(
        query_fn: *const c_void,
        free_fn: *const c_void,
        cancel_fn: *const c_void,
        poll_fn: *const c_void,
        wait_fn: *const c_void,
        extra_state: *mut c_void,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(559, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Type_iov, MPIX_Type_iov(
        datatype: MPI_Datatype,
        iov_offset: i64,
        iov: *mut *mut c_void,
        max_iov_len: i64,
        actual_iov_len: *mut i64,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(586, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Type_iov_len, MPIX_Type_iov_len(
        datatype: MPI_Datatype,
        max_iov_bytes: i64,
        iov_len: *mut i64,
        actual_iov_bytes: *mut i64,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(587, owner, || Err(not_built()))
    }
}
