//! Limits of the process (ulimit) that MPI can fail at, to be named in messages.

use rustix::process::{Resource, getrlimit};

/// Bytes of stack without which MPI does not start: less ends in a signal somewhere inside it.
const STACK: u64 = 128 << 10;

/// Bytes of address space that the process may use; `None`: as many as it likes.
pub fn address_space() -> Option<u64> {
    getrlimit(Resource::As).current
}

/// The limit of the stack in bytes, where it is too small for MPI.
pub fn short_stack() -> Option<u64> {
    getrlimit(Resource::Stack).current.filter(|&limit| limit < STACK)
}
