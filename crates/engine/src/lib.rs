//! The engine: turns "send these bytes to that peer" into headers and payloads on a wire, and
//! matches what arrives.
//!
//! It follows the point-to-point chapter of the standard (MPI 5.0, chapter 3): messages of one pair
//! and one context are matched in the order they were sent, wildcards match in order of arrival, a
//! synchronous send is complete only when its receive has been matched. Small messages are *eager*
//! (header and payload together), large ones are *announced* and pulled by the receiver once it has
//! matched them; both travel in one ordered stream of headers.
//!
//! An [`Engine`] is a value: no statics, no locks, nothing that blocks, no system call. Its owner
//! serialises access.

#![deny(missing_docs)]

mod arrivals;
mod bins;
pub mod board;
mod buffers;
mod cancel;
mod closed;
mod direct;
mod eager;
mod exchange;
mod flow;
mod lost;
mod matching;
pub mod messages;
mod peers;
mod posted;
mod probe;
mod progress;
pub mod protocol;
mod receive;
mod rendezvous;
mod requests;
mod slab;
#[doc(hidden)]
pub mod testing;
mod unexpected;

use towpath_base::config;
use towpath_transport::Wire;

pub use direct::Soon;
pub use eager::{Mode, Sent};
pub use exchange::{Exchange, Part, Rest};
pub use flow::Headroom;
pub use probe::{Envelope, MessageId};
pub use requests::{Completion, Pending, RequestId};

pub use arrivals::IsMember;
use arrivals::State;

/// Bytes that each sender may have under way unless the setting says otherwise.
const UNEXPECTED_BYTES: usize = 1 << 20;

/// What bounds the eager protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest eager message in bytes; a wire may allow less. `usize::MAX` leaves the choice to the
    /// wire.
    pub eager_bytes: usize,
    /// Eager bytes (with [`protocol::MESSAGE_OVERHEAD`] for each message) that may be under way to
    /// one peer, received by it or not, before messages to it are only announced; the receiver may
    /// grant more ([`Engine::grow_within`]).
    pub unexpected_bytes: usize,
}

impl Limits {
    /// The limits that the settings `TOWPATH_EAGER_BYTES` and `TOWPATH_UNEXPECTED_BYTES` ask for.
    pub fn from_settings() -> Limits {
        let bytes = |name| config::number(name).map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        Limits {
            eager_bytes: bytes("TOWPATH_EAGER_BYTES").unwrap_or(usize::MAX),
            unexpected_bytes: bytes("TOWPATH_UNEXPECTED_BYTES").unwrap_or(UNEXPECTED_BYTES),
        }
    }
}

/// Messages between this process and its peers over wire `W`.
pub struct Engine<W: Wire> {
    wire: W,
    state: State,
}

impl<W: Wire> Engine<W> {
    /// An engine over `wire` that expects `peers` peers; further peers are added when they are
    /// first named.
    pub fn new(wire: W, limits: Limits, peers: usize) -> Engine<W> {
        let own = wire.own();
        Engine { wire, state: State::new(own, limits, peers) }
    }

    /// The wire, for what the engine does not do (declaring neighbours, figures).
    pub fn wire(&self) -> &W {
        &self.wire
    }

    /// The wire, changeable. Messages must not be sent on it past the engine.
    pub fn wire_mut(&mut self) -> &mut W {
        &mut self.wire
    }
}
