//! String arguments of the program.

use std::ffi::{CStr, c_char};

use towpath_neutral::error::{Result, fail};

/// Copies a string argument; NULL is an error that names the argument.
///
/// # Safety
/// `pointer` must be NULL or point to a NUL-terminated string.
pub(crate) unsafe fn text(pointer: *const c_char, argument: &str) -> Result<String> {
    if pointer.is_null() {
        fail!(ERR_ARG, "argument {argument} is NULL; pass a string");
    }
    // SAFETY: `pointer` is not NULL, so it is a NUL-terminated string (this function's contract).
    Ok(unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}
