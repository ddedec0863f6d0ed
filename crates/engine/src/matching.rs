//! The matching rule (MPI 5.0, 3.2.3 and 3.5), and the short ordered array that both queues search
//! first.
//!
//! A pattern is a context, a key (source in the high half, tag in the low half) and a mask of the
//! significant key bits; a wildcard clears one half of the mask. Two patterns match if their
//! contexts are equal and their keys agree in every bit that both masks keep. The four possible
//! masks are the four *kinds* by which long queues are binned.

use towpath_base::ids::{ContextId, PeerIndex};

/// "No entry" in the links of all queues.
pub(crate) const NONE: u32 = u32::MAX;

/// The mask of each kind: exact, any tag, any source, any source and tag.
pub(crate) const MASKS: [u64; 4] = [u64::MAX, 0xffff_ffff_0000_0000, 0x0000_0000_ffff_ffff, 0];

/// The envelope that a receive or probe accepts, or that a message has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub(crate) context: u64,
    pub(crate) key: u64,
    pub(crate) mask: u64,
}

impl Pattern {
    /// The pattern of a receive; `None` is a wildcard.
    #[inline]
    pub(crate) fn receive(
        context: ContextId,
        from: Option<PeerIndex>,
        tag: Option<i32>,
    ) -> Pattern {
        let source = from.map_or((0, 0), |peer| (u64::from(peer.0) << 32, MASKS[1]));
        let tag = tag.map_or((0, 0), |tag| (u64::from(tag.cast_unsigned()), MASKS[2]));
        Pattern { context: context.0, key: source.0 | tag.0, mask: source.1 | tag.1 }
    }

    /// The envelope of a message from `from`.
    #[inline]
    pub(crate) fn message(from: PeerIndex, words: &[u64; 2]) -> Pattern {
        Pattern {
            context: words[0],
            key: u64::from(from.0) << 32 | words[1] & MASKS[2],
            mask: MASKS[0],
        }
    }

    /// The envelope of a message, rebuilt from the context and key of its pattern.
    #[inline]
    pub(crate) fn of(context: u64, key: u64) -> Pattern {
        Pattern { context, key, mask: MASKS[0] }
    }

    /// The sender of a message.
    pub(crate) fn source(&self) -> PeerIndex {
        PeerIndex((self.key >> 32) as u32)
    }

    /// The tag of a message.
    pub(crate) fn tag(&self) -> i32 {
        self.key as u32 as i32
    }

    /// True if a receive with one pattern accepts a message with the other.
    #[inline]
    pub(crate) fn matches(&self, other: &Pattern) -> bool {
        self.context == other.context && (self.key ^ other.key) & self.mask & other.mask == 0
    }

    /// Index of the mask in [`MASKS`].
    pub(crate) fn kind(&self) -> usize {
        usize::from(self.mask & MASKS[2] == 0) | usize::from(self.mask & MASKS[1] == 0) << 1
    }
}

/// Capacity of a [`Front`]: roughly where a linear search costs as much as hashing.
pub(crate) const FRONT: usize = 64;

/// The oldest entries of a queue, in order, searched linearly. Programs rarely have more, so
/// usually no hash is computed. The owner keeps the invariant that every entry here is older than
/// every entry in its bins.
#[derive(Debug)]
pub(crate) struct Front {
    /// The entries are in `start..end`.
    start: usize,
    end: usize,
    /// Maximum number of entries.
    limit: usize,
    entries: [(Pattern, u32); FRONT],
}

impl Front {
    /// Creates an empty array for at most `limit` entries.
    pub(crate) fn new(limit: usize) -> Front {
        let nothing = (Pattern { context: 0, key: 0, mask: 0 }, NONE);
        Front { start: 0, end: 0, limit: limit.min(FRONT), entries: [nothing; FRONT] }
    }

    /// True if it has no entry.
    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Appends an entry. False if it is full.
    #[inline]
    pub(crate) fn push(&mut self, pattern: Pattern, value: u32) -> bool {
        if self.end >= self.limit && !self.compact() {
            return false;
        }
        self.entries[self.end] = (pattern, value);
        self.end += 1;
        true
    }

