//! Streams of devices: memory that work on a stream writes is sent once that is complete.

use std::borrow::Cow;
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
    status(if is_well { Ok(()) } else { Err(format!("{name} failed with code {code}")) })
}

/// The function of the driver that the process has loaded, and its name.
fn loaded() -> Option<(Cow<'static, str>, Synchronize)> {
    static LOADED: OnceLock<(&CStr, Synchronize)> = OnceLock::new();
    let found = LOADED.get().copied().or_else(|| {
        DRIVERS.iter().find_map(|(library, name)| {
            let function = loaded_symbol(library, name)?;
            // SAFETY: the drivers document this type.
            let function = unsafe { std::mem::transmute::<NonNull<c_void>, Synchronize>(function) };
            Some(*LOADED.get_or_init(|| (name, function)))
        })
    });
    found.map(|(name, function)| (name.to_string_lossy(), function))
}
