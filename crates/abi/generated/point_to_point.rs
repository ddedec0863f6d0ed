//! Point-to-point communication (chapter 3).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::useless_conversion)]

use crate::prelude::*;

export! {
    PMPI_Bsend, MPI_Bsend(
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(20, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::point_to_point::bsend(
                    buffer_in(buf),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(dest),
                    tag_in(tag),
                    comm_in(comm),
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Bsend_c, MPI_Bsend_c(
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(20, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::point_to_point::bsend(
                    buffer_in(buf),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(dest),
                    tag_in(tag),
                    comm_in(comm),
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Bsend_init, MPI_Bsend_init(
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(21, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::point_to_point::bsend_init(
                    buffer_in(buf),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(dest),
                    tag_in(tag),
                    comm_in(comm),
                );
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
    PMPI_Bsend_init_c, MPI_Bsend_init_c(
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(21, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::point_to_point::bsend_init(
                    buffer_in(buf),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(dest),
                    tag_in(tag),
                    comm_in(comm),
                );
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
    PMPI_Buffer_attach, MPI_Buffer_attach(buffer: *mut c_void, size: c_int) {
        let owner = || ErrhandlerOwner::None;
        call(22, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::point_to_point::buffer_attach(
                    buffer_in(buffer).cast_mut(),
                    i64::from(size),
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Buffer_attach_c, MPI_Buffer_attach_c(buffer: *mut c_void, size: i64) {
        let owner = || ErrhandlerOwner::None;
        call(22, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::point_to_point::buffer_attach(
                    buffer_in(buffer).cast_mut(),
                    i64::from(size),
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Buffer_detach, MPI_Buffer_detach(buffer_addr: *mut c_void, size: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call(23, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(buffer_addr, "buffer_addr")?;
                require(size, "size")?;
                let outcome = towpath_mpi::point_to_point::buffer_detach();
                deliver(
                    outcome,
                    |(v_buffer_addr, v_size)| {
                        buffer_addr.cast::<*mut c_void>().write(buffer_out(v_buffer_addr));
                        *size = count_to_int(v_size);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Buffer_detach_c, MPI_Buffer_detach_c(buffer_addr: *mut c_void, size: *mut i64) {
        let owner = || ErrhandlerOwner::None;
        call(23, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(buffer_addr, "buffer_addr")?;
                require(size, "size")?;
                let outcome = towpath_mpi::point_to_point::buffer_detach();
                deliver(
                    outcome,
                    |(v_buffer_addr, v_size)| {
                        buffer_addr.cast::<*mut c_void>().write(buffer_out(v_buffer_addr));
                        *size = v_size;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Buffer_flush, MPI_Buffer_flush() {
        let owner = || ErrhandlerOwner::None;
        call(24, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::point_to_point::buffer_flush()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Buffer_iflush, MPI_Buffer_iflush(request: *mut MPI_Request) {
        let owner = || ErrhandlerOwner::None;
        call(25, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::point_to_point::buffer_iflush();
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
    PMPI_Comm_attach_buffer, MPI_Comm_attach_buffer(
        comm: MPI_Comm,
        buffer: *mut c_void,
        size: c_int,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(26, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::point_to_point::comm_attach_buffer(
                    comm_in(comm),
                    buffer_in(buffer).cast_mut(),
                    i64::from(size),
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Comm_attach_buffer_c, MPI_Comm_attach_buffer_c(
        comm: MPI_Comm,
        buffer: *mut c_void,
        size: i64,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(26, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::point_to_point::comm_attach_buffer(
                    comm_in(comm),
                    buffer_in(buffer).cast_mut(),
                    i64::from(size),
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Comm_detach_buffer, MPI_Comm_detach_buffer(
        comm: MPI_Comm,
        buffer_addr: *mut c_void,
        size: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(27, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(buffer_addr, "buffer_addr")?;
                require(size, "size")?;
                let outcome = towpath_mpi::point_to_point::comm_detach_buffer(comm_in(comm));
                deliver(
                    outcome,
                    |(v_buffer_addr, v_size)| {
                        buffer_addr.cast::<*mut c_void>().write(buffer_out(v_buffer_addr));
                        *size = count_to_int(v_size);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Comm_detach_buffer_c, MPI_Comm_detach_buffer_c(
        comm: MPI_Comm,
        buffer_addr: *mut c_void,
        size: *mut i64,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(27, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(buffer_addr, "buffer_addr")?;
                require(size, "size")?;
                let outcome = towpath_mpi::point_to_point::comm_detach_buffer(comm_in(comm));
                deliver(
                    outcome,
                    |(v_buffer_addr, v_size)| {
                        buffer_addr.cast::<*mut c_void>().write(buffer_out(v_buffer_addr));
                        *size = v_size;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Comm_flush_buffer, MPI_Comm_flush_buffer(comm: MPI_Comm) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(28, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::point_to_point::comm_flush_buffer(comm_in(comm))?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Comm_iflush_buffer, MPI_Comm_iflush_buffer(comm: MPI_Comm, request: *mut MPI_Request) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(29, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::point_to_point::comm_iflush_buffer(comm_in(comm));
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
    PMPI_Ibsend, MPI_Ibsend(
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(30, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::point_to_point::ibsend(
                    buffer_in(buf),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(dest),
                    tag_in(tag),
                    comm_in(comm),
                );
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
    PMPI_Ibsend_c, MPI_Ibsend_c(
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(30, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::point_to_point::ibsend(
                    buffer_in(buf),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(dest),
                    tag_in(tag),
                    comm_in(comm),
                );
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
    PMPI_Improbe, MPI_Improbe(
        source: c_int,
        tag: c_int,
        comm: MPI_Comm,
        flag: *mut c_int,
        message: *mut MPI_Message,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(31, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(flag, "flag")?;
                require(message, "message")?;
                let outcome = towpath_mpi::point_to_point::improbe(
                    rank_in(source),
                    tag_in(tag),
                    comm_in(comm),
                );
                deliver(
                    outcome,
                    |(v_flag, v_message, v_status)| {
                        *flag = c_int::from(v_flag);
                        if v_flag {
                            *message = message_out(v_message);
                        }
                        if v_flag {
                            status_put(status, &v_status);
                        }
                    },
                    || {
                        *message = message_out(towpath_mpi::constants::MESSAGE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Imrecv, MPI_Imrecv(
        buf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        message: *mut MPI_Message,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(32, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(message, "message")?;
                let mut v_message = message_in(*message);
                require(request, "request")?;
                let outcome = towpath_mpi::point_to_point::imrecv(
                    buffer_in(buf).cast_mut(),
                    i64::from(count),
                    datatype_in(datatype),
                    &mut v_message,
                );
                *message = message_out(v_message);
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
    PMPI_Imrecv_c, MPI_Imrecv_c(
        buf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        message: *mut MPI_Message,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(32, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(message, "message")?;
                let mut v_message = message_in(*message);
                require(request, "request")?;
                let outcome = towpath_mpi::point_to_point::imrecv(
                    buffer_in(buf).cast_mut(),
                    i64::from(count),
                    datatype_in(datatype),
                    &mut v_message,
                );
                *message = message_out(v_message);
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
    PMPI_Iprobe, MPI_Iprobe(
        source: c_int,
        tag: c_int,
        comm: MPI_Comm,
        flag: *mut c_int,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(33, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(flag, "flag")?;
                let outcome = towpath_mpi::point_to_point::iprobe(
                    rank_in(source),
                    tag_in(tag),
                    comm_in(comm),
                );
                deliver(
                    outcome,
                    |(v_flag, v_status)| {
                        *flag = c_int::from(v_flag);
                        if v_flag {
                            status_put(status, &v_status);
                        }
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Irecv, MPI_Irecv(
        buf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        source: c_int,
        tag: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(34, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::point_to_point::irecv(
                    buffer_in(buf).cast_mut(),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(source),
                    tag_in(tag),
                    comm_in(comm),
                );
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
    PMPI_Irecv_c, MPI_Irecv_c(
        buf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        source: c_int,
        tag: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(34, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::point_to_point::irecv(
                    buffer_in(buf).cast_mut(),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(source),
                    tag_in(tag),
                    comm_in(comm),
                );
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
    PMPI_Irsend, MPI_Irsend(
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(35, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::point_to_point::irsend(
                    buffer_in(buf),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(dest),
                    tag_in(tag),
                    comm_in(comm),
                );
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
    PMPI_Irsend_c, MPI_Irsend_c(
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(35, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::point_to_point::irsend(
                    buffer_in(buf),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(dest),
                    tag_in(tag),
                    comm_in(comm),
                );
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
    PMPI_Isend, MPI_Isend(
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(36, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::point_to_point::isend(
                    buffer_in(buf),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(dest),
                    tag_in(tag),
                    comm_in(comm),
                );
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
    PMPI_Isend_c, MPI_Isend_c(
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(36, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::point_to_point::isend(
                    buffer_in(buf),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(dest),
                    tag_in(tag),
                    comm_in(comm),
                );
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
    PMPI_Isendrecv, MPI_Isendrecv(
        sendbuf: *const c_void,
        sendcount: c_int,
        sendtype: MPI_Datatype,
        dest: c_int,
        sendtag: c_int,
        recvbuf: *mut c_void,
        recvcount: c_int,
        recvtype: MPI_Datatype,
        source: c_int,
        recvtag: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(37, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::point_to_point::isendrecv(
                    buffer_in(sendbuf),
                    i64::from(sendcount),
                    datatype_in(sendtype),
                    rank_in(dest),
                    tag_in(sendtag),
                    buffer_in(recvbuf).cast_mut(),
                    i64::from(recvcount),
                    datatype_in(recvtype),
                    rank_in(source),
                    tag_in(recvtag),
                    comm_in(comm),
                );
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
    PMPI_Isendrecv_c, MPI_Isendrecv_c(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: MPI_Datatype,
        dest: c_int,
        sendtag: c_int,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: MPI_Datatype,
        source: c_int,
        recvtag: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(37, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::point_to_point::isendrecv(
                    buffer_in(sendbuf),
                    i64::from(sendcount),
                    datatype_in(sendtype),
                    rank_in(dest),
                    tag_in(sendtag),
                    buffer_in(recvbuf).cast_mut(),
                    i64::from(recvcount),
                    datatype_in(recvtype),
                    rank_in(source),
                    tag_in(recvtag),
                    comm_in(comm),
                );
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
    PMPI_Isendrecv_replace, MPI_Isendrecv_replace(
        buf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        dest: c_int,
        sendtag: c_int,
        source: c_int,
        recvtag: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(38, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::point_to_point::isendrecv_replace(
                    buffer_in(buf).cast_mut(),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(dest),
                    tag_in(sendtag),
                    rank_in(source),
                    tag_in(recvtag),
                    comm_in(comm),
                );
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
    PMPI_Isendrecv_replace_c, MPI_Isendrecv_replace_c(
        buf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        dest: c_int,
        sendtag: c_int,
        source: c_int,
        recvtag: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(38, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::point_to_point::isendrecv_replace(
                    buffer_in(buf).cast_mut(),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(dest),
                    tag_in(sendtag),
                    rank_in(source),
                    tag_in(recvtag),
                    comm_in(comm),
                );
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
    PMPI_Issend, MPI_Issend(
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(39, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::point_to_point::issend(
                    buffer_in(buf),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(dest),
                    tag_in(tag),
                    comm_in(comm),
                );
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
    PMPI_Issend_c, MPI_Issend_c(
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(39, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::point_to_point::issend(
                    buffer_in(buf),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(dest),
                    tag_in(tag),
                    comm_in(comm),
                );
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
    PMPI_Mprobe, MPI_Mprobe(
        source: c_int,
        tag: c_int,
        comm: MPI_Comm,
        message: *mut MPI_Message,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(40, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(message, "message")?;
                let outcome = towpath_mpi::point_to_point::mprobe(
                    rank_in(source),
                    tag_in(tag),
                    comm_in(comm),
                );
                deliver(
                    outcome,
                    |(v_message, v_status)| {
                        *message = message_out(v_message);
                        status_put(status, &v_status);
                    },
                    || {
                        *message = message_out(towpath_mpi::constants::MESSAGE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Mrecv, MPI_Mrecv(
        buf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        message: *mut MPI_Message,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(41, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(message, "message")?;
                let mut v_message = message_in(*message);
                let outcome = towpath_mpi::point_to_point::mrecv(
                    buffer_in(buf).cast_mut(),
                    i64::from(count),
                    datatype_in(datatype),
                    &mut v_message,
                );
                *message = message_out(v_message);
                deliver(
                    outcome,
                    |v_status| {
                        status_put(status, &v_status);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Mrecv_c, MPI_Mrecv_c(
        buf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        message: *mut MPI_Message,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(41, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(message, "message")?;
                let mut v_message = message_in(*message);
                let outcome = towpath_mpi::point_to_point::mrecv(
                    buffer_in(buf).cast_mut(),
                    i64::from(count),
                    datatype_in(datatype),
                    &mut v_message,
                );
                *message = message_out(v_message);
                deliver(
                    outcome,
                    |v_status| {
                        status_put(status, &v_status);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Probe, MPI_Probe(source: c_int, tag: c_int, comm: MPI_Comm, status: *mut MPI_Status) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(42, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                let outcome =
                    towpath_mpi::point_to_point::probe(rank_in(source), tag_in(tag), comm_in(comm));
                deliver(
                    outcome,
                    |v_status| {
                        status_put(status, &v_status);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Recv, MPI_Recv(
        buf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        source: c_int,
        tag: c_int,
        comm: MPI_Comm,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(43, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                let outcome = towpath_mpi::point_to_point::recv(
                    buffer_in(buf).cast_mut(),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(source),
                    tag_in(tag),
                    comm_in(comm),
                );
                deliver(
                    outcome,
                    |v_status| {
                        status_put(status, &v_status);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Recv_c, MPI_Recv_c(
        buf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        source: c_int,
        tag: c_int,
        comm: MPI_Comm,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(43, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                let outcome = towpath_mpi::point_to_point::recv(
                    buffer_in(buf).cast_mut(),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(source),
                    tag_in(tag),
                    comm_in(comm),
                );
                deliver(
                    outcome,
                    |v_status| {
                        status_put(status, &v_status);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Recv_init, MPI_Recv_init(
        buf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        source: c_int,
        tag: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(44, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::point_to_point::recv_init(
                    buffer_in(buf).cast_mut(),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(source),
                    tag_in(tag),
                    comm_in(comm),
                );
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
    PMPI_Recv_init_c, MPI_Recv_init_c(
        buf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        source: c_int,
        tag: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(44, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::point_to_point::recv_init(
                    buffer_in(buf).cast_mut(),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(source),
                    tag_in(tag),
                    comm_in(comm),
                );
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
    PMPI_Rsend, MPI_Rsend(
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(45, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::point_to_point::rsend(
                    buffer_in(buf),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(dest),
                    tag_in(tag),
                    comm_in(comm),
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Rsend_c, MPI_Rsend_c(
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(45, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::point_to_point::rsend(
                    buffer_in(buf),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(dest),
                    tag_in(tag),
                    comm_in(comm),
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Rsend_init, MPI_Rsend_init(
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(46, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::point_to_point::rsend_init(
                    buffer_in(buf),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(dest),
                    tag_in(tag),
                    comm_in(comm),
                );
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
    PMPI_Rsend_init_c, MPI_Rsend_init_c(
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(46, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::point_to_point::rsend_init(
                    buffer_in(buf),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(dest),
                    tag_in(tag),
                    comm_in(comm),
                );
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
    PMPI_Send, MPI_Send(
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(47, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::point_to_point::send(
                    buffer_in(buf),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(dest),
                    tag_in(tag),
                    comm_in(comm),
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Send_c, MPI_Send_c(
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(47, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::point_to_point::send(
                    buffer_in(buf),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(dest),
                    tag_in(tag),
                    comm_in(comm),
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Send_init, MPI_Send_init(
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(48, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::point_to_point::send_init(
                    buffer_in(buf),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(dest),
                    tag_in(tag),
                    comm_in(comm),
                );
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
    PMPI_Send_init_c, MPI_Send_init_c(
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(48, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::point_to_point::send_init(
                    buffer_in(buf),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(dest),
                    tag_in(tag),
                    comm_in(comm),
                );
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
    PMPI_Sendrecv, MPI_Sendrecv(
        sendbuf: *const c_void,
        sendcount: c_int,
        sendtype: MPI_Datatype,
        dest: c_int,
        sendtag: c_int,
        recvbuf: *mut c_void,
        recvcount: c_int,
        recvtype: MPI_Datatype,
        source: c_int,
        recvtag: c_int,
        comm: MPI_Comm,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(49, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                let outcome = towpath_mpi::point_to_point::sendrecv(
                    buffer_in(sendbuf),
                    i64::from(sendcount),
                    datatype_in(sendtype),
                    rank_in(dest),
                    tag_in(sendtag),
                    buffer_in(recvbuf).cast_mut(),
                    i64::from(recvcount),
                    datatype_in(recvtype),
                    rank_in(source),
                    tag_in(recvtag),
                    comm_in(comm),
                );
                deliver(
                    outcome,
                    |v_status| {
                        status_put(status, &v_status);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Sendrecv_c, MPI_Sendrecv_c(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: MPI_Datatype,
        dest: c_int,
        sendtag: c_int,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: MPI_Datatype,
        source: c_int,
        recvtag: c_int,
        comm: MPI_Comm,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(49, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                let outcome = towpath_mpi::point_to_point::sendrecv(
                    buffer_in(sendbuf),
                    i64::from(sendcount),
                    datatype_in(sendtype),
                    rank_in(dest),
                    tag_in(sendtag),
                    buffer_in(recvbuf).cast_mut(),
                    i64::from(recvcount),
                    datatype_in(recvtype),
                    rank_in(source),
                    tag_in(recvtag),
                    comm_in(comm),
                );
                deliver(
                    outcome,
                    |v_status| {
                        status_put(status, &v_status);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Sendrecv_replace, MPI_Sendrecv_replace(
        buf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        dest: c_int,
        sendtag: c_int,
        source: c_int,
        recvtag: c_int,
        comm: MPI_Comm,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(50, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                let outcome = towpath_mpi::point_to_point::sendrecv_replace(
                    buffer_in(buf).cast_mut(),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(dest),
                    tag_in(sendtag),
                    rank_in(source),
                    tag_in(recvtag),
                    comm_in(comm),
                );
                deliver(
                    outcome,
                    |v_status| {
                        status_put(status, &v_status);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Sendrecv_replace_c, MPI_Sendrecv_replace_c(
        buf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        dest: c_int,
        sendtag: c_int,
        source: c_int,
        recvtag: c_int,
        comm: MPI_Comm,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(50, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                let outcome = towpath_mpi::point_to_point::sendrecv_replace(
                    buffer_in(buf).cast_mut(),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(dest),
                    tag_in(sendtag),
                    rank_in(source),
                    tag_in(recvtag),
                    comm_in(comm),
                );
                deliver(
                    outcome,
                    |v_status| {
                        status_put(status, &v_status);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Session_attach_buffer, MPI_Session_attach_buffer(
        session: MPI_Session,
        buffer: *mut c_void,
        size: c_int,
    ) {
        let owner = || ErrhandlerOwner::Session(session_in(session));
        call_any_time(51, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::point_to_point::session_attach_buffer(
                    session_in(session),
                    buffer_in(buffer).cast_mut(),
                    i64::from(size),
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Session_attach_buffer_c, MPI_Session_attach_buffer_c(
        session: MPI_Session,
        buffer: *mut c_void,
        size: i64,
    ) {
        let owner = || ErrhandlerOwner::Session(session_in(session));
        call_any_time(51, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::point_to_point::session_attach_buffer(
                    session_in(session),
                    buffer_in(buffer).cast_mut(),
                    i64::from(size),
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Session_detach_buffer, MPI_Session_detach_buffer(
        session: MPI_Session,
        buffer_addr: *mut c_void,
        size: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::Session(session_in(session));
        call_any_time(52, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(buffer_addr, "buffer_addr")?;
                require(size, "size")?;
                let outcome =
                    towpath_mpi::point_to_point::session_detach_buffer(session_in(session));
                deliver(
                    outcome,
                    |(v_buffer_addr, v_size)| {
                        buffer_addr.cast::<*mut c_void>().write(buffer_out(v_buffer_addr));
                        *size = count_to_int(v_size);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Session_detach_buffer_c, MPI_Session_detach_buffer_c(
        session: MPI_Session,
        buffer_addr: *mut c_void,
        size: *mut i64,
    ) {
        let owner = || ErrhandlerOwner::Session(session_in(session));
        call_any_time(52, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(buffer_addr, "buffer_addr")?;
                require(size, "size")?;
                let outcome =
                    towpath_mpi::point_to_point::session_detach_buffer(session_in(session));
                deliver(
                    outcome,
                    |(v_buffer_addr, v_size)| {
                        buffer_addr.cast::<*mut c_void>().write(buffer_out(v_buffer_addr));
                        *size = v_size;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Session_flush_buffer, MPI_Session_flush_buffer(session: MPI_Session) {
        let owner = || ErrhandlerOwner::Session(session_in(session));
        call_any_time(53, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::point_to_point::session_flush_buffer(session_in(session))?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Session_iflush_buffer, MPI_Session_iflush_buffer(
        session: MPI_Session,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Session(session_in(session));
        call_any_time(54, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome =
                    towpath_mpi::point_to_point::session_iflush_buffer(session_in(session));
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
    PMPI_Ssend, MPI_Ssend(
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(55, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::point_to_point::ssend(
                    buffer_in(buf),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(dest),
                    tag_in(tag),
                    comm_in(comm),
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Ssend_c, MPI_Ssend_c(
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(55, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::point_to_point::ssend(
                    buffer_in(buf),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(dest),
                    tag_in(tag),
                    comm_in(comm),
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Ssend_init, MPI_Ssend_init(
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(56, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::point_to_point::ssend_init(
                    buffer_in(buf),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(dest),
                    tag_in(tag),
                    comm_in(comm),
                );
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
    PMPI_Ssend_init_c, MPI_Ssend_init_c(
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(56, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::point_to_point::ssend_init(
                    buffer_in(buf),
                    i64::from(count),
                    datatype_in(datatype),
                    rank_in(dest),
                    tag_in(tag),
                    comm_in(comm),
                );
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
