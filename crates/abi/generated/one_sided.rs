//! One-sided communication (chapter 12).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::useless_conversion)]

use crate::prelude::*;

export! {
    PMPI_Accumulate, MPI_Accumulate(
        origin_addr: *const c_void,
        origin_count: c_int,
        origin_datatype: MPI_Datatype,
        target_rank: c_int,
        target_disp: i64,
        target_count: c_int,
        target_datatype: MPI_Datatype,
        op: MPI_Op,
        win: MPI_Win,
    ) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(343, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Accumulate_c, MPI_Accumulate_c(
        origin_addr: *const c_void,
        origin_count: i64,
        origin_datatype: MPI_Datatype,
        target_rank: c_int,
        target_disp: i64,
        target_count: i64,
        target_datatype: MPI_Datatype,
        op: MPI_Op,
        win: MPI_Win,
    ) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(343, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Compare_and_swap, MPI_Compare_and_swap(
        origin_addr: *const c_void,
        compare_addr: *const c_void,
        result_addr: *mut c_void,
        datatype: MPI_Datatype,
        target_rank: c_int,
        target_disp: i64,
        win: MPI_Win,
    ) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(344, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Fetch_and_op, MPI_Fetch_and_op(
        origin_addr: *const c_void,
        result_addr: *mut c_void,
        datatype: MPI_Datatype,
        target_rank: c_int,
        target_disp: i64,
        op: MPI_Op,
        win: MPI_Win,
    ) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(345, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Get, MPI_Get(
        origin_addr: *mut c_void,
        origin_count: c_int,
        origin_datatype: MPI_Datatype,
        target_rank: c_int,
        target_disp: i64,
        target_count: c_int,
        target_datatype: MPI_Datatype,
        win: MPI_Win,
    ) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(346, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Get_c, MPI_Get_c(
        origin_addr: *mut c_void,
        origin_count: i64,
        origin_datatype: MPI_Datatype,
        target_rank: c_int,
        target_disp: i64,
        target_count: i64,
        target_datatype: MPI_Datatype,
        win: MPI_Win,
    ) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(346, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Get_accumulate, MPI_Get_accumulate(
        origin_addr: *const c_void,
        origin_count: c_int,
        origin_datatype: MPI_Datatype,
        result_addr: *mut c_void,
        result_count: c_int,
        result_datatype: MPI_Datatype,
        target_rank: c_int,
        target_disp: i64,
        target_count: c_int,
        target_datatype: MPI_Datatype,
        op: MPI_Op,
        win: MPI_Win,
    ) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(347, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Get_accumulate_c, MPI_Get_accumulate_c(
        origin_addr: *const c_void,
        origin_count: i64,
        origin_datatype: MPI_Datatype,
        result_addr: *mut c_void,
        result_count: i64,
        result_datatype: MPI_Datatype,
        target_rank: c_int,
        target_disp: i64,
        target_count: i64,
        target_datatype: MPI_Datatype,
        op: MPI_Op,
        win: MPI_Win,
    ) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(347, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Put, MPI_Put(
        origin_addr: *const c_void,
        origin_count: c_int,
        origin_datatype: MPI_Datatype,
        target_rank: c_int,
        target_disp: i64,
        target_count: c_int,
        target_datatype: MPI_Datatype,
        win: MPI_Win,
    ) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(348, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Put_c, MPI_Put_c(
        origin_addr: *const c_void,
        origin_count: i64,
        origin_datatype: MPI_Datatype,
        target_rank: c_int,
        target_disp: i64,
        target_count: i64,
        target_datatype: MPI_Datatype,
        win: MPI_Win,
    ) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(348, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Raccumulate, MPI_Raccumulate(
        origin_addr: *const c_void,
        origin_count: c_int,
        origin_datatype: MPI_Datatype,
        target_rank: c_int,
        target_disp: i64,
        target_count: c_int,
        target_datatype: MPI_Datatype,
        op: MPI_Op,
        win: MPI_Win,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(349, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Raccumulate_c, MPI_Raccumulate_c(
        origin_addr: *const c_void,
        origin_count: i64,
        origin_datatype: MPI_Datatype,
        target_rank: c_int,
        target_disp: i64,
        target_count: i64,
        target_datatype: MPI_Datatype,
        op: MPI_Op,
        win: MPI_Win,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(349, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Rget, MPI_Rget(
        origin_addr: *mut c_void,
        origin_count: c_int,
        origin_datatype: MPI_Datatype,
        target_rank: c_int,
        target_disp: i64,
        target_count: c_int,
        target_datatype: MPI_Datatype,
        win: MPI_Win,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(350, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Rget_c, MPI_Rget_c(
        origin_addr: *mut c_void,
        origin_count: i64,
        origin_datatype: MPI_Datatype,
        target_rank: c_int,
        target_disp: i64,
        target_count: i64,
        target_datatype: MPI_Datatype,
        win: MPI_Win,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(350, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Rget_accumulate, MPI_Rget_accumulate(
        origin_addr: *const c_void,
        origin_count: c_int,
        origin_datatype: MPI_Datatype,
        result_addr: *mut c_void,
        result_count: c_int,
        result_datatype: MPI_Datatype,
        target_rank: c_int,
        target_disp: i64,
        target_count: c_int,
        target_datatype: MPI_Datatype,
        op: MPI_Op,
        win: MPI_Win,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(351, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Rget_accumulate_c, MPI_Rget_accumulate_c(
        origin_addr: *const c_void,
        origin_count: i64,
        origin_datatype: MPI_Datatype,
        result_addr: *mut c_void,
        result_count: i64,
        result_datatype: MPI_Datatype,
        target_rank: c_int,
        target_disp: i64,
        target_count: i64,
        target_datatype: MPI_Datatype,
        op: MPI_Op,
        win: MPI_Win,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(351, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Rput, MPI_Rput(
        origin_addr: *const c_void,
        origin_count: c_int,
        origin_datatype: MPI_Datatype,
        target_rank: c_int,
        target_disp: i64,
        target_count: c_int,
        target_datatype: MPI_Datatype,
        win: MPI_Win,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(352, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Rput_c, MPI_Rput_c(
        origin_addr: *const c_void,
        origin_count: i64,
        origin_datatype: MPI_Datatype,
        target_rank: c_int,
        target_disp: i64,
        target_count: i64,
        target_datatype: MPI_Datatype,
        win: MPI_Win,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(352, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_allocate, MPI_Win_allocate(
        size: i64,
        disp_unit: c_int,
        info: MPI_Info,
        comm: MPI_Comm,
        baseptr: *mut c_void,
        win: *mut MPI_Win,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(353, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_allocate_c, MPI_Win_allocate_c(
        size: i64,
        disp_unit: i64,
        info: MPI_Info,
        comm: MPI_Comm,
        baseptr: *mut c_void,
        win: *mut MPI_Win,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(353, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_allocate_shared, MPI_Win_allocate_shared(
        size: i64,
        disp_unit: c_int,
        info: MPI_Info,
        comm: MPI_Comm,
        baseptr: *mut c_void,
        win: *mut MPI_Win,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(354, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_allocate_shared_c, MPI_Win_allocate_shared_c(
        size: i64,
        disp_unit: i64,
        info: MPI_Info,
        comm: MPI_Comm,
        baseptr: *mut c_void,
        win: *mut MPI_Win,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(354, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_attach, MPI_Win_attach(win: MPI_Win, base: *mut c_void, size: i64) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(355, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_complete, MPI_Win_complete(win: MPI_Win) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(356, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_create, MPI_Win_create(
        base: *mut c_void,
        size: i64,
        disp_unit: c_int,
        info: MPI_Info,
        comm: MPI_Comm,
        win: *mut MPI_Win,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(357, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_create_c, MPI_Win_create_c(
        base: *mut c_void,
        size: i64,
        disp_unit: i64,
        info: MPI_Info,
        comm: MPI_Comm,
        win: *mut MPI_Win,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(357, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_create_dynamic, MPI_Win_create_dynamic(
        info: MPI_Info,
        comm: MPI_Comm,
        win: *mut MPI_Win,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(358, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_detach, MPI_Win_detach(win: MPI_Win, base: *const c_void) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(359, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_fence, MPI_Win_fence(assert: c_int, win: MPI_Win) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(360, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_flush, MPI_Win_flush(rank: c_int, win: MPI_Win) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(361, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_flush_all, MPI_Win_flush_all(win: MPI_Win) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(362, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_flush_local, MPI_Win_flush_local(rank: c_int, win: MPI_Win) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(363, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_flush_local_all, MPI_Win_flush_local_all(win: MPI_Win) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(364, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_free, MPI_Win_free(win: *mut MPI_Win) {
        // SAFETY: NULL or the program's variable.
        let at = unsafe { win_at(win) };
        let owner = || ErrhandlerOwner::Win(at);
        call(365, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_get_group, MPI_Win_get_group(win: MPI_Win, group: *mut MPI_Group) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(366, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_get_info, MPI_Win_get_info(win: MPI_Win, info_used: *mut MPI_Info) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(367, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_get_name, MPI_Win_get_name(
        win: MPI_Win,
        win_name: *mut c_char,
        resultlen: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(368, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_lock, MPI_Win_lock(lock_type: c_int, rank: c_int, assert: c_int, win: MPI_Win) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(369, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_lock_all, MPI_Win_lock_all(assert: c_int, win: MPI_Win) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(370, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_post, MPI_Win_post(group: MPI_Group, assert: c_int, win: MPI_Win) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(371, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_set_info, MPI_Win_set_info(win: MPI_Win, info: MPI_Info) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(372, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_set_name, MPI_Win_set_name(win: MPI_Win, win_name: *const c_char) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(373, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_shared_query, MPI_Win_shared_query(
        win: MPI_Win,
        rank: c_int,
        size: *mut i64,
        disp_unit: *mut c_int,
        baseptr: *mut c_void,
    ) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(374, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_shared_query_c, MPI_Win_shared_query_c(
        win: MPI_Win,
        rank: c_int,
        size: *mut i64,
        disp_unit: *mut i64,
        baseptr: *mut c_void,
    ) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(374, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_start, MPI_Win_start(group: MPI_Group, assert: c_int, win: MPI_Win) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(375, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_sync, MPI_Win_sync(win: MPI_Win) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(376, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_test, MPI_Win_test(win: MPI_Win, flag: *mut c_int) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(377, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_unlock, MPI_Win_unlock(rank: c_int, win: MPI_Win) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(378, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_unlock_all, MPI_Win_unlock_all(win: MPI_Win) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(379, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_wait, MPI_Win_wait(win: MPI_Win) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(380, owner, || Err(not_built()))
    }
}
