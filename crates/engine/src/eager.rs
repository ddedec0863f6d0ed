//! Sending: the immediate path for small messages, the choice of protocol, and the eager protocol.
//!
//! A message is eager if it is within the wire's limit, the configured limit and the pair's credit.
//! Otherwise it is announced, as is every message from the memory of a device. The announcement
//! says whether the receiver may fetch it before it is matched. The choice never reorders messages:
//! every protocol uses the same stream of headers, and while the queue of a peer is not empty,
//! every message to that peer is appended to it.

use std::ptr;

use towpath_base::events::{Event, Subscriber};
use towpath_base::ids::{ContextId, PeerIndex};
use towpath_base::transfer::{MemorySpace, Source};
use towpath_transport::{JobWire, NoResource, SHORT_BYTES, ahead};

use crate::Engine;
use crate::peers::WaitingSend;
use crate::protocol::{self, EarlyPull, MESSAGE_OVERHEAD, Mode, REQUEST_BYTES};
use crate::requests::{Completion, Pending, PendingWork, RequestId};

/// Identifies a message that was sent immediately, without a request, so that it can still be
/// cancelled ([`Engine::call_back`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    pub(crate) to: PeerIndex,
    /// Sequence number of the message in its pair.
    pub(crate) number: u64,
}

impl<W: JobWire, S: Subscriber> Engine<W, S> {
    /// Sends a contiguous message immediately, if it is small enough to be eager, credit is
    /// available, the peer's queue is empty and the wire has room. On `Some` the send is complete:
    /// no request, no allocation, and the memory at `pointer` may be reused. On `None` nothing has
    /// happened; use [`Engine::isend`].
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
            // SAFETY: `pointer` is readable for `length` bytes (this function's contract).
            unsafe { wire.short(to, &header, pointer, length) }
        } else if length <= state.limits.eager_bytes && length <= wire.copied_contiguous_limit(to) {
            // SAFETY: `pointer` is readable for `length` bytes (this function's contract).
            unsafe { wire.copied_contiguous(to, &header, pointer, length) }
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

    /// Like [`Engine::try_send_now`], but `fill` writes the message straight into the wire's
    /// memory: it is passed the address of `length` writable bytes.
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

    /// Starts a send of `source` with the given envelope; `rank` is this process's rank in the
    /// communicator.
    ///
    /// # Safety
    /// The memory behind `source` must stay valid and unchanged until the request is complete.
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
            // SAFETY: `pointer` is readable for `length` bytes: `source` is valid (this function's
            // contract).
            && let Some(sent) = unsafe { self.try_send_now(to, context, tag, rank, pointer, length) }
        {
            return self.request_of(&sent, completion);
        }
        let index =
            self.state.requests.add(completion, PendingWork::Queued { source, context, mode });
        let id = self.state.requests.id(index);
        self.state.under_way += 1;
        let peer = self.state.peers.at(to);
        if peer.lost {
            self.state.requests.slot(index).completion.lost = true;
            self.state.finish(index);
        } else if peer.blocked || self.transmit(index).is_err() {
            self.state.subscriber.event(Event::SendQueued { to });
            self.state.peers.wait(to, WaitingSend::Send(index));
        }
        id
    }

    /// Creates a complete request for a message that has already been sent.
    pub(crate) fn request_of(&mut self, sent: &Sent, completion: Completion) -> RequestId {
        let index = self.state.requests.add(completion, PendingWork::None);
        let slot = self.state.requests.slot(index);
        slot.complete = true;
        slot.sequence = sent.number;
        self.state.requests.id(index)
    }

    /// Puts the send at `index` on the wire, with the protocol that its length and the available
    /// credit call for.
    pub(crate) fn transmit(&mut self, index: u32) -> Result<(), NoResource> {
        let Engine { wire, state } = self;
        let slot = state.requests.slot(index);
        let to = slot.completion.peer;
        let PendingWork::Queued { source, mode, .. } = &slot.work else {
            return self.announce(index, EarlyPull::Never);
        };
        let length = source.length();
        let synchronous = *mode == Mode::Synchronous;
        let prefix = if synchronous { REQUEST_BYTES } else { 0 };
        let contiguous = matches!(source, Source::Bytes { .. });
        let total = length.saturating_add(prefix);
        let fits = contiguous && total <= SHORT_BYTES || total <= wire.copied_limit(to);
        if !fits || length > state.limits.eager_bytes {
            return self.announce(index, EarlyPull::Never);
        }
        // The wire's memory must be filled in one call, which a device cannot guarantee.
        if source.space() == MemorySpace::Device {
            let early = if synchronous { EarlyPull::Never } else { EarlyPull::IfLate };
            return self.announce(index, early);
        }
        if state.peers.at(to).credit < length.saturating_add(MESSAGE_OVERHEAD) {
            if synchronous {
                return self.announce(index, EarlyPull::Never);
            }
            state.subscriber.event(Event::SendPostponed { to, bytes: length as u64 });
            return self.announce(index, EarlyPull::WithRoom);
        }
        self.send_eager(index, length, prefix)
    }

    /// Sends header and payload together. The `prefix` bytes of a synchronous send hold the request
    /// that waits for the acknowledgement.
    fn send_eager(&mut self, index: u32, length: usize, prefix: usize) -> Result<(), NoResource> {
        let Engine { wire, state } = self;
        let request = state.requests.id(index).0.to_ne_bytes();
        let slot = state.requests.slot(index);
        let Completion { peer: to, tag, source_rank: rank, .. } = slot.completion;
        let PendingWork::Queued { source, context, .. } = &mut slot.work else { return Ok(()) };
        let protocol = if prefix == 0 { protocol::EAGER } else { protocol::EAGER_SYNCHRONOUS };
        let header = protocol::envelope(protocol, *context, tag, rank);
        let total = length + prefix;
        match source {
            Source::Bytes { pointer, .. } if total <= SHORT_BYTES => {
                let mut bytes = [0u8; SHORT_BYTES];
                bytes[..prefix].copy_from_slice(&request[..prefix]);
                // SAFETY: the request is incomplete, so the source is still readable for `length`
                // bytes (contract of `isend`). Prefix and message fit the array, since `total <=
                // SHORT_BYTES`.
                unsafe {
                    ptr::copy_nonoverlapping(*pointer, bytes.as_mut_ptr().add(prefix), length);
                    wire.short(to, &header, bytes.as_ptr(), total)?;
                }
            }
            _ => wire.copied(to, &header, total, |slot| {
                // SAFETY: `slot` is writable for `prefix + length` bytes (contract of
                // `MessageWire::copied`). The request is incomplete, so the source is still valid
                // (contract of `isend`).
                unsafe {
                    ptr::copy_nonoverlapping(request.as_ptr(), slot, prefix);
                    source.fill_at_once(slot.add(prefix), length);
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
            slot.work = PendingWork::Unacknowledged;
        }
        Ok(())
    }

    /// True if the request is complete. A stale id counts as complete.
    #[inline]
    pub fn is_complete(&self, request: RequestId) -> bool {
        self.state.requests.is_complete(request)
    }

    /// What an incomplete request waits for; `None` if it is complete or its id is stale.
    pub fn pending(&self, request: RequestId) -> Option<Pending> {
        self.state.requests.pending(request)
    }

    /// The result of a complete request, without consuming it; `None` if it is incomplete or
    /// already consumed.
    pub fn peek(&self, request: RequestId) -> Option<Completion> {
        self.state.requests.peek(request)
    }

    /// Takes the result of a complete request and frees it; `None` if it is incomplete or already
    /// consumed.
    #[inline]
    pub fn take(&mut self, request: RequestId) -> Option<Completion> {
        self.state.requests.take(request)
    }

    /// Detaches the request: it completes in the background and then frees itself
    /// (`MPI_Request_free`).
    pub fn free_when_done(&mut self, request: RequestId) {
        self.state.requests.detach(request);
    }
}
