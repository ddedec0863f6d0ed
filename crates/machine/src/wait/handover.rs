//! The poller token: chooses the waiting thread that polls for the process, puts the others to
//! sleep and wakes them.
//!
//! One thread holds the poller token. A thread that finds it taken sleeps until the holder
//! announces a change or releases the token. Neither is missed: a sleeper registers itself before
//! its last check, and a thread that announces or releases does so before it checks for sleepers.
//!
//! A helper thread, which calls no MPI function, polls only while no thread of the program wants
//! the token: a thread registers that it wants the token before it sleeps, and the helper checks
//! for such threads before it sleeps.

#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, Ordering, fence};
#[cfg(loom)]
use loom::sync::{Condvar, Mutex};
#[cfg(not(loom))]
use std::sync::{Condvar, Mutex};
#[cfg(not(loom))]
use towpath_base::sync::{AtomicU32, Ordering};

/// Values of the token: no thread polls; a thread of the program does; the helper does.
const FREE: u32 = 0;
const TAKEN: u32 = 1;
const WITH_HELPER: u32 = 2;

/// The poller token, and the threads that wait for it.
#[derive(Debug, Default)]
pub struct Handover {
    /// Not [`FREE`] while a thread polls, and may sleep in the kernel, for the process.
    token: AtomicU32,
    sleepers: AtomicU32,
    /// Number of announcements that found sleepers.
    announced: Mutex<u64>,
    changed: Condvar,
    /// Threads of the program that want the token.
    wanted: AtomicU32,
    /// 1 while the helper waits for the token.
    helper_waits: AtomicU32,
    /// 1 once the helper must end.
    ended: AtomicU32,
    unwanted: Condvar,
}

impl Handover {
    /// Takes the token; false if another thread has it.
    #[inline]
    pub fn try_take(&self) -> bool {
        self.try_take_as(TAKEN)
    }

    #[inline]
    fn try_take_as(&self, holder: u32) -> bool {
        self.token.compare_exchange(FREE, holder, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    /// Releases the token, and wakes the threads that found it taken so that one of them can poll.
    #[inline]
    pub fn release(&self) {
        self.token.store(FREE, Ordering::SeqCst);
        self.announce();
        self.tell_helper();
    }

    /// Wakes the sleepers after something changed.
    #[inline]
    pub fn announce(&self) {
        in_total_order();
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            *self.announced.lock().unwrap() += 1;
            self.changed.notify_all();
        }
    }

    /// Calls `ready`, and sleeps until something changes if it finds nothing. `ready` must check
    /// its condition under the lock under which other threads change it.
    pub fn sleep<R>(&self, ready: impl FnOnce() -> Option<R>) -> Option<R> {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let mut announced = self.announced.lock().unwrap();
        let result = ready();
        in_total_order();
        // If the holder of the token has released it since this thread tried to take it, no thread
        // polls: do not sleep.
        if result.is_none() && self.token.load(Ordering::SeqCst) != FREE {
            let before = *announced;
            while *announced == before {
                announced = self.changed.wait(announced).unwrap();
            }
        }
        drop(announced);
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
        result
    }

    /// Registers a thread that wants the token, until the guard is dropped. The helper does not
    /// take the token meanwhile. If it has it and sleeps in the kernel, it must be woken.
    pub fn want(&self) -> Wanted<'_> {
        self.wanted.fetch_add(1, Ordering::SeqCst);
        in_total_order();
        Wanted(self)
    }

    /// True while the helper has the token.
    pub fn is_with_helper(&self) -> bool {
        self.token.load(Ordering::SeqCst) == WITH_HELPER
    }

    /// Waits until no other thread has the token or wants it, and takes it for the helper. False
    /// once the helper must end.
    pub fn take_for_helper(&self) -> bool {
        let mut announced = self.announced.lock().unwrap();
        self.helper_waits.store(1, Ordering::SeqCst);
        let taken = loop {
            in_total_order();
            if self.ended.load(Ordering::SeqCst) != 0 {
                break false;
            }
            if self.wanted.load(Ordering::SeqCst) == 0 && self.try_take_as(WITH_HELPER) {
                break true;
            }
            announced = self.unwanted.wait(announced).unwrap();
        };
        self.helper_waits.store(0, Ordering::SeqCst);
        taken
    }

    /// True if the helper must release the token.
    #[inline]
    pub fn must_yield(&self) -> bool {
        in_total_order();
        self.wanted.load(Ordering::SeqCst) > 0 || self.ended.load(Ordering::SeqCst) != 0
    }

    /// Ends the helper. If it has the token and sleeps in the kernel, it must be woken.
    pub fn end_helper(&self) {
        self.ended.store(1, Ordering::SeqCst);
        self.wake_helper();
    }

    /// Wakes the helper if it waits and no thread wants the token.
    fn tell_helper(&self) {
        in_total_order();
        if self.helper_waits.load(Ordering::SeqCst) != 0 && self.wanted.load(Ordering::SeqCst) == 0
        {
            self.wake_helper();
        }
    }

    /// Wakes the helper if it waits. The lock prevents a lost wake-up: once it is free, the helper
    /// either has not checked yet and will see the change, or sleeps and receives the notification.
    fn wake_helper(&self) {
        drop(self.announced.lock().unwrap());
        self.unwanted.notify_one();
    }
}

