//! Partitioned communication (chapter 4).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::useless_conversion)]

use crate::prelude::*;

export! {
    PMPI_Parrived, MPI_Parrived(request: MPI_Request, partition: c_int, flag: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call(88, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Pready, MPI_Pready(partition: c_int, request: MPI_Request) {
        let owner = || ErrhandlerOwner::None;
        call(89, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Pready_list, MPI_Pready_list(
        length: c_int,
        array_of_partitions: *const c_int,
        request: MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(90, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Pready_range, MPI_Pready_range(
        partition_low: c_int,
        partition_high: c_int,
        request: MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(91, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Precv_init, MPI_Precv_init(
        buf: *mut c_void,
        partitions: c_int,
        count: c_int,
        datatype: MPI_Datatype,
        source: c_int,
        tag: c_int,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(92, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Psend_init, MPI_Psend_init(
        buf: *const c_void,
        partitions: c_int,
        count: c_int,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(93, owner, || Err(not_built()))
    }
}
