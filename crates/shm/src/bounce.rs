//! Bounce buffers of chunks, through which both sides copy a large message at the same time.
//!
//! The filler's line holds the number of chunks ever filled, the count at which the message ends,
//! and the length of each chunk; the drainer's line holds the number of chunks ever drained. The
//! counts continue from message to message, so a bounce buffer needs no reset; it is free when both
//! are equal. Each word has one writer.

use towpath_base::sync::{MappedWords, Words};

use super::layout::{BOUNCE_LINES, CHUNKS, LINE, RESERVE_BYTES};
use super::segment::Segment;
use super::walk::{MOST_DOUBLINGS, Walk};

const FILLED: usize = 0;
const END: usize = 1;
/// Lengths of the chunks, two per word.
const LENGTHS: usize = 2;
const DRAINED: usize = LINE / 4;

const SMALLEST_CHUNK_LOG: u32 = 12;
const LARGEST_CHUNK_LOG: u32 = 15;
/// Longest message that uses the smallest chunks.
const SHORT: usize = 16 << 10;

/// The number of the smallest shape, see [`BounceShape::RESERVE`].
const RESERVE_LOG: u32 = SMALLEST_CHUNK_LOG - 1;

/// How a bounce buffer is divided into chunks for one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BounceShape {
    log: u32,
    /// How much of the bounce buffer messages cycle through, if they do.
    walk: Walk,
}

/// Bits of a shape's number below those of the walk.
const LOG_BITS: u32 = 4;
const _: () = assert!(LARGEST_CHUNK_LOG < 1 << LOG_BITS && MOST_DOUBLINGS < 1 << 2);

impl BounceShape {
    /// Two chunks in the reserve: messages of any length still get through when memory is short.
    pub(crate) const RESERVE: BounceShape = BounceShape::unwalked(RESERVE_LOG);

    /// For any message if little memory is left.
    pub(crate) const SMALL: BounceShape = BounceShape::unwalked(SMALLEST_CHUNK_LOG);

    const fn unwalked(log: u32) -> BounceShape {
        BounceShape { log, walk: Walk::SHORTEST }
    }

    /// Chunks for a message of `length` bytes: an eighth of it, so that both sides copy most of the
    /// time. Not so small that counting dominates, nor so large that a chunk leaves the caches.
    pub(crate) fn of(length: usize, walk: Walk) -> BounceShape {
        if length <= SHORT {
            return BounceShape::SMALL;
        }
        let log = (length / 8).next_power_of_two().trailing_zeros();
        BounceShape { log: log.clamp(SMALLEST_CHUNK_LOG + 1, LARGEST_CHUNK_LOG), walk }
    }

    /// The inverse of [`BounceShape::number`].
    ///
    /// # Panics
    /// If no shape has that number.
    pub(crate) fn from_number(number: u32) -> BounceShape {
        let log = number & ((1 << LOG_BITS) - 1);
        assert!(
            (RESERVE_LOG..=LARGEST_CHUNK_LOG).contains(&log),
            "no bounce buffer has the shape {number}"
        );
        BounceShape { log, walk: Walk::from_number(number >> LOG_BITS) }
    }

    /// The number that tells the other side the shape: six bits.
    pub(crate) fn number(self) -> u32 {
        self.log | self.walk.number() << LOG_BITS
    }

    pub(crate) fn chunk_bytes(self) -> usize {
        if self.log == RESERVE_LOG { RESERVE_BYTES / 2 } else { 1 << self.log }
    }

    /// Maximum number of chunks in flight.
    pub(crate) fn chunks(self) -> u32 {
        if self.log == RESERVE_LOG { 2 } else { CHUNKS as u32 }
    }

    /// True if messages cycle through the bounce buffer (see [`Walk`]). Otherwise each starts at
    /// its first chunk, which touches less memory.
    fn walks(self) -> bool {
        self.log > SMALLEST_CHUNK_LOG
    }

    /// Number of chunk positions.
    fn positions(self) -> u32 {
        if self.walks() { (self.walk.bytes() >> self.log) as u32 } else { self.chunks() }
    }

    /// The position of chunk `count` of a message that started at count `start`.
    fn position(self, count: u32, start: u32) -> usize {
        let first = if self.walks() { 0 } else { start };
        (count.wrapping_sub(first) % self.positions()) as usize
    }

    /// How many bytes of the bounce buffer a message of `length` bytes may touch if it starts at
    /// count `start`.
    pub(crate) fn reach(self, start: u32, length: usize) -> usize {
        // A packer leaves the last few bytes of a chunk free if the next element does not fit: one
        // more chunk.
        let chunks = length / self.chunk_bytes() + 2;
        self.position(start, start).saturating_add(chunks).min(self.positions() as usize)
            * self.chunk_bytes()
    }
}

/// Identifies a bounce buffer of the segment: owner and index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BounceId {
    pub(crate) owner: u32,
    pub(crate) index: u32,
}

/// A bounce buffer as seen by one message.
pub(crate) struct BounceBuffer {
    pub(crate) id: BounceId,
    shape: BounceShape,
    words: MappedWords,
    /// Both counts when the message started.
    start: u32,
}

impl BounceBuffer {
    /// The bounce buffer for a message that starts when both counts are `start`.
    pub(crate) fn new(
        segment: &Segment,
        id: BounceId,
        shape: BounceShape,
        start: u32,
    ) -> BounceBuffer {
        BounceBuffer { id, shape, words: words(segment, id), start }
    }

