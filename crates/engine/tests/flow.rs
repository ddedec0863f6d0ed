//! Flow control: credit that grows with the available memory, messages that are fetched before they
//! are matched, and messages of closed contexts.

mod support;

use std::sync::Arc;

use support::{CONTEXT, World, bytes, pattern, peer, room};
use towpath_base::sync::{AtomicU64, Ordering};
use towpath_engine::protocol::MESSAGE_OVERHEAD;
use towpath_engine::testing::Manners;
use towpath_engine::{Headroom, Limits, Mode, RequestId};

/// Initial credit of every sender.
const FIRST: usize = 64 << 10;
const PLENTY: u64 = 8 << 30;

/// Engines whose senders get more credit while memory is available.
fn growing(size: usize, manners: Manners) -> (World, Arc<AtomicU64>) {
    let mut world =
        World::new(size, manners, Limits { eager_bytes: usize::MAX, unexpected_bytes: FIRST });
    let free = Arc::new(AtomicU64::new(PLENTY));
    for engine in &mut world.engines {
        let free = free.clone();
        engine.grow_within(move || Headroom { free: free.load(Ordering::Relaxed), ranks: 4 });
    }
    (world, free)
}

fn flood(world: &mut World, from: usize, count: usize, data: &[u8]) -> Vec<RequestId> {
    (0..count).map(|_| world.send(from, 0, 1, bytes(data), Mode::Standard)).collect()
}

/// Number of these sends that are complete.
fn through(world: &World, from: usize, sends: &[RequestId]) -> usize {
    sends.iter().filter(|send| world.engines[from].is_complete(**send)).count()
}

fn receive_all(world: &mut World, from: usize, count: usize, data: &[u8]) {
    for _ in 0..count {
        let mut got = vec![0; data.len()];
        let request = world.receive(0, Some(from), Some(1), room(&mut got));
        assert_eq!(world.wait(0, request).bytes, data.len() as u64);
        assert_eq!(got, data);
    }
}

#[test]
fn what_nobody_receives_is_kept_while_there_is_memory() {
    for manners in [Manners::PLAIN, Manners { seed: 5, ..Manners::ROUGH }] {
        for length in [0, 4, 40, 700] {
            let (mut world, _) = growing(4, manners);
            let data = pattern(1, length);
            let sends: Vec<_> = (1..4).map(|from| flood(&mut world, from, 5000, &data)).collect();
            world.run_until_idle();
            for (from, sends) in (1..).zip(&sends) {
                assert_eq!(through(&world, from, sends), 5000, "of {length} bytes from {from}");
            }
            (1..4).for_each(|from| receive_all(&mut world, from, 5000, &data));
            world.run_until_idle();
        }
    }
}

#[test]
fn without_memory_senders_wait_and_everything_arrives() {
    let (mut world, free) = growing(3, Manners::PLAIN);
    free.store(1 << 20, Ordering::Relaxed);
    let data = pattern(2, 100);
    let sends = [flood(&mut world, 1, 3000, &data), flood(&mut world, 2, 3000, &data)];
    (0..1000).for_each(|_| {
        world.progress();
    });
    for (from, sends) in (1..).zip(&sends) {
        assert!(through(&world, from, sends) * (100 + MESSAGE_OVERHEAD) <= FIRST);
        assert_eq!(world.engines[from].held_up(), Some((peer(0), false)));
    }
    assert!(world.engines[0].may_be_held_up());
    receive_all(&mut world, 2, 3000, &data);
    // Memory becomes available again: the first sender need not wait for its receives.
    free.store(PLENTY, Ordering::Relaxed);
    world.engines[0].look_for_room();
    (0..10_000).for_each(|_| {
        world.progress();
    });
    assert_eq!(through(&world, 1, &sends[0]), 3000);
    assert_eq!(world.engines[1].held_up(), None);
    receive_all(&mut world, 1, 3000, &data);
    world.run_until_idle();
}

#[test]
fn little_memory_is_divided_and_not_overdrawn() {
    let (mut world, free) = growing(9, Manners::PLAIN);
    // 64 MiB are reserved for the application; of the 8 MiB above that at most half is granted.
    let spare = 8 << 20;
    free.store((64 << 20) + spare, Ordering::Relaxed);
    let data = pattern(3, 960);
    let sends: Vec<_> = (1..9).map(|from| flood(&mut world, from, 4000, &data)).collect();
    (0..1000).for_each(|_| {
        world.progress();
    });
    let kept: usize =
        (1..9).map(|from| through(&world, from, &sends[from - 1])).sum::<usize>() * 1024;
    assert!(kept > 8 * FIRST + (256 << 10), "{kept} bytes");
    assert!(kept <= 8 * FIRST + spare as usize, "{kept} bytes");
    (1..9).for_each(|from| receive_all(&mut world, from, 4000, &data));
    world.run_until_idle();
}

