//! The worker: the engine, the requests and the collective runs of the process behind one lock,
//! with the only waiting loop of Towpath.
//!
//! Nothing below `mpi` blocks; every wait happens here. Below MPI_THREAD_MULTIPLE the lock is not
//! taken. With several threads, one waiting thread holds the poller token and polls for the
//! process; the others sleep. A thread that completes something wakes the sleepers, and a thread
//! that gives up the token wakes them so that another one can take it. A helper thread, which calls
//! no MPI function, may poll while no thread of the program does ([`Worker::serve`]). Callbacks
//! into the program run without a lock.

use std::ops::{Deref, DerefMut};

use towpath_base::ids::ContextId;
use towpath_base::sync::{AtomicBool, AtomicU32, Ordering, UnsafeCell};
use towpath_collective::Failure;
use towpath_machine::wait;
use towpath_machine::wait::handover::{Handover, Wanted};
use towpath_machine::wait::watchdog::Watchdog;
use towpath_shm::{Segment, Waiting};

use super::held_up;
use super::runs::LocalWork;
use super::state::{State, Watch};
use super::wait_target::{PublishedWait, WaitTarget};

/// Rounds of progress that a blocking call makes before it waits, if each rank has a core: about a
/// microsecond in shared memory. MPI_THREAD_MULTIPLE uses a quarter of it, because other threads
/// find the worker locked meanwhile. Where others need the core it is one round.
const SPIN_ROUNDS: u32 = 64;

/// A worker: shared state, its lock, and the poller token.
pub(crate) struct Worker {
    locked: AtomicU32,
    /// True if several threads may call MPI concurrently.
    shared: AtomicBool,
    state: UnsafeCell<State>,
    /// Rounds of progress that a blocking call makes before it calls `wait_for`.
    spin_rounds: AtomicU32,
    /// The poller token, and the threads that sleep while another one polls.
    handover: Handover,
    waiting: UnsafeCell<Waiting>,
    /// Contains the control page on which this process sleeps.
    segment: Segment,
}

// SAFETY: `state` is accessed only while `locked` is held and `waiting` only with the token,
// or, if `shared` is false, only by the one thread that calls MPI.
unsafe impl Sync for Worker {}

/// Guard for exclusive access to the state of a worker; dropping it releases the lock.
pub(crate) struct Held<'a> {
    worker: &'a Worker,
    shared: bool,
}

impl Deref for Held<'_> {
    type Target = State;

    #[inline(always)]
    fn deref(&self) -> &State {
        // SAFETY: this guard holds the lock, or this thread is the only one that calls MPI.
        unsafe { &*self.worker.state.get() }
    }
}

impl DerefMut for Held<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut State {
        // SAFETY: this guard holds the lock, or this thread is the only one that calls MPI; `&mut
        // self` rules out another reference through the guard.
        unsafe { &mut *self.worker.state.get() }
    }
}

impl Drop for Held<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.shared {
            self.worker.locked.store(0, Ordering::Release);
        }
    }
}

impl Worker {
    /// Creates a worker around `state`.
    pub(crate) fn new(state: State, waiting: Waiting) -> Worker {
        Worker {
            locked: AtomicU32::new(0),
            shared: AtomicBool::new(false),
            state: UnsafeCell::new(state),
            spin_rounds: AtomicU32::new(1),
            handover: Handover::default(),
            segment: waiting.segment().clone(),
            waiting: UnsafeCell::new(waiting),
        }
    }

    /// Turns locking on (MPI_THREAD_MULTIPLE).
    pub(crate) fn share(&self) {
        self.shared.store(true, Ordering::SeqCst);
    }

