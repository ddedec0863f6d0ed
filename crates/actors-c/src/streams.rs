//! Streams of devices: memory that work on a stream writes is sent once that is complete.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::NonNull;

use towpath_machine::library::loaded_symbol;

use crate::failure::status;

/// The drivers that a process may use, and the function of each that waits for a stream.
const DRIVERS: [(&CStr, &CStr); 4] = [
    (c"libcuda.so.1", c"cuStreamSynchronize"),
    (c"libamdhip64.so.7", c"hipStreamSynchronize"),
    (c"libamdhip64.so.6", c"hipStreamSynchronize"),
    (c"libamdhip64.so.5", c"hipStreamSynchronize"),
];

type Synchronize = unsafe extern "C" fn(*mut c_void) -> c_int;

/// Waits until all work of a stream is complete. Without a driver there is none.
///
/// # Safety
/// The stream is one of the driver that the process uses, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_synchronize_stream(stream: *mut c_void) -> c_int {
    let loaded = DRIVERS.iter().find_map(|(library, function)| {
        Some((function.to_string_lossy(), loaded_symbol(library, function)?))
    });
    let Some((name, function)) = loaded else { return 0 };
    // SAFETY: the drivers document this type.
    let synchronize = unsafe { std::mem::transmute::<NonNull<c_void>, Synchronize>(function) };
    // SAFETY: the caller has such a stream.
    let code = unsafe { synchronize(stream) };
    status(if code == 0 { Ok(()) } else { Err(format!("{name} failed with code {code}")) })
}
