//! The progress engine of two ranks in one process: waiting, the hand-over of the token between
//! threads, and the completion of requests.

use std::sync::{Arc, Mutex};
use std::thread::{Scope, ThreadId};
use std::time::Duration;

use towpath_base::control::ControlPage;
use towpath_base::ids::{ContextId, PeerIndex};
use towpath_base::sync::{AtomicBool, Ordering};
use towpath_base::transfer::{Drain, Fill, MemorySpace, Source, Step, Target};
use towpath_collective::gather::{Gather, gather};
use towpath_collective::{Blocks, Buffer, Call, Element, Placement, Run, Selection, Team};
use towpath_datatype::device::Device;
use towpath_datatype::{Basic, Datatype};
use towpath_engine::{ActiveId, ActiveMessage, Engine, Limits, Mode, Replies, RequestId};
use towpath_machine::memory;
use towpath_machine::wait::Waiter;
use towpath_neutral::abi::{Handle, Status};
use towpath_neutral::constants::REQUEST_NULL;
use towpath_shm::{Segment, Waiting};
use towpath_wires::Wires;

use super::request_table::{Ended, RequestWork};
use super::state::State;
use super::wait_target::WaitTarget;
use super::worker::Worker;

const CONTEXT: ContextId = ContextId(8);

fn workers() -> [Worker; 2] {
    let file = memory::create_file("towpath-progress").unwrap();
    [0, 1].map(|own| {
        let segment = Segment::map(&file, 2, own).unwrap();
        let waiter = Waiter::with_quota(2, usize::MAX, segment.head(), segment.own_control());
        let engine = Engine::new(Wires::single_host(segment.clone()), Limits::from_settings(), 2);
        Worker::new(State::new(engine), Waiting::new(waiter, segment, || panic!("the job is aborting")))
    })
}

/// Sends `value` to the other rank.
fn send(worker: &Worker, to: u32, tag: i32, value: &u64) {
    let source = Source::Bytes { pointer: std::ptr::from_ref(value).cast(), length: 8 };
    let id = worker.with(|state| {
        // SAFETY: `value` is borrowed until the send is complete, which is awaited below.
        unsafe { state.engine.isend(PeerIndex(to), CONTEXT, tag, 1 - to, source, Mode::Standard) }
    });
    worker.nudge();
    worker.wait_for(|_| WaitTarget::Other, |state| state.engine.take(id));
}

/// Receives from the other rank.
fn receive(worker: &Worker, from: u32, tag: i32) -> u64 {
    let mut value = 0u64;
    let target = Target::Bytes { pointer: std::ptr::from_mut(&mut value).cast(), length: 8 };
    let id = worker.with(|state| {
        // SAFETY: `value` lives until the receive is complete, which is awaited below.
        unsafe { state.engine.irecv(Some(PeerIndex(from)), CONTEXT, Some(tag), target) }
    });
    worker.nudge();
    worker.wait_for(|_| WaitTarget::Message(CONTEXT, id), |state| state.engine.take(id));
    value
}

#[test]
fn a_rank_that_sleeps_is_woken_by_a_message() {
    let [mine, theirs] = workers();
    std::thread::scope(|scope| {
        let received = scope.spawn(|| receive(&theirs, 0, 1));
        // Longer than the receiver spins and yields.
        std::thread::sleep(Duration::from_millis(50));
        send(&mine, 1, 1, &42);
        assert_eq!(received.join().unwrap(), 42);
    });
}

/// One of the threads polls for all, and hands the token over when it ends.
#[test]
fn each_of_many_waiting_threads_gets_its_message_in_any_order() {
    const THREADS: i32 = 6;
    const ROUNDS: i32 = 50;
    let [mine, theirs] = workers();
    theirs.share();
    for round in 0..ROUNDS {
        std::thread::scope(|scope| {
            let theirs = &theirs;
            let waiting: Vec<_> =
                (0..THREADS).map(|tag| scope.spawn(move || (tag as u64, receive(theirs, 0, tag)))).collect();
            for step in 0..THREADS {
                // Every tag once, in an order that differs from round to round.
                let tag = (step * 5 + round) % THREADS;
                send(&mine, 1, tag, &(tag as u64 + 100));
            }
            for thread in waiting {
                let (tag, value) = thread.join().unwrap();
                assert_eq!(value, tag + 100);
            }
        });
    }
}

