//! Flow control beyond the credit that every sender has: as long as there is memory for messages
//! that nobody has received, senders that need it get more.
//!
//! Each grant is small compared with the memory that is free when it is made, and what a process
//! has granted and not yet filled is at most a share of that, so that all ranks of a host may grant
//! at once. Credit beyond the first is not given back to a sender when its messages are consumed:
//! whoever still needs it asks again by running out. A sender without credit *postpones* a message:
//! it announces it, and the receiver fetches it when it has room, or when it is matched.

mod postponed;

use std::collections::VecDeque;

use towpath_base::ids::PeerIndex;
use towpath_transport::{Header, Wire};

use crate::Engine;
use crate::arrivals::{Action, State};
use crate::peers::Waiting;
use crate::protocol::{self, MESSAGE_OVERHEAD};
use crate::requests::Work;
use postponed::Hungry;

pub(crate) use postponed::Fetch;

/// Memory that is never granted: the program needs some too.
const RESERVE: u64 = 64 << 20;
/// The least that is granted at once.
const LEAST_GRANT: u64 = 64 << 10;
/// Messages that are fetched at one time. A wire may hold resources of the receiver for each until
/// its sender enters MPI again, and messages that are matched need them too.
const MOST_FETCHES: usize = 2;
/// What ranks have granted and not filled is at most this part of the free memory.
const SHARE: u64 = 4;

/// What senders may have together, their first credit included, as long as the memory allows. Many
/// senders get no more, so a flood from everywhere stays bounded; few may.
const TOGETHER: u64 = 108 << 20;

/// Memory of the host as a rank sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// Bytes that may still be taken.
    pub free: u64,
    /// Ranks that share them.
    pub ranks: u64,
}

/// What has been granted.
#[derive(Default)]
pub(crate) struct Flow {
    /// Tells how much memory there is; without it nothing is granted.
    headroom: Option<Box<dyn FnMut() -> Headroom + Send>>,
    /// Peers that have more than the first credit.
    extended: Vec<PeerIndex>,
    /// Bytes that they have more, together.
    extra: u64,
    /// Messages and bytes that are being fetched.
    fetches: usize,
    fetching: u64,
    /// Peers that wait for room, in the order in which they have waited.
    hungry: VecDeque<Hungry>,
    /// No message about credit is sent any more.
    pub(crate) ended: bool,
}

impl<W: Wire> Engine<W> {
    /// Lets the credit of senders grow with the memory that there is.
    pub fn grow_within(&mut self, headroom: impl FnMut() -> Headroom + Send + 'static) {
        self.state.flow.headroom = Some(Box::new(headroom));
        let half = self.state.limits.unexpected_bytes / 2;
        self.state.peers.extend_below(u32::try_from(half).unwrap_or(u32::MAX));
    }

    /// Whether a peer may have to do something before this process gets on, or this one has to look
    /// again for memory: whoever waits looks at [`Engine::held_up`] and calls
    /// [`Engine::look_for_room`] now and then.
    #[inline]
    pub fn may_be_held_up(&self) -> bool {
        self.state.under_way > 0 || !self.state.flow.hungry.is_empty()
    }

    /// Grants what senders wait for, if there is memory now.
    pub fn look_for_room(&mut self) {
        if !self.state.flow.hungry.is_empty() {
            self.state.feed();
            self.act();
        }
    }

    /// Sends nothing about credit from now on. For `MPI_Finalize`, once all ranks are in it: who
    /// has left reads nothing, so a message to it would wait for room for ever, and nobody needs
    /// credit.
    pub fn end_flow_control(&mut self) {
        let State { flow, peers, .. } = &mut self.state;
        flow.ended = true;
        flow.headroom = None;
        flow.hungry.clear();
        for to in peers.backlog.clone() {
            let queue = peers.at(to).queue();
            queue.retain(|waiting| !matches!(waiting, Waiting::Control(header) if protocol::is_credit(header)));
            if queue.is_empty() {
                peers.drained(to);
            }
        }
    }

