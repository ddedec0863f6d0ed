//! Hashed bins of ordered lists: what the two matching queues use for the entries beyond their short front.
//!
//! A bin holds, oldest first, the entries of one kind (which halves of the key count), one context and one key. Entries
//! live in a pool of links that is reused, so a steady program allocates nothing. An empty bin is removed.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};

use crate::matching::{MASKS, NONE};

/// Folds eight bytes at a time by a multiplication; envelopes are not chosen by an adversary.
#[derive(Default)]
pub(crate) struct Fold(u64);

impl Hasher for Fold {
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
struct Name(u64, u64, u64);

#[derive(Clone, Copy, Debug)]
struct Link {
    name: Name,
    order: u64,
    value: u32,
    previous: u32,
    next: u32,
}

/// First and last link of a bin.
#[derive(Clone, Copy, Debug)]
struct Ends {
    head: u32,
    tail: u32,
}

/// All bins of one queue.
#[derive(Debug, Default)]
pub(crate) struct Bins {
    ends: HashMap<Name, Ends, BuildHasherDefault<Fold>>,
    links: Vec<Link>,
    free: Vec<u32>,
    counts: [usize; 4],
}

impl Bins {
    /// Appends an entry to its bin; `order` grows from call to call. Returns the link, which names the entry in [`Bins::remove`].
    pub(crate) fn append(&mut self, kind: usize, context: u64, key: u64, order: u64, value: u32) -> u32 {
        let name = Name(context, key & MASKS[kind], kind as u64);
        let link = Link { name, order, value, previous: NONE, next: NONE };
        let at = self.free.pop().unwrap_or_else(|| {
            self.links.push(link);
            self.links.len() as u32 - 1
        });
        self.links[at as usize] = link;
        match self.ends.entry(name) {
            Entry::Vacant(vacant) => {
                vacant.insert(Ends { head: at, tail: at });
            }
            Entry::Occupied(mut occupied) => {
                let tail = std::mem::replace(&mut occupied.get_mut().tail, at);
                self.links[tail as usize].next = at;
                self.links[at as usize].previous = tail;
            }
        }
        self.counts[kind] += 1;
        at
    }

    /// The oldest entry of a bin: its order and its link.
    pub(crate) fn oldest(&self, kind: usize, context: u64, key: u64) -> Option<(u64, u32)> {
        if self.counts[kind] == 0 {
            return None;
        }
        let ends = self.ends.get(&Name(context, key & MASKS[kind], kind as u64))?;
        Some((self.links[ends.head as usize].order, ends.head))
    }

    /// The value of a link.
    pub(crate) fn value(&self, link: u32) -> u32 {
        self.links[link as usize].value
    }

    /// Takes an entry out and returns its value.
    pub(crate) fn remove(&mut self, link: u32) -> u32 {
        let Link { name, value, previous, next, .. } = self.links[link as usize];
        if previous != NONE {
            self.links[previous as usize].next = next;
        }
        if next != NONE {
            self.links[next as usize].previous = previous;
        }
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
        self.counts[name.2 as usize] -= 1;
        self.free.push(link);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_is_a_queue_with_removal_anywhere() {
        let mut bins = Bins::default();
        let links: Vec<u32> = (0..5).map(|i| bins.append(0, 1, 7, i, i as u32 + 10)).collect();
        bins.append(1, 1, 7, 9, 99);
        assert_eq!(bins.remove(links[2]), 12);
        assert_eq!(bins.remove(links[0]), 10);
        assert_eq!(bins.remove(links[4]), 14);
        let (order, link) = bins.oldest(0, 1, 7).unwrap();
        assert_eq!((order, bins.remove(link)), (1, 11));
        let (order, link) = bins.oldest(0, 1, 7).unwrap();
        assert_eq!((order, bins.remove(link)), (3, 13));
        assert!(bins.oldest(0, 1, 7).is_none());
        assert_eq!(bins.counts, [0, 1, 0, 0]);
        let link = bins.append(0, 1, 8, 10, 50);
        assert!(links.contains(&link), "links are reused");
    }
}
