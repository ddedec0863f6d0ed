//! The transport interface: wires move headers and bytes between processes and know no tag,
//! communicator, datatype or collective. Each wire is a crate of its own, and `wires` combines
//! them.
//!
//! Every wire implements [`Wire`] and the traits of its capabilities: [`MessageWire`] sends *short*
//! messages (the payload fits next to the header) and *copied* ones (the wire lends a slot and the
//! caller fills it), [`RegionWire`] moves *regions* (the sender publishes a large message and the
//! receiver pulls it), [`MemoryWire`] accesses *registered memory* (its owner registers it once,
//! and all peers put and get). Back-pressure is a return value, [`NoResource`]: the caller queues
//! the message and tries again after progress.
//!
//! A wire names its peers by its own numbers ([`Wire::Peer`]). Only the table of all wires knows
//! how the processes of a job are numbered; to the engine it is a [`JobWire`].
//!
//! Ordering: messages and announcements of regions from one process to another arrive in the order
//! of the calls, whichever path their payload takes. Nothing here blocks, except that a receiver
//! may wait briefly while the sender copies the rest of a message ([`Sink::arriving`],
//! [`MessageWire::poll_front`]).

#![deny(missing_docs)]

pub mod ahead;
pub mod bytes;
pub mod copy;
mod cost;
pub mod error;
mod losses;
mod memory;
mod payload;
pub mod regions;
mod section;
pub mod ticks;
mod wire;
pub mod wrap;

pub use cost::Cost;
pub use losses::Losses;
pub use memory::{AccessError, AccessResult, MemoryKey, RemoteRange};
pub use payload::{Here, Payload};
pub use section::Section;
pub use wire::{JobWire, MemoryWire, MessageWire, RegionWire, Wire};

use towpath_base::ids::PeerIndex;

/// The header of every message; opaque to the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Header {
    /// Which of the engine's protocols the message belongs to; 255 is reserved for the wires.
    pub protocol: u8,
    /// Sixteen bytes for the engine (context; tag and rank).
    pub words: [u64; 2],
}

/// Largest payload of [`MessageWire::short`] in bytes, on every wire.
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
    /// report also ends the regions published to it and the pulls from it; they get no report of
    /// their own.
    fn lost(&mut self, peer: PeerIndex);
    /// Like [`Sink::lost`], for a peer that has left MPI properly, after all its messages.
    fn left(&mut self, peer: PeerIndex) {
        self.lost(peer);
    }
}

/// What the callback of [`MessageWire::poll_front`] does with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Leaves the message queued, along with all later messages of this peer.
    Leave,
    /// Has taken the message and wants the next one of the same peer too.
    More,
    /// Has taken the message and wants no other from this peer.
    Enough,
    /// Has taken the message and wants no other from any peer.
    Done,
}
