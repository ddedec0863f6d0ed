//! Helpers for libraries that are loaded at run time.

use std::ffi::{CStr, OsStr, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::ptr::NonNull;

/// Looks up a function of a loaded library, in its default version.
///
/// # Errors
/// A message that the library has no such symbol, to be appended to the name of the library.
///
/// # Safety
/// `handle` must be a library that `dlopen` returned and that is still open.
pub unsafe fn symbol(handle: *mut c_void, name: &CStr) -> Result<*mut c_void, String> {
    // SAFETY: `handle` is an open library (this function's contract), and `name` is a C string.
    let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
    match found.is_null() {
        true => Err(format!("it has no {}", name.to_string_lossy())),
        false => Ok(found),
    }
}

/// Looks up a function of a library that the process has loaded, and that stays loaded then; `None`
/// if it has no such library or function.
pub fn loaded_symbol(library: &CStr, name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: the name is a C string. What is loaded already runs no initializers, and the handle
    // is never closed.
    let handle = unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
    if handle.is_null() {
        return None;
    }
    // SAFETY: the library is open.
    NonNull::new(unsafe { symbol(handle, name) }.ok()?)
}

/// Looks up a symbol in the program and the libraries that it was started with.
pub fn global_symbol(name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: `name` is a C string.
    NonNull::new(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) })
}

/// The reason for the last failure of the dynamic loader in this thread.
pub fn loader_error() -> String {
    // SAFETY: `dlerror` takes no pointers. Its result is copied before the next call to the loader.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "the loader gives no reason".to_owned();
    }
    // SAFETY: `text` is not NULL, so it is a C string of the loader.
    OsStr::from_bytes(unsafe { CStr::from_ptr(text) }.to_bytes()).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_and_missing_ones_cost_a_sentence() {
        // SAFETY: NULL opens the program itself, which has the functions of the C library.
        let program = unsafe { libc::dlopen(std::ptr::null(), libc::RTLD_NOW) };
        // SAFETY: `program` is the open program.
        unsafe {
            assert!(symbol(program, c"getpid").is_ok());
            assert_eq!(
                symbol(program, c"no_such_function").unwrap_err(),
                "it has no no_such_function"
            );
            libc::dlopen(c"/no/such/library.so".as_ptr(), libc::RTLD_NOW);
        }
        assert!(loader_error().contains("/no/such/library.so"));
        assert_eq!(loader_error(), "the loader gives no reason", "it is told once");
        assert!(global_symbol(c"getpid").is_some());
        assert_eq!(global_symbol(c"no_such_function"), None);
        assert!(loaded_symbol(c"libc.so.6", c"getpid").is_some());
        assert_eq!(loaded_symbol(c"libc.so.6", c"no_such_function"), None);
        assert_eq!(loaded_symbol(c"no_such_library.so.1", c"getpid"), None);
    }
}
