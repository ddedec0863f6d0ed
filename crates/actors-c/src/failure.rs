//! Sentences: why a function of this library has failed, and why one of the program has.

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char, c_int};

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
    static HAS_FAILED: Cell<bool> = const { Cell::new(false) };
    static REASON: RefCell<String> = const { RefCell::new(String::new()) };
}

/// 0, or -1 and the sentence is kept for the program.
pub(crate) fn status(result: Result<(), String>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(sentence) => {
            keep(&sentence);
            -1
        }
    }
}

fn keep(sentence: &str) {
    // A sentence with a zero byte ends there.
    let sentence = sentence.split('\0').next().unwrap_or_default();
    LAST_ERROR.with_borrow_mut(|last| *last = CString::new(sentence).unwrap_or_default());
}

/// Why the last function has failed.
#[unsafe(no_mangle)]
pub extern "C" fn towpath_error() -> *const c_char {
    LAST_ERROR.with_borrow(|last| last.as_ptr())
}

/// The function of the program that is running has failed.
///
/// # Safety
/// The reason is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_fail(reason: *const c_char) {
    // SAFETY: it is a C string, as the caller says.
    let reason = unsafe { CStr::from_ptr(reason) }.to_string_lossy().into_owned();
    REASON.with_borrow_mut(|kept| *kept = reason);
    HAS_FAILED.set(true);
}

/// Whether the function of the program that has returned has failed, and why.
#[inline]
pub(crate) fn outcome() -> Result<(), String> {
    if HAS_FAILED.replace(false) { Err(REASON.take()) } else { Ok(()) }
}
