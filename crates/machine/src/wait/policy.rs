//! The policy that a [`Waiter`] has chosen, for diagnostics (`towpath info`).

use std::time::Duration;

use towpath_base::control::{ControlPage, SegmentHead};

use super::{Waiter, YIELD_LIMIT};
use crate::cores::{self, Mask};

/// The waiting policy of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Ranks of the job on this host.
    pub ranks: usize,
    /// Cores that they may use together.
    pub cores: usize,
    /// True if the ranks fit on the cores; only then do they spin.
    pub fits: bool,
    /// How long a wait polls before it yields.
    pub spin: Duration,
    /// How long a wait yields before it sleeps, if the ranks fit.
    pub yield_limit: Duration,
    /// Number of yields after which a wait sleeps, if oversubscribed, or if the only rank of the
    /// host while ranks of other hosts take turns on its core.
    pub yields_before_sleep: u32,
    /// If a yield takes longer than this, all ranks of the host sleep for a while instead of
    /// yielding.
    pub slow_yield: Duration,
    /// Whether the kernel offers memory barriers in other processes (membarrier).
    pub membarrier: bool,
    /// Whether a rank issues that barrier before it sleeps; if not, every poster fences.
    pub barrier_before_sleep: bool,
}

impl Policy {
    /// The policy that ranks with these affinity masks would choose. Announces the masks in `head`,
    /// so `head` and `own` must belong to a segment that no job uses.
    pub fn of_ranks(
        masks: &[Mask],
        quota: Option<usize>,
        head: &SegmentHead,
        own: &ControlPage,
    ) -> Policy {
        for mask in masks {
            cores::announce(head, mask);
        }
        Waiter::with_quota(masks.len(), quota.unwrap_or(usize::MAX), head, own).policy()
    }
}

impl Waiter {
    /// The current policy.
    pub fn policy(&self) -> Policy {
        Policy {
            ranks: self.local_ranks,
            cores: self.cores,
            fits: self.fits,
            spin: self.spin,
            yield_limit: YIELD_LIMIT,
            yields_before_sleep: self.yields_before_sleep,
            slow_yield: self.slow_yield,
            membarrier: self.sleeper.membarrier,
            barrier_before_sleep: self.sleeper.with_barrier,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_pages::TestPages;
    use super::*;

    fn policy(ranks: usize, cores_of_each: u64, quota: Option<usize>) -> Policy {
        let pages = TestPages::new();
        let mut mask = [0; cores::MASK_WORDS];
        mask[0] = cores_of_each;
        Policy::of_ranks(&vec![mask; ranks], quota, pages.head(), pages.own())
    }

    #[test]
    fn ranks_that_fit_spin_and_others_do_not() {
        let four = policy(4, 0b1111, None);
        assert!(four.fits && four.cores == 4 && four.ranks == 4);
        let five = policy(5, 0b1111, None);
        assert!(!five.fits && five.spin.is_zero() && !five.barrier_before_sleep);
        assert!(!policy(4, 0b1111, Some(3)).fits, "the quota counts");
        assert!(!policy(2, 1, None).fits, "two ranks bound to one core share it");
    }
}
