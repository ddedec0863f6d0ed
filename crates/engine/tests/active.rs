//! Active messages: handlers, replies, order, back-pressure, handlers that are set late, lost
//! peers.

mod support;

use std::sync::{Arc, Mutex};

use support::{CONTEXT, PATIENCE, World, bytes, pattern, peer, room};
use towpath_engine::testing::Manners;
use towpath_engine::{ACTIVE_BYTES, ActiveId, Limits, Mode};

const ADD: ActiveId = ActiveId(3);
const ANSWER: ActiveId = ActiveId(200);

/// What handlers have received, in order: sender, argument, payload.
type Log = Arc<Mutex<Vec<(u32, u64, Vec<u8>)>>>;

fn rough(size: usize) -> World {
    World::new(size, Manners::ROUGH, Limits { eager_bytes: usize::MAX, unexpected_bytes: 1 << 20 })
}

/// Makes a rank log the active messages with this id.
fn log(world: &mut World, rank: usize, id: ActiveId) -> Log {
    let log = Log::default();
    let kept = log.clone();
    let note = move |message: towpath_engine::ActiveMessage<'_>,
                     _: &mut towpath_engine::Replies<'_>| {
        kept.lock().unwrap().push((message.from.0, message.argument, message.payload.to_vec()));
    };
    world.engines[rank].handle_active(id, Box::new(note));
    log
}

fn until(world: &mut World, mut done: impl FnMut(&World) -> bool) {
    for _ in 0..PATIENCE {
        if done(world) {
            return;
        }
        world.progress();
    }
    panic!("it waits for ever");
}

#[test]
fn messages_of_every_length_reach_their_handler_in_order() {
    for mut world in [World::plain(2), rough(2)] {
        let got = log(&mut world, 1, ADD);
        let lengths = [0, 1, 40, 41, ACTIVE_BYTES];
        let sent: Vec<_> =
            (0..200).map(|turn| (0, turn, pattern(turn, lengths[turn as usize % 5]))).collect();
        for (_, turn, payload) in &sent {
            world.engines[0].send_active(peer(1), ADD, *turn, payload);
        }
        until(&mut world, |world| {
            got.lock().unwrap().len() == sent.len() && !world.engines[0].busy()
        });
        assert_eq!(*got.lock().unwrap(), sent);
    }
}

#[test]
fn a_handler_replies_to_the_sender_and_to_others() {
    for mut world in [World::plain(3), rough(3)] {
        let forward = |message: towpath_engine::ActiveMessage<'_>,
                       replies: &mut towpath_engine::Replies<'_>| {
            replies.send(message.from, ANSWER, message.argument + 1, message.payload);
            replies.send(peer(2), ANSWER, message.argument + 2, &[]);
        };
        world.engines[1].handle_active(ADD, Box::new(forward));
        let (first, second) = (log(&mut world, 0, ANSWER), log(&mut world, 2, ANSWER));
        for turn in 0..50 {
            world.engines[0].send_active(peer(1), ADD, 10 * turn, b"twelve bytes");
        }
        until(&mut world, |_| first.lock().unwrap().len() + second.lock().unwrap().len() == 100);
        let expected = |more: u64, payload: &[u8]| -> Vec<(u32, u64, Vec<u8>)> {
            (0..50).map(|turn| (1, 10 * turn + more, payload.to_vec())).collect()
        };
        let expected = [expected(1, b"twelve bytes"), expected(2, b"")];
        assert_eq!([first.lock().unwrap().clone(), second.lock().unwrap().clone()], expected);
    }
}

#[test]
fn active_messages_and_sends_of_a_pair_keep_their_order() {
    let mut world = rough(2);
    let got = log(&mut world, 1, ADD);
    let data = pattern(1, 300);
    for turn in 0..100u64 {
        let sent = world.send(0, 1, turn as i32, bytes(&data), Mode::Standard);
        world.engines[0].send_active(peer(1), ADD, turn, &[]);
        world.engines[0].free_when_done(sent);
    }
    let mut seen = 0;
    while seen < 100 {
        world.progress();
        let handled = got.lock().unwrap().len();
        for turn in seen..handled {
            // The send preceded the active message, so it must have arrived already.
            let envelope = world.engines[1].iprobe(Some(peer(0)), CONTEXT, Some(turn as i32));
            assert!(envelope.is_some(), "active message {turn} has overtaken the send before it");
        }
        seen = handled;
    }
    for turn in 0..100 {
        let mut into = vec![0; 300];
        let received = world.receive(1, Some(0), Some(turn), room(&mut into));
        world.wait(1, received);
        assert_eq!(into, data);
    }
}

#[test]
fn a_handler_that_comes_late_gets_what_has_arrived() {
    let mut world = rough(2);
    for turn in 0..20 {
        world.engines[0].send_active(peer(1), ADD, turn, b"early");
        world.engines[0].send_active(peer(1), ANSWER, turn, b"another name");
    }
    until(&mut world, |world| !world.engines[0].busy());
    (0..1000).for_each(|_| {
        world.progress();
    });
    let got = log(&mut world, 1, ADD);
    let arguments: Vec<u64> =
        got.lock().unwrap().iter().map(|(_, argument, _)| *argument).collect();
    assert_eq!(arguments, (0..20).collect::<Vec<_>>());
    assert_eq!(log(&mut world, 1, ANSWER).lock().unwrap().len(), 20);
}

#[test]
fn messages_to_a_lost_peer_are_dropped() {
    let mut world =
        World::new(2, Manners { capacity: 2, ..Manners::PLAIN }, Limits::from_settings());
    for turn in 0..10 {
        world.engines[0].send_active(peer(1), ADD, turn, b"waits for room");
    }
    assert!(world.engines[0].busy());
    world.network.lose(1);
    let engine = &mut world.engines[0];
    (0..10).for_each(|_| {
        engine.progress();
    });
    engine.send_active(peer(1), ADD, 11, b"too late");
    assert!(!engine.busy());
}

#[test]
#[should_panic(expected = "an active message of 513 bytes; it has at most 512")]
fn a_longer_message_is_refused() {
    World::plain(2).engines[0].send_active(peer(1), ADD, 0, &[0; ACTIVE_BYTES + 1]);
}
