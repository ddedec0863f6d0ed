//! The logical processors that this process, and all ranks of the host together, may use.

use towpath_base::control::SegmentHead;
use towpath_base::sync::Ordering;

/// Words of an affinity mask (1024 processors).
pub const MASK_WORDS: usize = 16;

/// A set of logical processors, one bit each.
pub type Mask = [u64; MASK_WORDS];

/// The affinity mask of the calling thread; all zeros if the kernel does not report it.
pub fn affinity() -> Mask {
    let mut mask = [0; MASK_WORDS];
    // SAFETY: `mask` is writable for `size_of::<Mask>()` bytes, the size passed, and any bits are a
    // valid mask.
    let outcome =
        unsafe { libc::sched_getaffinity(0, size_of::<Mask>(), mask.as_mut_ptr().cast()) };
    if outcome == 0 { mask } else { [0; MASK_WORDS] }
}

/// Number of processors online, whether or not this process may use them; at least 1.
pub fn online() -> usize {
    // SAFETY: `sysconf` takes no pointers.
    let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    usize::try_from(count).unwrap_or(1).max(1)
}

/// Number of processors in a mask.
pub fn count(mask: &Mask) -> usize {
    mask.iter().map(|word| word.count_ones() as usize).sum()
}

/// The processors in a mask, ascending.
pub fn listed(mask: &Mask) -> Vec<usize> {
    (0..64 * MASK_WORDS).filter(|cpu| mask[cpu / 64] >> (cpu % 64) & 1 == 1).collect()
}

/// The mask of these processors; numbers beyond the size of a mask are ignored.
pub fn mask_of(processors: &[usize]) -> Mask {
    let mut mask = [0; MASK_WORDS];
    for &cpu in processors.iter().filter(|&&cpu| cpu < 64 * MASK_WORDS) {
        mask[cpu / 64] |= 1 << (cpu % 64);
    }
    mask
}

/// Number of processors that processes with the combined `mask` may keep busy: those in the mask,
/// limited by the control group quota of this process; at least 1.
pub fn allowed(mask: &Mask) -> usize {
    let named = count(mask);
    let quota = crate::cgroup::processor_quota().unwrap_or(usize::MAX);
    named.min(quota).max(1)
}

/// Adds a rank's mask to the union in the segment and counts the rank. Call it once per rank.
pub fn announce(head: &SegmentHead, mask: &Mask) {
    unite(head, mask);
    head.affinities.fetch_add(1, Ordering::Release);
}

/// Adds a rank's mask to the union in the segment without counting the rank, for ranks that need
/// the union before all have called [`announce`].
pub fn unite(head: &SegmentHead, mask: &Mask) {
    for (shared, own) in head.affinity.iter().zip(mask) {
        shared.fetch_or(*own, Ordering::Relaxed);
    }
}

/// How many ranks have announced their masks, and the union of these masks.
pub fn announced(head: &SegmentHead) -> (u32, Mask) {
    let ranks = head.affinities.load(Ordering::Acquire);
    let mut mask = [0; MASK_WORDS];
    for (own, shared) in mask.iter_mut().zip(&head.affinity) {
        *own = shared.load(Ordering::Relaxed);
    }
    (ranks, mask)
}

/// Whether `ranks` ranks of the host are oversubscribed, as far as they have announced their masks.
/// Calls `quota` only if the masks contain enough processors.
pub fn are_shared(head: &SegmentHead, ranks: u32, quota: impl FnOnce() -> Option<usize>) -> bool {
    let ranks = ranks as usize;
    ranks > count(&announced(head).1).max(1) || quota().is_some_and(|quota| ranks > quota)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_runs_somewhere() {
        let mask = affinity();
        assert!(count(&mask) >= 1);
        assert!((1..=count(&mask)).contains(&allowed(&mask)));
        assert!(online() >= 1);
        assert_eq!(mask_of(&listed(&mask)), mask);
    }

    #[test]
    fn lists_and_masks_say_the_same() {
        let processors = [0, 63, 64, 1023];
        assert_eq!(listed(&mask_of(&processors)), processors);
        assert_eq!(mask_of(&[64 * MASK_WORDS]), [0; MASK_WORDS]);
    }
}
