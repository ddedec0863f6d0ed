//! Two engines in one thread: every protocol, and the rules of completion, truncation, probing,
//! cancelling and loss.

mod support;

use proptest::prelude::*;
use support::{CONTEXT, ContiguousPlace, World, bytes, packed, pattern, peer, room, unpacked};
use towpath_base::ids::ContextId;
use towpath_base::transfer::Target;
use towpath_engine::messages::Messages;
use towpath_engine::testing::Manners;
use towpath_engine::{EarlyOutcome, Engine, Limits, Mode, RequestId};
use towpath_shm::{Segment, Settings};
use towpath_transport::Wire;
use towpath_wires::Wires;

const LENGTHS: [usize; 9] = [0, 1, 8, 32, 40, 41, 4096, 4097, 1_000_000];

fn exchange(
    world: &mut World,
    to: usize,
    length: usize,
    mode: Mode,
    typed: bool,
    receive_first: bool,
) {
    let data = pattern(length as u64, length);
    let mut got = vec![0; length + 3];
    let target = |got: &mut [u8]| if typed { unpacked(got) } else { room(got) };
    let source = if typed { packed(&data, 13) } else { bytes(&data) };
    let (sent, received);
    if receive_first {
        received = world.receive(to, Some(0), Some(5), target(&mut got));
        sent = world.send(0, to, 5, source, mode);
    } else {
        sent = world.send(0, to, 5, source, mode);
        (0..3).for_each(|_| {
            world.progress();
        });
        if mode == Mode::Synchronous {
            assert!(
                !world.engines[0].is_complete(sent),
                "a synchronous send completes before its receive"
            );
        }
        received = world.receive(to, None, None, target(&mut got));
    }
    let done = world.wait(to, received);
    assert_eq!((done.peer, done.source_rank, done.tag, done.bytes), (peer(0), 0, 5, length as u64));
    assert!(!done.truncated && !done.cancelled && !done.lost);
    assert_eq!(got[..length], data);
    assert_eq!(got[length..], [0; 3]);
    assert_eq!(world.wait(0, sent).bytes, length as u64);
    world.run_until_idle();
}

#[test]
fn every_protocol_delivers() {
    for manners in [Manners::PLAIN, Manners::ROUGH] {
        let mut world =
            World::new(2, manners, Limits { eager_bytes: usize::MAX, unexpected_bytes: 1 << 20 });
        for length in LENGTHS {
            for mode in [Mode::Standard, Mode::Synchronous, Mode::Ready] {
                for choice in 0..8 {
                    let (typed, first, to) = (choice & 1 != 0, choice & 2 != 0, choice >> 2);
                    exchange(&mut world, to, length, mode, typed, first);
                }
            }
        }
    }
}

#[test]
fn the_immediate_path_needs_no_request() {
    let mut world = World::plain(2);
    for length in [0usize, 8, 40, 4096] {
        let data = pattern(3, length);
        let mut got = vec![0; length];
        // SAFETY: `data` and `got` are locals of `length` bytes.
        unsafe {
            let [a, b] = &mut world.engines[..] else { unreachable!() };
            assert!(a.try_send_now(peer(1), CONTEXT, 1, 0, data.as_ptr(), length).is_some());
            assert!(b.try_receive_now(None, CONTEXT, Some(1), got.as_mut_ptr(), length).is_none());
            b.progress();
            assert!(b.try_receive_now(None, CONTEXT, Some(2), got.as_mut_ptr(), length).is_none());
            let done = b.try_receive_now(None, CONTEXT, Some(1), got.as_mut_ptr(), length).unwrap();
            assert_eq!((done.bytes, done.tag, done.truncated), (length as u64, 1, false));
        }
        assert_eq!(got, data);
    }
    let large = vec![0; 4097];
    // SAFETY: `large` has 4097 bytes.
    let sent =
        unsafe { world.engines[0].try_send_now(peer(1), CONTEXT, 1, 0, large.as_ptr(), 4097) };
    assert!(sent.is_none());
}

