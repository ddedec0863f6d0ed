//! The payload of an arrival: whole, or still on its way while its first part is copied out.

use towpath_base::sync::{MappedWords, Words};

use crate::copy;
use crate::shm::ring::Follower;

/// Bytes of a part: with halves of this size the two copies of 16 KiB overlap best; smaller parts cost more than they hide.
pub(crate) const PART_BYTES: usize = 8192;

/// Looks at a part that is not here before the processor is left to others.
const LOOKS: u32 = 1000;

/// The payload of a message, as a wire lends it.
pub trait Payload {
    /// Bytes of the whole.
    fn length(&self) -> usize;

    /// Copies the first `taken` bytes.
    ///
    /// # Safety
    /// `taken` must be at most [`Payload::length`] and `to` writable for so many bytes, outside the wire's memory.
    unsafe fn copy_to(self, to: *mut u8, taken: usize);

    /// The bytes in a row, when all are here.
    fn whole(self) -> *const u8;
}

/// A payload that is here: pointer and length.
#[derive(Clone, Copy, Debug)]
pub struct Here(pub *const u8, pub usize);

impl Payload for Here {
    #[inline(always)]
    fn length(&self) -> usize {
        self.1
    }

    #[inline(always)]
    unsafe fn copy_to(self, to: *mut u8, taken: usize) {
        const WORD: usize = size_of::<u64>();
        // SAFETY: promised by the caller; both words lie within `taken` bytes.
        unsafe {
            // One or two words without a call.
            if taken.wrapping_sub(WORD) <= WORD {
                let last = self.0.add(taken - WORD).cast::<u64>().read_unaligned();
                to.cast::<u64>().write_unaligned(self.0.cast::<u64>().read_unaligned());
                to.add(taken - WORD).cast::<u64>().write_unaligned(last);
            } else {
                copy::row(self.0, to, taken);
            }
        }
    }

    #[inline(always)]
    fn whole(self) -> *const u8 {
        self.0
    }
}

/// A payload whose sender is still writing it: it does nothing else until all is there, so waiting for it is short.
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
                // The sender lost its processor in the middle of the message: perhaps it wants this one.
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
        let mut at = 0;
        let mut number = 0;
        while at < taken {
            self.follower.await_part(number);
            let bytes = PART_BYTES.min(taken - at);
            // SAFETY: the part is here; the caller vouches for the target.
            unsafe { copy::row(self.pointer.add(at), to.add(at), bytes) };
            at += bytes;
            number += 1;
        }
        // The memory is given back after this, so the sender must be through even where not all is wanted.
        self.follower.await_part(parts(self.length) - 1);
    }

    fn whole(self) -> *const u8 {
        self.follower.await_part(parts(self.length) - 1);
        self.pointer
    }
}

/// How many parts a payload has.
pub(crate) fn parts(length: usize) -> u32 {
    length.div_ceil(PART_BYTES) as u32
}
