//! The staging area of a sender: the payload of longer messages through rings to all its peers.
//!
//! The sender cycles through it (see `walk`). The payload bytes of a ring would be too few for
//! that: a ring belongs to one pair, and a buffer for each pair would not stay in the shared cache
//! either. Blocks are allocated in FIFO order. A block is free again when the entry that names it
//! is consumed. All bookkeeping is private to the sender; a receiver only learns the offset of a
//! payload.

use std::collections::VecDeque;

use super::layout::LINE;
use super::walk::GAP;

/// Longest payload that stays in its ring. For short payloads, reusing a few lines is as fast.
pub(super) const IN_RING: usize = 512;
const LARGEST: usize = 64 << 10;
/// Pages are populated in steps of this many bytes.
const STEP: usize = 64 << 10;

/// An entry of the stream to one peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) peer: u32,
    /// Number of places that the stream had before the entry's place.
    pub(super) place: u32,
    /// The number of the entry in its place.
    pub(super) number: u32,
}

#[derive(Debug)]
struct StagingBlock {
    begin: usize,
    entry: Entry,
}

/// The bookkeeping of the area.
#[derive(Debug)]
pub(super) struct Staging {
    size: usize,
    /// Bytes whose pages are populated. The area grows a little in each lap, so that the cost of
    /// fresh pages stays small relative to the messages, and a program with few messages touches
    /// few pages.
    provided: usize,
    /// True if the area has grown in this lap.
    grown: bool,
    /// Offset of the next block.
    head: usize,
    /// Blocks in use, oldest first.
    blocks: VecDeque<StagingBlock>,
}

impl Staging {
    /// An area of `size` bytes; 0 disables staging.
    pub(super) fn new(size: usize) -> Staging {
        Staging { size, provided: 0, grown: false, head: 0, blocks: VecDeque::new() }
    }

    /// True if this peer may still read a block.
    pub(super) fn holds_for(&self, peer: u32) -> bool {
        self.blocks.iter().any(|block| block.entry.peer == peer)
    }

    /// Largest worthwhile block. Longer payloads are faster through a window, from which the
    /// receiver copies at any time.
    #[inline]
    pub(super) fn largest(&self) -> usize {
        LARGEST.min(self.size / 4)
    }

    /// Claims the next block of `bytes` bytes and returns its offset in the area; `None` if the
    /// area is full or `provide` finds no pages. `is_consumed` tells whether the payload of an
    /// entry is no longer needed. [`Staging::commit`] completes the allocation.
    #[inline]
    pub(super) fn claim(
        &mut self,
        bytes: usize,
        mut is_consumed: impl FnMut(Entry) -> bool,
        provide: impl FnOnce(usize, usize) -> bool,
    ) -> Option<usize> {
        let bytes = span(bytes);
        let end = self.head + bytes;
        if end > self.provided {
            let mut begins_anew =
                |staging: &mut Staging| bytes <= staging.provided && staging.is_free(0, bytes, &mut is_consumed);
            if self.grown && begins_anew(self) {
                return Some(0);
            }
            if !self.grow(end, provide) {
                return begins_anew(self).then_some(0);
            }
        }
        self.is_free(self.head, end, is_consumed).then_some(self.head)
    }

    /// Completes the allocation of the claimed block of `bytes` bytes at `begin`, which `entry`
    /// names.
    #[inline]
    pub(super) fn commit(&mut self, begin: usize, bytes: usize, entry: Entry) {
        if begin < self.head {
            self.grown = false;
        }
        self.head = begin + span(bytes);
        self.blocks.push_back(StagingBlock { begin, entry });
    }

    /// Frees the oldest blocks if they overlap the block `begin..end`; false if one of them is
    /// still in use.
    #[inline]
    fn is_free(&mut self, begin: usize, end: usize, mut is_consumed: impl FnMut(Entry) -> bool) -> bool {
        while let Some(oldest) = self.blocks.front() {
            // A new lap leaves the end of the area unused.
            let skipped = begin < self.head && oldest.begin >= self.head;
            let in_the_way = oldest.begin >= begin && oldest.begin < end;
            if !(skipped || in_the_way) {
                break;
            }
            if !is_consumed(oldest.entry) {
                return false;
            }
            self.blocks.pop_front();
        }
        true
    }

    /// Populates the area up to `end` and a bit further. False if the area ends there or there are
    /// no pages; in the latter case it never grows again.
    #[cold]
    fn grow(&mut self, end: usize, provide: impl FnOnce(usize, usize) -> bool) -> bool {
        if end > self.size {
            return false;
        }
        let wanted = end.max(self.provided + self.provided / 4).next_multiple_of(STEP).min(self.size);
        self.grown = provide(self.provided, wanted - self.provided);
        if self.grown {
            self.provided = wanted;
        } else {
            self.size = self.provided;
        }
        self.grown
    }
}

