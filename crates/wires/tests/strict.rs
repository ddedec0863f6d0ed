//! Guarantees of the strict mode: buffers are divided while messages are in flight, by ranks that
//! know nothing of each other's topologies; data movement is counted as on the chip.

#[allow(dead_code)]
mod machine;

use machine::{Machine, Traffic, strict_wires};
use towpath_base::control::RankState;
use towpath_base::ids::PeerIndex;
use towpath_shm::Segment;
use towpath_strict::{Counts, Settings};
use towpath_transport::wrap::{Faults, Faulty};
use towpath_transport::{JobWire, Wire, error};
use towpath_wires::Wires;

const RANKS: usize = 8;

fn faulty(wires: Vec<Wires>, faults: Faults) -> Machine<Faulty<Wires>> {
    let wrap = |(seed, wire)| Faulty::new(wire, Faults { seed: faults.seed + seed, ..faults });
    Machine::new((0..).zip(wires).map(wrap))
}

fn chunk(wires: &Wires, from: usize) -> usize {
    wires.strictness().unwrap().chunk_bytes(from)
}

/// Declares the two neighbours of `own` in a ring of `ranks`.
fn declare_ring(wires: &mut Wires, key: u64, ranks: usize) {
    let own = wires.own().slot();
    let sources = [own + 1, own + ranks - 1].map(|peer| (PeerIndex((peer % ranks) as u32), 1));
    wires.declare(key, &sources);
}

#[test]
fn topologies_come_and_go_while_messages_flow() {
    let well = Faults { seed: 1, refuse: 0, delay: 0, idle: 0 };
    let badly = Faults { seed: 9, refuse: 30, delay: 40, idle: 30 };
    for (faults, line) in [(well, 32), (badly, 32), (badly, 64)] {
        let settings =
            Settings { line, header_lines: if line == 32 { 3 } else { 2 }, ..Settings::default() };
        let mut machine = faulty(strict_wires(RANKS, &settings), faults);
        let mut random = Traffic::new(faults.seed + line as u64);
        let mut closed = 0;
        for _ in 0..20_000 {
            let (from, to) = (random.below(RANKS), random.below(RANKS));
            match random.below(12) {
                0 => {
                    // One rank declares alone; its neighbours may know nothing of it.
                    let sources: Vec<_> = (0..random.below(RANKS + 1))
                        .map(|_| (PeerIndex(random.below(RANKS) as u32), random.below(4) as u64))
                        .collect();
                    machine.wire(from).inner().declare(random.below(3) as u64, &sources);
                }
                1 => machine.wire(from).inner().undeclare(random.below(3) as u64),
                2 => machine.send(from, to, random.below(60_000)),
                3..6 => machine.send(from, to, random.below(2_000)),
                _ => machine.send(from, to, random.below(41)),
            }
            closed += usize::from(!machine.wire(from).inner().has_granted(0));
            machine.turn(random.below(RANKS));
        }
        assert!(closed > 0, "no buffer was ever divided in the middle of a message");
        machine.finish("topologies come and go");
        assert!((0..RANKS).all(|rank| machine.wire(rank).inner().has_granted(0)));
    }
}

#[test]
fn one_line_of_payload_is_enough() {
    for line in [32, 64] {
        let settings = Settings { budget: 2 * line * 3, line, ..Settings::default() };
        let mut machine = Machine::new(strict_wires(3, &settings));
        for (index, length) in
            [0, 1, 8, 24, 40, 41, 1000, 16_384, 16_385, 40_000].into_iter().enumerate()
        {
            machine.send(index % 3, (index + 1) % 3, length);
            machine.send(index % 3, (index + 2) % 3, length);
            machine.send_packed(index % 3, (index + 1) % 3, length + 1);
        }
        machine.finish("one line");
    }
}

#[test]
fn neighbours_get_what_strangers_leave() {
    let mut wires = strict_wires(48, &Settings::default());
    assert_eq!(chunk(&wires[0], 1), 128);
    for wires in &mut wires {
        declare_ring(wires, 1, 48);
        assert!(wires.has_granted(0), "nothing flows, so nothing must be waited for");
    }
    assert_eq!([chunk(&wires[0], 1), chunk(&wires[0], 47), chunk(&wires[0], 2)], [2560, 2560, 32]);
    let sections = wires[0].sections();
    assert_eq!(sections.len(), 47);
    assert_eq!(
        (sections[0].from, sections[0].bytes, sections[0].weight),
        (PeerIndex(1), 2560, Some(1))
    );
    assert_eq!((sections[1].from, sections[1].bytes, sections[1].weight), (PeerIndex(2), 32, None));
    // A second topology adds to the first.
    wires[0].declare(2, &[(PeerIndex(2), 2)]);
    assert_eq!([chunk(&wires[0], 1), chunk(&wires[0], 2)], [1280, 2560]);
    wires[0].undeclare(1);
    assert_eq!([chunk(&wires[0], 1), chunk(&wires[0], 2)], [32, 5120]);
    wires[0].undeclare(2);
    wires[0].undeclare(2);
    assert_eq!(chunk(&wires[0], 1), 128);
}