    /// A peer that has no room for a message of this process, and whether the wire has none (else
    /// it is credit that is missing).
    pub fn held_up(&mut self) -> Option<(PeerIndex, bool)> {
        let requests = &mut self.state.requests;
        requests.unfinished().into_iter().find_map(|index| {
            let slot = requests.slot(index);
            match slot.work {
                Work::Announced { postponed: true, .. } => Some((slot.completion.peer, false)),
                Work::Queued { .. } | Work::Published { .. } => Some((slot.completion.peer, true)),
                _ => None,
            }
        })
    }
}

/// Credit.
impl State {
    /// Counts the credit of a consumed eager message, of `length` bytes if it was kept, and gives
    /// it back once a batch is together.
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

    /// Gives the credit of consumed messages back to their sender, as far as it is not beyond the
    /// first.
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

    /// Takes bytes that a sender no longer has off what it was granted beyond the first credit.
    fn retire(&mut self, from: PeerIndex, bytes: usize) {
        let first = self.limits.unexpected_bytes;
        let peer = self.peers.at(from);
        peer.granted -= bytes;
        self.flow.extra -= bytes as u64;
        if bytes > 0 && peer.granted == first {
            self.flow.extended.retain(|other| *other != from);
        }
    }

    /// Asks for the credit that other senders were granted beyond the first and do not use.
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
                actions.push(Action::Control { to, header });
            }
        }
    }

    /// A receiver wants credit back: as much of it as is not used goes.
    pub(crate) fn return_credit(&mut self, to: PeerIndex, wanted: u64) {
        let peer = self.peers.at(to);
        let bytes = peer.credit.min(wanted as usize);
        peer.credit -= bytes;
        self.control(to, protocol::RETURN, [bytes as u64, 0]);
    }

    /// A sender has returned credit. What was retired meanwhile because it had been used it gets
    /// again.
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

    /// The peer is to get more credit once it has used half of what it has now.
    fn ask_again_at_half(&mut self, peer: PeerIndex) {
        let peer = self.peers.at(peer);
        peer.extend_below = u32::try_from((peer.granted.saturating_sub(peer.kept)) / 2).unwrap_or(u32::MAX);
    }

    /// Grants a sender more credit before it runs out, if there is memory.
    #[cold]
    pub(crate) fn extend(&mut self, to: PeerIndex) {
        let room = self.room();
        let bytes = self.part_of(room, to);
        self.grant(to, bytes);
        self.ask_again_at_half(to);
    }

    /// Bytes that may be granted now, after a look at the memory.
    fn room(&mut self) -> u64 {
        let Some(headroom) = self.flow.headroom.as_mut().map(|ask| ask()) else { return 0 };
        let spare = headroom.free.saturating_sub(RESERVE);
        let share = spare / (SHARE * headroom.ranks.max(1));
        let senders = self.flow.extended.len().max(1) as u64;
        let first = senders * self.limits.unexpected_bytes as u64;
        // The more there are, the less they get, together too.
        let together = TOGETHER.saturating_sub(first).max(spare / (2 * senders * senders));
        spare.min(together).saturating_sub(self.flow.extra).min(share.saturating_sub(self.unfilled()))
    }

    /// A sender's part of the room: half of it, because others may come, and no more than half of
    /// what it has, because most need little; 0 where that is too little to be worth a message.
    fn part_of(&mut self, room: u64, to: PeerIndex) -> u64 {
        let bytes = (room / 2).min(LEAST_GRANT.max(self.peers.at(to).granted as u64 / 2));
        if bytes < LEAST_GRANT { 0 } else { bytes }
    }

    /// Bytes that were granted beyond the first credit and have taken no memory yet.
    fn unfilled(&mut self) -> u64 {
        let (first, peers) = (self.limits.unexpected_bytes, &mut self.peers);
        let unfilled = |peer: &PeerIndex| {
            let peer = peers.at(*peer);
            (peer.granted - first).saturating_sub(peer.kept) as u64
        };
        self.flow.extended.iter().map(unfilled).sum::<u64>() + self.flow.fetching
    }

    /// Grants a sender so many bytes.
    fn grant(&mut self, to: PeerIndex, bytes: u64) {
        if bytes > 0 {
            self.count_grant(to, bytes);
            self.control(to, protocol::CREDIT, [bytes, 0]);
        }
    }

    /// Counts bytes that a sender may use beyond the first credit.
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
