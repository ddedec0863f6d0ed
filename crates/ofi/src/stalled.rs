//! Detects reads of a peer's memory that do not end.
//!
//! A provider that serves reads in software completes them when their target process calls MPI,
//! however late that is. And some never complete a read that the target's side refuses (`shm` of
//! libfabric 1.17, if the memory is not registered). So a timeout alone proves nothing. After a
//! while the target process is sent a probe, which it can answer only in a progress call, where it
//! serves reads too. If no read at all completes for the same time again, the peer is lost. Not on
//! the fast path; the clock is read rarely.

use std::time::{Duration, Instant};

use super::Ofi;
use super::frame::FabricFrame;

/// How long to wait for reads before the peer is probed, and again after it has answered: longer
/// than a slow network needs for everything that may be in flight.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// The clock is read once in this many progress calls.
pub(super) const SELDOM: u32 = 256;

/// The state of waiting for reads of a peer's memory.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wait {
    /// Since the first of them started, or the last one ended.
    Since(Instant),
    /// The peer has been probed.
    Asked,
    /// It answered at this time, and no read of its memory has ended since.
    Answered(Instant),
}

impl Ofi {
    /// A read of a peer's memory has started.
    pub(super) fn waits_for_read(&mut self, index: usize) {
        let peer = &mut self.peers[index];
        peer.reading += 1;
        if peer.reading == 1 {
            peer.wait = Wait::Since(Instant::now());
            self.awaited.push(index as u32);
        }
    }

    /// A read of a peer's memory has ended.
    pub(super) fn read_has_ended(&mut self, index: usize) {
        let now = Instant::now();
        self.last_end = now;
        let peer = &mut self.peers[index];
        peer.reading -= 1;
        peer.wait = Wait::Since(now);
        if peer.reading == 0 {
            self.awaited.retain(|other| *other as usize != index);
        }
    }

    /// A peer has answered a probe; answers to older probes are ignored.
    pub(super) fn has_answered(&mut self, index: usize, number: u32) {
        let peer = &mut self.peers[index];
        if matches!(peer.wait, Wait::Asked) && number == peer.probes {
            peer.wait = Wait::Answered(Instant::now());
        }
    }

    /// To be called while reads are in flight; acts rarely. Probes peers whose reads take long, and
    /// loses those that answer but whose reads do not end.
    pub(super) fn watch_reads(&mut self) {
        self.looks += 1;
        if self.looks < SELDOM {
            return;
        }
        self.looks = 0;
        let (now, patience) = (Instant::now(), self.patience);
        let is_long = |since: Instant| now.saturating_duration_since(since) >= patience;
        for at in 0..self.awaited.len() {
            let index = self.awaited[at] as usize;
            let peer = &mut self.peers[index];
            match peer.wait {
                Wait::Since(begin) if is_long(begin) => {
                    peer.wait = Wait::Asked;
                    peer.probes = peer.probes.wrapping_add(1);
                    let number = peer.probes;
                    self.control(index, FabricFrame::Probe { number });
                }
                Wait::Answered(then) if is_long(then.max(self.last_end)) => {
                    let rank = peer.contact.peer.0;
                    self.lose(
                        index,
                        &format!("rank {rank} answers, but reads of its memory over the fabric do not complete"),
                    );
                }
                _ => {}
            }
        }
    }
}