#[test]
fn credit_that_a_sender_does_not_need_goes_to_another() {
    let (mut world, free) = growing(41, Manners::PLAIN);
    // 512 KiB may be granted and unused, which is less than what the first ten senders leave unused
    // of their grants.
    free.store((64 << 20) + (8 << 20), Ordering::Relaxed);
    let data = pattern(3, 960);
    for from in 1..41 {
        let sends = flood(&mut world, from, FIRST / 1024 + 10, &data);
        world.run_until_idle();
        assert_eq!(through(&world, from, &sends), sends.len(), "from {from}");
    }
    for from in 1..41 {
        receive_all(&mut world, from, FIRST / 1024 + 10, &data);
    }
    world.run_until_idle();
}

#[test]
fn many_senders_may_send_a_hundred_thousand_messages_of_a_kilobyte() {
    const SENDERS: usize = 47;
    let limits = Limits { eager_bytes: usize::MAX, unexpected_bytes: 1 << 20 };
    let mut world = World::new(SENDERS + 1, Manners::PLAIN, limits);
    world.engines[0].grow_within(|| Headroom { free: 400 << 20, ranks: 48 });
    let data = pattern(3, 1024);
    let each = 100_000_usize.div_ceil(SENDERS);
    let mut sends = vec![Vec::new(); SENDERS + 1];
    // In turns of different lengths, so that some senders finish long before others.
    while sends[1..].iter().any(|sends: &Vec<RequestId>| sends.len() < each) {
        for (from, sends) in sends.iter_mut().enumerate().skip(1) {
            let count = (17 * from).min(each - sends.len());
            sends.extend(flood(&mut world, from, count, &data));
            world.progress();
        }
    }
    world.run_until_idle();
    for (from, sends) in sends.iter().enumerate().skip(1) {
        assert_eq!(through(&world, from, sends), each, "from {from}");
    }
    (1..=SENDERS).for_each(|from| receive_all(&mut world, from, each, &data));
}

#[test]
fn credit_beyond_the_first_ends_with_the_flood() {
    let (mut world, free) = growing(2, Manners::PLAIN);
    let data = pattern(4, 100);
    let sends = flood(&mut world, 1, 20_000, &data);
    world.run_until_idle();
    assert_eq!(through(&world, 1, &sends), 20_000);
    receive_all(&mut world, 1, 20_000, &data);
    // The last grant is still unused and belongs to the sender; a second burst uses it up.
    free.store(0, Ordering::Relaxed);
    for last in [false, true] {
        let sends = flood(&mut world, 1, 60_000, &data);
        (0..100).for_each(|_| {
            world.progress();
        });
        let kept = through(&world, 1, &sends) * (100 + MESSAGE_OVERHEAD);
        assert!(kept <= if last { FIRST } else { 8 << 20 }, "{kept} bytes");
        receive_all(&mut world, 1, 60_000, &data);
    }
    world.run_until_idle();
}

/// A world in which the last of several sends from rank 1 is announced, and rank 0 is about to
/// fetch it.
fn fetching(length: usize) -> (World, Vec<RequestId>, Vec<u8>) {
    let (mut world, free) = growing(2, Manners { piece: 7, delay: 1, seed: 9, ..Manners::PLAIN });
    free.store(0, Ordering::Relaxed);
    let data = pattern(6, length);
    let count = FIRST / (length + MESSAGE_OVERHEAD) + 1;
    let sends = flood(&mut world, 1, count, &data);
    (0..50).for_each(|_| {
        world.progress();
    });
    assert_eq!(through(&world, 1, &sends), count - 1);
    free.store(PLENTY, Ordering::Relaxed);
    world.engines[0].look_for_room();
    (world, sends, data)
}

