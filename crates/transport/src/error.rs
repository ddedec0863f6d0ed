//! Errors in setting up a wire.

use towpath_machine::memory::Shortage;

/// Errors in setting up wires. A running wire returns only [`NoResource`](crate::NoResource) and
/// [`AccessError`](crate::AccessError).
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The host has more ranks than the segment's layout can hold.
    #[error(
        "{ranks} ranks on one host are more than the {limit} that the shared-memory segment can hold; spread the job over more hosts."
    )]
    TooManyRanks {
        /// Ranks of the host.
        ranks: usize,
        /// Ranks that the layout can hold.
        limit: usize,
    },
    /// The local rank is not in the segment.
    #[error(
        "local rank {rank} is not one of the {ranks} ranks of this host; the launcher reports \
         contradictory numbers."
    )]
    NoSuchRank {
        /// The local rank.
        rank: usize,
        /// Ranks of the segment.
        ranks: usize,
    },
    /// A setting of a transport is invalid; the text says which one and why.
    #[error("{0}")]
    Setting(String),
    /// The network cannot be used.
    #[error("The network between hosts cannot be used: the system refuses to {action} ({detail}).")]
    Network {
        /// The operation that failed.
        action: &'static str,
        /// The system's error message.
        detail: String,
    },
    /// libfabric cannot be used.
    #[error("The fabric cannot be used: {0}.")]
    Fabric(String),
    /// Memory is short.
    #[error(transparent)]
    Shortage(#[from] Shortage),
}

impl Error {
    /// Wraps the error of a failed system call on the network.
    pub fn network(action: &'static str, refusal: &std::io::Error) -> Error {
        Error::Network { action, detail: refusal.to_string() }
    }
}
