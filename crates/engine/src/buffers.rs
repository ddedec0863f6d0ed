//! Memory for the payloads of unexpected messages: one slab per size class.
//!
//! Size classes are at most a quarter apart, so a buffer wastes little memory, and all of it is
//! freed after a burst.

use towpath_base::copy;

use crate::slab::PageSlab;

/// Sizes up to this one are multiples of 16 bytes.
const EVEN_BYTES: usize = 256;
const EVEN_CLASSES: usize = EVEN_BYTES / 16;

/// A buffer that holds the bytes of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessageBuffer {
    /// First byte.
    pub(crate) pointer: *mut u8,
    slot: u32,
    class: u32,
}

// SAFETY: `pointer` is the address of a slab slot, which is not tied to a thread; dereferencing it
// is `unsafe` wherever it happens.
unsafe impl Send for MessageBuffer {}

/// One slab per size class.
#[derive(Debug, Default)]
pub(crate) struct MessageBuffers {
    classes: Vec<PageSlab>,
}

impl MessageBuffers {
    /// Allocates a buffer of `length` bytes, which must not be 0. Its content is unspecified.
    pub(crate) fn add(&mut self, length: usize) -> MessageBuffer {
        let class = class(length);
        while self.classes.len() <= class {
            self.classes.push(PageSlab::new(class_bytes(self.classes.len())));
        }
        let slot = self.classes[class].add();
        MessageBuffer { pointer: self.classes[class].pointer(slot), slot, class: class as u32 }
    }

    /// Allocates a buffer with a copy of the `length` bytes at `from`.
    ///
    /// # Safety
    /// `from` must be readable for `length` bytes.
    pub(crate) unsafe fn copy(&mut self, from: *const u8, length: usize) -> MessageBuffer {
        let buffer = self.add(length);
        // SAFETY: `from` is readable for `length` bytes (this function's contract). The fresh
        // buffer has room for `length` bytes and overlaps nothing.
        unsafe { copy::contiguous(from, buffer.pointer, length) };
        buffer
    }

    /// The buffer of `length` bytes in `slot`.
    pub(crate) fn at(&self, slot: u32, length: usize) -> MessageBuffer {
        let class = class(length);
        MessageBuffer { pointer: self.classes[class].pointer(slot), slot, class: class as u32 }
    }

    /// Frees a buffer.
    pub(crate) fn remove(&mut self, buffer: MessageBuffer) {
        self.classes[buffer.class as usize].remove(buffer.slot);
    }

    /// Bytes of memory that the blocks occupy when all their pages have been written.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.classes.iter().map(PageSlab::bytes).sum()
    }
}

impl MessageBuffer {
    /// The slot number by which [`MessageBuffers::at`] finds the buffer again.
    pub(crate) fn slot(&self) -> u32 {
        self.slot
    }
}

/// Size class of a length: four sizes per power of two.
fn class(length: usize) -> usize {
    let last = length.max(1) - 1;
    if last < EVEN_BYTES {
        return last / 16;
    }
    let bits = last.ilog2();
    EVEN_CLASSES + (bits - EVEN_BYTES.ilog2()) as usize * 4 + (last >> (bits - 2) & 3)
}

/// Size in bytes of a class.
fn class_bytes(class: usize) -> usize {
    if class < EVEN_CLASSES {
        return (class + 1) * 16;
    }
    let (power, quarter) = ((class - EVEN_CLASSES) / 4, (class - EVEN_CLASSES) % 4);
    ((5 + quarter) * (EVEN_BYTES / 4)) << power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_holds_its_lengths_and_wastes_at_most_a_quarter() {
        for length in 1..100_000 {
            let bytes = class_bytes(class(length));
            assert!(bytes >= length && bytes.is_multiple_of(8), "{length} bytes in {bytes}");
            assert!(
                bytes < length + 16 || bytes <= length + length / 4 + 1,
                "{length} bytes in {bytes}"
            );
            assert!(class(length) == 0 || class_bytes(class(length) - 1) < length);
        }
    }

    #[test]
    fn buffers_hold_their_bytes() {
        let mut pool = MessageBuffers::default();
        let lengths = [1, 41, 64, 65, 4096, 65536, 65537, 300_000, 3_000_000];
        let bytes =
            |length: usize| -> Vec<u8> { (0..length).map(|i| (i * length) as u8).collect() };
        // SAFETY: the vector lives until the copy is done and has `length` bytes.
        let buffers = lengths.map(|length| unsafe { pool.copy(bytes(length).as_ptr(), length) });
        for (buffer, length) in buffers.into_iter().zip(lengths) {
            assert_eq!(pool.at(buffer.slot(), length), buffer);
            // SAFETY: the buffer is in use and holds `length` initialized bytes.
            let kept = unsafe { std::slice::from_raw_parts(buffer.pointer, length) };
            assert_eq!(kept, bytes(length));
            pool.remove(buffer);
        }
    }

    #[test]
    fn a_flood_leaves_one_block() {
        let mut pool = MessageBuffers::default();
        let flood: Vec<MessageBuffer> = (0..10_000).map(|_| pool.add(1000)).collect();
        assert!(pool.bytes() < 11_000_000);
        flood.into_iter().for_each(|buffer| pool.remove(buffer));
        assert!(pool.bytes() <= 256 << 10);
    }
}
