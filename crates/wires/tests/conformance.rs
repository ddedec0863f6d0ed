//! Conformance tests for all wires: order, back-pressure, regions, registered memory, floods, many
//! peers. They run on the loopback, on shared memory in one process (one mapping per rank), on the
//! strict mode with equal sections and with a declared ring, over sockets, and under a wrapper that
//! refuses and delays. If TOWPATH_LIBFABRIC names a library, they run on wires over that instead.

mod machine;
mod owned;
mod registered;

use machine::fabric::{ofi_providers, ofi_wires};
use machine::network::{clic_wires, tcp_wires};
use machine::{Machine, Traffic, strict_wires, wires};
use towpath_base::ids::PeerIndex;
use towpath_shm::layout::RING_AREA;
use towpath_shm::{Heap, Settings};
use towpath_strict as strict;
use towpath_transport::wrap::{Faults, Faulty};
use towpath_transport::{Header, MessageWire, SHORT_BYTES, Wire};
use towpath_wires::Wires;

fn settings() -> Settings {
    Settings {
        hot_sends: 4,
        ring_bytes: 16 * 1024,
        ring_lines: 64,
        arena_bytes: RING_AREA,
        bounce_buffers: true,
        staging_bytes: None,
        direct_bytes: Some(1),
    }
}

/// All machines that the suite runs on: different settings, with and without faults.
fn machines(ranks: usize) -> Vec<(&'static str, Machine<Faulty<Wires>>)> {
    let over_libfabric = machines_over_libfabric(ranks);
    if !over_libfabric.is_empty() {
        return over_libfabric;
    }
    let mut machines = machines_without_heaps(ranks);
    for (name, heaps) in &HEAPS {
        let machine = machines.iter_mut().find(|(other, _)| other == name);
        let (_, machine) = machine.expect("a machine of that name");
        let heap = |rank: usize| {
            let segment = machine.wire(rank).inner().segment().clone();
            heaps(rank).then(|| Heap::new(segment))
        };
        let heaps: Vec<Option<Heap>> = (0..ranks).map(heap).collect();
        machine.use_heaps(heaps);
    }
    machines
}

/// Tells whether a rank has a heap.
type HasHeap = fn(usize) -> bool;

/// Machines whose large messages are in heaps.
const HEAPS: [(&str, HasHeap); 3] = [
    ("heaps", |_| true),
    ("heaps of some", |rank| rank % 2 == 0),
    ("heaps and faults", |rank| rank != 1),
];

fn machines_without_heaps(ranks: usize) -> Vec<(&'static str, Machine<Faulty<Wires>>)> {
    let well = Faults { seed: 1, refuse: 0, delay: 0, idle: 0 };
    let badly = Faults { seed: 5, refuse: 30, delay: 40, idle: 30 };
    let kinds = [
        ("rings after 4 sends", settings(), well),
        ("never a ring", Settings { hot_sends: 0, ..settings() }, well),
        ("small rings at once", Settings { hot_sends: 1, ring_lines: 2, ..settings() }, well),
        ("large rings", Settings { ring_bytes: 256 * 1024, ..settings() }, well),
        (
            "a small staging area",
            Settings { hot_sends: 1, staging_bytes: Some(128 << 10), ..settings() },
            well,
        ),
        (
            "a small staging area and faults",
            Settings { staging_bytes: Some(40 << 10), ..settings() },
            badly,
        ),
        ("heaps", settings(), well),
        ("heaps of some", Settings { hot_sends: 1, ..settings() }, well),
        ("heaps and faults", settings(), badly),
        ("faults", settings(), badly),
        ("faults and small rings", Settings { hot_sends: 1, ring_lines: 4, ..settings() }, badly),
    ];
    let strict = |settings: &strict::Settings| strict_wires(ranks, settings);
    let usual = strict::Settings::default();
    let wide = strict::Settings { line: 64, header_lines: 3, budget: 16384, ..usual.clone() };
    let strict_kinds = [
        ("strict", strict(&usual), well),
        ("strict and faults", strict(&usual), badly),
        ("strict, a ring is declared", in_a_ring(strict(&usual)), well),
        (
            "strict, a ring is declared, lines of 64 bytes and faults",
            in_a_ring(strict(&wide)),
            badly,
        ),
    ];
    let make = |wires: Vec<Wires>, faults: Faults| {
        let wrap = |(seed, wire)| Faulty::new(wire, Faults { seed: faults.seed + seed, ..faults });
        Machine::new((0..).zip(wires).map(wrap))
    };
    let kinds =
        kinds.into_iter().map(|(name, settings, faults)| (name, wires(ranks, settings), faults));
    let tcp_kinds = [
        ("tcp", tcp_wires(ranks, 1, settings()), well),
        ("tcp and shared memory", tcp_wires(ranks, 2.max(ranks / 2), settings()), well),
        ("tcp and faults", tcp_wires(ranks, 1, settings()), badly),
        ("tcp, shared memory and faults", tcp_wires(ranks, ranks.div_ceil(4), settings()), badly),
        ("clic", clic_wires(ranks, 1, settings()), well),
        ("clic and shared memory", clic_wires(ranks, 2.max(ranks / 2), settings()), well),
        ("clic and faults", clic_wires(ranks, 1, settings()), badly),
    ];
    let tcp_machines =
        tcp_kinds.map(|(name, wires, faults)| (name, make(wires, faults).over_sockets()));
    let machines =
        kinds.chain(strict_kinds).map(|(name, wires, faults)| (name, make(wires, faults)));
    machines.chain(tcp_machines).collect()
}

