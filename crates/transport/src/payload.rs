//! The payload of an arrival, as a wire lends it.

use crate::copy;

/// The payload of a message, as a wire lends it.
pub trait Payload {
    /// Bytes of the whole.
    fn length(&self) -> usize;

    /// Copies the first `taken` bytes.
    ///
    /// # Safety
    /// `taken` must be at most [`Payload::length`] and `to` writable for so many bytes, outside the
    /// wire's memory.
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
                copy::fetch(self.0, to, taken);
            }
        }
    }

    #[inline(always)]
    fn whole(self) -> *const u8 {
        self.0
    }
}
