//! The lane: engine, requests and collective runs of the process behind one lock, and the one
//! waiting loop of Towpath.
//!
//! Nothing below `mpi` blocks; everything that waits, waits here. Below MPI_THREAD_MULTIPLE the
//! lock is not taken. With several threads one waiting thread polls (it holds the baton) and the
//! others sleep; whoever completes something wakes them, and a thread that leaves hands the baton
//! on. Callbacks of the program run with no lock held.

use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex};

use towpath_base::ids::ContextId;
use towpath_base::sync::{AtomicBool, AtomicU32, Ordering, UnsafeCell};
use towpath_engine::Engine;
use towpath_wires::Wires;

use crate::held_up::{self, Watchdog};
use crate::request_table::Requests;
use crate::runs::Runs;
use crate::wait_target::{Published, WaitTarget};
use crate::waiting::Waiting;

/// What the lane's lock protects.
pub struct State {
    /// Matching, protocols, wires.
    pub engine: Engine<Wires>,
    /// The program's requests.
    pub requests: Requests,
    /// Collective operations under way.
    pub runs: Runs,
    /// Lines of boards for which threads sleep while another one polls.
    pub(crate) watches: Vec<Watch>,
}

impl State {
    /// Moves messages and collective runs, and looks at the lines for which other threads wait;
    /// true when anything happened.
    pub fn progress(&mut self) -> bool {
        let moved = self.engine.progress();
        let posted = self.runs.post(&mut self.engine);
        moved | posted | (!self.watches.is_empty() && self.look())
    }

    /// Takes the watches out whose lines are written; true when there was one.
    #[cold]
    fn look(&mut self) -> bool {
        let before = self.watches.len();
        // SAFETY: a watch is here only while its thread is in `Lane::sleep_for_line`, and this is
        // under the lock.
        self.watches.retain(|watch| unsafe { !(*watch.0)() });
        self.watches.len() < before
    }
}

/// What a sleeping thread waits for; lies on its stack.
pub(crate) struct Watch(*mut (dyn FnMut() -> bool + 'static));

// SAFETY: called under the lane's lock only, while the thread that owns what it refers to sleeps.
unsafe impl Send for Watch {}

/// Rounds of progress before a wait where ranks fit on the cores: about a microsecond, in which
/// other threads find the lane locked, so a quarter of it at MPI_THREAD_MULTIPLE. With more ranks
/// than cores it is one round.
const PATIENCE: u32 = 64;

/// A lane.
pub struct Lane {
    locked: AtomicU32,
    /// Whether several threads may call MPI at the same time.
    shared: AtomicBool,
    state: UnsafeCell<State>,
    /// Rounds of progress that a blocking call makes before it waits in `wait_for`.
    patience: AtomicU32,
    /// 1 while a thread polls and may sleep for the process.
    baton: AtomicU32,
    waiting: UnsafeCell<Waiting>,
    sleepers: AtomicU32,
    epoch: Mutex<u64>,
    changed: Condvar,
}

// SAFETY: `state` is touched under `locked` only and `waiting` under `baton`, or by the only thread
// that calls MPI.
unsafe impl Sync for Lane {}

/// The state of a lane, held by this thread.
pub struct Held<'a> {
    lane: &'a Lane,
    shared: bool,
}

impl Deref for Held<'_> {
    type Target = State;

    #[inline(always)]
    fn deref(&self) -> &State {
        // SAFETY: this thread holds the lock, or is the only one that calls MPI.
        unsafe { &*self.lane.state.get() }
    }
}

impl DerefMut for Held<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut State {
        // SAFETY: as above, and `self` is borrowed alone.
        unsafe { &mut *self.lane.state.get() }
    }
}

impl Drop for Held<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.shared {
            self.lane.locked.store(0, Ordering::Release);
        }
    }
}

impl Lane {
    /// A lane around a state.
    pub fn new(state: State, waiting: Waiting) -> Lane {
        Lane {
            locked: AtomicU32::new(0),
            shared: AtomicBool::new(false),
            state: UnsafeCell::new(state),
            patience: AtomicU32::new(1),
            baton: AtomicU32::new(0),
            waiting: UnsafeCell::new(waiting),
            sleepers: AtomicU32::new(0),
            epoch: Mutex::new(0),
            changed: Condvar::new(),
        }
    }

