//! Messages from and to the memory of a device that reports that it is busy: no round of progress
//! spins on it, and no other message is held up.

mod support;

use std::sync::Arc;

use support::{Pieces, World, bytes, pattern, room};
use towpath_base::sync::{AtomicBool, AtomicUsize, Ordering};
use towpath_base::transfer::{Drain, Fill, MemorySpace, Source, Step, Target};
use towpath_datatype::device::simulated::SimulatedDevice;
use towpath_datatype::device::{source_on, target_on};
use towpath_datatype::{Basic, Datatype};
use towpath_engine::testing::Manners;
use towpath_engine::{Headroom, Limits, Mode, RequestId};

fn source(data: &[u8]) -> Source {
    let byte = Datatype::named(Basic::Byte);
    // SAFETY: the tests keep the data alive until the send is complete.
    unsafe { source_on(Some(&SimulatedDevice), &byte, data.as_ptr(), data.len() as i64) }
}

fn target(data: &mut [u8]) -> Target {
    let byte = Datatype::named(Basic::Byte);
    // SAFETY: the tests keep the memory alive until the receive is complete.
    unsafe { target_on(Some(&SimulatedDevice), &byte, data.as_mut_ptr(), data.len() as i64) }
}

#[test]
fn every_protocol_reaches_and_leaves_a_device() {
    let small = Limits { eager_bytes: usize::MAX, unexpected_bytes: 8 << 10 };
    for (manners, limits) in [
        (Manners::PLAIN, Limits { unexpected_bytes: 1 << 20, ..small }),
        (Manners::ROUGH, Limits { unexpected_bytes: 1 << 20, ..small }),
        (Manners::ROUGH, small),
    ] {
        let mut world = World::new(2, manners, limits);
        for length in [0, 1, 8, 41, 4096, 4097, 300_000] {
            for choice in 0..12 {
                let mode = [Mode::Standard, Mode::Synchronous][choice & 1];
                let spaces = [[true, false], [false, true], [true, true]][choice % 3];
                let (data, mut got) = (pattern(length as u64, length), vec![0; length]);
                let from = if spaces[0] { source(&data) } else { bytes(&data) };
                let (sent, received);
                if choice & 2 == 0 {
                    let to = if spaces[1] { target(&mut got) } else { room(&mut got) };
                    received = world.receive(1, Some(0), Some(5), to);
                    sent = world.send(0, 1, 5, from, mode);
                } else {
                    sent = world.send(0, 1, 5, from, mode);
                    (0..4).for_each(|_| _ = world.progress());
                    let to = if spaces[1] { target(&mut got) } else { room(&mut got) };
                    received = world.receive(1, None, None, to);
                }
                let done = world.wait(1, received);
                assert_eq!((done.bytes, done.truncated, done.lost), (length as u64, false, false));
                assert_eq!(world.wait(0, sent).bytes, length as u64);
                assert!(got == data, "{length} bytes, {choice}");
                world.run_until_idle();
            }
        }
    }
}

/// A device that is busy until the test marks it as ready, and then moves everything at once.
struct Slow {
    pieces: Pieces,
    ready: Arc<AtomicBool>,
}

impl Slow {
    fn new(pointer: *mut u8, left: usize) -> (Box<Slow>, Arc<AtomicBool>) {
        let ready = Arc::<AtomicBool>::default();
        let pieces = Pieces { pointer, left, piece: usize::MAX };
        (Box::new(Slow { pieces, ready: ready.clone() }), ready)
    }

    fn source(data: &[u8]) -> (Source, Arc<AtomicBool>) {
        let (fill, ready) = Slow::new(data.as_ptr().cast_mut(), data.len());
        (Source::Packer { fill, length: data.len() }, ready)
    }

    fn target(data: &mut [u8]) -> (Target, Arc<AtomicBool>) {
        let (drain, ready) = Slow::new(data.as_mut_ptr(), data.len());
        (Target::Unpacker { drain, length: data.len() }, ready)
    }
}

