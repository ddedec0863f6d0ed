//! Environment, start and end (MPI 5.0, chapters 9 and 11).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::unit_arg, clippy::let_unit_value)]

use crate::prelude::*;

export! {
    PMPI_Abi_get_info, MPI_Abi_get_info(info: *mut MPI_Info) {
        call_any_time(1, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Abort, MPI_Abort(comm: MPI_Comm, errorcode: c_int) {
        call(3, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Alloc_mem, MPI_Alloc_mem(size: i64, info: MPI_Info, baseptr: *mut c_void) {
        call(4, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Finalize, MPI_Finalize() {
        call(5, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Finalized, MPI_Finalized(flag: *mut c_int) {
        call_any_time(6, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Free_mem, MPI_Free_mem(base: *mut c_void) {
        call(7, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Get_hw_resource_info, MPI_Get_hw_resource_info(hw_info: *mut MPI_Info) {
        call_any_time(8, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Get_library_version, MPI_Get_library_version(version: *mut c_char, resultlen: *mut c_int) {
        call_any_time(9, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Get_processor_name, MPI_Get_processor_name(name: *mut c_char, resultlen: *mut c_int) {
        call(10, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Get_version, MPI_Get_version(version: *mut c_int, subversion: *mut c_int) {
        call_any_time(11, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Init, MPI_Init(argc: *mut c_int, argv: *mut *mut *mut c_char) {
        call_any_time(12, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Init_thread, MPI_Init_thread(argc: *mut c_int, argv: *mut *mut *mut c_char, required: c_int, provided: *mut c_int) {
        call_any_time(13, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Initialized, MPI_Initialized(flag: *mut c_int) {
        call_any_time(14, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Is_thread_main, MPI_Is_thread_main(flag: *mut c_int) {
        call(15, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Query_thread, MPI_Query_thread(provided: *mut c_int) {
        call(17, Target::None, || Err(not_built()))
    }
}
