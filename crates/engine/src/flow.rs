//! Flow control beyond the initial credit: while memory for unexpected messages is available,
//! senders that need more credit get it.
//!
//! Each grant is small compared with the memory that is free at that moment, and the credit that a
//! process has granted but that occupies no memory yet is at most a fraction of it, so that all
//! ranks of a host can grant at the same time. Credit beyond the initial amount is not returned to
//! a sender when its messages are consumed: a sender that still needs it runs out again and so asks
//! again. A sender without credit *postpones* a message: it announces it, and the receiver fetches
//! it as soon as there is room, or when it is matched. A short message in the memory of a device is
//! fetched too, if it is not matched soon: its sender relies on buffering as for any short message.

mod postponed;

use towpath_base::events::Subscriber;
use towpath_base::ids::PeerIndex;
use towpath_transport::{Header, JobWire};

use crate::Engine;
use crate::credit::Headroom;
use crate::peers::WaitingSend;
use crate::protocol::{self, EarlyPull, MESSAGE_OVERHEAD};
use crate::requests::PendingWork;
use crate::state::{DeferredCall, State};

/// Memory that is never granted, left for the application.
const RESERVE: u64 = 64 << 20;
/// Smallest grant.
const LEAST_GRANT: u64 = 64 << 10;
/// Maximum number of concurrent fetches. For each, a wire may hold resources of the receiver until
/// the sender enters MPI again, and pulls of matched messages need those resources too.
const MOST_FETCHES: usize = 2;
/// The ranks of a host together may grant, ahead of the arrivals, credit for at most `1 / SHARE` of
/// the free memory.
const SHARE: u64 = 4;

/// Cap on the credit of all senders together, initial credit included, memory permitting. It bounds
/// a burst from many senders; a few senders may exceed it.
const TOGETHER: u64 = 108 << 20;

impl<W: JobWire, S: Subscriber> Engine<W, S> {
    /// Lets the credit of senders grow with the available memory.
    pub fn grow_within(&mut self, headroom: impl FnMut() -> Headroom + Send + 'static) {
        self.state.flow.headroom = Some(Box::new(headroom));
        let half = self.state.limits.unexpected_bytes / 2;
        self.state.peers.extend_below(u32::try_from(half).unwrap_or(u32::MAX));
    }

    /// True if progress may depend on a peer's action, or on memory that must be polled for. A
    /// waiting caller then checks [`Engine::held_up`] and calls [`Engine::look_for_room`] from time
    /// to time.
    #[inline]
    pub fn may_be_held_up(&self) -> bool {
        self.state.under_way > 0 || !self.state.flow.hungry.is_empty()
    }

    /// Serves the senders that wait for room, if memory has become available.
    pub fn look_for_room(&mut self) {
        if !self.state.flow.hungry.is_empty() {
            self.state.feed();
            self.act();
        }
    }

    /// Stops all credit messages. For `MPI_Finalize`, once all ranks have entered it: a process
    /// that has left reads nothing, so a message to it would wait for room forever, and credit is
    /// no longer needed.
    pub fn end_flow_control(&mut self) {
        let State { flow, peers, .. } = &mut self.state;
        flow.ended = true;
        flow.headroom = None;
        flow.hungry.clear();
        for to in peers.backlog.clone() {
            let queue = peers.at(to).queue();
            queue.retain(|waiting| !matches!(waiting, WaitingSend::Control(header) if protocol::is_credit(header)));
            if queue.is_empty() {
                peers.drained(to);
            }
        }
    }

    /// Returns a peer that has no room for a message from this process. The flag is true if the
    /// wire lacks room, and false if credit is missing.
    pub fn held_up(&mut self) -> Option<(PeerIndex, bool)> {
        let requests = &mut self.state.requests;
        requests.unfinished().into_iter().find_map(|index| {
            let slot = requests.slot(index);
            match slot.work {
                PendingWork::Announced { early: EarlyPull::WithRoom, .. } => {
                    Some((slot.completion.peer, false))
                }
                PendingWork::Queued { .. } | PendingWork::Published { .. } => {
                    Some((slot.completion.peer, true))
                }
                _ => None,
            }
        })
    }
}

/// Credit accounting.
impl<S: Subscriber> State<S> {
    /// Accounts for a consumed eager message (`length` is given if it was in the unexpected queue),
    /// and returns credit once a batch has accumulated.
    #[cold]
    pub(crate) fn consumed(&mut self, from: PeerIndex, length: Option<usize>) {
        let batch = self.limits.unexpected_bytes / 4;
        let peer = self.peers.at(from);
        if let Some(length) = length {
            peer.kept -= length + MESSAGE_OVERHEAD;
            peer.consumed += length + MESSAGE_OVERHEAD;
        }
        if peer.consumed > batch {
            self.give_back(from);
        }
    }

    /// Returns the credit of consumed messages to their sender, up to the initial amount.
    fn give_back(&mut self, to: PeerIndex) {
        let first = self.limits.unexpected_bytes;
        let peer = self.peers.at(to);
        let bytes = std::mem::take(&mut peer.consumed);
        let retired = bytes.min(peer.granted - first);
        self.retire(to, retired);
        if bytes > retired {
            self.control(to, protocol::CREDIT, [(bytes - retired) as u64, 0]);
        }
        if self.flow.headroom.is_some() {
            self.ask_again_at_half(to);
            self.feed();
        }
    }