// SAFETY: only `pieces` accesses memory, and it meets the contract of `Fill` itself.
unsafe impl Fill for Slow {
    unsafe fn fill(&mut self, into: *mut u8, capacity: usize) -> Step {
        if !self.ready.load(Ordering::Relaxed) {
            return Step::Pending;
        }
        // SAFETY: `into` is writable for `capacity` bytes (this function's contract).
        unsafe { self.pieces.fill(into, capacity) }
    }

    fn space(&self) -> MemorySpace {
        MemorySpace::Device
    }
}

// SAFETY: only `pieces` accesses memory, and it meets the contract of `Drain` itself.
unsafe impl Drain for Slow {
    unsafe fn drain(&mut self, from: *const u8, length: usize) -> Step {
        if !self.ready.load(Ordering::Relaxed) {
            return Step::Pending;
        }
        // SAFETY: `from` is readable for `length` bytes (this function's contract).
        unsafe { self.pieces.drain(from, length) }
    }

    fn space(&self) -> MemorySpace {
        MemorySpace::Device
    }
}

/// Makes progress until nothing moves any more.
fn rest(world: &mut World) {
    for _ in 0..support::PATIENCE {
        if !world.progress() {
            return;
        }
    }
    panic!("progress is reported for ever");
}

/// Asserts which engines wait for a device, in a round of progress that reports nothing.
fn assert_busy(world: &mut World, expected: [bool; 2]) {
    assert!(!world.progress(), "a device that only works is no progress");
    let busy = [0, 1].map(|rank: usize| world.engines[rank].is_device_busy());
    assert_eq!(busy, expected);
}

/// A busy device holds up no other message, and does not count as progress: a waiting caller checks
/// for one before it sleeps.
#[test]
fn others_go_on_while_a_device_is_busy() {
    let mut world = World::plain(2);
    let (data, mut slow, mut quick) = (pattern(1, 100), [0; 80], [0; 100]);
    let (into, ready) = Slow::target(&mut slow);
    let first = world.receive(1, Some(0), Some(1), into);
    let second = world.receive(1, Some(0), Some(2), room(&mut quick));
    for tag in [1, 2] {
        let sent = world.send(0, 1, tag, bytes(&data), Mode::Standard);
        world.wait(0, sent);
    }
    world.wait(1, second);
    rest(&mut world);
    assert_busy(&mut world, [false, true]);
    assert!(!world.engines[1].is_complete(first) && world.engines[1].busy());
    ready.store(true, Ordering::Relaxed);
    assert!(world.engines[1].progress() && world.engines[1].is_complete(first));
    assert_busy(&mut world, [false, false]);
    let done = world.wait(1, first);
    assert_eq!((done.bytes, done.truncated, &slow[..]), (80, true, &data[..80]));
    assert_eq!(quick[..], data);
    assert!(!world.engines[1].busy());
}

/// By rendezvous, each side waits for its own device.
#[test]
fn each_side_of_a_large_message_waits_for_its_device() {
    for on_device in [[true, false], [false, true], [true, true]] {
        let mut world = World::plain(2);
        let (data, mut got) = (pattern(1, 50_000), vec![0; 50_000]);
        let (mut from, mut packed) = (bytes(&data), Arc::default());
        let (mut into, mut unpacked) = (room(&mut got), Arc::default());
        if on_device[0] {
            (from, packed) = Slow::source(&data);
        }
        if on_device[1] {
            (into, unpacked) = Slow::target(&mut got);
        }
        let received = world.receive(1, Some(0), Some(1), into);
        let sent = world.send(0, 1, 1, from, Mode::Standard);
        rest(&mut world);
        assert_busy(&mut world, on_device);
        packed.store(true, Ordering::Relaxed);
        rest(&mut world);
        unpacked.store(true, Ordering::Relaxed);
        rest(&mut world);
        assert_busy(&mut world, [false, false]);
        assert_eq!((world.wait(0, sent).bytes, world.wait(1, received).bytes), (50_000, 50_000));
        assert!(got == data);
    }
}

