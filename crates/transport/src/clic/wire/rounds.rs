//! What a process does once a second while it is in MPI: it sends one peer after the other a frame, so that switches which
//! have learned something wrong about it learn again, even if it only waits; and it looks whether its own interfaces still are what
//! their peers take them for. Where one has got another address, frames to it get lost without a word, so its peers are lost, unless
//! other rails lead to them. Set-up path.
#![forbid(unsafe_code)]

use towpath_base::ids::PeerIndex;

use super::{Clic, NO_RAIL};
use crate::clic::Time;
use crate::clic::timer::SECOND;
use crate::ticks::ticks;

/// Ticks of the processor after which the clock is read: less than a second.
const LONG: u64 = 1 << 30;
/// Looks in a row that find an interface changed until that is believed: addresses may be away for a moment.
const LOOKS: u32 = 2;

/// When the rounds were made, and what they have found.
#[derive(Debug)]
pub(super) struct Rounds {
    ticks: u64,
    made: Time,
    /// How often peers have been sent a sign of life.
    turn: usize,
    /// By interface: looks in a row that found it changed.
    changed: Vec<u32>,
}

impl Rounds {
    pub(super) fn new(interfaces: usize) -> Rounds {
        Rounds { ticks: ticks(), made: 0, turn: 0, changed: vec![0; interfaces] }
    }

    /// Whether it is worth reading the clock.
    #[inline]
    pub(super) fn may_be_due(&self) -> bool {
        ticks().wrapping_sub(self.ticks) > LONG
    }
}

impl Clic {
    /// Makes the rounds if it is time.
    #[cold]
    pub(super) fn make_rounds(&mut self) {
        self.rounds.ticks = ticks();
        let now = self.now();
        if now < self.rounds.made + SECOND {
            return;
        }
        self.rounds.made = now;
        self.keep_alive();
        for interface in 0..self.interfaces.len() {
            let change = self.lines.look(interface, &self.interfaces[interface]);
            let looks = &mut self.rounds.changed[interface];
            *looks = change.as_ref().map_or(0, |_| *looks + 1);
            if let Some(change) = change.filter(|_| self.rounds.changed[interface] >= LOOKS) {
                self.leave_interface(interface, &change);
            }
        }
    }

    /// Sends a frame to the peer whose turn it is.
    fn keep_alive(&mut self) {
        self.rounds.turn = (self.rounds.turn + 1) % self.ranks.len().max(1);
        if let Some(&rank) = self.ranks.get(self.rounds.turn) {
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
                interface.is_none_or(|interface| self.rounds.changed[interface] >= LOOKS)
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
