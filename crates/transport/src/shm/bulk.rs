//! Large messages: the receiver lends a window of chunks, the sender fills them, both copy at the same time.
//!
//! The window's sender line holds how many chunks were ever filled, and the length of each chunk; the receiver's line
//! how many were drained. The counts run on from message to message, so a window needs no reset. The last chunk of a
//! message is marked, also where the source ends early.

use std::collections::VecDeque;

use towpath_base::sync::{MappedWords, Words};
use towpath_base::transfer::{Source, Step, Target};

use super::layout::{CHUNK_BYTES, CHUNKS, LINE, WINDOW_LINES, WINDOWS};
use super::segment::Segment;

/// Set in a chunk's length word: the message ends with it.
const END: u32 = 1 << 31;
/// Word of the receiver's count, from the window's first word.
const DRAINED: usize = LINE / 4;

/// How far one call came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advance {
    /// Nothing could move.
    Nothing,
    /// Something moved.
    Some,
    /// The transfer is complete.
    Done,
}

/// The counters of a window, seen by either side.
fn counters(segment: &Segment, receiver: usize, window: usize) -> MappedWords {
    // SAFETY: pushes and pulls live in the wire, which holds the segment.
    unsafe { segment.words(segment.layout().window(receiver, window), WINDOW_LINES / 4) }
}

/// The sender's side of a large message.
pub(crate) struct Push {
    /// Local rank of the receiver.
    pub(crate) to: u32,
    /// What to report when the source is free again; `None` when the region was withdrawn.
    pub(crate) token: Option<u64>,
    source: Source,
    counters: MappedWords,
    window: usize,
    remaining: usize,
    start: u32,
    filled: u32,
    drained: u32,
}

impl Push {
    /// Sends at most `length` bytes of `source` into the window that the receiver named.
    pub(crate) fn new(
        segment: &Segment,
        to: u32,
        (token, source): (Option<u64>, Source),
        length: u64,
        window: usize,
        start: u32,
    ) -> Push {
        let remaining = source.length().min(usize::try_from(length).unwrap_or(usize::MAX));
        let counters = counters(segment, to as usize, window);
        Push { to, token, source, counters, window, remaining, start, filled: start, drained: start }
    }

    /// Fills every free chunk.
    pub(crate) fn step(&mut self, segment: &Segment) -> Advance {
        let mut advance = Advance::Nothing;
        loop {
            if self.filled.wrapping_sub(self.drained) as usize == CHUNKS {
                self.drained = self.counters.load_acquire(DRAINED);
                if self.filled.wrapping_sub(self.drained) as usize == CHUNKS {
                    return advance;
                }
            }
            let chunk = self.filled.wrapping_sub(self.start) as usize % CHUNKS;
            let place = segment.at(segment.layout().chunk(self.to as usize, self.window, chunk));
            let capacity = CHUNK_BYTES.min(self.remaining);
            // SAFETY: the chunk is ours until counted, and `publish` promised that the source lives.
            let Step::Done(bytes) = (unsafe { self.source.fill(place, capacity) }) else { return advance };
            self.remaining -= bytes;
            let end = self.remaining == 0 || bytes == 0;
            self.counters.store_release(1 + chunk, bytes as u32 | if end { END } else { 0 });
            self.filled = self.filled.wrapping_add(1);
            self.counters.store_release(0, self.filled);
            advance = Advance::Some;
            if end {
                return Advance::Done;
            }
        }
    }
}

/// The receiver's side of a large message.
pub(crate) struct Pull {
    /// Local rank of the sender.
    pub(crate) from: u32,
    /// What to report when all bytes are in the target.
    pub(crate) token: u64,
    /// Which of the receiver's windows it uses.
    pub(crate) window: usize,
    target: Target,
    counters: MappedWords,
    start: u32,
    drained: u32,
}

impl Pull {
    /// Drains every filled chunk.
    pub(crate) fn step(&mut self, segment: &Segment) -> Advance {
        let mut advance = Advance::Nothing;
        while self.counters.load_acquire(0) != self.drained {
            let chunk = self.drained.wrapping_sub(self.start) as usize % CHUNKS;
            let word = self.counters.load_relaxed(1 + chunk);
            let place = segment.at(segment.layout().chunk(segment.own_rank(), self.window, chunk));
            // SAFETY: the chunk is ours until counted, and `pull` promised that the target lives.
            match unsafe { self.target.drain(place, (word & !END) as usize) } {
                Step::Done(_) => {}
                Step::Pending => return advance,
            }
            self.drained = self.drained.wrapping_add(1);
            self.counters.store_release(DRAINED, self.drained);
            advance = Advance::Some;
            if word & END != 0 {
                return Advance::Done;
            }
        }
        advance
    }
}

/// A pull that waits for a window.
pub(crate) struct Wanted {
    /// Local rank of the sender.
    pub(crate) from: u32,
    /// The region's name.
    pub(crate) key: u64,
    /// What to report.
    pub(crate) token: u64,
    /// Where the bytes go.
    pub(crate) target: Target,
}

/// What the sender must be told when a pull begins.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) from: u32,
    pub(crate) key: u64,
    pub(crate) length: u64,
    pub(crate) window: usize,
    pub(crate) start: u32,
}

/// A receiver's windows and what waits for them.
pub(crate) struct Windows {
    /// Chunks ever drained from a window between messages; `None` while a message runs through it.
    free: [Option<u32>; WINDOWS],
    /// Chunks of each window whose pages are provided.
    provided: [usize; WINDOWS],
    pub(crate) waiting: VecDeque<Wanted>,
    pub(crate) running: Vec<Pull>,
}

impl Windows {
    pub(crate) fn new() -> Windows {
        Windows { free: [Some(0); WINDOWS], provided: [0; WINDOWS], waiting: VecDeque::new(), running: Vec::new() }
    }

    /// Starts the next waiting pull if a window is free.
    ///
    /// # Panics
    /// When the host has no page left for the window: the message cannot be received at all.
    pub(crate) fn begin(&mut self, segment: &Segment) -> Option<Begun> {
        let window = self.free.iter().position(Option::is_some)?;
        let Wanted { from, key, token, target } = self.waiting.pop_front()?;
        let length = target.length();
        self.provide(segment, window, length.div_ceil(CHUNK_BYTES).min(CHUNKS));
        let start = self.free[window].take()?;
        let counters = counters(segment, segment.own_rank(), window);
        self.running.push(Pull { from, token, window, target, counters, start, drained: start });
        Some(Begun { from, key, length: length as u64, window, start })
    }

    fn provide(&mut self, segment: &Segment, window: usize, chunks: usize) {
        let have = self.provided[window];
        if chunks > have {
            let from = segment.layout().chunk(segment.own_rank(), window, have);
            if let Err(shortage) = segment.populate(from, (chunks - have) * CHUNK_BYTES) {
                panic!("a large message cannot be received: {shortage}");
            }
            self.provided[window] = chunks;
        }
    }

    /// Takes a finished (or abandoned) pull out; its window is free again.
    pub(crate) fn end(&mut self, index: usize) -> Pull {
        let pull = self.running.swap_remove(index);
        let filled = pull.counters.load_acquire(0);
        pull.counters.store_release(DRAINED, filled);
        self.free[pull.window] = Some(filled);
        pull
    }
}
