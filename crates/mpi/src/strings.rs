//! Strings that the program passes.

use std::ffi::{CStr, c_char};

use crate::error::{Result, fail};

/// Reads a string argument; NULL is an error that names the argument.
///
/// # Safety
/// `pointer` must be NULL or point to a NUL-terminated string.
pub(crate) unsafe fn text(pointer: *const c_char, argument: &str) -> Result<String> {
    if pointer.is_null() {
        fail!(ERR_ARG, "argument {argument} is NULL; pass a string");
    }
    // SAFETY: promised by the caller.
    Ok(unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}
