//! Which logical processors this process may use.

use rustix::thread::{CpuSet, sched_getaffinity};

/// Words of an affinity mask (1024 processors).
pub const MASK_WORDS: usize = 16;

/// A set of logical processors, one bit each.
pub type Mask = [u64; MASK_WORDS];

/// The affinity mask of the calling thread; all zero where the kernel does not tell.
pub fn affinity() -> Mask {
    let mut mask = [0; MASK_WORDS];
    if let Ok(set) = sched_getaffinity(None) {
        for cpu in (0..CpuSet::MAX_CPU.min(64 * MASK_WORDS)).filter(|cpu| set.is_set(*cpu)) {
            mask[cpu / 64] |= 1 << (cpu % 64);
        }
    }
    mask
}

/// How many processors a mask names.
pub fn count(mask: &Mask) -> usize {
    mask.iter().map(|word| word.count_ones() as usize).sum()
}

/// How many processors the processes with the united `mask` may keep busy: the mask cut by this process's control
/// group quota; at least 1.
pub fn allowed(mask: &Mask) -> usize {
    let named = count(mask);
    let quota = crate::cgroup::processor_quota().unwrap_or(usize::MAX);
    named.min(quota).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_runs_somewhere() {
        let mask = affinity();
        assert!(count(&mask) >= 1);
        assert!((1..=count(&mask)).contains(&allowed(&mask)));
    }
}
