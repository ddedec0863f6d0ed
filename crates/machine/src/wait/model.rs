//! The sleep protocol under a model checker, and what the models of its users need (posting to a
//! board): the words of a host over loom's atomics.

use std::time::Duration;

use loom::sync::atomic::{AtomicU32, Ordering, fence};
use loom::sync::{Condvar, Mutex};
use towpath_base::model::Reached;

use super::sleep::{HostWords, ON_WORD, SleepWord, Sleeper, SleeperWords};

/// A word over loom's atomics. `BARRIER`: whether barriers in other processes are allowed. They are
/// modelled by full fences on both sides.
pub struct ModelWord<const BARRIER: bool> {
    value: AtomicU32,
    /// Held while a sleeper compares the word, as the kernel does.
    queue: Mutex<()>,
    woken: Condvar,
}

impl<const BARRIER: bool> Default for ModelWord<BARRIER> {
    fn default() -> Self {
        ModelWord { value: AtomicU32::new(0), queue: Mutex::new(()), woken: Condvar::new() }
    }
}

impl<const BARRIER: bool> SleepWord for ModelWord<BARRIER> {
    fn load(&self, order: Ordering) -> u32 {
        self.value.load(order)
    }
    fn store(&self, value: u32, order: Ordering) {
        self.value.store(value, order);
    }
    fn swap(&self, value: u32, order: Ordering) -> u32 {
        self.value.swap(value, order)
    }
    fn fetch_add(&self, value: u32, order: Ordering) -> u32 {
        self.value.fetch_add(value, order)
    }
    fn fetch_sub(&self, value: u32, order: Ordering) -> u32 {
        self.value.fetch_sub(value, order)
    }
    fn wait(&self, value: u32, limit: Option<Duration>) {
        let queue = self.queue.lock().unwrap();
        if self.value.load(Ordering::SeqCst) != value {
            return;
        }
        match limit {
            None => drop(self.woken.wait(queue).unwrap()),
            // Times out at once.
            Some(_) => {
                drop(queue);
                loom::thread::yield_now();
            }
        }
    }
    fn wake(&self, _count: u32) {
        let _queue = self.queue.lock().unwrap();
        self.woken.notify_all();
    }
    fn fence() {
        fence(Ordering::SeqCst);
    }
    fn light_fence() {
        if BARRIER {
            fence(Ordering::SeqCst);
        }
    }
    fn barrier() -> bool {
        if BARRIER {
            fence(Ordering::SeqCst);
        }
        BARRIER
    }
}

/// The words of a host and of those of its processes that sleep.
pub struct ModelHost<const BARRIER: bool> {
    head: [ModelWord<BARRIER>; 4],
    pages: Vec<[ModelWord<BARRIER>; 2]>,
}

impl<const BARRIER: bool> ModelHost<BARRIER> {
    /// A host with `processes` processes that may sleep.
    pub fn new(processes: usize) -> Self {
        ModelHost {
            head: Default::default(),
            pages: (0..processes).map(|_| Default::default()).collect(),
        }
    }

    /// The words that all processes share.
    pub fn head(&self) -> HostWords<'_, ModelWord<BARRIER>> {
        let [sleepers, wake_fences, unregistered, aborting] = &self.head;
        HostWords { sleepers, wake_fences, unregistered, aborting }
    }

    /// The words of a process.
    pub fn page(&self, process: usize) -> SleeperWords<'_, ModelWord<BARRIER>> {
        let [sleep, wake_fence] = &self.pages[process];
        SleeperWords { sleep, wake_fence }
    }

    /// A process that sleeps rarely. `registered`: whether barriers reach it.
    pub fn sleeper(&self, process: usize, registered: bool) -> Sleeper {
        let mut sleeper = Sleeper::new(&self.page(process), &self.head(), registered);
        sleeper.choose(&self.page(process), &self.head(), true);
        sleeper
    }

    /// Sleeps unless the recheck finds `ready`; marks which of the two happens.
    pub fn sleep(
        &self,
        process: usize,
        sleeper: &mut Sleeper,
        mut ready: impl FnMut() -> bool,
        [slept, stayed]: [&Reached; 2],
    ) {
        let own = self.page(process);
        let recheck = || {
            let found = ready();
            if found {
                stayed.mark();
            }
            found
        };
        sleeper.sleep(&own, &self.head(), ON_WORD, recheck, |limit| {
            slept.mark();
            own.sleep.wait(ON_WORD, limit);
        });
    }
}

#[cfg(test)]
mod tests {
    use loom::sync::Arc;
    use loom::thread;
    use towpath_base::model::model;

    use super::*;

    /// One process posts messages, for each of which the other one sleeps. A lost wake-up is a
    /// deadlock, which fails the run.
    fn all_messages_wake<const BARRIER: bool>(messages: u32, registered: bool) {
        let (slept, stayed) = (Reached::default(), Reached::default());
        let (sleeps, stays) = (slept.clone(), stayed.clone());
        model(move || {
            let (host, posted) =
                (Arc::new(ModelHost::<BARRIER>::new(1)), Arc::new(AtomicU32::new(0)));
            let mut sleeper = host.sleeper(0, registered);
            let (their_host, post) = (host.clone(), posted.clone());
            let posting = thread::spawn(move || {
                for message in 1..=messages {
                    post.store(message, Ordering::Release);
                    let reader = their_host.page(0);
                    if reader.must_be_woken() {
                        reader.wake(|| unreachable!("nobody has a bell"));
                    }
                }
            });
            for message in 1..=messages {
                let ready = || posted.load(Ordering::Acquire) >= message;
                while !ready() {
                    host.sleep(0, &mut sleeper, ready, [&sleeps, &stays]);
                }
            }
            posting.join().unwrap();
        });
        slept.assert("a process that sleeps");
        stayed.assert("a process that finds a message after it has announced its sleep");
    }

    #[test]
    fn no_wake_up_is_lost_with_barriers() {
        all_messages_wake::<true>(2, true);
    }

    #[test]
    fn no_wake_up_is_lost_with_fences() {
        all_messages_wake::<false>(2, false);
    }

    /// The sleeper relies on barriers until the first one is refused; the poster may not have seen
    /// yet that it must fence.
    #[test]
    fn no_wake_up_is_lost_if_barriers_are_refused_later() {
        all_messages_wake::<false>(1, true);
    }

    #[test]
    fn an_abort_ends_a_sleep() {
        let slept = Reached::default();
        let sleeps = slept.clone();
        model(move || {
            let host = Arc::new(ModelHost::<true>::new(1));
            let mut sleeper = host.sleeper(0, true);
            let theirs = host.clone();
            let aborting = thread::spawn(move || {
                theirs.head().abort();
                theirs.page(0).wake_all(|| unreachable!("nobody has a bell"));
            });
            host.sleep(0, &mut sleeper, || false, [&sleeps, &Reached::default()]);
            aborting.join().unwrap();
        });
        slept.assert("a process that sleeps");
    }
}
