//! Handles of the standard ABI: pointers whose value is Towpath's handle number, so no lookup is
//! needed.
//!
//! Source: MPI 5.0, section 20.3. A pointer whose value exceeds 32 bits becomes handle 0, which is
//! invalid.

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
/// `array` must be readable and have more than `index` elements.
pub(crate) unsafe fn read(array: *const c_void, index: usize, _kind: Kind) -> Handle {
    // SAFETY: `array` has more than `index` elements (this function's contract).
    handle_in(unsafe { *array.cast::<usize>().add(index) })
}

/// Writes element `index` of an array of handles.
///
/// # Safety
/// `array` must be writable and have more than `index` elements.
pub(crate) unsafe fn write(array: *mut c_void, index: usize, _kind: Kind, handle: Handle) {
    // SAFETY: `array` is writable and has more than `index` elements (this function's contract).
    unsafe { *array.cast::<usize>().add(index) = handle.0 as usize }
}

macro_rules! inout {
    ($($name:ident: $kind:ty, $into:ident;)*) => {
        $(
            /// Returns the handle in a variable of the program; handle 0 if the pointer is NULL.
            ///
            /// # Safety
            /// `variable` must be NULL or point to a handle.
            #[inline]
            pub(crate) unsafe fn $name(variable: *const $kind) -> Handle {
                // SAFETY: `variable` is not NULL, so it points to a handle (this function's
                // contract).
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
