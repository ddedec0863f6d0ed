//! Helpers shared by the engine's tests: a set of engines on a test network, and packers that yield
//! odd pieces.
#![allow(dead_code, unreachable_pub)]

pub mod order_model;

use towpath_base::ids::{ContextId, PeerIndex};
use towpath_base::transfer::{Drain, Fill, Place, Source, Step, Target};
use towpath_engine::testing::{Manners, TestNetwork, TestWire};
use towpath_engine::{Completion, Engine, Limits, Mode, RequestId};

pub const CONTEXT: ContextId = ContextId(0x10);

/// Rounds of progress of all ranks after which a test gives up.
pub const PATIENCE: usize = 100_000;

pub struct World {
    pub network: TestNetwork,
    pub engines: Vec<Engine<TestWire>>,
}

pub fn peer(rank: usize) -> PeerIndex {
    PeerIndex(rank as u32)
}

pub fn bytes(data: &[u8]) -> Source {
    Source::Bytes { pointer: data.as_ptr(), length: data.len() }
}

pub fn room(data: &mut [u8]) -> Target {
    Target::Bytes { pointer: data.as_mut_ptr(), length: data.len() }
}

/// Copies in pieces of at most `piece` bytes.
pub struct Pieces {
    pub pointer: *mut u8,
    pub left: usize,
    pub piece: usize,
}

// SAFETY: `fill` stays within the `left` bytes at `pointer`, which the test keeps alive, and writes
// at most `capacity` bytes.
unsafe impl Fill for Pieces {
    unsafe fn fill(&mut self, into: *mut u8, capacity: usize) -> Step {
        let step = capacity.min(self.left).min(self.piece);
        // SAFETY: `pointer` has at least `step` bytes left, and `into` is writable for `capacity >=
        // step` bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(self.pointer, into, step);
            self.pointer = self.pointer.add(step);
        }
        self.left -= step;
        Step::Done(step)
    }
}

// SAFETY: `drain` stays within the `left` bytes at `pointer`, which the test keeps alive.
unsafe impl Drain for Pieces {
    unsafe fn drain(&mut self, from: *const u8, length: usize) -> Step {
        let step = length.min(self.left);
        // SAFETY: `pointer` has at least `step` bytes left, and `from` is readable for `length >=
        // step` bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(from, self.pointer, step);
            self.pointer = self.pointer.add(step);
        }
        self.left -= step;
        Step::Done(length)
    }
}

/// A place of this many contiguous bytes, which the test keeps alive.
pub struct ContiguousPlace(pub *mut u8, pub usize);

// SAFETY: `put` writes only within the bytes of the place.
unsafe impl Place for ContiguousPlace {
    fn room(&self) -> usize {
        self.1
    }

    unsafe fn put(&self, from: *const u8, length: usize) {
        assert!(length <= self.1);
        // SAFETY: `from` is readable for `length` bytes, and the place has room for them.
        unsafe { std::ptr::copy_nonoverlapping(from, self.0, length) };
    }

    fn target(&self) -> Target {
        Target::Unpacker {
            drain: Box::new(Pieces { pointer: self.0, left: self.1, piece: 0 }),
            length: self.1,
        }
    }
}

pub fn packed(data: &[u8], piece: usize) -> Source {
    let pointer = data.as_ptr().cast_mut();
    Source::Packer {
        fill: Box::new(Pieces { pointer, left: data.len(), piece }),
        length: data.len(),
    }
}

pub fn unpacked(data: &mut [u8]) -> Target {
    Target::Unpacker {
        drain: Box::new(Pieces { pointer: data.as_mut_ptr(), left: data.len(), piece: 0 }),
        length: data.len(),
    }
}

/// `length` bytes that depend on `seed`.
pub fn pattern(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut out = Vec::with_capacity(length + 8);
    while out.len() < length {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        out.extend_from_slice(&state.to_le_bytes());
    }
    out.truncate(length);
    out
}

impl World {
    pub fn new(size: usize, manners: Manners, limits: Limits) -> World {
        let network = TestNetwork::new(size, manners);
        let engines = (0..size).map(|me| Engine::new(network.wire(me), limits, size)).collect();
        World { network, engines }
    }

    pub fn plain(size: usize) -> World {
        World::new(
            size,
            Manners::PLAIN,
            Limits { eager_bytes: usize::MAX, unexpected_bytes: 1 << 20 },
        )
    }

    pub fn progress(&mut self) -> bool {
        self.engines.iter_mut().fold(false, |moved, engine| engine.progress() | moved)
    }

    /// Starts a send from one rank to another in [`CONTEXT`].
    pub fn send(
        &mut self,
        from: usize,
        to: usize,
        tag: i32,
        source: Source,
        mode: Mode,
    ) -> RequestId {
        // SAFETY: the tests keep their send buffers alive and unchanged until the request is
        // complete.
        unsafe { self.engines[from].isend(peer(to), CONTEXT, tag, from as u32, source, mode) }
    }

    /// Starts a receive in [`CONTEXT`].
    pub fn receive(
        &mut self,
        me: usize,
        from: Option<usize>,
        tag: Option<i32>,
        target: Target,
    ) -> RequestId {
        // SAFETY: the tests keep their receive buffers alive and untouched until the request is
        // complete.
        unsafe { self.engines[me].irecv(from.map(peer), CONTEXT, tag, target) }
    }

    pub fn wait(&mut self, rank: usize, request: RequestId) -> Completion {
        for _ in 0..PATIENCE {
            if let Some(completion) = self.engines[rank].take(request) {
                return completion;
            }
            self.progress();
        }
        panic!("request {request:?} of rank {rank} does not complete");
    }

    /// Makes progress until no engine has pending work and nothing moves.
    pub fn run_until_idle(&mut self) {
        let mut quiet = 0;
        for _ in 0..PATIENCE {
            let moved = self.progress();
            let busy = self.engines.iter().any(Engine::busy);
            quiet = if moved || busy { 0 } else { quiet + 1 };
            if quiet > 50 {
                return;
            }
        }
        panic!("the engines do not come to rest");
    }
}
