//! Streams of devices: memory that work on a stream writes is sent once that is complete.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::NonNull;
use std::sync::OnceLock;

use towpath_machine::library::loaded_symbol;

use crate::failure::status;

/// The drivers that a process may use, and the function of each that waits for a stream.
const DRIVERS: [(&CStr, &CStr); 3] = [
    (c"libcuda.so.1", c"cuStreamSynchronize"),
    (c"libamdhip64.so.7", c"hipStreamSynchronize"),
    (c"libamdhip64.so.6", c"hipStreamSynchronize"),
];

type Synchronize = unsafe extern "C" fn(*mut c_void) -> c_int;

/// What drivers say of the default stream of a thread that uses no device: there is no work.
const NO_DEVICE: [c_int; 2] = [3, 201];

/// Waits until all work of a stream is complete. Without a driver there is none.
///
/// # Safety
/// The stream is one of the driver that the process uses, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_synchronize_stream(stream: *mut c_void) -> c_int {
    let Some((name, synchronize)) = loaded() else { return 0 };
    // SAFETY: the caller has such a stream.
    let code = unsafe { synchronize(stream) };
    let is_well = code == 0 || stream.is_null() && NO_DEVICE.contains(&code);
    let failed = || format!("{} failed with code {code}", name.to_string_lossy());
    status(if is_well { Ok(()) } else { Err(failed()) })
}

/// The function of the driver that the process has loaded, and its name. A driver may be loaded
/// later.
fn loaded() -> Option<(&'static CStr, Synchronize)> {
    static LOADED: OnceLock<(&CStr, Synchronize)> = OnceLock::new();
    if let Some(found) = LOADED.get() {
        return Some(*found);
    }
    let found =
        DRIVERS.iter().find_map(|(library, name)| Some((*name, loaded_symbol(library, name)?)));
    let (name, function) = found?;
    // SAFETY: the drivers document this type.
    let function = unsafe { std::mem::transmute::<NonNull<c_void>, Synchronize>(function) };
    Some(*LOADED.get_or_init(|| (name, function)))
}
