//! Which of several waiting threads polls for the process, and how the others sleep and are woken.
//!
//! One thread holds the poller token. A thread that finds it taken sleeps until the holder
//! announces a change or releases the token. Neither is missed: a sleeper registers itself before
//! its last check, and a thread that announces or releases does so before it checks for sleepers.

#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, Ordering, fence};
#[cfg(loom)]
use loom::sync::{Condvar, Mutex};
#[cfg(not(loom))]
use std::sync::{Condvar, Mutex};
#[cfg(not(loom))]
use towpath_base::sync::{AtomicU32, Ordering};

/// The poller token, and those who wait for it.
#[derive(Default)]
pub(super) struct Handover {
    /// 1 while a thread polls, and may sleep in the kernel, for the process.
    token: AtomicU32,
    sleepers: AtomicU32,
    /// Number of announcements that found sleepers.
    announced: Mutex<u64>,
    changed: Condvar,
}

impl Handover {
    /// Takes the token; false if another thread has it.
    #[inline]
    pub(super) fn try_take(&self) -> bool {
        self.token.compare_exchange(0, 1, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    /// Releases the token. A thread that found it taken sleeps until it is woken, so it is woken
    /// now: it may poll itself.
    pub(super) fn release(&self) {
        self.token.store(0, Ordering::SeqCst);
        self.announce();
    }

    /// Wakes the sleepers after something changed.
    pub(super) fn announce(&self) {
        in_total_order();
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            *self.announced.lock().unwrap() += 1;
            self.changed.notify_all();
        }
    }

    /// Looks for a result, and sleeps until something changes if there is none. `ready` must look
    /// under the lock under which others change what it looks at.
    pub(super) fn sleep<R>(&self, ready: impl FnOnce() -> Option<R>) -> Option<R> {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let mut announced = self.announced.lock().unwrap();
        let result = ready();
        in_total_order();
        // If the holder of the token has released it since this thread tried to take it, no thread
        // polls: do not sleep.
        if result.is_none() && self.token.load(Ordering::SeqCst) != 0 {
            let before = *announced;
            while *announced == before {
                announced = self.changed.wait(announced).unwrap();
            }
        }
        drop(announced);
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
        result
    }
}

/// A fence under loom, where sequentially consistent accesses are weaker than in the language;
/// otherwise nothing.
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

    /// What the threads wait for, and what polling brings, one piece a round, to the other thread
    /// first.
    struct Shared {
        handover: Handover,
        done: Mutex<[bool; 2]>,
    }

    impl Shared {
        fn new() -> Arc<Shared> {
            Arc::new(Shared { handover: Handover::default(), done: Mutex::new([false; 2]) })
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

        /// The waiting loop of `Worker::wait_for`.
        fn wait(&self, me: usize, slept: &Reached) {
            loop {
                if self.is_done(me).is_some() {
                    return;
                }
                if self.handover.try_take() {
                    while self.is_done(me).is_none() {
                        self.poll(me);
                    }
                    return self.handover.release();
                }
                let found = self.handover.sleep(|| self.is_done(me));
                slept.mark();
                if found.is_some() {
                    return;
                }
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
}
