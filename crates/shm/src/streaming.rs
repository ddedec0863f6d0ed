//! Stores long messages into memory that no cache holds with non-temporal stores: an ordinary store
//! would first fetch each line from memory.
//!
//! The time that chunks take shows whether a cache holds the target. If several consecutive chunks
//! take far longer than the fastest one ever, some are streamed as a trial, and the faster method
//! is kept. Now and then the other method is tried again. A message into warm memory is therefore
//! streamed only if the machine has become slower since and streaming is faster even then; a change
//! of buffers is noticed within one message.

use crate::streamed;
use towpath_transport::ticks::ticks;

/// A chunk is slow if it takes this many times as long as the fastest one.
const SLOW: u64 = 2;
/// Number of chunks that are compared.
const TRIAL: u32 = 4;
/// Chunks between two trials.
const REST: u32 = 96;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamWay {
    Ordinary,
    Streamed,
}

/// Statistics of the chunks of long messages.
#[derive(Debug)]
pub(crate) struct Streaming {
    way: StreamWay,
    /// Ticks of the fastest ordinary copy of 64 KiB.
    quickest: u64,
    /// Set during a trial of the other method: the best time of the previous one.
    trial: Option<u64>,
    /// The best time of the chunks that are being compared, and their number.
    best: u64,
    chunks: u32,
    /// Chunks until anything is compared again.
    rest: u32,
}

impl Streaming {
    pub(crate) fn new() -> Streaming {
        Streaming {
            way: StreamWay::Ordinary,
            quickest: u64::MAX,
            trial: None,
            best: u64::MAX,
            chunks: 0,
            rest: 0,
        }
    }

    /// Copies a chunk of a long message, by `ordinary` unless it is streamed.
    ///
    /// # Safety
    /// `from` must be readable and `to` writable for `length` bytes, without overlap.
    pub(crate) unsafe fn copy(
        &mut self,
        from: *const u8,
        to: *mut u8,
        length: usize,
        ordinary: impl FnOnce(*const u8, *mut u8, usize),
    ) {
        let way = self.next();
        let started = ticks();
        // SAFETY: `from` is readable and `to` writable for `length` bytes, without overlap (this
        // function's contract).
        unsafe {
            match way {
                StreamWay::Ordinary => ordinary(from, to, length),
                StreamWay::Streamed => streamed::copy(from, to, length),
            }
        }
        self.enter(
            way,
            ticks().wrapping_sub(started).saturating_mul(1 << 16) / length.max(1) as u64,
        );
    }

    /// The method for the next chunk.
    fn next(&self) -> StreamWay {
        match (self.way, self.trial) {
            (way, None) => way,
            (StreamWay::Ordinary, Some(_)) => StreamWay::Streamed,
            (StreamWay::Streamed, Some(_)) => StreamWay::Ordinary,
        }
    }

    /// Records the time of a chunk.
    fn enter(&mut self, way: StreamWay, ticks: u64) {
        if way == StreamWay::Ordinary {
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
        } else if self.way == StreamWay::Ordinary && ticks <= self.quickest.saturating_mul(SLOW) {
            self.begin(None, 0);
        } else if self.compare(ticks) {
            self.begin(Some(self.best), 0);
        }
    }

    /// Adds a chunk to those that are compared; true if there are enough.
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

    /// Number of `chunks` that are streamed if the two methods take these times.
    fn streamed(streaming: &mut Streaming, chunks: u32, ordinary: u64, past: u64) -> u32 {
        let mut count = 0;
        for _ in 0..chunks {
            let way = streaming.next();
            count += u32::from(way == StreamWay::Streamed);
            streaming.enter(way, if way == StreamWay::Streamed { past } else { ordinary });
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
        assert!(
            (TRIAL..1000 / REST * TRIAL + TRIAL).contains(&useless),
            "{useless} of 1000 where streams are slower"
        );
    }
}
