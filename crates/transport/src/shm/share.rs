//! A message whose receiver may copy too, as it lies in the segment: lines of the sender, of the receiver, and the claims
//! of both ([`super::claims`]).
//!
//! The receiver reaches the bytes because they lie in a heap (what `MPI_Alloc_mem` gives), or by reading the memory of
//! the sender's process. The sender writes where they are before it announces the message; the receiver writes where they
//! go before it joins.

use towpath_base::sync::{LongWords, MappedLongWords};

use super::claims::{Claims, MOST_UNITS};
use super::layout::{LINE, SHARES};
use super::segment::Segment;

/// Words of one line.
const LINE_WORDS: usize = LINE / 8;
/// The sender's: behind what it has copied, the message's generation, the address of its bytes, their place in the heaps
/// plus 1 (0: not there), and the address and the value of the word by which a reader knows the sender's process.
const GENERATION: usize = 1;
const ADDRESS: usize = 2;
const HEAP: usize = 3;
const MARK_AT: usize = 4;
const MARK: usize = 5;
/// The receiver's: behind what it has copied, where the bytes go in the heaps plus 1 (0: not there), and how many are wanted.
const TARGET: usize = LINE_WORDS + 1;
const WANTED: usize = LINE_WORDS + 2;

/// Smallest message from a heap that is copied without a window: below, a window is as fast.
pub(super) const DIRECT_AT_LEAST: usize = 128 << 10;
/// Smallest other message of whose units the receiver may read some from the sender's process.
pub(super) const SHARED_AT_LEAST: usize = 256 << 10;

const SMALLEST_UNIT: usize = 32 << 10;
const LARGEST_UNIT: usize = 128 << 10;

/// Bytes of the units into which a message between heaps is cut: an eighth of it, within limits.
pub(super) fn direct_unit(length: usize) -> usize {
    let most = (length / MOST_UNITS + 1).next_multiple_of(LARGEST_UNIT);
    if length / LARGEST_UNIT >= MOST_UNITS {
        return most;
    }
    (length / 8).next_multiple_of(LINE).clamp(SMALLEST_UNIT, LARGEST_UNIT)
}

/// The lines of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines {
    words: MappedLongWords,
    claims: MappedLongWords,
}

/// Where the bytes of a message are, as its sender says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) address: u64,
    /// Their place in the heaps.
    pub(super) heap: Option<usize>,
}

/// A word in the memory of a process and what it says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) address: u64,
    pub(super) value: u64,
}

impl Lines {
    pub(super) fn new(segment: &Segment, owner: u32, index: u32) -> Lines {
        let at = segment.layout().share(owner as usize, index as usize);
        // SAFETY: shares live in the wire, which holds the segment; the words lie in the lines of this share.
        unsafe { Lines { words: segment.long_words(at, 1), claims: segment.long_words(at, LINE_WORDS) } }
    }

    /// The sender: begins a message in these lines.
    pub(super) fn open(self, generation: u32, front: bool, place: Place, mark: Mark) -> Claims<MappedLongWords> {
        let heap = place.heap.map_or(0, |offset| offset as u64 + 1);
        let words = [(ADDRESS, place.address), (HEAP, heap), (MARK_AT, mark.address), (MARK, mark.value)];
        words.into_iter().for_each(|(word, value)| self.words.store_release(word, value));
        self.words.store_release(GENERATION, u64::from(generation));
        Claims::open(self.claims, generation, front)
    }

    /// The receiver of an announced message: its part, and where the bytes are.
    pub(super) fn follow(self, front: bool, units: u32) -> (Claims<MappedLongWords>, Place, Mark) {
        let word = |word| self.words.load_acquire(word);
        let claims = Claims::follow(self.claims, word(GENERATION) as u32, front, units);
        let place = Place { address: word(ADDRESS), heap: (word(HEAP) as usize).checked_sub(1) };
        (claims, place, Mark { address: word(MARK_AT), value: word(MARK) })
    }

    /// The receiver: says before it joins where the bytes go, and how many.
    pub(super) fn set_target(self, heap: Option<usize>, wanted: usize) {
        self.words.store_release(TARGET, heap.map_or(0, |offset| offset as u64 + 1));
        self.words.store_release(WANTED, wanted as u64);
    }

    /// The sender, once the receiver has joined: what [`Lines::set_target`] said.
    pub(super) fn target(self) -> (Option<usize>, usize) {
        let target = self.words.load_acquire(TARGET) as usize;
        (target.checked_sub(1), self.words.load_acquire(WANTED) as usize)
    }
}

/// The lines that a sender has for its messages.
pub(super) struct Shares {
    own: u32,
    held: [bool; SHARES],
    generations: [u32; SHARES],
    /// Lines whose pages are provided.
    provided: usize,
    /// By which a reader of this process knows that it reads the right one.
    mark: Box<u64>,
}

impl Shares {
    pub(super) fn new(segment: &Segment) -> Shares {
        use towpath_base::sync::Ordering;
        let own = segment.own_rank();
        let job = segment.head().nonce.load(Ordering::Relaxed);
        Shares {
            own: own as u32,
            held: [false; SHARES],
            generations: [0; SHARES],
            provided: 0,
            mark: Box::new(job.rotate_left(17) ^ (own as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)),
        }
    }

    /// Begins a message; `None` when there are no lines for it.
    pub(super) fn open(
        &mut self,
        segment: &Segment,
        front: bool,
        place: Place,
    ) -> Option<(u32, Claims<MappedLongWords>)> {
        let index = self.held.iter().position(|held| !held)?;
        if index >= self.provided {
            let (first, end) = (segment.layout().share(self.own as usize, index), index + 1);
            if !segment.populate(first, super::layout::SHARE_BYTES) {
                return None;
            }
            self.provided = end;
        }
        self.held[index] = true;
        self.generations[index] = self.generations[index].wrapping_add(1);
        let mark = Mark { address: std::ptr::from_ref(&*self.mark) as u64, value: *self.mark };
        let lines = Lines::new(segment, self.own, index as u32);
        Some((index as u32, lines.open(self.generations[index], front, place, mark)))
    }

    /// The message in these lines is over.
    pub(super) fn close(&mut self, index: u32) {
        self.held[index as usize] = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_all_lengths_have_few_enough_units() {
        for length in [1, DIRECT_AT_LEAST, 1 << 20, 4 << 20, 1 << 37, (1 << 47) + 5] {
            let unit = direct_unit(length);
            assert!(
                length.div_ceil(unit) <= MOST_UNITS && unit.is_multiple_of(LINE),
                "{length} bytes in units of {unit}"
            );
        }
        assert_eq!([1 << 18, 1 << 19, 1 << 24].map(direct_unit), [1 << 15, 1 << 16, 1 << 17]);
    }
}
