//! What a process does once a second while it is in MPI. It sends a keep-alive frame to one peer
//! after the other: a switch with a wrong entry about it learns again, even if the process only
//! waits. And it looks whether its interfaces still have the addresses that its peers know: where
//! one has not, frames to it get lost without a word, so the peers that no other rail leads to are
//! lost. Set-up path.
#![forbid(unsafe_code)]

use towpath_base::ids::PeerIndex;

use super::{Clic, NO_RAIL};
use towpath_clic::Time;
use towpath_clic::timer::SECOND;
use towpath_transport::ticks::ticks;

/// Ticks of the processor after which the clock is read: less than a second.
const LONG: u64 = 1 << 30;
/// Looks in a row that find an interface changed until that is believed: addresses may be away for
/// a moment.
const LOOKS: u32 = 2;

/// When the work was done last, and what it has found.
#[derive(Debug)]
pub(super) struct Periodic {
    ticks: u64,
    done: Time,
    /// Which peer was sent a keep-alive frame last.
    turn: usize,
    /// By interface: looks in a row that found it changed.
    changed: Vec<u32>,
}

impl Periodic {
    pub(super) fn new(interfaces: usize) -> Periodic {
        Periodic { ticks: ticks(), done: 0, turn: 0, changed: vec![0; interfaces] }
    }

    /// Whether it is worth reading the clock.
    #[inline]
    pub(super) fn may_be_due(&self) -> bool {
        ticks().wrapping_sub(self.ticks) > LONG
    }
}

impl Clic {
    /// Does the periodic work if it is time.
    #[cold]
    pub(super) fn do_periodic_work(&mut self) {
        self.periodic.ticks = ticks();
        let now = self.now();
        if now < self.periodic.done + SECOND {
            return;
        }
        self.periodic.done = now;
        self.keep_alive();
        for interface in 0..self.interfaces.len() {
            let change = self.lines.look(interface, &self.interfaces[interface]);
            let looks = &mut self.periodic.changed[interface];
            *looks = change.as_ref().map_or(0, |_| *looks + 1);
            if let Some(change) = change.filter(|_| self.periodic.changed[interface] >= LOOKS) {
                self.leave_interface(interface, &change);
            }
        }
    }

    /// Sends a keep-alive frame to the peer whose turn it is.
    fn keep_alive(&mut self) {
        self.periodic.turn = (self.periodic.turn + 1) % self.ranks.len().max(1);
        if let Some(&rank) = self.ranks.get(self.periodic.turn) {
            self.call(|endpoint, now, desk| endpoint.keep_alive(now, rank, desk));
        }
    }

    /// Others reach this interface no more.
    fn leave_interface(&mut self, interface: usize, change: &str) {
        for rank in self.ranks.clone() {
            let rail = self.rails.get(rank as usize).map_or(NO_RAIL, |rails| rails[interface]);
            if rail == NO_RAIL || self.endpoint.peer(rank).is_none_or(|peer| peer.is_lost()) {
                continue;
            }
            let is_left = |rail| {
                let interface = self.lines.ways.interface(rank, rail);
                interface.is_none_or(|interface| self.periodic.changed[interface] >= LOOKS)
            };
            if (0..self.lines.ways.count(rank)).all(is_left) {
                self.losses.note(PeerIndex(rank), &format!("rank {rank} cannot be reached any more: {change}"));
                self.call(|endpoint, now, desk| endpoint.give_up(now, rank, desk));
            } else {
                self.call(|endpoint, now, _| endpoint.rail_fails(now, rank, rail));
            }
        }
    }
}
