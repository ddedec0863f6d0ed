//! Active messages: a handler of the receiver consumes them inside progress, without a receive (von
//! Eicken, Culler, Goldstein and Schauser, "Active Messages: a Mechanism for Integrated
//! Communication and Computation", ISCA 1992).
//!
//! They share the ordered stream of headers with the messages of MPI, so all messages of one pair
//! arrive in the order of the calls. A handler runs on whichever thread makes progress. It must not
//! block and cannot call the engine; its sends go out once the wire has finished reporting. Active
//! messages need no credit, because their receiver consumes them at once. Large data travels as
//! regions, whose keys fit an active message.

use towpath_base::events::Subscriber;
use towpath_base::ids::PeerIndex;
use towpath_base::slab::{Slab, SlabKey};
use towpath_transport::{Header, JobWire, NoResource, SHORT_BYTES};

use crate::Engine;
use crate::peers::{Peers, WaitingSend};
use crate::protocol;
use crate::state::{DeferredCall, State};

/// Largest payload of an active message in bytes: every wire accepts it at any time.
pub const ACTIVE_BYTES: usize = 512;

/// Identifies a handler. All processes of a job must use the same numbers, so a protocol that uses
/// active messages claims the next free one here. None is in use yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveId(pub u8);

/// An active message, as passed to its handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveMessage<'a> {
    /// The sender.
    pub from: PeerIndex,
    /// The sender's argument.
    pub argument: u64,
    /// At most [`ACTIVE_BYTES`] bytes.
    pub payload: &'a [u8],
}

/// Consumes active messages.
pub type ActiveHandler = Box<dyn FnMut(ActiveMessage<'_>, &mut Replies<'_>) + Send>;

/// Collects the messages that a handler sends.
pub struct Replies<'a>(&'a mut Vec<DeferredCall>);

impl Replies<'_> {
    /// Like [`Engine::send_active`].
    ///
    /// # Panics
    /// If the payload is longer than [`ACTIVE_BYTES`].
    pub fn send(&mut self, to: PeerIndex, id: ActiveId, argument: u64, payload: &[u8]) {
        let header = header(id, argument, payload);
        self.0.push(DeferredCall::Active { to, header, payload: payload.into() });
    }
}

/// An active message that waits for room on the wire.
struct ActiveSend {
    header: Header,
    payload: Box<[u8]>,
}

/// An active message that arrived before its handler was set.
struct EarlyMessage {
    id: ActiveId,
    from: PeerIndex,
    argument: u64,
    payload: Box<[u8]>,
}

/// The handlers, and the messages that wait: for a handler, or for room on the wire.
#[derive(Default)]
pub(crate) struct Active {
    handlers: Vec<Option<ActiveHandler>>,
    early: Vec<EarlyMessage>,
    waiting: Slab<ActiveSend>,
}

impl Active {
    fn handler(&mut self, id: ActiveId) -> Option<&mut ActiveHandler> {
        self.handlers.get_mut(usize::from(id.0))?.as_mut()
    }

    /// Sends an active message, or appends it to the queue of its peer. One to a lost peer is
    /// dropped.
    pub(crate) fn send_or_wait(
        &mut self,
        wire: &mut impl JobWire,
        peers: &mut Peers,
        to: PeerIndex,
        header: Header,
        payload: impl AsRef<[u8]> + Into<Box<[u8]>>,
    ) {
        let peer = peers.at(to);
        let is_sent =
            peer.lost || !peer.blocked && transmit(wire, to, &header, payload.as_ref()).is_ok();
        if !is_sent {
            let key = self.waiting.insert(ActiveSend { header, payload: payload.into() });
            peers.wait(to, WaitingSend::Active(key));
        }
    }

    /// Drops the active messages among the sends that waited for a lost peer.
    pub(crate) fn drop_waiting<'a>(&mut self, queue: impl Iterator<Item = &'a WaitingSend>) {
        for waiting in queue {
            if let WaitingSend::Active(key) = waiting {
                self.waiting.remove(*key);
            }
        }
    }
}

fn header(id: ActiveId, argument: u64, payload: &[u8]) -> Header {
    assert!(
        payload.len() <= ACTIVE_BYTES,
        "an active message of {} bytes; it has at most {ACTIVE_BYTES}",
        payload.len()
    );
    Header { protocol: protocol::ACTIVE, words: [u64::from(id.0), argument] }
}

fn transmit(
    wire: &mut impl JobWire,
    to: PeerIndex,
    header: &Header,
    payload: &[u8],
) -> Result<(), NoResource> {
    // SAFETY: `payload` is a slice, and `short` gets at most `SHORT_BYTES` bytes.
    unsafe {
        if payload.len() <= SHORT_BYTES {
            wire.short(to, header, payload.as_ptr(), payload.len())
        } else {
            wire.copied_contiguous(to, header, payload.as_ptr(), payload.len())
        }
    }
}

impl<S: Subscriber> State<S> {
    /// Hands an active message to its handler, or keeps it until there is one.
    ///
    /// # Safety
    /// `payload` must be readable for `length` bytes.
    #[inline(never)]
    pub(crate) unsafe fn active_arrived(
        &mut self,
        from: PeerIndex,
        [id, argument]: [u64; 2],
        payload: *const u8,
        length: usize,
    ) {
        let Ok(id) = u8::try_from(id).map(ActiveId) else {
            debug_assert!(false, "active message {id} from {from:?}");
            return;
        };
        let payload = match length {
            0 => &[],
            // SAFETY: `payload` is readable for `length` bytes (this function's contract), which is
            // not 0, so it is not null.
            _ => unsafe { std::slice::from_raw_parts(payload, length) },
        };
        match self.active.handler(id) {
            Some(handler) => {
                handler(ActiveMessage { from, argument, payload }, &mut Replies(&mut self.actions))
            }
            None => {
                self.active.early.push(EarlyMessage { id, from, argument, payload: payload.into() })
            }
        }
    }
}

impl<W: JobWire, S: Subscriber> Engine<W, S> {
    /// Sets the handler for `id`, and passes it the messages that have already arrived.
    pub fn handle_active(&mut self, id: ActiveId, mut handler: ActiveHandler) {
        let State { active, actions, .. } = &mut self.state;
        for early in active.early.extract_if(.., |early| early.id == id) {
            let EarlyMessage { from, argument, payload, .. } = early;
            handler(ActiveMessage { from, argument, payload: &payload }, &mut Replies(actions));
        }
        let slot = usize::from(id.0);
        if active.handlers.len() <= slot {
            active.handlers.resize_with(slot + 1, || None);
        }
        active.handlers[slot] = Some(handler);
        self.act();
    }

    /// Sends an active message. Never fails: if the wire has no room, the message waits in the
    /// queue of its peer, and [`Engine::busy`] is true until it is sent. A message to a lost peer
    /// is dropped.
    ///
    /// # Panics
    /// If the payload is longer than [`ACTIVE_BYTES`].
    pub fn send_active(&mut self, to: PeerIndex, id: ActiveId, argument: u64, payload: &[u8]) {
        let Engine { wire, state } = self;
        let header = header(id, argument, payload);
        state.active.send_or_wait(wire, &mut state.peers, to, header, payload);
    }

    /// Sends an active message from the queue of its peer.
    pub(crate) fn transmit_active(
        &mut self,
        to: PeerIndex,
        key: SlabKey,
    ) -> Result<(), NoResource> {
        let Engine { wire, state } = self;
        if let Some(send) = state.active.waiting.get(key) {
            transmit(wire, to, &send.header, &send.payload)?;
            state.active.waiting.remove(key);
        }
        Ok(())
    }
}
