//! The half of the engine that wires call into: it matches arrivals and records what must be sent
//! in response.
//!
//! A wire must not be called while it is reporting, so every send that an arrival triggers (pulls,
//! acknowledgements, credit) is recorded as a [`DeferredCall`], which
//! [`Engine::progress`](crate::Engine::progress) carries out afterwards. The payload of a matched
//! eager message is copied straight from the wire's memory into the target.

use towpath_base::events::{Event, Subscriber};
use towpath_base::ids::PeerIndex;
use towpath_base::transfer::Target;
use towpath_transport::{Header, Here, Payload, RegionKey, Sink};

use crate::credit::Fetchable;
use crate::delivery;
use crate::matching::Pattern;
use crate::protocol::{self, ANNOUNCEMENT_BYTES, EarlyPull, MESSAGE_OVERHEAD, REQUEST_BYTES};
use crate::requests::{Completion, PendingWork, RequestId, UNNUMBERED};
use crate::state::{DeferredCall, State};
use crate::unexpected::{MessageBytes, UnexpectedMessage};

impl<S: Subscriber> State<S> {
    /// Delivers an eager message to its receive, or appends it to the unexpected queue.
    #[inline(always)]
    fn eager(
        &mut self,
        from: PeerIndex,
        words: &[u64; 2],
        payload: impl Payload,
        acknowledge: Option<u64>,
    ) {
        let length = payload.length();
        let peer = self.peers.at(from);
        peer.arrived += 1;
        let envelope = Pattern::message(from, words);
        let found = self.posted.take(&envelope);
        if found.is_none() && !self.direct.takes(&envelope) {
            return self.keep(from, words, payload.whole(), length, acknowledge);
        }
        let bytes = length as u64;
        self.subscriber.event(Event::Matched { from, bytes, rendezvous: false });
        peer.consumed += length + MESSAGE_OVERHEAD;
        let due = peer.consumed > self.limits.unexpected_bytes / 4;
        let Some(index) = found else {
            // SAFETY: `payload` is readable during this call (contract of `Sink::arrived`).
            unsafe { self.receive_directly(from, words, payload) };
            return self.answer_sender(from, due, acknowledge);
        };
        let slot = self.requests.slot(index);
        let message = Completion::of(from, protocol::rank(words), protocol::tag(words), 0);
        if let PendingWork::Posted { target: Target::Bytes { pointer, length }, .. } = slot.work {
            // SAFETY: `payload` is readable during this call (contract of `Sink::arrived`). The
            // request is incomplete, so its target is still valid (contract of `irecv`).
            let (bytes, truncated) = unsafe { delivery::copy(pointer, length, payload) };
            slot.completion = Completion { bytes, truncated, ..message };
            self.requests.complete_spent(index);
        } else {
            let length = payload.length();
            self.unpack_into(index, message, payload.whole(), length);
        }
        self.answer_sender(from, due, acknowledge);
    }

    /// Delivers an eager message to a posted receive whose target is an unpacker.
    fn unpack_into(&mut self, index: u32, message: Completion, payload: *const u8, length: usize) {
        let work = std::mem::replace(&mut self.requests.slot(index).work, PendingWork::None);
        if let PendingWork::Posted { target, .. } = work {
            // SAFETY: `payload` is readable for `length` bytes during this call (contract of
            // `Sink::arrived`). The request is incomplete, so its target is still valid (contract
            // of `irecv`).
            unsafe { self.deliver(index, target, message, payload, length) };
        }
    }

    /// Answers the sender of a matched eager message: credit if a batch is `due`, and the
    /// acknowledgement.
    #[inline(always)]
    fn answer_sender(&mut self, from: PeerIndex, due: bool, acknowledge: Option<u64>) {
        if due {
            self.consumed(from, None);
        }
        if let Some(request) = acknowledge {
            self.acknowledge(from, request);
        }
    }

