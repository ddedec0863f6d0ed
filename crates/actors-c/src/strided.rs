//! Arrays that an MPI datatype describes: they are packed into the message.

use std::ffi::{c_int, c_void};

use towpath_actors_mpi::datatype::{pack, packed_bytes};

use crate::types::CMessage;

/// Adds a copy of what so many elements of a datatype describe; the number is that in the message.
///
/// # Safety
/// The message was made and not sent. The datatype is one of the MPI library of this process, and
/// what it describes is there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_message_add_strided(
    message: *mut CMessage,
    data: *const c_void,
    count: usize,
    datatype: usize,
) -> c_int {
    // SAFETY: the message exists, and the program leaves its memory as it is.
    unsafe {
        (*message).add(|runtime| {
            let bytes = packed_bytes(count, datatype).map_err(|error| error.to_string())?;
            let mut array = runtime.new_array(bytes);
            pack(data, count, datatype, array.bytes_mut()).map_err(|error| error.to_string())?;
            Ok(array.into_array())
        })
    }
}
