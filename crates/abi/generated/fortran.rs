//! Fortran conversions (19.3, 20).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::useless_conversion)]

use crate::prelude::*;

export! {
    PMPI_Abi_get_fortran_booleans, MPI_Abi_get_fortran_booleans(
        logical_size: c_int,
        logical_true: *mut c_void,
        logical_false: *mut c_void,
        is_set: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(488, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(is_set, "is_set")?;
                let outcome = towpath_mpi::fortran::abi_get_fortran_booleans(
                    logical_size,
                    buffer_in(logical_true).cast_mut(),
                    buffer_in(logical_false).cast_mut(),
                );
                deliver(
                    outcome,
                    |v_is_set| {
                        *is_set = c_int::from(v_is_set);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Abi_get_fortran_info, MPI_Abi_get_fortran_info(info: *mut MPI_Info) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(489, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(info, "info")?;
                let outcome = towpath_mpi::fortran::abi_get_fortran_info();
                deliver(
                    outcome,
                    |v_info| {
                        *info = info_out(v_info);
                    },
                    || {
                        *info = info_out(towpath_mpi::constants::INFO_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Abi_set_fortran_booleans, MPI_Abi_set_fortran_booleans(
        logical_size: c_int,
        logical_true: *mut c_void,
        logical_false: *mut c_void,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(490, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::fortran::abi_set_fortran_booleans(
                    logical_size,
                    buffer_in(logical_true).cast_mut(),
                    buffer_in(logical_false).cast_mut(),
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Abi_set_fortran_info, MPI_Abi_set_fortran_info(info: MPI_Info) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(491, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::fortran::abi_set_fortran_info(info_in(info))?;
                Ok(())
            }
        })
    }
}
