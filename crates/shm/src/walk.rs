//! The walk of a sender: how many bytes of shared memory it cycles through.
//!
//! If two cores exchange bytes through the same few lines, each takes every line out of the other
//! core's private cache, where it is dirty. If they cycle through a buffer that is longer than both
//! private caches, the lines have been evicted to the cache that the cores share by the time they
//! are written again, and both sides find them there: 64 KiB take 2.5 us on a walk of 2 MiB, 5.2 us
//! through the same bytes (EPYC 9004 with 1 MiB of private cache, line ping-pong of 31 ns,
//! 2026-11-24, `benchmarks/bare_copies.c`).

use towpath_machine::resources::Caches;
use towpath_machine::{cores, memory};

/// Bytes of the shortest walk, and how often it may be doubled.
pub(crate) const SHORTEST: usize = 512 << 10;
pub(crate) const MOST_DOUBLINGS: u32 = 2;
/// Bytes of the longest walk.
pub(crate) const LONGEST: usize = SHORTEST << MOST_DOUBLINGS;

/// Bytes between two messages. A reader's core prefetches beyond what it reads; if it fetches lines
/// of the next message, the writer has to take them back.
pub(crate) const GAP: usize = 512;

/// Longer walks pay off if the shared cache has this many times the bytes of each core's private
/// one: a bounce buffer and a staging area each cycle through twice the private one.
const LARGER: usize = 4;
/// Largest private cache for which longer walks were measured.
const LARGEST_PRIVATE: usize = 1 << 20;
/// A rank uses the memory of a longer walk only if this many times as much is available for it.
const PLENTY: u64 = 64;

/// The length of a walk, as the number of doublings of [`SHORTEST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Walk {
    doublings: u32,
}

impl Walk {
    pub(crate) const SHORTEST: Walk = Walk { doublings: 0 };

    /// The walk for a host with `ranks` ranks of a job. `left` is the number of bytes that the
    /// limit of the memory cgroup leaves; `None` without a limit.
    pub(crate) fn of_host(ranks: usize, left: Option<u64>) -> Walk {
        // Ranks that share a core find its caches full of other data anyway.
        if ranks > cores::online() {
            return Walk::SHORTEST;
        }
        let walk = Walk::beside(Caches::of_first_core());
        let is_plenty =
            || left.unwrap_or_else(memory::available) / PLENTY / LONGEST as u64 >= ranks as u64;
        if walk.is_long() && !is_plenty() { Walk::SHORTEST } else { walk }
    }

    /// The walk for cores with these caches: twice as long as the private one.
    fn beside(caches: Option<Caches>) -> Walk {
        let caches =
            caches.filter(|caches| caches.private <= LARGEST_PRIVATE.min(caches.share / LARGER));
        let bytes = caches.map_or(0, |caches| caches.private.saturating_mul(2));
        Walk { doublings: (bytes / SHORTEST).max(1).ilog2().min(MOST_DOUBLINGS) }
    }

    /// True if the walk uses more memory than the shortest one.
    pub(crate) fn is_long(self) -> bool {
        self.doublings > 0
    }

    pub(crate) fn bytes(self) -> usize {
        SHORTEST << self.doublings
    }

    /// The number that tells other ranks the walk, at most [`MOST_DOUBLINGS`].
    pub(crate) fn number(self) -> u32 {
        self.doublings
    }

    /// The inverse of [`Walk::number`].
    ///
    /// # Panics
    /// If no walk has that number.
    pub(crate) fn from_number(number: u32) -> Walk {
        assert!(number <= MOST_DOUBLINGS, "no walk has the number {number}");
        Walk { doublings: number }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_is_twice_as_long_as_the_private_cache() {
        let bytes = |private, share| Walk::beside(Some(Caches { private, share })).bytes();
        let kinds = [256 << 10, 512 << 10, 1 << 20, 2 << 20];
        assert_eq!(
            kinds.map(|private| bytes(private, 4 * private)),
            [SHORTEST, 1 << 20, LONGEST, SHORTEST]
        );
        assert_eq!(kinds.map(|private| bytes(private, 3 * private)), [SHORTEST; 4]);
        assert_eq!(
            (Walk::beside(None), bytes(0, 0), bytes(usize::MAX, usize::MAX)),
            (Walk::SHORTEST, SHORTEST, SHORTEST)
        );
        let longest = Walk::from_number(MOST_DOUBLINGS);
        assert_eq!((longest.bytes(), longest.number()), (LONGEST, MOST_DOUBLINGS));
    }

    #[test]
    fn many_ranks_and_little_memory_leave_it_short() {
        assert_eq!(Walk::of_host(cores::online() + 1, None), Walk::SHORTEST);
        assert_eq!(Walk::of_host(1, Some(PLENTY * LONGEST as u64 - 1)), Walk::SHORTEST);
        assert_eq!(Walk::of_host(1, Some(PLENTY * LONGEST as u64)), Walk::of_host(1, None));
    }
}
