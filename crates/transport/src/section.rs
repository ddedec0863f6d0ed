//! How a receiver's memory is divided among its senders, for whoever shows it.

use towpath_base::ids::PeerIndex;

/// What a receiver has, or has granted, for one sender beside the header slot that everybody has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// The sender.
    pub from: PeerIndex,
    /// Bytes of its ring in the receiver's area; 0: it has none.
    pub bytes: usize,
    /// Largest message that it may copy at once, in bytes.
    pub largest_message: usize,
    /// The weight with which live topologies declare the pair; `None` for a pair that was only seen
    /// to be busy.
    pub weight: Option<u64>,
}
