//! The staging area of a sender: payload of longer messages through rings, to whomever they go.
//!
//! The sender walks round it (see `walk`), which the payload bytes of a ring are too few for: a
//! ring belongs to one pair, and a row for each pair would leave the shared cache too. Blocks are
//! taken first-in first-out; each is free again when the entry that names it is consumed. The
//! sender alone keeps account, so that nothing but the place of a payload is told.

use std::collections::VecDeque;

use super::layout::LINE;
use super::walk::GAP;

/// Longest payload that stays in its ring: where a few lines go to and fro, short ones are as fast.
pub(super) const IN_RING: usize = 512;
const LARGEST: usize = 64 << 10;
/// Pages are provided for so many bytes at a time.
const STEP: usize = 64 << 10;

/// An entry of the stream to one peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) peer: u32,
    /// How many places the stream had before the one of the entry.
    pub(super) place: u32,
    /// The count of the entry in its place.
    pub(super) number: u32,
}

#[derive(Debug)]
struct Block {
    begin: usize,
    entry: Entry,
}

/// The account of the area.
#[derive(Debug)]
pub(super) struct Staging {
    size: usize,
    /// Bytes whose pages are provided. The area grows by little in each lap, so that fresh pages
    /// cost little beside the messages, and a program of few messages touches few.
    provided: usize,
    /// It has grown in this lap.
    grown: bool,
    /// Where the next block begins.
    head: usize,
    /// Blocks in use, oldest first.
    blocks: VecDeque<Block>,
}

impl Staging {
    /// An area of `size` bytes; none at all if that is 0.
    pub(super) fn new(size: usize) -> Staging {
        Staging { size, provided: 0, grown: false, head: 0, blocks: VecDeque::new() }
    }

    /// True when a block may still be read by this peer.
    pub(super) fn holds_for(&self, peer: u32) -> bool {
        self.blocks.iter().any(|block| block.entry.peer == peer)
    }

    /// Largest block that is worth it: what is longer is quicker by a window, out of which its
    /// receiver copies whenever it likes.
    #[inline]
    pub(super) fn largest(&self) -> usize {
        LARGEST.min(self.size / 4)
    }

    /// Where in the area the next block of `bytes` bytes begins; `None` when it is full or where
    /// `provide` finds no pages. `is_consumed` says of an entry that its payload is not needed any
    /// more. The block is taken by [`Staging::commit`].
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
                self.grown = false;
                return Some(0);
            }
            if !self.grow(end, provide) {
                return begins_anew(self).then_some(0);
            }
        }
        self.is_free(self.head, end, is_consumed).then_some(self.head)
    }

    /// The claimed block of `bytes` bytes from `begin` on is named by `entry`.
    #[inline]
    pub(super) fn commit(&mut self, begin: usize, bytes: usize, entry: Entry) {
        self.head = begin + span(bytes);
        self.blocks.push_back(Block { begin, entry });
    }

    /// Forgets the oldest blocks as far as they are in the way of a block `begin..end`; false when
    /// one is still in use.
    #[inline]
    fn is_free(&mut self, begin: usize, end: usize, mut is_consumed: impl FnMut(Entry) -> bool) -> bool {
        while let Some(oldest) = self.blocks.front() {
            // A new lap leaves the end of the area empty.
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

    /// Provides the area as far as `end` and some more; false where it ends or there are no pages:
    /// then it stays as it is for good.
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

/// How many bytes a block takes.
#[inline]
fn span(bytes: usize) -> usize {
    bytes.next_multiple_of(LINE) + GAP
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 4 * STEP;
    /// Payload of a block that takes a step, and half of one.
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

    /// Random traffic to three peers that consume at random: what is in use never overlaps.
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
