//! From MPI_Init to MPI_Finalize.

mod engine;
pub(crate) mod finalize;
pub(crate) mod init;

use crate::constants::ERR_OTHER;
use crate::error::Error;

fn failed_start(what: impl std::fmt::Display) -> Error {
    Error::new(ERR_OTHER, format!("MPI cannot start: {what}"))
}
