//! Error handlers, classes and codes (MPI 5.0, chapter 9).

use crate::error::Error;
use crate::face::{Face, Handle};

/// The object whose error handler decides.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// A communicator.
    Comm(Handle),
    /// A window.
    Win(Handle),
    /// A file.
    File(Handle),
    /// A session.
    Session(Handle),
    /// No object: MPI_COMM_SELF's handler.
    None,
}

/// Decides what becomes of an error and returns the neutral code for the program.
#[cold]
pub fn raise(_face: &'static Face, _target: Target, _call: u16, error: Error) -> i32 {
    error.class()
}
