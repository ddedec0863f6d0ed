//! How the waiting loop of the lane idles: the policy of `machine::wait` on this process's control page.

use towpath_base::control::{ControlPage, SegmentHead};
use towpath_base::sync::Ordering;
use towpath_machine::wait::{Sources, Waiter};

/// The waiter of the thread that holds the baton, and the pages it watches.
pub struct Waiting {
    waiter: Waiter,
    own: &'static ControlPage,
    head: &'static SegmentHead,
}

impl Waiting {
    /// Idles on these pages.
    pub fn new(waiter: Waiter, own: &'static ControlPage, head: &'static SegmentHead) -> Waiting {
        Waiting { waiter, own, head }
    }

    /// A wait begins.
    #[inline]
    pub fn begin(&mut self) {
        self.waiter.reset();
    }

    /// A wait has ended.
    #[inline]
    pub fn end(&mut self) {
        self.waiter.reset();
    }

    /// Nothing moved: spin, yield or sleep. `recheck` makes one more round of progress before a sleep.
    #[inline]
    pub fn idle(&mut self, recheck: impl FnMut() -> bool) {
        self.waiter.idle(Sources::SharedMemory { own: self.own, head: self.head }, recheck);
        if self.head.aborting.load(Ordering::Relaxed) != 0 {
            crate::world::leave_aborted_job();
        }
    }

    /// A test found nothing: with more ranks than cores somebody else should run.
    #[inline]
    pub fn give_way(&self) {
        if self.waiter.oversubscribed() {
            std::thread::yield_now();
        }
    }
}
