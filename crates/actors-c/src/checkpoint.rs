//! Checkpoints and restarts, as C sees them.

use std::ffi::{CStr, c_char, c_int};

use towpath_base::config;

use crate::current::{is_used, with_runtime};
use crate::failure::status;
use crate::types::CCallback;

const SETTING: &str = "TOWPATH_CHARES_RESTART";

/// The name of a directory.
///
/// # Safety
/// It is a C string.
unsafe fn directory<'a>(name: *const c_char) -> Result<&'a str, String> {
    // SAFETY: it is a C string, as the caller says.
    let name = unsafe { CStr::from_ptr(name) };
    name.to_str().map_err(|_| {
        format!(
            "the directory {} of a checkpoint has a name that is not UTF-8",
            name.to_string_lossy()
        )
    })
}

/// Writes a checkpoint.
///
/// # Safety
/// The pointers are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_checkpoint(
    name: *const c_char,
    is_required: c_int,
    callback: *const CCallback,
) -> c_int {
    // SAFETY: the caller has a C string and such a structure.
    let (directory, callback) = unsafe { (directory(name), &*callback) };
    status(with_runtime(|runtime| {
        let (directory, callback) = (directory?, callback.callback()?);
        if is_required == 0 {
            runtime.start_checkpoint(directory, callback);
        } else {
            runtime.require_checkpoint(directory, callback);
        }
        Ok(())
    }))
}

/// Restarts from a checkpoint.
///
/// # Safety
/// The pointers are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_restart(name: *const c_char, restarts: *mut c_int) -> c_int {
    let directory = if name.is_null() {
        Ok(config::setting(SETTING))
    } else {
        // SAFETY: it is a C string, as the caller says.
        unsafe { directory(name) }.map(|name| Some(name.to_owned()))
    };
    let done = restart(directory);
    // SAFETY: the caller has memory for it.
    unsafe { restarts.write(c_int::from(done == Ok(true))) };
    status(done.map(|_| ()))
}

fn restart(directory: Result<Option<String>, String>) -> Result<bool, String> {
    if is_used() {
        return Err("towpath_restart was called by a method of a chare".into());
    }
    with_runtime(|runtime| {
        let Some(directory) = directory? else { return Ok(false) };
        // All ranks are told to end.
        runtime.restart(&directory).unwrap_or_else(|error| runtime.fail(error));
        Ok(true)
    })
}
