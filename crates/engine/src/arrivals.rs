//! The engine's half that wires call into: matches arrivals and notes what has to be sent in
//! answer.
//!
//! A wire must not be called while it reports, so everything that goes out because something came
//! in (pulls, acknowledgements, credit) is an [`Action`] that
//! [`Engine::progress`](crate::Engine::progress) carries out afterwards. The bytes of a matched
//! eager message go straight from the wire's memory into the target.

use towpath_base::ids::{ContextId, PeerIndex};
use towpath_base::transfer::Target;
use towpath_transport::{Header, Here, Payload, RegionKey, Sink};

use crate::Limits;
use crate::closed::Closed;
use crate::direct::Direct;
use crate::flow::Flow;
use crate::matching::{FRONT, Pattern};
use crate::peers::Peers;
use crate::posted::Posted;
use crate::protocol::{self, ANNOUNCEMENT_BYTES, MESSAGE_OVERHEAD, REQUEST_BYTES};
use crate::requests::{Completion, RequestId, Requests, UNNUMBERED, Work};
use crate::unexpected::{Body, Message, Unexpected};

/// Token of pulls that nobody waits for.
pub(crate) const NO_REQUEST: u64 = u64::MAX;

/// Something the wire is to be asked once it has finished reporting.
pub(crate) enum Action {
    /// Send a message of the engine's own.
    Control { to: PeerIndex, header: Header },
    /// Bring a region.
    Pull { from: PeerIndex, key: RegionKey, token: u64, target: Target },
    /// Take a publication back.
    Withdraw { to: PeerIndex, key: RegionKey },
}

/// Whether a process may send messages in a context.
pub type IsMember = fn(ContextId, PeerIndex) -> bool;

/// Everything of the engine except the wire.
pub(crate) struct State {
    /// What this process is called.
    pub(crate) own: PeerIndex,
    pub(crate) limits: Limits,
    pub(crate) peers: Peers,
    pub(crate) posted: Posted,
    /// The receive of a blocking call that makes progress right now.
    pub(crate) direct: Direct,
    pub(crate) unexpected: Unexpected,
    /// Credit beyond what every sender has.
    pub(crate) flow: Flow,
    /// Contexts of communicators that were freed.
    pub(crate) closed: Closed,
    pub(crate) requests: Requests,
    pub(crate) actions: Vec<Action>,
    /// Sends and pulls that are not complete.
    pub(crate) under_way: usize,
    /// Counts [exchanges](crate::Exchange).
    pub(crate) exchanges: u32,
    /// Who may send in a context.
    pub(crate) is_member: IsMember,
}

/// Moves an eager payload into its target; returns the bytes taken and whether some had no room.
///
/// # Safety
/// The memory behind `payload` and `target` must be alive.
#[inline(always)]
pub(crate) unsafe fn deliver(target: &mut Target, payload: impl Payload) -> (u64, bool) {
    let (room, length) = (target.length(), payload.length());
    let taken = length.min(room);
    match target {
        // SAFETY: the caller vouches for both; `taken` is within both.
        Target::Bytes { pointer, .. } => unsafe { payload.copy_to(*pointer, taken) },
        Target::Unpacker { .. } => {
            let payload = payload.whole();
            // SAFETY: as above.
            unsafe { target.drain_all(payload, taken) };
        }
    }
    (taken as u64, length > room)
}

impl State {
    pub(crate) fn new(own: PeerIndex, limits: Limits, peers: usize) -> State {
        State {
            own,
            limits,
            peers: Peers::new(peers, limits.unexpected_bytes),
            posted: Posted::new(FRONT),
            direct: Direct::new(),
            unexpected: Unexpected::new(FRONT),
            flow: Flow::default(),
            closed: Closed::default(),
            requests: Requests::default(),
            actions: Vec::new(),
            under_way: 0,
            exchanges: 0,
            is_member: |_, _| false,
        }
    }

    /// An eager message: into its receive, or into the unexpected queue.
    #[inline(always)]
    fn eager(&mut self, from: PeerIndex, words: &[u64; 2], payload: impl Payload, acknowledge: Option<u64>) {
        let length = payload.length();
        let peer = self.peers.at(from);
        peer.arrived += 1;
        let envelope = Pattern::message(from, words);
        let found = self.posted.take(&envelope);
        if found.is_none() && !self.direct.takes(&envelope) {
            return self.keep(from, words, payload.whole(), length, acknowledge);
        }
        peer.consumed += length + MESSAGE_OVERHEAD;
        let due = peer.consumed > self.limits.unexpected_bytes / 4;
        let Some(index) = found else {
            // SAFETY: the wire lends `length` bytes behind `payload` during this call.
            unsafe { self.receive_directly(from, words, payload) };
            return self.settle(from, due, acknowledge);
        };
        let slot = self.requests.slot(index);
        if let Work::Posted { target, .. } = &mut slot.work {
            // SAFETY: the wire lends `length` bytes behind `payload` during this call; the owner of
            // the request keeps its target alive until completion.
            let (bytes, truncated) = unsafe { deliver(target, payload) };
            let completion = Completion::of(from, protocol::rank(words), protocol::tag(words), bytes);
            slot.completion = Completion { truncated, ..completion };
            if matches!(target, Target::Bytes { .. }) {
                self.requests.complete_spent(index);
            } else {
                self.requests.complete(index);
            }
        }
        self.settle(from, due, acknowledge);
    }

