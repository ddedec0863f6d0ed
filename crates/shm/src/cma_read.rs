//! CMA reads: chunks of a message are read from the sender's process while the sender computes,
//! which gives overlap without a bounce buffer as long as the message.
//!
//! While the sender is in MPI, it fills its bounce buffer from the front. When it has left MPI and
//! the bounce buffer is empty, the receiver claims chunks from the back and reads them with
//! `process_vm_readv`. That is slower than the bounce buffer, so it is not used otherwise. It is
//! only used after a test read of one word of the sender's memory has returned the value that only
//! that process has there.

use std::collections::HashMap;

use towpath_base::sync::{MappedLongWords, Ordering};
use towpath_base::transfer::Target;
use towpath_machine::memory::read_process_into;

use super::bounce::BounceShape;
use super::claims::Claims;
use super::segment::Segment;
use super::share::{Mark, ShareLines};

/// Consecutive polls of an empty bounce buffer until the sender is suspected to compute: a few
/// microseconds, so that a sender between two calls is not mistaken for one that computes.
const PATIENCE: u32 = 64;
/// Consecutive polls that must find the sender outside MPI before chunks are read.
const CERTAINTY: u32 = 16;
/// Chunks that are read before other messages get their turn.
const CHUNKS_OF_A_STEP: u32 = 4;

/// For each peer that was tried: whether its memory can be read.
#[derive(Default)]
pub(super) struct Readers(HashMap<u32, bool>);

impl Readers {
    /// The process of a local rank if its memory can be read. Tested once, with the rank's mark.
    fn process(&mut self, segment: &Segment, peer: u32, mark: Mark) -> Option<u32> {
        let pid = segment.control(peer as usize).pid.load(Ordering::Relaxed);
        if pid == 0 {
            return None;
        }
        let readable = self.0.entry(peer).or_insert_with(|| mark.is_of(pid));
        readable.then_some(pid)
    }

    fn forget(&mut self, peer: u32) {
        self.0.insert(peer, false);
    }
}

/// The receiver's part in a message that is sent through a bounce buffer.
pub(super) struct CmaRead {
    claims: Claims<MappedLongWords>,
    address: u64,
    mark: Mark,
    target: *mut u8,
    length: usize,
    chunk: usize,
    /// Chunks of the message.
    pub(super) units: u32,
    /// Chunks that were read.
    pub(super) read: u32,
    /// Consecutive polls that found the bounce buffer empty and, from `PATIENCE` on, the sender
    /// outside MPI.
    pub(super) starved: u32,
    refused: bool,
}

// SAFETY: the pointer is that of the message's target, which is only accessed under the lock of the
// worker.
unsafe impl Send for CmaRead {}

impl CmaRead {
    /// `None` unless the target is contiguous and has room for exactly the whole message.
    pub(super) fn new(
        lines: ShareLines,
        target: &Target,
        length: u64,
        shape: BounceShape,
    ) -> Option<CmaRead> {
        let &Target::Bytes { pointer: target, length: room } = target else { return None };
        if room as u64 != length {
            return None;
        }
        let chunk = shape.chunk_bytes();
        let units = room.div_ceil(chunk) as u32;
        let (claims, place, mark) = lines.follow(false, units);
        let address = place.address;
        Some(CmaRead {
            claims,
            address,
            mark,
            target,
            length: room,
            chunk,
            units,
            read: 0,
            starved: 0,
            refused: false,
        })
    }

    /// Reads some chunks if the sender computes. True if it has read something, or has given back a
    /// chunk that the sender may have considered read; in both cases the sender must be woken.
    pub(super) fn step(&mut self, segment: &Segment, from: u32, readers: &mut Readers) -> bool {
        self.starved = self.starved.saturating_add(1);
        // The sender writes its control page at each call. If it were read while the sender still
        // copies, the sender's next write would be slow.
        if self.refused || self.starved < PATIENCE {
            return false;
        }
        let page = segment.control(from as usize);
        if page.in_call.load(Ordering::Relaxed) != 0 {
            self.starved = 0;
        }
        if self.starved < PATIENCE + CERTAINTY {
            return false;
        }
        let Some(process) = readers.process(segment, from, self.mark) else {
            self.refused = true;
            return false;
        };
        let before = self.read;
        for _ in 0..CHUNKS_OF_A_STEP {
            if page.in_call.load(Ordering::Relaxed) != 0 || !self.read_one(process) {
                break;
            }
        }
        if self.refused {
            readers.forget(from);
        }
        self.read > before || self.refused
    }

    /// Claims and reads a chunk; false if none is left or it cannot be read.
    fn read_one(&mut self, process: u32) -> bool {
        let Some(unit) = self.claims.claim() else { return false };
        let at = unit as usize * self.chunk;
        let length = self.chunk.min(self.length - at);
        // SAFETY: this side has claimed the chunk, so no one else writes it. It is inside the
        // target, which stays valid until the pull is reported.
        let read = unsafe {
            read_process_into(process, self.address + at as u64, self.target.add(at), length)
        };
        if read.is_err() {
            // Device memory, for example: only the sender can copy it.
            self.claims.unclaim();
            self.refused = true;
            return false;
        }
        self.claims.finish();
        self.read += 1;
        true
    }
}