/// The machines over the libfabric that TOWPATH_LIBFABRIC names; the suite then runs on these
/// alone.
fn machines_over_libfabric(ranks: usize) -> Vec<(&'static str, Machine<Faulty<Wires>>)> {
    let mut machines = Vec::new();
    for provider in ofi_providers() {
        let kinds = match provider {
            "tcp" => [
                ("libfabric's tcp", 1, 0),
                ("libfabric's tcp, shared memory and faults", ranks.div_ceil(4), 30),
            ],
            _ => [("libfabric's shm", 1, 0), ("libfabric's shm and faults", 1, 30)],
        };
        for (name, per_host, chance) in kinds {
            let faults = |seed| Faults { seed, refuse: chance, delay: chance, idle: chance };
            let wires = (5..).zip(ofi_wires(ranks, per_host, settings(), provider));
            machines.push((
                name,
                Machine::new(wires.map(|(seed, wire)| Faulty::new(wire, faults(seed))))
                    .over_sockets(),
            ));
        }
    }
    machines
}

/// Every rank declares its two neighbours in a ring.
fn in_a_ring(mut wires: Vec<Wires>) -> Vec<Wires> {
    let ranks = wires.len();
    for (own, wires) in wires.iter_mut().enumerate() {
        let sources = [own + 1, own + ranks - 1].map(|peer| (PeerIndex((peer % ranks) as u32), 1));
        wires.declare(1, &sources);
    }
    wires
}

#[test]
fn mixed_sizes_arrive_in_order_and_whole() {
    for (name, mut machine) in machines(3) {
        let lengths = [
            0,
            1,
            7,
            8,
            SHORT_BYTES,
            SHORT_BYTES + 1,
            1000,
            4096,
            10_000,
            16_384,
            20_000,
            150_000,
            600_000,
        ];
        for round in 0..60 {
            for from in 0..3 {
                for to in 0..3 {
                    machine.send(from, to, lengths[(round * 7 + from + to) % lengths.len()]);
                }
            }
        }
        machine.finish(name);
        let in_parts: usize = (0..3).map(|rank| machine.wire(rank).in_parts()).sum();
        assert!(name != "large rings" || in_parts > 0, "no message came in parts");
    }
}

#[test]
fn random_traffic_among_sixteen() {
    for (name, mut machine) in machines(16) {
        let mut random = Traffic::new(7);
        for _ in 0..4000 {
            let (from, to) = (random.below(16), random.below(16));
            let length = match random.below(20) {
                0 => random.below(300_000),
                1..8 => random.below(4097),
                _ => random.below(SHORT_BYTES + 1),
            };
            machine.send(from, to, length);
            if random.below(3) == 0 {
                machine.turn(random.below(16));
            }
        }
        machine.finish(name);
    }
}

#[test]
fn a_flood_is_refused_and_nothing_is_lost() {
    for (name, mut machine) in machines(2) {
        for from in 0..2 {
            for length in [0, 16, SHORT_BYTES, 4096] {
                for _ in 0..2000 {
                    machine.send(from, 0, length);
                }
            }
        }
        // Nothing has been received yet, so the wires must have refused some messages.
        assert!(machine.refusals() > 0, "{name}: no flood was refused");
        machine.finish(name);
    }
}

#[test]
fn who_is_refused_has_filled_nothing() {
    const HEADER: Header = Header { protocol: 9, words: [0; 2] };
    for (name, mut machine) in machines(2) {
        let mut refused = 0;
        for _ in 0..3000 {
            let mut filled = false;
            let wire = machine.wire(0);
            let length = 2000.min(wire.copied_limit(PeerIndex(1)));
            let sent = wire.copied(PeerIndex(1), &HEADER, length, |slot| {
                filled = true;
                // SAFETY: `slot` has room for `length` bytes.
                unsafe { slot.write_bytes(1, length) };
            });
            assert_eq!(
                sent.is_ok(),
                filled,
                "{name}: its filler may have nothing left the next time"
            );
            refused += usize::from(sent.is_err());
        }
        assert!(refused > 0, "{name}: nobody was refused");
    }
}

#[test]
fn one_receiver_and_fifteen_senders() {
    for (name, mut machine) in machines(16) {
        for round in 0..100 {
            for from in 1..16 {
                machine.send(from, 0, (round * from) % 200);
            }
            machine.turn(0);
        }
        machine.finish(name);
    }
}