    /// Answers the sender of an eager message that has its receive: credit when a batch is `due`,
    /// and the acknowledgement.
    #[inline(always)]
    fn settle(&mut self, from: PeerIndex, due: bool, acknowledge: Option<u64>) {
        if due {
            self.consumed(from, None);
        }
        if let Some(request) = acknowledge {
            self.acknowledge(from, request);
        }
    }

    /// Puts an eager message with a copy of its payload into the unexpected queue.
    #[cold]
    #[inline(never)]
    fn keep(&mut self, from: PeerIndex, words: &[u64; 2], payload: *const u8, length: usize, acknowledge: Option<u64>) {
        let envelope = Pattern::message(from, words);
        let peer = self.peers.at(from);
        let sequence = peer.arrived - 1;
        peer.kept += length + MESSAGE_OVERHEAD;
        let is_short = peer.granted - peer.kept.min(peer.granted) < peer.extend_below as usize;
        if acknowledge.is_none() && self.closed.has(envelope.context) {
            return self.consumed(from, Some(length));
        }
        let payload = (payload, length);
        // SAFETY: the wire lends `length` bytes behind `payload` during this call.
        unsafe { self.unexpected.add_eager(&envelope, protocol::rank(words), sequence, payload, acknowledge) };
        if is_short {
            self.extend(from);
        }
    }

    /// An announced message: pulled into its receive, or into the unexpected queue.
    fn announced(&mut self, from: PeerIndex, words: &[u64; 2], payload: [u64; 3], postponed: bool) {
        let peer = self.peers.at(from);
        let sequence = peer.arrived;
        peer.arrived += 1;
        let envelope = Pattern::message(from, words);
        let (rank, tag, key) = (protocol::rank(words), protocol::tag(words), RegionKey([payload[0], payload[1]]));
        let completion = Completion::of(from, rank, tag, payload[2]);
        match self.posted.take(&envelope) {
            None if self.direct.takes(&envelope) => {
                let (index, target) = self.start_direct();
                self.pull(index, target, key, completion);
            }
            None if postponed && self.closed.has(envelope.context) => self.release_sender(from, key),
            None => {
                let at = self.unexpected.add_announced(&envelope, rank, sequence, payload, postponed);
                if postponed {
                    self.wants_room(from, at, sequence as u32);
                }
            }
            Some(index) => {
                if let Work::Posted { target, .. } = std::mem::replace(&mut self.requests.slot(index).work, Work::None)
                {
                    self.pull(index, target, key, completion);
                }
            }
        }
    }

    /// Gives a message that has left the queues to the receive at `index`.
    pub(crate) fn receive(&mut self, index: u32, mut target: Target, message: Message) {
        let Message { from, rank, tag, length, acknowledge, body } = message;
        match body {
            Body::Announced(key) => return self.pull(index, target, key, Completion::of(from, rank, tag, length)),
            Body::Fetching(fetch) => return self.receive_fetched(index, target, fetch),
            Body::Inline(_) | Body::Buffered { .. } => {}
        }
        let length = length as usize;
        // SAFETY: the body holds `length` bytes; the owner of the request keeps its target alive
        // until completion.
        let (bytes, truncated) = unsafe { deliver(&mut target, Here(body.pointer(), length)) };
        self.requests.slot(index).completion = Completion { truncated, ..Completion::of(from, rank, tag, bytes) };
        self.requests.complete(index);
        self.matched(from, length, acknowledge, body);
    }

    /// Settles an unexpected eager message with its sender once a receive has its bytes.
    pub(crate) fn matched(&mut self, from: PeerIndex, length: usize, acknowledge: Option<u64>, body: Body) {
        if let Body::Buffered { buffer, .. } = body {
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

    /// Notes a message of the engine's own.
    #[cold]
    pub(crate) fn control(&mut self, to: PeerIndex, protocol: u8, words: [u64; 2]) {
        self.actions.push(Action::Control { to, header: Header { protocol, words } });
    }

    /// Completes a send or pull that was under way.
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
                // SAFETY: the wire lends `length` bytes, of which the first eight name the sender's
                // request.
                let (request, message) =
                    unsafe { (payload.cast::<u64>().read_unaligned(), payload.add(REQUEST_BYTES)) };
                self.eager(from, words, Here(message, length - REQUEST_BYTES), Some(request));
            }
            protocol::ANNOUNCE | protocol::POSTPONE if length == ANNOUNCEMENT_BYTES => {
                // SAFETY: the wire lends the 24 bytes of an announcement.
                let announcement = unsafe { payload.cast::<[u64; 3]>().read_unaligned() };
                self.announced(from, words, announcement, header.protocol == protocol::POSTPONE);
            }
            protocol::ACKNOWLEDGE => {
                if let Some(index) = self.requests.find(RequestId(words[0]))
                    && matches!(self.requests.slot(index).work, Work::Unacknowledged)
                {
                    self.finish(index);
                }
            }
            protocol::CANCEL => self.cancel_wanted(from, words),
            protocol::CANCELLED => self.cancel_answered(words),
            protocol::CREDIT => self.peers.at(from).credit += words[0] as usize,
            protocol::RECALL => self.return_credit(from, words[0]),
            protocol::RETURN => self.credit_returned(from, words[0] as usize),
            unknown => debug_assert!(false, "unknown protocol {unknown} of {length} bytes from {from:?}"),
        }
    }
}

impl Sink for State {
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
            && matches!(self.requests.slot(index).work, Work::Announced { .. })
        {
            self.finish(index);
        }
    }

    fn pulled(&mut self, token: u64) {
        let Some(index) = self.requests.find(RequestId(token)) else { return };
        match self.requests.slot(index).work {
            Work::Pulling => self.finish(index),
            Work::Fetching(_) => self.fetched(index),
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
