//! CLIC, a reliable transport on raw Ethernet after the lightweight protocol of the University of
//! Granada: its protocol, as state machines without I/O. Time is a number that is handed in, frames
//! are bytes that are handed in and out.
//!
//! ```text
//!  endpoint        all peers, groups and credits of a process; dispatches frames and timers
//!    peer          one remote process: what to send next, what a frame means, when it is lost
//!      epoch       which lives of the two processes talk to each other
//!      window      frames sent in order and kept until acknowledged
//!      sequence    frames received in order, each once
//!      region      memory that the peer may fetch
//!      pull        memory fetched from the peer, credit
//!      rails       which interface carries what
//!      timer       retransmission timeouts
//!    multicast     frames that the switch copies, repaired by unicast
//!  frame, key      the format of frames, and the check that lets them in
//! ```
//!
//! Messages of up to [`FRAGMENTS`] frames go in order through the window (*eager*); their bytes
//! stay in the caller's buffer, of which the machines know a name and a length. Larger ones are
//! published and pulled by the receiver: nothing is sent before the receiver asks, so senders
//! cannot flood it. Whoever drives the machines implements [`Outlet`] and gathers header and bytes
//! into frames; received bytes are lent, and kept only if they came too early.
//!
//! What a stranger can do: with the check unknown, nothing but cost a decoding for each frame. What
//! a peer can do: at most [`Settings`] bound what it makes this process keep, see [`sequence`],
//! [`region`] and [`multicast`].
//!
//! The state machines contain no unsafe code and do not panic on anything that comes from outside.

pub mod credit;
pub mod endpoint;
pub mod epoch;
pub mod frame;
pub mod key;
pub mod multicast;
mod outlet;
pub mod peer;
pub mod pull;
pub mod rails;
pub mod refusal;
pub mod region;
pub mod sequence;
pub mod timer;
pub mod window;

pub use endpoint::Endpoint;
pub use outlet::{Body, Outlet, Part};
pub use peer::{Card, Peer, SendError};

/// Nanoseconds since a moment that both the caller and the state machines do not care about; never
/// runs backwards.
pub type Time = u64;

/// Most frames of an eager message.
pub const FRAGMENTS: usize = 16;

/// Bounds of what one peer costs, and when it counts as lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Ordered frames under way in each direction.
    pub window: u32,
    /// Bytes of ordered frames that came too early; more are dropped and come again.
    pub early_bytes: usize,
    /// A peer that owes something and is not heard of for so long is lost; `None`: never. A process
    /// that computes does not answer, unless something answers in its place: where nothing does,
    /// this must be `None`, and the launcher says who died.
    pub silence: Option<Time>,
    /// A few frames to a sleeper wait for company, so that it is woken once. For processes that are
    /// sure to call [`Endpoint::tick`] soon; another's last frame would wait for its next call.
    pub gathers: bool,
    /// This process shares its core, so that its answers may always take as long as a sleeper's.
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
