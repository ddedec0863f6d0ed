//! Registered memory, over every wire: many peers at one range, wrong keys and ranges, memory that
//! is deregistered, owners that are lost or die. A wire without access to memory refuses all of it.

mod concurrent;
mod processes;

use std::alloc::{Layout, alloc_zeroed, dealloc};

use crate::machine::Machine;
use crate::machines_without_heaps;
use towpath_base::ids::PeerIndex;
use towpath_base::sync::Ordering;
use towpath_shm::layout::MEMORY_ROWS;
use towpath_shm::{Heap, Segment};
use towpath_transport::wrap::Faulty;
use towpath_transport::{AccessError, JobWire, MemoryKey, MemoryWire, RemoteRange, Sink, Wire};
use towpath_wires::Wires;

const RANKS: usize = 4;
/// Bytes of a registered range: enough for a block of a heap.
const LENGTH: usize = 100_000;

/// The machines of the suite, all but the strict ones. All ranks have the PID of this process, so
/// that private memory of one is reached by the others.
fn machines() -> Vec<(&'static str, Machine<Faulty<Wires>>)> {
    let mut machines = machines_without_heaps(RANKS);
    machines.retain(|(name, _)| !name.starts_with("strict"));
    for (_, machine) in &mut machines {
        (0..RANKS)
            .for_each(|rank| set_pid(machine.wire(rank).inner().segment(), std::process::id()));
    }
    machines
}

fn set_pid(segment: &Segment, pid: u32) {
    segment.own_control().pid.store(pid, Ordering::Relaxed);
}

/// Memory that a test registers. There are no references to it, as the contract requires.
struct Memory {
    pointer: *mut u8,
    heap: Option<Heap>,
}

const LAYOUT: Layout = Layout::new::<[u8; LENGTH]>();

impl Memory {
    fn private() -> Memory {
        // SAFETY: the layout has more than 0 bytes.
        Memory { pointer: unsafe { alloc_zeroed(LAYOUT) }, heap: None }
    }

    fn in_heap(segment: &Segment) -> Memory {
        let mut heap = Heap::new(segment.clone());
        let pointer = heap.allocate_for_malloc(LENGTH, 1).expect("room in the heap").address;
        // SAFETY: the block has `LENGTH` bytes.
        unsafe { pointer.write_bytes(0, LENGTH) };
        Memory { pointer, heap: Some(heap) }
    }

    /// Memory of both kinds.
    fn kinds(segment: &Segment) -> [Memory; 2] {
        [Memory::private(), Memory::in_heap(segment)]
    }

    fn register(&self, wire: &mut impl JobWire) -> MemoryKey {
        // SAFETY: the memory has `LENGTH` bytes and lives longer than the wires use it: each test
        // drops it after the last access.
        unsafe { wire.register(self.pointer, LENGTH) }.expect("a row for the memory")
    }

    fn byte(&self, at: usize) -> u8 {
        assert!(at < LENGTH);
        // SAFETY: `at` is inside the memory, and no other thread accesses this byte now.
        unsafe { self.pointer.add(at).read() }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        match &mut self.heap {
            Some(heap) => assert!(heap.free(self.pointer)),
            // SAFETY: `private` has allocated it with this layout.
            None => unsafe { dealloc(self.pointer, LAYOUT) },
        }
    }
}

/// Ignores all reports: accesses make none.
struct Silence;

impl Sink for Silence {
    fn arrived(&mut self, _: PeerIndex, _: &towpath_transport::Header, _: *const u8, _: usize) {}
    fn released(&mut self, _: u64) {}
    fn pulled(&mut self, _: u64) {}
    fn lost(&mut self, _: PeerIndex) {}
}

fn flush(wire: &mut impl JobWire, owner: PeerIndex) -> Result<(), AccessError> {
    while !wire.flush(owner)? {
        wire.progress(&mut Silence);
    }
    Ok(())
}

fn deregister(wire: &mut impl JobWire, key: MemoryKey) {
    while !wire.deregister(key) {
        wire.progress(&mut Silence);
    }
}

fn put(
    wire: &mut impl JobWire,
    owner: usize,
    key: MemoryKey,
    offset: usize,
    bytes: &[u8],
) -> Result<(), AccessError> {
    let owner = PeerIndex(owner as u32);
    let range = RemoteRange { key, offset, length: bytes.len() };
    // SAFETY: `bytes` lives until the put is flushed, and is no registered memory.
    unsafe { wire.put(owner, range, bytes.as_ptr())? };
    flush(wire, owner)
}

