//! Credit: how many bytes of bulk a process allows to be in flight towards it, from all senders
//! together. This handles incast without support from switches.
//!
//! The limit moves between a floor and a ceiling: up while answers take little longer than the
//! fastest ever, down when they queue for long or get lost. While several senders are active, each
//! has an equal share. A peer for which there is not enough credit is queued, and called in turn
//! when credit is available again.

#![forbid(unsafe_code)]

use std::collections::VecDeque;

use super::Time;
use super::timer::MILLISECOND;

/// Minimum limit in bytes.
pub const FLOOR: u64 = 128 << 10;
/// Initial limit in bytes.
pub const START: u64 = 256 << 10;
/// Maximum limit in bytes.
pub const CEILING: u64 = 4 << 20;
/// Queueing delay up to this length is welcome: it keeps a link busy while the receiver computes.
const QUEUE: Time = 4 * MILLISECOND;

/// The credit of the process.
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

/// The credit that one peer holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct CreditShare {
    used: u64,
    pulls: bool,
    waits: bool,
}

impl Credits {
    /// The current limit, in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes that have been requested and have not arrived.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Sets whether this peer has bulk to request: only such peers count when the limit is divided.
    pub fn pulls(&mut self, share: &mut CreditShare, pulls: bool) {
        if share.pulls != pulls {
            self.pulling = if pulls { self.pulling + 1 } else { self.pulling - 1 };
            share.pulls = pulls;
        }
    }

    /// Takes between `least` and `most` bytes. Without enough credit, takes nothing and queues
    /// `rank`.
    pub fn take(
        &mut self,
        share: &mut CreditShare,
        rank: u32,
        least: u64,
        most: u64,
    ) -> Option<u64> {
        let fair = (self.limit / self.pulling.max(1)).max(least);
        let allowed =
            self.limit.saturating_sub(self.used).min(fair.saturating_sub(share.used)).min(most);
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

    /// Returns credit: the bytes arrived, or are no longer expected.
    pub fn give(&mut self, share: &mut CreditShare, bytes: u64) {
        self.used -= bytes;
        share.used -= bytes;
    }

    /// Removes and returns the next peer in the queue, if any credit is available. The peer is
    /// queued again if its next request fails.
    pub fn call(&mut self) -> Option<u32> {
        if self.used >= self.limit { None } else { self.waiting.pop_front() }
    }

    /// The length of the queue.
    pub fn queue(&self) -> usize {
        self.waiting.len()
    }

    /// Records that the peer is no longer in the queue.
    pub fn called(&self, share: &mut CreditShare) {
        share.waits = false;
    }

    /// Returns all credit of a peer that is gone.
    pub fn forget(&mut self, share: &mut CreditShare, rank: u32) {
        self.give(share, share.used);
        self.pulls(share, false);
        self.waiting.retain(|waiting| *waiting != rank);
        share.waits = false;
    }

    /// `bytes` bytes arrived `trip` after they were requested; the fastest answer ever took
    /// `least`.
    pub fn came(&mut self, bytes: u64, trip: Time, least: Time) {
        if trip <= least + least / 2 {
            self.limit = (self.limit + bytes / 16).min(CEILING);
        } else if trip > QUEUE && trip > 4 * least {
            self.limit = self.limit.saturating_sub(bytes / 16).max(FLOOR);
        }
    }

    /// `bytes` bytes had to be requested again.
    pub fn lost(&mut self, bytes: u64) {
        self.limit = self.limit.saturating_sub(bytes / 8).max(FLOOR);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_holds_for_all_together() {
        let (mut credits, mut one, mut other) =
            (Credits::default(), CreditShare::default(), CreditShare::default());
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
        let mut shares = vec![CreditShare::default(); 1000];
        shares.iter_mut().for_each(|share| credits.pulls(share, true));
        let served = shares
            .iter_mut()
            .zip(0..)
            .filter_map(|(share, rank)| credits.take(share, rank, 18_000, 65_536));
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