    pub(crate) fn start(&self) -> u32 {
        self.start
    }

    pub(crate) fn shape(&self) -> BounceShape {
        self.shape
    }

    /// Where the length of chunk `count` is in the line: word and shift.
    fn length_of(&self, count: u32) -> (usize, u32) {
        let chunk = count.wrapping_sub(self.start) % self.shape.chunks();
        (LENGTHS + chunk as usize / 2, 16 * (chunk % 2))
    }

    /// Address of the chunk with count `count`.
    #[inline]
    pub(crate) fn chunk(&self, segment: &Segment, count: u32) -> *mut u8 {
        let (owner, layout) = (self.id.owner as usize, segment.layout());
        let reserve = self.shape == BounceShape::RESERVE;
        let at = if reserve {
            layout.reserve(owner)
        } else {
            layout.bounce_bytes(owner, self.id.index as usize)
        };
        segment.at(at + self.shape.position(count, self.start) * self.shape.chunk_bytes())
    }

    /// Number of chunks ever filled.
    #[inline]
    pub(crate) fn filled(&self) -> u32 {
        self.words.load_acquire(FILLED)
    }

    /// Number of chunks ever drained.
    #[inline]
    pub(crate) fn drained(&self) -> u32 {
        self.words.load_acquire(DRAINED)
    }

    /// Filler: publishes chunk `count` of `length` bytes; `end` is true for the last chunk of the
    /// message.
    #[inline]
    pub(crate) fn fill(&self, count: u32, length: usize, end: bool) {
        let (word, shift) = self.length_of(count);
        let others = self.words.load_relaxed(word) & !(0xFFFF << shift);
        self.words.store_release(word, others | (length as u32) << shift);
        let next = count.wrapping_add(1);
        if end {
            self.words.store_release(END, next);
        }
        self.words.store_release(FILLED, next);
    }

    /// Drainer: length of the filled chunk `count`, and whether it is the last one of the message.
    #[inline]
    pub(crate) fn look(&self, count: u32) -> (usize, bool) {
        let (word, shift) = self.length_of(count);
        let length = self.words.load_relaxed(word) >> shift & 0xFFFF;
        (length as usize, self.words.load_relaxed(END) == count.wrapping_add(1))
    }

    /// Drainer: everything before `count` is drained. Also used to free a bounce buffer that the
    /// other side has abandoned.
    #[inline]
    pub(crate) fn drain(&self, count: u32) {
        self.words.store_release(DRAINED, count);
    }
}

/// The counters of a bounce buffer.
fn words(segment: &Segment, id: BounceId) -> MappedWords {
    let at = segment.layout().bounce_lines(id.owner as usize, id.index as usize);
    // SAFETY: the counter lines of bounce buffer `id` are in the segment and line-aligned, and a
    // bounce buffer is owned by the wire, which holds the segment.
    unsafe { segment.words(at, BOUNCE_LINES / 4) }
}

/// The value of both counts of an idle bounce buffer; `None` while it is being drained.
pub(crate) fn resting_count(segment: &Segment, id: BounceId) -> Option<u32> {
    let words = words(segment, id);
    let drained = words.load_acquire(DRAINED);
    (words.load_acquire(FILLED) == drained).then_some(drained)
}

/// Number of chunks of a bounce buffer ever drained.
pub(crate) fn drained_count(segment: &Segment, id: BounceId) -> u32 {
    words(segment, id).load_acquire(DRAINED)
}

#[cfg(test)]
mod tests {
    use super::super::layout::BOUNCE_BYTES;
    use super::*;

    #[test]
    fn every_shape_fits_buffer_and_length_words() {
        for (number, length) in
            [0, 1, 4096, 20_000, 65_536, 1 << 20, usize::MAX / 2].into_iter().enumerate()
        {
            let shape = BounceShape::of(length, Walk::from_number(number as u32 % 3));
            assert_eq!(BounceShape::from_number(shape.number()), shape);
            assert!(
                shape.positions() as usize * shape.chunk_bytes() <= BOUNCE_BYTES
                    && shape.positions() >= shape.chunks()
            );
            assert!(shape.chunk_bytes() <= 0xFFFF && shape.chunks() >= 4);
            assert!(LENGTHS + shape.chunks() as usize / 2 <= DRAINED);
        }
        assert_eq!(BounceShape::from_number(BounceShape::RESERVE.number()), BounceShape::RESERVE);
        assert_eq!(BounceShape::RESERVE.reach(7, 1 << 20), RESERVE_BYTES);
    }

    #[test]
    fn a_bounce_buffer_is_used_as_far_as_messages_reach() {
        for walk in [0, 1, 2].map(Walk::from_number) {
            let shape = BounceShape::of(32 << 10, walk);
            let positions = (walk.bytes() >> 13) as u32;
            assert_eq!((shape.chunk_bytes(), shape.positions()), (8 << 10, positions));
            assert_eq!(shape.reach(0, 32 << 10), 48 << 10);
            assert_eq!(shape.reach(positions - 2, 32 << 10), walk.bytes());
        }
        assert_eq!(BounceShape::SMALL.reach(62, 5000), 12 << 10);
        assert_eq!(BounceShape::SMALL.reach(0, 1 << 30), CHUNKS * BounceShape::SMALL.chunk_bytes());
    }
}
