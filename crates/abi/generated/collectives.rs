//! Collective communication (chapter 6, neighbourhood 8.6).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::useless_conversion)]

use crate::prelude::*;

export! {
    PMPI_Allgather, MPI_Allgather(
        sendbuf: *const c_void,
        sendcount: c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: c_int,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(139, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::allgather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Allgather_c, MPI_Allgather_c(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(139, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::allgather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Allgather_init, MPI_Allgather_init(
        sendbuf: *const c_void,
        sendcount: c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: c_int,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(140, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::allgather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Allgather_init_c, MPI_Allgather_init_c(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(140, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::allgather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Allgatherv, MPI_Allgatherv(
        sendbuf: *const c_void,
        sendcount: c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const c_int,
        displs: *const c_int,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(141, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::allgather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::small(recvcounts),
                        Integers::small(displs),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Allgatherv_c, MPI_Allgatherv_c(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const i64,
        displs: *const i64,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(141, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::allgather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::large(recvcounts),
                        Integers::large(displs),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Allgatherv_init, MPI_Allgatherv_init(
        sendbuf: *const c_void,
        sendcount: c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const c_int,
        displs: *const c_int,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(142, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::allgather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::small(recvcounts),
                        Integers::small(displs),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Allgatherv_init_c, MPI_Allgatherv_init_c(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const i64,
        displs: *const i64,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(142, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::allgather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::large(recvcounts),
                        Integers::large(displs),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Allreduce, MPI_Allreduce(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(143, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::allreduce(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Allreduce_c, MPI_Allreduce_c(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(143, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::allreduce(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Allreduce_init, MPI_Allreduce_init(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(144, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::allreduce(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Allreduce_init_c, MPI_Allreduce_init_c(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(144, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::allreduce(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Alltoall, MPI_Alltoall(
        sendbuf: *const c_void,
        sendcount: c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: c_int,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(145, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::alltoall(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Alltoall_c, MPI_Alltoall_c(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(145, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::alltoall(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Alltoall_init, MPI_Alltoall_init(
        sendbuf: *const c_void,
        sendcount: c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: c_int,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(146, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::alltoall(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Alltoall_init_c, MPI_Alltoall_init_c(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(146, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::alltoall(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Alltoallv, MPI_Alltoallv(
        sendbuf: *const c_void,
        sendcounts: *const c_int,
        sdispls: *const c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const c_int,
        rdispls: *const c_int,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(147, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::alltoall(
                    VaryingData::new(
                        buffer_in(sendbuf),
                        Integers::small(sendcounts),
                        Integers::small(sdispls),
                        datatype_in(sendtype),
                    ),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::small(recvcounts),
                        Integers::small(rdispls),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Alltoallv_c, MPI_Alltoallv_c(
        sendbuf: *const c_void,
        sendcounts: *const i64,
        sdispls: *const i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const i64,
        rdispls: *const i64,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(147, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::alltoall(
                    VaryingData::new(
                        buffer_in(sendbuf),
                        Integers::large(sendcounts),
                        Integers::large(sdispls),
                        datatype_in(sendtype),
                    ),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::large(recvcounts),
                        Integers::large(rdispls),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Alltoallv_init, MPI_Alltoallv_init(
        sendbuf: *const c_void,
        sendcounts: *const c_int,
        sdispls: *const c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const c_int,
        rdispls: *const c_int,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(148, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::alltoall(
                    VaryingData::new(
                        buffer_in(sendbuf),
                        Integers::small(sendcounts),
                        Integers::small(sdispls),
                        datatype_in(sendtype),
                    ),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::small(recvcounts),
                        Integers::small(rdispls),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Alltoallv_init_c, MPI_Alltoallv_init_c(
        sendbuf: *const c_void,
        sendcounts: *const i64,
        sdispls: *const i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const i64,
        rdispls: *const i64,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(148, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::alltoall(
                    VaryingData::new(
                        buffer_in(sendbuf),
                        Integers::large(sendcounts),
                        Integers::large(sdispls),
                        datatype_in(sendtype),
                    ),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::large(recvcounts),
                        Integers::large(rdispls),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Alltoallw, MPI_Alltoallw(
        sendbuf: *const c_void,
        sendcounts: *const c_int,
        sdispls: *const c_int,
        sendtypes: *const MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const c_int,
        rdispls: *const c_int,
        recvtypes: *const MPI_Datatype,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(149, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::alltoall(
                    MixedData::new(
                        buffer_in(sendbuf),
                        Integers::small(sendcounts),
                        Integers::small(sdispls),
                        HandleArray::new(sendtypes.cast(), &ABI, Kind::Datatype),
                    ),
                    MixedData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::small(recvcounts),
                        Integers::small(rdispls),
                        HandleArray::new(recvtypes.cast(), &ABI, Kind::Datatype),
                    ),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Alltoallw_c, MPI_Alltoallw_c(
        sendbuf: *const c_void,
        sendcounts: *const i64,
        sdispls: *const i64,
        sendtypes: *const MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const i64,
        rdispls: *const i64,
        recvtypes: *const MPI_Datatype,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(149, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::alltoall(
                    MixedData::new(
                        buffer_in(sendbuf),
                        Integers::large(sendcounts),
                        Integers::large(sdispls),
                        HandleArray::new(sendtypes.cast(), &ABI, Kind::Datatype),
                    ),
                    MixedData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::large(recvcounts),
                        Integers::large(rdispls),
                        HandleArray::new(recvtypes.cast(), &ABI, Kind::Datatype),
                    ),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Alltoallw_init, MPI_Alltoallw_init(
        sendbuf: *const c_void,
        sendcounts: *const c_int,
        sdispls: *const c_int,
        sendtypes: *const MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const c_int,
        rdispls: *const c_int,
        recvtypes: *const MPI_Datatype,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(150, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::alltoall(
                    MixedData::new(
                        buffer_in(sendbuf),
                        Integers::small(sendcounts),
                        Integers::small(sdispls),
                        HandleArray::new(sendtypes.cast(), &ABI, Kind::Datatype),
                    ),
                    MixedData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::small(recvcounts),
                        Integers::small(rdispls),
                        HandleArray::new(recvtypes.cast(), &ABI, Kind::Datatype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Alltoallw_init_c, MPI_Alltoallw_init_c(
        sendbuf: *const c_void,
        sendcounts: *const i64,
        sdispls: *const i64,
        sendtypes: *const MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const i64,
        rdispls: *const i64,
        recvtypes: *const MPI_Datatype,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(150, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::alltoall(
                    MixedData::new(
                        buffer_in(sendbuf),
                        Integers::large(sendcounts),
                        Integers::large(sdispls),
                        HandleArray::new(sendtypes.cast(), &ABI, Kind::Datatype),
                    ),
                    MixedData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::large(recvcounts),
                        Integers::large(rdispls),
                        HandleArray::new(recvtypes.cast(), &ABI, Kind::Datatype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Barrier, MPI_Barrier(comm: MPI_Comm) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(151, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::barrier(comm_in(comm))?.wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Barrier_init, MPI_Barrier_init(
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(152, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::barrier(comm_in(comm))
                    .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Bcast, MPI_Bcast(
        buffer: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(153, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::bcast(
                    EqualData::new(
                        buffer_in(buffer).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Bcast_c, MPI_Bcast_c(
        buffer: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(153, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::bcast(
                    EqualData::new(
                        buffer_in(buffer).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Bcast_init, MPI_Bcast_init(
        buffer: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(154, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::bcast(
                    EqualData::new(
                        buffer_in(buffer).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Bcast_init_c, MPI_Bcast_init_c(
        buffer: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(154, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::bcast(
                    EqualData::new(
                        buffer_in(buffer).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Exscan, MPI_Exscan(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(155, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::exscan(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Exscan_c, MPI_Exscan_c(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(155, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::exscan(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Exscan_init, MPI_Exscan_init(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(156, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::exscan(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Exscan_init_c, MPI_Exscan_init_c(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(156, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::exscan(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Gather, MPI_Gather(
        sendbuf: *const c_void,
        sendcount: c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: c_int,
        recvtype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(157, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::gather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Gather_c, MPI_Gather_c(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(157, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::gather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Gather_init, MPI_Gather_init(
        sendbuf: *const c_void,
        sendcount: c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: c_int,
        recvtype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(158, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::gather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Gather_init_c, MPI_Gather_init_c(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(158, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::gather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Gatherv, MPI_Gatherv(
        sendbuf: *const c_void,
        sendcount: c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const c_int,
        displs: *const c_int,
        recvtype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(159, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::gather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::small(recvcounts),
                        Integers::small(displs),
                        datatype_in(recvtype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Gatherv_c, MPI_Gatherv_c(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const i64,
        displs: *const i64,
        recvtype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(159, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::gather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::large(recvcounts),
                        Integers::large(displs),
                        datatype_in(recvtype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Gatherv_init, MPI_Gatherv_init(
        sendbuf: *const c_void,
        sendcount: c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const c_int,
        displs: *const c_int,
        recvtype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(160, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::gather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::small(recvcounts),
                        Integers::small(displs),
                        datatype_in(recvtype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Gatherv_init_c, MPI_Gatherv_init_c(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const i64,
        displs: *const i64,
        recvtype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(160, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::gather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::large(recvcounts),
                        Integers::large(displs),
                        datatype_in(recvtype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Iallgather, MPI_Iallgather(
        sendbuf: *const c_void,
        sendcount: c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: c_int,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(161, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::allgather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Iallgather_c, MPI_Iallgather_c(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(161, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::allgather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Iallgatherv, MPI_Iallgatherv(
        sendbuf: *const c_void,
        sendcount: c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const c_int,
        displs: *const c_int,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(162, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::allgather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::small(recvcounts),
                        Integers::small(displs),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Iallgatherv_c, MPI_Iallgatherv_c(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const i64,
        displs: *const i64,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(162, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::allgather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::large(recvcounts),
                        Integers::large(displs),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Iallreduce, MPI_Iallreduce(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(163, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::allreduce(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Iallreduce_c, MPI_Iallreduce_c(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(163, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::allreduce(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Ialltoall, MPI_Ialltoall(
        sendbuf: *const c_void,
        sendcount: c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: c_int,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(164, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::alltoall(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Ialltoall_c, MPI_Ialltoall_c(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(164, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::alltoall(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Ialltoallv, MPI_Ialltoallv(
        sendbuf: *const c_void,
        sendcounts: *const c_int,
        sdispls: *const c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const c_int,
        rdispls: *const c_int,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(165, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::alltoall(
                    VaryingData::new(
                        buffer_in(sendbuf),
                        Integers::small(sendcounts),
                        Integers::small(sdispls),
                        datatype_in(sendtype),
                    ),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::small(recvcounts),
                        Integers::small(rdispls),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Ialltoallv_c, MPI_Ialltoallv_c(
        sendbuf: *const c_void,
        sendcounts: *const i64,
        sdispls: *const i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const i64,
        rdispls: *const i64,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(165, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::alltoall(
                    VaryingData::new(
                        buffer_in(sendbuf),
                        Integers::large(sendcounts),
                        Integers::large(sdispls),
                        datatype_in(sendtype),
                    ),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::large(recvcounts),
                        Integers::large(rdispls),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Ialltoallw, MPI_Ialltoallw(
        sendbuf: *const c_void,
        sendcounts: *const c_int,
        sdispls: *const c_int,
        sendtypes: *const MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const c_int,
        rdispls: *const c_int,
        recvtypes: *const MPI_Datatype,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(166, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::alltoall(
                    MixedData::new(
                        buffer_in(sendbuf),
                        Integers::small(sendcounts),
                        Integers::small(sdispls),
                        HandleArray::new(sendtypes.cast(), &ABI, Kind::Datatype),
                    ),
                    MixedData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::small(recvcounts),
                        Integers::small(rdispls),
                        HandleArray::new(recvtypes.cast(), &ABI, Kind::Datatype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Ialltoallw_c, MPI_Ialltoallw_c(
        sendbuf: *const c_void,
        sendcounts: *const i64,
        sdispls: *const i64,
        sendtypes: *const MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const i64,
        rdispls: *const i64,
        recvtypes: *const MPI_Datatype,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(166, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::alltoall(
                    MixedData::new(
                        buffer_in(sendbuf),
                        Integers::large(sendcounts),
                        Integers::large(sdispls),
                        HandleArray::new(sendtypes.cast(), &ABI, Kind::Datatype),
                    ),
                    MixedData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::large(recvcounts),
                        Integers::large(rdispls),
                        HandleArray::new(recvtypes.cast(), &ABI, Kind::Datatype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Ibarrier, MPI_Ibarrier(comm: MPI_Comm, request: *mut MPI_Request) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(167, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::barrier(comm_in(comm))
                    .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Ibcast, MPI_Ibcast(
        buffer: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(168, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::bcast(
                    EqualData::new(
                        buffer_in(buffer).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Ibcast_c, MPI_Ibcast_c(
        buffer: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(168, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::bcast(
                    EqualData::new(
                        buffer_in(buffer).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Iexscan, MPI_Iexscan(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(169, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::exscan(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Iexscan_c, MPI_Iexscan_c(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(169, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::exscan(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Igather, MPI_Igather(
        sendbuf: *const c_void,
        sendcount: c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: c_int,
        recvtype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(170, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::gather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Igather_c, MPI_Igather_c(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(170, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::gather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Igatherv, MPI_Igatherv(
        sendbuf: *const c_void,
        sendcount: c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const c_int,
        displs: *const c_int,
        recvtype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(171, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::gather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::small(recvcounts),
                        Integers::small(displs),
                        datatype_in(recvtype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Igatherv_c, MPI_Igatherv_c(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const i64,
        displs: *const i64,
        recvtype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(171, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::gather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::large(recvcounts),
                        Integers::large(displs),
                        datatype_in(recvtype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Ineighbor_allgather, MPI_Ineighbor_allgather(
        sendbuf: *const c_void,
        sendcount: c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: c_int,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(172, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::neighbor_allgather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Ineighbor_allgather_c, MPI_Ineighbor_allgather_c(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(172, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::neighbor_allgather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Ineighbor_allgatherv, MPI_Ineighbor_allgatherv(
        sendbuf: *const c_void,
        sendcount: c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const c_int,
        displs: *const c_int,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(173, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::neighbor_allgather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::small(recvcounts),
                        Integers::small(displs),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Ineighbor_allgatherv_c, MPI_Ineighbor_allgatherv_c(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const i64,
        displs: *const i64,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(173, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::neighbor_allgather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::large(recvcounts),
                        Integers::large(displs),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Ineighbor_alltoall, MPI_Ineighbor_alltoall(
        sendbuf: *const c_void,
        sendcount: c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: c_int,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(174, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::neighbor_alltoall(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Ineighbor_alltoall_c, MPI_Ineighbor_alltoall_c(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(174, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::neighbor_alltoall(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Ineighbor_alltoallv, MPI_Ineighbor_alltoallv(
        sendbuf: *const c_void,
        sendcounts: *const c_int,
        sdispls: *const c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const c_int,
        rdispls: *const c_int,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(175, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::neighbor_alltoall(
                    VaryingData::new(
                        buffer_in(sendbuf),
                        Integers::small(sendcounts),
                        Integers::small(sdispls),
                        datatype_in(sendtype),
                    ),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::small(recvcounts),
                        Integers::small(rdispls),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Ineighbor_alltoallv_c, MPI_Ineighbor_alltoallv_c(
        sendbuf: *const c_void,
        sendcounts: *const i64,
        sdispls: *const i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const i64,
        rdispls: *const i64,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(175, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::neighbor_alltoall(
                    VaryingData::new(
                        buffer_in(sendbuf),
                        Integers::large(sendcounts),
                        Integers::large(sdispls),
                        datatype_in(sendtype),
                    ),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::large(recvcounts),
                        Integers::large(rdispls),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Ineighbor_alltoallw, MPI_Ineighbor_alltoallw(
        sendbuf: *const c_void,
        sendcounts: *const c_int,
        sdispls: *const i64,
        sendtypes: *const MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const c_int,
        rdispls: *const i64,
        recvtypes: *const MPI_Datatype,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(176, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::neighbor_alltoall(
                    MixedData::new(
                        buffer_in(sendbuf),
                        Integers::small(sendcounts),
                        Integers::large(sdispls),
                        HandleArray::new(sendtypes.cast(), &ABI, Kind::Datatype),
                    ),
                    MixedData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::small(recvcounts),
                        Integers::large(rdispls),
                        HandleArray::new(recvtypes.cast(), &ABI, Kind::Datatype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Ineighbor_alltoallw_c, MPI_Ineighbor_alltoallw_c(
        sendbuf: *const c_void,
        sendcounts: *const i64,
        sdispls: *const i64,
        sendtypes: *const MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const i64,
        rdispls: *const i64,
        recvtypes: *const MPI_Datatype,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(176, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::neighbor_alltoall(
                    MixedData::new(
                        buffer_in(sendbuf),
                        Integers::large(sendcounts),
                        Integers::large(sdispls),
                        HandleArray::new(sendtypes.cast(), &ABI, Kind::Datatype),
                    ),
                    MixedData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::large(recvcounts),
                        Integers::large(rdispls),
                        HandleArray::new(recvtypes.cast(), &ABI, Kind::Datatype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Ireduce, MPI_Ireduce(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        op: MPI_Op,
        root: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(177, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::reduce(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    root_in(root),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Ireduce_c, MPI_Ireduce_c(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        op: MPI_Op,
        root: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(177, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::reduce(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    root_in(root),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Ireduce_scatter, MPI_Ireduce_scatter(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        recvcounts: *const c_int,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(178, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::reduce_scatter(
                    buffer_in(sendbuf),
                    buffer_in(recvbuf).cast_mut(),
                    Integers::small(recvcounts),
                    datatype_in(datatype),
                    op_in(op),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Ireduce_scatter_c, MPI_Ireduce_scatter_c(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        recvcounts: *const i64,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(178, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::reduce_scatter(
                    buffer_in(sendbuf),
                    buffer_in(recvbuf).cast_mut(),
                    Integers::large(recvcounts),
                    datatype_in(datatype),
                    op_in(op),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Ireduce_scatter_block, MPI_Ireduce_scatter_block(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        recvcount: c_int,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(179, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::reduce_scatter_block(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Ireduce_scatter_block_c, MPI_Ireduce_scatter_block_c(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        recvcount: i64,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(179, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::reduce_scatter_block(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Iscan, MPI_Iscan(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(180, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::scan(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Iscan_c, MPI_Iscan_c(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(180, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::scan(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Iscatter, MPI_Iscatter(
        sendbuf: *const c_void,
        sendcount: c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: c_int,
        recvtype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(181, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::scatter(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Iscatter_c, MPI_Iscatter_c(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(181, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::scatter(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Iscatterv, MPI_Iscatterv(
        sendbuf: *const c_void,
        sendcounts: *const c_int,
        displs: *const c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: c_int,
        recvtype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(182, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::scatter(
                    VaryingData::new(
                        buffer_in(sendbuf),
                        Integers::small(sendcounts),
                        Integers::small(displs),
                        datatype_in(sendtype),
                    ),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Iscatterv_c, MPI_Iscatterv_c(
        sendbuf: *const c_void,
        sendcounts: *const i64,
        displs: *const i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(182, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::scatter(
                    VaryingData::new(
                        buffer_in(sendbuf),
                        Integers::large(sendcounts),
                        Integers::large(displs),
                        datatype_in(sendtype),
                    ),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.begin());
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Neighbor_allgather, MPI_Neighbor_allgather(
        sendbuf: *const c_void,
        sendcount: c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: c_int,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(183, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::neighbor_allgather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Neighbor_allgather_c, MPI_Neighbor_allgather_c(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(183, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::neighbor_allgather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Neighbor_allgather_init, MPI_Neighbor_allgather_init(
        sendbuf: *const c_void,
        sendcount: c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: c_int,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(184, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::neighbor_allgather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Neighbor_allgather_init_c, MPI_Neighbor_allgather_init_c(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(184, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::neighbor_allgather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Neighbor_allgatherv, MPI_Neighbor_allgatherv(
        sendbuf: *const c_void,
        sendcount: c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const c_int,
        displs: *const c_int,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(185, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::neighbor_allgather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::small(recvcounts),
                        Integers::small(displs),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Neighbor_allgatherv_c, MPI_Neighbor_allgatherv_c(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const i64,
        displs: *const i64,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(185, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::neighbor_allgather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::large(recvcounts),
                        Integers::large(displs),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Neighbor_allgatherv_init, MPI_Neighbor_allgatherv_init(
        sendbuf: *const c_void,
        sendcount: c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const c_int,
        displs: *const c_int,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(186, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::neighbor_allgather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::small(recvcounts),
                        Integers::small(displs),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Neighbor_allgatherv_init_c, MPI_Neighbor_allgatherv_init_c(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const i64,
        displs: *const i64,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(186, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::neighbor_allgather(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::large(recvcounts),
                        Integers::large(displs),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Neighbor_alltoall, MPI_Neighbor_alltoall(
        sendbuf: *const c_void,
        sendcount: c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: c_int,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(187, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::neighbor_alltoall(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Neighbor_alltoall_c, MPI_Neighbor_alltoall_c(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(187, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::neighbor_alltoall(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Neighbor_alltoall_init, MPI_Neighbor_alltoall_init(
        sendbuf: *const c_void,
        sendcount: c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: c_int,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(188, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::neighbor_alltoall(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Neighbor_alltoall_init_c, MPI_Neighbor_alltoall_init_c(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(188, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::neighbor_alltoall(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Neighbor_alltoallv, MPI_Neighbor_alltoallv(
        sendbuf: *const c_void,
        sendcounts: *const c_int,
        sdispls: *const c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const c_int,
        rdispls: *const c_int,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(189, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::neighbor_alltoall(
                    VaryingData::new(
                        buffer_in(sendbuf),
                        Integers::small(sendcounts),
                        Integers::small(sdispls),
                        datatype_in(sendtype),
                    ),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::small(recvcounts),
                        Integers::small(rdispls),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Neighbor_alltoallv_c, MPI_Neighbor_alltoallv_c(
        sendbuf: *const c_void,
        sendcounts: *const i64,
        sdispls: *const i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const i64,
        rdispls: *const i64,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(189, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::neighbor_alltoall(
                    VaryingData::new(
                        buffer_in(sendbuf),
                        Integers::large(sendcounts),
                        Integers::large(sdispls),
                        datatype_in(sendtype),
                    ),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::large(recvcounts),
                        Integers::large(rdispls),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Neighbor_alltoallv_init, MPI_Neighbor_alltoallv_init(
        sendbuf: *const c_void,
        sendcounts: *const c_int,
        sdispls: *const c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const c_int,
        rdispls: *const c_int,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(190, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::neighbor_alltoall(
                    VaryingData::new(
                        buffer_in(sendbuf),
                        Integers::small(sendcounts),
                        Integers::small(sdispls),
                        datatype_in(sendtype),
                    ),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::small(recvcounts),
                        Integers::small(rdispls),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Neighbor_alltoallv_init_c, MPI_Neighbor_alltoallv_init_c(
        sendbuf: *const c_void,
        sendcounts: *const i64,
        sdispls: *const i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const i64,
        rdispls: *const i64,
        recvtype: MPI_Datatype,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(190, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::neighbor_alltoall(
                    VaryingData::new(
                        buffer_in(sendbuf),
                        Integers::large(sendcounts),
                        Integers::large(sdispls),
                        datatype_in(sendtype),
                    ),
                    VaryingData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::large(recvcounts),
                        Integers::large(rdispls),
                        datatype_in(recvtype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Neighbor_alltoallw, MPI_Neighbor_alltoallw(
        sendbuf: *const c_void,
        sendcounts: *const c_int,
        sdispls: *const i64,
        sendtypes: *const MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const c_int,
        rdispls: *const i64,
        recvtypes: *const MPI_Datatype,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(191, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::neighbor_alltoall(
                    MixedData::new(
                        buffer_in(sendbuf),
                        Integers::small(sendcounts),
                        Integers::large(sdispls),
                        HandleArray::new(sendtypes.cast(), &ABI, Kind::Datatype),
                    ),
                    MixedData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::small(recvcounts),
                        Integers::large(rdispls),
                        HandleArray::new(recvtypes.cast(), &ABI, Kind::Datatype),
                    ),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Neighbor_alltoallw_c, MPI_Neighbor_alltoallw_c(
        sendbuf: *const c_void,
        sendcounts: *const i64,
        sdispls: *const i64,
        sendtypes: *const MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const i64,
        rdispls: *const i64,
        recvtypes: *const MPI_Datatype,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(191, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::neighbor_alltoall(
                    MixedData::new(
                        buffer_in(sendbuf),
                        Integers::large(sendcounts),
                        Integers::large(sdispls),
                        HandleArray::new(sendtypes.cast(), &ABI, Kind::Datatype),
                    ),
                    MixedData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::large(recvcounts),
                        Integers::large(rdispls),
                        HandleArray::new(recvtypes.cast(), &ABI, Kind::Datatype),
                    ),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Neighbor_alltoallw_init, MPI_Neighbor_alltoallw_init(
        sendbuf: *const c_void,
        sendcounts: *const c_int,
        sdispls: *const i64,
        sendtypes: *const MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const c_int,
        rdispls: *const i64,
        recvtypes: *const MPI_Datatype,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(192, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::neighbor_alltoall(
                    MixedData::new(
                        buffer_in(sendbuf),
                        Integers::small(sendcounts),
                        Integers::large(sdispls),
                        HandleArray::new(sendtypes.cast(), &ABI, Kind::Datatype),
                    ),
                    MixedData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::small(recvcounts),
                        Integers::large(rdispls),
                        HandleArray::new(recvtypes.cast(), &ABI, Kind::Datatype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Neighbor_alltoallw_init_c, MPI_Neighbor_alltoallw_init_c(
        sendbuf: *const c_void,
        sendcounts: *const i64,
        sdispls: *const i64,
        sendtypes: *const MPI_Datatype,
        recvbuf: *mut c_void,
        recvcounts: *const i64,
        rdispls: *const i64,
        recvtypes: *const MPI_Datatype,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(192, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::neighbor_alltoall(
                    MixedData::new(
                        buffer_in(sendbuf),
                        Integers::large(sendcounts),
                        Integers::large(sdispls),
                        HandleArray::new(sendtypes.cast(), &ABI, Kind::Datatype),
                    ),
                    MixedData::new(
                        buffer_in(recvbuf).cast_mut(),
                        Integers::large(recvcounts),
                        Integers::large(rdispls),
                        HandleArray::new(recvtypes.cast(), &ABI, Kind::Datatype),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Reduce, MPI_Reduce(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        op: MPI_Op,
        root: c_int,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(193, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::reduce(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    root_in(root),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Reduce_c, MPI_Reduce_c(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        op: MPI_Op,
        root: c_int,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(193, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::reduce(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    root_in(root),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Reduce_init, MPI_Reduce_init(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        op: MPI_Op,
        root: c_int,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(194, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::reduce(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    root_in(root),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Reduce_init_c, MPI_Reduce_init_c(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        op: MPI_Op,
        root: c_int,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(194, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::reduce(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    root_in(root),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Reduce_scatter, MPI_Reduce_scatter(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        recvcounts: *const c_int,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(195, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::reduce_scatter(
                    buffer_in(sendbuf),
                    buffer_in(recvbuf).cast_mut(),
                    Integers::small(recvcounts),
                    datatype_in(datatype),
                    op_in(op),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Reduce_scatter_c, MPI_Reduce_scatter_c(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        recvcounts: *const i64,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(195, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::reduce_scatter(
                    buffer_in(sendbuf),
                    buffer_in(recvbuf).cast_mut(),
                    Integers::large(recvcounts),
                    datatype_in(datatype),
                    op_in(op),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Reduce_scatter_block, MPI_Reduce_scatter_block(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        recvcount: c_int,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(196, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::reduce_scatter_block(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Reduce_scatter_block_c, MPI_Reduce_scatter_block_c(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        recvcount: i64,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(196, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::reduce_scatter_block(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Reduce_scatter_block_init, MPI_Reduce_scatter_block_init(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        recvcount: c_int,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(197, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::reduce_scatter_block(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Reduce_scatter_block_init_c, MPI_Reduce_scatter_block_init_c(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        recvcount: i64,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(197, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::reduce_scatter_block(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Reduce_scatter_init, MPI_Reduce_scatter_init(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        recvcounts: *const c_int,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(198, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::reduce_scatter(
                    buffer_in(sendbuf),
                    buffer_in(recvbuf).cast_mut(),
                    Integers::small(recvcounts),
                    datatype_in(datatype),
                    op_in(op),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Reduce_scatter_init_c, MPI_Reduce_scatter_init_c(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        recvcounts: *const i64,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(198, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::reduce_scatter(
                    buffer_in(sendbuf),
                    buffer_in(recvbuf).cast_mut(),
                    Integers::large(recvcounts),
                    datatype_in(datatype),
                    op_in(op),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Scan, MPI_Scan(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(199, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::scan(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Scan_c, MPI_Scan_c(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(199, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::scan(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Scan_init, MPI_Scan_init(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(200, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::scan(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Scan_init_c, MPI_Scan_init_c(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(200, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::scan(
                    Vector::new(
                        buffer_in(sendbuf),
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(count),
                        datatype_in(datatype),
                        op_in(op),
                    ),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Scatter, MPI_Scatter(
        sendbuf: *const c_void,
        sendcount: c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: c_int,
        recvtype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(201, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::scatter(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Scatter_c, MPI_Scatter_c(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(201, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::scatter(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Scatter_init, MPI_Scatter_init(
        sendbuf: *const c_void,
        sendcount: c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: c_int,
        recvtype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(202, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::scatter(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Scatter_init_c, MPI_Scatter_init_c(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(202, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::scatter(
                    EqualData::new(buffer_in(sendbuf), i64::from(sendcount), datatype_in(sendtype)),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Scatterv, MPI_Scatterv(
        sendbuf: *const c_void,
        sendcounts: *const c_int,
        displs: *const c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: c_int,
        recvtype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(203, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::scatter(
                    VaryingData::new(
                        buffer_in(sendbuf),
                        Integers::small(sendcounts),
                        Integers::small(displs),
                        datatype_in(sendtype),
                    ),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Scatterv_c, MPI_Scatterv_c(
        sendbuf: *const c_void,
        sendcounts: *const i64,
        displs: *const i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(203, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::collectives::scatter(
                    VaryingData::new(
                        buffer_in(sendbuf),
                        Integers::large(sendcounts),
                        Integers::large(displs),
                        datatype_in(sendtype),
                    ),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )?
                .wait()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Scatterv_init, MPI_Scatterv_init(
        sendbuf: *const c_void,
        sendcounts: *const c_int,
        displs: *const c_int,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: c_int,
        recvtype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(204, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::scatter(
                    VaryingData::new(
                        buffer_in(sendbuf),
                        Integers::small(sendcounts),
                        Integers::small(displs),
                        datatype_in(sendtype),
                    ),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Scatterv_init_c, MPI_Scatterv_init_c(
        sendbuf: *const c_void,
        sendcounts: *const i64,
        displs: *const i64,
        sendtype: MPI_Datatype,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: MPI_Datatype,
        root: c_int,
        comm: MPI_Comm,
        info: MPI_Info,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(204, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::collectives::scatter(
                    VaryingData::new(
                        buffer_in(sendbuf),
                        Integers::large(sendcounts),
                        Integers::large(displs),
                        datatype_in(sendtype),
                    ),
                    EqualData::new(
                        buffer_in(recvbuf).cast_mut(),
                        i64::from(recvcount),
                        datatype_in(recvtype),
                    ),
                    root_in(root),
                    comm_in(comm),
                )
                .and_then(|prepared| prepared.keep(info_in(info)));
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}
