//! Rings for declared neighbours: a new topology redivides the receiver's area, and rings move by
//! grant and marker while messages are in flight.
//!
//! A declared sender gets its ring without asking, with its pages populated, so its first message
//! is as fast as the next ones. If the area is too small, declared edges take precedence over
//! observed ones, and rings above their share are revoked. The memory of a revoked ring returns
//! when its sender has written the marker, and edges with less than their share are served then. A
//! ring whose topology is gone stays until its bytes are needed.

use towpath_base::control::{ChannelShare, PAGE};
use towpath_base::sync::Ordering;
use towpath_transport::Section;

use super::Shm;
use super::division::RingShape;
use super::layout::{CELL_BYTES, RingPlace};

impl Shm {
    /// A topology with key `key` declares that local ranks send to this process, each with a
    /// weight. A rank may be listed several times; edges from this process itself are ignored.
    /// Returns at once, with grants still pending ([`Shm::has_granted`]).
    pub fn declare(&mut self, key: u64, sources: &[(usize, u64)]) {
        let others = sources.iter().filter(|(from, _)| *from != self.own);
        self.division.declare(key, others.map(|&(from, weight)| (from as u32, weight)));
        self.redivide();
        self.publish_shares();
    }

    /// The topology with key `key` no longer exists.
    pub fn undeclare(&mut self, key: u64) {
        self.division.undeclare(key);
        self.publish_shares();
        if self.wanting {
            self.redivide();
        }
    }

    /// True if the grants to all senders that the topology declares have been sent. Rings that
    /// cannot be granted now need no message. Senders of other topologies do not count, since they
    /// may be outside MPI.
    pub fn has_granted(&self, key: u64) -> bool {
        self.division.senders_of(key).all(|from| {
            let out = &self.outgoing[from as usize];
            out.lost || out.backlog.is_empty()
        })
    }

    /// The current layout of this receiver's channel: a section for each sender that has a ring or
    /// is declared, by rank.
    pub fn sections(&self) -> Vec<Section> {
        let rings = self.hot.iter().map(|ring| ring.from);
        let mut senders: Vec<u32> = rings.chain(self.division.senders()).collect();
        senders.sort_unstable();
        senders.dedup();
        let section = |from: u32| {
            let place = self.incoming[from as usize].decision.latest();
            Section {
                from: self.peers[from as usize],
                bytes: place.map_or(0, |place| place.total()),
                largest_message: place.map_or(CELL_BYTES, |place| place.copied_limit()),
                weight: self.division.weight(from),
            }
        };
        senders.into_iter().map(section).collect()
    }

    /// Publishes a sender's share in the control page.
    pub(super) fn publish_share(&self, from: usize) {
        let bytes = self.granted_bytes(from as u32);
        let share =
            ChannelShare::of(bytes, bytes > 0 && self.division.weight(from as u32).is_some());
        self.segment.own_control().channel[from].store(share.encode(), Ordering::Relaxed);
    }

    fn publish_shares(&self) {
        self.hot.iter().for_each(|ring| self.publish_share(ring.from as usize));
    }

    /// Grants and revokes rings so that they match the declared shares.
    pub(super) fn redivide(&mut self) {
        let usual = RingPlace::total_bytes(self.settings.ring_lines, self.settings.ring_bytes);
        let shares = self.division.shares(self.settings.arena_bytes, usual);
        let mut missing = 0;
        for &(from, share) in &shares {
            let has = self.granted_bytes(from);
            if self.outgoing[from as usize].lost || 2 * has >= share {
                continue;
            }
            // Half of a share now is better than all of it after others have returned theirs.
            let sizes = [share, share / 2 / PAGE * PAGE]
                .into_iter()
                .filter(|&bytes| bytes >= (2 * has).max(PAGE));
            let place =
                sizes.into_iter().find_map(|bytes| self.make_ring(RingShape::within(bytes), true));
            if let Some(place) = place {
                self.grant(from as usize, Some(place));
            }
            if 2 * self.granted_bytes(from) < share {
                missing += share;
            }
        }
        self.wanting = missing > 0;
        if self.wanting {
            let share_of =
                |from| shares.iter().find(|share| share.0 == from).map_or(0, |share| share.1);
            self.revoke(missing, |wire, from| wire.granted_bytes(from) > share_of(from));
        }
    }

    /// Bytes of the ring that a sender has or was granted last.
    fn granted_bytes(&self, from: u32) -> usize {
        self.incoming[from as usize].decision.latest().map_or(0, |place| place.total())
    }

    /// Revokes rings for which `may_go` is true, undeclared ones first, until `needed` bytes are
    /// being returned.
    fn revoke(&mut self, needed: usize, may_go: impl Fn(&Shm, u32) -> bool) {
        let mut victims: Vec<u32> =
            self.hot.iter().map(|ring| ring.from).filter(|&from| may_go(self, from)).collect();
        victims.sort_by_key(|&from| self.division.weight(from));
        let mut returning = self.returning;
        for from in victims {
            if returning >= needed {
                break;
            }
            let bytes = self.granted_bytes(from);
            self.grant(from as usize, None);
            returning += bytes;
            self.returning += bytes;
        }
    }

    /// Revokes undeclared rings that were not used since the last call, because an observed pair
    /// needs `needed` bytes.
    pub(super) fn revoke_idle(&mut self, needed: usize) {
        let idle = |ring: &super::HotRing| ring.receiver.taken() == ring.seen;
        let unused: Vec<u32> =
            self.hot.iter().filter(|ring| idle(ring)).map(|ring| ring.from).collect();
        self.hot.iter_mut().for_each(|ring| ring.seen = ring.receiver.taken());
        self.revoke(needed, |wire, from| {
            unused.contains(&from) && wire.division.weight(from).is_none()
        });
    }

    /// Returns rings that their senders no longer write to the area, and serves edges with less
    /// than their share.
    pub(super) fn take_back(&mut self, freed: Vec<RingPlace>) {
        for place in &freed {
            self.returning = self.returning.saturating_sub(place.total());
            self.free_ring(*place);
        }
        if self.wanting && !freed.is_empty() {
            self.redivide();
        }
    }
}