/// Two engines, and the last of several sends by the first: it lacked credit, so the second has
/// begun to fetch it.
fn fetching(data: &[u8]) -> (World, RequestId) {
    let limits = Limits { eager_bytes: usize::MAX, unexpected_bytes: 4096 };
    let mut world = World::new(2, Manners { piece: 100, ..Manners::PLAIN }, limits);
    world.engines[1].grow_within(|| Headroom { free: 4 << 30, ranks: 1 });
    for _ in 0..4096 / data.len() {
        world.send(0, 1, 1, bytes(data), Mode::Standard);
    }
    let last = world.send(0, 1, 2, bytes(data), Mode::Standard);
    world.engines[1].progress();
    assert!(!world.engines[0].is_complete(last));
    (world, last)
}

/// A message that was postponed and is fetched: a receive into the memory of a device matches it
/// during the fetch, or after it.
#[test]
fn a_fetched_message_is_delivered_to_a_device() {
    for during in [true, false] {
        let data = pattern(3, 900);
        let (mut world, sent) = fetching(&data);
        if !during {
            rest(&mut world);
        }
        let mut got = [0; 900];
        let (into, ready) = Slow::target(&mut got);
        let received = world.receive(1, Some(0), Some(2), into);
        rest(&mut world);
        assert!(world.engines[0].take(sent).is_some() && !world.engines[1].is_complete(received));
        assert_busy(&mut world, [false, true]);
        ready.store(true, Ordering::Relaxed);
        let done = world.wait(1, received);
        assert_eq!((done.bytes, done.truncated, &got[..]), (900, false, &data[..]));
        assert_busy(&mut world, [false, false]);
    }
}

/// Two engines, the second of which has memory for messages that it fetches.
fn with_room() -> World {
    let limits = Limits { eager_bytes: 4096, unexpected_bytes: 1 << 20 };
    let mut world = World::new(2, Manners::PLAIN, limits);
    world.engines[1].grow_within(|| Headroom { free: 4 << 30, ranks: 1 });
    world
}

/// More rounds of progress than a message from a device waits for a receive.
fn long_after(world: &mut World) {
    (0..1000).for_each(|_| _ = world.progress());
}

/// A short standard send completes without its receive, as it would from host memory.
#[test]
fn a_short_send_from_a_device_does_not_wait_for_its_receive() {
    for (length, mode, alone) in [
        (0, Mode::Standard, true),
        (1, Mode::Standard, true),
        (8, Mode::Ready, true),
        (4096, Mode::Standard, true),
        (4097, Mode::Standard, false),
        (8, Mode::Synchronous, false),
    ] {
        let mut world = with_room();
        let (data, mut got) = (pattern(6, length), vec![0; length]);
        let sent = world.send(0, 1, 1, source(&data), mode);
        long_after(&mut world);
        assert_eq!(world.engines[0].is_complete(sent), alone, "{length} bytes, {mode:?}");
        assert_busy(&mut world, [!alone, false]);
        let received = world.receive(1, Some(0), Some(1), target(&mut got));
        assert_eq!(world.wait(1, received).bytes, length as u64);
        world.wait(0, sent);
        assert!(got == data);
        world.run_until_idle();
    }
}

/// A receive that comes soon gets the message straight from the device.
#[test]
fn a_short_message_from_a_device_waits_for_a_receive_that_comes_soon() {
    let mut world = with_room();
    let (data, mut got) = (pattern(7, 100), [0; 100]);
    let sent = world.send(0, 1, 1, source(&data), Mode::Standard);
    (0..10).for_each(|_| _ = world.progress());
    assert!(world.engines[1].is_device_busy() && !world.engines[0].is_complete(sent));
    let received = world.receive(1, Some(0), Some(1), room(&mut got));
    world.engines[1].progress();
    assert!(!world.engines[1].is_device_busy());
    assert_eq!((world.wait(1, received).bytes, &got[..]), (100, &data[..]));
    world.run_until_idle();
}

/// Nothing is fetched from a sender that is lost, or that takes its message back.
#[test]
fn a_short_message_from_a_device_may_end_before_it_is_fetched() {
    for is_lost in [true, false] {
        let mut world = with_room();
        let data = pattern(8, 100);
        let sent = world.send(0, 1, 1, source(&data), Mode::Standard);
        (0..10).for_each(|_| _ = world.progress());
        assert!(world.engines[1].is_device_busy());
        if is_lost {
            world.network.lose(0);
        } else {
            world.engines[0].cancel(sent);
        }
        (0..1000).for_each(|_| _ = world.engines[1].progress());
        assert!(!world.engines[1].is_device_busy() && !world.engines[1].busy());
        if !is_lost {
            assert!(world.wait(0, sent).cancelled);
        }
    }
}

