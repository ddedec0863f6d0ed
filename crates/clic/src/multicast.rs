//! Broadcast by the switch: the root of a group sends each frame once, to a multicast address that
//! all other members have joined.
//!
//! Frames are not acknowledged individually. A receiver that detects a gap asks the root, which
//! repairs by unicast. A receiver that has the whole message reports it
//! ([`super::frame::Kind::Complete`], sent reliably in the ordered stream). If a receiver stays
//! silent, the root sends it the last part of the message, which reveals what is missing. A switch
//! that loses every multicast frame therefore makes broadcasts slow, never wrong.
//!
//! Bounded: at most [`WINDOW`] messages of a group are in flight, of at most [`MOST_PARTS`] parts
//! each; a longer broadcast is split into several messages. A part of a message that is not
//! expected yet is dropped and repaired later. Multicast pays off from [`FEWEST_RECEIVERS`]
//! receivers on.

#![forbid(unsafe_code)]

pub mod member;
pub mod root;

pub use member::Member;
pub use root::Root;

use super::Time;
use super::timer::{CEILING, MICROSECOND};

/// Maximum number of messages of a group in flight.
pub const WINDOW: usize = 2;

/// Number of buffers that a pre-posting member provides: this many messages may wait to be consumed
/// before the root waits too.
pub const READY: usize = 2 * WINDOW;

/// Maximum number of parts of a message.
pub const MOST_PARTS: u32 = 256;

/// With fewer receivers, one unicast to each is as good.
pub const FEWEST_RECEIVERS: usize = 3;

/// Initial timeout, before any retry.
const PATIENCE: Time = 500 * MICROSECOND;

/// What all members of a group know about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MulticastGroup {
    /// Its number, which all members use and which is unique per root.
    pub number: u32,
    /// Distinguishes this group from an earlier one of the same number.
    pub session: u16,
    /// The rank of its root.
    pub root: u32,
    /// Bytes of a part, which every rail of every member can carry.
    pub chunk: u16,
}

impl MulticastGroup {
    /// The number of parts of a message of this length; `None` if it is too long.
    pub fn parts(&self, length: u32) -> Option<u32> {
        let parts = length.div_ceil(u32::from(self.chunk).max(1)).max(1);
        (parts <= MOST_PARTS).then_some(parts)
    }

    fn bytes_of(&self, index: u32, length: u32) -> u32 {
        length.saturating_sub(index * u32::from(self.chunk)).min(u32::from(self.chunk))
    }
}

/// A set of parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PartSet([u64; MOST_PARTS as usize / 64]);

impl PartSet {
    fn has(&self, index: u32) -> bool {
        self.0[index as usize / 64] >> (index % 64) & 1 != 0
    }
    fn insert(&mut self, index: u32) {
        self.0[index as usize / 64] |= 1 << (index % 64);
    }
    fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }
}

fn pause(tries: u32) -> Time {
    (PATIENCE << tries.min(10)).min(CEILING)
}
