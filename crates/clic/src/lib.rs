//! CLIC, a reliable transport on raw Ethernet modelled on the lightweight protocol of the
//! University of Granada: the protocol as state machines without I/O. The caller passes in the time
//! as a number and frames as bytes, and receives frames to send as bytes.
//!
//! ```text
//!  endpoint        all peers, groups and credits of a process; dispatches frames and timers
//!    peer          one remote process: transmit scheduling, frame handling, loss detection
//!      incarnations  which runs of the two processes talk to each other
//!      window      ordered frames, kept until acknowledged
//!      sequence    ordered frames received, each delivered once
//!      region      memory that the peer may fetch
//!      pull        memory fetched from the peer, credit
//!      rails       which interface carries what
//!      timer       retransmission timeouts
//!    multicast     frames that the switch replicates, repaired by unicast
//!  frame, key      frame format, and the authentication tag that admits frames
//! ```
//!
//! Messages of up to [`FRAGMENTS`] frames are sent in order through the window (*eager*). Their
//! bytes stay in the caller's buffer; the state machines know only its name and its length. Larger
//! messages are published and pulled by the receiver: the sender transmits nothing before the
//! receiver asks, so senders cannot flood it. The driver of the state machines implements [`Io`]
//! and gathers header and bytes into frames. Received bytes are borrowed, and copied only if they
//! arrive out of order.
//!
//! Threat model: a stranger that does not know the key can only cost one decoding per frame. A peer
//! can make this process store no more than [`Settings`] allows; see [`sequence`], [`region`] and
//! [`multicast`].
//!
//! The state machines contain no unsafe code and do not panic on any external input.

pub mod credit;
pub mod endpoint;
pub mod frame;
pub mod incarnations;
mod io;
pub mod key;
pub mod multicast;
pub mod peer;
pub mod pull;
pub mod rails;
pub mod refusal;
pub mod region;
pub mod sequence;
pub mod timer;
pub mod window;

pub use endpoint::Endpoint;
pub use io::{FrameBody, Io, MessagePart};
pub use peer::{Peer, PeerCard, SendError};

/// Nanoseconds since an arbitrary epoch; monotonic.
pub type Time = u64;

/// Maximum number of frames of an eager message.
pub const FRAGMENTS: usize = 16;

/// Limits on the resources that one peer may use, and how the protocol treats silent and sleeping
/// peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Maximum number of ordered frames in flight in each direction.
    pub window: u32,
    /// Maximum number of bytes of ordered frames kept out of order; excess frames are dropped and
    /// retransmitted.
    pub early_bytes: usize,
    /// A peer that owes a response and is not heard from for this long is lost; `None`: never. A
    /// process that computes does not respond unless something else responds on its behalf. If
    /// nothing does, this must be `None`, and the launcher reports who died.
    pub silence: Option<Time>,
    /// A few frames to a sleeping peer are delayed and sent together, so that it is woken up once.
    /// Only for processes that are sure to call [`Endpoint::tick`] soon; otherwise the last frame
    /// would wait until the next call.
    pub gathers: bool,
    /// This process shares its core, so its responses may always take as long as those of a
    /// sleeping process.
    pub drowsy: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            window: 128,
            early_bytes: 256 << 10,
            silence: Some(10 * timer::SECOND),
            gathers: true,
            drowsy: false,
        }
    }
}
