//! The interface between the state machines and their driver.

#![forbid(unsafe_code)]

use super::frame::HeaderBytes;

/// The body of an outgoing frame. The bytes must be consumed during the call: afterwards the region
/// or buffer may be freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameBody<'a> {
    /// These bytes, at most 32.
    Own(&'a [u8]),
    /// Bytes of a message that was passed in under the name `buffer`.
    Message {
        /// The caller's name for the message.
        buffer: u64,
        /// Offset of the bytes in the message.
        offset: u32,
        /// Their length.
        length: u16,
    },
    /// Bytes of a region that was published under the name `token`.
    Region {
        /// The caller's name for the region.
        token: u64,
        /// Offset of the bytes in the region.
        offset: u64,
        /// Their length.
        length: u16,
    },
}

/// A fragment of a message that arrived. Fragments of one sender arrive in order, and its messages
/// do not interleave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessagePart<'a> {
    /// Length of the whole message, at most [`super::FRAGMENTS`] times 65535.
    pub total: u32,
    /// Offset of the fragment in the message.
    pub offset: u32,
    /// The fragment, borrowed.
    pub bytes: &'a [u8],
}

/// Sends frames and receives events. Peers are identified by rank.
pub trait Io {
    /// Sends a frame over a rail. Returns false if the rail accepts nothing now; the call then has
    /// no effect, and the state machines retry.
    fn send(&mut self, to: u32, rail: u8, header: &HeaderBytes, body: FrameBody<'_>) -> bool;
    /// Sends a frame to all members of a group. Returns false as in [`Io::send`].
    fn broadcast(&mut self, group: u32, header: &HeaderBytes, body: FrameBody<'_>) -> bool;

    /// A fragment of a message arrived.
    fn message(&mut self, from: u32, part: MessagePart<'_>);
    /// The buffer of a message is free: the peer has acknowledged the whole message.
    fn sent(&mut self, to: u32, buffer: u64);

    /// Bytes of a pull arrived; they belong at `offset` of its target.
    fn bulk(&mut self, from: u32, token: u64, offset: u64, bytes: &[u8]);
    /// A pull is complete.
    fn pulled(&mut self, from: u32, token: u64);
    /// A region is free: the peer is done with it.
    fn released(&mut self, to: u32, token: u64);

    /// Bytes of a broadcast arrived; they belong at `offset` of the message that was expected under
    /// the name `token`.
    fn broadcast_part(&mut self, group: u32, token: u64, offset: u32, bytes: &[u8]);
    /// A broadcast of `length` bytes is complete.
    fn broadcast_done(&mut self, group: u32, token: u64, length: u32);
    /// All members have received a broadcast: its buffer is free.
    fn broadcast_sent(&mut self, group: u32, buffer: u64);

    /// The peer is gone, or has restarted. Everything pending with it ends with this call: buffers
    /// and regions are free, pulls and expected broadcasts will not complete, and no further calls
    /// report them.
    fn lost(&mut self, peer: u32);
}