    /// Takes the lock from now on (MPI_THREAD_MULTIPLE).
    pub fn share(&self) {
        self.shared.store(true, Ordering::SeqCst);
    }

    /// Runs `f` on the state. `f` must not call back into the program or into the lane.
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut self.hold())
    }

    /// The state, until the result is dropped: what [`Lane::with`] does, for the small path, where
    /// a closure would have its arguments carried through memory. The holder must not call back
    /// into the program or into the lane.
    #[inline(always)]
    pub fn hold(&self) -> Held<'_> {
        let shared = self.shared.load(Ordering::Relaxed);
        if shared && self.locked.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.lock_slowly();
        }
        Held { lane: self, shared }
    }

    /// Rounds of progress for a blocking call to try before it waits in [`Lane::wait_for`].
    #[inline]
    pub fn patience(&self) -> u32 {
        self.patience.load(Ordering::Relaxed)
    }

    /// Says whether there are more ranks than cores, which is learnt while the other ranks start.
    pub fn choose_patience(&self, crowded: bool) {
        let rounds = match (crowded, self.shared.load(Ordering::Relaxed)) {
            (true, _) => 1,
            (false, true) => PATIENCE / 4,
            (false, false) => PATIENCE,
        };
        self.patience.store(rounds, Ordering::Relaxed);
    }

    #[cold]
    fn lock_slowly(&self) {
        let mut tries = 0u32;
        while self.locked.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            tries += 1;
            if tries.is_multiple_of(64) { std::thread::yield_now() } else { std::hint::spin_loop() }
        }
    }

    /// One round of progress, including the local work of collectives; true when anything happened.
    /// For the thread that waits: nothing tells a thread that sleeps in the kernel, as
    /// [`Lane::poll_in_passing`] does.
    fn poll(&self) -> bool {
        let moved = self.with(State::progress);
        let worked = self.compute();
        if moved || worked {
            self.announce();
        }
        moved || worked
    }

    /// Runs the local work of collective runs that is ready, with the lock released meanwhile.
    fn compute(&self) -> bool {
        let mut worked = false;
        while let Some(mut job) = self.with(|state| state.runs.take_work()) {
            job.compute();
            self.with(|state| state.runs.put_back(job, &mut state.engine));
            worked = true;
        }
        worked
    }

    /// Runs `f` as the thread that polls; `None` when another thread does. The only thread that
    /// calls MPI never finds the baton taken, and takes it without a locked instruction.
    #[inline]
    fn with_baton<R>(&self, f: impl FnOnce(&mut Waiting) -> R) -> Option<R> {
        let shared = self.shared.load(Ordering::Relaxed);
        if shared && self.baton.compare_exchange(0, 1, Ordering::SeqCst, Ordering::Relaxed).is_err() {
            return None;
        }
        // SAFETY: this thread has the baton, or is the only one that calls MPI; `f` does not come
        // here again.
        let result = f(unsafe { &mut *self.waiting.get() });
        if shared {
            self.baton.store(0, Ordering::SeqCst);
            // A thread that found the baton taken sleeps until somebody tells it that it may poll
            // itself.
            self.announce();
        }
        Some(result)
    }

    /// Waits until `ready` has a result, making progress meanwhile. `target` says what for; it is
    /// asked when the wait comes to its first sleep, for those who want to know where a job hangs.
    pub fn wait_for<R>(
        &self,
        target: impl Fn(&State) -> WaitTarget,
        mut ready: impl FnMut(&mut State) -> Option<R>,
    ) -> R {
        loop {
            if let Some(result) = self.with(&mut ready) {
                return result;
            }
            if let Some(result) = self.with_baton(|waiting| self.poll_until(waiting, &target, &mut ready)) {
                return result;
            }
            if let Some(result) = self.sleep(&mut ready) {
                return result;
            }
        }
    }

    fn poll_until<R>(
        &self,
        waiting: &mut Waiting,
        target: &impl Fn(&State) -> WaitTarget,
        ready: &mut impl FnMut(&mut State) -> Option<R>,
    ) -> R {
        waiting.reset();
        let mut published = Published::default();
        let mut watch = Watchdog::default();
        loop {
            let moved = self.poll();
            let (result, watched) = self.with(|state| (ready(state), state.engine.may_be_held_up()));
            if let Some(result) = result {
                waiting.reset();
                return result;
            }
            if moved {
                waiting.reset();
                continue;
            }
            let mut found = None;
            waiting.limit_sleep(watched);
            waiting.idle(|| {
                found = self.with(&mut *ready);
                let moved = found.is_some() || self.poll();
                if !moved {
                    self.with(|state| published.publish(state, target));
                }
                moved
            });
            if let Some(result) = found {
                return result;
            }
            if watched && watch.is_due(waiting) {
                self.look_at_flow(&watch, waiting);
            }
        }
    }

    /// Looks for room that others wait for, and tells the user when this process has waited long
    /// for room.
    #[cold]
    fn look_at_flow(&self, watch: &Watchdog, waiting: &Waiting) {
        self.with(|state| state.engine.look_for_room());
        if watch.waits_long()
            && let Some((peer, wire)) = self.with(|state| state.engine.held_up())
        {
            held_up::tell(waiting.segment(), peer, wire);
        }
    }

    /// Waits until `ready` says true, which it does after another process has written a line on a
    /// board of this context.
    pub fn wait_for_line(&self, context: ContextId, ready: &mut dyn FnMut() -> bool) {
        loop {
            let polled = self.with_baton(|waiting| {
                waiting.reset();
                if !waiting.pass(ready) {
                    let target = |_: &State| WaitTarget::Members(context);
                    self.poll_until(waiting, &target, &mut |_| ready().then_some(()));
                }
            });
            if polled.is_some() || self.sleep_for_line(ready) {
                return;
            }
        }
    }

    /// Sleeps until the thread with the baton has seen the line, moved something else, or hands the
    /// baton over; true when `ready` is.
    fn sleep_for_line(&self, ready: &mut dyn FnMut() -> bool) -> bool {
        let watch: *mut (dyn FnMut() -> bool + '_) = ready;
        // SAFETY: only the lifetime is lost; the watch is taken back below, before `ready` ends.
        let watch = unsafe { std::mem::transmute::<*mut (dyn FnMut() -> bool + '_), *mut dyn FnMut() -> bool>(watch) };
        self.with(|state| state.watches.push(Watch(watch)));
        // The thread with the baton may sleep without having looked at this line: it looks now.
        crate::world::wake_myself();
        // SAFETY: called under the lock, like the poller's calls.
        let done = self.sleep(&mut |_| unsafe { (*watch)() }.then_some(())).is_some();
        self.with(|state| state.watches.retain(|other| !std::ptr::addr_eq(other.0, watch)));
        done
    }

    /// Sleeps until the thread with the baton has moved something or hands the baton over.
    fn sleep<R>(&self, ready: &mut impl FnMut(&mut State) -> Option<R>) -> Option<R> {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let guard = self.epoch.lock().unwrap();
        let result = self.with(&mut *ready);
        // The baton is free again when its holder left between our try and now: do not sleep then.
        if result.is_none() && self.baton.load(Ordering::SeqCst) != 0 {
            let before = *guard;
            drop(self.changed.wait_while(guard, |epoch| *epoch == before).unwrap());
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
        result
    }

    /// Tells sleeping threads that something changed.
    #[inline]
    pub fn announce(&self) {
        if self.shared.load(Ordering::Relaxed) {
            self.wake_sleepers();
        }
    }

    fn wake_sleepers(&self) {
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            *self.epoch.lock().unwrap() += 1;
            self.changed.notify_all();
        }
    }

    /// Wakes this process's own waiting thread after another thread did something that it may wait
    /// for. A receive is that too: a message of this process to itself may end with it, or its
    /// acknowledgement wait for progress.
    #[inline]
    pub fn nudge(&self) {
        if self.shared.load(Ordering::Relaxed) {
            crate::world::wake_myself();
            self.announce();
        }
    }

    /// One round of progress for a call that does not wait; true when anything happened.
    pub fn poll_in_passing(&self) -> bool {
        let moved = self.poll();
        if moved {
            // It may be what the thread with the baton sleeps for in the kernel.
            self.nudge();
        }
        moved
    }

    /// One round of progress for a failing MPI_Test or MPI_Iprobe.
    pub fn poll_for_test(&self) {
        if self.poll_in_passing() {
            return;
        }
        if self.with_baton(|waiting| waiting.give_way()).is_none() {
            // Another thread polls already, and may share the core with this one.
            std::thread::yield_now();
        }
    }
}