/// A thread that wants the token, or has it and wanted it before.
#[derive(Debug)]
pub struct Wanted<'a>(&'a Handover);

impl Drop for Wanted<'_> {
    fn drop(&mut self) {
        self.0.wanted.fetch_sub(1, Ordering::SeqCst);
        self.0.tell_helper();
    }
}

/// A fence under loom, which models sequentially consistent accesses as weaker than the language
/// defines them; otherwise nothing.
#[inline(always)]
fn in_total_order() {
    #[cfg(loom)]
    fence(Ordering::SeqCst);
}

#[cfg(all(test, loom))]
mod model {
    use loom::sync::Arc;
    use towpath_base::model::{Reached, model};

    use super::*;

    /// The results that the threads wait for. Each round of polling delivers one, that of the other
    /// thread first.
    struct Shared {
        handover: Handover,
        done: Mutex<[bool; 2]>,
        /// True if the helper was woken from its sleep in the kernel.
        rung: Mutex<bool>,
        woken: Condvar,
        /// True while the helper has the token.
        helps: Mutex<bool>,
        helped: Condvar,
    }

    impl Shared {
        fn new() -> Arc<Shared> {
            Arc::new(Shared {
                handover: Handover::default(),
                done: Mutex::new([false; 2]),
                rung: Mutex::new(false),
                woken: Condvar::new(),
                helps: Mutex::new(false),
                helped: Condvar::new(),
            })
        }

        fn is_done(&self, me: usize) -> Option<()> {
            self.done.lock().unwrap()[me].then_some(())
        }

        fn poll(&self, me: usize) {
            let mut done = self.done.lock().unwrap();
            let next = if done[1 - me] { me } else { 1 - me };
            done[next] = true;
            drop(done);
            self.handover.announce();
        }

        /// False if another thread has the token.
        fn poll_until_done(&self, me: usize) -> bool {
            let taken = self.handover.try_take();
            if taken {
                while self.is_done(me).is_none() {
                    self.poll(me);
                }
                self.handover.release();
            }
            taken
        }

        /// The waiting loop of a thread of the program.
        fn wait(&self, me: usize, slept: &Reached) {
            if self.is_done(me).is_some() || self.poll_until_done(me) {
                return;
            }
            let _wanted = self.handover.want();
            if self.handover.is_with_helper() {
                self.ring();
            }
            loop {
                let found = self.handover.sleep(|| self.is_done(me)).or_else(|| self.is_done(me));
                slept.mark();
                if found.is_some() || self.poll_until_done(me) {
                    return;
                }
            }
        }

        /// `Worker::wake_poller`.
        fn ring(&self) {
            *self.rung.lock().unwrap() = true;
            self.woken.notify_one();
        }

        /// `Worker::serve`, for polls that find nothing. Like `Waiter::idle`, it checks once more
        /// whether it must yield after it has announced its sleep.
        fn serve(&self) {
            while self.handover.take_for_helper() {
                self.set_helps(true);
                while !self.handover.must_yield() {
                    let mut rung = self.rung.lock().unwrap();
                    while !*rung && !self.handover.must_yield() {
                        rung = self.woken.wait(rung).unwrap();
                    }
                    *rung = false;
                }
                self.set_helps(false);
                self.handover.release();
            }
        }

        fn set_helps(&self, helps: bool) {
            *self.helps.lock().unwrap() = helps;
            self.helped.notify_one();
        }

        fn wait_for_helper(&self) {
            let mut helps = self.helps.lock().unwrap();
            while !*helps {
                helps = self.helped.wait(helps).unwrap();
            }
        }
    }

    #[test]
    fn model_of_two_threads_that_wait() {
        let slept = Reached::default();
        let in_model = slept.clone();
        model(move || {
            let shared = Shared::new();
            let (other, their_slept) = (shared.clone(), in_model.clone());
            let thread = loom::thread::spawn(move || other.wait(1, &their_slept));
            shared.wait(0, &in_model);
            thread.join().unwrap();
        });
        slept.assert("a thread that sleeps");
    }

    /// The holder of the token leaves with its own result; the other one must take over.
    #[test]
    fn model_of_a_thread_that_takes_over() {
        model(|| {
            let shared = Shared::new();
            let other = shared.clone();
            shared.done.lock().unwrap()[0] = true;
            let thread = loom::thread::spawn(move || other.wait(1, &Reached::default()));
            if shared.handover.try_take() {
                shared.handover.release();
            }
            thread.join().unwrap();
        });
    }

    /// The helper sleeps in the kernel and gives up the token, then takes it back, then ends.
    #[test]
    fn model_of_a_helper() {
        let slept = Reached::default();
        let in_model = slept.clone();
        model(move || {
            let shared = Shared::new();
            let helper = shared.clone();
            let thread = loom::thread::spawn(move || helper.serve());
            shared.wait(0, &in_model);
            shared.wait_for_helper();
            shared.handover.end_helper();
            shared.ring();
            thread.join().unwrap();
        });
        slept.assert("a thread that waits until the helper gives up the token");
    }
}
