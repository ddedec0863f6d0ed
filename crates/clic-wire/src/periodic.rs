//! Work that a process does once a second while it is in MPI. It sends a keep-alive frame to one
//! peer after another, so that a switch with a stale entry for it relearns, even if the process
//! only waits. It also checks whether its interfaces still have the addresses that its peers know:
//! if one does not, frames to it are lost silently, and peers that no other rail reaches are lost.
//! Slow path.
#![forbid(unsafe_code)]

use towpath_base::ids::PeerIndex;

use super::{Clic, NO_RAIL};
use towpath_clic::Time;
use towpath_clic::timer::SECOND;
use towpath_transport::ticks::ticks;

/// Processor ticks between two readings of the clock: less than a second.
const LONG: u64 = 1 << 30;
/// Number of successive checks that must find an interface changed: an address may disappear for a
/// moment.
const LOOKS: u32 = 2;

/// When the work was last done, and its findings.
#[derive(Debug)]
pub(super) struct Periodic {
    ticks: u64,
    done: Time,
    /// The peer that was last sent a keep-alive frame.
    turn: usize,
    /// By interface: number of successive checks that found it changed.
    changed: Vec<u32>,
}

impl Periodic {
    pub(super) fn new(interfaces: usize) -> Periodic {
        Periodic { ticks: ticks(), done: 0, turn: 0, changed: vec![0; interfaces] }
    }

    /// True if reading the clock is worthwhile.
    #[inline]
    pub(super) fn may_be_due(&self) -> bool {
        ticks().wrapping_sub(self.ticks) > LONG
    }
}

impl Clic {
    /// Does the periodic work if it is due.
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

    /// Sends a keep-alive frame to the next peer in turn.
    fn keep_alive(&mut self) {
        self.periodic.turn = (self.periodic.turn + 1) % self.ranks.len().max(1);
        if let Some(&rank) = self.ranks.get(self.periodic.turn) {
            self.call(|endpoint, now, driver| endpoint.keep_alive(now, rank, driver));
        }
    }

    /// Peers can no longer reach this interface.
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
                self.losses.note(
                    PeerIndex(rank),
                    &format!("rank {rank} cannot be reached any more: {change}"),
                );
                self.call(|endpoint, now, driver| endpoint.give_up(now, rank, driver));
            } else {
                self.call(|endpoint, now, _| endpoint.rail_fails(now, rank, rail));
            }
        }
    }
}
