//! The payload of an arriving message, as a wire lends it to a [`Sink`](crate::Sink).

use crate::copy;

/// The payload of a message, as a wire lends it.
pub trait Payload {
    /// Length of the whole payload in bytes.
    fn length(&self) -> usize;

    /// Copies the first `taken` bytes.
    ///
    /// # Safety
    /// `taken` must be at most [`Payload::length`], and `to` writable for `taken` bytes outside the
    /// wire's memory.
    unsafe fn copy_to(self, to: *mut u8, taken: usize);

    /// The payload as one contiguous buffer; waits until all of it has arrived.
    fn whole(self) -> *const u8;
}

/// A payload that has arrived completely: a pointer and the number of bytes that are readable
/// there.
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
        // SAFETY: `self.0` is readable for `self.1` bytes, which is at least `taken`, and `to` is
        // writable for `taken` (this function's contract). Both words are inside `taken` bytes,
        // because it is 8 to 16 in that branch.
        unsafe {
            // Copies one or two words inline.
            if taken.wrapping_sub(WORD) <= WORD {
                let last = self.0.add(taken - WORD).cast::<u64>().read_unaligned();
                to.cast::<u64>().write_unaligned(self.0.cast::<u64>().read_unaligned());
                to.add(taken - WORD).cast::<u64>().write_unaligned(last);
            } else {
                copy::contiguous(self.0, to, taken);
            }
        }
    }

    #[inline(always)]
    fn whole(self) -> *const u8 {
        self.0
    }
}
