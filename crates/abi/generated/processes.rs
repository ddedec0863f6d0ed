//! Creating and connecting processes (11.8 to 11.10).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::useless_conversion)]

use crate::prelude::*;

export! {
    PMPI_Close_port, MPI_Close_port(port_name: *const c_char) {
        let owner = || ErrhandlerOwner::None;
        call(322, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Comm_accept, MPI_Comm_accept(
        port_name: *const c_char,
        info: MPI_Info,
        root: c_int,
        comm: MPI_Comm,
        newcomm: *mut MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(323, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Comm_connect, MPI_Comm_connect(
        port_name: *const c_char,
        info: MPI_Info,
        root: c_int,
        comm: MPI_Comm,
        newcomm: *mut MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(324, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Comm_disconnect, MPI_Comm_disconnect(comm: *mut MPI_Comm) {
        // SAFETY: NULL or the program's variable.
        let at = unsafe { comm_at(comm) };
        let owner = || ErrhandlerOwner::Comm(at);
        call(325, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(comm, "comm")?;
                let mut v_comm = comm_in(*comm);
                let outcome = towpath_mpi::processes::comm_disconnect(&mut v_comm);
                *comm = comm_out(v_comm);
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Comm_get_parent, MPI_Comm_get_parent(parent: *mut MPI_Comm) {
        let owner = || ErrhandlerOwner::None;
        call(326, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(parent, "parent")?;
                let outcome = towpath_mpi::processes::comm_get_parent();
                deliver(
                    outcome,
                    |v_parent| {
                        *parent = comm_out(v_parent);
                    },
                    || {
                        *parent = comm_out(towpath_mpi::constants::COMM_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Comm_join, MPI_Comm_join(fd: c_int, intercomm: *mut MPI_Comm) {
        let owner = || ErrhandlerOwner::None;
        call(327, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Comm_spawn, MPI_Comm_spawn(
        command: *const c_char,
        argv: *const *const c_char,
        maxprocs: c_int,
        info: MPI_Info,
        root: c_int,
        comm: MPI_Comm,
        intercomm: *mut MPI_Comm,
        array_of_errcodes: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(328, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Comm_spawn_multiple, MPI_Comm_spawn_multiple(
        count: c_int,
        array_of_commands: *const *const c_char,
        array_of_argv: *const *const *const c_char,
        array_of_maxprocs: *const c_int,
        array_of_info: *const MPI_Info,
        root: c_int,
        comm: MPI_Comm,
        intercomm: *mut MPI_Comm,
        array_of_errcodes: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(329, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Lookup_name, MPI_Lookup_name(
        service_name: *const c_char,
        info: MPI_Info,
        port_name: *mut c_char,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(330, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Open_port, MPI_Open_port(info: MPI_Info, port_name: *mut c_char) {
        let owner = || ErrhandlerOwner::None;
        call(331, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Publish_name, MPI_Publish_name(
        service_name: *const c_char,
        info: MPI_Info,
        port_name: *const c_char,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(332, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Unpublish_name, MPI_Unpublish_name(
        service_name: *const c_char,
        info: MPI_Info,
        port_name: *const c_char,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(333, owner, || Err(not_built()))
    }
}
