//! What the wires of two ranks report while messages of each protocol pass.

mod support;

use support::{CONTEXT, bytes, pattern, peer, room};
use towpath_base::events::Event;
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
