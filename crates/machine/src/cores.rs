//! Which logical processors this process may use, and all ranks of the host together.

use towpath_base::control::SegmentHead;
use towpath_base::sync::Ordering;

/// Words of an affinity mask (1024 processors).
pub const MASK_WORDS: usize = 16;

/// A set of logical processors, one bit each.
pub type Mask = [u64; MASK_WORDS];

/// The affinity mask of the calling thread; all zero where the kernel does not tell.
pub fn affinity() -> Mask {
    let mut mask = [0; MASK_WORDS];
    // SAFETY: a mask is an array of long words, as the kernel writes it, and its size is what the
    // call is told.
    let outcome = unsafe { libc::sched_getaffinity(0, size_of::<Mask>(), mask.as_mut_ptr().cast()) };
    if outcome == 0 { mask } else { [0; MASK_WORDS] }
}

/// How many processors the system runs on, whoever may use them; at least 1.
pub fn online() -> usize {
    // SAFETY: the call only asks.
    let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    usize::try_from(count).unwrap_or(1).max(1)
}

/// How many processors a mask names.
pub fn count(mask: &Mask) -> usize {
    mask.iter().map(|word| word.count_ones() as usize).sum()
}

/// The numbers of the processors that a mask names, ascending.
pub fn listed(mask: &Mask) -> Vec<usize> {
    (0..64 * MASK_WORDS).filter(|cpu| mask[cpu / 64] >> (cpu % 64) & 1 == 1).collect()
}

/// The mask that names these processors; numbers beyond a mask are left out.
pub fn mask_of(processors: &[usize]) -> Mask {
    let mut mask = [0; MASK_WORDS];
    for &cpu in processors.iter().filter(|&&cpu| cpu < 64 * MASK_WORDS) {
        mask[cpu / 64] |= 1 << (cpu % 64);
    }
    mask
}

/// How many processors the processes with the united `mask` may keep busy: the mask cut by this
/// process's control group quota; at least 1.
pub fn allowed(mask: &Mask) -> usize {
    let named = count(mask);
    let quota = crate::cgroup::processor_quota().unwrap_or(usize::MAX);
    named.min(quota).max(1)
}

/// Adds a rank's mask to the union in the segment. Once per rank.
pub fn announce(head: &SegmentHead, mask: &Mask) {
    unite(head, mask);
    head.affinities.fetch_add(1, Ordering::Release);
}

/// Adds a rank's mask to the union in the segment, for ranks that meet before all of them have
/// announced theirs.
pub fn unite(head: &SegmentHead, mask: &Mask) {
    for (shared, own) in head.affinity.iter().zip(mask) {
        shared.fetch_or(*own, Ordering::Relaxed);
    }
}

/// How many ranks have announced their masks, and the union of these.
pub fn announced(head: &SegmentHead) -> (u32, Mask) {
    let ranks = head.affinities.load(Ordering::Acquire);
    let mut mask = [0; MASK_WORDS];
    for (own, shared) in mask.iter_mut().zip(&head.affinity) {
        *own = shared.load(Ordering::Relaxed);
    }
    (ranks, mask)
}

/// Whether `ranks` ranks of the host share cores, as far as they have said where they may run.
/// `quota` is asked only where their masks name enough processors.
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
