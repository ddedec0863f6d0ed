//! Runs the order model on wires of different behaviour. `TOWPATH_TEST_MESSAGES` sets the number of
//! messages that each run sends; `TOWPATH_TEST_SEED` is added to every seed. `make stress` adds the
//! ignored tests: 10^7 messages for each ordered pair.

mod support;

use support::order_model::{Model, Recorded, recorded};
use towpath_base::config;
use towpath_base::ids::PeerIndex;
use towpath_engine::testing::{Manners, Random, TestNetwork};
use towpath_engine::{Engine, Headroom, Limits};
use towpath_shm::layout::RING_AREA;
use towpath_shm::{Segment, Settings};
use towpath_strict as strict;
use towpath_transport::JobWire;
use towpath_wires::Wires;

const PLAIN: Settings = Settings {
    hot_sends: 4,
    ring_bytes: 16 * 1024,
    ring_lines: 64,
    arena_bytes: RING_AREA,
    bounce_buffers: true,
    staging_bytes: None,
    direct_bytes: None,
};

/// Default number of messages of a run.
const MESSAGES: usize = 3000;

/// Messages of each ordered pair in the long runs.
const LONG: u64 = 10_000_000;

/// Maximum number of pending receives of a rank, and of messages in flight of a pair.
const OPEN: usize = 40;

fn number(variable: &str) -> Option<usize> {
    config::environment(variable).and_then(|text| text.parse().ok())
}

fn messages() -> usize {
    number("TOWPATH_TEST_MESSAGES").unwrap_or(MESSAGES)
}

fn run(size: usize, manners: Manners, limits: Limits) {
    let network = TestNetwork::new(size, manners);
    check(
        (0..size).map(|me| Engine::new(recorded(network.wire(me)), limits, size)).collect(),
        manners.seed,
        OPEN,
    );
}

/// Engines on the real wires: shared memory between `size` mappings in this process, and the
/// loopback.
fn engines_on_wires(
    size: usize,
    settings: Settings,
    limits: Limits,
) -> Vec<Engine<Recorded<Wires>>> {
    engines_on(size, limits, |segment| Wires::with_settings(segment, settings))
}

fn engines_on(
    size: usize,
    limits: Limits,
    wires: impl Fn(Segment) -> Wires,
) -> Vec<Engine<Recorded<Wires>>> {
    // The kernel would keep writing back a file on a disk.
    let file = tempfile::tempfile_in("/dev/shm")
        .or_else(|_| tempfile::tempfile())
        .expect("a temporary file");
    let segment = |me| Segment::map(&file, size, me).expect("room for the segment");
    (0..size).map(|me| Engine::new(recorded(wires(segment(me))), limits, size)).collect()
}

/// Strict mode, with topologies that are declared and undeclared from time to time.
fn run_on_strict_wires(size: usize, seed: u64, settings: &strict::Settings, limits: Limits) {
    let wires = |segment| Wires::strict(segment, settings).expect("settings that make sense");
    let mut model = Model::new(engines_on(size, limits, wires), seed, OPEN);
    let mut random = Random(seed);
    while model.messages < messages() {
        (0..20).for_each(|_| model.step());
        let [rank, one, other] = [(); 3].map(|()| random.below(size as u64) as usize);
        let wires = model.engines[rank].wire_mut().inner();
        match random.below(3) {
            0 => wires.undeclare(1),
            _ => wires.declare(1, &[(PeerIndex(one as u32), 1), (PeerIndex(other as u32), 2)]),
        }
    }
    model.finish();
    if messages() >= MESSAGES {
        assert!(
            model.seen.iter().all(|count| *count > 3),
            "the run saw too little: {:?}",
            model.seen
        );
    }
}

fn run_on_wires(size: usize, seed: u64, settings: Settings, limits: Limits) {
    check(engines_on_wires(size, settings, limits), seed, OPEN);
}

fn check_long<W: JobWire>(engines: Vec<Engine<Recorded<W>>>, seed: u64) {
    let mut model = Model::new(engines, seed, OPEN);
    while model.fewest_of_a_pair() < LONG {
        // Counting all pairs costs more than a step.
        (0..1000).for_each(|_| model.step());
    }
    model.finish();
    println!("{} messages; seen: {:?}", model.messages, model.seen);
}

fn check<W: JobWire>(engines: Vec<Engine<Recorded<W>>>, seed: u64, open: usize) {
    let seed = seed + number("TOWPATH_TEST_SEED").unwrap_or(0) as u64;
    let mut model = Model::new(engines, seed, open);
    while model.messages < messages() {
        model.step();
    }
    model.finish();
    if messages() >= MESSAGES {
        assert!(
            model.seen.iter().all(|count| *count > 3),
            "the run saw too little: {:?}",
            model.seen
        );
    }
}

const ROOMY: Limits = Limits { eager_bytes: usize::MAX, unexpected_bytes: 1 << 20 };

#[test]
fn prompt_wires() {
    for seed in 1..4 {
        run(2, Manners { seed, ..Manners::PLAIN }, ROOMY);
    }
}

#[test]
fn rough_wires() {
    for seed in 10..14 {
        run(3, Manners { seed, ..Manners::ROUGH }, ROOMY);
    }
}

#[test]
fn many_ranks_on_rough_wires() {
    run(7, Manners { seed: 20, ..Manners::ROUGH }, ROOMY);
}

