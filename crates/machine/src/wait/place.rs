//! Spreading ranks that share cores evenly over them.
//!
//! The kernel leaves a process where it is when it has just run, and ranks that yield to each other
//! always have: six of them on one core and two on another stay so for seconds, although a barrier
//! takes 10 us then instead of 7 (eight ranks on two cores). So waiting ranks count who is where,
//! and one that yields on a core with at least two more than another goes there, once. Nothing is
//! bound: the kernel may move it as before.
//!
//! Ranks that sleep or compute for long are not counted, so the few that are active in a crowd
//! spread too.

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use towpath_base::control::SegmentHead;
use towpath_base::sync::Ordering;

use super::stranger;
use crate::cores;

/// Yields between two looks at the least: half a millisecond among eight ranks on two cores.
const SHORTEST: u32 = 64;
/// And at most, for a rank that the kernel moves back each time.
const LONGEST: u32 = 1 << 14;

/// Where a waiting rank is counted.
#[derive(Debug)]
pub(super) struct Place {
    processor: Option<usize>,
    turns: u32,
    interval: u32,
}

impl Default for Place {
    fn default() -> Place {
        Place { processor: None, turns: 0, interval: SHORTEST }
    }
}

impl Place {
    /// To be called after each yield.
    #[inline]
    pub(super) fn count_turn(&mut self, head: &SegmentHead) {
        self.turns += 1;
        if self.turns >= self.interval {
            self.turns = 0;
            // Beside a stranger the figures say nothing: the kernel weighs it too.
            if !stranger::may_be_about(head) {
                self.look(head, sched_getcpu());
            }
        }
    }

    /// The rank goes to sleep.
    pub(super) fn leave(&mut self, head: &SegmentHead) {
        if let Some(processor) = self.processor.take() {
            head.crowds[processor].fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Counts this rank where it is, `here`, and moves it where that is too full.
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
        self.interval = if moved { self.interval * 2 } else { self.interval / 2 }.clamp(SHORTEST, LONGEST);
    }

    /// Moves to the processor with the fewest waiting ranks among those on which this one may run,
    /// if that has at least two less than `here` and no other rank has just left `here`; true when
    /// that happened.
    fn go(&mut self, head: &SegmentHead, here: usize) -> bool {
        let crowd = |processor: usize| head.crowds[processor].load(Ordering::Relaxed);
        let full = crowd(here);
        let is_emptier = |processor: &usize| crowd(*processor) + 2 <= full;
        if full < 2 || !used(head).any(|processor| is_emptier(&processor)) {
            return false;
        }
        let Ok(allowed) = sched_getaffinity(None) else { return false };
        let mine = (0..head.crowds.len().min(CpuSet::MAX_CPU)).filter(|&processor| allowed.is_set(processor));
        let Some(there) = mine.min_by_key(|&processor| crowd(processor)).filter(is_emptier) else { return false };
        // Of those that see the same figures only one may go, else all would.
        let claim = head.crowds[here].compare_exchange(full, full - 1, Ordering::Relaxed, Ordering::Relaxed);
        if claim.is_err() {
            return false;
        }
        head.crowds[there].fetch_add(1, Ordering::Relaxed);
        self.processor = Some(there);
        move_to(there, &allowed)
    }
}

/// The processors that some rank may use.
fn used(head: &SegmentHead) -> impl Iterator<Item = usize> {
    let (_, mask) = cores::announced(head);
    let words = (0..cores::MASK_WORDS).filter(move |&word| mask[word] != 0);
    let processors = words.flat_map(|word| 64 * word..64 * (word + 1));
    processors.filter(move |processor| mask[processor / 64] >> (processor % 64) & 1 == 1)
}

/// Moves the calling thread to a processor and leaves it free to be moved on; false where the
/// kernel refuses.
fn move_to(processor: usize, allowed: &CpuSet) -> bool {
    let mut only = CpuSet::new();
    only.set(processor);
    // Where the second call fails, the processors allowed have changed meanwhile, and the kernel
    // has set the mask itself.
    sched_setaffinity(None, &only).is_ok() && sched_setaffinity(None, allowed).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Mapping, create_file};
    use towpath_base::control::PAGE;

    #[test]
    fn a_rank_leaves_a_full_core_for_an_empty_one_and_stays_unbound() {
        let mapping = Mapping::new(create_file("towpath-test").unwrap(), PAGE).unwrap();
        // SAFETY: the mapping is zeroed, a page long and aligned, and lives until the end of this
        // function.
        let head: &SegmentHead = unsafe { &*mapping.pointer().cast() };
        let mask = cores::affinity();
        cores::announce(head, &mask);
        let crowd = |processor: usize| head.crowds[processor].load(Ordering::Relaxed);
        let processors = cores::listed(&mask);
        let (first, last) = (processors[0], processors[processors.len() - 1]);
        for &processor in &processors {
            head.crowds[processor].store(if processor == last { 3 } else { 7 }, Ordering::Relaxed);
        }

        let mut place = Place::default();
        place.look(head, first);
        assert_eq!(cores::affinity(), mask, "it may be moved on");
        if processors.len() > 1 {
            assert_eq!((place.processor, crowd(first), crowd(last)), (Some(last), 7, 4));
            place.look(head, last);
            assert_eq!((place.processor, crowd(first), crowd(last)), (Some(last), 7, 4), "here it is empty enough");
        }
        if processors.len() > 1 {
            let mut bound = Place::default();
            let mut only = CpuSet::new();
            only.set(first);
            sched_setaffinity(None, &only).unwrap();
            bound.look(head, first);
            assert_eq!((bound.processor, crowd(first), crowd(last)), (Some(first), 8, 4), "a rank that is bound stays");
        }
        let counted = place.processor.unwrap();
        let before = crowd(counted);
        place.leave(head);
        place.leave(head);
        assert_eq!(crowd(counted), before - 1, "who sleeps is not counted");
    }
}
