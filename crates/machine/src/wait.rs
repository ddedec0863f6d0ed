//! How a process waits: spin, yield or sleep, and how it is woken.
//!
//! Policy and figures: research on waiting (48 us of spinning makes a barrier of more ranks than
//! cores 11-36 times slower than yielding; a futex wake across idle virtual cores costs 23 us).
//! Where ranks fit on the allowed cores: spin, then yield up to a millisecond, then sleep; and spin
//! no more once a yield shows that ranks of other hosts on the same machine wait for the core too
//! (eight hosts on two cores: 205 instead of 450 us for a broadcast). Where they do not: never
//! spin; yield; sleep after some yields, or at once while a stranger uses a core ([`stranger`]);
//! now and then the ranks that yield see to it that each core has as many of them ([`place`]).
//!
//! Invariant: no wake-up is lost. The sleeper announces itself, then makes every poster's earlier
//! messages visible (a barrier in all processes, or posters fence, see
//! [`ControlPage::wake_fence`]), then looks once more.

use std::hint::spin_loop;
use std::ops::Range;
use std::time::{Duration, Instant};

use towpath_base::config;
use towpath_base::control::{ControlPage, SegmentHead};
use towpath_base::sync::{Ordering, compiler_fence, fence};

use crate::{cgroup, cores, futex, membarrier};
use place::Place;

mod bell;
mod place;
mod policy;
mod stranger;
pub use bell::Bell;
pub use policy::Policy;

/// What can end a wait, beside the descriptors of a [`Bell`].
#[derive(Clone, Copy)]
pub enum Sources<'a> {
    /// Messages in shared memory only: sleeps on the futex word of the own control page.
    SharedMemory {
        /// The control page of the process that waits.
        own: &'a ControlPage,
        /// Head of its segment: an abort ends the wait.
        head: &'a SegmentHead,
    },
}

/// What a sleeper writes to its sleep word: whether it sleeps on that word or on its bell.
const ON_WORD: u32 = 1;
const ON_BELL: u32 = 2;

/// Longest time that a fitting process yields before it sleeps.
const YIELD_LIMIT: Duration = Duration::from_millis(1);
/// Yields before messages are looked at, where ranks share cores and one waits for something else:
/// see [`Waiter::pass`].
const TURNS: u32 = 4;
/// Time spun before yielding where ranks fit, unless the setting says otherwise.
const SPIN: Duration = Duration::from_micros(50);
/// A yield that took so long has let others run who wait too: it takes a third of a microsecond
/// where nobody wants the core, and a millisecond and more where somebody computes on it.
const TURN: Range<Duration> = Duration::from_micros(3)..Duration::from_micros(500);
/// So many yields in a row that nobody makes use of: the core is this process's own.
const ALONE: u32 = 32;
/// Empty polls between two looks at the clock while spinning.
const POLLS_PER_CLOCK: u32 = 64;
/// Empty polls without a pause instruction: a pause lengthens the latency of a message that is just
/// arriving.
const POLLS_WITHOUT_PAUSE: u32 = 4096;

/// The waiting state of one thread of a process: knows how long it has waited and what to do next.
#[derive(Debug)]
pub struct Waiter {
    local_ranks: usize,
    quota: usize,
    /// How many ranks had said where they may run when the policy was chosen.
    announced: u32,
    cores: usize,
    fits: bool,
    membarrier: bool,
    spin: Duration,
    yields_before_sleep: u32,
    slow_yield: Duration,
    /// So many yields lately that nobody made use of are missing until the core is this process's
    /// own again. While it is not, others run when it is given away, and give it back soon:
    /// processes of other hosts on the same machine, say (containers), which wait as this one does.
    /// What is waited for may need the core, so it is not spun on.
    shares_core: u32,
    polls: u32,
    yields: u32,
    began: Option<Instant>,
    sleeps: u64,
    /// No sleep lasts longer.
    longest_sleep: Option<Duration>,
    place: Place,
    bell: Option<Bell>,
}

