//! How many bytes of bulk a process lets come at a time, from all senders together: the answer to
//! incast, without help from switches.
//!
//! The bound moves between a floor and a ceiling: up while answers come as fast as the fastest
//! ever, down when they queue for long or get lost. While several senders are asked, each has an
//! equal share, and whoever found none left is told when there is some again, in turn.

#![forbid(unsafe_code)]

use std::collections::VecDeque;

use super::Time;
use super::timer::MILLISECOND;

/// Least bound.
pub const FLOOR: u64 = 128 << 10;
/// The bound at the start.
pub const START: u64 = 256 << 10;
/// Greatest bound.
pub const CEILING: u64 = 4 << 20;
/// Queues of this length are still welcome: they keep a link busy while the receiver computes.
const QUEUE: Time = 4 * MILLISECOND;

/// The state, one for the process.
#[derive(Debug)]
pub struct Credits {
    limit: u64,
    used: u64,
    waiting: VecDeque<u32>,
    pulling: u64,
}

impl Default for Credits {
    fn default() -> Credits {
        Credits { limit: START, used: 0, waiting: VecDeque::new(), pulling: 0 }
    }
}

/// What one peer holds of the credits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Share {
    used: u64,
    pulls: bool,
    waits: bool,
}

impl Credits {
    /// The bound now, in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes that are asked for and not here.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Says whether this peer has bulk to ask for: only such peers count when the bound is shared
    /// out.
    pub fn pulls(&mut self, share: &mut Share, pulls: bool) {
        if share.pulls != pulls {
            self.pulling = if pulls { self.pulling + 1 } else { self.pulling - 1 };
            share.pulls = pulls;
        }
    }

    /// Takes up to `most` bytes, at least `least`, or nothing: then `rank` stands in the queue.
    pub fn take(&mut self, share: &mut Share, rank: u32, least: u64, most: u64) -> Option<u64> {
        let fair = (self.limit / self.pulling.max(1)).max(least);
        let allowed = self.limit.saturating_sub(self.used).min(fair.saturating_sub(share.used)).min(most);
        if allowed < least {
            if !share.waits {
                share.waits = true;
                self.waiting.push_back(rank);
            }
            return None;
        }
        self.used += allowed;
        share.used += allowed;
        Some(allowed)
    }

    /// Gives bytes back: they came, or are not expected any more.
    pub fn give(&mut self, share: &mut Share, bytes: u64) {
        self.used -= bytes;
        share.used -= bytes;
    }

    /// The next peer in the queue, if there is anything to take. It stands in the queue again when
    /// it asks in vain.
    pub fn call(&mut self) -> Option<u32> {
        if self.used >= self.limit { None } else { self.waiting.pop_front() }
    }

    /// How many stand in the queue.
    pub fn queue(&self) -> usize {
        self.waiting.len()
    }

    /// The peer is no longer in the queue.
    pub fn called(&self, share: &mut Share) {
        share.waits = false;
    }

    /// Everything of a peer that is gone comes back.
    pub fn forget(&mut self, share: &mut Share, rank: u32) {
        self.give(share, share.used);
        self.pulls(share, false);
        self.waiting.retain(|waiting| *waiting != rank);
        share.waits = false;
    }

    /// So many bytes came, `trip` after they were asked for; the fastest ever took `least`.
    pub fn came(&mut self, bytes: u64, trip: Time, least: Time) {
        if trip <= least + least / 2 {
            self.limit = (self.limit + bytes / 16).min(CEILING);
        } else if trip > QUEUE && trip > 4 * least {
            self.limit = self.limit.saturating_sub(bytes / 16).max(FLOOR);
        }
    }

    /// So many bytes had to be asked for again.
    pub fn lost(&mut self, bytes: u64) {
        self.limit = self.limit.saturating_sub(bytes / 8).max(FLOOR);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_holds_for_all_together() {
        let (mut credits, mut one, mut other) = (Credits::default(), Share::default(), Share::default());
        credits.pulls(&mut one, true);
        assert_eq!(credits.take(&mut one, 1, 1000, 1 << 30), Some(START));
        credits.pulls(&mut other, true);
        assert_eq!(credits.take(&mut other, 2, 1000, 1 << 30), None);
        assert_eq!((credits.call(), credits.queue()), (None, 1));
        credits.give(&mut one, 65_536);
        assert_eq!(credits.take(&mut one, 1, 1000, 65_536), None, "more than its half already");
        assert_eq!(credits.call(), Some(2));
        credits.called(&mut other);
        assert_eq!(credits.take(&mut other, 2, 1000, 1 << 30), Some(65_536));
        credits.forget(&mut one, 1);
        assert_eq!((credits.used(), credits.queue()), (65_536, 0));
        assert_eq!(credits.take(&mut other, 2, 1000, 1 << 30), Some(START - 65_536));
    }

    #[test]
    fn many_senders_get_small_shares_but_never_less_than_they_need() {
        let mut credits = Credits::default();
        let mut shares = vec![Share::default(); 1000];
        shares.iter_mut().for_each(|share| credits.pulls(share, true));
        let served = shares.iter_mut().zip(0..).filter_map(|(share, rank)| credits.take(share, rank, 18_000, 65_536));
        assert_eq!(served.collect::<Vec<_>>(), vec![18_000; (START / 18_000) as usize]);
        assert!(credits.used() <= credits.limit());
    }

    #[test]
    fn the_bound_follows_queues_and_losses() {
        let mut credits = Credits::default();
        (0..1000).for_each(|_| credits.came(65_536, 10_000, 9_000));
        assert_eq!(credits.limit(), CEILING);
        (0..1000).for_each(|_| credits.came(65_536, 100 * MILLISECOND, 9_000));
        assert_eq!(credits.limit(), FLOOR);
        credits.came(65_536, MILLISECOND, 9_000);
        assert_eq!(credits.limit(), FLOOR, "in between nothing changes");
        (0..1000).for_each(|_| credits.came(65_536, 10_000, 9_000));
        (0..1000).for_each(|_| credits.lost(65_536));
        assert_eq!(credits.limit(), FLOOR);
    }
}