    /// Runs `f` on the state. `f` must not call back into the program or into the worker.
    #[inline]
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut self.hold())
    }

    /// Locks the state until the guard is dropped. The fast path uses this instead of
    /// [`Worker::with`], whose closure passes its captures through memory. The holder must not call
    /// back into the program or into the worker.
    #[inline(always)]
    pub(crate) fn hold(&self) -> Held<'_> {
        let shared = self.shared.load(Ordering::Relaxed);
        if shared && self.locked.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.lock_slowly();
        }
        Held { worker: self, shared }
    }

    /// Rounds of progress that a blocking call should make before it calls [`Worker::wait_for`].
    #[inline]
    pub(crate) fn spin_rounds(&self) -> u32 {
        self.spin_rounds.load(Ordering::Relaxed)
    }

    /// Chooses the number of spin rounds after a wait, in which the waiter has found out whether
    /// others need the core.
    fn choose_spin_rounds(&self, waiting: &Waiting) {
        let rounds = match (waiting.crowded(), self.shared.load(Ordering::Relaxed)) {
            (true, _) => 1,
            (false, true) => SPIN_ROUNDS / 4,
            (false, false) => SPIN_ROUNDS,
        };
        self.spin_rounds.store(rounds, Ordering::Relaxed);
    }

    #[cold]
    fn lock_slowly(&self) {
        let mut tries = 0u32;
        while self.locked.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            tries += 1;
            if tries.is_multiple_of(64) { std::thread::yield_now() } else { std::hint::spin_loop() }
        }
    }

    /// Makes one round of progress, including the local work of collectives. Returns true if
    /// anything changed. Wakes the threads that sleep while another one polls, but not one that
    /// sleeps in the kernel: a thread without the token calls [`Worker::poll_in_passing`].
    fn poll(&self) -> bool {
        let moved = self.poll_messages();
        let worked = self.compute();
        if worked {
            self.announce();
        }
        moved || worked
    }

    /// Like [`Worker::poll`], without the local work of collectives, which may call operations of
    /// the program.
    fn poll_messages(&self) -> bool {
        let moved = self.with(State::progress);
        if moved {
            self.announce();
        }
        moved
    }

    /// Runs the copies and reductions of collectives that are ready, without holding the lock.
    fn compute(&self) -> bool {
        let mut worked = false;
        while let Some(job) = self.with(|state| state.runs.take_work()) {
            self.work(job);
            worked = true;
        }
        worked
    }

    /// Does the work of a run. Not inlined, so that a poll without such work saves no registers for
    /// it.
    #[inline(never)]
    fn work(&self, mut job: LocalWork) {
        job.compute();
        self.with(|state| state.runs.put_back(job, &mut state.engine));
    }

    /// Runs `f` with the token; `None` if another thread holds it. If only one thread calls MPI,
    /// the token is always free and needs no atomic read-modify-write.
    #[inline]
    fn with_token<R>(&self, f: impl FnOnce(&mut Waiting) -> R) -> Option<R> {
        self.with_token_by(Handover::try_take, f)
    }

    /// Like [`Worker::with_token`], with the token that `take` takes; `None` if it returns false.
    #[inline]
    fn with_token_by<R>(&self, take: impl FnOnce(&Handover) -> bool, f: impl FnOnce(&mut Waiting) -> R) -> Option<R> {
        let shared = self.shared.load(Ordering::Relaxed);
        if shared && !take(&self.handover) {
            return None;
        }
        // SAFETY: this thread holds the token, or is the only one that calls MPI, and `f` does not
        // re-enter `with_token_by`.
        let result = f(unsafe { &mut *self.waiting.get() });
        if shared {
            self.handover.release();
        }
        Some(result)
    }

    /// Number of times that this process has slept; `None` while another thread polls.
    pub(super) fn sleeps(&self) -> Option<u64> {
        self.with_token(|waiting| waiting.sleeps())
    }

    /// Makes progress until `ready` returns a result. `target` describes what is waited for. It is
    /// called only before the first sleep, for tools that show where a job hangs.
    pub(crate) fn wait_for<R>(
        &self,
        target: impl Fn(&State) -> WaitTarget,
        mut ready: impl FnMut(&mut State) -> Option<R>,
    ) -> R {
        if let Some(result) = self.with(&mut ready) {
            return result;
        }
        let poll = |ready: &mut _| {
            self.with_token(|waiting| {
                let result = self.poll_until(waiting, &target, false, ready);
                self.choose_spin_rounds(waiting);
                result
            })
        };
        if let Some(result) = poll(&mut ready) {
            return result;
        }
        let _wanted = self.want_token();
        loop {
            let result = self.sleep(&mut ready).or_else(|| self.with(&mut ready));
            if let Some(result) = result.or_else(|| poll(&mut ready)) {
                return result;
            }
        }
    }

    /// Makes the helper give up the token and leave it to the threads that wait for it.
    #[cold]
    fn want_token(&self) -> Wanted<'_> {
        let wanted = self.handover.want();
        if self.handover.is_with_helper() {
            self.wake_poller();
        }
        wanted
    }

    /// Polls for the process on a thread that calls no MPI function (a helper thread), until
    /// [`Worker::end_service`]. A thread that waits in MPI takes over meanwhile. Only one thread
    /// may call this.
    ///
    /// # Panics
    /// If [`Worker::share`] was not called.
    #[cfg_attr(not(test), expect(dead_code, reason = "one-sided communication starts the thread"))]
    pub(crate) fn serve(&self) {
        assert!(self.shared.load(Ordering::SeqCst), "the worker has no lock without `share`");
        let take = Handover::take_for_helper;
        while self.with_token_by(take, |waiting| self.poll_until_wanted(waiting)).is_some() {}
    }

    /// Ends [`Worker::serve`], even if it has not begun yet.
    #[cfg_attr(not(test), expect(dead_code, reason = "one-sided communication ends the thread"))]
    pub(crate) fn end_service(&self) {
        self.handover.end_helper();
        self.wake_poller();
    }

    fn poll_until_wanted(&self, waiting: &mut Waiting) {
        waiting.reset();
        let mut watch = Watchdog::default();
        while !self.handover.must_yield() {
            if self.poll_messages() {
                waiting.reset();
                continue;
            }
            let watched = self.with(|state| state.engine.may_be_held_up());
            waiting.limit_sleep(watched);
            waiting.idle(|| self.handover.must_yield() || self.poll_messages() || self.yields_to_device());
            if watched && watch.is_due(waiting.sleeps()) {
                self.with(|state| state.engine.look_for_room());
            }
        }
    }

    /// Yields to other processes and returns true while a device is busy. The poller must not sleep
    /// then, because a device wakes no thread when it completes.
    fn yields_to_device(&self) -> bool {
        let is_busy = self.with(|state| state.is_device_busy());
        if is_busy {
            std::thread::yield_now();
        }
        is_busy
    }

    fn poll_until<R>(
        &self,
        waiting: &mut Waiting,
        target: &impl Fn(&State) -> WaitTarget,
        on_line: bool,
        ready: &mut impl FnMut(&mut State) -> Option<R>,
    ) -> R {
        waiting.reset();
        let mut published = PublishedWait::default();
        let (mut watch, mut meeting) = (Watchdog::default(), Watchdog::default());
        let sleeps = waiting.sleeps();
        loop {
            let moved = self.poll();
            let (result, (watched, meets)) = self.with(|state| {
                let result = ready(state);
                let meets = on_line || state.runs.is_waiting() || !state.watches.is_empty();
                (result, (state.engine.may_be_held_up(), meets))
            });
            if let Some(result) = result {
                waiting.reset();
                return result;
            }
            if moved {
                waiting.reset();
                continue;
            }
            let mut found = None;
            waiting.limit_sleep(watched || meets);
            // Once in a wait, as other hosts send messages too. Other threads may need them sooner.
            let is_first = waiting.shares_core_among_hosts() && waiting.sleeps() == sleeps;
            let may_leave = meets && is_first && !self.shared.load(Ordering::Relaxed);
            let within_host = |state: &mut State| state.waits_within_host(target(state), on_line);
            waiting.wait_within_host(may_leave && self.with(within_host));
            waiting.idle(|| {
                found = self.with(&mut *ready);
                let moved = found.is_some() || self.poll() || self.yields_to_device();
                if !moved {
                    self.with(|state| published.publish(state, target));
                }
                moved
            });
            if let Some(result) = found {
                return result;
            }
            if watched && watch.is_due(waiting.sleeps()) {
                self.look_at_flow(&watch, waiting);
            }
            if meets
                && meeting.is_due(waiting.sleeps())
                && let Some(result) = self.compare_calls(&mut published, target, ready)
            {
                return result;
            }
        }
    }

    /// Fails collectives whose members have called other ones. Their threads may sleep.
    #[cold]
    fn compare_calls<R>(
        &self,
        published: &mut PublishedWait,
        target: &impl Fn(&State) -> WaitTarget,
        ready: &mut impl FnMut(&mut State) -> Option<R>,
    ) -> Option<R> {
        let contradiction = published.find_contradiction();
        let found = self.with(|state| {
            state.compares_calls = true;
            if let Some(failure) = contradiction {
                state.fail(target(state), failure);
            }
            state.runs.find_mismatches(&mut state.engine)
        });
        if self.poll() || found {
            self.announce();
        }
        self.with(|state| {
            let result = ready(state);
            state.compares_calls = false;
            result
        })
    }

    /// Looks for memory to grant to waiting senders, and warns the user if this process has waited
    /// long for a receiver.
    #[cold]
    fn look_at_flow(&self, watch: &Watchdog, waiting: &Waiting) {
        self.with(|state| state.engine.look_for_room());
        if watch.waits_long()
            && let Some((peer, wire)) = self.with(|state| state.engine.held_up())
        {
            held_up::tell(waiting.segment(), peer, wire);
        }
    }

    /// Waits until `ready` returns true, after another process has written a line on a board of
    /// this context. Passes true if the wait has been long. Returns the failure if the call must
    /// end instead.
    pub(crate) fn wait_for_line(&self, context: ContextId, ready: &mut dyn FnMut(bool) -> bool) -> Option<Failure> {
        let poll = |ready: &mut dyn FnMut(bool) -> bool| {
            self.with_token(|waiting| {
                waiting.reset();
                if waiting.pass(&mut || ready(false)) {
                    return None;
                }
                let target = |_: &State| WaitTarget::Line(context);
                let mut is_there = |state: &mut State| {
                    let failure = state.line_failure.take();
                    (failure.is_some() || ready(state.compares_calls)).then_some(failure)
                };
                self.poll_until(waiting, &target, true, &mut is_there)
            })
        };
        if let Some(ended) = poll(ready) {
            return ended;
        }
        let _wanted = self.want_token();
        loop {
            if self.sleep_for_line(ready) {
                return None;
            }
            if let Some(ended) = poll(ready) {
                return ended;
            }
        }
    }

    /// Sleeps until the thread with the token has seen the line, made other progress, or released
    /// the token. Returns true if `ready` does.
    fn sleep_for_line(&self, ready: &mut dyn FnMut(bool) -> bool) -> bool {
        let watch: *mut (dyn FnMut(bool) -> bool + '_) = ready;
        // SAFETY: the transmute only erases the lifetime of the closure. The watch is removed
        // below, before `ready` goes out of scope, and nothing calls it after that.
        let watch =
            unsafe { std::mem::transmute::<*mut (dyn FnMut(bool) -> bool + '_), *mut dyn FnMut(bool) -> bool>(watch) };
        self.with(|state| state.watches.push(Watch(watch)));
        // The thread with the token may be asleep without having checked this line: make it check
        // now.
        self.wake_poller();
        // SAFETY: `sleep` calls this under the worker's lock, so the poller does not call `watch`
        // at the same time, and `ready` is still borrowed by this function.
        let done = self.sleep(&mut |_| unsafe { (*watch)(false) }.then_some(())).is_some();
        self.with(|state| state.watches.retain(|other| !std::ptr::addr_eq(other.0, watch)));
        done
    }

    /// Sleeps until the thread with the token has made progress or released the token.
    fn sleep<R>(&self, ready: &mut impl FnMut(&mut State) -> Option<R>) -> Option<R> {
        self.handover.sleep(|| self.with(&mut *ready))
    }

    /// Wakes sleeping threads after something changed.
    #[inline]
    pub(crate) fn announce(&self) {
        if self.shared.load(Ordering::Relaxed) {
            self.handover.announce();
        }
    }

    /// Wakes the thread of this process that sleeps in the kernel.
    fn wake_poller(&self) {
        wait::notify(self.segment.own_control());
    }

    /// Wakes the thread of this process that sleeps in the kernel, after another thread did
    /// something that it may wait for. Posting a receive counts: it may complete a message from
    /// this process to itself, or its acknowledgement may need progress.
    #[inline]
    pub(crate) fn nudge(&self) {
        if self.shared.load(Ordering::Relaxed) {
            self.wake_poller();
            self.announce();
        }
    }

    /// Makes one round of progress for a call that does not wait. Returns true if anything changed.
    pub(crate) fn poll_in_passing(&self) -> bool {
        let moved = self.poll();
        if moved {
            // The thread with the token may sleep in the kernel and wait for exactly this.
            self.nudge();
        }
        moved
    }

    /// Calls `look`, and once more after a round of progress if it finds nothing.
    #[inline(always)]
    pub(crate) fn look_twice<R>(&self, mut look: impl FnMut() -> Option<R>) -> Option<R> {
        let mut polled = false;
        // A single call site of `look`, so that it is inlined.
        loop {
            let found = look();
            if found.is_some() || polled {
                return found;
            }
            self.poll_for_test();
            polled = true;
        }
    }

    /// Makes one round of progress for a caller that will call again: an unsuccessful MPI_Test or
    /// MPI_Iprobe, or a collective whose data a device moves. Other processes can run in between,
    /// and an abort is noticed.
    pub(crate) fn poll_for_test(&self) {
        if self.poll_in_passing() {
            return;
        }
        if self.with_token(|waiting| waiting.give_way()).is_none() {
            // Another thread polls already. It may share the core with this one, so let it run.
            std::thread::yield_now();
        }
    }
}