impl Waiter {
    /// Policy for a host with so many ranks of this job. Announces where this rank may run and how
    /// posters must look at the sleep word, so it must be made once per process, before it first
    /// waits. While the other ranks start, the policy follows what they announce.
    pub fn new(local_ranks: usize, head: &SegmentHead, own: &ControlPage) -> Waiter {
        cores::announce(head, &cores::affinity());
        Waiter::with_quota(local_ranks, cgroup::processor_quota().unwrap_or(usize::MAX), head, own)
    }

    /// As [`Waiter::new`], for a test that chooses the number of cores; announces no mask.
    pub fn with_quota(local_ranks: usize, quota: usize, head: &SegmentHead, own: &ControlPage) -> Waiter {
        let is_registered = membarrier::register();
        if !is_registered {
            // Before the first post: whoever sleeps looks at it behind its fence.
            head.unregistered.fetch_add(1, Ordering::SeqCst);
        }
        let mut waiter = Waiter {
            local_ranks,
            quota,
            announced: 0,
            cores: 0,
            fits: false,
            membarrier: is_registered,
            spin: Duration::ZERO,
            yields_before_sleep: 0,
            slow_yield: Duration::ZERO,
            shares_core: 0,
            polls: 0,
            yields: 0,
            began: None,
            sleeps: 0,
            longest_sleep: None,
            place: Place::default(),
            bell: None,
        };
        demand_fences(head, own, true);
        waiter.choose(head, own);
        waiter
    }

    /// From now on descriptors end a sleep too, and posters ring the bell beside them.
    pub fn watch(&mut self, bell: Bell, own: &ControlPage) {
        bell.announce(own);
        self.bell = Some(bell);
    }

    /// Chooses the policy from what the ranks have announced.
    fn choose(&mut self, head: &SegmentHead, own: &ControlPage) {
        let (announced, mask) = cores::announced(head);
        let united = if announced == 0 { self.quota } else { cores::count(&mask) };
        self.announced = announced;
        self.cores = united.min(self.quota).max(1);
        self.fits = self.local_ranks <= self.cores;
        let per_core = self.local_ranks.div_ceil(self.cores) as u32;
        let spin = config::number("TOWPATH_SPIN_MICROSECONDS").map_or(SPIN, Duration::from_micros);
        self.spin = if self.fits { spin } else { Duration::ZERO };
        self.yields_before_sleep = 2 * per_core + 2;
        self.slow_yield = Duration::from_micros(1500) + Duration::from_micros(10) * per_core;
        head.allowed_cores.store(self.cores as u32, Ordering::Relaxed);
        self.membarrier &= head.unregistered.load(Ordering::SeqCst) == 0;
        let fence_needed = !self.barrier_before_sleep();
        if demand_fences(head, own, fence_needed) && fence_needed {
            // Whoever posted without a fence until now has shown its message when this returns.
            membarrier::global();
        }
    }

    /// True when this process asks for a barrier in all others before it sleeps; else posters
    /// fence. A barrier interrupts every core: where sleeping is frequent, a fence per message is
    /// cheaper.
    fn barrier_before_sleep(&self) -> bool {
        self.membarrier && self.fits
    }

    /// Cores that the ranks may use together, as far as they have said so.
    pub fn cores(&self) -> usize {
        self.cores
    }

    /// True when there are more ranks than cores: polling calls that find nothing should yield too.
    pub fn oversubscribed(&self) -> bool {
        !self.fits
    }

    /// How often this waiter has slept.
    pub fn sleeps(&self) -> u64 {
        self.sleeps
    }

    /// From now on no sleep lasts longer, or (`None`) sleeps last until somebody ends them.
    #[inline]
    pub fn limit_sleep(&mut self, longest: Option<Duration>) {
        self.longest_sleep = longest;
    }

    /// Something happened: the next wait begins anew.
    #[inline]
    pub fn reset(&mut self) {
        self.polls = 0;
        self.yields = 0;
        self.began = None;
    }

