//! Many engines in one thread: rings, all-to-all, wildcards in arrival order, bursts from all
//! ranks.

mod support;

use support::{CONTEXT, World, bytes, pattern, peer, room};
use towpath_engine::testing::{Manners, TestNetwork};
use towpath_engine::{Engine, Limits, Mode, protocol};

const LIMITS: Limits = Limits { eager_bytes: usize::MAX, unexpected_bytes: 64 << 10 };

#[test]
fn a_ring_of_64_passes_tokens_of_every_size() {
    let mut world = World::new(64, Manners::ROUGH, LIMITS);
    for length in [0, 8, 800, 100_000] {
        let data: Vec<Vec<u8>> = (0..64).map(|rank| pattern(rank as u64, length)).collect();
        let mut got = vec![vec![0; length]; 64];
        let receives: Vec<_> = (0..64)
            .map(|me| world.receive(me, Some((me + 63) % 64), Some(1), room(&mut got[me])))
            .collect();
        let sends: Vec<_> = (0..64)
            .map(|me| world.send(me, (me + 1) % 64, 1, bytes(&data[me]), Mode::Standard))
            .collect();
        for me in 0..64 {
            assert_eq!(world.wait(me, receives[me]).source_rank as usize, (me + 63) % 64);
            world.wait(me, sends[me]);
            assert_eq!(got[me], data[(me + 63) % 64]);
        }
    }
    world.run_until_idle();
}

#[test]
fn all_to_all_with_unexpected_and_posted_halves() {
    const SIZE: usize = 24;
    let mut world = World::new(SIZE, Manners::ROUGH, LIMITS);
    let data: Vec<Vec<u8>> = (0..SIZE * SIZE).map(|i| pattern(i as u64, 10 + i * 3)).collect();
    let mut got: Vec<Vec<u8>> = data.iter().map(|d| vec![0; d.len()]).collect();
    let mut open = Vec::new();
    for half in 0..2 {
        for me in 0..SIZE {
            for other in 0..SIZE {
                if (me + other) % 2 == half {
                    let target = room(&mut got[other * SIZE + me]);
                    open.push((me, world.receive(me, Some(other), Some(other as i32), target)));
                }
                if half == 0 {
                    let source = bytes(&data[me * SIZE + other]);
                    open.push((me, world.send(me, other, me as i32, source, Mode::Standard)));
                }
            }
        }
        world.progress();
    }
    for (rank, request) in open {
        world.wait(rank, request);
    }
    assert_eq!(got, data);
    world.run_until_idle();
}

#[test]
fn any_source_takes_messages_in_order_of_arrival() {
    let mut world = World::plain(5);
    for sender in [3, 1, 4, 0, 2] {
        let sent = world.send(sender, 0, 9, bytes(&[sender as u8]), Mode::Standard);
        world.wait(sender, sent);
        world.engines[0].progress();
    }
    for sender in [3, 1, 4, 0, 2] {
        let mut got = [9];
        let request = world.receive(0, None, Some(9), room(&mut got));
        assert_eq!(world.wait(0, request).peer, peer(sender));
        assert_eq!(got, [sender as u8]);
    }
}

#[test]
fn floods_from_everywhere_are_bounded_and_arrive() {
    const SENDERS: usize = 16;
    const EACH: usize = 2000;
    let mut world = World::new(SENDERS + 1, Manners::PLAIN, LIMITS);
    let data = pattern(1, 100);
    let mut sends = Vec::new();
    for _ in 0..EACH {
        for me in 1..=SENDERS {
            sends.push((me, world.send(me, 0, 1, bytes(&data), Mode::Standard)));
        }
    }
    world.progress();
    let eager = sends.iter().filter(|(me, send)| world.engines[*me].is_complete(*send)).count();
    assert!(eager * (100 + protocol::MESSAGE_OVERHEAD) <= SENDERS * LIMITS.unexpected_bytes);
    let mut got = [0; 100];
    for _ in 0..EACH * SENDERS {
        let request = world.receive(0, None, Some(1), room(&mut got));
        world.wait(0, request);
        assert_eq!(got, data[..]);
    }
    for (me, send) in sends {
        world.wait(me, send);
    }
    world.run_until_idle();
}

#[test]
fn peers_appear_when_they_are_named() {
    let network = TestNetwork::new(40, Manners::PLAIN);
    let mut first = Engine::new(network.wire(0), LIMITS, 1);
    let mut last = Engine::new(network.wire(39), LIMITS, 0);
    let mut got = [0; 3];
    // SAFETY: the buffers are valid for three bytes, and both operations complete immediately.
    unsafe {
        assert!(first.try_send_now(peer(39), CONTEXT, 0, 0, [1u8, 2, 3].as_ptr(), 3).is_some());
        last.progress();
        assert!(last.try_receive_now(Some(peer(0)), CONTEXT, None, got.as_mut_ptr(), 3).is_some());
    }
    assert_eq!(got, [1, 2, 3]);
}
