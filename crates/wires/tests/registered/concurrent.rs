//! Ranks that access one range at the same time, each in its own thread, while its owner
//! deregisters it.

use std::sync::Barrier;

use super::{LENGTH, Memory, RANKS, deregister, get, put, set_pid};
use crate::machine::wires;
use crate::settings;
use towpath_transport::{AccessError, MemoryKey};
use towpath_wires::Wires;

const ROUNDS: usize = 30;
/// Bytes that each origin writes.
const SHARE: usize = 20_000;
/// What the owner writes into memory that it has deregistered.
const ENDED: u8 = 0xEE;

/// Puts and gets until the memory is deregistered. Returns the number of accesses.
fn access_until_refused(wire: &mut Wires, rank: usize, key: MemoryKey) -> usize {
    for round in 0.. {
        let bytes = [(round % 200) as u8 + 1; SHARE];
        let offset = SHARE * rank;
        match put(wire, 0, key, offset, &bytes).and_then(|()| get(wire, 0, key, offset, SHARE)) {
            Ok(read) => assert!(read == bytes, "round {round} of rank {rank}"),
            Err(AccessError::BadKey) => return round,
            Err(other) => panic!("{other}"),
        }
    }
    unreachable!("rounds do not end")
}

#[test]
fn memory_is_the_owners_again_once_it_is_deregistered() {
    let mut wires = wires(RANKS, settings());
    wires.iter().for_each(|wire| set_pid(wire.segment(), std::process::id()));
    let mut owner = wires.remove(0);
    for round in 0..ROUNDS {
        let memory = match round % 2 {
            0 => Memory::in_heap(owner.segment()),
            _ => Memory::private(),
        };
        let key = memory.register(&mut owner);
        let barrier = Barrier::new(RANKS);
        std::thread::scope(|scope| {
            for (rank, wire) in (1..).zip(&mut wires) {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    access_until_refused(wire, rank, key)
                });
            }
            barrier.wait();
            std::thread::sleep(std::time::Duration::from_micros(100 * (round as u64 % 7)));
            deregister(&mut owner, key);
            // SAFETY: the memory has `LENGTH` bytes, and no peer accesses it any more.
            unsafe { memory.pointer.write_bytes(ENDED, LENGTH) };
        });
        assert!((0..LENGTH).all(|at| memory.byte(at) == ENDED), "a put came late in round {round}");
    }
}
