//! What the engine keeps for each peer: one cache line of counters, and a queue only while
//! something waits.
//!
//! Credit (the bound on floods): a sender may have [`Limits::unexpected_bytes`](crate::Limits) of
//! eager messages under way to a peer, and what the receiver grants beyond (`flow`); the receiver
//! gives consumed bytes back in batches. Without credit a message is announced, never delayed.
//! Order: while the queue of a peer holds anything, everything to that peer goes through it.

use std::collections::VecDeque;

use towpath_base::ids::PeerIndex;
use towpath_transport::Header;

/// Something that waits for room on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// A send by its request index.
    Send(u32),
    /// A message of the engine's own.
    Control(Header),
}

/// One peer.
#[derive(Debug)]
pub(crate) struct Peer {
    /// Eager bytes that may still be sent.
    pub(crate) credit: usize,
    /// Eager bytes consumed and not yet given back.
    pub(crate) consumed: usize,
    /// Eager bytes that this peer may have under way to this process, kept ones included.
    pub(crate) granted: usize,
    /// Eager bytes of this peer in the unexpected queue.
    pub(crate) kept: usize,
    /// Messages of the program sent so far.
    pub(crate) sent: u64,
    /// Messages of the program received so far.
    pub(crate) arrived: u64,
    /// Once fewer bytes of what was granted are left to the peer, it is to get more.
    pub(crate) extend_below: u32,
    /// The peer was asked to return credit and has not answered.
    pub(crate) recalled: bool,
    /// The queue holds something, or the peer is lost: nothing may be sent past it.
    pub(crate) blocked: bool,
    /// Nothing comes from or goes to this peer any more.
    pub(crate) lost: bool,
    /// Boxed because most peers never have one and the record is to stay one cache line.
    #[expect(clippy::box_collection)]
    queue: Option<Box<VecDeque<Waiting>>>,
}

impl Peer {
    /// The waiting queue, made when first needed.
    pub(crate) fn queue(&mut self) -> &mut VecDeque<Waiting> {
        self.queue.get_or_insert_default()
    }
}

/// All peers by index.
#[derive(Debug)]
pub(crate) struct Peers {
    table: Vec<Peer>,
    credit: usize,
    /// [`Peer::extend_below`] of new peers.
    extend_below: u32,
    /// Peers with something in their queue.
    pub(crate) backlog: Vec<PeerIndex>,
    /// Some peer is lost.
    pub(crate) any_lost: bool,
    /// Those that are lost and have not left in order.
    pub(crate) failed: Vec<PeerIndex>,
}

impl Peers {
    /// A table for `peers` peers, each with this credit to start with.
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
        let fresh = || Peer {
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

    /// From now on peers are to get more once fewer bytes of what was granted are left to them.
    pub(crate) fn extend_below(&mut self, bytes: u32) {
        self.extend_below = bytes;
        self.table.iter_mut().for_each(|peer| peer.extend_below = bytes);
    }

    /// A peer, added when it is new.
    #[inline]
    pub(crate) fn at(&mut self, peer: PeerIndex) -> &mut Peer {
        if peer.slot() < self.table.len() {
            return &mut self.table[peer.slot()];
        }
        self.grow(peer.slot() + 1);
        &mut self.table[peer.slot()]
    }

    /// Whether the peer is known to be lost.
    #[inline]
    pub(crate) fn is_lost(&self, peer: PeerIndex) -> bool {
        self.any_lost && self.table.get(peer.slot()).is_some_and(|peer| peer.lost)
    }

    /// Puts something at the end of the queue to a peer.
    pub(crate) fn wait(&mut self, to: PeerIndex, what: Waiting) {
        let peer = self.at(to);
        peer.queue().push_back(what);
        if !peer.blocked {
            peer.blocked = true;
            self.backlog.push(to);
        }
    }

    /// The queue to a peer has run empty (or the peer is lost): takes it off the backlog.
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
        assert!(size_of::<Peer>() <= 64, "{}", size_of::<Peer>());
    }

    #[test]
    fn new_peers_have_credit_and_queues_block() {
        let mut peers = Peers::new(1, 400);
        assert_eq!(peers.at(PeerIndex(9)).credit, 400);
        peers.wait(PeerIndex(3), Waiting::Send(1));
        peers.wait(PeerIndex(3), Waiting::Send(2));
        assert!(peers.at(PeerIndex(3)).blocked);
        assert_eq!(peers.backlog, [PeerIndex(3)]);
        peers.drained(PeerIndex(3));
        assert!(!peers.at(PeerIndex(3)).blocked && peers.backlog.is_empty());
    }
}
