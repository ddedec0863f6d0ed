//! Arrays of messages that the program writes to in place.

use std::ffi::{c_int, c_void};
use std::ptr;

use towpath_actors::layer::SHORTEST_SENT;

use crate::current::with_runtime;
use crate::messages::{ReceivedMessage, check_length};
use crate::types::CMessage;

/// The length from which on arrays are sent faster beside the payload of a message than in it.
#[unsafe(no_mangle)]
pub extern "C" fn towpath_shortest_array() -> usize {
    with_runtime(|runtime| Ok(runtime.shortest_array())).unwrap_or(SHORTEST_SENT)
}

/// Adds an array to be written, where the library sends it from most easily; the number is that in
/// the message.
///
/// # Safety
/// The message was made and not sent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_message_add_new(message: *mut CMessage, length: usize) -> c_int {
    // SAFETY: the message exists, and the program leaves its memory as it is.
    unsafe {
        (*message).add(|runtime| {
            check_length(length)?;
            Ok(runtime.new_array(length).into_array())
        })
    }
}

/// The memory of an array of a message that the program has, or that the running method was given,
/// to be written; null if others may read it too.
///
/// # Safety
/// The message exists, and is not a copy of the one that the method was given. There is memory for
/// the length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_message_own_array(
    message: *mut CMessage,
    number: u32,
    length: *mut usize,
) -> *mut c_void {
    let number = number as usize;
    // SAFETY: the message exists, and the program leaves its memory and its arrays as they are.
    let bytes = unsafe {
        if (*message).arrays().is_empty() {
            None
        } else if let Some(received) = ReceivedMessage::of(message) {
            received.own_array(number)
        } else {
            (*message).buffer().ok().and_then(|buffer| buffer.own_array(number))
        }
    };
    let (at, bytes) = bytes.map_or((ptr::null_mut(), 0), |own| (own.as_mut_ptr(), own.len()));
    // SAFETY: the caller has memory for it.
    unsafe { length.write(bytes) };
    at.cast()
}