/// A thread that sleeps for a condition which another thread of its process fulfils.
#[test]
fn a_completion_by_another_thread_ends_a_wait() {
    let [mine, theirs] = workers();
    theirs.share();
    std::thread::scope(|scope| {
        let (theirs, mut value) = (&theirs, 0u64);
        let target = Target::Bytes { pointer: std::ptr::from_mut(&mut value).cast(), length: 8 };
        // SAFETY: `value` lives until the receive is complete, which is awaited below.
        let id = theirs.with(|state| unsafe { state.engine.irecv(Some(PeerIndex(0)), CONTEXT, Some(3), target) });
        let request = theirs.with(|state| state.requests.add(RequestWork::Receive(id), Handle(0), None)).unwrap();
        let poller = scope.spawn(move || receive(theirs, 0, 4));
        let sleeper = scope.spawn(move || {
            let is_complete = |state: &mut State| state.is_complete(request).unwrap().then_some(());
            theirs.wait_for(|_| WaitTarget::Request(request), is_complete);
        });
        send(&mine, 1, 3, &7);
        sleeper.join().unwrap();
        send(&mine, 1, 4, &8);
        assert_eq!(poller.join().unwrap(), 8);
        let mut handle = request;
        let ended = theirs.with(|state| state.try_end(&mut handle)).unwrap();
        assert!(matches!(ended, Some(Ended::With(Status { source: 0, tag: 3, bytes: 8, .. }, None))));
        assert_eq!((handle, value), (REQUEST_NULL, 7));
        assert!(theirs.with(|state| state.requests.check(request)).is_err());
    });
}

#[test]
fn an_abandoned_receive_is_swept_once_it_is_complete() {
    let [mine, theirs] = workers();
    let mut value = 0u64;
    let target = Target::Bytes { pointer: std::ptr::from_mut(&mut value).cast(), length: 8 };
    // SAFETY: `value` lives until the receive is complete, which is awaited below.
    let id = theirs.with(|state| unsafe { state.engine.irecv(Some(PeerIndex(0)), CONTEXT, Some(1), target) });
    let request = theirs.with(|state| state.requests.add(RequestWork::Receive(id), Handle(0), None)).unwrap();
    theirs.with(|state| state.abandon(request)).unwrap();
    assert!(theirs.with(State::sweep_abandoned), "it is in flight");
    send(&mine, 1, 1, &9);
    theirs.wait_for(|_| WaitTarget::Other, |state| (!state.sweep_abandoned()).then_some(()));
    assert_eq!(value, 9);
    assert!(theirs.with(|state| state.requests.check(request)).is_err());
}

/// A helper thread that polls for a worker; it ends when this is dropped.
struct Helper<'scope>(&'scope Worker);

impl<'scope> Helper<'scope> {
    fn start(scope: &'scope Scope<'scope, '_>, worker: &'scope Worker) -> Helper<'scope> {
        worker.share();
        scope.spawn(|| worker.serve());
        Helper(worker)
    }
}

impl Drop for Helper<'_> {
    fn drop(&mut self) {
        self.0.end_service();
    }
}

/// Waits until the process of this page sleeps in the kernel.
fn await_sleep(page: &ControlPage) {
    while page.sleep.load(Ordering::SeqCst) == 0 {
        std::thread::yield_now();
    }
}

/// Waits without progress, like a program that computes.
fn compute_until_complete(worker: &Worker, request: RequestId) {
    while worker.with(|state| state.engine.take(request)).is_none() {
        std::thread::yield_now();
    }
}

