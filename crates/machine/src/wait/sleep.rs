//! How a process sleeps so that no wake-up is lost: the words of the protocol and the code on both
//! sides of it.
//!
//! The sleeper sets its sleep word, makes the messages posted before that visible, and polls once
//! more before it sleeps. A poster writes its message and then reads the sleep word. These two are
//! ordered either by a barrier that the sleeper issues in all processes or, if
//! [`ControlPage::wake_fence`] is set, by a fence of the poster.
//!
//! Generic over the words, so that a model checker can run it (`model`).

use std::time::Duration;

use towpath_base::control::{ControlPage, SegmentHead};
use towpath_base::sync::{AtomicU32, Ordering, compiler_fence, fence};

use crate::{futex, membarrier};

/// Values of the sleep word: the owner is awake, sleeps on the word itself, or on its bell.
pub const AWAKE: u32 = 0;
/// See [`AWAKE`].
pub const ON_WORD: u32 = 1;
/// See [`AWAKE`].
pub const ON_BELL: u32 = 2;

/// Longest sleep of a process that may miss a wake-up.
const LONGEST: Duration = Duration::from_millis(100);

/// A 32-bit word of shared memory, with the fences and system calls that go with it.
pub trait SleepWord {
    /// Reads the word.
    fn load(&self, order: Ordering) -> u32;
    /// Writes the word.
    fn store(&self, value: u32, order: Ordering);
    /// Writes the word; returns what it was before.
    fn swap(&self, value: u32, order: Ordering) -> u32;
    /// Adds to the word; returns what it was before.
    fn fetch_add(&self, value: u32, order: Ordering) -> u32;
    /// Subtracts from the word; returns what it was before.
    fn fetch_sub(&self, value: u32, order: Ordering) -> u32;
    /// Blocks while the word contains `value`, for at most `limit` (`None`: no limit). May return
    /// spuriously.
    fn wait(&self, value: u32, limit: Option<Duration>);
    /// Wakes at most `count` processes that wait on the word.
    fn wake(&self, count: u32);
    /// A full fence.
    fn fence();
    /// A fence for the compiler only. Acts as a full fence towards processes that issue a
    /// [`SleepWord::barrier`] that reaches this process.
    fn light_fence();
    /// Issues a full fence in every registered process; false if the system refuses.
    fn barrier() -> bool;
}

impl SleepWord for AtomicU32 {
    #[inline]
    fn load(&self, order: Ordering) -> u32 {
        self.load(order)
    }
    #[inline]
    fn store(&self, value: u32, order: Ordering) {
        self.store(value, order);
    }
    #[inline]
    fn swap(&self, value: u32, order: Ordering) -> u32 {
        self.swap(value, order)
    }
    #[inline]
    fn fetch_add(&self, value: u32, order: Ordering) -> u32 {
        self.fetch_add(value, order)
    }
    #[inline]
    fn fetch_sub(&self, value: u32, order: Ordering) -> u32 {
        self.fetch_sub(value, order)
    }
    fn wait(&self, value: u32, limit: Option<Duration>) {
        futex::wait(self, value, limit);
    }
    fn wake(&self, count: u32) {
        futex::wake(self, count);
    }
    #[inline]
    fn fence() {
        fence(Ordering::SeqCst);
    }
    #[inline]
    fn light_fence() {
        compiler_fence(Ordering::SeqCst);
    }
    fn barrier() -> bool {
        membarrier::global()
    }
}

/// The words of a process that sleeps, see [`ControlPage`].
#[derive(Debug)]
pub struct SleeperWords<'a, W> {
    /// See [`ControlPage::sleep`].
    pub sleep: &'a W,
    /// See [`ControlPage::wake_fence`].
    pub wake_fence: &'a W,
}

impl<'a> From<&'a ControlPage> for SleeperWords<'a, AtomicU32> {
    #[inline]
    fn from(page: &'a ControlPage) -> Self {
        SleeperWords { sleep: &page.sleep, wake_fence: &page.wake_fence }
    }
}

impl<W: SleepWord> SleeperWords<'_, W> {
    /// Poster: true if the owner sleeps or is about to, and must be woken. To be called after each
    /// message for the owner.
    #[inline]
    pub fn must_be_woken(&self) -> bool {
        W::light_fence();
        if self.wake_fence.load(Ordering::Relaxed) != 0 {
            W::fence();
        }
        self.is_asleep()
    }

    /// True if the owner sleeps or is about to, for a poster that has fenced.
    #[inline]
    pub fn is_asleep(&self) -> bool {
        self.sleep.load(Ordering::Relaxed) != AWAKE
    }

    /// Wakes the owner if it sleeps or is about to; `ring` rings its bell.
    pub fn wake(&self, ring: impl FnOnce()) {
        match self.sleep.swap(AWAKE, Ordering::AcqRel) {
            AWAKE => {}
            ON_BELL => ring(),
            _ => self.sleep.wake(1),
        }
    }

    /// Wakes all threads that sleep on the word, or the one that sleeps on the bell.
    pub(super) fn wake_all(&self, ring: impl FnOnce()) {
        if self.sleep.swap(AWAKE, Ordering::AcqRel) == ON_BELL {
            ring();
        }
        self.sleep.wake(u32::MAX >> 1);
    }
}

