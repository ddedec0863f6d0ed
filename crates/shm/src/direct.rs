//! Which messages from a heap are copied without a bounce buffer.
//!
//! A direct copy moves the bytes once, but leaves the lines of the source in the caches of both
//! cores. When the program writes its buffer again, each of its stores takes a line away from the
//! receiver's cache; a bounce buffer is written by the method that is fast for such lines
//! ([`crate::stores`]). Two ranks that write 256 KiB, exchange them and read
//! them need 45 us this way, 25 us through bounce buffers; across complexes 140 and 36 us. Buffers
//! that nobody writes between two messages would gain from 128 KiB up, but programs send what they
//! have computed. From the size of a cache on, the lines have left it before they are written again
//! (EPYC, 2026-11-27, `run.py --only exchange`).

use towpath_machine::cores;
use towpath_machine::resources::Caches;

/// Smallest message that is copied directly, which pays off between ranks that may share a core:
/// its caches hold the lines already.
pub(crate) const SHORTEST: usize = 128 << 10;
/// The caches of a machine that does not tell their sizes.
const USUAL: Caches = Caches { private: 1 << 20, share: 4 << 20 };

/// One direct message in so many goes through a bounce buffer: stores into it show whether a
/// process has moved to another core.
const PROBED: u32 = 16;

/// Lengths from which messages are copied directly.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Between cores that share a cache.
    near: usize,
    /// Between cores that share none.
    far: usize,
}

impl Limits {
    fn beside(caches: Caches, is_oversubscribed: bool) -> Limits {
        let near = if is_oversubscribed { SHORTEST } else { caches.private.max(SHORTEST) };
        // Both buffers of an exchange have to leave the last cache.
        Limits { near, far: caches.share.saturating_mul(2).max(near) }
    }
}

/// Decides which messages are copied directly.
#[derive(Debug)]
pub(crate) struct DirectCopies {
    /// Ranks of the job on this host.
    ranks: usize,
    /// Read when the first message needs them.
    limits: Option<Limits>,
    /// Direct messages between near cores, modulo [`PROBED`].
    count: u32,
}

impl DirectCopies {
    /// For a host with `ranks` ranks of a job. All messages of `bytes` bytes and more are copied
    /// directly, if that is given.
    pub(crate) fn new(ranks: usize, bytes: Option<usize>) -> DirectCopies {
        let limits = bytes.map(|bytes| bytes.max(SHORTEST)).map(|far| Limits { near: far, far });
        DirectCopies { ranks, limits, count: 0 }
    }

    /// True if a message of `length` bytes should be copied directly, to a receiver that is known
    /// to share a cache with this process, or not.
    pub(crate) fn take(&mut self, length: usize, is_near: bool) -> bool {
        debug_assert!(length >= SHORTEST, "{length} bytes are always copied twice");
        let limits = *self.limits.get_or_insert_with(|| {
            let caches = Caches::of_first_core().unwrap_or(USUAL);
            Limits::beside(caches, self.ranks > cores::online())
        });
        if length >= limits.far || length < limits.near || !is_near {
            return length >= limits.far;
        }
        self.count = (self.count + 1) % PROBED;
        self.count != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copies_if(is_oversubscribed: bool) -> DirectCopies {
        let caches = Caches { private: 1 << 20, share: 4 << 20 };
        let limits = Some(Limits::beside(caches, is_oversubscribed));
        DirectCopies { limits, ..DirectCopies::new(2, None) }
    }

    #[test]
    fn messages_that_fit_into_a_cache_go_through_bounce_buffers() {
        let mut copies = copies_if(false);
        assert!(!copies.take((1 << 20) - 1, true));
        assert!(copies.take(1 << 20, true));
        assert!(!copies.take((8 << 20) - 1, false) && copies.take(8 << 20, false));
        let mut same_core = copies_if(true);
        assert!(same_core.take(SHORTEST, true) && !same_core.take(SHORTEST, false));
    }

    #[test]
    fn some_direct_messages_show_whether_a_process_has_moved() {
        let mut copies = copies_if(false);
        let direct = (0..2 * PROBED).filter(|_| copies.take(1 << 20, true)).count();
        assert_eq!(direct as u32, 2 * PROBED - 2);
        let mut all = DirectCopies::new(2, Some(1));
        assert!((0..2 * PROBED).all(|_| all.take(SHORTEST, true)), "none is sent as a probe");
    }
}
