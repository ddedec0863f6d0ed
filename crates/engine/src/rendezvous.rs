//! The rendezvous protocol for messages that are not sent eagerly: announce, match, pull, release.
//!
//! The sender publishes its source on the wire and sends an announcement (key and length) in the
//! stream of headers. The receiver matches the announcement and pulls as many bytes as fit its
//! target. The wire then tells the sender that its memory is free again. Because release follows
//! matching, the protocol is inherently synchronous, except that a message that would have been
//! eager, with credit or in host memory, may be fetched earlier (`flow`).

use towpath_base::events::{Event, Subscriber};
use towpath_base::ids::PeerIndex;
use towpath_base::transfer::{MemorySpace, Source, Target};
use towpath_transport::{JobWire, NoResource, RegionKey};

use crate::Engine;
use crate::protocol::{self, ANNOUNCEMENT_BYTES, EarlyPull};
use crate::requests::{Completion, PendingWork};
use crate::state::{DeferredCall, NO_REQUEST, State};

/// Placeholder for a source that has been moved out of its slot.
const NOTHING: Source = Source::Bytes { pointer: std::ptr::null(), length: 0 };

impl<W: JobWire, S: Subscriber> Engine<W, S> {
    /// Publishes the send at `index` (once) and announces it. `early` counts the first time.
    pub(crate) fn announce(&mut self, index: u32, early: EarlyPull) -> Result<(), NoResource> {
        let Engine { wire, state } = self;
        let token = state.requests.id(index).0;
        let slot = state.requests.slot(index);
        let Completion { peer: to, tag, source_rank: rank, bytes: length, .. } = slot.completion;
        if let PendingWork::Queued { source, context, .. } = &mut slot.work {
            let (source, context) = (std::mem::replace(source, NOTHING), *context);
            let is_on_device = source.space() == MemorySpace::Device;
            // SAFETY: the source stays valid until the caller sees the request complete (contract
            // of `isend`). By then the region is released, or withdrawn in that round of progress.
            let key = unsafe { wire.publish(to, token, source) };
            slot.work = PendingWork::Published { key, context, early };
            if is_on_device {
                state.wait_for_device(index);
            }
        }
        let slot = state.requests.slot(index);
        let PendingWork::Published { key, context, early } = slot.work else { return Ok(()) };
        let header = protocol::envelope(early.protocol(), context, tag, rank);
        let announcement = [key.0[0], key.0[1], length];
        // SAFETY: `announcement` is a local variable of 24 bytes.
        unsafe { wire.short(to, &header, announcement.as_ptr().cast(), ANNOUNCEMENT_BYTES)? };
        let peer = state.peers.at(to);
        slot.sequence = peer.sent;
        peer.sent += 1;
        slot.work = PendingWork::Announced { key, early };
        Ok(())
    }
}

impl<S: Subscriber> State<S> {
    /// Releases the sender of an announced message without pulling its bytes.
    pub(crate) fn release_sender(&mut self, from: PeerIndex, key: RegionKey) {
        let target = Target::Bytes { pointer: std::ptr::null_mut(), length: 0 };
        self.actions.push(DeferredCall::Pull { from, key, token: NO_REQUEST, target });
    }

    /// Starts to pull an announced message into the receive at `index`.
    pub(crate) fn pull(
        &mut self,
        index: u32,
        mut target: Target,
        key: RegionKey,
        mut message: Completion,
    ) {
        let Completion { peer: from, bytes, .. } = message;
        self.subscriber.event(Event::Matched { from, bytes, rendezvous: true });
        let room = target.length() as u64;
        message.truncated = message.bytes > room;
        message.bytes = message.bytes.min(room);
        target.expect(message.bytes as usize);
        message.lost = self.peers.is_lost(from);
        let slot = self.requests.slot(index);
        slot.completion = message;
        if message.lost {
            slot.completion.bytes = 0;
            self.requests.complete(index);
        } else if message.bytes == 0 {
            // Nothing to wait for: this pull only releases the sender.
            self.requests.complete(index);
            self.actions.push(DeferredCall::Pull { from, key, token: NO_REQUEST, target });
        } else {
            slot.work = PendingWork::Pulling;
            self.under_way += 1;
            if target.space() == MemorySpace::Device {
                self.wait_for_device(index);
            }
            let token = self.requests.id(index).0;
            self.actions.push(DeferredCall::Pull { from, key, token, target });
        }
    }
}
