//! The contract of all wires: they move headers and bytes between processes and know no tag,
//! communicator, datatype or collective. Each wire is a crate of its own, and `wires` joins them.
//!
//! Every wire implements [`Wire`]: *short* (a message that fits beside its header), *copied* (the
//! wire lends a slot, the caller fills it), and *regions* (a large message is published by its
//! sender and pulled by its receiver). Back-pressure is a return value, [`NoResource`]: the caller
//! queues and tries again after progress.
//!
//! Order: messages and publications from one process to another arrive in the order of the calls,
//! whatever way their payload takes. Nothing here blocks, but for the moment in which a sender
//! copies the rest of a message ([`Sink::arriving`], [`Wire::sift`]).

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

/// What travels in front of every message; the wire carries it unread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Header {
    /// Which of the engine's protocols the message belongs to; 255 is for the wires themselves.
    pub protocol: u8,
    /// Sixteen bytes for the engine (context; tag and rank).
    pub words: [u64; 2],
}

/// Largest payload of [`Wire::short`] in bytes, on every wire.
pub const SHORT_BYTES: usize = 40;

/// The wire has no room now. The caller keeps the message and tries again after [`Wire::progress`]
/// did something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the wire has no room for another message to this peer now")]
pub struct NoResource;

/// Names a published region towards its receiver: travels inside the engine's announcement (16
/// bytes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct RegionKey(pub [u64; 2]);

/// Where arrivals and completions go. The engine implements it; calls come from inside
/// [`Wire::progress`] only.
pub trait Sink {
    /// A message arrived. `payload` is valid for `length` bytes during the call only.
    ///
    /// # Safety contract
    /// The wire guarantees that `payload` is readable for `length` bytes.
    fn arrived(&mut self, from: PeerIndex, header: &Header, payload: *const u8, length: usize);
    /// As [`Sink::arrived`], for a message whose last parts may still be on their way: whoever
    /// copies part after part is done sooner.
    fn arriving(&mut self, from: PeerIndex, header: &Header, payload: impl Payload) {
        let length = payload.length();
        self.arrived(from, header, payload.whole(), length);
    }
    /// The receiver has taken everything it wants of the region published with this `token`: the
    /// memory is free again.
    fn released(&mut self, token: u64);
    /// The pull started with this `token` is complete: all bytes are in the target.
    fn pulled(&mut self, token: u64);
    /// The peer is gone (process died, connection lost): nothing more will come from it. Regions
    /// published to it and pulls from it end with this report; none of their own follows.
    fn lost(&mut self, peer: PeerIndex);
    /// As [`Sink::lost`], for a peer that has left MPI in order: it owes nobody a message.
    fn left(&mut self, peer: PeerIndex) {
        self.lost(peer);
    }
}

/// What whoever is offered a message by [`Wire::sift`] does with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Leaves it where it is, with all that comes behind it from this peer.
    Leave,
    /// Has taken it and wants the next one of the same peer too.
    More,
    /// Has taken it and expects nothing else of this peer.
    Enough,
    /// Has taken it and expects nothing else of anybody.
    Done,
}

/// One kind of wire, or the table of all wires of the process.
///
/// Generic code takes `W: Wire`; there is no `dyn Wire`, so the small path stays one inlined path.
pub trait Wire {
    /// What this process is called.
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

    /// Largest message that [`Wire::copied`] takes towards this peer, in bytes (grows when the pair
    /// becomes hot, falls when its ring is taken back).
    fn copied_limit(&self, to: PeerIndex) -> usize;

    /// Lends a slot of `length` bytes (at most [`Wire::copied_limit`], more is refused) to `fill`,
    /// then sends it. The limit may fall at any call: whoever is refused asks for it again.
    fn copied(
        &mut self,
        to: PeerIndex,
        header: &Header,
        length: usize,
        fill: impl FnOnce(*mut u8),
    ) -> Result<(), NoResource>;

    /// Largest message that [`Wire::copied_row`] takes towards this peer, at least
    /// [`Wire::copied_limit`]. What is longer than that one may be refused at any time, though
    /// nothing else is under way.
    fn copied_row_limit(&self, to: PeerIndex) -> usize {
        self.copied_limit(to)
    }

    /// As [`Wire::copied`], for a message of at most [`Wire::copied_row_limit`] bytes that lies in
    /// a row: the wire may let its receiver begin before all is copied.
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
        // SAFETY: the wire lends `length` bytes; the caller vouches for the payload.
        self.copied(to, header, length, |slot| unsafe { std::ptr::copy_nonoverlapping(payload, slot, length) })
    }

    /// Makes the bytes of `source` available to one receiver, without sending anything. The key
    /// travels in the engine's own announcement. [`Sink::released`] reports `token` when the
    /// receiver is done.
    ///
    /// # Safety
    /// The memory behind `source` must live until `released`, or until [`Wire::withdraw`].
    unsafe fn publish(&mut self, to: PeerIndex, token: u64, source: Source) -> RegionKey;

    /// Takes a publication back; false when the receiver has begun to pull it (then `released` will
    /// come).
    fn withdraw(&mut self, to: PeerIndex, key: RegionKey) -> bool;

    /// Brings the first `target.length()` bytes of a region that the peer published (fewer than its
    /// length: the rest is not wanted). [`Sink::pulled`] reports `token`. A target of length 0 only
    /// releases the region. Never refused: what cannot start now is queued inside.
    ///
    /// # Safety
    /// The memory behind `target` must live until `pulled`.
    unsafe fn pull(&mut self, from: PeerIndex, key: RegionKey, token: u64, target: Target);

    /// Offers the first message of every peer, as far as it can be seen without moving anything
    /// else, to `take`; a payload is valid during the call only. Does nothing but what the choices
    /// ask for. True when there may be something that only [`Wire::progress`] sees.
    fn sift(&mut self, take: impl FnMut(PeerIndex, &Header, *const u8, usize) -> Choice) -> bool {
        let _ = take;
        true
    }

    /// Moves everything that can move and reports it. True when anything happened (arrival,
    /// completion, a queued transfer went a step): callers spin on false.
    fn progress(&mut self, sink: &mut impl Sink) -> bool;

    /// True while this side still owes something (publications not released, pulls under way,
    /// entries not sent): `MPI_Finalize` makes progress until it is false.
    fn busy(&self) -> bool;
}