/// Ranks outside the topology own sections of the buffer too. Its division does not need them to be
/// inside MPI, but waits for what they have in flight.
#[test]
fn a_division_waits_for_what_is_under_way_and_for_nobody_else() {
    let mut machine = Machine::new(strict_wires(4, &Settings::default()));
    machine.send(3, 0, 10);
    machine.wire(0).declare(1, &[(PeerIndex(1), 1)]);
    assert!(!machine.wire(0).has_granted(0), "the message of rank 3 lies in the old division");
    assert!(machine.wire(0).busy(), "a rank that leaves now would leave its buffer closed");
    machine.send(2, 0, 10);
    machine.turn(0);
    assert!(machine.wire(0).has_granted(0));
    assert!(!machine.wire(0).busy());
    machine.finish("behind the gate");
}

#[test]
fn lines_hops_and_polls_are_counted() {
    let settings = Settings { cores: vec![0, 47], ..Settings::default() };
    let mut machine = Machine::new(strict_wires(2, &settings));
    machine.send(0, 1, 4064 - 24 + 33);
    machine.finish("one message of a chunk, a line and a byte");
    let counts = |machine: &mut Machine<Wires>, rank: usize| {
        machine.wire(rank).strictness().unwrap().counts()
    };
    let Counts { chunks, lines, line_hops, taken, polls, .. } = counts(&mut machine, 0);
    assert_eq!((chunks, lines, line_hops, taken, polls), (2, 127 + 2, 8 * 129, 0, 0));
    let Counts { chunks, lines, taken, polls, looks, .. } = counts(&mut machine, 1);
    assert_eq!((chunks, lines, taken, polls), (0, 0, 2, 4));
    assert!(looks >= polls);
}

/// Bandwidth in MB/s that the chip would reach from rank 0 to the last one, by the constants of
/// `benchmarks/scc.py`.
fn bandwidth(wires: Vec<Wires>) -> f64 {
    let (last, bytes) = (wires.len() - 1, 1_000_000);
    let mut machine = Machine::new(wires);
    machine.send(0, last, bytes);
    machine.finish("a long message");
    let microseconds: f64 = [0, last]
        .map(|rank| {
            let Counts { chunks, lines, line_hops, polls, .. } =
                machine.wire(rank).strictness().unwrap().counts();
            2.0 * chunks as f64 + 0.36 * lines as f64 + 0.0145 * line_hops as f64 + polls as f64
        })
        .iter()
        .sum();
    bytes as f64 / microseconds
}

#[test]
fn what_is_counted_gives_the_bandwidths_of_the_paper() {
    let two = |cores| bandwidth(strict_wires(2, &Settings { cores, ..Settings::default() }));
    let (near, far) = (two(vec![0, 1]), two(vec![0, 47]));
    assert!(
        near > 80.0 && near <= 90.0 && far > 60.0 && far <= 70.0,
        "2 processes: {near} and {far} MB/s"
    );
    let ring = |header_lines| {
        let mut wires = strict_wires(48, &Settings { header_lines, ..Settings::default() });
        wires.iter_mut().for_each(|wires| declare_ring(wires, 1, 48));
        bandwidth(wires)
    };
    let (flat, two_lines, three_lines) =
        (bandwidth(strict_wires(48, &Settings::default())), ring(2), ring(3));
    assert!(two_lines > 25.0 && two_lines <= 30.0, "48 processes in a ring: {two_lines} MB/s");
    assert!(
        three_lines < two_lines && two_lines >= 4.0 * flat,
        "{two_lines}, {three_lines}, {flat} MB/s"
    );
}

#[test]
fn absurd_settings_are_refused_with_a_sentence() {
    let file = towpath_machine::memory::create_file("towpath-absurd").unwrap();
    let refused = |settings: &Settings| {
        let error =
            Wires::strict(Segment::map(&file, 2, 0).unwrap(), settings).err().expect("refused");
        assert!(matches!(error, error::Error::Setting(_)), "{error}");
        error.to_string()
    };
    let tight = refused(&Settings { budget: 96, ..Settings::default() });
    assert!(tight.ends_with("a header line and a line of payload, 128 bytes in all."), "{tight}");
    let odd = refused(&Settings { line: 33, ..Settings::default() });
    assert_eq!(odd, "TOWPATH_STRICT_LINE_BYTES=33 is not a valid line length; use 32 or 64.");
}

#[test]
#[should_panic(expected = "other measures")]
fn ranks_with_other_measures_are_found_out() {
    let file = towpath_machine::memory::create_file("towpath-unequal").unwrap();
    let wires = |own, budget| {
        let settings = Settings { budget, ..Settings::default() };
        Wires::strict(Segment::map(&file, 2, own).unwrap(), &settings).unwrap()
    };
    let mut machine = Machine::new([wires(0, 8192), wires(1, 4096)]);
    machine.send(0, 1, 1);
}

#[test]
#[should_panic(expected = "does not run the strict channel")]
fn a_rank_on_another_channel_is_found_out() {
    let file = towpath_machine::memory::create_file("towpath-mixed").unwrap();
    let strict = Wires::strict(Segment::map(&file, 2, 0).unwrap(), &Settings::default()).unwrap();
    let other = Segment::map(&file, 2, 1).unwrap();
    other.own_control().set_state(RankState::Running);
    let mut machine = Machine::new([strict, Wires::single_host(other)]);
    machine.send(0, 1, 1);
}