    /// Moves the entries to the beginning. False if they are already there.
    #[cold]
    #[inline(never)]
    fn compact(&mut self) -> bool {
        let moved = self.start > 0;
        self.entries.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        moved
    }

    fn entries(&self) -> &[(Pattern, u32)] {
        &self.entries[self.start..self.end]
    }

    /// Position of the oldest entry that matches.
    #[inline]
    pub(crate) fn find(&self, pattern: &Pattern) -> Option<usize> {
        (self.start..self.end).find(|position| self.entries[*position].0.matches(pattern))
    }

    /// Position of a value.
    pub(crate) fn position(&self, value: u32) -> Option<usize> {
        self.entries().iter().position(|entry| entry.1 == value).map(|offset| self.start + offset)
    }

    /// The value at a position.
    #[inline]
    pub(crate) fn value(&self, position: usize) -> u32 {
        self.entries[position].1
    }

    /// The pattern at a position.
    pub(crate) fn pattern(&self, position: usize) -> Pattern {
        self.entries[position].0
    }

    /// Removes the entry at a position and returns its value.
    #[inline]
    pub(crate) fn remove(&mut self, position: usize) -> u32 {
        let value = self.entries[position].1;
        if position > self.start {
            self.entries.copy_within(self.start..position, self.start + 1);
        }
        self.start += 1;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        value
    }

    /// The values in order.
    pub(crate) fn values(&self) -> impl Iterator<Item = u32> + '_ {
        self.entries().iter().map(|entry| entry.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_match_what_they_leave_open() {
        let words = [5, 3 << 32 | 17];
        let message = Pattern::message(PeerIndex(2), &words);
        let receive = |context, from: Option<u32>, tag| {
            Pattern::receive(ContextId(context), from.map(PeerIndex), tag)
        };
        for (from, tag, expected) in [
            (Some(2), Some(17), true),
            (None, Some(17), true),
            (Some(2), None, true),
            (None, None, true),
            (Some(1), Some(17), false),
            (Some(2), Some(18), false),
            (None, Some(-17), false),
            (Some(0), None, false),
        ] {
            assert_eq!(receive(5, from, tag).matches(&message), expected, "{from:?} {tag:?}");
            assert!(!receive(6, from, tag).matches(&message));
        }
    }

    #[test]
    fn kinds_index_their_masks() {
        for (from, tag) in [
            (Some(PeerIndex(1)), Some(1)),
            (Some(PeerIndex(1)), None),
            (None, Some(1)),
            (None, None),
        ] {
            let pattern = Pattern::receive(ContextId(0), from, tag);
            assert_eq!(MASKS[pattern.kind()], pattern.mask);
        }
    }

    #[test]
    fn front_keeps_order_when_the_middle_goes() {
        let mut front = Front::new(8);
        let pattern = |tag| Pattern::receive(ContextId(1), None, Some(tag));
        for tag in 0..8 {
            assert!(front.push(pattern(tag), tag as u32));
        }
        assert!(!front.push(pattern(99), 99));
        assert_eq!(front.find(&pattern(3)).map(|p| front.remove(p)), Some(3));
        assert_eq!(front.values().collect::<Vec<_>>(), [0, 1, 2, 4, 5, 6, 7]);
        assert_eq!(front.position(0).map(|p| front.remove(p)), Some(0));
        assert!(
            front.push(pattern(8), 8) && front.push(pattern(9), 9) && !front.push(pattern(99), 99)
        );
        assert_eq!(front.position(9).map(|p| front.remove(p)), Some(9));
        assert_eq!(front.values().collect::<Vec<_>>(), [1, 2, 4, 5, 6, 7, 8]);
        for value in [1, 2, 4, 5, 6, 7, 8] {
            assert_eq!(front.position(value).map(|p| front.remove(p)), Some(value));
        }
        assert_eq!((front.start, front.end), (0, 0));
    }
}
