//! Fortran conversions (19.3, 20).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::useless_conversion)]

use crate::prelude::*;

export! {
    PMPI_Abi_get_fortran_booleans, MPI_Abi_get_fortran_booleans(logical_size: c_int, logical_true: *mut c_void, logical_false: *mut c_void, is_set: *mut c_int) {
        call_any_time(488, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Abi_get_fortran_info, MPI_Abi_get_fortran_info(info: *mut MPI_Info) {
        call_any_time(489, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Abi_set_fortran_booleans, MPI_Abi_set_fortran_booleans(logical_size: c_int, logical_true: *mut c_void, logical_false: *mut c_void) {
        call_any_time(490, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Abi_set_fortran_info, MPI_Abi_set_fortran_info(info: MPI_Info) {
        call_any_time(491, Target::None, || Err(not_built()))
    }
}
