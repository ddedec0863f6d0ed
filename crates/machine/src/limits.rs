//! Process limits (ulimit) that MPI may exceed, for error messages.

use rustix::process::{Resource, getrlimit};

/// Minimum stack in bytes: with less, MPI would crash somewhere instead of reporting an error.
const STACK: u64 = 128 << 10;

/// Limit of the address space in bytes; `None` if unlimited.
pub fn address_space() -> Option<u64> {
    getrlimit(Resource::As).current
}

/// The stack limit in bytes, if it is too small for MPI.
pub fn short_stack() -> Option<u64> {
    getrlimit(Resource::Stack).current.filter(|&limit| limit < STACK)
}
