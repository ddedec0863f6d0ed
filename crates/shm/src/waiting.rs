//! Idling of a process that waits: applies the policy of `machine::wait` to its control page.

use std::time::Duration;

use towpath_machine::wait::Waiter;

use crate::segment::Segment;

/// Longest sleep of a process that must attend to flow control.
const WATCHFUL_SLEEP: Duration = Duration::from_secs(1);

/// The waiter of the thread that polls for its process, and the segment it watches.
#[derive(Debug)]
pub struct Waiting {
    waiter: Waiter,
    segment: Segment,
    /// Ends this process because the job is aborting.
    leave: fn() -> !,
}

impl Waiting {
    /// Creates the waiter of this process, which idles on its own control page of `segment`, and
    /// calls `leave` when the job is aborting.
    pub fn new(waiter: Waiter, segment: Segment, leave: fn() -> !) -> Waiting {
        Waiting { waiter, segment, leave }
    }

    /// Resets the waiter when a wait begins or ends.
    #[inline]
    pub fn reset(&mut self) {
        self.waiter.reset();
    }

    /// Limits the following sleeps to one second if `limited`, for waits that flow control, or
    /// members that call another collective, may hold up; otherwise lifts the limit.
    #[inline]
    pub fn limit_sleep(&mut self, limited: bool) {
        self.waiter.limit_sleep(limited.then_some(WATCHFUL_SLEEP));
    }

    /// Whether the next sleep may leave messages from other hosts unread, see
    /// [`Waiter::wait_within_host`].
    #[inline]
    pub fn wait_within_host(&mut self, within_host: bool) {
        self.waiter.wait_within_host(within_host);
    }

    /// True if the process reads messages from other hosts, and others need its core.
    pub fn shares_core_among_hosts(&self) -> bool {
        self.waiter.has_bell() && self.waiter.crowded()
    }

    /// True if others need the core of this process, see [`Waiter::crowded`].
    pub fn crowded(&self) -> bool {
        self.waiter.crowded()
    }

    /// Number of times that this process has slept.
    pub fn sleeps(&self) -> u64 {
        self.waiter.sleeps()
    }

    /// The watched segment.
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// Spins, yields or sleeps after a round without progress, and ends the process if the job is
    /// aborting. `recheck` makes one more round before a sleep.
    #[inline]
    pub fn idle(&mut self, recheck: impl FnMut() -> bool) {
        self.waiter.idle(self.segment.sources(), recheck);
        if self.segment.aborting() {
            (self.leave)();
        }
    }

    /// If others need the core, yields a few times until `ready` returns true, see
    /// [`Waiter::pass`].
    #[inline]
    pub fn pass(&mut self, ready: &mut dyn FnMut() -> bool) -> bool {
        self.waiter.pass(self.segment.sources(), ready)
    }

    /// Yields after an unsuccessful test if others need the core. Ends the process if the job is
    /// aborting.
    #[inline]
    pub fn give_way(&mut self) {
        if self.segment.aborting() {
            (self.leave)();
        }
        if self.waiter.crowded() {
            self.waiter.give_way(self.segment.sources());
        }
    }
}
