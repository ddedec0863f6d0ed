//! Libraries that are opened while the program runs: what their openers share.

use std::ffi::{CStr, OsStr, c_void};
use std::os::unix::ffi::OsStrExt as _;

/// A function of an open library, in the usual version.
///
/// # Errors
/// That the library has none of this name, in words that go behind the name of the library.
///
/// # Safety
/// `handle` must be of an open library.
pub unsafe fn symbol(handle: *mut c_void, name: &CStr) -> Result<*mut c_void, String> {
    // SAFETY: the library is open by the caller's word; the name ends with a zero byte.
    let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
    match found.is_null() {
        true => Err(format!("it has no {}", name.to_string_lossy())),
        false => Ok(found),
    }
}

/// Why the loader refused the last thing that this thread asked for.
pub fn loader_error() -> String {
    // SAFETY: gives a text of the loader, or null; it is copied before anything else is loaded.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "the loader gives no reason".to_owned();
    }
    // SAFETY: a text that ends with a zero byte.
    OsStr::from_bytes(unsafe { CStr::from_ptr(text) }.to_bytes()).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_and_missing_ones_cost_a_sentence() {
        // SAFETY: NULL opens the program itself, which has the functions of the C library.
        let program = unsafe { libc::dlopen(std::ptr::null(), libc::RTLD_NOW) };
        // SAFETY: it is open.
        unsafe {
            assert!(symbol(program, c"getpid").is_ok());
            assert_eq!(symbol(program, c"no_such_function").unwrap_err(), "it has no no_such_function");
            libc::dlopen(c"/no/such/library.so".as_ptr(), libc::RTLD_NOW);
        }
        assert!(loader_error().contains("/no/such/library.so"));
        assert_eq!(loader_error(), "the loader gives no reason", "it is told once");
    }
}
