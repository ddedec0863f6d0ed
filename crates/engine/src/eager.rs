//! Sending: the immediate path of small messages, the choice of protocol, and the eager protocol.
//!
//! A message is eager while it fits the wire's slot, the configured limit and the credit of the
//! pair; otherwise it is announced, and says whether only credit was missing. The choice never
//! reorders: whatever is chosen enters the same stream of headers, and while the queue of a peer
//! holds anything every message to it goes through that queue.

use std::ptr;

use towpath_base::ids::{ContextId, PeerIndex};
use towpath_base::transfer::Source;
use towpath_transport::{NoResource, SHORT_BYTES, Wire, ahead};

use crate::Engine;
use crate::peers::Waiting;
use crate::protocol::{self, MESSAGE_OVERHEAD, REQUEST_BYTES};
use crate::requests::{Completion, Pending, RequestId, Work};

/// Send modes (MPI 5.0, 3.4) that the engine tells apart; a buffered send is a standard send of a
/// copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Complete when the source may be used again.
    Standard,
    /// Complete when, besides, the receive has been matched.
    Synchronous,
    /// As standard: the program promises that the receive is posted.
    Ready,
}

/// A message that went out at once and needs no request: by this it can still be called back
/// ([`Engine::call_back`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    pub(crate) to: PeerIndex,
    /// Number of the message in its pair.
    pub(crate) number: u64,
}

impl<W: Wire> Engine<W> {
    /// Sends a contiguous message completely, if that is possible at once: it is small enough to be
    /// eager, credit is there, nothing waits before it and the wire has room. True when done: no
    /// request, no allocation; `pointer` may be used again. False when nothing happened: use
    /// [`Engine::isend`].
    ///
    /// # Safety
    /// `pointer` must be readable for `length` bytes.
    #[inline(always)]
    pub unsafe fn try_send_now(
        &mut self,
        to: PeerIndex,
        context: ContextId,
        tag: i32,
        rank: u32,
        pointer: *const u8,
        length: usize,
    ) -> Option<Sent> {
        let Engine { wire, state } = self;
        let peer = state.peers.at(to);
        let charge = length.saturating_add(MESSAGE_OVERHEAD);
        if peer.blocked || peer.credit < charge {
            return None;
        }
        let header = protocol::envelope(protocol::EAGER, context, tag, rank);
        let sent = if length <= SHORT_BYTES {
            // SAFETY: handed through.
            unsafe { wire.short(to, &header, pointer, length) }
        } else if length <= state.limits.eager_bytes && length <= wire.copied_row_limit(to) {
            // SAFETY: handed through.
            unsafe { wire.copied_row(to, &header, pointer, length) }
        } else {
            return None;
        };
        if sent.is_err() {
            return None;
        }
        peer.credit -= charge;
        peer.sent += 1;
        Some(Sent { to, number: peer.sent - 1 })
    }

    /// As [`Engine::try_send_now`], for a message that `fill` writes straight to where the wire
    /// wants it: it gets the address of `length` bytes.
    #[inline]
    pub fn try_send_filled(
        &mut self,
        to: PeerIndex,
        context: ContextId,
        tag: i32,
        rank: u32,
        length: usize,
        fill: impl FnOnce(*mut u8),
    ) -> Option<Sent> {
        let Engine { wire, state } = self;
        let peer = state.peers.at(to);
        let charge = length.saturating_add(MESSAGE_OVERHEAD);
        let fits = length <= state.limits.eager_bytes && length <= wire.copied_limit(to);
        if peer.blocked || peer.credit < charge || !fits {
            return None;
        }
        let header = protocol::envelope(protocol::EAGER, context, tag, rank);
        let fill_lines = |slot| {
            ahead::write(slot, length);
            fill(slot);
        };
        wire.copied(to, &header, length, fill_lines).ok()?;
        peer.credit -= charge;
        peer.sent += 1;
        Some(Sent { to, number: peer.sent - 1 })
    }

    /// Starts a send of `source` with the envelope (context, tag, my `rank` in the communicator).
    ///
    /// # Safety
    /// The memory behind `source` must live and stay unchanged until the request is complete.
    pub unsafe fn isend(
        &mut self,
        to: PeerIndex,
        context: ContextId,
        tag: i32,
        rank: u32,
        source: Source,
        mode: Mode,
    ) -> RequestId {
        let length = source.length();
        let completion = Completion::of(to, rank, tag, length as u64);
        if let Source::Bytes { pointer, .. } = source
            && mode != Mode::Synchronous
            // SAFETY: promised by the caller.
            && let Some(sent) = unsafe { self.try_send_now(to, context, tag, rank, pointer, length) }
        {
            return self.request_of(&sent, completion);
        }
        let index = self.state.requests.add(completion, Work::Queued { source, context, mode });
        let id = self.state.requests.id(index);
        self.state.under_way += 1;
        let peer = self.state.peers.at(to);
        if peer.lost {
            self.state.requests.slot(index).completion.lost = true;
            self.state.finish(index);
        } else if peer.blocked || self.transmit(index).is_err() {
            self.state.peers.wait(to, Waiting::Send(index));
        }
        id
    }