    /// Appends an eager message, with a copy of its payload, to the unexpected queue.
    #[cold]
    #[inline(never)]
    fn keep(
        &mut self,
        from: PeerIndex,
        words: &[u64; 2],
        payload: *const u8,
        length: usize,
        acknowledge: Option<u64>,
    ) {
        let envelope = Pattern::message(from, words);
        let peer = self.peers.at(from);
        let sequence = peer.arrived - 1;
        peer.kept += length + MESSAGE_OVERHEAD;
        let is_short = peer.granted - peer.kept.min(peer.granted) < peer.extend_below as usize;
        if acknowledge.is_none() && self.closed.has(envelope.context) {
            return self.consumed(from, Some(length));
        }
        self.subscriber.event(Event::Unexpected { from, bytes: length as u64 });
        let payload = (payload, length);
        // SAFETY: `payload` is readable for `length` bytes during this call (contract of
        // `Sink::arrived`).
        unsafe {
            self.unexpected.add_eager(
                &envelope,
                protocol::rank(words),
                sequence,
                payload,
                acknowledge,
            )
        };
        if is_short {
            self.extend(from);
        }
    }

    /// Pulls an announced message into its receive, or appends it to the unexpected queue.
    fn announced(
        &mut self,
        from: PeerIndex,
        words: &[u64; 2],
        payload: [u64; 3],
        early: EarlyPull,
    ) {
        let peer = self.peers.at(from);
        let sequence = peer.arrived;
        peer.arrived += 1;
        let envelope = Pattern::message(from, words);
        let (rank, tag, key) =
            (protocol::rank(words), protocol::tag(words), RegionKey([payload[0], payload[1]]));
        let completion = Completion::of(from, rank, tag, payload[2]);
        match self.posted.take(&envelope) {
            None if self.direct.takes(&envelope) => {
                let (index, target) = self.start_direct();
                self.pull(index, target, key, completion);
            }
            None if early != EarlyPull::Never && self.closed.has(envelope.context) => {
                self.release_sender(from, key)
            }
            None => {
                self.subscriber.event(Event::Unexpected { from, bytes: payload[2] });
                let may_fetch = early != EarlyPull::Never;
                let at =
                    self.unexpected.add_announced(&envelope, rank, sequence, payload, may_fetch);
                let message = Fetchable { from, at, sequence: sequence as u32 };
                match early {
                    EarlyPull::Never => {}
                    EarlyPull::WithRoom => self.wants_room(message),
                    EarlyPull::IfLate => self.fetch_if_late(message),
                }
            }
            Some(index) => {
                if let PendingWork::Posted { target, .. } =
                    std::mem::replace(&mut self.requests.slot(index).work, PendingWork::None)
                {
                    self.pull(index, target, key, completion);
                }
            }
        }
    }

    /// Delivers a message taken from the unexpected queue to the receive at `index`.
    pub(crate) fn receive(&mut self, index: u32, target: Target, message: UnexpectedMessage) {
        let UnexpectedMessage { from, rank, tag, length, acknowledge, body } = message;
        if let MessageBytes::Announced(key) = body {
            return self.pull(index, target, key, Completion::of(from, rank, tag, length));
        }
        self.subscriber.event(Event::Matched { from, bytes: length, rendezvous: false });
        if let MessageBytes::Fetching(fetch) = body {
            return self.receive_fetched(index, target, fetch);
        }
        let (length, envelope) = (length as usize, Completion::of(from, rank, tag, 0));
        // SAFETY: the body holds `length` bytes. The request is incomplete, so its target is still
        // valid (contract of `irecv`).
        unsafe { self.deliver(index, target, envelope, body.pointer(), length) };
        self.matched(from, length, acknowledge, body);
    }

    /// Frees an unexpected eager message whose payload has been delivered, and answers its sender.
    pub(crate) fn matched(
        &mut self,
        from: PeerIndex,
        length: usize,
        acknowledge: Option<u64>,
        body: MessageBytes,
    ) {
        if let MessageBytes::Buffered { buffer, .. } = body {
            self.unexpected.buffers.remove(buffer);
        }
        self.consumed(from, Some(length));
        if let Some(request) = acknowledge {
            self.acknowledge(from, request);
        }
    }