/// The words that all processes of a host share, see [`SegmentHead`].
#[derive(Debug)]
pub struct HostWords<'a, W> {
    /// See [`SegmentHead::sleepers`].
    pub sleepers: &'a W,
    /// See [`SegmentHead::wake_fences`].
    pub wake_fences: &'a W,
    /// See [`SegmentHead::unregistered`].
    pub unregistered: &'a W,
    /// See [`SegmentHead::aborting`].
    pub aborting: &'a W,
}

impl<'a> From<&'a SegmentHead> for HostWords<'a, AtomicU32> {
    #[inline]
    fn from(head: &'a SegmentHead) -> Self {
        HostWords {
            sleepers: &head.sleepers,
            wake_fences: &head.wake_fences,
            unregistered: &head.unregistered,
            aborting: &head.aborting,
        }
    }
}

impl<W: SleepWord> HostWords<'_, W> {
    /// Poster with many readers: true if some process of the host sleeps or is about to, so that
    /// the words of the readers must be checked.
    #[inline]
    pub fn somebody_sleeps(&self) -> bool {
        W::light_fence();
        if self.wake_fences.load(Ordering::Relaxed) != 0 {
            W::fence();
        }
        self.sleepers.load(Ordering::Relaxed) != 0
    }

    /// Keeps every process from sleeping from now on. Those that sleep must then be woken.
    pub(super) fn abort(&self) {
        self.aborting.store(1, Ordering::Release);
        W::fence();
    }

    /// Issues a barrier in all processes of the host; false if it does not reach all.
    fn barrier(&self) -> bool {
        self.unregistered.load(Ordering::SeqCst) == 0 && W::barrier()
    }
}

/// How a process makes posters see that it sleeps.
#[derive(Debug)]
pub struct Sleeper {
    /// False once this process knows that its barriers are refused or do not reach all others.
    pub(super) membarrier: bool,
    /// True if this process issues a barrier before it sleeps; if false, posters fence.
    pub(super) with_barrier: bool,
    /// True if fences were demanded while posters relied on barriers, and no barrier reached them
    /// all. A message that one of them posts before it has seen the demand may become visible only
    /// after the recheck and without a wake-up, so sleeps are short.
    may_miss: bool,
}

impl Sleeper {
    /// Demands fences at first. `registered`: whether barriers reach this process.
    pub fn new<W: SleepWord>(
        own: &SleeperWords<'_, W>,
        host: &HostWords<'_, W>,
        registered: bool,
    ) -> Sleeper {
        if !registered {
            // Must precede the first post: a sleeper reads this counter after its fence.
            host.unregistered.fetch_add(1, Ordering::SeqCst);
        }
        demand_fences(own, host, true);
        Sleeper { membarrier: registered, with_barrier: false, may_miss: false }
    }

    /// Chooses which side orders messages and sleeps: this process by barriers if it sleeps
    /// `seldom`, otherwise posters by fences. A barrier interrupts every core: if sleeps are
    /// frequent, a fence per message is cheaper.
    pub fn choose<W: SleepWord>(
        &mut self,
        own: &SleeperWords<'_, W>,
        host: &HostWords<'_, W>,
        seldom: bool,
    ) {
        self.membarrier &= host.unregistered.load(Ordering::SeqCst) == 0;
        self.with_barrier = self.membarrier && seldom;
        let fence_needed = !self.with_barrier;
        if demand_fences(own, host, fence_needed) && fence_needed {
            // Once the barrier returns, messages that were posted without a fence until now are
            // visible.
            self.may_miss |= !host.barrier();
        }
    }

    /// Announces a sleep on `place` ([`ON_WORD`] or [`ON_BELL`]), and calls `block` to sleep for at
    /// most the time passed to it, unless `recheck` finds that something has happened. May return
    /// once without sleeping.
    pub fn sleep<W: SleepWord>(
        &mut self,
        own: &SleeperWords<'_, W>,
        host: &HostWords<'_, W>,
        place: u32,
        recheck: impl FnOnce() -> bool,
        block: impl FnOnce(Option<Duration>),
    ) {
        host.sleepers.fetch_add(1, Ordering::SeqCst);
        own.sleep.store(place, Ordering::Relaxed);
        W::fence();
        if self.with_barrier && !host.barrier() {
            // The barrier has been forbidden since the process started (it entered a sandbox), or a
            // rank has joined that no barrier reaches. Posters fence from now on; stay awake once.
            (self.membarrier, self.with_barrier, self.may_miss) = (false, false, true);
            demand_fences(own, host, true);
        } else if host.aborting.load(Ordering::Acquire) == 0 && !recheck() {
            block(self.may_miss.then_some(LONGEST));
        }
        own.sleep.store(AWAKE, Ordering::Relaxed);
        host.sleepers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Sets whether posters must fence for a process; true if that changes it.
fn demand_fences<W: SleepWord>(
    own: &SleeperWords<'_, W>,
    host: &HostWords<'_, W>,
    demand: bool,
) -> bool {
    let changed = own.wake_fence.swap(u32::from(demand), Ordering::SeqCst) != u32::from(demand);
    if changed && demand {
        host.wake_fences.fetch_add(1, Ordering::SeqCst);
    } else if changed {
        host.wake_fences.fetch_sub(1, Ordering::SeqCst);
    }
    changed
}
