//! Why a wire could not be set up.

use towpath_machine::memory::Shortage;

/// Errors of setting up wires. Running wires answer [`NoResource`](crate::NoResource) or nothing at
/// all.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The number of ranks of this host does not fit the segment's layout.
    #[error(
        "{ranks} ranks on one host are more than the {limit} that the shared-memory segment can hold; spread the job over more hosts."
    )]
    TooManyRanks {
        /// How many were wanted.
        ranks: usize,
        /// How many the layout holds.
        limit: usize,
    },
    /// Rank outside the segment.
    #[error(
        "local rank {rank} does not exist among {ranks} ranks of this host; the launcher's numbers contradict each other."
    )]
    NoSuchRank {
        /// The rank.
        rank: usize,
        /// How many ranks the segment has.
        ranks: usize,
    },
    /// A setting of a transport makes no sense; the sentence says which one.
    #[error("{0}")]
    Setting(String),
    /// The network cannot be used.
    #[error("The network between hosts cannot be used: the system refuses to {action} ({detail}).")]
    Network {
        /// What was tried.
        action: &'static str,
        /// What the system said.
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
    /// The system has refused something on the network.
    pub fn network(action: &'static str, refusal: &std::io::Error) -> Error {
        Error::Network { action, detail: refusal.to_string() }
    }
}