    /// A complete request for a message that is out already.
    pub(crate) fn request_of(&mut self, sent: &Sent, completion: Completion) -> RequestId {
        let index = self.state.requests.add(completion, Work::None);
        let slot = self.state.requests.slot(index);
        slot.complete = true;
        slot.sequence = sent.number;
        self.state.requests.id(index)
    }

    /// Brings the send at `index` onto the wire, by the protocol that fits now.
    pub(crate) fn transmit(&mut self, index: u32) -> Result<(), NoResource> {
        let Engine { wire, state } = self;
        let slot = state.requests.slot(index);
        let to = slot.completion.peer;
        let Work::Queued { source, mode, .. } = &slot.work else { return self.announce(index, false) };
        let length = source.length();
        let synchronous = *mode == Mode::Synchronous;
        let prefix = if synchronous { REQUEST_BYTES } else { 0 };
        let contiguous = matches!(source, Source::Bytes { .. });
        let total = length.saturating_add(prefix);
        let fits = contiguous && total <= SHORT_BYTES || total <= wire.copied_limit(to);
        if !fits || length > state.limits.eager_bytes {
            return self.announce(index, false);
        }
        if state.peers.at(to).credit < length.saturating_add(MESSAGE_OVERHEAD) {
            return self.announce(index, !synchronous);
        }
        self.send_eager(index, length, prefix)
    }

    /// Sends header and payload together; a `prefix` is the request that waits for the
    /// acknowledgement.
    fn send_eager(&mut self, index: u32, length: usize, prefix: usize) -> Result<(), NoResource> {
        let Engine { wire, state } = self;
        let request = state.requests.id(index).0.to_ne_bytes();
        let slot = state.requests.slot(index);
        let Completion { peer: to, tag, source_rank: rank, .. } = slot.completion;
        let Work::Queued { source, context, .. } = &mut slot.work else { return Ok(()) };
        let protocol = if prefix == 0 { protocol::EAGER } else { protocol::EAGER_SYNCHRONOUS };
        let header = protocol::envelope(protocol, *context, tag, rank);
        let total = length + prefix;
        match source {
            Source::Bytes { pointer, .. } if total <= SHORT_BYTES => {
                let mut bytes = [0u8; SHORT_BYTES];
                bytes[..prefix].copy_from_slice(&request[..prefix]);
                // SAFETY: the program keeps the source alive; prefix and message fit the array.
                unsafe {
                    ptr::copy_nonoverlapping(*pointer, bytes.as_mut_ptr().add(prefix), length);
                    wire.short(to, &header, bytes.as_ptr(), total)?;
                }
            }
            _ => wire.copied(to, &header, total, |slot| {
                // SAFETY: the wire lends `prefix + length` bytes; the program keeps the source
                // alive.
                unsafe {
                    ptr::copy_nonoverlapping(request.as_ptr(), slot, prefix);
                    source.fill_all(slot.add(prefix), length);
                }
            })?,
        }
        let peer = state.peers.at(to);
        peer.credit -= length + MESSAGE_OVERHEAD;
        let number = peer.sent;
        peer.sent += 1;
        slot.sequence = number;
        if prefix == 0 {
            state.under_way -= 1;
            state.requests.complete(index);
        } else {
            slot.work = Work::Unacknowledged;
        }
        Ok(())
    }

    /// Whether the request is complete.
    #[inline]
    pub fn is_complete(&self, request: RequestId) -> bool {
        self.state.requests.is_complete(request)
    }

    /// What a request that is not complete waits for; `None` when it is complete or its name is
    /// stale.
    pub fn pending(&self, request: RequestId) -> Option<Pending> {
        self.state.requests.pending(request)
    }

    /// The result of a complete request, which stays; `None` while it is not complete or when it is
    /// spent.
    pub fn peek(&self, request: RequestId) -> Option<Completion> {
        self.state.requests.peek(request)
    }

    /// The result of a complete request, which is spent by this; `None` while it is not complete or
    /// when it is spent already.
    #[inline]
    pub fn take(&mut self, request: RequestId) -> Option<Completion> {
        self.state.requests.take(request)
    }

    /// Nobody will ask for this request again: it runs to its end by itself (`MPI_Request_free`).
    pub fn free_when_done(&mut self, request: RequestId) {
        self.state.requests.detach(request);
    }
}
