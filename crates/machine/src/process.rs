//! Termination of this process.

/// Ends the process without running `atexit` handlers or library destructors. For callers that run
/// inside one of these, where `exit` must not be called again.
pub fn exit_without_handlers(code: i32) -> ! {
    // SAFETY: `_exit` takes no pointers and does not return.
    unsafe { libc::_exit(code) }
}
