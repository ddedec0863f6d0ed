//! Files (chapter 14).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::useless_conversion)]

use crate::prelude::*;

export! {
    PMPI_File_close, MPI_File_close(fh: *mut MPI_File) {
        // SAFETY: NULL or the program's variable.
        let at = unsafe { file_at(fh) };
        call(381, || Target::File(at), || Err(not_built()))
    }
}

export! {
    PMPI_File_delete, MPI_File_delete(filename: *const c_char, info: MPI_Info) {
        call(382, || Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_File_get_amode, MPI_File_get_amode(fh: MPI_File, amode: *mut c_int) {
        call(383, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_get_atomicity, MPI_File_get_atomicity(fh: MPI_File, flag: *mut c_int) {
        call(384, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_get_byte_offset, MPI_File_get_byte_offset(fh: MPI_File, offset: i64, disp: *mut i64) {
        call(385, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_get_group, MPI_File_get_group(fh: MPI_File, group: *mut MPI_Group) {
        call(386, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_get_info, MPI_File_get_info(fh: MPI_File, info_used: *mut MPI_Info) {
        call(387, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_get_position, MPI_File_get_position(fh: MPI_File, offset: *mut i64) {
        call(388, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_get_position_shared, MPI_File_get_position_shared(fh: MPI_File, offset: *mut i64) {
        call(389, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_get_size, MPI_File_get_size(fh: MPI_File, size: *mut i64) {
        call(390, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_get_type_extent, MPI_File_get_type_extent(fh: MPI_File, datatype: MPI_Datatype, extent: *mut i64) {
        call(391, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_get_type_extent_c, MPI_File_get_type_extent_c(fh: MPI_File, datatype: MPI_Datatype, extent: *mut i64) {
        call(391, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_get_view, MPI_File_get_view(fh: MPI_File, disp: *mut i64, etype: *mut MPI_Datatype, filetype: *mut MPI_Datatype, datarep: *mut c_char) {
        call(392, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_iread, MPI_File_iread(fh: MPI_File, buf: *mut c_void, count: c_int, datatype: MPI_Datatype, request: *mut MPI_Request) {
        call(393, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_iread_c, MPI_File_iread_c(fh: MPI_File, buf: *mut c_void, count: i64, datatype: MPI_Datatype, request: *mut MPI_Request) {
        call(393, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_iread_all, MPI_File_iread_all(fh: MPI_File, buf: *mut c_void, count: c_int, datatype: MPI_Datatype, request: *mut MPI_Request) {
        call(394, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_iread_all_c, MPI_File_iread_all_c(fh: MPI_File, buf: *mut c_void, count: i64, datatype: MPI_Datatype, request: *mut MPI_Request) {
        call(394, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_iread_at, MPI_File_iread_at(fh: MPI_File, offset: i64, buf: *mut c_void, count: c_int, datatype: MPI_Datatype, request: *mut MPI_Request) {
        call(395, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_iread_at_c, MPI_File_iread_at_c(fh: MPI_File, offset: i64, buf: *mut c_void, count: i64, datatype: MPI_Datatype, request: *mut MPI_Request) {
        call(395, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_iread_at_all, MPI_File_iread_at_all(fh: MPI_File, offset: i64, buf: *mut c_void, count: c_int, datatype: MPI_Datatype, request: *mut MPI_Request) {
        call(396, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_iread_at_all_c, MPI_File_iread_at_all_c(fh: MPI_File, offset: i64, buf: *mut c_void, count: i64, datatype: MPI_Datatype, request: *mut MPI_Request) {
        call(396, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_iread_shared, MPI_File_iread_shared(fh: MPI_File, buf: *mut c_void, count: c_int, datatype: MPI_Datatype, request: *mut MPI_Request) {
        call(397, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_iread_shared_c, MPI_File_iread_shared_c(fh: MPI_File, buf: *mut c_void, count: i64, datatype: MPI_Datatype, request: *mut MPI_Request) {
        call(397, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_iwrite, MPI_File_iwrite(fh: MPI_File, buf: *const c_void, count: c_int, datatype: MPI_Datatype, request: *mut MPI_Request) {
        call(398, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_iwrite_c, MPI_File_iwrite_c(fh: MPI_File, buf: *const c_void, count: i64, datatype: MPI_Datatype, request: *mut MPI_Request) {
        call(398, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_iwrite_all, MPI_File_iwrite_all(fh: MPI_File, buf: *const c_void, count: c_int, datatype: MPI_Datatype, request: *mut MPI_Request) {
        call(399, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_iwrite_all_c, MPI_File_iwrite_all_c(fh: MPI_File, buf: *const c_void, count: i64, datatype: MPI_Datatype, request: *mut MPI_Request) {
        call(399, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_iwrite_at, MPI_File_iwrite_at(fh: MPI_File, offset: i64, buf: *const c_void, count: c_int, datatype: MPI_Datatype, request: *mut MPI_Request) {
        call(400, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_iwrite_at_c, MPI_File_iwrite_at_c(fh: MPI_File, offset: i64, buf: *const c_void, count: i64, datatype: MPI_Datatype, request: *mut MPI_Request) {
        call(400, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_iwrite_at_all, MPI_File_iwrite_at_all(fh: MPI_File, offset: i64, buf: *const c_void, count: c_int, datatype: MPI_Datatype, request: *mut MPI_Request) {
        call(401, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_iwrite_at_all_c, MPI_File_iwrite_at_all_c(fh: MPI_File, offset: i64, buf: *const c_void, count: i64, datatype: MPI_Datatype, request: *mut MPI_Request) {
        call(401, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_iwrite_shared, MPI_File_iwrite_shared(fh: MPI_File, buf: *const c_void, count: c_int, datatype: MPI_Datatype, request: *mut MPI_Request) {
        call(402, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_iwrite_shared_c, MPI_File_iwrite_shared_c(fh: MPI_File, buf: *const c_void, count: i64, datatype: MPI_Datatype, request: *mut MPI_Request) {
        call(402, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_open, MPI_File_open(comm: MPI_Comm, filename: *const c_char, amode: c_int, info: MPI_Info, fh: *mut MPI_File) {
        call(403, || Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_File_preallocate, MPI_File_preallocate(fh: MPI_File, size: i64) {
        call(404, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_read, MPI_File_read(fh: MPI_File, buf: *mut c_void, count: c_int, datatype: MPI_Datatype, status: *mut MPI_Status) {
        call(405, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_read_c, MPI_File_read_c(fh: MPI_File, buf: *mut c_void, count: i64, datatype: MPI_Datatype, status: *mut MPI_Status) {
        call(405, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_read_all, MPI_File_read_all(fh: MPI_File, buf: *mut c_void, count: c_int, datatype: MPI_Datatype, status: *mut MPI_Status) {
        call(406, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_read_all_c, MPI_File_read_all_c(fh: MPI_File, buf: *mut c_void, count: i64, datatype: MPI_Datatype, status: *mut MPI_Status) {
        call(406, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_read_all_begin, MPI_File_read_all_begin(fh: MPI_File, buf: *mut c_void, count: c_int, datatype: MPI_Datatype) {
        call(407, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_read_all_begin_c, MPI_File_read_all_begin_c(fh: MPI_File, buf: *mut c_void, count: i64, datatype: MPI_Datatype) {
        call(407, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_read_all_end, MPI_File_read_all_end(fh: MPI_File, buf: *mut c_void, status: *mut MPI_Status) {
        call(408, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_read_at, MPI_File_read_at(fh: MPI_File, offset: i64, buf: *mut c_void, count: c_int, datatype: MPI_Datatype, status: *mut MPI_Status) {
        call(409, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_read_at_c, MPI_File_read_at_c(fh: MPI_File, offset: i64, buf: *mut c_void, count: i64, datatype: MPI_Datatype, status: *mut MPI_Status) {
        call(409, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_read_at_all, MPI_File_read_at_all(fh: MPI_File, offset: i64, buf: *mut c_void, count: c_int, datatype: MPI_Datatype, status: *mut MPI_Status) {
        call(410, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_read_at_all_c, MPI_File_read_at_all_c(fh: MPI_File, offset: i64, buf: *mut c_void, count: i64, datatype: MPI_Datatype, status: *mut MPI_Status) {
        call(410, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_read_at_all_begin, MPI_File_read_at_all_begin(fh: MPI_File, offset: i64, buf: *mut c_void, count: c_int, datatype: MPI_Datatype) {
        call(411, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_read_at_all_begin_c, MPI_File_read_at_all_begin_c(fh: MPI_File, offset: i64, buf: *mut c_void, count: i64, datatype: MPI_Datatype) {
        call(411, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_read_at_all_end, MPI_File_read_at_all_end(fh: MPI_File, buf: *mut c_void, status: *mut MPI_Status) {
        call(412, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_read_ordered, MPI_File_read_ordered(fh: MPI_File, buf: *mut c_void, count: c_int, datatype: MPI_Datatype, status: *mut MPI_Status) {
        call(413, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_read_ordered_c, MPI_File_read_ordered_c(fh: MPI_File, buf: *mut c_void, count: i64, datatype: MPI_Datatype, status: *mut MPI_Status) {
        call(413, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_read_ordered_begin, MPI_File_read_ordered_begin(fh: MPI_File, buf: *mut c_void, count: c_int, datatype: MPI_Datatype) {
        call(414, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_read_ordered_begin_c, MPI_File_read_ordered_begin_c(fh: MPI_File, buf: *mut c_void, count: i64, datatype: MPI_Datatype) {
        call(414, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_read_ordered_end, MPI_File_read_ordered_end(fh: MPI_File, buf: *mut c_void, status: *mut MPI_Status) {
        call(415, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_read_shared, MPI_File_read_shared(fh: MPI_File, buf: *mut c_void, count: c_int, datatype: MPI_Datatype, status: *mut MPI_Status) {
        call(416, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_read_shared_c, MPI_File_read_shared_c(fh: MPI_File, buf: *mut c_void, count: i64, datatype: MPI_Datatype, status: *mut MPI_Status) {
        call(416, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_seek, MPI_File_seek(fh: MPI_File, offset: i64, whence: c_int) {
        call(417, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_seek_shared, MPI_File_seek_shared(fh: MPI_File, offset: i64, whence: c_int) {
        call(418, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_set_atomicity, MPI_File_set_atomicity(fh: MPI_File, flag: c_int) {
        call(419, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_set_info, MPI_File_set_info(fh: MPI_File, info: MPI_Info) {
        call(420, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_set_size, MPI_File_set_size(fh: MPI_File, size: i64) {
        call(421, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_set_view, MPI_File_set_view(fh: MPI_File, disp: i64, etype: MPI_Datatype, filetype: MPI_Datatype, datarep: *const c_char, info: MPI_Info) {
        call(422, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_sync, MPI_File_sync(fh: MPI_File) {
        call(423, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_write, MPI_File_write(fh: MPI_File, buf: *const c_void, count: c_int, datatype: MPI_Datatype, status: *mut MPI_Status) {
        call(424, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_write_c, MPI_File_write_c(fh: MPI_File, buf: *const c_void, count: i64, datatype: MPI_Datatype, status: *mut MPI_Status) {
        call(424, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_write_all, MPI_File_write_all(fh: MPI_File, buf: *const c_void, count: c_int, datatype: MPI_Datatype, status: *mut MPI_Status) {
        call(425, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_write_all_c, MPI_File_write_all_c(fh: MPI_File, buf: *const c_void, count: i64, datatype: MPI_Datatype, status: *mut MPI_Status) {
        call(425, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_write_all_begin, MPI_File_write_all_begin(fh: MPI_File, buf: *const c_void, count: c_int, datatype: MPI_Datatype) {
        call(426, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_write_all_begin_c, MPI_File_write_all_begin_c(fh: MPI_File, buf: *const c_void, count: i64, datatype: MPI_Datatype) {
        call(426, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_write_all_end, MPI_File_write_all_end(fh: MPI_File, buf: *const c_void, status: *mut MPI_Status) {
        call(427, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_write_at, MPI_File_write_at(fh: MPI_File, offset: i64, buf: *const c_void, count: c_int, datatype: MPI_Datatype, status: *mut MPI_Status) {
        call(428, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_write_at_c, MPI_File_write_at_c(fh: MPI_File, offset: i64, buf: *const c_void, count: i64, datatype: MPI_Datatype, status: *mut MPI_Status) {
        call(428, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_write_at_all, MPI_File_write_at_all(fh: MPI_File, offset: i64, buf: *const c_void, count: c_int, datatype: MPI_Datatype, status: *mut MPI_Status) {
        call(429, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_write_at_all_c, MPI_File_write_at_all_c(fh: MPI_File, offset: i64, buf: *const c_void, count: i64, datatype: MPI_Datatype, status: *mut MPI_Status) {
        call(429, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_write_at_all_begin, MPI_File_write_at_all_begin(fh: MPI_File, offset: i64, buf: *const c_void, count: c_int, datatype: MPI_Datatype) {
        call(430, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_write_at_all_begin_c, MPI_File_write_at_all_begin_c(fh: MPI_File, offset: i64, buf: *const c_void, count: i64, datatype: MPI_Datatype) {
        call(430, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_write_at_all_end, MPI_File_write_at_all_end(fh: MPI_File, buf: *const c_void, status: *mut MPI_Status) {
        call(431, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_write_ordered, MPI_File_write_ordered(fh: MPI_File, buf: *const c_void, count: c_int, datatype: MPI_Datatype, status: *mut MPI_Status) {
        call(432, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_write_ordered_c, MPI_File_write_ordered_c(fh: MPI_File, buf: *const c_void, count: i64, datatype: MPI_Datatype, status: *mut MPI_Status) {
        call(432, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_write_ordered_begin, MPI_File_write_ordered_begin(fh: MPI_File, buf: *const c_void, count: c_int, datatype: MPI_Datatype) {
        call(433, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_write_ordered_begin_c, MPI_File_write_ordered_begin_c(fh: MPI_File, buf: *const c_void, count: i64, datatype: MPI_Datatype) {
        call(433, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_write_ordered_end, MPI_File_write_ordered_end(fh: MPI_File, buf: *const c_void, status: *mut MPI_Status) {
        call(434, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_write_shared, MPI_File_write_shared(fh: MPI_File, buf: *const c_void, count: c_int, datatype: MPI_Datatype, status: *mut MPI_Status) {
        call(435, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_write_shared_c, MPI_File_write_shared_c(fh: MPI_File, buf: *const c_void, count: i64, datatype: MPI_Datatype, status: *mut MPI_Status) {
        call(435, || Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_Register_datarep, MPI_Register_datarep(datarep: *const c_char, read_conversion_fn: *const c_void, write_conversion_fn: *const c_void, dtype_file_extent_fn: *const c_void, extra_state: *mut c_void) {
        call(436, || Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Register_datarep_c, MPI_Register_datarep_c(datarep: *const c_char, read_conversion_fn: *const c_void, write_conversion_fn: *const c_void, dtype_file_extent_fn: *const c_void, extra_state: *mut c_void) {
        call(436, || Target::None, || Err(not_built()))
    }
}
