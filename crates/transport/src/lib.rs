//! The transport interface: wires move headers and bytes between processes and know no tag,
//! communicator, datatype or collective. Each wire is a crate of its own, and `wires` combines
//! them.
//!
//! Every wire implements [`Wire`], with three ways to send: *short* (the payload fits next to the
//! header), *copied* (the wire lends a slot and the caller fills it), and *regions* (the sender
//! publishes a large message and the receiver pulls it). Back-pressure is a return value,
//! [`NoResource`]: the caller queues the message and tries again after progress.
//!
//! Ordering: messages and announcements of regions from one process to another arrive in the order
//! of the calls, whichever way their payload takes. Nothing here blocks, except for the moment in
//! which a sender copies the rest of a message ([`Sink::arriving`], [`Wire::poll_front`]).

#![deny(missing_docs)]

pub mod ahead;
pub mod bytes;
pub mod copy;
pub mod error;
mod losses;
mod payload;
pub mod regions;
mod section;
pub mod ticks;
pub mod wrap;

pub use losses::Losses;
pub use payload::{Here, Payload};
pub use section::Section;

use towpath_base::ids::PeerIndex;
use towpath_base::transfer::{Source, Target};

/// The header of every message; opaque to the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Header {
    /// Which of the engine's protocols the message belongs to; 255 is reserved for the wires.
    pub protocol: u8,
    /// Sixteen bytes for the engine (context; tag and rank).
    pub words: [u64; 2],
}

/// Largest payload of [`Wire::short`] in bytes, on every wire.
pub const SHORT_BYTES: usize = 40;

/// The wire has no room now. The caller keeps the message and tries again after [`Wire::progress`]
/// has returned true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the wire has no room for another message to this peer now")]
pub struct NoResource;

/// Names a published region to its receiver. The engine's announcement carries it (16 bytes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct RegionKey(pub [u64; 2]);

/// What a wire reports arrivals and completions to. The engine implements it; a wire calls it from
/// inside [`Wire::progress`] only.
pub trait Sink {
    /// A message has arrived. `payload` is valid for `length` bytes during the call only.
    ///
    /// # Safety contract
    /// The wire guarantees that `payload` is readable for `length` bytes.
    fn arrived(&mut self, from: PeerIndex, header: &Header, payload: *const u8, length: usize);
    /// Like [`Sink::arrived`], for a message whose last parts may still be in flight: a sink that
    /// copies part by part finishes sooner.
    fn arriving(&mut self, from: PeerIndex, header: &Header, payload: impl Payload) {
        let length = payload.length();
        self.arrived(from, header, payload.whole(), length);
    }
    /// The receiver has read everything it wants of the region published with this `token`: its
    /// memory may be reused.
    fn released(&mut self, token: u64);
    /// The pull started with this `token` is complete: all bytes are in the target.
    fn pulled(&mut self, token: u64);
    /// The peer is gone (process died, connection lost): nothing more will come from it. This
    /// report ends regions published to it and pulls from it; they get no report of their own.
    fn lost(&mut self, peer: PeerIndex);
    /// Like [`Sink::lost`], for a peer that has left MPI properly, after all its messages.
    fn left(&mut self, peer: PeerIndex) {
        self.lost(peer);
    }
}

/// What the callback of [`Wire::poll_front`] does with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Leaves it queued, along with all later messages of this peer.
    Leave,
    /// Has taken it and wants the next one of the same peer too.
    More,
    /// Has taken it and expects nothing else from this peer.
    Enough,
    /// Has taken it and expects nothing else from any peer.
    Done,
}

/// One kind of wire, or the table of all wires of the process.
///
/// Generic code takes `W: Wire`. There is no `dyn Wire`, so that the path of small messages can be
/// inlined completely.
pub trait Wire {
    /// The index of this process.
    fn own(&self) -> PeerIndex;

    /// Sends a message of at most [`SHORT_BYTES`] bytes.
    ///
    /// # Safety
    /// `payload` must be readable for `length` bytes.
    unsafe fn short(
        &mut self,
        to: PeerIndex,
        header: &Header,
        payload: *const u8,
        length: usize,
    ) -> Result<(), NoResource>;

    /// Largest message that [`Wire::copied`] accepts for this peer, in bytes. It grows when the
    /// pair becomes hot and falls when the ring is revoked.
    fn copied_limit(&self, to: PeerIndex) -> usize;

    /// Lends a slot of `length` bytes to `fill`, then sends it. More than [`Wire::copied_limit`] is
    /// refused. The limit may fall at any call: a caller that is refused must read it again.
    fn copied(
        &mut self,
        to: PeerIndex,
        header: &Header,
        length: usize,
        fill: impl FnOnce(*mut u8),
    ) -> Result<(), NoResource>;

    /// Largest message that [`Wire::copied_row`] accepts for this peer, at least
    /// [`Wire::copied_limit`]. A message longer than that limit may be refused at any time, even
    /// when nothing else is in flight.
    fn copied_row_limit(&self, to: PeerIndex) -> usize {
        self.copied_limit(to)
    }

    /// Like [`Wire::copied`], for a contiguous message of at most [`Wire::copied_row_limit`] bytes:
    /// the wire may let the receiver start before everything is copied.
    ///
    /// # Safety
    /// `payload` must be readable for `length` bytes.
    #[inline]
    unsafe fn copied_row(
        &mut self,
        to: PeerIndex,
        header: &Header,
        payload: *const u8,
        length: usize,
    ) -> Result<(), NoResource> {
        // SAFETY: `payload` is readable for `length` bytes (this function's contract), and the wire
        // lends a slot of `length` bytes.
        self.copied(to, header, length, |slot| unsafe { std::ptr::copy_nonoverlapping(payload, slot, length) })
    }

    /// Makes the bytes of `source` available to one receiver, without sending anything. The
    /// engine's own announcement carries the key. [`Sink::released`] reports `token` when the
    /// receiver has finished.
    ///
    /// # Safety
    /// The memory behind `source` must live until `released`, or until [`Wire::withdraw`].
    unsafe fn publish(&mut self, to: PeerIndex, token: u64, source: Source) -> RegionKey;

    /// Withdraws a publication; false if the receiver has started to pull it (then `released` will
    /// follow).
    fn withdraw(&mut self, to: PeerIndex, key: RegionKey) -> bool;

    /// Fetches the first `target.length()` bytes of a region that the peer published; it releases
    /// the rest unread. [`Sink::pulled`] reports `token`. A target of length 0 only releases the
    /// region. Never refused: the wire queues what it cannot start now.
    ///
    /// # Safety
    /// The memory behind `target` must live until `pulled`.
    unsafe fn pull(&mut self, from: PeerIndex, key: RegionKey, token: u64, target: Target);

    /// Offers the first message of every peer to `take`, as far as it is visible without any other
    /// progress. A payload is valid during the call only. Does nothing else than the choices ask
    /// for. True if there may be something that only [`Wire::progress`] finds.
    fn poll_front(&mut self, take: impl FnMut(PeerIndex, &Header, *const u8, usize) -> Choice) -> bool {
        let _ = take;
        true
    }

    /// Moves everything that can move and reports it. True if anything happened (an arrival, a
    /// completion, a step of a queued transfer): callers spin on false.
    fn progress(&mut self, sink: &mut impl Sink) -> bool;

    /// True while this side has pending work (regions not released, pulls in flight, messages not
    /// sent): `MPI_Finalize` makes progress until it is false.
    fn busy(&self) -> bool;
}
