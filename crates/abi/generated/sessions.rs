//! Sessions (11.3).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::useless_conversion)]

use crate::prelude::*;

export! {
    PMPI_Comm_create_from_group, MPI_Comm_create_from_group(
        group: MPI_Group,
        stringtag: *const c_char,
        info: MPI_Info,
        errhandler: MPI_Errhandler,
        newcomm: *mut MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(334, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Group_from_session_pset, MPI_Group_from_session_pset(
        session: MPI_Session,
        pset_name: *const c_char,
        newgroup: *mut MPI_Group,
    ) {
        let owner = || ErrhandlerOwner::Session(session_in(session));
        call(335, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Intercomm_create_from_groups, MPI_Intercomm_create_from_groups(
        local_group: MPI_Group,
        local_leader: c_int,
        remote_group: MPI_Group,
        remote_leader: c_int,
        stringtag: *const c_char,
        info: MPI_Info,
        errhandler: MPI_Errhandler,
        newintercomm: *mut MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(336, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Session_finalize, MPI_Session_finalize(session: *mut MPI_Session) {
        // SAFETY: NULL or the program's variable.
        let at = unsafe { session_at(session) };
        let owner = || ErrhandlerOwner::Session(at);
        call_any_time(337, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Session_get_info, MPI_Session_get_info(session: MPI_Session, info_used: *mut MPI_Info) {
        let owner = || ErrhandlerOwner::Session(session_in(session));
        call_any_time(338, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Session_get_nth_pset, MPI_Session_get_nth_pset(
        session: MPI_Session,
        info: MPI_Info,
        n: c_int,
        pset_len: *mut c_int,
        pset_name: *mut c_char,
    ) {
        let owner = || ErrhandlerOwner::Session(session_in(session));
        call_any_time(339, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Session_get_num_psets, MPI_Session_get_num_psets(
        session: MPI_Session,
        info: MPI_Info,
        npset_names: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::Session(session_in(session));
        call_any_time(340, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Session_get_pset_info, MPI_Session_get_pset_info(
        session: MPI_Session,
        pset_name: *const c_char,
        info: *mut MPI_Info,
    ) {
        let owner = || ErrhandlerOwner::Session(session_in(session));
        call_any_time(341, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Session_init, MPI_Session_init(
        info: MPI_Info,
        errhandler: MPI_Errhandler,
        session: *mut MPI_Session,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(342, owner, || Err(not_built()))
    }
}
