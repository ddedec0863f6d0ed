//! How a sender writes payload that another core will read: by ordinary stores, or past the caches.
//!
//! An ordinary store to a line that the reader still holds first has to take it away from the reader's
//! cache. Between cores that share a cache this costs little. Between cores of different complexes or
//! sockets each line costs a round trip over the fabric, and stores past the caches, which need no
//! ownership, are two to three times as fast (EPYC 7003: 64 KiB in 5.4 instead of 16 us). Which is
//! better depends on processor and placement, so both are timed where they are used.
//!
//! The state of the lines is part of the cost: stores past the caches leave the lines in memory, and
//! the next ordinary store finds them there. So each way runs for a lap before it is timed.

use towpath_base::transfer::{Source, Step};

use crate::ticks::ticks;
use crate::{ahead, copy, streamed};

/// Rows below this length are not worth the fence of streamed stores.
const SHORTEST_LOG: u32 = 12;
/// Lengths that are told apart: 4 to 8 KiB, 8 to 16 KiB, and more.
const SIZES: usize = 3;

/// Copies in which one way reaches its steady state, and those of them that are timed, the last ones.
const LAP: u32 = 32;
const TIMED: u32 = 16;
/// Copies between the end of a trial and the beginning of the next one.
const REST: u32 = 4096;

/// How many times as quick streamed stores must be. Cores of one complex show 1 to 2, of two 4 to 7.
const GAIN: u64 = 3;

/// The choice for rows of one size class.
#[derive(Clone, Copy, Debug)]
struct Choice {
    streamed: bool,
    /// Copies left until the trial ends; above `2 * LAP` none is under way.
    left: u32,
    /// Ticks of the quickest timed copy of 64 KiB: ordinary, streamed.
    quickest: [u64; 2],
}

/// The choices towards each reader, by local rank.
#[derive(Debug)]
pub(crate) struct Stores {
    readers: Vec<[Choice; SIZES]>,
    /// Where packers pack what is then streamed: past the caches only whole lines are quick.
    packed: Vec<u8>,
}

impl Stores {
    pub(crate) fn new(readers: usize) -> Stores {
        // The first copies also touch fresh pages: one lap passes before the first trial.
        let choice = Choice { streamed: false, left: 3 * LAP, quickest: [u64::MAX; 2] };
        Stores { readers: vec![[choice; SIZES]; readers], packed: Vec::new() }
    }

    /// Copies a row into shared memory that local rank `reader` will read.
    ///
    /// # Safety
    /// `from` must be readable and `to` writable for `length` bytes, without overlap.
    #[inline]
    pub(crate) unsafe fn copy(&mut self, reader: usize, from: *const u8, to: *mut u8, length: usize) {
        match size_of_row(length) {
            // SAFETY: the caller's contract is the same.
            None => unsafe { copy::row(from, to, length) },
            // SAFETY: the caller's contract is the same.
            Some(size) => unsafe { self.readers[reader][size].copy(from, to, length) },
        }
    }

    /// Lets `fill` write `length` bytes that go to `to` in shared memory.
    ///
    /// # Safety
    /// `to` must be writable for `length` bytes; `fill` must write no more.
    #[inline]
    pub(crate) unsafe fn fill_row(&mut self, reader: usize, to: *mut u8, length: usize, fill: impl FnOnce(*mut u8)) {
        match self.aside(reader, length) {
            None => fill(to),
            Some(packed) => {
                fill(packed);
                // SAFETY: `fill` has written the packed bytes; the caller vouches for the target.
                unsafe { self.copy(reader, packed, to, length) };
            }
        }
    }

    /// As [`Source::fill`], into shared memory that local rank `reader` will read.
    ///
    /// # Safety
    /// As there.
    #[inline]
    pub(crate) unsafe fn fill(&mut self, reader: usize, source: &mut Source, to: *mut u8, capacity: usize) -> Step {
        let Source::Bytes { pointer, length } = source else {
            // SAFETY: the caller's contract is the same.
            return unsafe { self.pack(reader, source, to, capacity) };
        };
        let step = capacity.min(*length);
        // SAFETY: the source has `length` bytes, the caller lends `capacity`.
        unsafe {
            self.copy(reader, *pointer, to, step);
            *pointer = pointer.add(step);
        }
        *length -= step;
        Step::Done(step)
    }

