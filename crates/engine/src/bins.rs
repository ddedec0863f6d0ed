//! Hashed bins of ordered lists, which both matching queues use for the entries beyond their short
//! front array.
//!
//! A bin holds, oldest first, the entries of one kind (which halves of the key are significant),
//! one context and one key. The entries and their links are owned by the queue. An empty bin is
//! removed.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};

use crate::matching::{MASKS, NONE};

/// Capacity (in bins) that is kept when all bins are gone.
const SPARE_BINS: usize = 256;

/// Folds in eight bytes at a time with one multiplication. Not resistant to collision attacks,
/// which do not matter here: no adversary chooses envelopes.
#[derive(Default)]
pub(crate) struct EnvelopeHasher(u64);

impl Hasher for EnvelopeHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }
    fn write_u64(&mut self, value: u64) {
        let product = u128::from(self.0 ^ value ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
}

/// Key of a bin: context, masked key, kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct BinKey(u64, u64, u64);

impl BinKey {
    fn of(kind: usize, context: u64, key: u64) -> BinKey {
        BinKey(context, key & MASKS[kind], kind as u64)
    }
}

/// An entry's neighbours in its bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct BinLinks {
    pub(crate) previous: u32,
    pub(crate) next: u32,
}

impl BinLinks {
    /// Links of an entry that is alone in its bin.
    pub(crate) const NONE: BinLinks = BinLinks { previous: NONE, next: NONE };
}

/// Access to the bin links of a queue's entries, for one kind.
pub(crate) trait Links {
    fn of(&mut self, entry: u32) -> &mut BinLinks;
}

/// First and last entry of a bin.
#[derive(Clone, Copy, Debug)]
struct BinEnds {
    head: u32,
    tail: u32,
}

/// All bins of one queue.
#[derive(Debug, Default)]
pub(crate) struct Bins {
    ends: HashMap<BinKey, BinEnds, BuildHasherDefault<EnvelopeHasher>>,
    counts: [usize; 4],
}

impl Bins {
    /// Appends an entry to its bin.
    pub(crate) fn append(
        &mut self,
        links: &mut impl Links,
        kind: usize,
        context: u64,
        key: u64,
        entry: u32,
    ) {
        *links.of(entry) = BinLinks::NONE;
        match self.ends.entry(BinKey::of(kind, context, key)) {
            Entry::Vacant(vacant) => {
                vacant.insert(BinEnds { head: entry, tail: entry });
            }
            Entry::Occupied(mut occupied) => {
                let tail = std::mem::replace(&mut occupied.get_mut().tail, entry);
                links.of(tail).next = entry;
                links.of(entry).previous = tail;
            }
        }
        self.counts[kind] += 1;
    }

    /// The oldest entry of a bin.
    pub(crate) fn oldest(&self, kind: usize, context: u64, key: u64) -> Option<u32> {
        if self.counts[kind] == 0 {
            return None;
        }
        self.ends.get(&BinKey::of(kind, context, key)).map(|ends| ends.head)
    }

    /// Removes an entry from its bin.
    pub(crate) fn remove(
        &mut self,
        links: &mut impl Links,
        kind: usize,
        context: u64,
        key: u64,
        entry: u32,
    ) {
        let BinLinks { previous, next } = *links.of(entry);
        if previous != NONE {
            links.of(previous).next = next;
        }
        if next != NONE {
            links.of(next).previous = previous;
        }
        let name = BinKey::of(kind, context, key);
        if previous == NONE && next == NONE {
            self.ends.remove(&name);
        } else if let Some(ends) = self.ends.get_mut(&name) {
            if previous == NONE {
                ends.head = next;
            }
            if next == NONE {
                ends.tail = previous;
            }
        }
        self.counts[kind] -= 1;
    }

    /// Returns the memory of a grown table once no bin is left.
    pub(crate) fn shrink(&mut self) {
        if self.ends.is_empty() {
            self.ends.shrink_to(SPARE_BINS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Links for [BinLinks; 8] {
        fn of(&mut self, entry: u32) -> &mut BinLinks {
            &mut self[entry as usize]
        }
    }

    #[test]
    fn a_bin_is_a_queue_with_removal_anywhere() {
        let (mut bins, mut links, mut others) =
            (Bins::default(), [BinLinks::NONE; 8], [BinLinks::NONE; 8]);
        (0..5).for_each(|entry| bins.append(&mut links, 0, 1, 7, entry));
        bins.append(&mut others, 1, 1, 7, 6);
        [2, 0, 4].into_iter().for_each(|entry| bins.remove(&mut links, 0, 1, 7, entry));
        assert_eq!(bins.oldest(0, 1, 7), Some(1));
        bins.remove(&mut links, 0, 1, 7, 1);
        assert_eq!(bins.oldest(0, 1, 7), Some(3));
        bins.remove(&mut links, 0, 1, 7, 3);
        assert!(bins.oldest(0, 1, 7).is_none());
        assert_eq!((bins.counts, bins.oldest(1, 1, 7)), ([0, 1, 0, 0], Some(6)));
    }
}
