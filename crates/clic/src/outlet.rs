//! What the state machines want from whoever drives them.

#![forbid(unsafe_code)]

use super::frame::HEADER_BYTES;

/// What stands behind the header of a frame that goes out. The bytes must be taken during the call:
/// afterwards a region or a buffer may be free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// These bytes, at most 32.
    Own(&'a [u8]),
    /// Bytes of a message that was handed in under the name `buffer`.
    Message {
        /// The message.
        buffer: u64,
        /// Where they begin.
        offset: u32,
        /// How many.
        length: u16,
    },
    /// Bytes of a region that was published under the name `token`.
    Region {
        /// The region.
        token: u64,
        /// Where they begin.
        offset: u64,
        /// How many.
        length: u16,
    },
}

/// A piece of a message that arrived; pieces of one sender's messages come in order and whole
/// messages one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// Length of the whole message, at most [`super::FRAGMENTS`] times 65535.
    pub total: u32,
    /// Where the piece belongs.
    pub offset: u32,
    /// The piece, lent.
    pub bytes: &'a [u8],
}

/// Takes frames and hears what happened. Peers are named by rank.
pub trait Outlet {
    /// Sends a frame over a rail. False when the rail takes nothing now: nothing has happened then,
    /// and the machines try again.
    fn send(&mut self, to: u32, rail: u8, header: &[u8; HEADER_BYTES], body: Body<'_>) -> bool;
    /// Sends a frame to all members of a group. False as in [`Outlet::send`].
    fn broadcast(&mut self, group: u32, header: &[u8; HEADER_BYTES], body: Body<'_>) -> bool;

    /// A piece of a message arrived.
    fn message(&mut self, from: u32, part: Part<'_>);
    /// The buffer of a message is free: the peer has it.
    fn sent(&mut self, to: u32, buffer: u64);

    /// Bytes of a pull arrived: they belong at `offset` of its target.
    fn bulk(&mut self, from: u32, token: u64, offset: u64, bytes: &[u8]);
    /// A pull is complete.
    fn pulled(&mut self, from: u32, token: u64);
    /// A region is free: the peer is done with it.
    fn released(&mut self, to: u32, token: u64);

    /// Bytes of a broadcast arrived: they belong at `offset` of the message that was expected under
    /// the name `token`.
    fn broadcast_part(&mut self, group: u32, token: u64, offset: u32, bytes: &[u8]);
    /// A broadcast is here as a whole, so long.
    fn broadcast_done(&mut self, group: u32, token: u64, length: u32);
    /// All members have a broadcast: its buffer is free.
    fn broadcast_sent(&mut self, group: u32, buffer: u64);

    /// The peer is gone, or has begun a new life. What was under way with it ends with this report:
    /// buffers and regions are free, pulls and expected broadcasts will not be completed, and no
    /// report of them follows.
    fn lost(&mut self, peer: u32);
}
