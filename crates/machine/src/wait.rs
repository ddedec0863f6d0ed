//! How a process waits: it spins, yields or sleeps until a message wakes it.
//!
//! Policy, with the measurements behind it (48 us of spinning makes a barrier on an oversubscribed
//! host 11-36 times slower than yielding; a futex wake across idle virtual cores costs 23 us):
//!
//! * Ranks fit on the allowed cores: spin, then yield for up to a millisecond, then sleep. Do not
//!   spin while yields show that other waiting processes take turns on the core.
//! * Oversubscribed: never spin. Yield, and sleep after some yields, or at once under external load
//!   ([`external_load`]). From time to time, yielding ranks balance themselves over the cores
//!   ([`balance`]).
//! * Ranks fit, but ranks of other hosts on the same machine (containers) take turns on the core,
//!   and polls cost system calls: wait as if oversubscribed. Each host believes that it has all
//!   cores, and each turn in which a rank polls its sockets in vain is taken from the awaited rank
//!   (two hosts on one core: 8 instead of 35 us for a message). Several ranks of a host yield for
//!   up to a millisecond nevertheless: they also wait for each other. Processes that compute do not
//!   count here: the awaited rank may run on another core, and whoever gives up a core to them gets
//!   it back late.
//! * With ranks on other hosts, a wait yields fewer times, down to none, after sleeps of more than
//!   300 us, and more times again after shorter ones. And where others need the core, a wait for
//!   ranks of this host alone first sleeps on the futex word: a bell costs system calls of both
//!   sides. 8 hosts of 8 ranks on two cores, a barrier: 110 instead of 220 switches, and 0.75 of
//!   the processor time.
//!
//! Invariant: no wake-up is lost, see [`sleep`].

use std::hint::spin_loop;
use std::ops::Range;
use std::time::{Duration, Instant};

use towpath_base::config;
use towpath_base::control::{ControlPage, SegmentHead};
use towpath_base::sync::Ordering;

use crate::{cgroup, cores, futex, membarrier};
use balance::CoreBalancer;
use sleep::{HostWords, ON_BELL, ON_WORD, Sleeper, SleeperWords};

mod balance;
mod bell;
mod external_load;
pub mod handover;
#[cfg(loom)]
pub mod model;
mod policy;
pub mod sleep;
#[cfg(test)]
mod test_pages;
#[cfg(test)]
mod tests;
pub mod watchdog;
pub use bell::Bell;
pub use policy::Policy;

/// What can end a wait, in addition to the descriptors of a [`Bell`].
#[derive(Clone, Copy)]
pub enum Sources<'a> {
    /// Messages in shared memory only: sleeps on the futex word of the waiter's own control page.
    SharedMemory {
        /// The control page of the waiting process.
        own: &'a ControlPage,
        /// Head of its segment; an abort ends the wait.
        head: &'a SegmentHead,
    },
}

/// How long a process that is not oversubscribed yields before it sleeps.
const YIELD_LIMIT: Duration = Duration::from_millis(1);
/// Number of times that an oversubscribed rank yields between two polls for messages, while it
/// waits for something else: see [`Waiter::pass`].
const TURNS: u32 = 4;
/// Default time to spin before yielding, if ranks fit on the cores.
const SPIN: Duration = Duration::from_micros(50);
/// Duration of a yield that let other waiting processes run. A yield takes a third of a microsecond
/// if nothing else wants the core, and a millisecond or more if another process computes on it.
const TURN: Range<Duration> = Duration::from_micros(3)..Duration::from_micros(500);
/// After this many consecutive yields that let nothing else run, the core counts as this process's
/// own.
const ALONE: u32 = 32;
/// The same if polls cost system calls: most waits yield a few times only then.
const ALONE_AMONG_HOSTS: u32 = 256;
/// A sleep that yields would not have spared.
const LONG_SLEEP: Duration = Duration::from_micros(300);
/// Longest sleep of a process that leaves messages from other hosts unread. Senders retransmit
/// only after more than that.
const WITHIN_HOST: Duration = Duration::from_millis(3);
/// Empty polls between two reads of the clock while spinning.
const POLLS_PER_CLOCK: u32 = 64;
/// Empty polls without a pause instruction, which would add latency to a message that is just
/// arriving.
const POLLS_WITHOUT_PAUSE: u32 = 4096;

