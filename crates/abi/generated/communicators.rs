//! Communicators (7.4).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::useless_conversion)]

use crate::prelude::*;

export! {
    PMPI_Comm_compare, MPI_Comm_compare(comm1: MPI_Comm, comm2: MPI_Comm, result: *mut c_int) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm1));
        call(221, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(result, "result")?;
                let outcome =
                    towpath_mpi::communicators::comm_compare(comm_in(comm1), comm_in(comm2));
                deliver(
                    outcome,
                    |v_result| {
                        *result = comparison_out(v_result);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Comm_create, MPI_Comm_create(comm: MPI_Comm, group: MPI_Group, newcomm: *mut MPI_Comm) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(222, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newcomm, "newcomm")?;
                let outcome =
                    towpath_mpi::communicators::comm_create(comm_in(comm), group_in(group));
                deliver(
                    outcome,
                    |v_newcomm| {
                        *newcomm = comm_out(v_newcomm);
                    },
                    || {
                        *newcomm = comm_out(towpath_mpi::constants::COMM_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Comm_create_group, MPI_Comm_create_group(
        comm: MPI_Comm,
        group: MPI_Group,
        tag: c_int,
        newcomm: *mut MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(223, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newcomm, "newcomm")?;
                let outcome = towpath_mpi::communicators::comm_create_group(
                    comm_in(comm),
                    group_in(group),
                    tag_in(tag),
                );
                deliver(
                    outcome,
                    |v_newcomm| {
                        *newcomm = comm_out(v_newcomm);
                    },
                    || {
                        *newcomm = comm_out(towpath_mpi::constants::COMM_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Comm_dup, MPI_Comm_dup(comm: MPI_Comm, newcomm: *mut MPI_Comm) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(224, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newcomm, "newcomm")?;
                let outcome = towpath_mpi::communicators::comm_dup(comm_in(comm));
                deliver(
                    outcome,
                    |v_newcomm| {
                        *newcomm = comm_out(v_newcomm);
                    },
                    || {
                        *newcomm = comm_out(towpath_mpi::constants::COMM_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Comm_dup_with_info, MPI_Comm_dup_with_info(
        comm: MPI_Comm,
        info: MPI_Info,
        newcomm: *mut MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(225, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newcomm, "newcomm")?;
                let outcome =
                    towpath_mpi::communicators::comm_dup_with_info(comm_in(comm), info_in(info));
                deliver(
                    outcome,
                    |v_newcomm| {
                        *newcomm = comm_out(v_newcomm);
                    },
                    || {
                        *newcomm = comm_out(towpath_mpi::constants::COMM_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Comm_free, MPI_Comm_free(comm: *mut MPI_Comm) {
        // SAFETY: NULL or the program's variable.
        let at = unsafe { comm_at(comm) };
        let owner = || ErrhandlerOwner::Comm(at);
        call(226, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(comm, "comm")?;
                let mut v_comm = comm_in(*comm);
                let outcome = towpath_mpi::communicators::comm_free(&mut v_comm);
                *comm = comm_out(v_comm);
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Comm_get_info, MPI_Comm_get_info(comm: MPI_Comm, info_used: *mut MPI_Info) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(227, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(info_used, "info_used")?;
                let outcome = towpath_mpi::communicators::comm_get_info(comm_in(comm));
                deliver(
                    outcome,
                    |v_info_used| {
                        *info_used = info_out(v_info_used);
                    },
                    || {
                        *info_used = info_out(towpath_mpi::constants::INFO_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Comm_get_name, MPI_Comm_get_name(
        comm: MPI_Comm,
        comm_name: *mut c_char,
        resultlen: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(228, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(comm_name, "comm_name")?;
                require(resultlen, "resultlen")?;
                let outcome = towpath_mpi::communicators::comm_get_name(comm_in(comm));
                deliver(
                    outcome,
                    |v_comm_name| {
                        *resultlen = put_string(comm_name, limits::MAX_OBJECT_NAME, &v_comm_name);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Comm_group, MPI_Comm_group(comm: MPI_Comm, group: *mut MPI_Group) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(229, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(group, "group")?;
                let outcome = towpath_mpi::communicators::comm_group(comm_in(comm));
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
    PMPI_Comm_idup, MPI_Comm_idup(
        comm: MPI_Comm,
        newcomm: *mut MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(230, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newcomm, "newcomm")?;
                require(request, "request")?;
                let outcome = towpath_mpi::communicators::comm_idup(comm_in(comm));
                deliver(
                    outcome,
                    |(v_newcomm, v_request)| {
                        *newcomm = comm_out(v_newcomm);
                        *request = request_out(v_request);
                    },
                    || {
                        *newcomm = comm_out(towpath_mpi::constants::COMM_NULL);
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Comm_idup_with_info, MPI_Comm_idup_with_info(
        comm: MPI_Comm,
        info: MPI_Info,
        newcomm: *mut MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(231, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newcomm, "newcomm")?;
                require(request, "request")?;
                let outcome =
                    towpath_mpi::communicators::comm_idup_with_info(comm_in(comm), info_in(info));
                deliver(
                    outcome,
                    |(v_newcomm, v_request)| {
                        *newcomm = comm_out(v_newcomm);
                        *request = request_out(v_request);
                    },
                    || {
                        *newcomm = comm_out(towpath_mpi::constants::COMM_NULL);
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Comm_rank, MPI_Comm_rank(comm: MPI_Comm, rank: *mut c_int) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(232, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(rank, "rank")?;
                let outcome = towpath_mpi::communicators::comm_rank(comm_in(comm));
                deliver(
                    outcome,
                    |v_rank| {
                        *rank = rank_out(v_rank);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Comm_set_info, MPI_Comm_set_info(comm: MPI_Comm, info: MPI_Info) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(233, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::communicators::comm_set_info(comm_in(comm), info_in(info))?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Comm_set_name, MPI_Comm_set_name(comm: MPI_Comm, comm_name: *const c_char) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(234, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::communicators::comm_set_name(
                    comm_in(comm),
                    StringArgument::new(comm_name),
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Comm_size, MPI_Comm_size(comm: MPI_Comm, size: *mut c_int) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(235, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(size, "size")?;
                let outcome = towpath_mpi::communicators::comm_size(comm_in(comm));
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
    PMPI_Comm_split, MPI_Comm_split(
        comm: MPI_Comm,
        color: c_int,
        key: c_int,
        newcomm: *mut MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(236, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newcomm, "newcomm")?;
                let outcome = towpath_mpi::communicators::comm_split(comm_in(comm), color, key);
                deliver(
                    outcome,
                    |v_newcomm| {
                        *newcomm = comm_out(v_newcomm);
                    },
                    || {
                        *newcomm = comm_out(towpath_mpi::constants::COMM_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Comm_split_type, MPI_Comm_split_type(
        comm: MPI_Comm,
        split_type: c_int,
        key: c_int,
        info: MPI_Info,
        newcomm: *mut MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(237, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newcomm, "newcomm")?;
                let outcome = towpath_mpi::communicators::comm_split_type(
                    comm_in(comm),
                    split_type_in(split_type),
                    key,
                    info_in(info),
                );
                deliver(
                    outcome,
                    |v_newcomm| {
                        *newcomm = comm_out(v_newcomm);
                    },
                    || {
                        *newcomm = comm_out(towpath_mpi::constants::COMM_NULL);
                    },
                )
            }
        })
    }
}
