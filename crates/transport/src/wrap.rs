//! Wires that wrap another wire and add behaviour under the same contract.
//!
//! [`Wrapped`] forwards everything; a [`Layer`] decides what happens to each call.
//! [`MessageWire::poll_front`] takes no message: each one passes the layer in `progress`.

mod fault;
mod observe;

pub use fault::{FaultLayer, Faults, Faulty};
pub use observe::{Observed, ObservingLayer};

use towpath_base::events::{Event, Subscriber};
use towpath_base::ids::PeerIndex;
use towpath_base::transfer::{Source, Target};

use crate::{
    AccessResult, Cost, Header, JobWire, MemoryKey, MemoryWire, MessageWire, NoResource, RegionKey,
    RegionWire, RemoteRange, Sink, Wire,
};

/// What a wrapper adds. As a [`Subscriber`], it is told of the calls to the wire.
pub trait Layer: Subscriber {
    /// True if a send is to be refused although there may be room.
    fn refuses(&mut self) -> bool {
        false
    }

    /// True if the end of a memory access is to be reported only when the caller asks again.
    fn delays(&mut self) -> bool {
        false
    }

    /// Makes progress on the wire; see [`Wire::progress`].
    fn progress(&mut self, wire: &mut impl Wire, sink: &mut impl Sink) -> bool;

    /// True if the layer holds back something that the wire has reported.
    fn holds_back(&self) -> bool {
        false
    }
}

/// A wire under a layer.
pub struct Wrapped<W, L> {
    inner: W,
    layer: L,
}

impl<W: JobWire, L: Layer> Wrapped<W, L> {
    /// The wrapped wire.
    pub fn inner(&mut self) -> &mut W {
        &mut self.inner
    }

    /// Sends with `send`, unless the layer refuses, and reports the outcome.
    fn send(
        &mut self,
        to: PeerIndex,
        header: &Header,
        bytes: usize,
        send: impl FnOnce(&mut W) -> Result<(), NoResource>,
    ) -> Result<(), NoResource> {
        let Header { protocol, words } = *header;
        let outcome = if self.layer.refuses() { Err(NoResource) } else { send(&mut self.inner) };
        self.layer.event(match outcome {
            Ok(()) => Event::MessageSent { to, protocol, words, bytes },
            Err(NoResource) => Event::MessageRefused { to },
        });
        outcome
    }
}

impl<W: JobWire, L: Layer> Wire for Wrapped<W, L> {
    type Peer = PeerIndex;

    fn cost(&self, to: PeerIndex) -> Cost {
        self.inner.cost(to)
    }

    fn mark_lost(&mut self, peer: PeerIndex) {
        self.inner.mark_lost(peer);
    }

    fn progress(&mut self, sink: &mut impl Sink) -> bool {
        self.layer.progress(&mut self.inner, sink)
    }

    fn busy(&self) -> bool {
        self.layer.holds_back() || self.inner.busy()
    }
}

impl<W: JobWire, L: Layer> MessageWire for Wrapped<W, L> {
    unsafe fn short(
        &mut self,
        to: PeerIndex,
        header: &Header,
        payload: *const u8,
        length: usize,
    ) -> Result<(), NoResource> {
        // SAFETY: `payload` is readable for `length` bytes (this function's contract).
        self.send(to, header, length, |wire| unsafe { wire.short(to, header, payload, length) })
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
        self.send(to, header, length, |wire| wire.copied(to, header, length, fill))
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
        // SAFETY: `payload` is readable for `length` bytes (this function's contract).
        let send = |wire: &mut W| unsafe { wire.copied_contiguous(to, header, payload, length) };
        self.send(to, header, length, send)
    }
}

impl<W: JobWire, L: Layer> RegionWire for Wrapped<W, L> {
    unsafe fn publish(&mut self, to: PeerIndex, token: u64, source: Source) -> RegionKey {
        self.layer.event(Event::RegionPublished { to, token, bytes: source.length() });
        // SAFETY: the memory behind `source` lives until `released` (this function's contract),
        // which this wire reports no earlier than `inner` does.
        unsafe { self.inner.publish(to, token, source) }
    }

    fn withdraw(&mut self, to: PeerIndex, key: RegionKey) -> bool {
        let withdrawn = self.inner.withdraw(to, key);
        if withdrawn {
            self.layer.event(Event::RegionWithdrawn { to });
        }
        withdrawn
    }

    unsafe fn pull(&mut self, from: PeerIndex, key: RegionKey, token: u64, target: Target) {
        self.layer.event(Event::PullStarted { from, token, bytes: target.length() });
        // SAFETY: the memory behind `target` lives until `pulled` (this function's contract), which
        // this wire reports no earlier than `inner` does.
        unsafe { self.inner.pull(from, key, token, target) }
    }
}

impl<W: JobWire, L: Layer> MemoryWire for Wrapped<W, L> {
    fn offers_memory(&self, owner: PeerIndex) -> bool {
        self.inner.offers_memory(owner)
    }

    unsafe fn register(&mut self, memory: *mut u8, length: usize) -> Option<MemoryKey> {
        // SAFETY: the memory is readable and writable until this wire's `deregister` has returned
        // true (this function's contract), which it does no earlier than that of `inner`.
        unsafe { self.inner.register(memory, length) }
    }

    fn deregister(&mut self, key: MemoryKey) -> bool {
        self.inner.deregister(key) && !self.layer.delays()
    }

    unsafe fn put(&mut self, to: PeerIndex, range: RemoteRange, from: *const u8) -> AccessResult {
        // SAFETY: `from` stays readable until this wire's `flush` returns true (this function's
        // contract), which it does no earlier than that of `inner`.
        unsafe { self.inner.put(to, range, from) }
    }

    unsafe fn get(&mut self, from: PeerIndex, range: RemoteRange, to: *mut u8) -> AccessResult {
        // SAFETY: `to` stays writable until this wire's `flush` returns true (this function's
        // contract), which it does no earlier than that of `inner`.
        unsafe { self.inner.get(from, range, to) }
    }

    fn flush(&mut self, owner: PeerIndex) -> AccessResult<bool> {
        Ok(self.inner.flush(owner)? && !self.layer.delays())
    }
}

impl<W: JobWire, L: Layer> JobWire for Wrapped<W, L> {
    fn own(&self) -> PeerIndex {
        self.inner.own()
    }
}
