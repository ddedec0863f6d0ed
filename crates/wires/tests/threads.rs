//! Wires of ranks that run concurrently, each in its own thread with its own mapping, and that
//! sleep when nothing arrives: nothing is lost, damaged or reordered, and no wake-up is lost.

#[allow(dead_code)]
mod machine;

use std::sync::Barrier;

use machine::{Station, Traffic, strict_wires, wires};
use towpath_base::ids::PeerIndex;
use towpath_machine::wait::Waiter;
use towpath_shm::Settings;
use towpath_shm::layout::RING_AREA;
use towpath_strict as strict;
use towpath_transport::{JobWire, SHORT_BYTES};
use towpath_wires::Wires;

const MESSAGES: usize = 3000;
/// What each rank does now and then in addition to sending, given an increasing number.
type Disturbance = fn(&mut Wires, usize);

/// Receivers and lengths of all messages of a rank; every rank can compute it for every other.
fn plan(ranks: usize, own: usize, messages: usize) -> Vec<(usize, usize)> {
    let mut random = Traffic::new(own as u64 + 11);
    let mut length = move || match random.below(40) {
        0 => (random.below(ranks), random.below(400_000)),
        1 | 2 => (random.below(ranks), random.below(70_000)),
        3..10 => (random.below(ranks), random.below(5000)),
        _ => (random.below(ranks), random.below(SHORT_BYTES + 1)),
    };
    (0..messages).map(|_| length()).collect()
}

/// Sends, receives and sleeps; returns how often it slept.
fn run_rank(wires: Wires, messages: usize, cores: usize, disturb: Disturbance) -> u64 {
    let segment = wires.segment().clone();
    let (ranks, own) = (segment.ranks(), segment.own_rank());
    let mut waiter = Waiter::with_quota(ranks, cores, segment.head(), segment.own_control());
    let mut station = Station::new(own, wires);
    let expected = (0..ranks)
        .flat_map(|rank| plan(ranks, rank, messages))
        .filter(|(to, _)| *to == own)
        .count();
    for (index, (to, length)) in plan(ranks, own, messages).into_iter().enumerate() {
        station.send(to, length);
        if index % 16 == 0 {
            disturb(station.wire(), index / 16);
            station.turn();
        }
    }
    waiter.reset();
    while station.completed() < expected || !station.is_through() {
        if station.turn() {
            waiter.reset();
        } else {
            waiter.idle(segment.sources(), || station.turn());
        }
    }
    waiter.sleeps()
}

fn run(ranks: usize, cores: usize, settings: Settings) -> u64 {
    run_all(wires(ranks, settings), MESSAGES, cores, |_, _| {})
}

fn run_all(wires: Vec<Wires>, messages: usize, cores: usize, disturb: Disturbance) -> u64 {
    let barrier = Barrier::new(wires.len());
    std::thread::scope(|scope| {
        let threads: Vec<_> = wires
            .into_iter()
            .map(|wires| {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    run_rank(wires, messages, cores, disturb)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}

fn settings() -> Settings {
    Settings {
        hot_sends: 4,
        ring_bytes: 16 * 1024,
        ring_lines: 64,
        arena_bytes: RING_AREA,
        bounce_buffers: true,
        staging_bytes: None,
        direct_bytes: None,
    }
}

#[test]
fn two_ranks_that_spin_first() {
    run(2, 2, settings());
}

#[test]
fn more_ranks_than_cores_sleep_and_are_woken() {
    assert!(run(8, 2, settings()) > 0, "nobody slept: the test has tested nothing");
}

#[test]
fn small_rings_and_no_rings_at_all() {
    run(3, 2, Settings { hot_sends: 1, ring_lines: 2, ..settings() });
    run(3, 2, Settings { hot_sends: 0, ..settings() });
}

#[test]
fn staged_payload_goes_to_several_peers() {
    for (ranks, staging_bytes) in [(2, 1 << 20), (3, 256 << 10), (8, 64 << 10)] {
        run(ranks, 2, Settings { hot_sends: 1, staging_bytes: Some(staging_bytes), ..settings() });
    }
}

#[test]
fn rings_change_while_payload_is_staged() {
    let area = 64 << 10;
    let settings =
        Settings { hot_sends: 2, arena_bytes: area, staging_bytes: Some(256 << 10), ..settings() };
    run_all(wires(8, settings), 1000, 2, declare_now_and_then);
}

/// Each rank declares a ring, withdraws it, and continues, at other times than the others. A rank
/// that waits for a gate to open sleeps.
fn declare_now_and_then(wires: &mut Wires, step: usize) {
    let own = wires.own().0;
    match (step + own as usize) % 8 {
        0 => wires.declare(1, &[own + 1, own + 7].map(|peer| (PeerIndex(peer % 8), 1))),
        3 => wires.declare(2, &[(PeerIndex((own + 2) % 8), 5)]),
        5 => wires.undeclare(1),
        _ => {}
    }
}

#[test]
fn buffers_are_divided_while_ranks_sleep() {
    let settings = strict::Settings::default();
    assert!(run_all(strict_wires(8, &settings), 400, 2, declare_now_and_then) > 0, "nobody slept");
    run_all(strict_wires(2, &settings), 400, 2, |_, _| {});
}
