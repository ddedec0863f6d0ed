//! What ends a job that did not end itself.

use crate::index::Index;

/// Why the runtime ended the job. The texts are for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActorError {
    /// No element can have this index.
    #[error("{method} was invoked on {chare}{index}, but the array has no element with that index")]
    NoSuchIndex { chare: String, method: String, index: Index },
    /// A method has failed.
    #[error("{method} of {chare}{index} failed: {reason}")]
    Method { chare: String, method: String, index: Index, reason: String },
    /// Contributions do not fit together.
    #[error("a reduction over {chare} failed: {reason}")]
    Reduction { chare: String, reason: String },
    /// Another version of the library has sent something.
    #[error(
        "rank {rank} received a message that it does not understand; do all ranks run the same \
         program?"
    )]
    Unknown { rank: u32 },
    /// A chare calls the runtime about itself and is not there.
    #[error("{what} was called for a chare that is not on rank {rank}")]
    NotHere { what: &'static str, rank: u32 },
    /// Nothing is left to do, and messages wait for chares that do not exist.
    #[error(
        "nothing is left to do, but {method} was invoked on {chare}{index}, which {}; {waiting} \
         messages wait on this rank",
        if *is_deleted { "has been deleted" } else { "was never made" }
    )]
    Undelivered { chare: String, method: String, index: Index, is_deleted: bool, waiting: u64 },
}
