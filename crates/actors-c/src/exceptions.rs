//! Exceptions of C++, which its runtime keeps for each thread of the system. User-level threads
//! have their own: one that waits while it handles an exception would find another one afterwards.

use std::ffi::{c_uint, c_void};
use std::ptr;

use towpath_machine::library::global_symbol;

/// `__cxa_eh_globals`, as the C++ ABI of all machines with 64 bits has it.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct ExceptionState {
    /// The exceptions that are handled, the last one first.
    caught: *mut c_void,
    /// How many were thrown and have not reached a handler.
    uncaught: c_uint,
}

impl ExceptionState {
    /// No exception.
    pub(crate) const NONE: ExceptionState = ExceptionState { caught: ptr::null_mut(), uncaught: 0 };
}

/// Where the C++ runtime keeps the exceptions of this thread of the system; null if the process has
/// no C++ runtime, as those of C and Python.
pub(crate) struct CurrentExceptions(*mut ExceptionState);

impl Default for CurrentExceptions {
    fn default() -> CurrentExceptions {
        let Some(found) = global_symbol(c"__cxa_get_globals") else {
            return CurrentExceptions(ptr::null_mut());
        };
        // SAFETY: the C++ ABI defines the function of this name with this type.
        let globals: unsafe extern "C" fn() -> *mut ExceptionState =
            unsafe { std::mem::transmute(found) };
        // SAFETY: it may be called at any time.
        CurrentExceptions(unsafe { globals() })
    }
}

impl CurrentExceptions {
    /// Gives this state to what runs next, and returns the one before in its place.
    pub(crate) fn exchange(&self, state: &mut ExceptionState) {
        // SAFETY: the memory is there as long as this thread, and only the C++ runtime uses it,
        // which does not run now.
        if let Some(current) = unsafe { self.0.as_mut() } {
            std::mem::swap(current, state);
        }
    }
}
