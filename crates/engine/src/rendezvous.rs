//! The rendezvous protocol for messages that are not sent eagerly: announce, match, pull, release.
//!
//! The sender publishes its source on the wire and sends an announcement (key and length) in the
//! stream of headers. The receiver matches the announcement and pulls as many bytes as it has room
//! for; the wire tells the sender when its memory is free again. Because release follows matching,
//! the protocol is synchronous by itself; but a message that is announced for lack of credit only
//! may be fetched before (`flow`).

use towpath_base::ids::PeerIndex;
use towpath_base::transfer::{Source, Target};
use towpath_transport::{NoResource, RegionKey, Wire};

use crate::Engine;
use crate::arrivals::{Action, NO_REQUEST, State};
use crate::protocol::{self, ANNOUNCEMENT_BYTES};
use crate::requests::{Completion, Work};

/// Stands in a slot while its source is handed over.
const NOTHING: Source = Source::Bytes { pointer: std::ptr::null(), length: 0 };

impl<W: Wire> Engine<W> {
    /// Publishes the send at `index` (once) and announces it. `postponed` says that only credit is
    /// missing for it: then the receiver may fetch it before it is matched.
    pub(crate) fn announce(&mut self, index: u32, postponed: bool) -> Result<(), NoResource> {
        let Engine { wire, state } = self;
        let token = state.requests.id(index).0;
        let slot = state.requests.slot(index);
        let Completion { peer: to, tag, source_rank: rank, bytes: length, .. } = slot.completion;
        if let Work::Queued { source, context, .. } = &mut slot.work {
            let (source, context) = (std::mem::replace(source, NOTHING), *context);
            // SAFETY: whoever started the send keeps its source alive until the request is
            // complete, and it is not complete before the release.
            let key = unsafe { wire.publish(to, token, source) };
            slot.work = Work::Published { key, context, postponed };
        }
        let Work::Published { key, context, postponed } = slot.work else { return Ok(()) };
        let protocol = if postponed { protocol::POSTPONE } else { protocol::ANNOUNCE };
        let header = protocol::envelope(protocol, context, tag, rank);
        let announcement = [key.0[0], key.0[1], length];
        // SAFETY: the announcement is a local of 24 bytes.
        unsafe { wire.short(to, &header, announcement.as_ptr().cast(), ANNOUNCEMENT_BYTES)? };
        let peer = state.peers.at(to);
        slot.sequence = peer.sent;
        peer.sent += 1;
        slot.work = Work::Announced { key, postponed };
        Ok(())
    }
}

impl State {
    /// Lets the sender of an announced message have its memory back, without its bytes.
    pub(crate) fn release_sender(&mut self, from: PeerIndex, key: RegionKey) {
        let target = Target::Bytes { pointer: std::ptr::null_mut(), length: 0 };
        self.actions.push(Action::Pull { from, key, token: NO_REQUEST, target });
    }

    /// Starts bringing an announced message into the receive at `index`.
    pub(crate) fn pull(&mut self, index: u32, mut target: Target, key: RegionKey, mut message: Completion) {
        let room = match &mut target {
            Target::Bytes { length, .. } | Target::Unpacker { length, .. } => length,
        };
        message.truncated = message.bytes > *room as u64;
        message.bytes = message.bytes.min(*room as u64);
        *room = message.bytes as usize;
        message.lost = self.peers.is_lost(message.peer);
        let from = message.peer;
        let slot = self.requests.slot(index);
        slot.completion = message;
        if message.lost {
            slot.completion.bytes = 0;
            self.requests.complete(index);
        } else if message.bytes == 0 {
            // Nothing to wait for: the pull only releases the sender.
            self.requests.complete(index);
            self.actions.push(Action::Pull { from, key, token: NO_REQUEST, target });
        } else {
            slot.work = Work::Pulling;
            self.under_way += 1;
            let token = self.requests.id(index).0;
            self.actions.push(Action::Pull { from, key, token, target });
        }
    }
}
