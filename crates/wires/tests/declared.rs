//! Declared topologies on the shared-memory wire: rings are granted, resized and revoked while
//! messages are in flight.

#[allow(dead_code)]
mod machine;

use machine::{Machine, Traffic, wires};
use towpath_base::ids::PeerIndex;
use towpath_shm::Settings;
use towpath_shm::layout::RING_AREA;
use towpath_transport::wrap::{Faults, Faulty};
use towpath_transport::{Choice, Header, MessageWire, Section, Wire};
use towpath_wires::Wires;

/// Only declared senders get a ring.
const DECLARED_ONLY: Settings = Settings {
    hot_sends: 0,
    ring_bytes: 64 * 1024,
    ring_lines: 64,
    arena_bytes: RING_AREA,
    bounce_buffers: true,
    staging_bytes: None,
    direct_bytes: None,
};

const PAGE: usize = 4096;

fn sources(ranks: &[(usize, u64)]) -> Vec<(PeerIndex, u64)> {
    ranks.iter().map(|&(rank, weight)| (PeerIndex(rank as u32), weight)).collect()
}

fn plain(ranks: usize, settings: Settings) -> Machine<Wires> {
    Machine::new(wires(ranks, settings))
}

/// Senders that have a ring to this rank, with the bytes of the ring.
fn rings(machine: &mut Machine<Wires>, rank: usize) -> Vec<(u32, usize)> {
    let with_ring = |section: &Section| section.bytes > 0;
    let sections = machine.wire(rank).sections();
    sections
        .iter()
        .filter(|section| with_ring(section))
        .map(|section| (section.from.0, section.bytes))
        .collect()
}

#[test]
fn declared_senders_have_rings_before_their_first_message() {
    let mut machine = plain(4, DECLARED_ONLY);
    for rank in 0..4 {
        machine
            .wire(rank)
            .declare(1, &sources(&[((rank + 1) % 4, 1), ((rank + 3) % 4, 1), (rank, 1)]));
        assert!(machine.wire(rank).has_granted(1));
    }
    machine.finish("declaration");
    for rank in 0..4 {
        let mut expected = [(rank + 1) % 4, (rank + 3) % 4].map(|from| (from as u32, 72 * 1024));
        expected.sort();
        assert_eq!(rings(&mut machine, rank), expected);
        let neighbour = PeerIndex((rank as u32 + 1) % 4);
        assert!(machine.wire(rank).copied_limit(neighbour) >= 16 * 1024);
        assert_eq!(machine.wire(rank).copied_limit(PeerIndex((rank as u32 + 2) % 4)), 4096);
    }
}

#[test]
fn one_sided_edges_and_edges_to_oneself_harm_nobody() {
    let mut machine = plain(3, DECLARED_ONLY);
    machine.wire(0).declare(1, &sources(&[(0, 1), (1, 1), (1, 4)]));
    for round in 0..50 {
        for (from, to) in [(1, 0), (0, 1), (2, 0), (0, 2)] {
            machine.send(from, to, round * 300);
        }
    }
    machine.finish("one-sided");
    assert_eq!(rings(&mut machine, 0), [(1, 72 * 1024)]);
    assert!(rings(&mut machine, 1).is_empty());
}

/// A rank may leave MPI while the grants of another one are on their way to it.
#[test]
fn grants_that_a_peer_does_not_read_keep_nobody_busy() {
    let mut machine = plain(2, DECLARED_ONLY);
    machine.send(0, 1, 8);
    machine.wire(0).declare(1, &sources(&[(1, 1)]));
    assert!(!machine.wire(0).has_granted(1), "no grant is waiting: the test tests nothing");
    assert!(!machine.wire(0).busy());
}

