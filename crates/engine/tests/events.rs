//! The events and counts of two ranks for messages of each protocol.

mod support;

use std::cell::RefCell;
use std::rc::Rc;

use support::{CONTEXT, World, bytes, pattern, peer, room};
use towpath_base::events::{Counters, Event};
use towpath_engine::testing::{Manners, TestNetwork, TestWire};
use towpath_engine::{Engine, Limits, Mode, protocol};
use towpath_transport::wrap::Observed;

const LIMITS: Limits = Limits { eager_bytes: usize::MAX, unexpected_bytes: 1 << 20 };

/// Header words of a message with tag 5 from rank 0.
const ENVELOPE: [u64; 2] = [CONTEXT.0, 5];

type Rank = Engine<Observed<TestWire, Vec<Event>>>;

fn ranks() -> [Rank; 2] {
    let network = TestNetwork::new(2, Manners::PLAIN);
    [0, 1].map(|me| Engine::new(Observed::new(network.wire(me), Vec::new()), LIMITS, 2))
}

/// Sends `length` bytes from rank 0 to a posted receive of rank 1; returns what the wires of both
/// have reported.
fn events_of_a_message(length: usize, mode: Mode) -> [Vec<Event>; 2] {
    let mut ranks = ranks();
    let data = pattern(1, length);
    let mut got = vec![0; length];
    // SAFETY: `data` and `got` outlive both requests, which are complete below.
    let (received, sent) = unsafe {
        (
            ranks[1].irecv(Some(peer(0)), CONTEXT, Some(5), room(&mut got)),
            ranks[0].isend(peer(1), CONTEXT, 5, 0, bytes(&data), mode),
        )
    };
    for _ in 0..10 {
        for rank in &mut ranks {
            rank.progress();
        }
    }
    assert!(ranks[0].take(sent).is_some() && ranks[1].take(received).is_some());
    assert_eq!(got, data);
    ranks.map(|mut rank| std::mem::take(rank.wire_mut().subscriber()))
}

/// A message from rank 0, as both wires see it.
fn message(protocol: u8, bytes: usize) -> [Event; 2] {
    let words = ENVELOPE;
    [
        Event::MessageSent { to: peer(1), protocol, words, bytes },
        Event::MessageArrived { from: peer(0), protocol, words, bytes },
    ]
}

#[test]
fn a_short_send_is_one_message() {
    let [sent, arrived] = message(protocol::EAGER, 8);
    assert_eq!(events_of_a_message(8, Mode::Standard), [vec![sent], vec![arrived]]);
}

#[test]
fn a_synchronous_send_is_acknowledged_once() {
    let [sender, receiver] = events_of_a_message(8, Mode::Synchronous);
    let [sent, arrived] = message(protocol::EAGER_SYNCHRONOUS, 8 + protocol::REQUEST_BYTES);
    assert_eq!((sender[0], receiver[0]), (sent, arrived));
    let [_, Event::MessageArrived { protocol: protocol::ACKNOWLEDGE, bytes: 0, .. }] = sender[..]
    else {
        panic!("{sender:?}")
    };
    let [_, Event::MessageSent { protocol: protocol::ACKNOWLEDGE, bytes: 0, .. }] = receiver[..]
    else {
        panic!("{receiver:?}")
    };
}

#[test]
fn a_rendezvous_is_an_announcement_and_a_pull() {
    let [sender, receiver] = events_of_a_message(100_000, Mode::Standard);
    let [sent, arrived] = message(protocol::ANNOUNCE, protocol::ANNOUNCEMENT_BYTES);
    let Event::RegionPublished { token, .. } = sender[0] else { panic!("{sender:?}") };
    let published = Event::RegionPublished { to: peer(1), token, bytes: 100_000 };
    assert_eq!(sender, [published, sent, Event::RegionReleased { token }]);
    let Event::PullStarted { token, .. } = receiver[1] else { panic!("{receiver:?}") };
    let started = Event::PullStarted { from: peer(0), token, bytes: 100_000 };
    assert_eq!(receiver, [arrived, started, Event::PullCompleted { token }]);
}