#[test]
fn many_regions_at_once_share_the_bounce_buffers() {
    for (name, mut machine) in machines(4) {
        for from in 0..4 {
            for to in 0..4 {
                for part in 1..=6 {
                    machine.send(from, to, 50_000 * part);
                }
            }
        }
        machine.finish(name);
    }
}

#[test]
fn a_receiver_may_want_less_than_was_published() {
    for (name, mut machine) in machines(2) {
        for to in 0..2 {
            for wanted in [0, 1, 16_384, 16_385, 99_999, 100_000] {
                machine.send_cut(0, to, 100_000, wanted);
            }
        }
        machine.finish(name);
    }
}

#[test]
fn packed_regions_pass_through_packers_that_wait() {
    for (name, mut machine) in machines(2) {
        for to in 0..2 {
            for length in [1, 5_000, 16_384, 333_333] {
                machine.send_packed(0, to, length);
                machine.send_packed(1, to, length);
            }
        }
        machine.finish(name);
    }
}

#[test]
fn a_withdrawn_region_is_gone_and_a_begun_one_is_not() {
    for (name, mut machine) in machines(2) {
        for to in 0..2 {
            assert!(
                machine.withdraw_at_once(0, to),
                "{name}: a region that nobody pulls must be withdrawable"
            );
        }
        machine.finish(name);
        assert!(
            (0..2).all(|rank| !machine.wire(rank).busy()),
            "{name}: busy after everything was withdrawn"
        );
    }
}

#[test]
fn grants_arrive_while_traffic_flows_both_ways() {
    for (name, mut machine) in machines(2) {
        for round in 0..300 {
            machine.send(0, 1, round % 100);
            machine.send(1, 0, round % 90);
            machine.turn(round % 2);
        }
        machine.finish(name);
        assert!(machine.wire(0).copied_limit(PeerIndex(1)) >= 4096, "{name}");
    }
}

#[test]
fn a_lost_peer_frees_what_was_promised_to_it() {
    let usual = strict::Settings::default();
    let kinds = [
        ("shared", wires(3, settings())),
        ("strict", strict_wires(3, &usual)),
        ("tcp", tcp_wires(3, 1, settings())),
        ("clic", clic_wires(3, 1, settings())),
    ];
    let ofi_kinds = ofi_providers()
        .into_iter()
        .map(|provider| (provider, ofi_wires(3, 1, settings(), provider)));
    for (name, wires) in kinds.into_iter().chain(ofi_kinds) {
        let mut machine = Machine::new(wires);
        if name != "shared" && name != "strict" {
            machine = machine.over_sockets();
        }
        machine.publish_and_lose(0, 1, |wires, peer| wires.mark_lost(peer));
        machine.send(0, 2, 100);
        machine.send(2, 0, 100_000);
        machine.finish(&format!("{name}, after a loss"));
    }
}

#[test]
fn a_message_beyond_the_limit_is_refused_before_its_slot_is_filled() {
    const HEADER: Header = Header { protocol: 0, words: [0; 2] };
    let usual = strict::Settings::default();
    let kinds = [
        ("shared", wires(2, settings())),
        ("strict", strict_wires(2, &usual)),
        ("tcp", tcp_wires(2, 1, settings())),
        ("clic", clic_wires(2, 1, settings())),
    ];
    let ofi_kinds = ofi_providers()
        .into_iter()
        .map(|provider| (provider, ofi_wires(2, 1, settings(), provider)));
    for (name, mut wires) in kinds.into_iter().chain(ofi_kinds) {
        // To the other rank, and to the process itself.
        for to in [1, 0] {
            let (wire, to) = (&mut wires[0], PeerIndex(to));
            let length = wire.copied_limit(to) + 1;
            let sent =
                wire.copied(to, &HEADER, length, |_| panic!("{name}: a slot of {length} bytes"));
            assert!(sent.is_err(), "{name}: {length} bytes to {to:?}");
        }
    }
}

#[test]
fn the_cost_of_a_peer_tells_near_from_far() {
    let to = PeerIndex(1);
    let near = wires(2, settings()).remove(0);
    let mut by_tcp = tcp_wires(2, 1, settings());
    let mut by_clic = clic_wires(2, 1, settings());
    let own = near.cost(PeerIndex(0));
    let costs = [near.cost(to), by_clic.remove(0).cost(to), by_tcp.remove(0).cost(to)];
    assert!(own.latency_ns < costs[0].latency_ns);
    assert!(
        costs.is_sorted_by(|nearer, farther| nearer.latency_ns < farther.latency_ns),
        "{costs:?}"
    );
    assert!(costs[0].time_ns(1 << 20) < costs[2].time_ns(1 << 20), "{costs:?}");
    for (name, machine) in &mut machines_without_heaps(2) {
        let wire = machine.wire(0);
        assert_eq!(wire.cost(to).eager_limit, wire.copied_limit(to), "{name}");
    }
}
