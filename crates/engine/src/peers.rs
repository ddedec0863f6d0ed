//! Per-peer state: one cache line of counters, and a queue that is allocated on first use.
//!
//! Credit bounds bursts: a sender may have [`Limits::unexpected_bytes`](crate::Limits) of eager
//! messages unconsumed at a peer, plus what the receiver grants beyond that (`flow`). The receiver
//! returns consumed bytes in batches. A message without credit is announced, not delayed. To keep
//! the order, every message to a peer whose queue is not empty is appended to that queue.

use std::collections::VecDeque;

use towpath_base::ids::PeerIndex;
use towpath_base::slab::SlabKey;
use towpath_transport::Header;

/// An entry that waits for room on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitingSend {
    /// A send, by its request index.
    Send(u32),
    /// A control message.
    Control(Header),
    /// An active message, by its key in [`Active`](crate::active::Active).
    Active(SlabKey),
}

/// State of one peer.
#[derive(Debug)]
pub(crate) struct PeerState {
    /// Eager bytes that may still be sent.
    pub(crate) credit: usize,
    /// Eager bytes consumed and not yet returned as credit.
    pub(crate) consumed: usize,
    /// Eager bytes that this peer may have unconsumed at this process, unexpected ones included.
    pub(crate) granted: usize,
    /// Eager bytes of this peer in the unexpected queue.
    pub(crate) kept: usize,
    /// Application messages sent so far.
    pub(crate) sent: u64,
    /// Application messages received so far.
    pub(crate) arrived: u64,
    /// The peer gets more credit once it has fewer bytes than this left.
    pub(crate) extend_below: u32,
    /// The peer was asked to return credit and has not answered.
    pub(crate) recalled: bool,
    /// The queue is not empty, or the peer is lost: nothing may bypass it.
    pub(crate) blocked: bool,
    /// No more messages from or to this peer.
    pub(crate) lost: bool,
    /// Boxed because most peers never need one and `PeerState` must fit one cache line.
    #[expect(clippy::box_collection)]
    queue: Option<Box<VecDeque<WaitingSend>>>,
}

impl PeerState {
    /// The queue, created on first use.
    pub(crate) fn queue(&mut self) -> &mut VecDeque<WaitingSend> {
        self.queue.get_or_insert_default()
    }
}

/// All peers by index.
#[derive(Debug)]
pub(crate) struct Peers {
    table: Vec<PeerState>,
    credit: usize,
    /// [`PeerState::extend_below`] of new peers.
    extend_below: u32,
    /// Peers with a non-empty queue.
    pub(crate) backlog: Vec<PeerIndex>,
    /// True if any peer is lost.
    pub(crate) any_lost: bool,
    /// Lost peers that failed rather than left MPI properly.
    pub(crate) failed: Vec<PeerIndex>,
}

impl Peers {
    /// Creates a table of `peers` peers, each with this initial credit.
    pub(crate) fn new(peers: usize, credit: usize) -> Peers {
        let mut all = Peers {
            table: Vec::new(),
            credit,
            extend_below: 0,
            backlog: Vec::new(),
            any_lost: false,
            failed: Vec::new(),
        };
        all.grow(peers);
        all
    }

    #[cold]
    fn grow(&mut self, peers: usize) {
        let credit = self.credit;
        let extend_below = self.extend_below;
        let fresh = || PeerState {
            credit,
            consumed: 0,
            granted: credit,
            kept: 0,
            sent: 0,
            arrived: 0,
            extend_below,
            recalled: false,
            blocked: false,
            lost: false,
            queue: None,
        };
        self.table.resize_with(peers, fresh);
    }

    /// Sets [`PeerState::extend_below`] of all present and future peers.
    pub(crate) fn extend_below(&mut self, bytes: u32) {
        self.extend_below = bytes;
        self.table.iter_mut().for_each(|peer| peer.extend_below = bytes);
    }

    /// The state of a peer, added if it is new.
    #[inline]
    pub(crate) fn at(&mut self, peer: PeerIndex) -> &mut PeerState {
        if peer.slot() < self.table.len() {
            return &mut self.table[peer.slot()];
        }
        self.grow(peer.slot() + 1);
        &mut self.table[peer.slot()]
    }

    /// True if the peer is known to be lost.
    #[inline]
    pub(crate) fn is_lost(&self, peer: PeerIndex) -> bool {
        self.any_lost && self.table.get(peer.slot()).is_some_and(|peer| peer.lost)
    }

    /// Appends an entry to a peer's queue.
    pub(crate) fn wait(&mut self, to: PeerIndex, what: WaitingSend) {
        let peer = self.at(to);
        peer.queue().push_back(what);
        if !peer.blocked {
            peer.blocked = true;
            self.backlog.push(to);
        }
    }

    /// Removes a peer from the backlog, because its queue is empty or the peer is lost.
    pub(crate) fn drained(&mut self, to: PeerIndex) {
        let peer = self.at(to);
        peer.blocked = peer.lost;
        self.backlog.retain(|other| *other != to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_fits_a_cache_line() {
        assert!(size_of::<PeerState>() <= 64, "{}", size_of::<PeerState>());
    }

    #[test]
    fn new_peers_have_credit_and_queues_block() {
        let mut peers = Peers::new(1, 400);
        assert_eq!(peers.at(PeerIndex(9)).credit, 400);
        peers.wait(PeerIndex(3), WaitingSend::Send(1));
        peers.wait(PeerIndex(3), WaitingSend::Send(2));
        assert!(peers.at(PeerIndex(3)).blocked);
        assert_eq!(peers.backlog, [PeerIndex(3)]);
        peers.drained(PeerIndex(3));
        assert!(!peers.at(PeerIndex(3)).blocked && peers.backlog.is_empty());
    }
}