/// The waiting state of one thread: how long it has waited, and what to do next.
#[derive(Debug)]
pub struct Waiter {
    local_ranks: usize,
    quota: usize,
    /// Number of ranks that had announced their affinity when the policy was chosen.
    announced: u32,
    cores: usize,
    fits: bool,
    /// True if a wait gives its core away soon: there are more ranks than cores, or ranks of other
    /// hosts were seen on the core.
    crowded: bool,
    spin: Duration,
    yields_before_sleep: u32,
    /// Yields before the next sleep: fewer than `yields_before_sleep` after long sleeps.
    patience: u32,
    slow_yield: Duration,
    /// The number of yields that must still let nothing else run before the core counts as this
    /// process's own again. While it is not 0, other processes run when this one yields and soon
    /// yield back: for example, processes of other hosts on the same machine (containers), which
    /// wait in the same way. This process does not spin meanwhile, because the process that it
    /// waits for may need the core.
    shares_core: u32,
    polls: u32,
    yields: u32,
    began: Option<Instant>,
    sleeps: u64,
    /// Upper limit of one sleep.
    longest_sleep: Option<Duration>,
    /// True if the next sleep may leave messages from other hosts unread.
    within_host: bool,
    sleeper: Sleeper,
    balancer: CoreBalancer,
    bell: Option<Bell>,
    /// True if a poll for messages from other hosts costs system calls.
    costly: bool,
}

impl Waiter {
    /// Creates the policy for a host with `local_ranks` ranks of this job. Announces the affinity
    /// of this rank and whether posters must fence before they read its sleep word, so call it
    /// once per process, before the first wait. While other ranks start, the policy follows what
    /// they announce.
    pub fn new(local_ranks: usize, head: &SegmentHead, own: &ControlPage) -> Waiter {
        cores::announce(head, &cores::affinity());
        Waiter::with_quota(local_ranks, cgroup::processor_quota().unwrap_or(usize::MAX), head, own)
    }

    /// Like [`Waiter::new`], for a test that chooses the number of cores; announces no mask.
    pub fn with_quota(
        local_ranks: usize,
        quota: usize,
        head: &SegmentHead,
        own: &ControlPage,
    ) -> Waiter {
        let mut waiter = Waiter {
            local_ranks,
            quota,
            announced: 0,
            cores: 0,
            fits: false,
            crowded: true,
            spin: Duration::ZERO,
            yields_before_sleep: 0,
            patience: 0,
            slow_yield: Duration::ZERO,
            shares_core: 0,
            polls: 0,
            yields: 0,
            began: None,
            sleeps: 0,
            longest_sleep: None,
            within_host: false,
            sleeper: Sleeper::new(&own.into(), &head.into(), membarrier::register()),
            balancer: CoreBalancer::default(),
            bell: None,
            costly: false,
        };
        waiter.choose(head, own);
        waiter
    }

    /// Makes descriptors end a sleep too; posters then ring the bell instead of waking the futex.
    /// `costly`: a poll for messages from other hosts costs system calls.
    pub fn watch(&mut self, bell: Bell, costly: bool, own: &ControlPage) {
        bell.announce(own);
        self.bell = Some(bell);
        self.costly = costly;
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
        self.patience = self.yields_before_sleep;
        self.slow_yield = Duration::from_micros(1500) + Duration::from_micros(10) * per_core;
        self.crowded = self.is_crowded();
        self.sleeper.choose(&own.into(), &head.into(), !self.crowded);
    }