#[test]
fn a_place_is_filled_without_a_request() {
    let mut world = World::plain(2);
    for (length, room) in [(0usize, 9usize), (8, 8), (40, 7), (41, 50), (4096, 4096), (4096, 4000)]
    {
        for waits in [true, false] {
            let data = pattern(5, length);
            let mut got = vec![0; room];
            let [a, b] = &mut world.engines[..] else { unreachable!() };
            // SAFETY: `slot` is writable for `length` bytes, and `data` has that many.
            let fill = |slot: *mut u8| unsafe {
                std::ptr::copy_nonoverlapping(data.as_ptr(), slot, length)
            };
            assert!(a.try_send_filled(peer(1), CONTEXT, 1, 0, length, fill).is_some());
            if waits {
                b.progress();
            }
            // SAFETY: `got` has `room` bytes and outlives the receive, which completes within the
            // call.
            let soon = unsafe {
                b.receive_soon_into(
                    None,
                    CONTEXT,
                    Some(1),
                    &ContiguousPlace(got.as_mut_ptr(), room),
                    5,
                )
            };
            let EarlyOutcome::Received(done) = soon else {
                panic!("the message of {length} bytes became a request")
            };
            let taken = length.min(room);
            assert_eq!((done.bytes, done.tag, done.truncated), (taken as u64, 1, length > room));
            assert!(got[..taken] == data[..taken] && got[taken..].iter().all(|byte| *byte == 0));
        }
    }
    let refused = world.engines[0]
        .try_send_filled(peer(1), CONTEXT, 1, 0, 4097, |_| panic!("it does not fit"));
    assert!(refused.is_none());
}

#[test]
fn long_messages_are_cut_and_reported() {
    for length in [9, 40, 100, 5000, 200_000] {
        for first in [true, false] {
            for capacity in [0, 1, 8] {
                let mut world = World::plain(2);
                let data = pattern(9, length);
                let mut got = vec![0xee; capacity + 1];
                let cut = Target::Bytes { pointer: got.as_mut_ptr(), length: capacity };
                let (sent, received);
                if first {
                    received = world.receive(1, None, None, cut);
                    sent = world.send(0, 1, 0, bytes(&data), Mode::Standard);
                } else {
                    sent = world.send(0, 1, 0, bytes(&data), Mode::Standard);
                    world.progress();
                    received = world.receive(1, None, None, cut);
                }
                let done = world.wait(1, received);
                assert!(done.truncated);
                assert_eq!(done.bytes, capacity as u64);
                assert_eq!((&got[..capacity], got[capacity]), (&data[..capacity], 0xee));
                world.wait(0, sent);
                world.run_until_idle();
            }
        }
    }
}

#[test]
fn probes_tell_and_matched_probes_take() {
    for length in [4, 100, 100_000] {
        let mut world = World::plain(2);
        let data = pattern(1, length);
        let sends: Vec<_> =
            (0..2).map(|_| world.send(0, 1, 7, bytes(&data), Mode::Standard)).collect();
        assert!(world.engines[1].iprobe(None, CONTEXT, None).is_none(), "probes make no progress");
        world.progress();
        let seen = world.engines[1].iprobe(Some(peer(0)), CONTEXT, Some(7)).unwrap();
        assert_eq!(
            (seen.peer, seen.source_rank, seen.tag, seen.bytes),
            (peer(0), 0, 7, length as u64)
        );
        let (message, same) = world.engines[1].improbe(None, CONTEXT, Some(7)).unwrap();
        assert_eq!(seen, same);
        let (mut first, mut second) = (vec![0; length], vec![0; length]);
        let later = world.receive(1, Some(0), Some(7), room(&mut second));
        // SAFETY: `first` lives until the request is complete.
        let request = unsafe { world.engines[1].imrecv(message, room(&mut first)) }.unwrap();
        // SAFETY: the target has no bytes, and the handle is stale, so nothing is received.
        assert!(unsafe { world.engines[1].imrecv(message, room(&mut [])) }.is_none());
        assert_eq!(world.wait(1, request).bytes, length as u64);
        assert_eq!(world.wait(1, later).bytes, length as u64);
        assert_eq!((&first, &second), (&data, &data));
        for send in sends {
            world.wait(0, send);
        }
        assert!(world.engines[1].iprobe(None, CONTEXT, None).is_none());
    }
}

#[test]
fn receives_are_cancelled_until_matched() {
    let mut world = World::plain(2);
    let mut got = [0u8; 8];
    let request = world.receive(1, Some(0), Some(1), room(&mut got));
    world.engines[1].cancel(request);
    assert!(world.wait(1, request).cancelled);
    let request = world.receive(1, Some(0), Some(1), room(&mut got));
    let sent = world.send(0, 1, 1, bytes(&[7; 8]), Mode::Standard);
    world.progress();
    world.engines[1].cancel(request);
    let done = world.wait(1, request);
    assert!(!done.cancelled);
    assert_eq!((done.bytes, got), (8, [7; 8]));
    world.wait(0, sent);
}

