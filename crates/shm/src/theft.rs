//! Reading chunks of a message from the sender's process while that computes: overlap without a
//! window of its length.
//!
//! The sender fills its window from the front when it is in MPI; when it has left MPI and the
//! window is empty, the receiver claims chunks from the back and reads them with
//! `process_vm_readv`. That is slower than the window, so it is done for nothing else, and only
//! after one word of the sender's memory was read and said what only that process says.

use std::collections::HashMap;

use towpath_base::sync::{MappedLongWords, Ordering};
use towpath_base::transfer::Target;
use towpath_machine::memory::{read_process, read_process_into};

use super::claims::Claims;
use super::segment::Segment;
use super::share::{Lines, Mark};
use super::window::Shape;

/// Looks at an empty window, one after the other, until the sender is suspected to compute: a few
/// microseconds, so that a sender between two calls is not taken for one that computes.
const PATIENCE: u32 = 64;
/// Looks at a sender that is outside of MPI, one after the other, until it is believed.
const CERTAINTY: u32 = 16;
/// Chunks that are read before everything else has its turn.
const CHUNKS_OF_A_STEP: u32 = 4;

/// Whose memory can be read, as far as it was tried.
#[derive(Default)]
pub(super) struct Readers(HashMap<u32, bool>);

impl Readers {
    /// The process of a local rank if its memory can be read. Tried once with the word that the
    /// rank has marked.
    fn process(&mut self, segment: &Segment, peer: u32, mark: Mark) -> Option<u32> {
        let pid = segment.control(peer as usize).pid.load(Ordering::Relaxed);
        if pid == 0 {
            return None;
        }
        let readable = self.0.entry(peer).or_insert_with(|| {
            let mut word = [0; 8];
            // Another process may have that number here, in another space of process numbers.
            read_process(pid, mark.address, &mut word).is_ok() && u64::from_ne_bytes(word) == mark.value
        });
        readable.then_some(pid)
    }

    fn forget(&mut self, peer: u32) {
        self.0.insert(peer, false);
    }
}

/// The receiver's part in a message that goes through a window.
pub(super) struct Theft {
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
    /// How often the window was found empty since something came.
    pub(super) starved: u32,
    refused: bool,
}

// SAFETY: the pointer is that of the message's target, see `Target`.
unsafe impl Send for Theft {}

impl Theft {
    /// For a message that is wanted as a whole, in a row.
    pub(super) fn new(lines: Lines, target: &Target, length: u64, shape: Shape) -> Option<Theft> {
        let &Target::Bytes { pointer: target, length: room } = target else { return None };
        if room as u64 != length {
            return None;
        }
        let chunk = shape.chunk_bytes();
        let units = room.div_ceil(chunk) as u32;
        let (claims, place, mark) = lines.follow(false, units);
        let address = place.address;
        Some(Theft { claims, address, mark, target, length: room, chunk, units, read: 0, starved: 0, refused: false })
    }

    /// Reads some chunks if the sender computes; true when it has read something, or given a chunk
    /// back that the sender may have taken for read: then the sender must be woken.
    pub(super) fn step(&mut self, segment: &Segment, from: u32, readers: &mut Readers) -> bool {
        self.starved = self.starved.saturating_add(1);
        // The sender writes its page at each call: read while it still copies, its next line would
        // be slow to write.
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

    /// Claims and reads a chunk; false when there is none left, or it cannot be read.
    fn read_one(&mut self, process: u32) -> bool {
        let Some(unit) = self.claims.claim() else { return false };
        let at = unit as usize * self.chunk;
        let length = self.chunk.min(self.length - at);
        // SAFETY: the chunk is claimed and lies inside the target, which lives until the pull is
        // reported.
        let read = unsafe { read_process_into(process, self.address + at as u64, self.target.add(at), length) };
        if read.is_err() {
            // Memory of a device, for example: only its owner can copy it.
            self.claims.unclaim();
            self.refused = true;
            return false;
        }
        self.claims.finish();
        self.read += 1;
        true
    }
}
