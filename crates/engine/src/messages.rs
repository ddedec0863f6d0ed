//! What the patterns above (collectives, one-sided, files) see of the engine: messages between
//! peers of a team.

use std::sync::Arc;

use towpath_base::ids::{ContextId, PeerIndex};
use towpath_base::transfer::{Source, Target};
use towpath_transport::Wire;

use crate::{Engine, Mode, RequestId};

/// The processes of a communicator as the patterns see them: who, in which order, and under which
/// context.
#[derive(Clone, Debug)]
pub struct Team {
    /// Context of the plane the pattern uses (already `on(Plane::Collective)` for collectives).
    pub context: ContextId,
    /// My rank in the team.
    pub rank: usize,
    /// The members by rank.
    pub peers: Arc<[PeerIndex]>,
}

impl Team {
    /// How many members.
    pub fn size(&self) -> usize {
        self.peers.len()
    }
}

/// Names a message under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(pub u64);

/// How a message ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Bytes moved.
    pub bytes: usize,
    /// The message was longer than the target.
    pub truncated: bool,
    /// The peer died before the message was through.
    pub lost: bool,
}

/// Starting and completing messages without blocking. Implemented by the engine, and by fakes in
/// tests.
pub trait Messages {
    /// Starts a standard send. `rank` is my rank in the team.
    ///
    /// # Safety
    /// The memory behind `source` must live and stay unchanged until the ticket is complete.
    unsafe fn start_send(&mut self, to: PeerIndex, context: ContextId, tag: i32, rank: usize, source: Source)
    -> Ticket;

    /// Starts a receive from one peer with one tag.
    ///
    /// # Safety
    /// The memory behind `target` must live and be left alone until the ticket is complete.
    unsafe fn start_receive(&mut self, from: PeerIndex, context: ContextId, tag: i32, target: Target) -> Ticket;

    /// The outcome once the message is complete; the ticket is spent then and must not be asked
    /// again.
    fn poll(&mut self, ticket: Ticket) -> Option<Outcome>;
}

/// Marks the ticket of a send that was complete at once; its length lies below. No request has this
/// bit.
const DONE: u64 = 1 << 63;

impl<W: Wire> Messages for Engine<W> {
    unsafe fn start_send(
        &mut self,
        to: PeerIndex,
        context: ContextId,
        tag: i32,
        rank: usize,
        source: Source,
    ) -> Ticket {
        let rank = rank as u32;
        if let Source::Bytes { pointer, length } = source
            // SAFETY: promised by the caller.
            && unsafe { self.try_send_now(to, context, tag, rank, pointer, length) }.is_some()
        {
            return Ticket(DONE | length as u64);
        }
        // SAFETY: promised by the caller.
        Ticket(unsafe { self.isend(to, context, tag, rank, source, Mode::Standard) }.0)
    }

    unsafe fn start_receive(&mut self, from: PeerIndex, context: ContextId, tag: i32, target: Target) -> Ticket {
        // SAFETY: promised by the caller.
        Ticket(unsafe { self.irecv(Some(from), context, Some(tag), target) }.0)
    }

    fn poll(&mut self, ticket: Ticket) -> Option<Outcome> {
        if ticket.0 & DONE != 0 {
            return Some(Outcome { bytes: (ticket.0 & !DONE) as usize, truncated: false, lost: false });
        }
        let done = self.take(RequestId(ticket.0))?;
        Some(Outcome { bytes: done.bytes as usize, truncated: done.truncated, lost: done.lost })
    }
}
