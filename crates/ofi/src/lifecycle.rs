//! The life cycle of peers: resolving, leaving, losing. Not on the fast path.

use std::time::{Duration, Instant};

use super::frame::FabricFrame;
use super::{Dead, Ofi, OfiLink};
use towpath_transport::Sink;

/// How long a leaving process waits for the goodbyes of the others.
const FAREWELL: Duration = Duration::from_secs(5);
/// How long to wait for reads of a lost peer's memory: the provider ends them with errors.
const LAST_READS: Duration = Duration::from_secs(2);

impl Ofi {
    /// Inserts the address of a peer and returns the provider's handle for it.
    #[cold]
    pub(super) fn find(&mut self, index: usize) -> Option<u64> {
        let peer = &self.peers[index];
        match self.endpoint.reach(&peer.contact.address) {
            Ok(address) => {
                self.peers[index].address = Some(address);
                Some(address)
            }
            Err(reason) => {
                let rank = peer.contact.peer.0;
                self.lose(
                    index,
                    &format!("rank {rank} cannot be reached over the fabric: {reason}"),
                );
                None
            }
        }
    }

    /// Notes that something was sent to a peer or received from it.
    #[inline]
    pub(super) fn meet(&mut self, index: usize) {
        if self.peers[index].link == OfiLink::Quiet {
            self.peers[index].link = OfiLink::Known;
            if self.leaving.is_some() {
                self.tell(index);
            }
        }
    }

    /// Handles a failed operation that was posted to a peer.
    #[cold]
    pub(super) fn fail(&mut self, index: usize, code: i32) {
        let (rank, reason) = (self.peers[index].contact.peer.0, self.endpoint.error(code));
        if self.leaving.is_some() && self.peers[index].told {
            // It left before it could receive the goodbye.
            self.peers[index].parted = true;
            return;
        }
        self.lose(index, &format!("the way to rank {rank} over the fabric is broken: {reason}"));
    }

    /// Marks a peer as lost; [`Sink::lost`] follows.
    pub(super) fn lose(&mut self, index: usize, reason: &str) {
        let peer = &mut self.peers[index];
        if peer.link == OfiLink::Lost {
            return;
        }
        peer.link = OfiLink::Lost;
        self.losses.note(peer.contact.peer, reason);
        self.dead.push_back(Dead { peer: index as u32, since: Instant::now() });
    }

    /// Drops and reports lost peers whose memory is no longer being read.
    #[cold]
    pub(super) fn drop_lost_peers(&mut self, sink: &mut impl Sink) -> bool {
        let mut moved = false;
        for _ in 0..self.dead.len() {
            let Some(dead) = self.dead.pop_front() else { break };
            let peer = &self.peers[dead.peer as usize];
            if peer.reading > 0 && dead.since.elapsed() < LAST_READS {
                self.dead.push_back(dead);
                continue;
            }
            if self.may_be_written(dead.peer) {
                self.end_all_ways(dead.peer);
            }
            self.drop_peer(dead.peer);
            let peer = &self.peers[dead.peer as usize];
            if peer.parted {
                sink.left(peer.contact.peer)
            } else {
                sink.lost(peer.contact.peer)
            }
            moved = true;
        }
        moved
    }

    /// True if a read of a peer's memory that is still in flight may write to user memory.
    /// Registered memory is safe: its registration ends with the pull.
    fn may_be_written(&mut self, index: u32) -> bool {
        let numbers = self.pulls.of_peer(index);
        let (pulls, reads) = (&mut self.pulls, &self.reads);
        let goes_on =
            |slot: &u32| !reads[*slot as usize].complete && reads[*slot as usize].bounce.is_none();
        numbers.into_iter().any(|number| {
            pulls
                .at(number)
                .is_some_and(|pull| pull.region.is_none() && pull.reads.iter().any(goes_on))
        })
    }

    /// Closes the endpoint because of a lost peer, which loses all other peers too: nothing less
    /// stops a read in flight.
    #[cold]
    fn end_all_ways(&mut self, because: u32) {
        let rank = self.peers[because as usize].contact.peer.0;
        for index in 0..self.peers.len() {
            let other = self.peers[index].contact.peer.0;
            let why = format!("reads of the memory of lost rank {rank} did not complete");
            if !self.peers[index].parted {
                self.lose(
                    index,
                    &format!("the way to rank {other} over the fabric was closed: {why}"),
                );
            }
            self.drop_transfers(index as u32);
            let peer = &mut self.peers[index];
            (peer.reading, peer.under_way) = (0, 0);
            peer.pending.clear();
            peer.controls.clear();
        }
        self.writing.clear();
        self.awaited.clear();
        self.sending = 0;
        self.close_endpoint();
    }

    /// Ends all transfers and pending messages from and to a peer.
    fn drop_peer(&mut self, index: u32) {
        self.drop_transfers(index);
        let peer = &mut self.peers[index as usize];
        let held = std::mem::take(&mut peer.held);
        self.unlent.extend(held.into_values().map(|(slot, _)| slot));
        // A peer that has sent its goodbye still waits for ours.
        if !self.peers[index as usize].parted {
            let peer = &mut self.peers[index as usize];
            peer.controls.clear();
            let pending = std::mem::take(&mut peer.pending);
            pending.into_iter().for_each(|(kind, slot, _)| self.forget(index as usize, kind, slot));
        }
    }

    /// Sends a goodbye to a peer, once.
    fn tell(&mut self, index: usize) {
        if !std::mem::replace(&mut self.peers[index].told, true) {
            self.control(index, FabricFrame::Goodbye);
        }
    }

    /// Handles a peer's goodbye: it has left MPI and expects only an answer.
    pub(super) fn part(&mut self, index: usize) {
        self.tell(index);
        let peer = &mut self.peers[index];
        peer.parted = true;
        if self.leaving.is_none() {
            let reason = format!("rank {} has left MPI", peer.contact.peer.0);
            self.lose(index, &reason);
        }
    }

    /// Sends a goodbye to all peers: `busy` is true until they have sent theirs, or for a
    /// few seconds. Must be called when nothing else is in flight; nothing may be sent afterwards.
    pub fn leave(&mut self) {
        self.leaving = Some(Instant::now() + FAREWELL);
        for index in 0..self.peers.len() {
            if self.peers[index].link == OfiLink::Known {
                self.tell(index);
            }
        }
    }

    /// True while this process is leaving and a peer has not answered its goodbye.
    pub(super) fn waits_for_farewells(&self) -> bool {
        let waits = |end: &Instant| {
            self.peers.iter().any(|peer| peer.told && !peer.parted && peer.link == OfiLink::Known)
                && Instant::now() < *end
        };
        self.leaving.as_ref().is_some_and(waits)
    }
}