/// Engine and wire of the receiver report to one subscriber.
#[test]
fn a_subscriber_sees_events_in_order() {
    let network = TestNetwork::new(2, Manners::PLAIN);
    let mut sender = Engine::with_subscriber(network.wire(0), LIMITS, 2, ());
    let seen = Rc::new(RefCell::new(Vec::new()));
    let wire = Observed::new(network.wire(1), seen.clone());
    let mut receiver = Engine::with_subscriber(wire, LIMITS, 2, seen.clone());
    let [short, large] = [8, 100_000].map(|length| pattern(2, length));
    let [mut got, mut got_large] = [vec![0; 8], vec![0; 100_000]];
    // SAFETY: all buffers outlive the requests, which are complete below.
    let requests = unsafe {
        let source = bytes(&large);
        assert!(sender.try_send_now(peer(1), CONTEXT, 5, 0, short.as_ptr(), 8).is_some());
        let large = sender.isend(peer(1), CONTEXT, 5, 0, source, Mode::Standard);
        receiver.progress();
        let first = receiver.irecv(None, CONTEXT, None, room(&mut got));
        (large, first, receiver.irecv(None, CONTEXT, None, room(&mut got_large)))
    };
    while receiver.busy() || sender.busy() {
        receiver.progress();
        sender.progress();
    }
    assert!(sender.take(requests.0).is_some());
    assert!(receiver.take(requests.1).is_some() && receiver.take(requests.2).is_some());
    assert!((got, got_large) == (short, large));

    let from = peer(0);
    let [_, arrived] = message(protocol::EAGER, 8);
    let [_, announced] = message(protocol::ANNOUNCE, protocol::ANNOUNCEMENT_BYTES);
    let seen = seen.take();
    let Some(&Event::PullCompleted { token }) = seen.last() else { panic!("{seen:?}") };
    let expected = [
        arrived,
        Event::Unexpected { from, bytes: 8 },
        announced,
        Event::Unexpected { from, bytes: 100_000 },
        Event::Matched { from, bytes: 8, rendezvous: false },
        Event::Matched { from, bytes: 100_000, rendezvous: true },
        Event::PullStarted { from, token, bytes: 100_000 },
        Event::PullCompleted { token },
    ];
    assert_eq!(seen, expected);
}

#[test]
fn what_leaves_the_fast_path_is_counted() {
    // The wire holds five messages, and the credit suffices for four.
    let manners = Manners { capacity: 5, ..Manners::PLAIN };
    let credit = 4 * (100 + protocol::MESSAGE_OVERHEAD);
    let mut world = World::new(2, manners, Limits { unexpected_bytes: credit, ..LIMITS });
    let data = pattern(3, 5000);
    let mut got = vec![vec![0; 5000]; 8];
    let mut requests = Vec::new();
    // Four are eager, the fifth and sixth lack credit, the sixth lacks room too, and the last two
    // wait behind it. The seventh becomes eager when there is credit again.
    for length in [100, 100, 100, 100, 100, 100, 100, 5000] {
        requests.push(world.send(0, 1, 7, bytes(&data[..length]), Mode::Standard));
    }
    for _ in 0..10 {
        world.engines[1].progress();
    }
    let received: Vec<_> =
        got.iter_mut().map(|got| world.receive(1, Some(0), Some(7), room(got))).collect();
    for (sent, received) in requests.into_iter().zip(received) {
        world.wait(0, sent);
        world.wait(1, received);
    }

    let sender = Counters { queued_sends: 3, postponed_sends: 2, ..Counters::default() };
    assert_eq!(*world.engines[0].subscriber(), sender);
    let receiver = Counters {
        unexpected_messages: 5,
        unexpected_bytes: 500,
        rendezvous_messages: 3,
        rendezvous_bytes: 2 * 100 + 5000,
        ..Counters::default()
    };
    assert_eq!(*world.engines[1].subscriber(), receiver);
}

#[test]
fn the_fast_path_counts_nothing() {
    let mut world = World::plain(2);
    let (data, mut got) = (pattern(4, 8), vec![0; 8]);
    let received = world.receive(1, Some(0), Some(7), room(&mut got));
    let sent = world.send(0, 1, 7, bytes(&data), Mode::Standard);
    world.wait(0, sent);
    world.wait(1, received);
    for engine in &world.engines {
        assert_eq!(*engine.subscriber(), Counters::default());
    }
}
