//! Statuses (3.2.5, 13.3).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::unit_arg, clippy::let_unit_value)]

use crate::prelude::*;

export! {
    PMPI_Get_count, MPI_Get_count(status: *const MPI_Status, datatype: MPI_Datatype, count: *mut c_int) {
        call(75, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Get_count_c, MPI_Get_count_c(status: *const MPI_Status, datatype: MPI_Datatype, count: *mut i64) {
        call(75, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Get_elements, MPI_Get_elements(status: *const MPI_Status, datatype: MPI_Datatype, count: *mut c_int) {
        call(76, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Get_elements_c, MPI_Get_elements_c(status: *const MPI_Status, datatype: MPI_Datatype, count: *mut i64) {
        call(76, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Status_get_error, MPI_Status_get_error(status: *const MPI_Status, error: *mut c_int) {
        call_any_time(77, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Status_get_source, MPI_Status_get_source(status: *const MPI_Status, source: *mut c_int) {
        call_any_time(78, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Status_get_tag, MPI_Status_get_tag(status: *const MPI_Status, tag: *mut c_int) {
        call_any_time(79, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Status_set_cancelled, MPI_Status_set_cancelled(status: *mut MPI_Status, flag: c_int) {
        call_any_time(80, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Status_set_elements, MPI_Status_set_elements(status: *mut MPI_Status, datatype: MPI_Datatype, count: c_int) {
        call_any_time(81, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Status_set_elements_c, MPI_Status_set_elements_c(status: *mut MPI_Status, datatype: MPI_Datatype, count: i64) {
        call_any_time(81, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Status_set_error, MPI_Status_set_error(status: *mut MPI_Status, error: c_int) {
        call_any_time(82, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Status_set_source, MPI_Status_set_source(status: *mut MPI_Status, source: c_int) {
        call_any_time(83, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Status_set_tag, MPI_Status_set_tag(status: *mut MPI_Status, tag: c_int) {
        call_any_time(84, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Test_cancelled, MPI_Test_cancelled(status: *const MPI_Status, flag: *mut c_int) {
        call(85, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Get_elements_x, MPI_Get_elements_x(status: *const MPI_Status, datatype: MPI_Datatype, count: *mut i64) {
        call(86, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Status_set_elements_x, MPI_Status_set_elements_x(status: *mut MPI_Status, datatype: MPI_Datatype, count: i64) {
        call_any_time(87, Target::None, || Err(not_built()))
    }
}
