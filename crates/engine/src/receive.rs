//! Receiving: searches the unexpected queue first, then posts the receive (MPI 5.0, 3.2.4 and
//! 3.7.2).

use towpath_base::events::{Event, Subscriber};
use towpath_base::ids::{ContextId, PeerIndex};
use towpath_base::transfer::Target;
use towpath_transport::{Here, JobWire};

use crate::Engine;
use crate::delivery;
use crate::matching::{NONE, Pattern};
use crate::probe::MessageId;
use crate::requests::{ANY_PEER, Completion, PendingWork, RequestId};

impl<W: JobWire, S: Subscriber> Engine<W, S> {
    /// Receives into `capacity` contiguous bytes, if a matching eager message has already arrived.
    /// Needs no request. On `None` nothing has happened; use [`Engine::irecv`].
    ///
    /// # Safety
    /// `pointer` must be writable for `capacity` bytes.
    #[inline]
    pub unsafe fn try_receive_now(
        &mut self,
        from: Option<PeerIndex>,
        context: ContextId,
        tag: Option<i32>,
        pointer: *mut u8,
        capacity: usize,
    ) -> Option<Completion> {
        let at = self.state.unexpected.find(&Pattern::receive(context, from, tag))?;
        // SAFETY: `payload` is readable for `length` bytes, and `pointer` writable for `capacity`
        // bytes (this function's contract).
        self.receive_waiting(at, |payload, length| unsafe {
            delivery::copy(pointer, capacity, Here(payload, length))
        })
    }

    /// Delivers an unexpected message if its bytes have arrived. `take` is passed the bytes and
    /// their number, and returns how many it stored and whether the message was truncated.
    pub(crate) fn receive_waiting(
        &mut self,
        at: u32,
        take: impl FnOnce(*const u8, usize) -> (u64, bool),
    ) -> Option<Completion> {
        let state = &mut self.state;
        if !state.unexpected.is_here(at) {
            return None;
        }
        let message = state.unexpected.take(at);
        let length = message.length as usize;
        let (bytes, truncated) = take(message.body.pointer(), length);
        let (from, kept) = (message.from, message.length);
        state.subscriber.event(Event::Matched { from, bytes: kept, rendezvous: false });
        state.matched(from, length, message.acknowledge, message.body);
        self.act();
        Some(Completion {
            truncated,
            ..Completion::of(message.from, message.rank, message.tag, bytes)
        })
    }

    /// Starts a receive; `None` is a wildcard.
    ///
    /// # Safety
    /// The memory behind `target` must stay valid, and must not be accessed, until the request is
    /// complete.
    #[inline]
    pub unsafe fn irecv(
        &mut self,
        from: Option<PeerIndex>,
        context: ContextId,
        tag: Option<i32>,
        target: Target,
    ) -> RequestId {
        let pattern = Pattern::receive(context, from, tag);
        if let Some(at) = self.state.unexpected.find(&pattern) {
            return self.receive_found(at, target);
        }
        if self.state.peers.any_lost
            && let Some(lost) = self.state.lost_source(from, context)
        {
            return self.receive_never(lost);
        }
        let state = &mut self.state;
        let completion = Completion::of(from.unwrap_or(ANY_PEER), u32::MAX, tag.unwrap_or(-1), 0);
        let index = state.requests.add(completion, PendingWork::Posted { target, link: NONE });
        let link = state.posted.add(pattern, index);
        if link != NONE
            && let PendingWork::Posted { link: place, .. } = &mut state.requests.slot(index).work
        {
            *place = link;
        }
        state.requests.id(index)
    }

    /// Creates the completed request of a receive from a lost peer that has no message left.
    #[cold]
    #[inline(never)]
    fn receive_never(&mut self, peer: PeerIndex) -> RequestId {
        let completion = Completion { lost: true, ..Completion::of(peer, u32::MAX, -1, 0) };
        let index = self.state.requests.add(completion, PendingWork::None);
        self.state.requests.complete(index);
        self.state.requests.id(index)
    }

    /// Receives the unexpected message in node `at`.
    #[inline(never)]
    pub(crate) fn receive_found(&mut self, at: u32, target: Target) -> RequestId {
        let state = &mut self.state;
        let index =
            state.requests.add(Completion::of(ANY_PEER, u32::MAX, -1, 0), PendingWork::None);
        let id = state.requests.id(index);
        let message = state.unexpected.take(at);
        state.receive(index, target, message);
        self.act();
        id
    }

    /// Starts the receive of a message that [`Engine::improbe`] extracted; `None` if it has already
    /// been received.
    ///
    /// # Safety
    /// The contract of [`Engine::irecv`] applies to `target`.
    pub unsafe fn imrecv(&mut self, message: MessageId, target: Target) -> Option<RequestId> {
        let state = &mut self.state;
        let message =
            state.unexpected.take_extracted(message.0 as u32, (message.0 >> 32) as u16)?;
        let index = state
            .requests
            .add(Completion::of(message.from, message.rank, message.tag, 0), PendingWork::None);
        let id = state.requests.id(index);
        state.receive(index, target, message);
        self.act();
        Some(id)
    }
}