#[test]
fn sends_are_cancelled_until_matched() {
    for length in [8, 1000, 100_000] {
        for mode in [Mode::Standard, Mode::Synchronous] {
            let mut world = World::plain(2);
            let data = pattern(2, length);
            let mut got = vec![0; length];
            let kept = world.send(0, 1, 1, bytes(&data), mode);
            let dropped = world.send(0, 1, 1, bytes(&data), mode);
            world.engines[0].cancel(dropped);
            assert!(world.wait(0, dropped).cancelled);
            let received = world.receive(1, Some(0), Some(1), room(&mut got));
            assert_eq!(world.wait(1, received).bytes, length as u64);
            world.engines[0].cancel(kept);
            assert!(!world.wait(0, kept).cancelled, "a matched send cannot be cancelled");
            world.run_until_idle();
            assert!(world.engines[1].iprobe(None, CONTEXT, None).is_none());
            assert!(!world.engines[0].busy());
        }
    }
}

#[test]
fn freed_requests_finish_by_themselves() {
    let mut world = World::plain(2);
    let data = pattern(2, 50_000);
    let mut got = vec![0; 50_000];
    let sent = world.send(0, 1, 1, bytes(&data), Mode::Standard);
    let received = world.receive(1, Some(0), Some(1), room(&mut got));
    world.engines[0].free_when_done(sent);
    world.engines[1].free_when_done(received);
    assert!(world.engines[0].busy());
    world.run_until_idle();
    assert_eq!(got, data);
    assert!(world.engines[0].take(sent).is_none() && world.engines[1].take(received).is_none());
}

#[test]
fn a_message_to_oneself_is_taken_back_without_a_journey() {
    let mut world = World::plain(2);
    for length in LENGTHS {
        let data = pattern(9, length);
        for (mode, delivered) in
            [(Mode::Standard, true), (Mode::Synchronous, true), (Mode::Standard, false)]
        {
            let send = world.send(1, 1, 3, bytes(&data), mode);
            while delivered && world.engines[1].iprobe(None, CONTEXT, None).is_none() {
                world.engines[1].progress();
            }
            world.engines[1].cancel(send);
            if !delivered {
                // The message and the cancel request arrive together.
                world.engines[1].progress();
            }
            let done = world.engines[1].take(send).expect("answered at once");
            assert!(done.cancelled, "{length} bytes, {mode:?}, delivered: {delivered}");
            world.run_until_idle();
            assert!(world.engines[1].iprobe(None, CONTEXT, None).is_none());
        }
    }
}

#[test]
fn a_send_announced_to_a_dead_process_of_the_host_is_lost() {
    let file = tempfile::tempfile().expect("a temporary file");
    let segment = Segment::map(&file, 2, 0).expect("room for the segment");
    let limits = Limits { eager_bytes: 0, unexpected_bytes: 1 << 20 };
    let mut engine = Engine::new(Wires::with_settings(segment, Settings::default()), limits, 2);
    let data = pattern(3, 50_000);
    // SAFETY: `data` outlives the sends, which are all complete at the end.
    let mut send = || unsafe { engine.isend(peer(1), CONTEXT, 1, 0, bytes(&data), Mode::Standard) };
    // More sends than bounce buffers: some messages are already copied into one, others are only
    // announced.
    let sends: Vec<RequestId> = (0..20).map(|_| send()).collect();
    engine.progress();
    engine.wire_mut().mark_lost(peer(1));
    engine.progress();
    for send in sends {
        assert!(engine.take(send).expect("nothing waits for a dead process").lost);
    }
    assert!(!engine.busy());
}

