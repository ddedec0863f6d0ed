//! How a receiver's memory is divided among its senders, for diagnostics.

use towpath_base::ids::PeerIndex;

/// What a receiver has granted to one sender in addition to the header slot that every sender has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// The sender.
    pub from: PeerIndex,
    /// Size of its ring in the receiver's area in bytes; 0 if it has no ring.
    pub bytes: usize,
    /// Largest message in bytes that it may send through the ring in one copy.
    pub largest_message: usize,
    /// The pair's weight in the live topologies; `None` if no topology declares the pair and it has
    /// a ring only because it is busy.
    pub weight: Option<u64>,
}