#[test]
fn a_message_is_received_while_it_is_fetched() {
    for probed in [false, true] {
        let (mut world, sends, data) = fetching(900);
        receive_all(&mut world, 1, sends.len() - 1, &data);
        let mut got = vec![0; 500];
        let request = if probed {
            let (message, seen) = world.engines[0].improbe(None, CONTEXT, None).unwrap();
            assert_eq!(seen.bytes, 900);
            // SAFETY: `got` lives until the request is complete.
            unsafe { world.engines[0].imrecv(message, room(&mut got)) }.unwrap()
        } else {
            world.receive(0, None, None, room(&mut got))
        };
        let done = world.wait(0, request);
        assert_eq!(
            (done.bytes, done.truncated, done.peer, &got[..]),
            (500, true, peer(1), &data[..500])
        );
        world.run_until_idle();
        assert_eq!(through(&world, 1, &sends), sends.len());
    }
}

#[test]
fn a_fetched_message_cannot_be_cancelled() {
    for rounds in [0, 1, 2, 1000] {
        let (mut world, sends, data) = fetching(300);
        for _ in 0..rounds {
            world.progress();
        }
        let last = sends[sends.len() - 1];
        world.engines[1].cancel(last);
        assert!(!world.wait(1, last).cancelled);
        receive_all(&mut world, 1, sends.len(), &data);
        world.run_until_idle();
    }
}

#[test]
fn a_sender_is_lost_while_its_message_is_fetched() {
    for way in 0..4 {
        let (mut world, sends, data) = fetching(900);
        receive_all_kept(&mut world, sends.len() - 1, &data);
        let mut got = vec![0; 900];
        let mut named = None;
        let mut request = None;
        match way {
            0 => request = Some(world.receive(0, Some(1), None, room(&mut got))),
            1 => named = world.engines[0].improbe(None, CONTEXT, None).map(|found| found.0),
            _ => {}
        }
        world.network.lose(1);
        for _ in 0..20 {
            world.engines[0].progress();
        }
        if let Some(message) = named {
            // SAFETY: `got` lives until the request is complete.
            request = unsafe { world.engines[0].imrecv(message, room(&mut got)) };
        }
        let request = request.unwrap_or_else(|| world.receive(0, Some(1), None, room(&mut got)));
        assert!(world.engines[0].take(request).expect("nobody sends it any more").lost);
        assert!(!world.engines[0].busy());
    }
}

/// Receives messages that have already arrived, without progress of the fetch.
fn receive_all_kept(world: &mut World, count: usize, data: &[u8]) {
    for _ in 0..count {
        let mut got = vec![0; data.len()];
        let request = world.receive(0, Some(1), Some(1), room(&mut got));
        assert_eq!(world.engines[0].take(request).expect("it is here").bytes, data.len() as u64);
    }
}

#[test]
fn a_closed_context_gives_memory_and_credit_back() {
    let (mut world, free) = growing(2, Manners::PLAIN);
    free.store(0, Ordering::Relaxed);
    let data = pattern(1, 100);
    // Messages before and after closing the context, each time more than the credit allows. The
    // sender never has to wait.
    for before in [true, false] {
        let mut sends = Vec::new();
        if before {
            sends = flood(&mut world, 1, 5000, &data);
            (0..100).for_each(|_| {
                world.progress();
            });
        }
        world.engines[0].close_context(CONTEXT);
        if !before {
            sends = flood(&mut world, 1, 5000, &data);
        }
        world.run_until_idle();
        assert_eq!(through(&world, 1, &sends), 5000);
        assert!(world.engines[0].iprobe(None, CONTEXT, None).is_none());
    }
}

#[test]
fn a_closed_context_keeps_what_is_waited_for() {
    let mut world = World::plain(2);
    let data = pattern(1, 100);
    let mut got = vec![0; 100];
    let posted = world.receive(0, Some(1), Some(7), room(&mut got));
    let eager = world.send(1, 0, 1, bytes(&data), Mode::Standard);
    let waited = world.send(1, 0, 2, bytes(&data), Mode::Synchronous);
    world.progress();
    world.engines[0].close_context(CONTEXT);
    let late = world.send(1, 0, 3, bytes(&data), Mode::Standard);
    let wanted = world.send(1, 0, 7, bytes(&data), Mode::Standard);
    assert_eq!(world.wait(0, posted).bytes, 100);
    assert_eq!(got, data);
    for tag in [1, 3] {
        assert!(world.engines[0].iprobe(None, CONTEXT, Some(tag)).is_none());
    }
    assert!(world.engines[0].iprobe(None, CONTEXT, Some(2)).is_some());
    let complete = [eager, waited, late, wanted].map(|send| world.engines[1].is_complete(send));
    assert_eq!(complete, [true, false, true, true]);
}
