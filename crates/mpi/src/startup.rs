//! Starts and ends MPI: the work of MPI_Init and MPI_Finalize.

use towpath_neutral::constants::ERR_OTHER;
use towpath_neutral::error::Error;

mod engine;
pub(crate) mod finalize;
pub(crate) mod init;

fn failed_start(what: impl std::fmt::Display) -> Error {
    Error::new(ERR_OTHER, format!("MPI cannot start: {what}"))
}
