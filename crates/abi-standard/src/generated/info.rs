//! Info objects (chapter 10).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::unit_arg, clippy::let_unit_value)]

use crate::prelude::*;

export! {
    PMPI_Info_create, MPI_Info_create(info: *mut MPI_Info) {
        call_any_time(311, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Info_create_env, MPI_Info_create_env(argc: c_int, argv: *const *const c_char, info: *mut MPI_Info) {
        call_any_time(312, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Info_delete, MPI_Info_delete(info: MPI_Info, key: *const c_char) {
        call_any_time(313, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Info_dup, MPI_Info_dup(info: MPI_Info, newinfo: *mut MPI_Info) {
        call_any_time(314, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Info_free, MPI_Info_free(info: *mut MPI_Info) {
        call_any_time(315, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Info_get, MPI_Info_get(info: MPI_Info, key: *const c_char, valuelen: c_int, value: *mut c_char, flag: *mut c_int) {
        call_any_time(316, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Info_get_nkeys, MPI_Info_get_nkeys(info: MPI_Info, nkeys: *mut c_int) {
        call_any_time(317, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Info_get_nthkey, MPI_Info_get_nthkey(info: MPI_Info, n: c_int, key: *mut c_char) {
        call_any_time(318, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Info_get_string, MPI_Info_get_string(info: MPI_Info, key: *const c_char, buflen: *mut c_int, value: *mut c_char, flag: *mut c_int) {
        call_any_time(319, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Info_get_valuelen, MPI_Info_get_valuelen(info: MPI_Info, key: *const c_char, valuelen: *mut c_int, flag: *mut c_int) {
        call_any_time(320, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Info_set, MPI_Info_set(info: MPI_Info, key: *const c_char, value: *const c_char) {
        call_any_time(321, Target::None, || Err(not_built()))
    }
}
