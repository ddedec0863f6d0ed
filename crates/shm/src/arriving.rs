//! The payload of an arrival that is still on its way while its first part is copied out.

use std::ops::Range;

use towpath_base::sync::{MappedWords, Words};
use towpath_transport::{Payload, copy};

use crate::layout::LINE;
use crate::ring::Follower;

/// Shortest message in parts.
pub(crate) const IN_PARTS: usize = 16 << 10;
/// Longest part. Shorter ones cost more than they hide, most of all between cores that share no
/// cache.
const LONGEST_PART: usize = 16 << 10;

/// Looks at a part that is not here before the processor is left to others.
const LOOKS: u32 = 1000;

/// A payload whose sender is still writing it: it does nothing else until all is there, so waiting
/// for it is short.
pub struct Arriving {
    pub(crate) pointer: *const u8,
    pub(crate) length: usize,
    pub(crate) follower: Follower<MappedWords>,
}

impl<W: Words> Follower<W> {
    /// Returns when part `number` is here.
    #[inline]
    fn await_part(&self, number: u32) {
        let mut looks = 0;
        while !self.is_here(number) {
            looks += 1;
            if looks < LOOKS {
                std::hint::spin_loop();
            } else {
                // The sender lost its processor in the middle of the message: perhaps it wants this
                // one.
                std::thread::yield_now();
            }
        }
    }
}

impl Payload for Arriving {
    fn length(&self) -> usize {
        self.length
    }

    unsafe fn copy_to(self, to: *mut u8, taken: usize) {
        for number in 0..parts(self.length) {
            let part = part(self.length, number);
            if part.start < taken {
                self.follower.await_part(number);
                let bytes = part.end.min(taken) - part.start;
                // SAFETY: the part is here; the caller vouches for the target.
                unsafe { copy::fetch(self.pointer.add(part.start), to.add(part.start), bytes) };
            }
        }
        // The memory is given back after this, so the sender must be through even where not all is
        // wanted.
        self.follower.await_part(parts(self.length) - 1);
    }

    fn whole(self) -> *const u8 {
        self.follower.await_part(parts(self.length) - 1);
        self.pointer
    }
}

/// Bytes of the parts of a payload but the one at its end: halves, or less where those are too
/// long.
fn part_bytes(length: usize) -> usize {
    let count = length.div_ceil(LONGEST_PART).max(2);
    length.div_ceil(count).next_multiple_of(LINE)
}

/// Which bytes of a payload are part `number`.
pub(crate) fn part(length: usize, number: u32) -> Range<usize> {
    let start = number as usize * part_bytes(length);
    start..length.min(start + part_bytes(length))
}

/// How many parts a payload has.
pub(crate) fn parts(length: usize) -> u32 {
    length.div_ceil(part_bytes(length)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_and_make_up_the_whole() {
        for length in (IN_PARTS..=4 * LONGEST_PART + 200).chain([200_000]) {
            let mut end = 0;
            for number in 0..parts(length) {
                let part = part(length, number);
                assert!(part.start == end && !part.is_empty() && part.len() <= LONGEST_PART, "{length}: {part:?}");
                end = part.end;
            }
            assert!(end == length && parts(length) > 1, "{length} bytes");
        }
    }
}
