//! The engine's interface to the layers above (collectives, one-sided, files): messages between
//! peers.

use towpath_base::events::Subscriber;
use towpath_base::ids::{ContextId, PeerIndex};
use towpath_base::transfer::{Source, Target};
use towpath_transport::JobWire;

use crate::{Engine, Mode, RequestId};

/// Identifies a message in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(pub u64);

/// How a message ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Bytes transferred.
    pub bytes: usize,
    /// The message was longer than the target.
    pub truncated: bool,
    /// The peer was lost before the message was complete.
    pub lost: bool,
    /// The immediate data of the sender; 0 for a send that was complete at once.
    pub immediate: u32,
}

/// Nonblocking start and completion of messages. Implemented by the engine, and by fakes in tests.
pub trait Messages {
    /// Starts a standard send. The receiver gets the word `immediate` with the outcome (immediate
    /// data, as of InfiniBand verbs); it does not matter for matching.
    ///
    /// # Safety
    /// The memory behind `source` must stay valid and unchanged until the ticket is complete.
    unsafe fn start_send(
        &mut self,
        to: PeerIndex,
        context: ContextId,
        tag: i32,
        immediate: u32,
        source: Source,
    ) -> Ticket;

    /// Starts a receive from one peer with one tag.
    ///
    /// # Safety
    /// The memory behind `target` must stay valid, and must not be accessed, until the ticket is
    /// complete.
    unsafe fn start_receive(
        &mut self,
        from: PeerIndex,
        context: ContextId,
        tag: i32,
        target: Target,
    ) -> Ticket;

    /// Returns the outcome once the message is complete. This consumes the ticket; do not poll it
    /// again.
    fn poll(&mut self, ticket: Ticket) -> Option<Outcome>;

    /// Withdraws a receive that no message has matched, so that its memory is free. False for one
    /// that a message has matched, and for a send.
    fn withdraw(&mut self, ticket: Ticket) -> bool;

    /// Asks the receiver of a message to drop it, if no receive has matched it. No effect on a
    /// receive that a message has matched. The ticket can be polled as before: the message
    /// completes once its receiver has answered.
    fn take_back(&mut self, ticket: Ticket);

    /// Sender and immediate data of a message in this context that waits for a receive, if its tag
    /// and immediate data satisfy `wanted`. Of each sender, only the first one that waits counts:
    /// the others may be far ahead.
    fn find_unmatched(
        &self,
        context: ContextId,
        wanted: &dyn Fn(i32, u32) -> bool,
    ) -> Option<(PeerIndex, u32)>;
}

/// Marks the ticket of a send that completed immediately; the low bits hold its length. No request
/// id has this bit set.
const DONE: u64 = 1 << 63;

impl<W: JobWire, S: Subscriber> Messages for Engine<W, S> {
    unsafe fn start_send(
        &mut self,
        to: PeerIndex,
        context: ContextId,
        tag: i32,
        immediate: u32,
        source: Source,
    ) -> Ticket {
        if let Source::Bytes { pointer, length } = source
            // SAFETY: `pointer` is readable for `length` bytes: `source` is valid (this function's
            // contract).
            && unsafe { self.try_send_now(to, context, tag, immediate, pointer, length) }.is_some()
        {
            return Ticket(DONE | length as u64);
        }
        // SAFETY: `source` stays valid until the ticket is complete (this function's contract).
        Ticket(unsafe { self.isend(to, context, tag, immediate, source, Mode::Standard) }.0)
    }

    unsafe fn start_receive(
        &mut self,
        from: PeerIndex,
        context: ContextId,
        tag: i32,
        target: Target,
    ) -> Ticket {
        // SAFETY: `target` stays valid until the ticket is complete (this function's contract).
        Ticket(unsafe { self.irecv(Some(from), context, Some(tag), target) }.0)
    }

    fn poll(&mut self, ticket: Ticket) -> Option<Outcome> {
        if ticket.0 & DONE != 0 {
            return Some(Outcome {
                bytes: (ticket.0 & !DONE) as usize,
                truncated: false,
                lost: false,
                immediate: 0,
            });
        }
        let done = self.take(RequestId(ticket.0))?;
        Some(Outcome {
            bytes: done.bytes as usize,
            truncated: done.truncated,
            lost: done.lost,
            immediate: done.source_rank,
        })
    }

    fn withdraw(&mut self, ticket: Ticket) -> bool {
        let request = RequestId(ticket.0);
        let is_posted = ticket.0 & DONE == 0 && self.state.requests.is_posted(request);
        if is_posted {
            self.cancel(request);
            self.take(request);
        }
        is_posted
    }

    fn take_back(&mut self, ticket: Ticket) {
        if ticket.0 & DONE == 0 {
            self.cancel(RequestId(ticket.0));
        }
    }

    fn find_unmatched(
        &self,
        context: ContextId,
        wanted: &dyn Fn(i32, u32) -> bool,
    ) -> Option<(PeerIndex, u32)> {
        self.state.unexpected.find_unmatched(context, wanted)
    }
}