    /// To be called after a progress that found nothing; **may block**. Looks again with `recheck`
    /// (one more progress) between announcing its sleep and sleeping; true from `recheck` means
    /// that something happened.
    #[inline]
    pub fn idle(&mut self, sources: Sources<'_>, recheck: impl FnMut() -> bool) {
        self.polls += 1;
        if self.fits && !self.polls.is_multiple_of(POLLS_PER_CLOCK) && self.yields == 0 && self.shares_core == 0 {
            if self.polls > POLLS_WITHOUT_PAUSE {
                spin_loop();
            }
            return;
        }
        self.idle_slowly(sources, recheck);
    }

    #[cold]
    fn idle_slowly(&mut self, sources: Sources<'_>, recheck: impl FnMut() -> bool) {
        let Sources::SharedMemory { own, head } = sources;
        if head.affinities.load(Ordering::Relaxed) != self.announced {
            self.choose(head, own);
        }
        let tired = if self.fits {
            let now = Instant::now();
            let waited = now - *self.began.get_or_insert(now);
            if waited < self.spin && self.shares_core == 0 {
                return;
            }
            waited > YIELD_LIMIT
        } else {
            self.yields >= self.yields_before_sleep
        };
        if tired || stranger::is_about(head) || !self.give_core(head) {
            self.sleep(sources, recheck);
        }
    }

    /// Gives the core away once; false when a stranger had it.
    #[inline]
    fn give_core(&mut self, head: &SegmentHead) -> bool {
        let before = stranger::now();
        rustix::thread::sched_yield();
        self.yields += 1;
        if !self.fits {
            self.place.count_turn(head);
        }
        let took = stranger::since(before);
        let quick = took < self.slow_yield;
        self.shares_core = if TURN.contains(&took) { ALONE } else { self.shares_core.saturating_sub(1) };
        if !quick {
            // While ranks start, the start is what takes so long.
            stranger::announce(head, self.announced as usize >= self.local_ranks);
        }
        quick
    }

    /// Where ranks share cores: gives the core away a few times, looking at nothing but `ready` in
    /// between, and says whether it is. Whoever waits in a crowd is there to give the core away:
    /// what a turn touches beyond that costs more than the switch itself, because a switch empties
    /// the translation buffers. False at once where ranks fit or a stranger is about; then
    /// [`Waiter::idle`].
    #[inline]
    pub fn pass(&mut self, sources: Sources<'_>, ready: &mut dyn FnMut() -> bool) -> bool {
        let Sources::SharedMemory { head, .. } = sources;
        if self.fits || stranger::is_about(head) {
            return false;
        }
        for _ in 0..TURNS {
            let quick = self.give_core(head);
            if ready() {
                return true;
            }
            if !quick {
                return false;
            }
        }
        false
    }

