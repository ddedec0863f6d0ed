//! Errors and their handlers (9.3 to 9.5).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::useless_conversion)]

use crate::prelude::*;

export! {
    PMPI_Add_error_class, MPI_Add_error_class(errorclass: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(283, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(errorclass, "errorclass")?;
                let outcome = towpath_mpi::errors::add_error_class();
                deliver(
                    outcome,
                    |v_errorclass| {
                        *errorclass = error_class_out(v_errorclass);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Add_error_code, MPI_Add_error_code(errorclass: c_int, errorcode: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(284, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(errorcode, "errorcode")?;
                let outcome = towpath_mpi::errors::add_error_code(error_class_in(errorclass));
                deliver(
                    outcome,
                    |v_errorcode| {
                        *errorcode = error_code_out(v_errorcode);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Add_error_string, MPI_Add_error_string(errorcode: c_int, string: *const c_char) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(285, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::errors::add_error_string(
                    error_code_in(errorcode),
                    StringArgument::new(string),
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Comm_call_errhandler, MPI_Comm_call_errhandler(comm: MPI_Comm, errorcode: c_int) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(286, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::errors::comm_call_errhandler(comm_in(comm), error_code_in(errorcode))?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Comm_create_errhandler, MPI_Comm_create_errhandler(
        comm_errhandler_fn: *const c_void,
        errhandler: *mut MPI_Errhandler,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(287, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(errhandler, "errhandler")?;
                let outcome =
                    towpath_mpi::errors::comm_create_errhandler(callback_in(comm_errhandler_fn));
                deliver(
                    outcome,
                    |v_errhandler| {
                        *errhandler = errhandler_out(v_errhandler);
                    },
                    || {
                        *errhandler = errhandler_out(towpath_mpi::constants::ERRHANDLER_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Comm_get_errhandler, MPI_Comm_get_errhandler(
        comm: MPI_Comm,
        errhandler: *mut MPI_Errhandler,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(288, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(errhandler, "errhandler")?;
                let outcome = towpath_mpi::errors::comm_get_errhandler(comm_in(comm));
                deliver(
                    outcome,
                    |v_errhandler| {
                        *errhandler = errhandler_out(v_errhandler);
                    },
                    || {
                        *errhandler = errhandler_out(towpath_mpi::constants::ERRHANDLER_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Comm_set_errhandler, MPI_Comm_set_errhandler(
        comm: MPI_Comm,
        errhandler: MPI_Errhandler,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(289, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::errors::comm_set_errhandler(comm_in(comm), errhandler_in(errhandler))?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Errhandler_free, MPI_Errhandler_free(errhandler: *mut MPI_Errhandler) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(290, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(errhandler, "errhandler")?;
                let mut v_errhandler = errhandler_in(*errhandler);
                let outcome = towpath_mpi::errors::errhandler_free(&mut v_errhandler);
                *errhandler = errhandler_out(v_errhandler);
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Error_class, MPI_Error_class(errorcode: c_int, errorclass: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(291, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(errorclass, "errorclass")?;
                let outcome = towpath_mpi::errors::error_class(error_code_in(errorcode));
                deliver(
                    outcome,
                    |v_errorclass| {
                        *errorclass = error_class_out(v_errorclass);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Error_string, MPI_Error_string(
        errorcode: c_int,
        string: *mut c_char,
        resultlen: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(292, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(string, "string")?;
                require(resultlen, "resultlen")?;
                let outcome = towpath_mpi::errors::error_string(error_code_in(errorcode));
                deliver(
                    outcome,
                    |v_string| {
                        *resultlen = put_string(string, limits::MAX_ERROR_STRING, &v_string);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_File_call_errhandler, MPI_File_call_errhandler(fh: MPI_File, errorcode: c_int) {
        let owner = || ErrhandlerOwner::File(file_in(fh));
        call(293, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::errors::file_call_errhandler(file_in(fh), error_code_in(errorcode))?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_File_create_errhandler, MPI_File_create_errhandler(
        file_errhandler_fn: *const c_void,
        errhandler: *mut MPI_Errhandler,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(294, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(errhandler, "errhandler")?;
                let outcome =
                    towpath_mpi::errors::file_create_errhandler(callback_in(file_errhandler_fn));
                deliver(
                    outcome,
                    |v_errhandler| {
                        *errhandler = errhandler_out(v_errhandler);
                    },
                    || {
                        *errhandler = errhandler_out(towpath_mpi::constants::ERRHANDLER_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_File_get_errhandler, MPI_File_get_errhandler(
        file: MPI_File,
        errhandler: *mut MPI_Errhandler,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(file));
        call(295, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(errhandler, "errhandler")?;
                let outcome = towpath_mpi::errors::file_get_errhandler(file_in(file));
                deliver(
                    outcome,
                    |v_errhandler| {
                        *errhandler = errhandler_out(v_errhandler);
                    },
                    || {
                        *errhandler = errhandler_out(towpath_mpi::constants::ERRHANDLER_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_File_set_errhandler, MPI_File_set_errhandler(
        file: MPI_File,
        errhandler: MPI_Errhandler,
    ) {
        let owner = || ErrhandlerOwner::File(file_in(file));
        call(296, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::errors::file_set_errhandler(file_in(file), errhandler_in(errhandler))?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Remove_error_class, MPI_Remove_error_class(errorclass: c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(297, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::errors::remove_error_class(error_class_in(errorclass))?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Remove_error_code, MPI_Remove_error_code(errorcode: c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(298, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::errors::remove_error_code(error_code_in(errorcode))?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Remove_error_string, MPI_Remove_error_string(errorcode: c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(299, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::errors::remove_error_string(error_code_in(errorcode))?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Session_call_errhandler, MPI_Session_call_errhandler(
        session: MPI_Session,
        errorcode: c_int,
    ) {
        let owner = || ErrhandlerOwner::Session(session_in(session));
        call_any_time(300, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Session_create_errhandler, MPI_Session_create_errhandler(
        session_errhandler_fn: *const c_void,
        errhandler: *mut MPI_Errhandler,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(301, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(errhandler, "errhandler")?;
                let outcome = towpath_mpi::errors::session_create_errhandler(callback_in(
                    session_errhandler_fn,
                ));
                deliver(
                    outcome,
                    |v_errhandler| {
                        *errhandler = errhandler_out(v_errhandler);
                    },
                    || {
                        *errhandler = errhandler_out(towpath_mpi::constants::ERRHANDLER_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Session_get_errhandler, MPI_Session_get_errhandler(
        session: MPI_Session,
        errhandler: *mut MPI_Errhandler,
    ) {
        let owner = || ErrhandlerOwner::Session(session_in(session));
        call_any_time(302, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Session_set_errhandler, MPI_Session_set_errhandler(
        session: MPI_Session,
        errhandler: MPI_Errhandler,
    ) {
        let owner = || ErrhandlerOwner::Session(session_in(session));
        call_any_time(303, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_call_errhandler, MPI_Win_call_errhandler(win: MPI_Win, errorcode: c_int) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(304, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_create_errhandler, MPI_Win_create_errhandler(
        win_errhandler_fn: *const c_void,
        errhandler: *mut MPI_Errhandler,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(305, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(errhandler, "errhandler")?;
                let outcome =
                    towpath_mpi::errors::win_create_errhandler(callback_in(win_errhandler_fn));
                deliver(
                    outcome,
                    |v_errhandler| {
                        *errhandler = errhandler_out(v_errhandler);
                    },
                    || {
                        *errhandler = errhandler_out(towpath_mpi::constants::ERRHANDLER_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Win_get_errhandler, MPI_Win_get_errhandler(
        win: MPI_Win,
        errhandler: *mut MPI_Errhandler,
    ) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(306, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_set_errhandler, MPI_Win_set_errhandler(win: MPI_Win, errhandler: MPI_Errhandler) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(307, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Errhandler_create, MPI_Errhandler_create(
        comm_errhandler_fn: *const c_void,
        errhandler: *mut MPI_Errhandler,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(308, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(errhandler, "errhandler")?;
                let outcome =
                    towpath_mpi::errors::comm_create_errhandler(callback_in(comm_errhandler_fn));
                deliver(
                    outcome,
                    |v_errhandler| {
                        *errhandler = errhandler_out(v_errhandler);
                    },
                    || {
                        *errhandler = errhandler_out(towpath_mpi::constants::ERRHANDLER_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Errhandler_get, MPI_Errhandler_get(comm: MPI_Comm, errhandler: *mut MPI_Errhandler) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(309, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(errhandler, "errhandler")?;
                let outcome = towpath_mpi::errors::comm_get_errhandler(comm_in(comm));
                deliver(
                    outcome,
                    |v_errhandler| {
                        *errhandler = errhandler_out(v_errhandler);
                    },
                    || {
                        *errhandler = errhandler_out(towpath_mpi::constants::ERRHANDLER_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Errhandler_set, MPI_Errhandler_set(comm: MPI_Comm, errhandler: MPI_Errhandler) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(310, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::errors::comm_set_errhandler(comm_in(comm), errhandler_in(errhandler))?;
                Ok(())
            }
        })
    }
}