    #[cold]
    fn acknowledge(&mut self, to: PeerIndex, request: u64) {
        self.control(to, protocol::ACKNOWLEDGE, [request, 0]);
    }

    /// Records a control message to be sent.
    #[cold]
    pub(crate) fn control(&mut self, to: PeerIndex, protocol: u8, words: [u64; 2]) {
        self.actions.push(DeferredCall::Control { to, header: Header { protocol, words } });
    }

    /// Completes a send or pull that was in flight.
    pub(crate) fn finish(&mut self, index: u32) {
        self.under_way -= 1;
        self.requests.slot(index).sequence = UNNUMBERED;
        self.requests.complete(index);
    }

    #[cold]
    #[inline(never)]
    fn other(&mut self, from: PeerIndex, header: &Header, payload: *const u8, length: usize) {
        let words = &header.words;
        match header.protocol {
            protocol::EAGER_SYNCHRONOUS if length >= REQUEST_BYTES => {
                // SAFETY: `payload` is readable for `length` bytes during this call, and `length`
                // is at least `REQUEST_BYTES`.
                let (request, message) =
                    unsafe { (payload.cast::<u64>().read_unaligned(), payload.add(REQUEST_BYTES)) };
                self.eager(from, words, Here(message, length - REQUEST_BYTES), Some(request));
            }
            protocol::ANNOUNCE | protocol::POSTPONE | protocol::ANNOUNCE_ON_DEVICE
                if length == ANNOUNCEMENT_BYTES =>
            {
                // SAFETY: `payload` is readable for `length` bytes during this call, which is 24.
                let announcement = unsafe { payload.cast::<[u64; 3]>().read_unaligned() };
                self.announced(from, words, announcement, EarlyPull::of(header.protocol));
            }
            protocol::ACKNOWLEDGE => {
                if let Some(index) = self.requests.find(RequestId(words[0]))
                    && matches!(self.requests.slot(index).work, PendingWork::Unacknowledged)
                {
                    self.finish(index);
                }
            }
            protocol::CANCEL => self.cancel_wanted(from, words),
            protocol::CANCELLED => self.cancel_answered(words),
            protocol::CREDIT => self.peers.at(from).credit += words[0] as usize,
            protocol::RECALL => self.return_credit(from, words[0]),
            protocol::RETURN => self.credit_returned(from, words[0] as usize),
            // SAFETY: `payload` is readable for `length` bytes during this call (contract of
            // `Sink::arrived`).
            protocol::ACTIVE => unsafe { self.active_arrived(from, *words, payload, length) },
            unknown => {
                debug_assert!(false, "unknown protocol {unknown} of {length} bytes from {from:?}")
            }
        }
    }
}

impl<S: Subscriber> Sink for State<S> {
    #[inline(always)]
    fn arrived(&mut self, from: PeerIndex, header: &Header, payload: *const u8, length: usize) {
        if header.protocol == protocol::EAGER {
            self.eager(from, &header.words, Here(payload, length), None);
        } else {
            self.other(from, header, payload, length);
        }
    }

    #[inline(never)]
    fn arriving(&mut self, from: PeerIndex, header: &Header, payload: impl Payload) {
        if header.protocol == protocol::EAGER {
            self.eager(from, &header.words, payload, None);
        } else {
            let length = payload.length();
            self.other(from, header, payload.whole(), length);
        }
    }

    fn released(&mut self, token: u64) {
        if let Some(index) = self.requests.find(RequestId(token))
            && matches!(self.requests.slot(index).work, PendingWork::Announced { .. })
        {
            self.finish(index);
        }
    }

    fn pulled(&mut self, token: u64) {
        let Some(index) = self.requests.find(RequestId(token)) else { return };
        match self.requests.slot(index).work {
            PendingWork::Pulling => self.finish(index),
            PendingWork::Fetching(_) => self.fetched(index),
            _ => {}
        }
    }

    fn lost(&mut self, peer: PeerIndex) {
        self.end_operations(peer);
        self.end_wildcards(peer);
    }

    fn left(&mut self, peer: PeerIndex) {
        self.end_operations(peer);
    }
}
