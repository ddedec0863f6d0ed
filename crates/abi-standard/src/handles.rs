//! Handles of the standard ABI are pointers that hold Towpath's number; nothing is looked up.
//!
//! Source: MPI 5.0, section 20.3. A pointer that is no 32-bit number becomes the handle 0, which
//! names nothing.

use std::ffi::c_void;

use towpath_mpi::{Handle, Kind};

macro_rules! kinds {
    ($($name:ident: $into:ident, $from:ident;)*) => {
        $(
            #[allow(non_camel_case_types)]
            pub(crate) type $name = usize;
            #[inline(always)]
            pub(crate) fn $into(value: $name) -> Handle {
                handle_in(value)
            }
            #[inline(always)]
            pub(crate) fn $from(handle: Handle) -> $name {
                handle.0 as usize
            }
        )*
    };
}

kinds! {
    MPI_Comm: comm_in, comm_out;
    MPI_Group: group_in, group_out;
    MPI_Datatype: datatype_in, datatype_out;
    MPI_File: file_in, file_out;
    MPI_Errhandler: errhandler_in, errhandler_out;
    MPI_Op: op_in, op_out;
    MPI_Info: info_in, info_out;
    MPI_Win: win_in, win_out;
    MPI_Request: request_in, request_out;
    MPI_Message: message_in, message_out;
    MPI_Session: session_in, session_out;
}

#[inline(always)]
fn handle_in(value: usize) -> Handle {
    Handle(u32::try_from(value).unwrap_or(0))
}

/// Reads element `index` of an array of handles.
///
/// # Safety
/// The array has more than `index` elements.
pub(crate) unsafe fn read(array: *const c_void, index: usize, _kind: Kind) -> Handle {
    // SAFETY: promised by the caller.
    handle_in(unsafe { *array.cast::<usize>().add(index) })
}

/// Writes element `index` of an array of handles.
///
/// # Safety
/// The array is writable and has more than `index` elements.
pub(crate) unsafe fn write(array: *mut c_void, index: usize, _kind: Kind, handle: Handle) {
    // SAFETY: promised by the caller.
    unsafe { *array.cast::<usize>().add(index) = handle.0 as usize }
}

macro_rules! inout {
    ($($name:ident: $kind:ty, $into:ident;)*) => {
        $(
            /// The handle in a variable of the program; handle 0 for NULL.
            ///
            /// # Safety
            /// `variable` is NULL or the program's.
            #[inline]
            pub(crate) unsafe fn $name(variable: *const $kind) -> Handle {
                // SAFETY: promised by the caller.
                if variable.is_null() { Handle(0) } else { $into(unsafe { *variable }) }
            }
        )*
    };
}

inout! {
    comm_at: MPI_Comm, comm_in;
    win_at: MPI_Win, win_in;
    file_at: MPI_File, file_in;
    session_at: MPI_Session, session_in;
}
