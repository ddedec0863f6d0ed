//! Functions that return no error code or have no body in the `mpi` crate.

use crate::prelude::*;

export! {
    /// Version of this ABI (MPI 5.0, 20.2).
    PMPI_Abi_get_version, MPI_Abi_get_version(major: *mut c_int, minor: *mut c_int) {
        // SAFETY: `major` and `minor` are NULL or point to writable variables.
        unsafe {
            put(major, 1);
            put(minor, 0);
        }
        0
    }
}

/// Writes a description of how this host reaches others, as lines of text, for `towpath info`,
/// which loads this library to call it. Not declared in any header. Writes at most `room` bytes,
/// including a terminating zero, and returns the length of the whole text.
///
/// # Safety
/// `text` must be writable for `room` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn towpath_networks(text: *mut c_char, room: usize) -> usize {
    // SAFETY: `text` is writable for `room` bytes (this function's contract).
    unsafe { write(&towpath_mpi::survey_of_networks(), text, room) }
}

/// Like [`towpath_networks`], for the devices of this host. Loads the CUDA driver.
///
/// # Safety
/// `text` must be writable for `room` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn towpath_devices(text: *mut c_char, room: usize) -> usize {
    // SAFETY: `text` is writable for `room` bytes (this function's contract).
    unsafe { write(&towpath_mpi::survey_of_devices(), text, room) }
}

/// Writes at most `room` bytes of a text, including a terminating zero; returns its whole length.
///
/// # Safety
/// `text` must be writable for `room` bytes.
unsafe fn write(whole: &str, text: *mut c_char, room: usize) -> usize {
    if let Some(most) = room.checked_sub(1) {
        let length = whole.len().min(most);
        // SAFETY: `text` is writable for `room` bytes, and `length` is less than `room`.
        unsafe {
            std::ptr::copy_nonoverlapping(whole.as_ptr().cast(), text, length);
            text.add(length).write(0);
        }
    }
    whole.len()
}

macro_rules! numbers {
    ($($kind:ty, $into:ident, $from:ident, $ptoint:ident, $toint:ident, $pfromint:ident, $fromint:ident;)*) => {
        $(
            export! {
                /// Converts a handle to its Fortran integer (MPI 5.0, 20.4).
                $ptoint, $toint(handle: $kind) -> c_int {
                    $into(handle).0 as c_int
                }
            }
            export! {
                /// Converts a Fortran integer to a handle.
                $pfromint, $fromint(number: c_int) -> $kind {
                    $from(towpath_mpi::Handle(number as u32))
                }
            }
        )*
    };
}

numbers! {
    MPI_Comm, comm_in, comm_out, PMPI_Comm_toint, MPI_Comm_toint, PMPI_Comm_fromint, MPI_Comm_fromint;
    MPI_Group, group_in, group_out, PMPI_Group_toint, MPI_Group_toint, PMPI_Group_fromint, MPI_Group_fromint;
    MPI_Datatype, datatype_in, datatype_out, PMPI_Type_toint, MPI_Type_toint, PMPI_Type_fromint, MPI_Type_fromint;
    MPI_File, file_in, file_out, PMPI_File_toint, MPI_File_toint, PMPI_File_fromint, MPI_File_fromint;
    MPI_Errhandler, errhandler_in, errhandler_out,
        PMPI_Errhandler_toint, MPI_Errhandler_toint, PMPI_Errhandler_fromint, MPI_Errhandler_fromint;
    MPI_Op, op_in, op_out, PMPI_Op_toint, MPI_Op_toint, PMPI_Op_fromint, MPI_Op_fromint;
    MPI_Info, info_in, info_out, PMPI_Info_toint, MPI_Info_toint, PMPI_Info_fromint, MPI_Info_fromint;
    MPI_Win, win_in, win_out, PMPI_Win_toint, MPI_Win_toint, PMPI_Win_fromint, MPI_Win_fromint;
    MPI_Request, request_in, request_out,
        PMPI_Request_toint, MPI_Request_toint, PMPI_Request_fromint, MPI_Request_fromint;
    MPI_Message, message_in, message_out,
        PMPI_Message_toint, MPI_Message_toint, PMPI_Message_fromint, MPI_Message_fromint;
    MPI_Session, session_in, session_out,
        PMPI_Session_toint, MPI_Session_toint, PMPI_Session_fromint, MPI_Session_fromint;
}
