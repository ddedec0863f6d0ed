//! Handles of the MPICH ABI: ints with the kind in their upper bits; files are pointers.
//!
//! Predefined handles are converted by the generated tables. Created handles are Towpath's handle
//! numbers, which start at 0xC0000000, a range without predefined handles in MPICH. Any other value
//! becomes handle 0, which is invalid.

use std::ffi::{c_int, c_void};

use towpath_mpi::{Handle, Kind};

use crate::generated::tables::*;

/// Start of the range of created handles.
const CREATED: u32 = 0xC000_0000;

macro_rules! kinds {
    ($($name:ident: $into:ident, $from:ident, $predefined_in:ident, $predefined_out:ident;)*) => {
        $(
            #[allow(non_camel_case_types)]
            pub(crate) type $name = c_int;
            #[inline]
            pub(crate) fn $into(value: $name) -> Handle {
                let value = value as u32;
                if value >= CREATED { Handle(value) } else { $predefined_in(value).unwrap_or(Handle(0)) }
            }
            #[inline]
            pub(crate) fn $from(handle: Handle) -> $name {
                let value = if handle.0 >= CREATED { handle.0 } else { $predefined_out(handle).unwrap_or(0) };
                value as c_int
            }
        )*
    };
}

kinds! {
    MPI_Comm: comm_in, comm_out, predefined_comm_in, predefined_comm_out;
    MPI_Group: group_in, group_out, predefined_group_in, predefined_group_out;
    MPI_Datatype: datatype_in, datatype_out, predefined_datatype_in, predefined_datatype_out;
    MPI_Errhandler: errhandler_in, errhandler_out, predefined_errhandler_in, predefined_errhandler_out;
    MPI_Op: op_in, op_out, predefined_op_in, predefined_op_out;
    MPI_Info: info_in, info_out, predefined_info_in, predefined_info_out;
    MPI_Win: win_in, win_out, predefined_win_in, predefined_win_out;
    MPI_Request: request_in, request_out, predefined_request_in, predefined_request_out;
    MPI_Message: message_in, message_out, predefined_message_in, predefined_message_out;
    MPI_Session: session_in, session_out, predefined_session_in, predefined_session_out;
}

/// Files are pointers in this ABI; MPI_FILE_NULL is NULL.
#[allow(non_camel_case_types)]
pub(crate) type MPI_File = usize;

#[inline]
pub(crate) fn file_in(value: MPI_File) -> Handle {
    match u32::try_from(value) {
        Ok(0) => towpath_mpi::constants::FILE_NULL,
        Ok(number) if number >= CREATED => Handle(number),
        _ => Handle(0),
    }
}

#[inline]
pub(crate) fn file_out(handle: Handle) -> MPI_File {
    if handle.0 >= CREATED { handle.0 as usize } else { 0 }
}

#[inline]
fn predefined_datatype_in(value: u32) -> Option<Handle> {
    let number = match value >> 24 {
        0x4c => {
            let (whole, number) = BUILTIN_DATATYPES[(value & 0xff) as usize];
            if whole == value { number } else { 0 }
        }
        0x8c if value & 0x00ff_ffff < 8 => DIRECT_DATATYPES[(value & 7) as usize],
        0x0c if value == 0x0c00_0000 => towpath_mpi::constants::DATATYPE_NULL.0,
        _ => 0,
    };
    (number != 0).then_some(Handle(number))
}

#[inline]
fn predefined_datatype_out(handle: Handle) -> Option<u32> {
    let value = *DATATYPES.get(handle.0.wrapping_sub(0x200) as usize)?;
    (value != 0).then_some(value)
}

fn any_in(value: c_int, kind: Kind) -> Handle {
    match kind {
        Kind::Comm => comm_in(value),
        Kind::Group => group_in(value),
        Kind::Datatype => datatype_in(value),
        Kind::Errhandler => errhandler_in(value),
        Kind::Op => op_in(value),
        Kind::Info => info_in(value),
        Kind::Win => win_in(value),
        Kind::Request => request_in(value),
        Kind::Message => message_in(value),
        Kind::Session => session_in(value),
        Kind::File | Kind::Keyval => Handle(value as u32),
    }
}

fn any_out(handle: Handle, kind: Kind) -> c_int {
    match kind {
        Kind::Comm => comm_out(handle),
        Kind::Group => group_out(handle),
        Kind::Datatype => datatype_out(handle),
        Kind::Errhandler => errhandler_out(handle),
        Kind::Op => op_out(handle),
        Kind::Info => info_out(handle),
        Kind::Win => win_out(handle),
        Kind::Request => request_out(handle),
        Kind::Message => message_out(handle),
        Kind::Session => session_out(handle),
        Kind::File | Kind::Keyval => handle.0 as c_int,
    }
}

/// Reads element `index` of an array of handles (no function takes an array of files).
///
/// # Safety
/// `array` must be readable and have more than `index` elements.
pub(crate) unsafe fn read(array: *const c_void, index: usize, kind: Kind) -> Handle {
    // SAFETY: `array` has more than `index` elements (this function's contract).
    let value = unsafe { *array.cast::<c_int>().add(index) };
    if value as u32 >= CREATED { Handle(value as u32) } else { any_in(value, kind) }
}

/// Writes element `index` of an array of handles.
///
/// # Safety
/// `array` must be writable and have more than `index` elements.
pub(crate) unsafe fn write(array: *mut c_void, index: usize, kind: Kind, handle: Handle) {
    // SAFETY: `array` is writable and has more than `index` elements (this function's contract).
    unsafe { *array.cast::<c_int>().add(index) = any_out(handle, kind) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use towpath_mpi::constants;

    #[test]
    fn predefined_handles_are_translated_both_ways() {
        assert_eq!(comm_in(0x4400_0000), constants::COMM_WORLD);
        assert_eq!(comm_out(constants::COMM_NULL), 0x0400_0000);
        assert_eq!(request_out(constants::REQUEST_NULL), 0x2c00_0000);
        assert_eq!(op_in(0x5800_0003), constants::SUM);
        assert_eq!(file_in(0), constants::FILE_NULL);
        assert_eq!(file_out(constants::FILE_NULL), 0);
    }

    #[test]
    fn every_datatype_is_translated_both_ways() {
        let mut seen = 0;
        for number in 0x200..0x300 {
            let value = datatype_out(Handle(number));
            if value != 0 {
                assert_eq!(datatype_in(value), Handle(number));
                seen += 1;
            }
        }
        assert!(seen > 60, "{seen} datatypes");
    }

    #[test]
    fn a_datatype_that_only_this_interface_has_is_known_inside() {
        let half = datatype_in(0x4c00_0246);
        assert_eq!(half, constants::MPIX_C_FLOAT16);
        assert_eq!(constants::datatype_name(half), "MPIX_C_FLOAT16");
    }

    #[test]
    fn wrong_handles_name_nothing() {
        assert_eq!(datatype_in(0x4c00_0805), Handle(0), "MPI_INT with a wrong size");
        assert_eq!(datatype_in(0x4400_0000), Handle(0), "a communicator");
        assert_eq!(comm_in(257), Handle(0), "the standard ABI's MPI_COMM_WORLD");
        assert_eq!(file_in(0x1234_5678_9abc), Handle(0));
    }

    #[test]
    fn created_handles_keep_their_number() {
        let number = 0xC400_0001_u32;
        assert_eq!(comm_in(number as c_int), Handle(number));
        assert_eq!(comm_out(Handle(number)) as u32, number);
        assert_eq!(file_out(Handle(number)), number as usize);
    }
}
