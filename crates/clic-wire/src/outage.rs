//! Detection of paths that no longer accept frames: the interface is down or gone, or a firewall
//! rejects the frames. Rejected frames count as lost in transit, so without detection they would be
//! retransmitted forever. If there is another rail, the failed one is taken down at once. A peer
//! with pending work is lost after some seconds if every rail to it has a route that rejects all
//! frames. Slow path.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use towpath_base::ids::PeerIndex;

use super::Clic;
use towpath_clic::Time;
use towpath_clic::timer::{MILLISECOND, SECOND};

/// How long all frames to a peer must be rejected before it is lost.
const OUTAGE: Time = 5 * SECOND;
/// After this long without a rejection, the state of a path is unknown; a rail that is down is
/// probed every second.
const FORGOTTEN: Time = 3 * SECOND;
/// Interval between two checks.
const LOOK: Time = 20 * MILLISECOND;

/// State of a rail that rejects frames.
#[derive(Clone, Debug, Default)]
struct Outage {
    /// Times of the first and the last rejection since it last accepted a frame.
    between: Option<(Time, Time)>,
    /// Number of frames rejected by then.
    refused: u64,
}

impl Outage {
    /// Records the number of rejected frames; true if this starts an outage.
    fn note(&mut self, refused: u64, now: Time) -> bool {
        let more = refused > std::mem::replace(&mut self.refused, refused);
        let before = self.between.filter(|(_, last)| more || now.saturating_sub(*last) < FORGOTTEN);
        self.between = match before {
            Some((first, last)) => Some((first, if more { now } else { last })),
            None => more.then_some((now, now)),
        };
        before.is_none() && self.between.is_some()
    }

    fn is_long(&self, now: Time) -> bool {
        self.between.is_some_and(|(first, _)| now.saturating_sub(first) >= OUTAGE)
    }
}

/// Outages by rank and rail.
#[derive(Debug, Default)]
pub(super) struct Outages {
    all: BTreeMap<(u32, u8), Outage>,
    looked: Time,
}

impl Outages {
    fn is_long(&self, rank: u32, rail: u8, now: Time) -> bool {
        self.all.get(&(rank, rail)).is_some_and(|outage| outage.is_long(now))
    }
}

impl Clic {
    /// Checks all paths; called when the protocol has timers to run.
    pub(super) fn mind_outages(&mut self, now: Time) {
        if now < self.outages.looked + LOOK {
            return;
        }
        self.outages.looked = now;
        if !self.lines.has_faults() {
            self.outages.all.clear();
            return;
        }
        let (mut begun, mut long) = (Vec::new(), Vec::new());
        for &rank in &self.ranks {
            for rail in 0..self.lines.ways.count(rank) {
                let Some((_, refused)) = self.lines.fault(rank, rail) else {
                    self.outages.all.remove(&(rank, rail));
                    continue;
                };
                let outage = self.outages.all.entry((rank, rail)).or_default();
                if outage.note(refused, now) {
                    begun.push((rank, rail));
                }
                if outage.is_long(now) {
                    long.push(rank);
                }
            }
        }
        if !begun.is_empty() {
            self.call(|endpoint, now, _| {
                begun.iter().for_each(|(rank, rail)| endpoint.rail_fails(now, *rank, *rail))
            });
        }
        long.dedup();
        long.into_iter().for_each(|rank| self.lose_unreachable(rank, now));
    }

    /// Declares a peer with pending work lost if every rail to it rejects frames.
    #[cold]
    fn lose_unreachable(&mut self, rank: u32, now: Time) {
        let waits = self.endpoint.peer(rank).is_some_and(|peer| !peer.is_lost() && peer.is_busy());
        let rails = 0..self.lines.ways.count(rank);
        if !waits || !rails.clone().all(|rail| self.outages.is_long(rank, rail, now)) {
            return;
        }
        let refusal = |rail: u8| {
            let (interface, (error, _)) =
                (self.lines.ways.interface(rank, rail)?, self.lines.fault(rank, rail)?);
            let error = std::io::Error::from_raw_os_error(error);
            Some(format!("{} accepts no frames ({error})", self.interfaces[interface].name))
        };
        let refusals: Vec<String> = rails.filter_map(refusal).collect();
        let reason = format!("rank {rank} cannot be reached any more: {}", refusals.join(", "));
        self.losses.note(PeerIndex(rank), &reason);
        self.call(|endpoint, now, driver| endpoint.give_up(now, rank, driver));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_long_while_every_frame_is_refused() {
        let mut outage = Outage::default();
        assert!(outage.note(1, SECOND) && !outage.note(2, 2 * SECOND - 1));
        (3..7).for_each(|second| assert!(!outage.note(second, second * SECOND - SECOND / 2)));
        assert!(outage.is_long(6 * SECOND) && !outage.is_long(6 * SECOND - 1));
        // After an interval without traffic, a rejection starts another outage.
        assert!(!outage.note(6, 12 * SECOND) && outage.note(7, 20 * SECOND));
        assert!(!outage.is_long(24 * SECOND) && outage.is_long(25 * SECOND));
    }
}