    /// What [`Waiter::crowded`] should be. On a job's only host the processes that take turns are
    /// strangers, and where polls are cheap, a sleep costs more than they do.
    fn is_crowded(&self) -> bool {
        !self.fits || (self.costly && self.shares_core > 0)
    }

    /// True if a wait sleeps after a few yields. Several ranks that fit on the cores yield for
    /// longer, because a message from one to the other takes less time than a wake-up.
    fn sleeps_soon(&self) -> bool {
        self.crowded && !(self.fits && self.local_ranks > 1)
    }

    /// Cores that the ranks may use together, as far as they have announced their affinity.
    pub fn cores(&self) -> usize {
        self.cores
    }

    /// True if there are more ranks than cores, or ranks of other hosts need the core. A call
    /// should then poll once only before it waits, and yield if it does not wait.
    pub fn crowded(&self) -> bool {
        self.crowded
    }

    /// How often this waiter has slept.
    pub fn sleeps(&self) -> u64 {
        self.sleeps
    }

    /// Limits every later sleep without a bell to `longest`; `None` removes the limit.
    #[inline]
    pub fn limit_sleep(&mut self, longest: Option<Duration>) {
        self.longest_sleep = longest;
    }

    /// True if this process has messages from other hosts to read.
    pub fn has_bell(&self) -> bool {
        self.bell.is_some()
    }

    /// Whether the next sleep may leave messages from other hosts unread for a few milliseconds,
    /// because what the process waits for comes from ranks of its host.
    #[inline]
    pub fn wait_within_host(&mut self, within_host: bool) {
        self.within_host = within_host;
    }

    /// Starts a new wait, after progress was made.
    #[inline]
    pub fn reset(&mut self) {
        self.polls = 0;
        self.yields = 0;
        self.began = None;
    }

    /// Waits a little; call it after a progress call that found nothing. **May block.** Before it
    /// sleeps, it announces the sleep and calls `recheck` (one more progress call); if that returns
    /// true, something has happened and it does not sleep.
    #[inline]
    pub fn idle(&mut self, sources: Sources<'_>, recheck: impl FnMut() -> bool) {
        self.polls += 1;
        if !self.crowded
            && !self.polls.is_multiple_of(POLLS_PER_CLOCK)
            && self.yields == 0
            && self.shares_core == 0
        {
            if self.polls > POLLS_WITHOUT_PAUSE {
                spin_loop();
            }
            return;
        }
        self.idle_slowly(sources, recheck);
    }

    /// Gives other processes a turn, after a poll of a call that does not wait. To be called if the
    /// process is [`Waiter::crowded`].
    #[cold]
    pub fn give_way(&mut self, sources: Sources<'_>) {
        let Sources::SharedMemory { own, head } = sources;
        if !self.fits {
            // Ranks of the job that compute are no external load.
            return rustix::thread::sched_yield();
        }
        self.give_core(head);
        self.choose_anew(head, own);
        self.reset();
    }

    /// Chooses the policy anew if what it follows from has changed.
    fn choose_anew(&mut self, head: &SegmentHead, own: &ControlPage) {
        let announced = head.affinities.load(Ordering::Relaxed);
        if announced != self.announced || self.is_crowded() != self.crowded {
            self.choose(head, own);
        }
    }

    #[cold]
    fn idle_slowly(&mut self, sources: Sources<'_>, recheck: impl FnMut() -> bool) {
        let Sources::SharedMemory { own, head } = sources;
        self.choose_anew(head, own);
        let tired = if !self.sleeps_soon() {
            let now = Instant::now();
            let waited = now - *self.began.get_or_insert(now);
            if waited < self.spin && self.shares_core == 0 {
                return;
            }
            waited > YIELD_LIMIT
        } else {
            self.yields >= self.patience
        };
        if tired || external_load::is_present(head) || !self.give_core(head) {
            self.sleep(sources, recheck);
        }
    }

