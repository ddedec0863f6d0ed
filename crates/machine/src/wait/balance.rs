//! Balances ranks over the cores of an oversubscribed host.
//!
//! The kernel does not migrate a process that has just run, and ranks that yield to each other
//! always have: six of them on one core and two on the other stay there for seconds, although a
//! barrier then takes 10 us instead of 7 (eight ranks on two cores). So waiting ranks count how
//! many of them are on each core. One that yields on a core with at least two more than another
//! moves to the other, once. It is not bound there: the kernel may migrate it as before.
//!
//! Ranks that sleep are not counted, so the few active ones are balanced too. A rank that computes
//! stays counted on the core where it last waited.

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use towpath_base::control::SegmentHead;
use towpath_base::sync::Ordering;

use super::external_load;
use crate::cores;

/// Minimum number of yields between two checks: half a millisecond with eight ranks on two cores.
const SHORTEST: u32 = 64;
/// Maximum, for a rank that the kernel moves back each time.
const LONGEST: u32 = 1 << 14;

/// A rank's state for balancing: the core on which it is counted, its yields since the last check,
/// and the yields between two checks.
#[derive(Debug)]
pub(super) struct CoreBalancer {
    processor: Option<usize>,
    turns: u32,
    interval: u32,
}

impl Default for CoreBalancer {
    fn default() -> CoreBalancer {
        CoreBalancer { processor: None, turns: 0, interval: SHORTEST }
    }
}

impl CoreBalancer {
    /// Counts a yield; call it after each one.
    #[inline]
    pub(super) fn count_turn(&mut self, head: &SegmentHead) {
        self.turns += 1;
        if self.turns >= self.interval {
            self.turns = 0;
            // Under external load the counts mean nothing: the kernel balances that load too.
            if !external_load::may_be_present(head) {
                self.look(head, sched_getcpu());
            }
        }
    }

    /// Stops counting this rank, which is about to sleep.
    pub(super) fn leave(&mut self, head: &SegmentHead) {
        if let Some(processor) = self.processor.take() {
            head.crowds[processor].fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Counts this rank on its current processor `here`, and moves it if too many ranks wait there.
    #[cold]
    fn look(&mut self, head: &SegmentHead, here: usize) {
        if here >= head.crowds.len() {
            return;
        }
        if self.processor != Some(here) {
            self.leave(head);
            head.crowds[here].fetch_add(1, Ordering::Relaxed);
            self.processor = Some(here);
        }
        let moved = self.go(head, here);
        self.interval =
            if moved { self.interval * 2 } else { self.interval / 2 }.clamp(SHORTEST, LONGEST);
    }

    /// Moves to the processor with the fewest waiting ranks among those this rank may use, if that
    /// has at least two fewer than `here` and no other rank has just left `here`. True if it moved.
    fn go(&mut self, head: &SegmentHead, here: usize) -> bool {
        let crowd = |processor: usize| head.crowds[processor].load(Ordering::Relaxed);
        let full = crowd(here);
        let is_emptier = |processor: &usize| crowd(*processor) + 2 <= full;
        if full < 2 || !used(head).any(|processor| is_emptier(&processor)) {
            return false;
        }
        let Ok(allowed) = sched_getaffinity(None) else { return false };
        let mine = (0..head.crowds.len().min(CpuSet::MAX_CPU))
            .filter(|&processor| allowed.is_set(processor));
        let Some(there) = mine.min_by_key(|&processor| crowd(processor)).filter(is_emptier) else {
            return false;
        };
        // Only one of the ranks that read the same counts may move.
        let claim = head.crowds[here].compare_exchange(
            full,
            full - 1,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        if claim.is_err() {
            return false;
        }
        head.crowds[there].fetch_add(1, Ordering::Relaxed);
        self.processor = Some(there);
        move_to(there, &allowed)
    }
}

/// The processors that at least one rank may use.
fn used(head: &SegmentHead) -> impl Iterator<Item = usize> {
    let (_, mask) = cores::announced(head);
    let words = (0..cores::MASK_WORDS).filter(move |&word| mask[word] != 0);
    let processors = words.flat_map(|word| 64 * word..64 * (word + 1));
    processors.filter(move |processor| mask[processor / 64] >> (processor % 64) & 1 == 1)
}

/// Moves the calling thread to a processor, then restores its affinity mask; false if the kernel
/// refuses.
fn move_to(processor: usize, allowed: &CpuSet) -> bool {
    let mut only = CpuSet::new();
    only.set(processor);
    // If the second call fails, the allowed processors have changed meanwhile, and the kernel has
    // set the mask itself.
    sched_setaffinity(None, &only).is_ok() && sched_setaffinity(None, allowed).is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::test_pages::TestPages;
    use super::*;

    #[test]
    fn a_rank_leaves_a_full_core_for_an_empty_one_and_stays_unbound() {
        let pages = TestPages::new();
        let head = pages.head();
        let mask = cores::affinity();
        cores::announce(head, &mask);
        let crowd = |processor: usize| head.crowds[processor].load(Ordering::Relaxed);
        let processors = cores::listed(&mask);
        let (first, last) = (processors[0], processors[processors.len() - 1]);
        for &processor in &processors {
            head.crowds[processor].store(if processor == last { 3 } else { 7 }, Ordering::Relaxed);
        }

        let mut balancer = CoreBalancer::default();
        balancer.look(head, first);
        assert_eq!(cores::affinity(), mask, "it may be moved on");
        if processors.len() > 1 {
            assert_eq!((balancer.processor, crowd(first), crowd(last)), (Some(last), 7, 4));
            balancer.look(head, last);
            assert_eq!(
                (balancer.processor, crowd(first), crowd(last)),
                (Some(last), 7, 4),
                "here it is empty enough"
            );
        }
        if processors.len() > 1 {
            let mut bound = CoreBalancer::default();
            let mut only = CpuSet::new();
            only.set(first);
            sched_setaffinity(None, &only).unwrap();
            bound.look(head, first);
            assert_eq!(
                (bound.processor, crowd(first), crowd(last)),
                (Some(first), 8, 4),
                "a rank that is bound stays"
            );
        }
        let counted = balancer.processor.unwrap();
        let before = crowd(counted);
        balancer.leave(head);
        balancer.leave(head);
        assert_eq!(crowd(counted), before - 1, "who sleeps is not counted");
    }
}
