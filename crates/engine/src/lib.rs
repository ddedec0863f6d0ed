//! The messaging engine: turns sends into headers and payloads on a wire, and matches arrivals to
//! receives.
//!
//! It follows the point-to-point chapter of the standard (MPI 5.0, chapter 3). Messages of one pair
//! and one context match in the order in which they were sent, wildcards match in order of arrival,
//! and a synchronous send completes only once its receive has been matched. Small messages are
//! *eager* (header and payload together). Large ones are *announced*, and the receiver pulls them
//! after matching. Both travel in one ordered stream of headers.
//!
//! An [`Engine`] is a plain value: no statics, no locks, no blocking, no system calls. Its owner
//! serializes access.

#![deny(missing_docs)]

mod active;
mod arrivals;
mod bins;
pub mod board;
mod buffers;
mod cancel;
mod closed;
mod credit;
mod delivery;
mod direct;
mod eager;
mod exchange;
mod flow;
pub mod held_up;
mod lost;
mod matching;
pub mod messages;
mod peers;
mod posted;
mod probe;
mod progress;
pub mod protocol;
mod receive;
mod receive_soon;
mod rendezvous;
mod requests;
mod slab;
mod state;
#[doc(hidden)]
pub mod testing;
mod unexpected;

use towpath_base::config;
use towpath_base::events::{Counters, Subscriber};
use towpath_transport::JobWire;

pub use active::{ACTIVE_BYTES, ActiveHandler, ActiveId, ActiveMessage, Replies};
pub use credit::Headroom;
pub use direct::EarlyOutcome;
pub use eager::Sent;
pub use exchange::{Exchange, ExchangeMessage, Rest};
pub use probe::{Envelope, MessageId};
pub use protocol::Mode;
pub use requests::{Completion, Pending, RequestId};

pub use state::IsMember;
use state::State;

/// Default for [`Limits::unexpected_bytes`].
const UNEXPECTED_BYTES: usize = 1 << 20;

/// Limits of the eager protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest eager message in bytes; the wire's limit applies as well. `usize::MAX` leaves the
    /// choice to the wire.
    pub eager_bytes: usize,
    /// Eager bytes, plus [`protocol::MESSAGE_OVERHEAD`] per message, that may be unconsumed at one
    /// peer before further messages to it are only announced. The receiver may grant more
    /// ([`Engine::grow_within`]).
    pub unexpected_bytes: usize,
}

impl Limits {
    /// Limits from the settings `TOWPATH_EAGER_BYTES` and `TOWPATH_UNEXPECTED_BYTES`, or the
    /// defaults.
    pub fn from_settings() -> Limits {
        let bytes = |name| config::number(name).map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        Limits {
            eager_bytes: bytes("TOWPATH_EAGER_BYTES").unwrap_or(usize::MAX),
            unexpected_bytes: bytes("TOWPATH_UNEXPECTED_BYTES").unwrap_or(UNEXPECTED_BYTES),
        }
    }
}

/// Point-to-point messaging between this process and its peers over wire `W`. Subscriber `S`
/// receives the engine's own events (matching, queues). Those of the wire come from an
/// [`Observed`](towpath_transport::wrap::Observed) wire.
pub struct Engine<W: JobWire, S: Subscriber = Counters> {
    wire: W,
    state: State<S>,
}

impl<W: JobWire> Engine<W> {
    /// Creates an engine over `wire` with state for `peers` peers. Further peers are added on first
    /// use. Its subscriber counts the events.
    pub fn new(wire: W, limits: Limits, peers: usize) -> Engine<W> {
        Engine::with_subscriber(wire, limits, peers, Counters::default())
    }
}

impl<W: JobWire, S: Subscriber> Engine<W, S> {
    /// Like [`Engine::new`], with another subscriber.
    pub fn with_subscriber(wire: W, limits: Limits, peers: usize, subscriber: S) -> Engine<W, S> {
        let own = wire.own();
        Engine { wire, state: State::new(own, limits, peers, subscriber) }
    }

    /// The subscriber.
    pub fn subscriber(&self) -> &S {
        &self.state.subscriber
    }

    /// The wire, for what the engine does not cover (declaring neighbours, statistics).
    pub fn wire(&self) -> &W {
        &self.wire
    }

    /// The wire, mutably. Do not send messages on it directly: that bypasses the engine's ordering.
    pub fn wire_mut(&mut self) -> &mut W {
        &mut self.wire
    }
}
