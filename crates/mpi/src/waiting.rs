//! How the waiting loop of the lane idles: the policy of `machine::wait` on this process's control
//! page.

use std::time::Duration;

use towpath_machine::wait::Waiter;
use towpath_shm::Segment;

/// Longest sleep of a process that has to look after the flow of messages.
const WATCHFUL_SLEEP: Duration = Duration::from_secs(1);

/// The waiter of the thread that holds the baton, and the segment it watches.
pub struct Waiting {
    waiter: Waiter,
    segment: Segment,
}

impl Waiting {
    /// Idles on the own control page of this segment.
    pub fn new(waiter: Waiter, segment: Segment) -> Waiting {
        Waiting { waiter, segment }
    }

    /// A wait begins or has ended.
    #[inline]
    pub fn reset(&mut self) {
        self.waiter.reset();
    }

    /// Says whether the next sleeps are to end soon, because time matters to what is waited for.
    #[inline]
    pub fn limit_sleep(&mut self, limited: bool) {
        self.waiter.limit_sleep(limited.then_some(WATCHFUL_SLEEP));
    }

    /// How often this process has slept.
    pub fn sleeps(&self) -> u64 {
        self.waiter.sleeps()
    }

    /// The segment that is watched.
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// Nothing moved: spin, yield or sleep. `recheck` makes one more round of progress before a
    /// sleep.
    #[inline]
    pub fn idle(&mut self, recheck: impl FnMut() -> bool) {
        self.waiter.idle(self.segment.sources(), recheck);
        if self.segment.aborting() {
            crate::world::leave_aborted_job();
        }
    }

    /// Where ranks share cores: gives the core away a few times until `ready` says true (see
    /// [`Waiter::pass`]).
    #[inline]
    pub fn pass(&mut self, ready: &mut dyn FnMut() -> bool) -> bool {
        self.waiter.pass(self.segment.sources(), ready)
    }

    /// A test found nothing: with more ranks than cores somebody else should run.
    #[inline]
    pub fn give_way(&self) {
        if self.segment.aborting() {
            crate::world::leave_aborted_job();
        }
        if self.waiter.oversubscribed() {
            std::thread::yield_now();
        }
    }
}
