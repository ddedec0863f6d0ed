//! Files (chapter 14).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::useless_conversion)]

use crate::prelude::*;

export! {
    PMPI_File_close, MPI_File_close(fh: *mut MPI_File) {
        // SAFETY: NULL or the program's variable.
        let at = unsafe { file_at(fh) };
        let owner = || ErrhandlerOwner::File(at);
        call(381, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_delete, MPI_File_delete(filename: *const c_char, info: MPI_Info) {
        let owner = || ErrhandlerOwner::None;
        call(382, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_get_amode, MPI_File_get_amode(fh: MPI_File, amode: *mut c_int) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(383, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_get_atomicity, MPI_File_get_atomicity(fh: MPI_File, flag: *mut c_int) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(384, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_get_byte_offset, MPI_File_get_byte_offset(
        fh: MPI_File,
        offset: i64,
        disp: *mut i64,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(385, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_get_group, MPI_File_get_group(fh: MPI_File, group: *mut MPI_Group) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(386, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_get_info, MPI_File_get_info(fh: MPI_File, info_used: *mut MPI_Info) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(387, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_get_position, MPI_File_get_position(fh: MPI_File, offset: *mut i64) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(388, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_get_position_shared, MPI_File_get_position_shared(fh: MPI_File, offset: *mut i64) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(389, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_get_size, MPI_File_get_size(fh: MPI_File, size: *mut i64) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(390, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_get_type_extent, MPI_File_get_type_extent(
        fh: MPI_File,
        datatype: MPI_Datatype,
        extent: *mut i64,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(391, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_get_type_extent_c, MPI_File_get_type_extent_c(
        fh: MPI_File,
        datatype: MPI_Datatype,
        extent: *mut i64,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(391, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_get_view, MPI_File_get_view(
        fh: MPI_File,
        disp: *mut i64,
        etype: *mut MPI_Datatype,
        filetype: *mut MPI_Datatype,
        datarep: *mut c_char,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(392, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_iread, MPI_File_iread(
        fh: MPI_File,
        buf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(393, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_iread_c, MPI_File_iread_c(
        fh: MPI_File,
        buf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(393, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_iread_all, MPI_File_iread_all(
        fh: MPI_File,
        buf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(394, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_iread_all_c, MPI_File_iread_all_c(
        fh: MPI_File,
        buf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(394, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_iread_at, MPI_File_iread_at(
        fh: MPI_File,
        offset: i64,
        buf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(395, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_iread_at_c, MPI_File_iread_at_c(
        fh: MPI_File,
        offset: i64,
        buf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(395, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_iread_at_all, MPI_File_iread_at_all(
        fh: MPI_File,
        offset: i64,
        buf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(396, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_iread_at_all_c, MPI_File_iread_at_all_c(
        fh: MPI_File,
        offset: i64,
        buf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(396, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_iread_shared, MPI_File_iread_shared(
        fh: MPI_File,
        buf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(397, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_iread_shared_c, MPI_File_iread_shared_c(
        fh: MPI_File,
        buf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(397, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_iwrite, MPI_File_iwrite(
        fh: MPI_File,
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(398, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_iwrite_c, MPI_File_iwrite_c(
        fh: MPI_File,
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(398, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_iwrite_all, MPI_File_iwrite_all(
        fh: MPI_File,
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(399, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_iwrite_all_c, MPI_File_iwrite_all_c(
        fh: MPI_File,
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(399, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_iwrite_at, MPI_File_iwrite_at(
        fh: MPI_File,
        offset: i64,
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(400, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_iwrite_at_c, MPI_File_iwrite_at_c(
        fh: MPI_File,
        offset: i64,
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(400, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_iwrite_at_all, MPI_File_iwrite_at_all(
        fh: MPI_File,
        offset: i64,
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(401, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_iwrite_at_all_c, MPI_File_iwrite_at_all_c(
        fh: MPI_File,
        offset: i64,
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(401, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_iwrite_shared, MPI_File_iwrite_shared(
        fh: MPI_File,
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(402, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_iwrite_shared_c, MPI_File_iwrite_shared_c(
        fh: MPI_File,
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(402, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_open, MPI_File_open(
        comm: MPI_Comm,
        filename: *const c_char,
        amode: c_int,
        info: MPI_Info,
        fh: *mut MPI_File,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(403, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_preallocate, MPI_File_preallocate(fh: MPI_File, size: i64) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(404, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_read, MPI_File_read(
        fh: MPI_File,
        buf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(405, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_read_c, MPI_File_read_c(
        fh: MPI_File,
        buf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(405, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_read_all, MPI_File_read_all(
        fh: MPI_File,
        buf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(406, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_read_all_c, MPI_File_read_all_c(
        fh: MPI_File,
        buf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(406, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_read_all_begin, MPI_File_read_all_begin(
        fh: MPI_File,
        buf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(407, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_read_all_begin_c, MPI_File_read_all_begin_c(
        fh: MPI_File,
        buf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(407, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_read_all_end, MPI_File_read_all_end(
        fh: MPI_File,
        buf: *mut c_void,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(408, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_read_at, MPI_File_read_at(
        fh: MPI_File,
        offset: i64,
        buf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(409, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_read_at_c, MPI_File_read_at_c(
        fh: MPI_File,
        offset: i64,
        buf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(409, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_read_at_all, MPI_File_read_at_all(
        fh: MPI_File,
        offset: i64,
        buf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(410, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_read_at_all_c, MPI_File_read_at_all_c(
        fh: MPI_File,
        offset: i64,
        buf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(410, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_read_at_all_begin, MPI_File_read_at_all_begin(
        fh: MPI_File,
        offset: i64,
        buf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(411, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_read_at_all_begin_c, MPI_File_read_at_all_begin_c(
        fh: MPI_File,
        offset: i64,
        buf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(411, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_read_at_all_end, MPI_File_read_at_all_end(
        fh: MPI_File,
        buf: *mut c_void,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(412, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_read_ordered, MPI_File_read_ordered(
        fh: MPI_File,
        buf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(413, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_read_ordered_c, MPI_File_read_ordered_c(
        fh: MPI_File,
        buf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(413, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_read_ordered_begin, MPI_File_read_ordered_begin(
        fh: MPI_File,
        buf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(414, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_read_ordered_begin_c, MPI_File_read_ordered_begin_c(
        fh: MPI_File,
        buf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(414, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_read_ordered_end, MPI_File_read_ordered_end(
        fh: MPI_File,
        buf: *mut c_void,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(415, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_read_shared, MPI_File_read_shared(
        fh: MPI_File,
        buf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(416, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_read_shared_c, MPI_File_read_shared_c(
        fh: MPI_File,
        buf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(416, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_seek, MPI_File_seek(fh: MPI_File, offset: i64, whence: c_int) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(417, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_seek_shared, MPI_File_seek_shared(fh: MPI_File, offset: i64, whence: c_int) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(418, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_set_atomicity, MPI_File_set_atomicity(fh: MPI_File, flag: c_int) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(419, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_set_info, MPI_File_set_info(fh: MPI_File, info: MPI_Info) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(420, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_set_size, MPI_File_set_size(fh: MPI_File, size: i64) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(421, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_set_view, MPI_File_set_view(
        fh: MPI_File,
        disp: i64,
        etype: MPI_Datatype,
        filetype: MPI_Datatype,
        datarep: *const c_char,
        info: MPI_Info,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(422, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_sync, MPI_File_sync(fh: MPI_File) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(423, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_write, MPI_File_write(
        fh: MPI_File,
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(424, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_write_c, MPI_File_write_c(
        fh: MPI_File,
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(424, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_write_all, MPI_File_write_all(
        fh: MPI_File,
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(425, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_write_all_c, MPI_File_write_all_c(
        fh: MPI_File,
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(425, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_write_all_begin, MPI_File_write_all_begin(
        fh: MPI_File,
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(426, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_write_all_begin_c, MPI_File_write_all_begin_c(
        fh: MPI_File,
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(426, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_write_all_end, MPI_File_write_all_end(
        fh: MPI_File,
        buf: *const c_void,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(427, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_write_at, MPI_File_write_at(
        fh: MPI_File,
        offset: i64,
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(428, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_write_at_c, MPI_File_write_at_c(
        fh: MPI_File,
        offset: i64,
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(428, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_write_at_all, MPI_File_write_at_all(
        fh: MPI_File,
        offset: i64,
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(429, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_write_at_all_c, MPI_File_write_at_all_c(
        fh: MPI_File,
        offset: i64,
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(429, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_write_at_all_begin, MPI_File_write_at_all_begin(
        fh: MPI_File,
        offset: i64,
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(430, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_write_at_all_begin_c, MPI_File_write_at_all_begin_c(
        fh: MPI_File,
        offset: i64,
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(430, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_write_at_all_end, MPI_File_write_at_all_end(
        fh: MPI_File,
        buf: *const c_void,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(431, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_write_ordered, MPI_File_write_ordered(
        fh: MPI_File,
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(432, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_write_ordered_c, MPI_File_write_ordered_c(
        fh: MPI_File,
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(432, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_write_ordered_begin, MPI_File_write_ordered_begin(
        fh: MPI_File,
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(433, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_write_ordered_begin_c, MPI_File_write_ordered_begin_c(
        fh: MPI_File,
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(433, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_write_ordered_end, MPI_File_write_ordered_end(
        fh: MPI_File,
        buf: *const c_void,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(434, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_write_shared, MPI_File_write_shared(
        fh: MPI_File,
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(435, owner, || Err(not_built()))
    }
}

export! {
    PMPI_File_write_shared_c, MPI_File_write_shared_c(
        fh: MPI_File,
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(435, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Register_datarep, MPI_Register_datarep(
        datarep: *const c_char,
        read_conversion_fn: *const c_void,
        write_conversion_fn: *const c_void,
        dtype_file_extent_fn: *const c_void,
        extra_state: *mut c_void,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(436, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Register_datarep_c, MPI_Register_datarep_c(
        datarep: *const c_char,
        read_conversion_fn: *const c_void,
        write_conversion_fn: *const c_void,
        dtype_file_extent_fn: *const c_void,
        extra_state: *mut c_void,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(436, owner, || Err(not_built()))
    }
}
