//! Intercommunicators (7.6).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::useless_conversion)]

use crate::prelude::*;

export! {
    PMPI_Comm_remote_group, MPI_Comm_remote_group(comm: MPI_Comm, group: *mut MPI_Group) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(238, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(group, "group")?;
                let outcome = towpath_mpi::intercommunicators::comm_remote_group(comm_in(comm));
                deliver(
                    outcome,
                    |v_group| {
                        *group = group_out(v_group);
                    },
                    || {
                        *group = group_out(towpath_mpi::constants::GROUP_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Comm_remote_size, MPI_Comm_remote_size(comm: MPI_Comm, size: *mut c_int) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(239, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(size, "size")?;
                let outcome = towpath_mpi::intercommunicators::comm_remote_size(comm_in(comm));
                deliver(
                    outcome,
                    |v_size| {
                        *size = v_size;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Comm_test_inter, MPI_Comm_test_inter(comm: MPI_Comm, flag: *mut c_int) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(240, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(flag, "flag")?;
                let outcome = towpath_mpi::intercommunicators::comm_test_inter(comm_in(comm));
                deliver(
                    outcome,
                    |v_flag| {
                        *flag = c_int::from(v_flag);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Intercomm_create, MPI_Intercomm_create(
        local_comm: MPI_Comm,
        local_leader: c_int,
        peer_comm: MPI_Comm,
        remote_leader: c_int,
        tag: c_int,
        newintercomm: *mut MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(local_comm));
        call(241, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newintercomm, "newintercomm")?;
                let outcome = towpath_mpi::intercommunicators::intercomm_create(
                    comm_in(local_comm),
                    rank_in(local_leader),
                    comm_in(peer_comm),
                    rank_in(remote_leader),
                    tag_in(tag),
                );
                deliver(
                    outcome,
                    |v_newintercomm| {
                        *newintercomm = comm_out(v_newintercomm);
                    },
                    || {
                        *newintercomm = comm_out(towpath_mpi::constants::COMM_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Intercomm_merge, MPI_Intercomm_merge(
        intercomm: MPI_Comm,
        high: c_int,
        newintracomm: *mut MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(intercomm));
        call(242, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newintracomm, "newintracomm")?;
                let outcome =
                    towpath_mpi::intercommunicators::intercomm_merge(comm_in(intercomm), high != 0);
                deliver(
                    outcome,
                    |v_newintracomm| {
                        *newintracomm = comm_out(v_newintracomm);
                    },
                    || {
                        *newintracomm = comm_out(towpath_mpi::constants::COMM_NULL);
                    },
                )
            }
        })
    }
}