/// Bytes that a block occupies.
#[inline]
fn span(bytes: usize) -> usize {
    bytes.next_multiple_of(LINE) + GAP
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 4 * STEP;
    /// Payload of a block that takes one step, and of one that takes half a step.
    const WHOLE: usize = STEP - GAP;
    const HALF: usize = STEP / 2 - GAP;

    fn entry(number: u32) -> Entry {
        Entry { peer: 0, place: 0, number }
    }

    #[test]
    fn blocks_follow_each_other_and_wait_for_the_oldest() {
        let mut staging = Staging::new(SIZE);
        for number in 0..4 {
            let begin = staging.claim(WHOLE, |_| false, |_, _| true).expect("a fresh block");
            assert_eq!(begin, number as usize * STEP);
            staging.commit(begin, WHOLE, entry(number));
        }
        assert_eq!(staging.claim(LINE, |_| false, |_, _| true), None);
        assert_eq!(staging.claim(LINE, |entry| entry.number == 0, |_, _| true), Some(0));
        staging.commit(0, LINE, entry(4));
        assert_eq!(staging.claim(WHOLE, |entry| entry.number == 0, |_, _| true), None, "the second block");
    }

    #[test]
    fn an_area_without_pages_stays_as_it_is() {
        let mut staging = Staging::new(SIZE);
        let begin = staging.claim(WHOLE, |_| true, |from, bytes| (from, bytes) == (0, STEP)).unwrap();
        staging.commit(begin, WHOLE, entry(0));
        assert_eq!(staging.claim(LINE, |_| false, |_, _| false), None);
        assert_eq!(staging.claim(LINE, |_| true, |_, _| panic!("provided again")), Some(0));
        assert_eq!(Staging::new(0).claim(LINE, |_| true, |_, _| true), None);
        let mut none = Staging::new(SIZE);
        assert_eq!(none.claim(LINE, |_| true, |_, _| false), None);
        assert_eq!(none.claim(LINE, |_| true, |_, _| panic!("provided again")), None);
    }

    #[test]
    fn an_area_grows_once_in_a_lap() {
        let mut staging = Staging::new(SIZE);
        let mut places = Vec::new();
        for number in 0..12 {
            let begin = staging.claim(HALF, |_| true, |_, _| true).unwrap();
            staging.commit(begin, HALF, entry(number));
            places.push(begin / (STEP / 2));
        }
        assert_eq!(places, [0, 1, 0, 1, 2, 3, 0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_block_that_is_not_committed_begins_no_lap() {
        let mut staging = Staging::new(SIZE);
        for number in 0..2 {
            let begin = staging.claim(HALF, |_| true, |_, _| true).unwrap();
            staging.commit(begin, HALF, entry(number));
        }
        for _ in 0..2 {
            assert_eq!(staging.claim(HALF, |_| true, |_, _| panic!("grown again")), Some(0));
        }
    }

    /// Random traffic to three peers that consume at random times: blocks in use never overlap.
    #[test]
    fn blocks_in_use_never_overlap() {
        let mut random = 0x9E37_79B9_7F4A_7C15u64;
        let mut below = move |limit: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random % limit as u64) as usize
        };
        let mut staging = Staging::new(SIZE);
        let (mut used, mut sent, mut consumed): (Vec<(usize, usize, Entry)>, _, _) = (Vec::new(), [0u32; 3], [0u32; 3]);
        let (mut refused, mut laps) = (0, 0);
        for _ in 0..50_000 {
            let peer = below(3);
            if below(2) == 0 {
                consumed[peer] += u32::from(consumed[peer] < sent[peer]);
                continue;
            }
            let bytes = 1 + below(STEP / 2);
            let is_consumed = |entry: Entry| consumed[entry.peer as usize] >= entry.number;
            let Some(begin) = staging.claim(bytes, is_consumed, |_, _| true) else {
                refused += 1;
                consumed = sent;
                continue;
            };
            used.retain(|(_, _, entry)| !is_consumed(*entry));
            assert!(used.iter().all(|(from, to, _)| begin + bytes <= *from || *to <= begin));
            assert!(begin + bytes <= SIZE && begin % LINE == 0);
            laps += usize::from(begin == 0);
            sent[peer] += 1;
            let entry = Entry { peer: peer as u32, place: 0, number: sent[peer] };
            staging.commit(begin, bytes, entry);
            used.push((begin, begin + bytes, entry));
        }
        assert!(refused > 100 && laps > 100, "{refused} refused, {laps} laps");
    }
}