/// Sends a message to a process whose helper has announced that it sleeps. Returns how often the
/// helper slept.
fn sleeps_of_a_helper_that_pulls() -> u64 {
    let [mine, theirs] = workers();
    let (data, mut got) = (vec![7u8; 1 << 20], vec![0u8; 1 << 20]);
    let page = theirs.with(|state| state.engine.wire().segment().clone());
    std::thread::scope(|scope| {
        let helper = Helper::start(scope, &theirs);
        let target = Target::Bytes { pointer: got.as_mut_ptr(), length: got.len() };
        // SAFETY: `got` lives until the receive is complete, which is awaited below.
        let receive = theirs.with(|state| unsafe { state.engine.irecv(Some(PeerIndex(0)), CONTEXT, Some(1), target) });
        await_sleep(page.own_control());
        // Too long to be sent eagerly: it completes once the helper has pulled it.
        let source = Source::Bytes { pointer: data.as_ptr(), length: data.len() };
        // SAFETY: `data` lives until the send is complete, which is awaited below.
        let send =
            mine.with(|state| unsafe { state.engine.isend(PeerIndex(1), CONTEXT, 1, 0, source, Mode::Standard) });
        mine.wait_for(|_| WaitTarget::Other, |state| state.engine.take(send));
        compute_until_complete(&theirs, receive);
        drop(helper);
    });
    assert!(got == data);
    theirs.counters().sleeps
}

#[test]
fn a_helper_sleeps_and_is_woken_by_a_message() {
    // A message that arrives between the announcement and the sleep prevents the sleep.
    assert!((0..100).any(|_| sleeps_of_a_helper_that_pulls() > 0), "the helper never slept");
}

#[test]
fn a_helper_is_woken_by_a_thread_of_its_process() {
    let [mine, _theirs] = workers();
    let page = mine.with(|state| state.engine.wire().segment().clone());
    let value = 5u64;
    std::thread::scope(|scope| {
        let _helper = Helper::start(scope, &mine);
        await_sleep(page.own_control());
        let source = Source::Bytes { pointer: std::ptr::from_ref(&value).cast(), length: 8 };
        // SAFETY: `value` lives until the send is complete, which is awaited below. The message
        // goes to this process itself and is acknowledged by its own progress.
        let send =
            mine.with(|state| unsafe { state.engine.isend(PeerIndex(0), CONTEXT, 1, 0, source, Mode::Synchronous) });
        mine.nudge();
        let mut got = 0u64;
        let target = Target::Bytes { pointer: std::ptr::from_mut(&mut got).cast(), length: 8 };
        // SAFETY: `got` lives until the receive is complete, which is awaited below.
        let receive = mine.with(|state| unsafe { state.engine.irecv(None, CONTEXT, None, target) });
        mine.nudge();
        compute_until_complete(&mine, receive);
        compute_until_complete(&mine, send);
        assert_eq!(got, value);
    });
}

/// A device that stays busy until another thread marks it as ready, and then stores a number.
struct Slow(Arc<AtomicBool>, *mut u64);

// SAFETY: `drain` writes only the number, which the test keeps alive.
unsafe impl Drain for Slow {
    unsafe fn drain(&mut self, from: *const u8, length: usize) -> Step {
        if !self.0.load(Ordering::Acquire) {
            return Step::Pending;
        }
        assert_eq!(length, 8);
        // SAFETY: `from` is readable for 8 bytes (this function's contract), and the number is
        // alive.
        unsafe { self.1.write(from.cast::<u64>().read_unaligned()) };
        Step::Done(length)
    }

    fn space(&self) -> MemorySpace {
        MemorySpace::Device
    }
}

/// The device as the owner of a collective's receive buffer.
#[derive(Debug)]
struct SlowDevice(Arc<AtomicBool>);

impl Device for SlowDevice {
    unsafe fn packer(&self, _: &Datatype, _: *const u8, _: i64) -> Box<dyn Fill> {
        unreachable!("no test sends from this device");
    }

    unsafe fn unpacker(&self, _: &Datatype, pointer: *mut u8, _: i64) -> Box<dyn Drain> {
        Box::new(Slow(self.0.clone(), pointer.cast()))
    }
}

/// Marks the device as ready after the polling thread has spun and yielded as long as it may.
fn make_ready_later(ready: &AtomicBool) {
    std::thread::sleep(Duration::from_millis(50));
    ready.store(true, Ordering::Release);
}

