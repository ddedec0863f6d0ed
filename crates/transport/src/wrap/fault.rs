//! A wrapper that injects every fault the [`Wire`] contract allows: it refuses sends, delays events
//! and reorders messages of different senders. A seeded generator decides, so that a failing run
//! can be repeated. It is for tests of the code above the wires.
//!
//! It keeps the order per sender and loses nothing: loss belongs to networks, below the transport's
//! reliability layer.

use std::collections::{BTreeMap, VecDeque};

use towpath_base::ids::PeerIndex;
use towpath_base::transfer::{Source, Target};

use crate::{
    Cost, Header, JobWire, MessageWire, NoResource, Payload, RegionKey, RegionWire, Sink, Wire,
};

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
pub struct Faulty<W> {
    inner: W,
    faults: Faults,
    random: u64,
    kept: Kept,
}

impl<W: JobWire> Faulty<W> {
    /// Wraps a wire.
    pub fn new(inner: W, faults: Faults) -> Faulty<W> {
        Faulty {
            inner,
            faults,
            random: faults.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            kept: Kept::default(),
        }
    }

    /// Number of messages that were reported by [`Sink::arriving`], that is, in parts.
    pub fn in_parts(&self) -> usize {
        self.kept.in_parts
    }

    /// The wrapped wire.
    pub fn inner(&mut self) -> &mut W {
        &mut self.inner
    }

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

    fn keeps_something(&self) -> bool {
        !(self.kept.by_peer.is_empty()
            && self.kept.released.is_empty()
            && self.kept.pulled.is_empty())
    }
}

impl<W: JobWire> Wire for Faulty<W> {
    type Peer = PeerIndex;

    fn cost(&self, to: PeerIndex) -> Cost {
        self.inner.cost(to)
    }

    fn mark_lost(&mut self, peer: PeerIndex) {
        self.inner.mark_lost(peer);
    }

    fn progress(&mut self, sink: &mut impl Sink) -> bool {
        let mut moved = false;
        if !self.chance(self.faults.idle) {
            moved |= self.inner.progress(&mut self.kept);
        }
        moved |= self.show_arrivals(sink);
        moved |= self.show_completions(sink);
        // Held-back events are due later: the caller must not go to sleep while there are any.
        moved || self.keeps_something()
    }

    fn busy(&self) -> bool {
        self.keeps_something() || self.inner.busy()
    }
}

impl<W: JobWire> MessageWire for Faulty<W> {
    unsafe fn short(
        &mut self,
        to: PeerIndex,
        header: &Header,
        payload: *const u8,
        length: usize,
    ) -> Result<(), NoResource> {
        if self.chance(self.faults.refuse) {
            return Err(NoResource);
        }
        // SAFETY: `payload` is readable for `length` bytes (this function's contract).
        unsafe { self.inner.short(to, header, payload, length) }
    }

    fn copied_limit(&self, to: PeerIndex) -> usize {
        self.inner.copied_limit(to)
    }

    fn copied(
        &mut self,
        to: PeerIndex,
        header: &Header,
        length: usize,
        fill: impl FnOnce(*mut u8),
    ) -> Result<(), NoResource> {
        if self.chance(self.faults.refuse) {
            return Err(NoResource);
        }
        self.inner.copied(to, header, length, fill)
    }

    fn copied_contiguous_limit(&self, to: PeerIndex) -> usize {
        self.inner.copied_contiguous_limit(to)
    }

    unsafe fn copied_contiguous(
        &mut self,
        to: PeerIndex,
        header: &Header,
        payload: *const u8,
        length: usize,
    ) -> Result<(), NoResource> {
        if self.chance(self.faults.refuse) {
            return Err(NoResource);
        }
        // SAFETY: `payload` is readable for `length` bytes (this function's contract).
        unsafe { self.inner.copied_contiguous(to, header, payload, length) }
    }
}

impl<W: JobWire> RegionWire for Faulty<W> {
    unsafe fn publish(&mut self, to: PeerIndex, token: u64, source: Source) -> RegionKey {
        // SAFETY: the memory behind `source` lives until `released` (this function's contract),
        // which this wire reports no earlier than `inner` does.
        unsafe { self.inner.publish(to, token, source) }
    }

    fn withdraw(&mut self, to: PeerIndex, key: RegionKey) -> bool {
        self.inner.withdraw(to, key)
    }

    unsafe fn pull(&mut self, from: PeerIndex, key: RegionKey, token: u64, target: Target) {
        // SAFETY: the memory behind `target` lives until `pulled` (this function's contract), which
        // this wire reports no earlier than `inner` does.
        unsafe { self.inner.pull(from, key, token, target) }
    }
}

impl<W: JobWire> JobWire for Faulty<W> {
    fn own(&self) -> PeerIndex {
        self.inner.own()
    }
}