#[test]
fn a_small_area_is_divided_by_weight_and_a_later_topology_divides_it_anew() {
    let mut machine = plain(5, Settings { arena_bytes: 16 * PAGE, ..DECLARED_ONLY });
    machine.wire(0).declare(1, &sources(&[(1, 1), (2, 1)]));
    machine.finish("first");
    assert_eq!(rings(&mut machine, 0), [(1, 8 * PAGE), (2, 8 * PAGE)]);
    machine.wire(0).declare(2, &sources(&[(2, 1), (3, 1), (4, 1)]));
    machine.send(1, 0, 100);
    machine.finish("second");
    let now = rings(&mut machine, 0);
    assert_eq!(now.iter().map(|ring| ring.0).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(now.iter().map(|ring| ring.1).sum::<usize>() <= 16 * PAGE, "{now:?}");
    machine.wire(0).undeclare(1);
    machine.wire(0).undeclare(2);
    machine.wire(0).declare(3, &sources(&[(1, 1)]));
    for from in 1..5 {
        machine.send(from, 0, 100);
    }
    machine.finish("third");
    let (_, bytes) = rings(&mut machine, 0).into_iter().find(|ring| ring.0 == 1).unwrap();
    assert!(
        bytes >= 8 * PAGE,
        "the only declared sender has {bytes} bytes of an area of {}",
        16 * PAGE
    );
}

#[test]
fn a_star_larger_than_the_area_leaves_the_rest_on_slots() {
    let mut machine = plain(16, Settings { arena_bytes: 4 * PAGE, ..DECLARED_ONLY });
    machine
        .wire(0)
        .declare(1, &sources(&(1..16).map(|from| (from, from as u64)).collect::<Vec<_>>()));
    for from in 1..16 {
        for length in [0, 40, 2000, 4000, 100_000] {
            machine.send(from, 0, length);
        }
    }
    machine.finish("star");
    assert_eq!(rings(&mut machine, 0), [(12, PAGE), (13, PAGE), (14, PAGE), (15, PAGE)]);
}

#[test]
fn declared_edges_win_over_observed_ones() {
    let settings =
        Settings { hot_sends: 1, ring_bytes: 16 * 1024, arena_bytes: 12 * PAGE, ..DECLARED_ONLY };
    let mut machine = plain(5, settings);
    for from in 1..5 {
        machine.send(from, 0, 10);
        machine.finish("observed");
    }
    assert_eq!(rings(&mut machine, 0).len(), 2);
    machine.wire(0).declare(1, &sources(&[(3, 1), (4, 1)]));
    // The senders of the old rings write their markers the next time they enter the library.
    machine.finish("declared");
    assert_eq!(rings(&mut machine, 0), [(3, 6 * PAGE), (4, 6 * PAGE)]);
}

#[test]
fn without_bounce_buffers_large_messages_still_arrive() {
    let mut machine =
        plain(3, Settings { bounce_buffers: false, arena_bytes: 8 * PAGE, ..DECLARED_ONLY });
    machine.wire(0).declare(1, &sources(&[(1, 1)]));
    for from in 1..3 {
        for length in [0, 100, 5000, 16_000, 70_000] {
            machine.send(from, 0, length);
            machine.send(0, from, length);
        }
    }
    machine.finish("without bounce buffers");
}

#[test]
fn topologies_come_and_go_among_messages() {
    let badly = Faults { seed: 5, refuse: 30, delay: 40, idle: 30 };
    let kinds = [
        ("roomy", DECLARED_ONLY, 1),
        ("roomy and observed", Settings { hot_sends: 2, ..DECLARED_ONLY }, 2),
        ("staged", Settings { hot_sends: 2, staging_bytes: Some(24 << 10), ..DECLARED_ONLY }, 5),
        ("short", Settings { hot_sends: 2, arena_bytes: 9 * PAGE, ..DECLARED_ONLY }, 3),
        (
            "short and no bounce buffers",
            Settings { bounce_buffers: false, arena_bytes: 5 * PAGE, ..DECLARED_ONLY },
            4,
        ),
    ];
    for (name, settings, seed) in kinds {
        let wrap = |(seed, wire)| Faulty::new(wire, Faults { seed, ..badly });
        let mut machine = Machine::new((seed * 100..).zip(wires(6, settings)).map(wrap));
        let mut random = Traffic::new(seed);
        let mut alive: Vec<(usize, u64)> = Vec::new();
        for step in 0..6000u64 {
            let (from, to) = (random.below(6), random.below(6));
            machine.send(from, to, [0, 8, 40, 41, 700, 4096, 9000, 40_000][random.below(8)]);
            match random.below(40) {
                0 | 1 => {
                    let edges: Vec<(usize, u64)> = (0..random.below(8))
                        .map(|_| (random.below(6), random.below(4) as u64))
                        .collect();
                    machine.wire(to).inner().declare(step, &sources(&edges));
                    alive.push((to, step));
                }
                2 | 3 if !alive.is_empty() => {
                    let (rank, key) = alive.swap_remove(random.below(alive.len()));
                    machine.wire(rank).inner().undeclare(key);
                }
                _ => {}
            }
            if random.below(2) == 0 {
                machine.turn(random.below(6));
            }
        }
        machine.finish(name);
        for rank in 0..6 {
            let sections = machine.wire(rank).inner().sections();
            let total: usize = sections.iter().map(|section| section.bytes).sum();
            assert!(total <= settings.arena_bytes, "{name}: rank {rank} gave out {total} bytes");
            let without = sections
                .iter()
                .filter(|section| section.weight.is_some() && section.bytes == 0)
                .count();
            assert!(
                without == 0 || settings.arena_bytes < RING_AREA,
                "{name}: rank {rank} left edges without a ring"
            );
        }
    }
}

#[test]
fn a_topology_does_not_wait_for_processes_of_another_one() {
    let mut machine = plain(3, DECLARED_ONLY);
    // Rank 1 computes: the slot to it stays full, and the grant for it must wait.
    machine.send(0, 1, 8);
    machine.wire(0).declare(1, &sources(&[(1, 1)]));
    machine.wire(0).declare(2, &sources(&[(2, 1)]));
    assert!(!machine.wire(0).has_granted(1));
    assert!(machine.wire(0).has_granted(2));
    machine.finish("rank 1 is back");
    assert!(machine.wire(0).has_granted(1));
}

#[test]
fn staged_payload_stays_until_it_is_read_though_the_stream_moves() {
    let mut machine = plain(
        3,
        Settings { staging_bytes: Some(64 << 10), arena_bytes: 26 * PAGE, ..DECLARED_ONLY },
    );
    for receiver in [0, 2] {
        machine.wire(receiver).declare(1, &sources(&[(1, 1)]));
    }
    machine.finish("declaration");
    let send = |machine: &mut Machine<Wires>, to, count| {
        (0..count).for_each(|_| machine.send(1, to, 8000));
        machine.turns(1, 10);
    };
    send(&mut machine, 0, 4);
    // Rank 0 computes as soon as it has revoked the ring.
    machine.wire(0).undeclare(1);
    machine.wire(0).declare(2, &sources(&[(2, 3)]));
    machine.turns(1, 10);
    assert_eq!(
        machine.wire(1).copied_limit(PeerIndex(0)),
        PAGE,
        "the stream goes through the slot"
    );
    // Longer than the area.
    send(&mut machine, 2, 8);
    send(&mut machine, 0, 1);
    send(&mut machine, 2, 8);
    machine.finish("everything is read");
}

#[test]
fn an_idle_stream_that_moved_does_not_keep_the_staging_area_from_others() {
    let mut machine = plain(
        3,
        Settings { staging_bytes: Some(256 << 10), arena_bytes: 26 * PAGE, ..DECLARED_ONLY },
    );
    for receiver in [0, 2] {
        machine.wire(receiver).declare(1, &sources(&[(1, 1)]));
    }
    machine.finish("declaration");
    machine.send(1, 0, 8000);
    machine.finish("a staged message");
    machine.wire(0).undeclare(1);
    machine.wire(0).declare(2, &sources(&[(2, 3)]));
    machine.finish("another place");
    assert_eq!(
        machine.wire(1).copied_limit(PeerIndex(0)),
        PAGE,
        "the stream goes through the slot"
    );
    // Contiguous messages with even numbers, for several laps of the area.
    for number in 0..40 {
        machine.send(1, 2, 40_000);
        assert!(number % 2 == 1 || machine.published(1) == 0, "row {number} was not staged");
        machine.finish("row");
    }
}

/// The progress of its other entries, which carry no payload, may wake no sender.
#[test]
fn a_staged_message_in_parts_is_freed_with_its_first_entry() {
    let mut machine = plain(2, Settings { staging_bytes: Some(256 << 10), ..DECLARED_ONLY });
    machine.wire(0).declare(1, &sources(&[(1, 1)]));
    machine.finish("declaration");
    let (header, payload) = (Header { protocol: 0, words: [0; 2] }, [7u8; 60_000]);
    let send = |machine: &mut Machine<Wires>| {
        let wire = machine.wire(1);
        // SAFETY: `payload` is as long as that.
        unsafe { wire.copied_contiguous(PeerIndex(0), &header, payload.as_ptr(), payload.len()) }
            .is_ok()
    };
    (0..4).for_each(|_| assert!(send(&mut machine), "the area has room for four"));
    assert!(!send(&mut machine));
    machine.wire(0).poll_front(|_, _, _, length| {
        assert_eq!(length, payload.len());
        Choice::Done
    });
    assert!(send(&mut machine), "the first message is read");
}

#[test]
fn rows_that_a_small_ring_has_no_room_for_are_staged() {
    let settings =
        Settings { staging_bytes: Some(256 << 10), arena_bytes: 2 * PAGE, ..DECLARED_ONLY };
    let mut machine = plain(3, settings);
    machine.wire(0).declare(1, &sources(&[(1, 1), (2, 1)]));
    machine.finish("declaration");
    assert_eq!(rings(&mut machine, 0), [(1, PAGE), (2, PAGE)]);
    assert!(machine.wire(1).copied_limit(PeerIndex(0)) < 8000);
    // Messages with even numbers are contiguous.
    for number in 0..40 {
        machine.send(1, 0, 8000);
        assert!(number % 2 == 1 || machine.published(1) == 0, "row {number} was not staged");
        machine.finish("row");
    }
}