/// A device wakes no thread when it completes, so neither a waiting thread nor the helper sleeps
/// while it works.
#[test]
fn nobody_sleeps_while_a_device_works() {
    for with_helper in [false, true] {
        let [mine, theirs] = workers();
        let (ready, mut got) = (Arc::new(AtomicBool::new(false)), 0u64);
        let target = Target::Unpacker { drain: Box::new(Slow(ready.clone(), &raw mut got)), length: 8 };
        send(&mine, 1, 1, &7);
        // SAFETY: `got` lives until the receive is complete, which is awaited below.
        let id = theirs.with(|state| unsafe { state.engine.irecv(Some(PeerIndex(0)), CONTEXT, Some(1), target) });
        while !theirs.with(|state| state.is_device_busy()) {
            theirs.poll_in_passing();
        }
        std::thread::scope(|scope| {
            let helper = with_helper.then(|| Helper::start(scope, &theirs));
            scope.spawn(|| make_ready_later(&ready));
            match &helper {
                None => _ = theirs.wait_for(|_| WaitTarget::Message(CONTEXT, id), |state| state.engine.take(id)),
                Some(_) => compute_until_complete(&theirs, id),
            }
            drop(helper);
        });
        assert_eq!(got, 7);
        assert!(with_helper || theirs.counters().sleeps == 0);
    }
}

/// The same for a copy that a collective makes.
#[test]
fn nobody_sleeps_while_a_device_copies_for_a_collective() {
    let [worker, _] = workers();
    let (ready, value, mut got) = (Arc::new(AtomicBool::new(false)), 7u64, 0u64);
    let device = Box::leak(Box::new(SlowDevice(ready.clone())));
    let device = Element::on_device(&Datatype::named(Basic::Int64), device);
    let placement = Arc::new(Placement::on_one_host(1));
    let team = Team { context: CONTEXT, rank: 0, peers: [PeerIndex(0)].into(), placement };
    let pointer = (&raw const value).cast_mut().cast();
    let send = Buffer { pointer, count: 1, element: Element::dense(8) };
    let receive = Blocks::Equal { pointer: (&raw mut got).cast(), count: 1, element: device };
    let arguments = Gather { root: 0, send: Some(send), receive: Some(receive) };
    let plan = gather(&Call { team: &team, selection: &Selection::default() }, &arguments).unwrap();
    // SAFETY: `value` and `got` live until the run is complete, which is awaited below.
    let run = Box::new(unsafe { Run::start(plan, 0) });
    let id = worker.with(|state| state.runs.add(run, &mut state.engine));
    std::thread::scope(|scope| {
        scope.spawn(|| make_ready_later(&ready));
        worker.wait_for(|_| WaitTarget::Other, |state| state.runs.is_complete(id).then_some(()));
    });
    assert_eq!((got, worker.counters().sleeps), (7, 0));
}

/// A handler of active messages runs on the thread that polls.
#[test]
fn a_helper_polls_while_no_thread_of_the_program_waits() {
    const PING: ActiveId = ActiveId(9);
    let [mine, theirs] = workers();
    let polled_by = Arc::new(Mutex::new(Vec::<ThreadId>::new()));
    let seen = polled_by.clone();
    let handler = Box::new(move |_: ActiveMessage<'_>, _: &mut Replies<'_>| {
        seen.lock().unwrap().push(std::thread::current().id());
    });
    theirs.with(|state| state.engine.handle_active(PING, handler));
    // Sends messages until one is handled by a thread for which `expected` holds.
    let send_until = |expected: &dyn Fn(ThreadId) -> bool| {
        loop {
            mine.with(|state| state.engine.send_active(PeerIndex(1), PING, 0, &[]));
            mine.poll_in_passing();
            if polled_by.lock().unwrap().drain(..).any(expected) {
                return;
            }
            std::thread::yield_now();
        }
    };
    let (me, theirs) = (std::thread::current().id(), &theirs);
    std::thread::scope(|scope| {
        let _helper = Helper::start(scope, theirs);
        for tag in 0..3 {
            send_until(&|thread| thread != me);
            // This thread waits for a message, which is sent once the thread polls.
            let waiter = scope.spawn(move || receive(theirs, 0, tag));
            let waits = waiter.thread().id();
            send_until(&|thread| thread == waits);
            send(&mine, 1, tag, &77);
            assert_eq!(waiter.join().unwrap(), 77);
        }
    });
}
