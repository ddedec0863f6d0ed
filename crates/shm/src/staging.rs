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
    /// Offset of the next block.
    head: usize,
    /// Blocks in use, oldest first.
    blocks: VecDeque<StagingBlock>,
}

impl Staging {
    /// An area of `size` populated bytes; 0 disables staging.
    pub(super) fn new(size: usize) -> Staging {
        Staging { size, head: 0, blocks: VecDeque::new() }
    }

    /// True if this peer may still read a block.
    pub(super) fn holds_for(&self, peer: u32) -> bool {
        self.blocks.iter().any(|block| block.entry.peer == peer)
    }

    /// Largest worthwhile block. Longer payloads are faster through a bounce buffer, from which the
    /// receiver copies at any time.
    #[inline]
    pub(super) fn largest(&self) -> usize {
        LARGEST.min(self.size / 4)
    }

    /// Claims the next block of `bytes` bytes and returns its offset in the area; `None` if the
    /// area is full. `is_consumed` tells whether the payload of an entry is no longer needed.
    /// [`Staging::commit`] completes the allocation.
    #[inline]
    pub(super) fn claim(
        &mut self,
        bytes: usize,
        is_consumed: impl FnMut(Entry) -> bool,
    ) -> Option<usize> {
        let bytes = span(bytes);
        let begin = if bytes <= self.size - self.head { self.head } else { 0 };
        (bytes <= self.size && self.is_free(begin, begin + bytes, is_consumed)).then_some(begin)
    }

    /// Completes the allocation of the claimed block of `bytes` bytes at `begin`, which `entry`
    /// names.
    #[inline]
    pub(super) fn commit(&mut self, begin: usize, bytes: usize, entry: Entry) {
        self.head = begin + span(bytes);
        self.blocks.push_back(StagingBlock { begin, entry });
    }

    /// Frees the oldest blocks if they overlap the block `begin..end`; false if one of them is
    /// still in use.
    #[inline]
    fn is_free(
        &mut self,
        begin: usize,
        end: usize,
        mut is_consumed: impl FnMut(Entry) -> bool,
    ) -> bool {
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
}

/// Bytes that a block occupies.
#[inline]
fn span(bytes: usize) -> usize {
    bytes.next_multiple_of(LINE) + GAP
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 256 << 10;
    /// Payload of a block that takes a quarter of the area.
    const QUARTER: usize = SIZE / 4 - GAP;

    fn entry(number: u32) -> Entry {
        Entry { peer: 0, place: 0, number }
    }

    #[test]
    fn blocks_follow_each_other_and_wait_for_the_oldest() {
        let mut staging = Staging::new(SIZE);
        for number in 0..4 {
            let begin = staging.claim(QUARTER, |_| false).expect("a fresh block");
            assert_eq!(begin, number as usize * SIZE / 4);
            staging.commit(begin, QUARTER, entry(number));
        }
        assert_eq!(staging.claim(LINE, |_| false), None);
        assert_eq!(staging.claim(LINE, |entry| entry.number == 0), Some(0));
        staging.commit(0, LINE, entry(4));
        assert_eq!(staging.claim(QUARTER, |entry| entry.number == 0), None, "the second block");
    }

    #[test]
    fn a_block_longer_than_the_area_is_refused() {
        let mut staging = Staging::new(SIZE);
        assert_eq!(staging.claim(SIZE, |_| true), None);
        assert_eq!(staging.claim(SIZE - GAP, |_| true), Some(0));
        assert_eq!(Staging::new(0).claim(LINE, |_| true), None);
    }

    #[test]
    fn a_claim_that_is_not_committed_changes_nothing() {
        let mut staging = Staging::new(SIZE);
        for number in 0..3 {
            let begin = staging.claim(QUARTER, |_| true).unwrap();
            staging.commit(begin, QUARTER, entry(number));
        }
        for _ in 0..2 {
            assert_eq!(staging.claim(2 * QUARTER, |_| true), Some(0), "the next lap");
            assert_eq!(staging.claim(QUARTER, |_| true), Some(3 * SIZE / 4), "the end of this one");
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
        let (mut used, mut sent, mut consumed): (Vec<(usize, usize, Entry)>, _, _) =
            (Vec::new(), [0u32; 3], [0u32; 3]);
        let (mut refused, mut laps) = (0, 0);
        for _ in 0..50_000 {
            let peer = below(3);
            if below(2) == 0 {
                consumed[peer] += u32::from(consumed[peer] < sent[peer]);
                continue;
            }
            let bytes = 1 + below(SIZE / 8);
            let is_consumed = |entry: Entry| consumed[entry.peer as usize] >= entry.number;
            let Some(begin) = staging.claim(bytes, is_consumed) else {
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