/// A send from a device is withdrawn; a receive whose message has arrived completes as if it had
/// not been cancelled.
#[test]
fn operations_that_wait_for_a_device_are_cancelled() {
    let mut world = World::plain(2);
    let (data, mut got) = (pattern(4, 200), [0; 200]);
    let (from, _) = Slow::source(&data);
    let sent = world.send(0, 1, 1, from, Mode::Standard);
    rest(&mut world);
    world.engines[0].cancel(sent);
    assert!(world.wait(0, sent).cancelled);
    rest(&mut world);
    assert_busy(&mut world, [false, false]);

    let (into, ready) = Slow::target(&mut got);
    let received = world.receive(1, Some(0), Some(2), into);
    let sent = world.send(0, 1, 2, bytes(&data), Mode::Standard);
    world.wait(0, sent);
    rest(&mut world);
    world.engines[1].cancel(received);
    assert_busy(&mut world, [false, true]);
    ready.store(true, Ordering::Relaxed);
    let done = world.wait(1, received);
    assert_eq!((done.cancelled, done.bytes, &got[..]), (false, 200, &data[..]));
    world.run_until_idle();
}

/// A request that is freed while a device works for it completes in the background.
#[test]
fn a_receive_is_freed_while_a_device_is_busy() {
    for length in [200, 50_000] {
        let mut world = World::plain(2);
        let (data, mut got) = (pattern(5, length), vec![0; length]);
        let (into, ready) = Slow::target(&mut got);
        let received = world.receive(1, Some(0), Some(1), into);
        let sent = world.send(0, 1, 1, bytes(&data), Mode::Standard);
        rest(&mut world);
        world.engines[1].free_when_done(received);
        assert_busy(&mut world, [false, true]);
        assert!(world.engines[1].busy());
        ready.store(true, Ordering::Relaxed);
        world.run_until_idle();
        assert!(world.engines[0].take(sent).is_some() && world.engines[1].take(received).is_none());
        assert_busy(&mut world, [false, false]);
        assert!(got == data);
    }
}

#[test]
fn a_message_that_has_arrived_survives_its_sender() {
    let mut world = World::plain(2);
    let (data, mut got) = (pattern(2, 64), [0; 64]);
    let received = world.receive(1, Some(0), Some(1), target(&mut got));
    let sent = world.send(0, 1, 1, bytes(&data), Mode::Standard);
    world.wait(0, sent);
    world.engines[1].progress();
    assert!(!world.engines[1].is_complete(received));
    world.network.lose(0);
    let done = world.wait(1, received);
    assert_eq!((done.bytes, done.lost, &got[..]), (64, false, &data[..]));
}

/// Rounds of progress that have ended for the devices of this test.
static ROUNDS: AtomicUsize = AtomicUsize::new(0);

#[test]
fn a_round_in_which_something_waits_for_a_device_launches_its_work() {
    let mut world = World::plain(2);
    world.engines[1].launch_by(|| _ = ROUNDS.fetch_add(1, Ordering::Relaxed));
    let (data, mut got) = (pattern(1, 100), [0; 100]);
    let (into, ready) = Slow::target(&mut got);
    let received = world.receive(1, Some(0), Some(1), into);
    rest(&mut world);
    assert_eq!(ROUNDS.load(Ordering::Relaxed), 0);
    let sent = world.send(0, 1, 1, bytes(&data), Mode::Standard);
    world.wait(0, sent);
    rest(&mut world);
    let rounds = ROUNDS.load(Ordering::Relaxed);
    assert!(rounds > 0);
    assert_busy(&mut world, [false, true]);
    assert_eq!(ROUNDS.load(Ordering::Relaxed), rounds + 1);
    ready.store(true, Ordering::Relaxed);
    world.wait(1, received);
    assert_eq!(got[..], data);
}
