//! Names outside the standard (MPIX_).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::useless_conversion)]

use crate::prelude::*;

export! {
    PMPIX_Allreduce_enqueue, MPIX_Allreduce_enqueue(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(542, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Allreduce_enqueue_c, MPIX_Allreduce_enqueue_c(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        op: MPI_Op,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(542, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Async_spawn, MPIX_Async_spawn(
        async_thing: *mut c_void,
        poll_fn: *const c_void,
        extra_state: *mut c_void,
        stream: c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(544, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Async_start, MPIX_Async_start(
        poll_fn: *const c_void,
        extra_state: *mut c_void,
        stream: c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(545, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Comm_agree, MPIX_Comm_agree(comm: MPI_Comm, flag: *mut c_int) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(546, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Comm_create_errhandler_x, MPIX_Comm_create_errhandler_x(
        comm_errhandler_fn_x: *const c_void,
        destructor_fn: *const c_void,
        extra_state: *mut c_void,
        errhandler: *mut MPI_Errhandler,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(547, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Comm_failure_ack, MPIX_Comm_failure_ack(comm: MPI_Comm) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(548, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Comm_failure_get_acked, MPIX_Comm_failure_get_acked(
        comm: MPI_Comm,
        failedgrp: *mut MPI_Group,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(549, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Comm_get_failed, MPIX_Comm_get_failed(comm: MPI_Comm, failedgrp: *mut MPI_Group) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(550, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Comm_get_stream, MPIX_Comm_get_stream(comm: MPI_Comm, idx: c_int, stream: *mut c_int) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(551, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Comm_revoke, MPIX_Comm_revoke(comm: MPI_Comm) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(552, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Comm_shrink, MPIX_Comm_shrink(comm: MPI_Comm, newcomm: *mut MPI_Comm) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(553, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Comm_test_threadcomm, MPIX_Comm_test_threadcomm(comm: MPI_Comm, flag: *mut c_int) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(554, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_File_create_errhandler_x, MPIX_File_create_errhandler_x(
        comm_errhandler_fn_x: *const c_void,
        destructor_fn: *const c_void,
        extra_state: *mut c_void,
        errhandler: *mut MPI_Errhandler,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(555, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_GPU_query_support, MPIX_GPU_query_support(gpu_type: c_int, is_supported: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(556, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(is_supported, "is_supported")?;
                let outcome = towpath_mpi::extensions::gpu_query_support(gpu_type);
                deliver(
                    outcome,
                    |v_is_supported| {
                        *is_supported = c_int::from(v_is_supported);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPIX_Grequest_class_allocate, MPIX_Grequest_class_allocate(
        greq_class: c_int,
        extra_state: *mut c_void,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(557, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Grequest_class_create, MPIX_Grequest_class_create(
        query_fn: *const c_void,
        free_fn: *const c_void,
        cancel_fn: *const c_void,
        poll_fn: *const c_void,
        wait_fn: *const c_void,
        greq_class: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(558, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Grequest_start, MPIX_Grequest_start(
        query_fn: *const c_void,
        free_fn: *const c_void,
        cancel_fn: *const c_void,
        poll_fn: *const c_void,
        wait_fn: *const c_void,
        extra_state: *mut c_void,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(559, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Info_set_hex, MPIX_Info_set_hex(
        info: MPI_Info,
        key: *const c_char,
        value: *const c_void,
        value_size: c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(560, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Irecv_enqueue, MPIX_Irecv_enqueue(
        buf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        source: c_int,
        tag: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(561, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Irecv_enqueue_c, MPIX_Irecv_enqueue_c(
        buf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        source: c_int,
        tag: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(561, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Isend_enqueue, MPIX_Isend_enqueue(
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(562, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Isend_enqueue_c, MPIX_Isend_enqueue_c(
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(562, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Op_create_x, MPIX_Op_create_x(
        user_fn_x: *const c_void,
        destructor_fn: *const c_void,
        commute: c_int,
        extra_state: *mut c_void,
        op: *mut MPI_Op,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(563, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Recv_enqueue, MPIX_Recv_enqueue(
        buf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        source: c_int,
        tag: c_int,
        comm: MPI_Comm,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(567, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Recv_enqueue_c, MPIX_Recv_enqueue_c(
        buf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        source: c_int,
        tag: c_int,
        comm: MPI_Comm,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(567, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Request_is_complete, MPIX_Request_is_complete(request: MPI_Request) {
        let owner = || ErrhandlerOwner::None;
        call(568, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Send_enqueue, MPIX_Send_enqueue(
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(569, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Send_enqueue_c, MPIX_Send_enqueue_c(
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(569, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Session_create_errhandler_x, MPIX_Session_create_errhandler_x(
        comm_errhandler_fn_x: *const c_void,
        destructor_fn: *const c_void,
        extra_state: *mut c_void,
        errhandler: *mut MPI_Errhandler,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(570, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Start_progress_thread, MPIX_Start_progress_thread(stream: c_int) {
        let owner = || ErrhandlerOwner::None;
        call(571, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Stop_progress_thread, MPIX_Stop_progress_thread(stream: c_int) {
        let owner = || ErrhandlerOwner::None;
        call(572, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Stream_comm_create, MPIX_Stream_comm_create(
        comm: MPI_Comm,
        stream: c_int,
        newcomm: *mut MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(573, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Stream_comm_create_multiplex, MPIX_Stream_comm_create_multiplex(
        comm: MPI_Comm,
        count: c_int,
        array_of_streams: *mut c_void,
        newcomm: *mut MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(574, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Stream_create, MPIX_Stream_create(info: MPI_Info, stream: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call(575, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Stream_free, MPIX_Stream_free(stream: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call(576, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Stream_irecv, MPIX_Stream_irecv(
        buf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        source: c_int,
        tag: c_int,
        comm: MPI_Comm,
        source_stream_index: c_int,
        dest_stream_index: c_int,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(577, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Stream_irecv_c, MPIX_Stream_irecv_c(
        buf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        source: c_int,
        tag: c_int,
        comm: MPI_Comm,
        source_stream_index: c_int,
        dest_stream_index: c_int,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(577, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Stream_isend, MPIX_Stream_isend(
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
        source_stream_index: c_int,
        dest_stream_index: c_int,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(578, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Stream_isend_c, MPIX_Stream_isend_c(
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
        source_stream_index: c_int,
        dest_stream_index: c_int,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(578, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Stream_progress, MPIX_Stream_progress(stream: c_int) {
        let owner = || ErrhandlerOwner::None;
        call(579, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Stream_recv, MPIX_Stream_recv(
        buf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        source: c_int,
        tag: c_int,
        comm: MPI_Comm,
        source_stream_index: c_int,
        dest_stream_index: c_int,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(580, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Stream_recv_c, MPIX_Stream_recv_c(
        buf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        source: c_int,
        tag: c_int,
        comm: MPI_Comm,
        source_stream_index: c_int,
        dest_stream_index: c_int,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(580, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Stream_send, MPIX_Stream_send(
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
        source_stream_index: c_int,
        dest_stream_index: c_int,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(581, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Stream_send_c, MPIX_Stream_send_c(
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
        source_stream_index: c_int,
        dest_stream_index: c_int,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(581, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Threadcomm_finish, MPIX_Threadcomm_finish(threadcomm: MPI_Comm) {
        let owner = || ErrhandlerOwner::Comm(comm_in(threadcomm));
        call(582, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Threadcomm_free, MPIX_Threadcomm_free(threadcomm: *mut MPI_Comm) {
        // SAFETY: NULL or the program's variable.
        let at = unsafe { comm_at(threadcomm) };
        let owner = || ErrhandlerOwner::Comm(at);
        call(583, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Threadcomm_init, MPIX_Threadcomm_init(
        comm: MPI_Comm,
        num_threads: c_int,
        newthreadcomm: *mut MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(584, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Threadcomm_start, MPIX_Threadcomm_start(threadcomm: MPI_Comm) {
        let owner = || ErrhandlerOwner::Comm(comm_in(threadcomm));
        call(585, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Type_iov, MPIX_Type_iov(
        datatype: MPI_Datatype,
        iov_offset: i64,
        iov: *mut *mut c_void,
        max_iov_len: i64,
        actual_iov_len: *mut i64,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(586, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Type_iov_len, MPIX_Type_iov_len(
        datatype: MPI_Datatype,
        max_iov_bytes: i64,
        iov_len: *mut i64,
        actual_iov_bytes: *mut i64,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(587, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Wait_enqueue, MPIX_Wait_enqueue(request: *mut MPI_Request, status: *mut MPI_Status) {
        let owner = || ErrhandlerOwner::None;
        call(588, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Waitall_enqueue, MPIX_Waitall_enqueue(
        count: c_int,
        array_of_requests: *mut MPI_Request,
        array_of_statuses: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(589, owner, || Err(not_built()))
    }
}

export! {
    PMPIX_Win_create_errhandler_x, MPIX_Win_create_errhandler_x(
        comm_errhandler_fn_x: *const c_void,
        destructor_fn: *const c_void,
        extra_state: *mut c_void,
        errhandler: *mut MPI_Errhandler,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(590, owner, || Err(not_built()))
    }
}
