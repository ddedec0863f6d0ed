//! Broadcast by the switch: the root of a group sends each frame once, to a multicast address that
//! all others have joined.
//!
//! Nothing is acknowledged frame by frame. A receiver that sees a gap asks the root, which repairs
//! by unicast; when it has everything it says so ([`super::frame::Kind::Complete`], in the ordered
//! stream, so that it cannot get lost). A receiver of which the root hears nothing is sent the last
//! part of the message, by which it sees what it misses. So a switch that loses every multicast
//! frame makes broadcasts slow, never wrong.
//!
//! Bounded: [`WINDOW`] messages of a group are under way, of [`MOST_PARTS`] parts each; longer
//! broadcasts are several messages. A part of a message that nobody expects is dropped and repaired
//! later. It pays from [`FEWEST_RECEIVERS`] receivers on.

#![forbid(unsafe_code)]

pub mod member;
pub mod root;

pub use member::Member;
pub use root::Root;

use super::Time;
use super::timer::{CEILING, MICROSECOND};

/// Messages of a group under way.
pub const WINDOW: usize = 2;

/// Messages for which a member that stands ready has places: so many may wait to be taken before
/// the root waits too.
pub const READY: usize = 2 * WINDOW;

/// Most parts of a message.
pub const MOST_PARTS: u32 = 256;

/// With fewer receivers one unicast to each is as good.
pub const FEWEST_RECEIVERS: usize = 3;

/// How long the first attempt waits.
const PATIENCE: Time = 500 * MICROSECOND;

/// What all members of a group know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its number, the same for all members, of this root.
    pub number: u32,
    /// Tells this group from an earlier one of the same number.
    pub session: u16,
    /// The rank of its root.
    pub root: u32,
    /// Bytes of a part: what every rail of every member carries.
    pub chunk: u16,
}

impl Group {
    /// How many parts a message of this length has; `None` if it is too long.
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
struct Parts([u64; MOST_PARTS as usize / 64]);

impl Parts {
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