fn get(
    wire: &mut impl JobWire,
    owner: usize,
    key: MemoryKey,
    offset: usize,
    length: usize,
) -> Result<Vec<u8>, AccessError> {
    let owner = PeerIndex(owner as u32);
    // Refused ranges may be longer than memory.
    let mut bytes = vec![0; length.min(2 * LENGTH)];
    // SAFETY: `bytes` has room for `length` bytes if the range is inside the memory, and otherwise
    // the wire must refuse it; it lives until the get is flushed.
    unsafe { wire.get(owner, RemoteRange { key, offset, length }, bytes.as_mut_ptr())? };
    flush(wire, owner)?;
    Ok(bytes)
}

/// The ranks that reach memory of an owner; at least the owner itself.
fn origins(machine: &mut Machine<Faulty<Wires>>, owner: usize) -> Vec<usize> {
    let to = PeerIndex(owner as u32);
    let origins: Vec<usize> =
        (0..RANKS).filter(|&rank| machine.wire(rank).offers_memory(to)).collect();
    assert!(origins.contains(&owner));
    origins
}

fn kinds(machine: &mut Machine<Faulty<Wires>>, owner: usize) -> [Memory; 2] {
    Memory::kinds(machine.wire(owner).inner().segment())
}

#[test]
fn who_offers_memory_is_known_before_there_is_a_key() {
    for (name, mut machine) in machines() {
        let reached = origins(&mut machine, 0).len();
        let expected = match name {
            _ if name.contains("shared memory and faults") => 1,
            _ if name.contains("shared memory") => 2,
            _ if ["tcp", "clic"].iter().any(|kind| name.contains(kind)) => 1,
            _ => RANKS,
        };
        assert_eq!(reached, expected, "{name}");
        assert!(!machine.wire(0).offers_memory(PeerIndex(RANKS as u32)), "{name}: nobody");
    }
}

#[test]
fn all_peers_read_and_write_one_range() {
    for (name, mut machine) in machines() {
        for memory in kinds(&mut machine, 1) {
            let key = memory.register(machine.wire(1));
            let origins = origins(&mut machine, 1);
            let share = |rank: usize| (LENGTH / RANKS * rank + rank, LENGTH / RANKS - 5);
            for &rank in &origins {
                let (offset, length) = share(rank);
                let bytes: Vec<u8> = (0..length).map(|at| (at * 3 + rank + 1) as u8 | 1).collect();
                put(machine.wire(rank), 1, key, offset, &bytes).unwrap();
            }
            for reader in 0..RANKS {
                let read = get(machine.wire(reader), 1, key, 0, LENGTH);
                if !origins.contains(&reader) {
                    assert_eq!(read, Err(AccessError::NotOffered), "{name}");
                    continue;
                }
                let read = read.unwrap();
                for rank in 0..RANKS {
                    let (offset, length) = share(rank);
                    let written = |at: usize| match origins.contains(&rank) {
                        true => (at * 3 + rank + 1) as u8 | 1,
                        false => 0,
                    };
                    assert!((0..length).all(|at| read[offset + at] == written(at)), "{name}");
                    assert_eq!(read.get(offset + length).copied().unwrap_or(0), 0, "{name}");
                }
            }
            assert_eq!(memory.byte(share(1).0), 2 | 1, "{name}");
            deregister(machine.wire(1), key);
        }
    }
}

#[test]
fn a_range_that_is_not_inside_is_refused() {
    for (name, mut machine) in machines() {
        for memory in kinds(&mut machine, 1) {
            let key = memory.register(machine.wire(1));
            for rank in origins(&mut machine, 1) {
                let wire = machine.wire(rank);
                for (offset, length) in [
                    (0, LENGTH + 1),
                    (LENGTH, 1),
                    (LENGTH - 1, 2),
                    (LENGTH + 1, 0),
                    (usize::MAX, 1),
                    (1, usize::MAX),
                    (usize::MAX, usize::MAX),
                ] {
                    let read = get(wire, 1, key, offset, length);
                    assert_eq!(read, Err(AccessError::OutOfRange), "{name}: {length} at {offset}");
                }
                let written = put(wire, 1, key, LENGTH - 7, &[1; 8]);
                assert_eq!(written, Err(AccessError::OutOfRange), "{name}");
                assert_eq!(get(wire, 1, key, LENGTH, 0), Ok(Vec::new()), "{name}");
                assert_eq!(get(wire, 1, key, LENGTH - 7, 7), Ok(vec![0; 7]), "{name}");
            }
            deregister(machine.wire(1), key);
        }
    }
}