#[test]
fn a_lost_peer_ends_what_needs_it() {
    let mut world = World::plain(3);
    let data = pattern(2, 50_000);
    let mut got = vec![0; 50_000];
    let early = world.send(2, 0, 4, bytes(&data[..8]), Mode::Standard);
    let announced = world.send(0, 2, 1, bytes(&data), Mode::Standard);
    let synchronous = world.send(0, 2, 1, bytes(&data[..8]), Mode::Synchronous);
    let exact = world.receive(0, Some(2), Some(1), room(&mut got));
    let wildcard = world.receive(0, None, Some(1), room(&mut got));
    world.engines[2].free_when_done(early);
    world.network.lose(2);
    world.engines[0].progress();
    for request in [announced, synchronous, exact] {
        assert!(world.engines[0].take(request).unwrap().lost);
    }
    let late = world.send(0, 2, 1, bytes(&data), Mode::Standard);
    assert!(world.engines[0].take(late).unwrap().lost);
    let mut eight = [0; 8];
    assert!(
        world.engines[0].iprobe(Some(peer(2)), CONTEXT, Some(4)).is_some(),
        "what arrived before can be probed"
    );
    let arrived = world.receive(0, Some(2), Some(4), room(&mut eight));
    assert!(!world.engines[0].take(arrived).unwrap().lost, "what arrived before can be received");
    let never = world.receive(0, Some(2), Some(4), room(&mut eight));
    assert!(world.engines[0].take(never).unwrap().lost);
    let in_vain = [Some(peer(2)), Some(peer(1)), None]
        .map(|from| world.engines[0].probes_in_vain(from, CONTEXT));
    assert_eq!(in_vain, [Some(peer(2)), None, None]);
    let from_one = world.send(1, 0, 1, bytes(&data), Mode::Standard);
    assert_eq!(world.wait(0, wildcard).peer, peer(1));
    world.wait(1, from_one);
    assert!(!world.engines[0].busy());
}

/// A world in which process 2 may send in [`CONTEXT`] but in no other context.
fn world_of_members() -> World {
    let mut world = World::plain(3);
    world.engines[0].ask_members(|context, _| context == CONTEXT);
    world
}

const ELSEWHERE: ContextId = ContextId(0x20);

#[test]
fn a_failed_peer_ends_receives_from_any_source_where_it_might_send() {
    let mut world = world_of_members();
    let (mut one, mut other) = ([0; 8], [0; 8]);
    // More than the front of the queue holds, so that some are binned.
    let waiting: Vec<_> =
        (0..100).map(|tag| world.receive(0, None, Some(tag), room(&mut one))).collect();
    // SAFETY: `other` lives until the end of the test.
    let apart = unsafe { world.engines[0].irecv(None, ELSEWHERE, None, room(&mut other)) };
    world.network.lose(2);
    world.engines[0].progress();
    for receive in waiting {
        let completion = world.engines[0].take(receive).expect("a member has failed");
        assert!(completion.lost && completion.peer == peer(2));
    }
    assert!(!world.engines[0].is_complete(apart));
    assert_eq!(world.engines[0].probes_in_vain(None, CONTEXT), Some(peer(2)));
    assert_eq!(world.engines[0].probes_in_vain(None, ELSEWHERE), None);
    let late = world.receive(0, None, Some(1), room(&mut one));
    assert!(world.engines[0].take(late).unwrap().lost);
    let kept = world.send(1, 0, 1, bytes(&[7; 8]), Mode::Standard);
    world.engines[0].progress();
    let matched = world.receive(0, None, Some(1), room(&mut one));
    assert!(!world.wait(0, matched).lost, "what has arrived is received");
    world.wait(1, kept);
    assert_eq!(one, [7; 8]);
}

#[test]
fn a_peer_that_leaves_in_order_ends_no_receive_from_any_source() {
    let mut world = world_of_members();
    let mut got = [0; 8];
    let wildcard = world.receive(0, None, Some(1), room(&mut got));
    let exact = world.receive(0, Some(2), Some(1), room(&mut got));
    world.network.leave(2);
    world.engines[0].progress();
    assert!(world.engines[0].take(exact).expect("nothing more comes from it").lost);
    assert_eq!(world.engines[0].probes_in_vain(None, CONTEXT), None);
    let sent = world.send(1, 0, 1, bytes(&[7; 8]), Mode::Standard);
    assert_eq!(world.wait(0, wildcard).peer, peer(1));
    world.wait(1, sent);
}

#[test]
fn a_flood_stays_within_its_credit() {
    const LIMIT: usize = 64 << 10;
    let mut world =
        World::new(2, Manners::PLAIN, Limits { eager_bytes: usize::MAX, unexpected_bytes: LIMIT });
    for length in [0, 8, 1000] {
        let data = pattern(1, length);
        let sends: Vec<_> =
            (0..5000).map(|_| world.send(0, 1, 1, bytes(&data), Mode::Standard)).collect();
        world.progress();
        let eager = sends.iter().filter(|send| world.engines[0].is_complete(**send)).count();
        assert!(
            eager * (length + towpath_engine::protocol::MESSAGE_OVERHEAD) <= LIMIT,
            "{eager} of {length}"
        );
        assert!(eager > 30, "{eager} of {length}");
        let mut got = vec![0; length];
        for _ in 0..5000 {
            let request = world.receive(1, Some(0), Some(1), room(&mut got));
            assert_eq!(world.wait(1, request).bytes, length as u64);
        }
        for send in sends {
            world.wait(0, send);
        }
        world.run_until_idle();
    }
}