#[test]
fn little_credit() {
    for (seed, unexpected_bytes) in [(30, 0), (31, 1000), (32, 20_000)] {
        run(
            3,
            Manners { seed, ..Manners::ROUGH },
            Limits { eager_bytes: usize::MAX, unexpected_bytes },
        );
    }
}

/// Credit grows while memory is available, and the available memory changes.
fn check_growing<W: JobWire>(mut engines: Vec<Engine<Recorded<W>>>, seed: u64) {
    for (me, engine) in (0..).zip(&mut engines) {
        let mut random = Random(seed + me);
        engine
            .grow_within(move || Headroom { free: (64 << 20) + (random.below(3) << 20), ranks: 2 });
    }
    let mut model = Model::new(engines, seed, OPEN);
    model.cancels_sends = false;
    while model.messages < messages() {
        model.step();
    }
    model.finish();
    assert!(
        messages() < MESSAGES || model.postponed > 10,
        "{} messages were postponed",
        model.postponed
    );
}

#[test]
fn credit_that_grows() {
    for (seed, unexpected_bytes) in [(33, 0), (34, 1000), (35, 5_000)] {
        let limits = Limits { eager_bytes: usize::MAX, unexpected_bytes };
        let network = TestNetwork::new(3, Manners { seed, ..Manners::ROUGH });
        let engine = |me| Engine::new(recorded(network.wire(me)), limits, 3);
        check_growing((0..3).map(engine).collect(), seed);
        check_growing(engines_on_wires(3, PLAIN, limits), seed);
    }
}

#[test]
fn everything_announced_or_only_short_messages_eager() {
    for (seed, eager_bytes) in [(40, 0), (41, 40)] {
        run(
            3,
            Manners { seed, ..Manners::PLAIN },
            Limits { eager_bytes, unexpected_bytes: 1 << 20 },
        );
    }
    run(3, Manners { seed: 42, copied_limit: 0, ..Manners::ROUGH }, ROOMY);
}

#[test]
fn real_wires() {
    let kinds = [
        PLAIN,
        Settings { hot_sends: 0, ..PLAIN },
        Settings { hot_sends: 1, ring_lines: 2, ..PLAIN },
        Settings { hot_sends: 100, ring_bytes: 256 * 1024, ..PLAIN },
    ];
    for (seed, settings) in (60..).zip(kinds) {
        run_on_wires(3, seed, settings, ROOMY);
        run_on_wires(
            3,
            seed,
            settings,
            Limits { eager_bytes: usize::MAX, unexpected_bytes: 10_000 },
        );
    }
}

/// Topologies change while messages are in flight: every 50 steps a rank declares some neighbours
/// or undeclares a topology, in an area that is too small for all of them.
#[test]
fn real_wires_under_changing_topologies() {
    let kinds = [
        Settings { hot_sends: 0, ..PLAIN },
        Settings { hot_sends: 2, arena_bytes: 28 * 1024, ..PLAIN },
        Settings { hot_sends: 1, staging_bytes: Some(32 << 10), ..PLAIN },
        Settings { hot_sends: 1, arena_bytes: 12 * 1024, bounce_buffers: false, ..PLAIN },
    ];
    for (seed, settings) in (80u64..).zip(kinds) {
        let mut model = Model::new(
            engines_on_wires(3, settings, ROOMY),
            seed + number("TOWPATH_TEST_SEED").unwrap_or(0) as u64,
            OPEN,
        );
        let mut alive: Vec<(usize, u64)> = Vec::new();
        for key in 0.. {
            (0..50).for_each(|_| model.step());
            if model.messages >= messages() {
                break;
            }
            let rank = key as usize % 3;
            let wires = model.engines[rank].wire_mut().inner();
            let sources: Vec<(PeerIndex, u64)> = (0..key % 4)
                .map(|edge| (PeerIndex(((key / 3 + edge * edge) % 3) as u32), key / 7 % 5))
                .collect();
            wires.declare(key, &sources);
            alive.push((rank, key));
            if alive.len() > 4 {
                let (rank, key) = alive.swap_remove(key as usize * 7 % alive.len());
                model.engines[rank].wire_mut().inner().undeclare(key);
            }
        }
        model.finish();
    }
}

#[test]
fn strict_wires() {
    let usual = strict::Settings::default();
    let narrow = strict::Settings { budget: 512, header_lines: 3, ..usual.clone() };
    run_on_strict_wires(3, 80, &usual, ROOMY);
    run_on_strict_wires(
        4,
        82,
        &narrow,
        Limits { eager_bytes: usize::MAX, unexpected_bytes: 10_000 },
    );
}

#[test]
fn long_queues() {
    let network = TestNetwork::new(2, Manners { capacity: 1000, ..Manners::ROUGH });
    let engines = (0..2).map(|me| Engine::new(recorded(network.wire(me)), ROOMY, 2)).collect();
    check(engines, 60, 500);
}

#[test]
#[ignore = "minutes: make stress"]
fn ten_million_messages_of_each_pair_on_rough_wires() {
    let network = TestNetwork::new(2, Manners { seed: 70, ..Manners::ROUGH });
    check_long((0..2).map(|me| Engine::new(recorded(network.wire(me)), ROOMY, 2)).collect(), 70);
}

#[test]
#[ignore = "minutes: make stress"]
fn ten_million_messages_of_each_pair_on_real_wires() {
    let settings = Settings { hot_sends: 4, ..PLAIN };
    check_long(
        engines_on_wires(2, settings, Limits { eager_bytes: usize::MAX, unexpected_bytes: 50_000 }),
        71,
    );
}