#[test]
fn a_forged_key_is_refused() {
    for (name, mut machine) in machines() {
        let memories = [0, 1].map(|_| Memory::private());
        let key = memories[0].register(machine.wire(1));
        let other = memories[1].register(machine.wire(2));
        let origins = origins(&mut machine, 1);
        // A key of another owner on the same host.
        let others = origins.contains(&2).then_some(other);
        for &rank in &origins {
            let wire = machine.wire(rank);
            let flipped = (0..128).map(|bit| {
                let mut words = key.0;
                words[bit / 64] ^= 1 << (bit % 64);
                MemoryKey(words)
            });
            let made_up = [MemoryKey([0; 2]), MemoryKey([u64::MAX; 2])];
            for forged in flipped.chain(made_up).chain(others) {
                assert_eq!(get(wire, 1, forged, 0, 1), Err(AccessError::BadKey), "{name}");
                assert_eq!(put(wire, 1, forged, 0, &[1]), Err(AccessError::BadKey), "{name}");
                assert_eq!(get(wire, 1, forged, 0, 0), Err(AccessError::BadKey), "{name}");
            }
        }
        // A key of another owner deregisters nothing.
        others.into_iter().for_each(|other| deregister(machine.wire(1), other));
        assert_eq!(get(machine.wire(1), 1, key, 0, 1), Ok(vec![0]), "{name}");
        deregister(machine.wire(1), key);
    }
}

#[test]
fn deregistered_memory_is_refused_also_when_other_memory_has_its_row() {
    for (name, mut machine) in machines() {
        for memory in kinds(&mut machine, 1) {
            let old = memory.register(machine.wire(1));
            let origins = origins(&mut machine, 1);
            for &rank in &origins {
                put(machine.wire(rank), 1, old, rank, &[9]).unwrap();
            }
            deregister(machine.wire(1), old);
            for later in [false, true] {
                let new = later.then(|| memory.register(machine.wire(1)));
                assert_ne!(new, Some(old), "{name}");
                for &rank in &origins {
                    let wire = machine.wire(rank);
                    assert_eq!(put(wire, 1, old, 50, &[1]), Err(AccessError::BadKey), "{name}");
                    assert_eq!(get(wire, 1, old, 0, 1), Err(AccessError::BadKey), "{name}");
                    assert!(new.is_none_or(|new| get(wire, 1, new, rank, 1) == Ok(vec![9])));
                }
                assert_eq!(memory.byte(50), 0, "{name}");
                // Deregistering memory again returns true.
                deregister(machine.wire(1), old);
                new.into_iter().for_each(|new| deregister(machine.wire(1), new));
            }
        }
    }
}

#[test]
fn there_are_as_many_ranges_as_rows_and_they_are_used_again() {
    let (_, mut machine) = machines().remove(0);
    let memory = Memory::private();
    for _ in 0..2 {
        let keys: Vec<MemoryKey> =
            (0..MEMORY_ROWS).map(|_| memory.register(machine.wire(1))).collect();
        // SAFETY: the memory has `LENGTH` bytes.
        assert_eq!(unsafe { machine.wire(1).register(memory.pointer, LENGTH) }, None);
        for &key in &keys {
            assert_eq!(get(machine.wire(0), 1, key, 0, 1), Ok(vec![0]));
            deregister(machine.wire(1), key);
        }
        assert!(keys.iter().all(|&key| get(machine.wire(0), 1, key, 0, 1).is_err()));
    }
}

#[test]
fn memory_of_a_lost_owner_is_refused() {
    for (name, mut machine) in machines() {
        for memory in kinds(&mut machine, 1) {
            let key = memory.register(machine.wire(1));
            for rank in origins(&mut machine, 1).into_iter().filter(|&rank| rank != 1) {
                let wire = machine.wire(rank);
                wire.mark_lost(PeerIndex(1));
                assert_eq!(put(wire, 1, key, 0, &[1]), Err(AccessError::Lost), "{name}");
                assert_eq!(get(wire, 1, key, 0, 1), Err(AccessError::Lost), "{name}");
                assert_eq!(wire.flush(PeerIndex(1)), Err(AccessError::Lost), "{name}");
            }
            deregister(machine.wire(1), key);
        }
        let nobody = get(machine.wire(0), RANKS, MemoryKey([0; 2]), 0, 1);
        assert_eq!(nobody, Err(AccessError::Lost), "{name}: a peer without a route");
    }
}

#[test]
fn the_strict_mode_registers_no_memory() {
    let machines = machines_without_heaps(RANKS);
    let strict = machines.into_iter().filter(|(name, _)| name.starts_with("strict"));
    for (name, mut machine) in strict {
        let memory = Memory::private();
        for rank in 0..RANKS {
            let wire = machine.wire(rank);
            // SAFETY: the memory has `LENGTH` bytes and lives until the end of the block.
            assert_eq!(unsafe { wire.register(memory.pointer, LENGTH) }, None, "{name}");
            let key = MemoryKey([0; 2]);
            deregister(wire, key);
            for owner in 0..RANKS {
                assert!(!wire.offers_memory(PeerIndex(owner as u32)), "{name}");
                assert_eq!(put(wire, owner, key, 0, &[1]), Err(AccessError::NotOffered), "{name}");
                assert_eq!(get(wire, owner, key, 0, 1), Err(AccessError::NotOffered), "{name}");
                assert_eq!(flush(wire, PeerIndex(owner as u32)), Ok(()), "{name}");
            }
        }
    }
}