    /// As [`Stores::fill`], for a source that is not a row of bytes.
    unsafe fn pack(&mut self, reader: usize, source: &mut Source, to: *mut u8, capacity: usize) -> Step {
        let Some(packed) = self.aside(reader, capacity) else {
            ahead::write(to, capacity);
            // SAFETY: the caller of `fill` lends `capacity` bytes.
            return unsafe { source.fill(to, capacity) };
        };
        // SAFETY: there is room for `capacity` bytes at both places.
        unsafe {
            let step = source.fill(packed, capacity);
            if let Step::Done(bytes) = step {
                self.copy(reader, packed, to, bytes);
            }
            step
        }
    }

    /// Private memory for `length` bytes, where a packer should not write to shared memory itself.
    fn aside(&mut self, reader: usize, length: usize) -> Option<*mut u8> {
        let choice = &mut self.readers[reader][size_of_row(length)?];
        if !choice.way() && choice.left > 2 * LAP {
            choice.left -= 1;
            return None;
        }
        if self.packed.len() < length {
            self.packed.resize(length, 0);
        }
        Some(self.packed.as_mut_ptr())
    }
}

impl Choice {
    /// Whether the next copy is streamed.
    #[inline]
    fn way(&self) -> bool {
        match self.left {
            1..=LAP => true,
            left if left <= 2 * LAP => false,
            _ => self.streamed,
        }
    }

    /// # Safety
    /// As [`Stores::copy`].
    #[inline]
    unsafe fn copy(&mut self, from: *const u8, to: *mut u8, length: usize) {
        let way = self.way();
        let timed = self.left <= 2 * LAP && (self.left - 1) % LAP < TIMED;
        let started = if timed { ticks() } else { 0 };
        // SAFETY: the caller's contract is the same.
        unsafe {
            match way {
                true => streamed::copy(from, to, length),
                false => copy::row(from, to, length),
            }
        }
        if timed {
            self.enter(way, ticks().wrapping_sub(started).saturating_mul(1 << 16) / length as u64);
        }
        self.left -= 1;
        if self.left == 0 {
            self.decide();
        }
    }

    fn enter(&mut self, way: bool, ticks: u64) {
        let quickest = &mut self.quickest[usize::from(way)];
        *quickest = ticks.min(*quickest);
    }

    /// The trial is over. The reader of streamed bytes finds them in memory, which takes it longer than
    /// from a cache: only far cores, where ordinary stores take many times as long, gain by that.
    #[cold]
    fn decide(&mut self) {
        let [ordinary, streamed] = self.quickest;
        *self = Choice { streamed: streamed < ordinary / GAIN, left: REST + 2 * LAP, quickest: [u64::MAX; 2] };
    }
}

/// The size class of a row; `None` where there is no choice.
#[inline]
fn size_of_row(length: usize) -> Option<usize> {
    (length >= 1 << SHORTEST_LOG).then(|| ((length.ilog2() - SHORTEST_LOG) as usize).min(SIZES - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs one trial in which the two ways take so long.
    fn decided(choice: &mut Choice, ordinary: u64, streamed: u64) -> bool {
        while choice.left > 2 * LAP {
            choice.left -= 1;
        }
        while choice.left > 0 {
            let way = choice.way();
            if (choice.left - 1) % LAP < TIMED {
                choice.enter(way, if way { streamed } else { ordinary });
            }
            choice.left -= 1;
        }
        choice.decide();
        choice.way()
    }

    #[test]
    fn the_way_follows_the_distance_of_the_cores() {
        let mut stores = Stores::new(1);
        let choice = &mut stores.readers[0][2];
        assert!(!choice.way(), "ordinary stores before anything is known");
        assert!(!decided(choice, 100, 190), "cores that share a cache");
        assert!(decided(choice, 900, 190), "cores that do not");
        assert!(!decided(choice, 300, 190), "not worth the longer way of the reader");
    }

    #[test]
    fn every_way_writes_all_bytes() {
        let from: Vec<u8> = (0..40_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let mut stores = Stores::new(2);
        for round in 0..4 * LAP as usize {
            for length in [4095, 4096, 8192, 20_000] {
                let mut to = vec![0xa5u8; length + 1];
                let source = &from[round..round + length];
                // SAFETY: source and target have that length.
                unsafe {
                    match round % 2 {
                        0 => stores.copy(1, source.as_ptr(), to.as_mut_ptr(), length),
                        _ => stores.fill_row(1, to.as_mut_ptr(), length, |place| {
                            source.as_ptr().copy_to_nonoverlapping(place, length)
                        }),
                    }
                }
                assert!(to[..length] == *source && to[length] == 0xa5, "{length} bytes, round {round}");
            }
        }
    }
}
