//! Reads of a peer's memory that do not end.
//!
//! A provider that serves reads in software ends them when their owner calls MPI, however late that
//! is; and some never end one that the owner's side refuses (`shm` of libfabric 1.17 none of memory
//! that is not registered). So time alone says nothing: after a while the owner is asked for a sign
//! of life, which it can give only where it serves reads too. If no read at all ends for as long
//! again, it is lost. Large path; the clock is read seldom.

use std::time::{Duration, Instant};

use super::Ofi;
use super::frame::Frame;

/// How long reads are waited for before their owner is asked, and again after it has answered:
/// longer than everything that may be under way takes over a slow network.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// The clock is looked at every so many progresses.
pub(super) const SELDOM: u32 = 256;

/// How far the wait for the reads of a peer's memory has come.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wait {
    /// The first of them began then, or the last one ended.
    Since(Instant),
    /// The peer has been asked for a sign of life.
    Asked,
    /// It gave one then, and none of them has ended since.
    Answered(Instant),
}

impl Ofi {
    /// A read of a peer's memory is under way.
    pub(super) fn waits_for_read(&mut self, place: usize) {
        let peer = &mut self.peers[place];
        peer.reading += 1;
        if peer.reading == 1 {
            peer.wait = Wait::Since(Instant::now());
            self.awaited.push(place as u32);
        }
    }

    /// A read of a peer's memory is over.
    pub(super) fn read_has_ended(&mut self, place: usize) {
        let now = Instant::now();
        self.last_end = now;
        let peer = &mut self.peers[place];
        peer.reading -= 1;
        peer.wait = Wait::Since(now);
        if peer.reading == 0 {
            self.awaited.retain(|other| *other as usize != place);
        }
    }

    /// A peer has given the sign of life that it was asked for; one that it was asked for earlier
    /// says nothing.
    pub(super) fn has_answered(&mut self, place: usize, number: u32) {
        let peer = &mut self.peers[place];
        if matches!(peer.wait, Wait::Asked) && number == peer.probes {
            peer.wait = Wait::Answered(Instant::now());
        }
    }

    /// Now and then: asks peers that reads have long been waited for, and gives up those that
    /// answer but serve none.
    pub(super) fn watch_reads(&mut self) {
        self.looks += 1;
        if self.looks < SELDOM {
            return;
        }
        self.looks = 0;
        let (now, patience) = (Instant::now(), self.patience);
        let is_long = |since: Instant| now.saturating_duration_since(since) >= patience;
        for index in 0..self.awaited.len() {
            let place = self.awaited[index] as usize;
            let peer = &mut self.peers[place];
            match peer.wait {
                Wait::Since(begin) if is_long(begin) => {
                    peer.wait = Wait::Asked;
                    peer.probes = peer.probes.wrapping_add(1);
                    let number = peer.probes;
                    self.control(place, Frame::Probe { number });
                }
                Wait::Answered(then) if is_long(then.max(self.last_end)) => {
                    let rank = peer.contact.peer.0;
                    self.lose(
                        place,
                        &format!("rank {rank} answers, but what is read from its memory over the fabric never comes"),
                    );
                }
                _ => {}
            }
        }
    }
}
