//! Errors and their handlers (9.3 to 9.5).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::unit_arg, clippy::let_unit_value)]

use crate::prelude::*;

export! {
    PMPI_Add_error_class, MPI_Add_error_class(errorclass: *mut c_int) {
        call_any_time(283, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Add_error_code, MPI_Add_error_code(errorclass: c_int, errorcode: *mut c_int) {
        call_any_time(284, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Add_error_string, MPI_Add_error_string(errorcode: c_int, string: *const c_char) {
        call_any_time(285, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Comm_call_errhandler, MPI_Comm_call_errhandler(comm: MPI_Comm, errorcode: c_int) {
        call(286, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Comm_create_errhandler, MPI_Comm_create_errhandler(comm_errhandler_fn: *const c_void, errhandler: *mut MPI_Errhandler) {
        call_any_time(287, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Comm_get_errhandler, MPI_Comm_get_errhandler(comm: MPI_Comm, errhandler: *mut MPI_Errhandler) {
        call(288, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Comm_set_errhandler, MPI_Comm_set_errhandler(comm: MPI_Comm, errhandler: MPI_Errhandler) {
        call(289, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Errhandler_free, MPI_Errhandler_free(errhandler: *mut MPI_Errhandler) {
        call_any_time(290, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Error_class, MPI_Error_class(errorcode: c_int, errorclass: *mut c_int) {
        call_any_time(291, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Error_string, MPI_Error_string(errorcode: c_int, string: *mut c_char, resultlen: *mut c_int) {
        call_any_time(292, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_File_call_errhandler, MPI_File_call_errhandler(fh: MPI_File, errorcode: c_int) {
        call(293, Target::File(file_in(fh)), || Err(not_built()))
    }
}

export! {
    PMPI_File_create_errhandler, MPI_File_create_errhandler(file_errhandler_fn: *const c_void, errhandler: *mut MPI_Errhandler) {
        call_any_time(294, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_File_get_errhandler, MPI_File_get_errhandler(file: MPI_File, errhandler: *mut MPI_Errhandler) {
        call(295, Target::File(file_in(file)), || Err(not_built()))
    }
}

export! {
    PMPI_File_set_errhandler, MPI_File_set_errhandler(file: MPI_File, errhandler: MPI_Errhandler) {
        call(296, Target::File(file_in(file)), || Err(not_built()))
    }
}

export! {
    PMPI_Remove_error_class, MPI_Remove_error_class(errorclass: c_int) {
        call_any_time(297, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Remove_error_code, MPI_Remove_error_code(errorcode: c_int) {
        call_any_time(298, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Remove_error_string, MPI_Remove_error_string(errorcode: c_int) {
        call_any_time(299, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Session_call_errhandler, MPI_Session_call_errhandler(session: MPI_Session, errorcode: c_int) {
        call_any_time(300, Target::Session(session_in(session)), || Err(not_built()))
    }
}

export! {
    PMPI_Session_create_errhandler, MPI_Session_create_errhandler(session_errhandler_fn: *const c_void, errhandler: *mut MPI_Errhandler) {
        call_any_time(301, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Session_get_errhandler, MPI_Session_get_errhandler(session: MPI_Session, errhandler: *mut MPI_Errhandler) {
        call_any_time(302, Target::Session(session_in(session)), || Err(not_built()))
    }
}

export! {
    PMPI_Session_set_errhandler, MPI_Session_set_errhandler(session: MPI_Session, errhandler: MPI_Errhandler) {
        call_any_time(303, Target::Session(session_in(session)), || Err(not_built()))
    }
}

export! {
    PMPI_Win_call_errhandler, MPI_Win_call_errhandler(win: MPI_Win, errorcode: c_int) {
        call(304, Target::Win(win_in(win)), || Err(not_built()))
    }
}

export! {
    PMPI_Win_create_errhandler, MPI_Win_create_errhandler(win_errhandler_fn: *const c_void, errhandler: *mut MPI_Errhandler) {
        call_any_time(305, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Win_get_errhandler, MPI_Win_get_errhandler(win: MPI_Win, errhandler: *mut MPI_Errhandler) {
        call(306, Target::Win(win_in(win)), || Err(not_built()))
    }
}

export! {
    PMPI_Win_set_errhandler, MPI_Win_set_errhandler(win: MPI_Win, errhandler: MPI_Errhandler) {
        call(307, Target::Win(win_in(win)), || Err(not_built()))
    }
}

export! {
    PMPI_Errhandler_create, MPI_Errhandler_create(comm_errhandler_fn: *const c_void, errhandler: *mut MPI_Errhandler) {
        call_any_time(308, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Errhandler_get, MPI_Errhandler_get(comm: MPI_Comm, errhandler: *mut MPI_Errhandler) {
        call(309, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Errhandler_set, MPI_Errhandler_set(comm: MPI_Comm, errhandler: MPI_Errhandler) {
        call(310, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}
