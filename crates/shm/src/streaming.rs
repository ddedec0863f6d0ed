//! Long messages into memory that no cache holds are stored past the caches: an ordinary store
//! would first fetch each line from memory.
//!
//! Whether a cache holds the target is seen by the time that its chunks take: when several in a row
//! take far longer than the quickest one ever, some are streamed for a trial, and the quicker way
//! is kept. Now and then the other way is tried again. So a message into warm memory is streamed
//! only where the machine has become slower since, and streams are quicker even so; buffers that
//! change are noticed within one message.

use crate::streamed;
use towpath_transport::copy;
use towpath_transport::ticks::ticks;

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
                Way::Ordinary => copy::fetch(from, to, length),
                Way::Streamed => streamed::copy(from, to, length),
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

#[cfg(test)]
mod tests {
    use super::*;

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
