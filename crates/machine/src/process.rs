//! The end of this process.

/// Ends the process without running the handlers of `atexit` or the destructors of libraries: for
/// who is called by one of them, since `exit` must not be called again meanwhile.
pub fn exit_without_handlers(code: i32) -> ! {
    // SAFETY: the call takes a number only and does not return.
    unsafe { libc::_exit(code) }
}
