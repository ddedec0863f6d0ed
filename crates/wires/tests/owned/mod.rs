//! Large messages that the receiver copies in part: from a heap, and from the memory of a sender
//! that computes.

use crate::machine::{Machine, wires};
use towpath_base::sync::Ordering;
use towpath_shm::{Heap, Settings};
use towpath_wires::Wires;

fn settings() -> Settings {
    Settings {
        hot_sends: 4,
        ring_bytes: 16 * 1024,
        ring_lines: 64,
        arena_bytes: 8 << 20,
        bounce_buffers: true,
        staging_bytes: None,
        direct_bytes: Some(1),
    }
}

/// Two ranks whose processes have this PID, according to the segment.
fn machine(pid: u32) -> Machine<Wires> {
    let wires = wires(2, settings());
    for wire in &wires {
        wire.segment().own_control().pid.store(pid, Ordering::Relaxed);
    }
    Machine::new(wires)
}

fn with_heaps(mut machine: Machine<Wires>, which: [bool; 2]) -> Machine<Wires> {
    let heaps =
        [0, 1].map(|rank| which[rank].then(|| Heap::new(machine.wire(rank).segment().clone())));
    machine.use_heaps(heaps);
    machine
}

/// More turns than the receiver's patience.
const MANY: usize = 300;

#[test]
fn a_receiver_reads_what_a_sender_that_computes_does_not_send() {
    for turns_of_sender in [0, 1] {
        let mut machine = machine(std::process::id());
        machine.send(0, 1, 3_000_001);
        machine.turns(0, turns_of_sender);
        machine.turns(1, MANY);
        assert_eq!(machine.completed(), 1, "after {turns_of_sender} turns of the sender");
        assert_eq!(machine.published(0), 1, "the sender was told without a turn of its own");
        machine.turn(0);
        assert_eq!(machine.published(0), 0);
        machine.finish("a sender that computes");
    }
}

#[test]
fn a_sender_in_mpi_sends_all_itself() {
    let mut machine = machine(std::process::id());
    machine.wire(0).segment().own_control().in_call.store(1, Ordering::Relaxed);
    machine.send(0, 1, 3_000_001);
    machine.turns(1, MANY);
    assert_eq!(machine.completed(), 0);
    machine.finish("a sender in MPI");
}

#[test]
fn a_process_that_is_not_the_sender_is_not_read() {
    // PID 1 is not the sender, whether its memory can be read or not.
    let mut machine = machine(1);
    machine.send(0, 1, 3_000_001);
    machine.turns(1, MANY);
    assert_eq!(machine.completed(), 0);
    machine.finish("a wrong process");
}

#[test]
fn a_sender_is_woken_when_a_chunk_is_given_back() {
    let mut machine = machine(std::process::id());
    machine.send(0, 1, 3_000_001);
    machine.turns(1, MANY);
    machine.finish("a process that can be read");
    // From now on reads fail, and the chunk that the receiver has claimed returns to the sender.
    machine.wire(0).segment().own_control().pid.store(i32::MAX as u32, Ordering::Relaxed);
    machine.send(0, 1, 3_000_001);
    machine.turns(1, 10);
    machine.wire(0).segment().own_control().sleep.store(1, Ordering::Relaxed);
    machine.turns(1, MANY);
    assert_eq!(
        machine.wire(0).segment().own_control().sleep.load(Ordering::Relaxed),
        0,
        "the sender sleeps on"
    );
    machine.finish("a process that can be read no more");
}

#[test]
fn what_was_begun_is_ended_by_both() {
    for length in [262_144, 600_000, 5_000_000] {
        let mut machine = machine(std::process::id());
        for round in 0..20 {
            machine.send(0, 1, length + round);
            machine.send(1, 0, length - round);
            machine.turns(0, round);
            machine.turns(1, MANY / 4 + 7 * round);
            machine.turns(0, MANY / 4 + 3 * round);
        }
        machine.finish("both");
    }
}

#[test]
fn a_message_in_a_heap_needs_no_turn_of_its_sender() {
    for target_in_heap in [false, true] {
        let mut machine = with_heaps(machine(0), [true, target_in_heap]);
        machine.send(0, 1, 1_000_003);
        machine.turns(1, MANY);
        assert_eq!(machine.completed(), 1, "target in a heap: {target_in_heap}");
        machine.turn(0);
        assert_eq!(machine.published(0), 0);
        machine.finish("a heap");
    }
}

#[test]
fn parts_and_unpackers_out_of_heaps() {
    for which in [[true, false], [true, true], [false, true]] {
        let mut machine = with_heaps(machine(0), which);
        for wanted in [1, 131_071, 700_000, 1_000_000] {
            machine.send_cut(0, 1, 1_000_000, wanted);
            machine.send_unpacked(0, 1, 999_999);
            machine.send_cut(1, 0, 1_000_000, wanted);
        }
        machine.finish("parts");
    }
}

#[test]
fn more_messages_in_heaps_than_lines() {
    let mut machine = with_heaps(machine(0), [true, true]);
    for round in 0..100 {
        machine.send(round % 2, 1 - round % 2, 140_000 + round);
    }
    machine.finish("many");
}

#[test]
fn a_receiver_that_cannot_map_the_heaps_asks_for_another_way() {
    let file = towpath_machine::memory::create_file("towpath-test").unwrap();
    let segments = [0, 1].map(|own| towpath_shm::Segment::map(&file, 2, own).unwrap());
    let [first, second] = segments.clone();
    let wires =
        [first, second.with_heaps(false)].map(|segment| Wires::with_settings(segment, settings()));
    let mut machine = Machine::new(wires);
    machine.use_heaps([Some(Heap::new(segments[0].clone())), None]);
    for length in [200_000, 3_000_000] {
        machine.send(0, 1, length);
        machine.send(1, 0, length);
        machine.send_cut(0, 1, length, 150_000);
    }
    machine.finish("no heaps at the receiver");
}

#[test]
fn a_withdrawn_message_in_a_heap_frees_its_lines() {
    let mut machine = with_heaps(machine(0), [true, true]);
    assert!(machine.withdraw_at_once(0, 1));
    machine.send(0, 1, 1_000_000);
    machine.finish("after withdrawals");
}
