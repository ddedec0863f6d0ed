//! A wrapper that injects every fault the [`Wire`] contract allows: it refuses sends, delays events
//! and reorders messages of different senders. A seeded generator decides, so that a failing run
//! can be repeated. It is for tests of the code above the wires.
//!
//! It keeps the order per sender and loses nothing: loss belongs to networks, below the transport's
//! reliability layer.

use std::collections::{BTreeMap, VecDeque};

use towpath_base::events::Subscriber;
use towpath_base::ids::PeerIndex;

use super::{Layer, Wrapped};
use crate::{Header, JobWire, Payload, Sink, Wire};

/// How a [`Faulty`] wire misbehaves; chances are in percent.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    /// Seed of the generator; equal seeds give equal faults for equal calls.
    pub seed: u64,
    /// Chance that a send is refused although there is room.
    pub refuse: u32,
    /// Chance that an event which has arrived is held back until a later `progress`.
    pub delay: u32,
    /// Chance that a `progress` call does not poll the wire at all.
    pub idle: u32,
}

enum Event {
    Arrived { header: Header, payload: Vec<u8> },
    Lost,
    Left,
}

/// Events that the inner wire has reported and the caller has not seen yet.
#[derive(Default)]
struct Kept {
    by_peer: BTreeMap<PeerIndex, VecDeque<Event>>,
    released: VecDeque<u64>,
    pulled: VecDeque<u64>,
    in_parts: usize,
}

impl Sink for Kept {
    fn arrived(&mut self, from: PeerIndex, header: &Header, payload: *const u8, length: usize) {
        let mut bytes = vec![0; length];
        // SAFETY: `payload` is readable for `length` bytes (contract of `Sink::arrived`), and
        // `bytes` has `length` bytes.
        unsafe { std::ptr::copy_nonoverlapping(payload, bytes.as_mut_ptr(), length) };
        self.by_peer
            .entry(from)
            .or_default()
            .push_back(Event::Arrived { header: *header, payload: bytes });
    }
    fn arriving(&mut self, from: PeerIndex, header: &Header, payload: impl Payload) {
        self.in_parts += 1;
        let length = payload.length();
        self.arrived(from, header, payload.whole(), length);
    }
    fn released(&mut self, token: u64) {
        self.released.push_back(token);
    }
    fn pulled(&mut self, token: u64) {
        self.pulled.push_back(token);
    }
    fn lost(&mut self, peer: PeerIndex) {
        self.by_peer.entry(peer).or_default().push_back(Event::Lost);
    }
    fn left(&mut self, peer: PeerIndex) {
        self.by_peer.entry(peer).or_default().push_back(Event::Left);
    }
}

/// A wire with fault injection.
pub type Faulty<W> = Wrapped<W, FaultLayer>;

/// Decides which faults happen.
pub struct FaultLayer {
    faults: Faults,
    random: u64,
    kept: Kept,
}

impl<W: JobWire> Faulty<W> {
    /// Wraps a wire.
    pub fn new(wire: W, faults: Faults) -> Faulty<W> {
        let random = faults.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        Wrapped { inner: wire, layer: FaultLayer { faults, random, kept: Kept::default() } }
    }

    /// Number of messages that were reported by [`Sink::arriving`], that is, in parts.
    pub fn in_parts(&self) -> usize {
        self.layer.kept.in_parts
    }
}

impl FaultLayer {
    /// True with a probability of `percent`.
    fn chance(&mut self, percent: u32) -> bool {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 32) % 100 < u64::from(percent)
    }

    fn show_arrivals(&mut self, sink: &mut impl Sink) -> bool {
        let mut moved = false;
        let mut by_peer = std::mem::take(&mut self.kept.by_peer);
        for (peer, events) in &mut by_peer {
            while !events.is_empty() && !self.chance(self.faults.delay) {
                moved = true;
                match events.pop_front() {
                    Some(Event::Arrived { header, payload }) => {
                        sink.arrived(*peer, &header, payload.as_ptr(), payload.len());
                    }
                    Some(Event::Lost) => sink.lost(*peer),
                    Some(Event::Left) => sink.left(*peer),
                    None => {}
                }
            }
        }
        by_peer.retain(|_, events| !events.is_empty());
        self.kept.by_peer = by_peer;
        moved
    }

    fn show_completions(&mut self, sink: &mut impl Sink) -> bool {
        let mut moved = false;
        while !self.kept.released.is_empty() && !self.chance(self.faults.delay) {
            self.kept.released.pop_front().into_iter().for_each(|token| sink.released(token));
            moved = true;
        }
        while !self.kept.pulled.is_empty() && !self.chance(self.faults.delay) {
            self.kept.pulled.pop_front().into_iter().for_each(|token| sink.pulled(token));
            moved = true;
        }
        moved
    }
}

impl Subscriber for FaultLayer {}

impl Layer for FaultLayer {
    fn refuses(&mut self) -> bool {
        self.chance(self.faults.refuse)
    }

    fn delays(&mut self) -> bool {
        self.chance(self.faults.delay)
    }

    fn progress(&mut self, wire: &mut impl Wire, sink: &mut impl Sink) -> bool {
        let mut moved = false;
        if !self.chance(self.faults.idle) {
            moved |= wire.progress(&mut self.kept);
        }
        moved |= self.show_arrivals(sink);
        moved |= self.show_completions(sink);
        // Held-back events are due later: the caller must not go to sleep while there are any.
        moved || self.holds_back()
    }

    fn holds_back(&self) -> bool {
        !(self.kept.by_peer.is_empty()
            && self.kept.released.is_empty()
            && self.kept.pulled.is_empty())
    }
}
