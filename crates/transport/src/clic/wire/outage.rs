//! Interfaces that take no frame any more: down, gone, or forbidden. Frames that they refuse count as lost on the way, so without
//! this they would be sent again for ever. With another rail the refused one is down at once; a peer that is owed something, and
//! that only refused rails lead to, is lost after some seconds. Set-up path.
#![forbid(unsafe_code)]

use towpath_base::ids::PeerIndex;

use super::Clic;
use crate::clic::Time;
use crate::clic::timer::{MILLISECOND, SECOND};

/// How long every frame must be refused until whoever is behind the interface is lost.
const OUTAGE: Time = 5 * SECOND;
/// Without a refusal for so long nothing is known of an interface: a rail that is down is asked every second.
const FORGOTTEN: Time = 3 * SECOND;
/// Between two looks.
const LOOK: Time = 20 * MILLISECOND;

/// What is known of one interface.
#[derive(Clone, Debug, Default)]
pub(super) struct Outage {
    /// When it refused the first of the frames of which it has taken none, and the last one.
    between: Option<(Time, Time)>,
    /// Frames refused until then.
    unsent: u64,
    looked: Time,
}

impl Outage {
    /// Notes how an interface stands; true when it has just begun to refuse frames.
    fn note(&mut self, fault: bool, unsent: u64, now: Time) -> bool {
        let refused = unsent != std::mem::replace(&mut self.unsent, unsent);
        let before = self.between.filter(|(_, last)| refused || now.saturating_sub(*last) < FORGOTTEN);
        self.between = match before {
            _ if !fault => None,
            Some((first, last)) => Some((first, if refused { now } else { last })),
            None => refused.then_some((now, now)),
        };
        before.is_none() && self.between.is_some()
    }

    fn is_long(&self, now: Time) -> bool {
        self.between.is_some_and(|(first, _)| now.saturating_sub(first) >= OUTAGE)
    }
}

impl Clic {
    /// Looks at all interfaces; to be called when the protocol has something to do.
    pub(super) fn mind_outages(&mut self, now: Time) {
        if self.outages.first().is_none_or(|outage| now < outage.looked + LOOK) {
            return;
        }
        self.outages[0].looked = now;
        let mut long = false;
        for interface in 0..self.outages.len() {
            let (fault, unsent) = self.lines.fault(interface);
            let outage = &mut self.outages[interface];
            let begins = outage.note(fault.is_some(), unsent, now);
            long |= outage.is_long(now);
            if begins {
                let rails = &self.rails;
                let of = |rank: &u32| Some((*rank, rails.get(*rank as usize)?[interface]));
                let failed: Vec<(u32, u8)> = self.ranks.iter().filter_map(of).collect();
                self.call(|endpoint, now, _| {
                    failed.iter().for_each(|(rank, rail)| endpoint.rail_fails(now, *rank, *rail))
                });
            }
        }
        if long {
            self.lose_unreachable(now);
        }
    }

    /// Loses the peers that wait for something and that no interface leads to any more.
    #[cold]
    fn lose_unreachable(&mut self, now: Time) {
        for rank in self.ranks.clone() {
            let ways = self.lines.ways.peers.get(rank as usize).map_or(&[][..], Vec::as_slice);
            let interfaces: Vec<usize> = ways.iter().map(|(interface, _)| usize::from(*interface)).collect();
            let waits = self.endpoint.peer(rank).is_some_and(|peer| !peer.is_lost() && peer.is_busy());
            if !waits
                || interfaces.is_empty()
                || !interfaces.iter().all(|interface| self.outages[*interface].is_long(now))
            {
                continue;
            }
            let refusal = |interface: &usize| {
                let error = std::io::Error::from_raw_os_error(self.lines.fault(*interface).0.unwrap_or(0));
                format!("{} takes no frames ({error})", self.names[*interface])
            };
            let refusals: Vec<String> = interfaces.iter().map(refusal).collect();
            let reason = format!("rank {rank} cannot be reached any more: {}", refusals.join(", "));
            self.losses.note(PeerIndex(rank), &reason);
            self.call(|endpoint, now, desk| endpoint.give_up(now, rank, desk));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_long_while_every_frame_is_refused() {
        let mut outage = Outage::default();
        assert!(outage.note(true, 1, SECOND) && !outage.note(true, 2, 2 * SECOND - 1));
        (3..7).for_each(|second| assert!(!outage.note(true, second, second * SECOND - SECOND / 2)));
        assert!(outage.is_long(6 * SECOND) && !outage.is_long(6 * SECOND - 1));
        // One frame was taken.
        assert!(!outage.note(false, 7, 7 * SECOND) && !outage.is_long(20 * SECOND));
        assert!(outage.note(true, 8, 8 * SECOND));
        // Nothing was sent for a while: a refusal after that begins another outage.
        assert!(!outage.note(true, 8, 12 * SECOND) && outage.note(true, 9, 20 * SECOND));
        assert!(!outage.is_long(24 * SECOND));
    }
}