#[test]
fn patterns_send_and_receive_by_tickets() {
    let mut world = World::plain(2);
    for length in [0, 8, 100_000] {
        let data = pattern(6, length);
        let mut got = vec![0; length];
        // SAFETY: `data` and `got` live until both tickets are complete.
        let (send, receive) = unsafe {
            (
                world.engines[0].start_send(peer(1), CONTEXT, 3, 77, bytes(&data)),
                world.engines[1].start_receive(peer(0), CONTEXT, 3, room(&mut got)),
            )
        };
        let mut outcome = (None, None);
        while outcome.0.is_none() || outcome.1.is_none() {
            outcome.0 = outcome.0.or_else(|| world.engines[0].poll(send));
            outcome.1 = outcome.1.or_else(|| world.engines[1].poll(receive));
            world.progress();
        }
        assert_eq!(outcome.0.map(|o| (o.bytes, o.truncated, o.lost)), Some((length, false, false)));
        assert_eq!(outcome.1.map(|o| o.immediate), Some(77));
        assert_eq!(outcome.1.map(|o| (o.bytes, o.truncated, o.lost)), Some((length, false, false)));
        assert_eq!(got, data);
    }
}

/// A collective that has failed leaves no receive to which a later message could be written, and
/// finds the message that nothing matches.
#[test]
fn a_receive_is_withdrawn_until_a_message_matches_it() {
    let mut world = World::plain(2);
    let (data, mut got, mut none) = (pattern(6, 64), vec![0; 64], vec![0; 64]);
    let receiver = &mut world.engines[1];
    // SAFETY: `none` and `got` live until the tickets are withdrawn or complete.
    let (withdrawn, matched) = unsafe {
        (
            receiver.start_receive(peer(0), CONTEXT, 3, room(&mut none)),
            receiver.start_receive(peer(0), CONTEXT, 4, room(&mut got)),
        )
    };
    assert!(receiver.withdraw(withdrawn));
    for (tag, word) in [(3, 7), (5, 8), (4, 9)] {
        let sender = &mut world.engines[0];
        // SAFETY: `data` lives until the ticket is complete.
        let send = unsafe { sender.start_send(peer(1), CONTEXT, tag, word, bytes(&data)) };
        world.run_until_idle();
        assert!(world.engines[0].poll(send).is_some());
    }
    assert!(!world.engines[1].withdraw(matched), "a message has matched it");
    assert_eq!(world.engines[1].poll(matched).map(|outcome| outcome.immediate), Some(9));
    assert_eq!((got, none), (data, vec![0; 64]));
    let find = |wanted: &dyn Fn(i32, u32) -> bool| world.engines[1].find_unmatched(CONTEXT, wanted);
    assert_eq!(find(&|tag, _| tag == 3), Some((peer(0), 7)), "the receive is gone");
    assert_eq!(find(&|tag, _| tag == 5), None, "its sender has an older one that waits");
    assert_eq!(find(&|_, _| false), None);
}

proptest! {
    #[test]
    fn any_mix_of_sizes_arrives_in_order(
        lengths in prop::collection::vec(prop_oneof![0..64usize, 0..2000usize, 0..50_000usize], 1..40),
        seed in 0..1000u64,
        limit in prop_oneof![Just(0usize), Just(2000), Just(1 << 20)],
    ) {
        let limits = Limits { eager_bytes: usize::MAX, unexpected_bytes: limit };
        let mut world = World::new(2, Manners { seed, ..Manners::ROUGH }, limits);
        let data: Vec<Vec<u8>> = lengths.iter().enumerate().map(|(i, n)| pattern(i as u64, *n)).collect();
        let sends: Vec<_> = data.iter().map(|d| world.send(0, 1, 1, bytes(d), Mode::Standard)).collect();
        for expected in &data {
            let mut got = vec![0; 50_000];
            let request = world.receive(1, Some(0), None, room(&mut got));
            let done = world.wait(1, request);
            prop_assert_eq!(&got[..done.bytes as usize], &expected[..]);
        }
        for send in sends {
            world.wait(0, send);
        }
        world.run_until_idle();
    }
}
