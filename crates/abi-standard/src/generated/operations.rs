//! Reduction operations (6.9).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::unit_arg, clippy::let_unit_value)]

use crate::prelude::*;

export! {
    PMPI_Op_commutative, MPI_Op_commutative(op: MPI_Op, commute: *mut c_int) {
        call(205, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Op_create, MPI_Op_create(user_fn: *const c_void, commute: c_int, op: *mut MPI_Op) {
        call_any_time(206, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Op_create_c, MPI_Op_create_c(user_fn: *const c_void, commute: c_int, op: *mut MPI_Op) {
        call_any_time(206, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Op_free, MPI_Op_free(op: *mut MPI_Op) {
        call_any_time(207, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Reduce_local, MPI_Reduce_local(inbuf: *const c_void, inoutbuf: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op) {
        call(208, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Reduce_local_c, MPI_Reduce_local_c(inbuf: *const c_void, inoutbuf: *mut c_void, count: i64, datatype: MPI_Datatype, op: MPI_Op) {
        call(208, Target::None, || Err(not_built()))
    }
}
