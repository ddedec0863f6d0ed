//! Communicators (7.4).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::unit_arg, clippy::let_unit_value)]

use crate::prelude::*;

export! {
    PMPI_Comm_compare, MPI_Comm_compare(comm1: MPI_Comm, comm2: MPI_Comm, result: *mut c_int) {
        call(221, Target::Comm(comm_in(comm1)), || Err(not_built()))
    }
}

export! {
    PMPI_Comm_create, MPI_Comm_create(comm: MPI_Comm, group: MPI_Group, newcomm: *mut MPI_Comm) {
        call(222, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Comm_create_group, MPI_Comm_create_group(comm: MPI_Comm, group: MPI_Group, tag: c_int, newcomm: *mut MPI_Comm) {
        call(223, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Comm_dup, MPI_Comm_dup(comm: MPI_Comm, newcomm: *mut MPI_Comm) {
        call(224, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Comm_dup_with_info, MPI_Comm_dup_with_info(comm: MPI_Comm, info: MPI_Info, newcomm: *mut MPI_Comm) {
        call(225, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Comm_free, MPI_Comm_free(comm: *mut MPI_Comm) {
        call(226, Target::Comm(unsafe { comm_at(comm) }), || Err(not_built()))
    }
}

export! {
    PMPI_Comm_get_info, MPI_Comm_get_info(comm: MPI_Comm, info_used: *mut MPI_Info) {
        call(227, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Comm_get_name, MPI_Comm_get_name(comm: MPI_Comm, comm_name: *mut c_char, resultlen: *mut c_int) {
        call(228, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Comm_group, MPI_Comm_group(comm: MPI_Comm, group: *mut MPI_Group) {
        call(229, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Comm_idup, MPI_Comm_idup(comm: MPI_Comm, newcomm: *mut MPI_Comm, request: *mut MPI_Request) {
        call(230, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Comm_idup_with_info, MPI_Comm_idup_with_info(comm: MPI_Comm, info: MPI_Info, newcomm: *mut MPI_Comm, request: *mut MPI_Request) {
        call(231, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Comm_rank, MPI_Comm_rank(comm: MPI_Comm, rank: *mut c_int) {
        call(232, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Comm_set_info, MPI_Comm_set_info(comm: MPI_Comm, info: MPI_Info) {
        call(233, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Comm_set_name, MPI_Comm_set_name(comm: MPI_Comm, comm_name: *const c_char) {
        call(234, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Comm_size, MPI_Comm_size(comm: MPI_Comm, size: *mut c_int) {
        call(235, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Comm_split, MPI_Comm_split(comm: MPI_Comm, color: c_int, key: c_int, newcomm: *mut MPI_Comm) {
        call(236, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Comm_split_type, MPI_Comm_split_type(comm: MPI_Comm, split_type: c_int, key: c_int, info: MPI_Info, newcomm: *mut MPI_Comm) {
        call(237, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}
