//! CLIC, a reliable transport on raw Ethernet after the lightweight protocol of the University of Granada: its protocol, as state
//! machines without I/O. Time is a number that is handed in, frames are bytes that are handed in and out.

pub mod credit;
pub mod epoch;
pub mod frame;
pub mod key;
pub mod multicast;
pub mod pull;
pub mod rails;
pub mod refusal;
pub mod region;
pub mod sequence;
pub mod timer;
pub mod window;

/// Nanoseconds since a moment that both the caller and the state machines do not care about; never runs backwards.
pub type Time = u64;