    fn sleep(&mut self, sources: Sources<'_>, mut recheck: impl FnMut() -> bool) {
        let Sources::SharedMemory { own, head } = sources;
        head.sleepers.fetch_add(1, Ordering::SeqCst);
        own.sleep.store(if self.bell.is_some() { ON_BELL } else { ON_WORD }, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let reaches_all = || head.unregistered.load(Ordering::SeqCst) == 0 && membarrier::global();
        let announced = !self.barrier_before_sleep() || reaches_all();
        if !announced {
            // Forbidden since the start (a sandbox was entered), or a rank has come that no barrier
            // reaches: from now on posters fence, and this once stay awake.
            self.membarrier = false;
            demand_fences(head, own, true);
        } else if head.aborting.load(Ordering::Acquire) == 0 && !recheck() {
            self.sleeps += 1;
            self.place.leave(head);
            match &self.bell {
                Some(bell) => bell.sleep(),
                None => futex::wait(&own.sleep, ON_WORD, self.longest_sleep),
            }
        }
        own.sleep.store(0, Ordering::Relaxed);
        head.sleepers.fetch_sub(1, Ordering::Relaxed);
        // Whoever was woken finds its message at the next look; if not, it has had its sleep and
        // may yield again.
        self.reset();
    }
}

/// Says whether posters must fence for the owner of a page; true when that is new.
fn demand_fences(head: &SegmentHead, own: &ControlPage, demand: bool) -> bool {
    let changed = own.wake_fence.swap(u32::from(demand), Ordering::SeqCst) != u32::from(demand);
    if changed && demand {
        head.wake_fences.fetch_add(1, Ordering::SeqCst);
    } else if changed {
        head.wake_fences.fetch_sub(1, Ordering::SeqCst);
    }
    changed
}

/// To be called by a poster for many readers after it has written: true when some process of the
/// host sleeps or is about to, so that the readers' pages must be looked at.
#[inline]
pub fn somebody_sleeps(head: &SegmentHead) -> bool {
    compiler_fence(Ordering::SeqCst);
    if head.wake_fences.load(Ordering::Relaxed) != 0 {
        fence(Ordering::SeqCst);
    }
    head.sleepers.load(Ordering::Relaxed) != 0
}

/// To be called by a poster after each message it has written for the owner of `page`: wakes the
/// owner if it sleeps.
#[inline]
pub fn notify(page: &ControlPage) {
    compiler_fence(Ordering::SeqCst);
    if page.wake_fence.load(Ordering::Relaxed) != 0 {
        fence(Ordering::SeqCst);
    }
    if page.sleep.load(Ordering::Relaxed) != 0 {
        wake(page);
    }
}

/// Wakes the owner of `page` if it sleeps or is about to.
#[cold]
pub fn wake(page: &ControlPage) {
    match page.sleep.swap(0, Ordering::AcqRel) {
        0 => {}
        ON_BELL => bell::ring(page),
        _ => {
            futex::wake(&page.sleep, 1);
        }
    }
}

/// Ends every wait of the job on this host: sets the abort word, then wakes the owners of all
/// `pages`.
pub fn abort<'a>(head: &SegmentHead, pages: impl Iterator<Item = &'a ControlPage>) {
    head.aborting.store(1, Ordering::Release);
    fence(Ordering::SeqCst);
    for page in pages {
        if page.sleep.swap(0, Ordering::AcqRel) == ON_BELL {
            bell::ring(page);
        }
        futex::wake(&page.sleep, u32::MAX >> 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Mapping, create_file};
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    use std::sync::Arc;
    use towpath_base::control::PAGE;
    use towpath_base::sync::AtomicU32;

    struct Pages(Mapping);

    impl Pages {
        fn new() -> Arc<Pages> {
            Arc::new(Pages(Mapping::new(create_file("towpath-test").unwrap(), 2 * PAGE).unwrap()))
        }
        fn head(&self) -> &SegmentHead {
            // SAFETY: the mapping is zeroed, large and aligned enough, and lives as long as self.
            unsafe { &*self.0.pointer().cast() }
        }
        fn own(&self) -> &ControlPage {
            // SAFETY: as above.
            unsafe { &*self.0.pointer().add(PAGE).cast() }
        }
        fn sources(&self) -> Sources<'_> {
            Sources::SharedMemory { own: self.own(), head: self.head() }
        }
    }

    /// Waits until `word` is not zero.
    fn await_word(waiter: &mut Waiter, pages: &Pages, word: &AtomicU32) {
        waiter.reset();
        while word.load(Ordering::Acquire) == 0 && pages.head().aborting.load(Ordering::Acquire) == 0 {
            waiter.idle(pages.sources(), || word.load(Ordering::Acquire) != 0);
        }
    }

    #[test]
    fn posters_fence_where_a_barrier_does_not_reach_all() {
        let pages = Pages::new();
        let mut waiter = Waiter::with_quota(1, 2, pages.head(), pages.own());
        let registered = pages.head().unregistered.load(Ordering::Relaxed) == 0;
        assert_eq!(pages.own().wake_fence.load(Ordering::Relaxed), u32::from(!registered));
        // A rank starts that was refused. The waiter, which has chosen its policy already, learns
        // that before it sleeps.
        pages.head().unregistered.store(1, Ordering::SeqCst);
        waiter.sleep(pages.sources(), || panic!("it must stay awake this once"));
        assert_eq!(pages.own().wake_fence.load(Ordering::Relaxed), 1);
        assert_eq!(pages.head().wake_fences.load(Ordering::Relaxed), 1);
        waiter.choose(pages.head(), pages.own());
        assert_eq!(pages.own().wake_fence.load(Ordering::Relaxed), 1);
        let later = Pages::new();
        later.head().unregistered.store(1, Ordering::SeqCst);
        Waiter::with_quota(1, 2, later.head(), later.own());
        assert_eq!(later.own().wake_fence.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn no_wake_up_is_lost_between_two_threads() {
        for (local_ranks, with_bell) in [(1, false), (1000, false), (1, true), (1000, true)] {
            let pages = Pages::new();
            let (ping, pong) = (AtomicU32::new(0), AtomicU32::new(0));
            let mut waiter = Waiter::with_quota(local_ranks, 2, pages.head(), pages.own());
            let (reader, _writer) = std::io::pipe().unwrap();
            if with_bell {
                let bell = Bell::beside(&[std::os::fd::AsFd::as_fd(&reader)]).unwrap();
                waiter.watch(bell, pages.own());
            }
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for round in 0..2000u32 {
                        if round % 500 == 0 {
                            std::thread::sleep(Duration::from_millis(3));
                        }
                        ping.store(1, Ordering::Release);
                        notify(pages.own());
                        while pong.swap(0, Ordering::AcqRel) == 0 {
                            std::thread::yield_now();
                        }
                    }
                });
                for _ in 0..2000 {
                    await_word(&mut waiter, &pages, &ping);
                    ping.store(0, Ordering::Relaxed);
                    pong.store(1, Ordering::Release);
                }
            });
            assert!(waiter.sleeps() > 0, "the pauses of the sender must have put the waiter to sleep");
        }
    }

    #[test]
    fn the_policy_follows_the_ranks_that_announce_their_cores() {
        let pages = Pages::new();
        let mask = |cpu: usize| {
            let mut mask = [0; cores::MASK_WORDS];
            mask[cpu / 64] = 1 << (cpu % 64);
            mask
        };
        cores::announce(pages.head(), &mask(0));
        let mut waiter = Waiter::with_quota(2, 8, pages.head(), pages.own());
        assert!(waiter.oversubscribed(), "one core is known, for two ranks");
        assert_eq!(pages.own().wake_fence.load(Ordering::Relaxed), 1);
        cores::announce(pages.head(), &mask(70));
        waiter.idle(pages.sources(), || true);
        assert!(!waiter.oversubscribed() && waiter.cores() == 2);
    }

    #[test]
    fn ranks_of_other_hosts_on_the_same_core_are_not_kept_from_it_by_spinning() {
        let pages = [Pages::new(), Pages::new()];
        let (turns, noticed) = ([AtomicU32::new(0), AtomicU32::new(0)], AtomicU32::new(0));
        let begin = Instant::now();
        let is_over = || noticed.load(Ordering::Relaxed) == 2 || begin.elapsed() > Duration::from_secs(20);
        let play = |own: usize| {
            let mut core = CpuSet::new();
            core.set(
                sched_getaffinity(None)
                    .map_or(0, |allowed| (0..CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).unwrap_or(0)),
            );
            sched_setaffinity(None, &core).unwrap();
            let mut waiter = Waiter::with_quota(1, 2, pages[own].head(), pages[own].own());
            let mut has_noticed = false;
            for turn in 1.. {
                turns[own].store(turn, Ordering::Release);
                waiter.reset();
                while turns[1 - own].load(Ordering::Acquire) < turn {
                    if is_over() {
                        return;
                    }
                    waiter.idle(pages[own].sources(), || true);
                }
                if waiter.shares_core > 0 && !std::mem::replace(&mut has_noticed, true) {
                    noticed.fetch_add(1, Ordering::Relaxed);
                }
            }
        };
        std::thread::scope(|scope| {
            [0, 1].map(|own| scope.spawn(move || play(own))).map(|thread| thread.join().unwrap())
        });
        assert_eq!(noticed.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn an_abort_ends_the_sleep() {
        let pages = Pages::new();
        let never = AtomicU32::new(0);
        let mut waiter = Waiter::with_quota(100, 1, pages.head(), pages.own());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(5));
                abort(pages.head(), std::iter::once(pages.own()));
            });
            await_word(&mut waiter, &pages, &never);
        });
    }
}
