//! The payload of a message that is still being written while its first part is copied out.

use std::ops::Range;

use towpath_base::sync::{MappedWords, Words};
use towpath_transport::{Payload, copy};

use crate::layout::LINE;
use crate::ring::Follower;

/// Shortest message that is sent in parts.
pub(crate) const IN_PARTS: usize = 16 << 10;
/// Longest part. Shorter parts cost more than they hide, especially between cores that share no
/// cache.
const LONGEST_PART: usize = 16 << 10;

/// Polls of a missing part before the thread yields its core.
const LOOKS: u32 = 1000;

/// A payload that its sender is still writing. The sender does nothing else until all parts are
/// complete, so the wait for them is short.
pub struct Arriving {
    pub(crate) pointer: *const u8,
    pub(crate) length: usize,
    pub(crate) follower: Follower<MappedWords>,
}

impl<W: Words> Follower<W> {
    /// Returns once part `number` has arrived.
    #[inline]
    fn await_part(&self, number: u32) {
        let mut looks = 0;
        while !self.is_here(number) {
            looks += 1;
            if looks < LOOKS {
                std::hint::spin_loop();
            } else {
                // The sender was preempted in the middle of the message, and may be waiting for
                // this core.
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
                // SAFETY: the part has arrived, and `to` is writable for `taken` bytes (the
                // contract of `copy_to`).
                unsafe {
                    copy::contiguous(self.pointer.add(part.start), to.add(part.start), bytes)
                };
            }
        }
        // The payload's memory is freed after this, so the sender must be done even if not all of
        // the payload is wanted.
        self.follower.await_part(parts(self.length) - 1);
    }

    fn whole(self) -> *const u8 {
        self.follower.await_part(parts(self.length) - 1);
        self.pointer
    }
}

/// Bytes of each part of a payload except the last one: half of it, or a smaller fraction if half
/// of it exceeds [`LONGEST_PART`].
fn part_bytes(length: usize) -> usize {
    let count = length.div_ceil(LONGEST_PART).max(2);
    length.div_ceil(count).next_multiple_of(LINE)
}

/// The byte range of part `number` of a payload.
pub(crate) fn part(length: usize, number: u32) -> Range<usize> {
    let start = number as usize * part_bytes(length);
    start..length.min(start + part_bytes(length))
}

/// Number of parts of a payload.
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
                assert!(
                    part.start == end && !part.is_empty() && part.len() <= LONGEST_PART,
                    "{length}: {part:?}"
                );
                end = part.end;
            }
            assert!(end == length && parts(length) > 1, "{length} bytes");
        }
    }
}
