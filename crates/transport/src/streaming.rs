//! Long messages into memory that no cache holds are stored past the caches: an ordinary store would first fetch each line
//! from memory.
//!
//! Whether a cache holds the target is seen by the time that its chunks take: when several in a row take far longer than
//! the quickest one ever, some are streamed for a trial, and the quicker way is kept. Now and then the other way is tried
//! again. So a message into warm memory is streamed only where the machine has become slower since, and streams are quicker
//! even so; buffers that change are noticed within one message.

use crate::copy;
use crate::routine::ticks;

/// A chunk is slow when it takes so many times as long as the quickest.
const SLOW: u64 = 2;
/// Chunks that are compared.
const TRIAL: u32 = 4;
/// Chunks between two trials.
const REST: u32 = 96;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Ordinary,
    Streamed,
}

/// What was seen of long chunks.
#[derive(Debug)]
pub(crate) struct Streaming {
    way: Way,
    /// Ticks of the quickest ordinary copy of 64 KiB.
    quickest: u64,
    /// A trial of the other way, and the best of the way before.
    trial: Option<u64>,
    /// The best of the chunks that are being compared, and how many.
    best: u64,
    chunks: u32,
    /// Chunks before anything is compared again.
    rest: u32,
}

impl Streaming {
    pub(crate) fn new() -> Streaming {
        Streaming { way: Way::Ordinary, quickest: u64::MAX, trial: None, best: u64::MAX, chunks: 0, rest: 0 }
    }

    /// Copies a chunk of a long message.
    ///
    /// # Safety
    /// `from` must be readable and `to` writable for `length` bytes, without overlap.
    pub(crate) unsafe fn copy(&mut self, from: *const u8, to: *mut u8, length: usize) {
        let way = self.next();
        let started = ticks();
        // SAFETY: handed through.
        unsafe {
            match way {
                Way::Ordinary => copy::row(from, to, length),
                Way::Streamed => stream(from, to, length),
            }
        }
        self.enter(way, ticks().wrapping_sub(started).saturating_mul(1 << 16) / length.max(1) as u64);
    }

    /// How the next chunk is copied.
    fn next(&self) -> Way {
        match (self.way, self.trial) {
            (way, None) => way,
            (Way::Ordinary, Some(_)) => Way::Streamed,
            (Way::Streamed, Some(_)) => Way::Ordinary,
        }
    }

    /// A chunk took so long.
    fn enter(&mut self, way: Way, ticks: u64) {
        if way == Way::Ordinary {
            self.quickest = self.quickest.min(ticks);
        }
        if let Some(before) = self.trial {
            if self.compare(ticks) {
                if self.best < before {
                    self.way = way;
                }
                self.begin(None, REST);
            }
        } else if self.rest > 0 {
            self.rest -= 1;
        } else if self.way == Way::Ordinary && ticks <= self.quickest.saturating_mul(SLOW) {
            self.begin(None, 0);
        } else if self.compare(ticks) {
            self.begin(Some(self.best), 0);
        }
    }

    /// One more of the chunks that are compared; true when there are enough.
    fn compare(&mut self, ticks: u64) -> bool {
        self.best = self.best.min(ticks);
        self.chunks += 1;
        self.chunks == TRIAL
    }

    fn begin(&mut self, trial: Option<u64>, rest: u32) {
        (self.trial, self.rest, self.best, self.chunks) = (trial, rest, u64::MAX, 0);
    }
}

/// As [`Streaming::copy`], past the caches.
#[cfg(target_arch = "x86_64")]
unsafe fn stream(from: *const u8, to: *mut u8, length: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    const LINE: usize = 64;
    let head = to.align_offset(LINE).min(length);
    let whole = (length - head) / LINE * LINE;
    // SAFETY: head, whole lines and rest are the row; whole lines of the target are aligned. The fence orders the streamed
    // stores before those that say that the message is there.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, head);
        let (from, to) = (from.add(head), to.add(head));
        for at in (0..whole).step_by(LINE) {
            let (source, target) = (from.add(at).cast::<__m128i>(), to.add(at).cast::<__m128i>());
            let line = [0, 1, 2, 3].map(|part| _mm_loadu_si128(source.add(part)));
            for (part, register) in line.into_iter().enumerate() {
                _mm_stream_si128(target.add(part), register);
            }
        }
        _mm_sfence();
        std::ptr::copy_nonoverlapping(from.add(whole), to.add(whole), length - head - whole);
    }
}

/// As [`Streaming::copy`].
#[cfg(not(target_arch = "x86_64"))]
unsafe fn stream(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: handed through.
    unsafe { std::ptr::copy_nonoverlapping(from, to, length) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streamed_chunks_are_whole() {
        let from: Vec<u8> = (0..70_000).map(|index| (index * 7 + index / 256) as u8).collect();
        for length in [0, 1, 63, 64, 65, 4095, 65_536, 69_999] {
            for offset in [0, 1, 31] {
                let count = length.min(from.len() - offset);
                let mut to = vec![0u8; count + 2];
                // SAFETY: both rows are long enough.
                unsafe { stream(from.as_ptr().add(offset), to.as_mut_ptr().add(1), count) };
                assert!(to[1..=count] == from[offset..offset + count] && to[0] == 0 && to[count + 1] == 0);
            }
        }
    }

    /// How many of `chunks` are streamed when the two ways take so long.
    fn streamed(streaming: &mut Streaming, chunks: u32, ordinary: u64, past: u64) -> u32 {
        let mut count = 0;
        for _ in 0..chunks {
            let way = streaming.next();
            count += u32::from(way == Way::Streamed);
            streaming.enter(way, if way == Way::Streamed { past } else { ordinary });
        }
        count
    }

    #[test]
    fn the_quicker_way_is_found_and_left_again() {
        let mut streaming = Streaming::new();
        assert_eq!(streamed(&mut streaming, 1000, 100, 300), 0, "warm memory");
        let cold = streamed(&mut streaming, 1000, 400, 250);
        assert!(cold > 900, "{cold} of 1000 chunks into cold memory");
        let warm = streamed(&mut streaming, 1000, 100, 300);
        assert!(warm <= REST + 2 * TRIAL, "{warm} of 1000 chunks into warm memory");
        let useless = streamed(&mut streaming, 1000, 400, 500);
        assert!((TRIAL..1000 / REST * TRIAL + TRIAL).contains(&useless), "{useless} of 1000 where streams are slower");
    }
}