    /// Yields once; returns false if external load had the core meanwhile.
    #[inline]
    fn give_core(&mut self, head: &SegmentHead) -> bool {
        let before = external_load::now();
        rustix::thread::sched_yield();
        self.yields += 1;
        if !self.fits {
            self.balancer.count_turn(head);
        }
        self.learn(head, external_load::since(before))
    }

    /// Learns from a yield that took this long; returns false if external load had the core
    /// meanwhile.
    #[inline]
    fn learn(&mut self, head: &SegmentHead, took: Duration) -> bool {
        let alone = if self.costly { ALONE_AMONG_HOSTS } else { ALONE };
        self.shares_core =
            if TURN.contains(&took) { alone } else { self.shares_core.saturating_sub(1) };
        let quick = took < self.slow_yield;
        if !quick {
            // While ranks start, a slow yield is caused by the start itself.
            external_load::announce(head, self.announced as usize >= self.local_ranks);
        }
        quick
    }

    /// Yields a few times if others need the core, checking only `ready` in between; returns
    /// whether it is ready. A waiting rank should yield cheaply: the memory that it touches
    /// per turn costs more than the context switch itself, because a switch flushes the TLB.
    /// Returns false at once if nobody else needs the core or under external load; call
    /// [`Waiter::idle`] then.
    #[inline]
    pub fn pass(&mut self, sources: Sources<'_>, ready: &mut dyn FnMut() -> bool) -> bool {
        let Sources::SharedMemory { head, .. } = sources;
        if !self.crowded || external_load::is_present(head) {
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

    fn sleep(&mut self, sources: Sources<'_>, recheck: impl FnMut() -> bool) {
        let Sources::SharedMemory { own, head } = sources;
        let on_word = std::mem::take(&mut self.within_host) || self.bell.is_none();
        let place = if on_word { ON_WORD } else { ON_BELL };
        self.sleeper.sleep(&own.into(), &head.into(), place, recheck, |limit| {
            self.sleeps += 1;
            self.balancer.leave(head);
            match &self.bell {
                Some(bell) => {
                    let before = external_load::now();
                    match on_word {
                        true => futex::wait(&own.sleep, ON_WORD, Some(WITHIN_HOST)),
                        false => bell.sleep(),
                    }
                    let full = self.yields_before_sleep;
                    self.patience = patience(self.patience, full, external_load::since(before));
                }
                None => {
                    let longest = [limit, self.longest_sleep].into_iter().flatten().min();
                    futex::wait(&own.sleep, ON_WORD, longest);
                }
            }
        });
        // A rank that was woken finds its message at the next poll. Any other one starts to yield
        // again.
        self.reset();
    }
}

/// Number of yields before the next sleep, after one that took this long, of a process with ranks
/// on other hosts. A message from another host often takes longer than all yields, which then only
/// delay whoever sends it.
fn patience(before: u32, full: u32, slept: Duration) -> u32 {
    if slept > LONG_SLEEP { before / 2 } else { 2 * before.max(1) }.min(full)
}

/// Wakes the owner of `page` if it sleeps. A poster must call it after each message that it has
/// written for that owner.
#[inline]
pub fn notify(page: &ControlPage) {
    if SleeperWords::from(page).must_be_woken() {
        wake(page);
    }
}

/// Wakes the owner of `page` if it sleeps or is about to.
#[cold]
pub fn wake(page: &ControlPage) {
    SleeperWords::from(page).wake(|| bell::ring(page));
}

/// Ends every wait of the job on this host: sets the abort word, then wakes the owners of all
/// `pages`.
pub fn abort<'a>(head: &SegmentHead, pages: impl Iterator<Item = &'a ControlPage>) {
    HostWords::from(head).abort();
    pages.for_each(|page| SleeperWords::from(page).wake_all(|| bell::ring(page)));
}