    /// Deducts bytes that a sender no longer holds from its credit beyond the initial amount.
    fn retire(&mut self, from: PeerIndex, bytes: usize) {
        let first = self.limits.unexpected_bytes;
        let peer = self.peers.at(from);
        peer.granted -= bytes;
        self.flow.extra -= bytes as u64;
        if bytes > 0 && peer.granted == first {
            self.flow.extended.retain(|other| *other != from);
        }
    }

    /// Recalls unused credit beyond the initial amount from all senders.
    fn recall(&mut self) {
        let first = self.limits.unexpected_bytes;
        let State { flow, peers, actions, .. } = self;
        for &to in &flow.extended {
            let peer = peers.at(to);
            let extra = peer.granted - first;
            let unused = peer.granted.saturating_sub(peer.kept + peer.consumed);
            if unused > 0 && !peer.recalled {
                peer.recalled = true;
                let header = Header { protocol: protocol::RECALL, words: [extra as u64, 0] };
                actions.push(DeferredCall::Control { to, header });
            }
        }
    }

    /// Handles a recall from the receiver: returns as much of the wanted credit as is unused.
    pub(crate) fn return_credit(&mut self, to: PeerIndex, wanted: u64) {
        let peer = self.peers.at(to);
        let bytes = peer.credit.min(wanted as usize);
        peer.credit -= bytes;
        self.control(to, protocol::RETURN, [bytes as u64, 0]);
    }

    /// Handles credit returned by a sender. The part that was meanwhile retired, because it had
    /// been used, is granted again.
    pub(crate) fn credit_returned(&mut self, from: PeerIndex, bytes: usize) {
        let first = self.limits.unexpected_bytes;
        let peer = self.peers.at(from);
        peer.recalled = false;
        let retired = bytes.min(peer.granted - first);
        self.retire(from, retired);
        if bytes > retired {
            self.control(from, protocol::CREDIT, [(bytes - retired) as u64, 0]);
        }
        self.ask_again_at_half(from);
        self.feed();
    }

    /// Arranges for the peer to get more credit once it has used half of what it has now.
    fn ask_again_at_half(&mut self, peer: PeerIndex) {
        let peer = self.peers.at(peer);
        peer.extend_below =
            u32::try_from((peer.granted.saturating_sub(peer.kept)) / 2).unwrap_or(u32::MAX);
    }

    /// Grants a sender more credit before it runs out, if memory is available.
    #[cold]
    pub(crate) fn extend(&mut self, to: PeerIndex) {
        let room = self.room();
        let bytes = self.part_of(room, to);
        self.grant(to, bytes);
        self.ask_again_at_half(to);
    }

    /// Queries the memory and returns the number of bytes that may be granted now.
    fn room(&mut self) -> u64 {
        let Some(headroom) = self.flow.headroom.as_mut().map(|ask| ask()) else { return 0 };
        let spare = headroom.free.saturating_sub(RESERVE);
        let share = spare / (SHARE * headroom.ranks.max(1));
        let senders = self.flow.extended.len().max(1) as u64;
        let first = senders * self.limits.unexpected_bytes as u64;
        // The total shrinks as the number of senders grows, and so does each sender's part of it.
        let together = TOGETHER.saturating_sub(first).max(spare / (2 * senders * senders));
        spare
            .min(together)
            .saturating_sub(self.flow.extra)
            .min(share.saturating_sub(self.unfilled()))
    }

    /// A sender's part of `room`: at most half of it, since other senders may ask too, and at most
    /// half of the credit that the sender already has (or [`LEAST_GRANT`]), since most need little.
    /// 0 if the part is not worth a message.
    fn part_of(&mut self, room: u64, to: PeerIndex) -> u64 {
        let bytes = (room / 2).min(LEAST_GRANT.max(self.peers.at(to).granted as u64 / 2));
        if bytes < LEAST_GRANT { 0 } else { bytes }
    }

    /// Bytes granted beyond the initial credit that occupy no memory yet.
    fn unfilled(&mut self) -> u64 {
        let (first, peers) = (self.limits.unexpected_bytes, &mut self.peers);
        let unfilled = |peer: &PeerIndex| {
            let peer = peers.at(*peer);
            (peer.granted - first).saturating_sub(peer.kept) as u64
        };
        self.flow.extended.iter().map(unfilled).sum::<u64>() + self.flow.fetching
    }

    /// Grants a sender `bytes` bytes.
    fn grant(&mut self, to: PeerIndex, bytes: u64) {
        if bytes > 0 {
            self.count_grant(to, bytes);
            self.control(to, protocol::CREDIT, [bytes, 0]);
        }
    }

    /// Records bytes that a sender may use beyond its initial credit.
    fn count_grant(&mut self, to: PeerIndex, bytes: u64) {
        let first = self.limits.unexpected_bytes;
        let peer = self.peers.at(to);
        if peer.granted == first {
            self.flow.extended.push(to);
        }
        peer.granted += bytes as usize;
        self.flow.extra += bytes;
    }
}
