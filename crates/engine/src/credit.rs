//! The state of flow control: the memory of the host, the credit that was granted, and the senders
//! that wait for room. The decisions are made in `flow`.

use std::collections::VecDeque;

use towpath_base::ids::PeerIndex;

/// Memory of the host as seen by one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// Bytes that can still be allocated.
    pub free: u64,
    /// Ranks that share them.
    pub ranks: u64,
}

/// State of flow control.
#[derive(Default)]
pub(crate) struct Flow {
    /// Reports the available memory. `None` disables grants and early fetches.
    pub(crate) headroom: Option<Box<dyn FnMut() -> Headroom + Send>>,
    /// Peers whose credit exceeds the initial amount.
    pub(crate) extended: Vec<PeerIndex>,
    /// Total credit of those peers beyond the initial amount, in bytes.
    pub(crate) extra: u64,
    /// Messages and bytes being fetched.
    pub(crate) fetches: usize,
    pub(crate) fetching: u64,
    /// Peers that wait for room, in the order in which they began to wait.
    pub(crate) hungry: VecDeque<Hungry>,
    /// True once credit messages are no longer sent.
    pub(crate) ended: bool,
}

/// A sender with postponed messages: their nodes and sequence numbers, some of which may be stale.
#[derive(Debug)]
pub(crate) struct Hungry {
    pub(crate) peer: PeerIndex,
    pub(crate) postponed: VecDeque<(u32, u32)>,
}

/// An unexpected message that may be fetched before it is matched: its node and sequence number,
/// which are stale once it has been matched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fetchable {
    pub(crate) from: PeerIndex,
    pub(crate) at: u32,
    pub(crate) sequence: u32,
}
