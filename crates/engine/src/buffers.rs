//! Heap buffers for the payloads of unexpected messages, kept by size and used again.
//!
//! Classes are powers of two from 64 B to 64 KiB; larger buffers go back to the allocator. At most [`KEPT_BYTES`] stay, so
//! a flood does not leave its high-water mark behind.

/// Smallest class as a power of two.
const SMALLEST: u32 = 6;
/// Number of classes.
const CLASSES: usize = 11;
/// Bytes that may wait for reuse.
const KEPT_BYTES: usize = 1 << 20;

/// The pool.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    classes: [Vec<Vec<u8>>; CLASSES],
    kept: usize,
}

impl Buffers {
    /// A copy of `length` bytes behind `from`.
    ///
    /// # Safety
    /// `from` must be readable for `length` bytes.
    pub(crate) unsafe fn copy(&mut self, from: *const u8, length: usize) -> Vec<u8> {
        let class = class(length);
        let mut buffer = match self.classes.get_mut(class).and_then(Vec::pop) {
            Some(buffer) => {
                self.kept -= buffer.capacity();
                buffer
            }
            None if class < CLASSES => Vec::with_capacity(1 << (class as u32 + SMALLEST)),
            None => Vec::with_capacity(length),
        };
        // SAFETY: the caller vouches for `from`; the buffer is empty and has room for its class, which holds `length`.
        unsafe {
            towpath_base::copy::row(from, buffer.as_mut_ptr(), length);
            buffer.set_len(length);
        }
        buffer
    }

    /// Gives a buffer back.
    pub(crate) fn give_back(&mut self, mut buffer: Vec<u8>) {
        let capacity = buffer.capacity();
        if !capacity.is_power_of_two() || self.kept + capacity > KEPT_BYTES {
            return;
        }
        if let Some(list) = self.classes.get_mut(class(capacity)) {
            buffer.clear();
            self.kept += capacity;
            list.push(buffer);
        }
    }
}

/// Class of a length; [`CLASSES`] or more is too large to keep.
fn class(length: usize) -> usize {
    length.next_power_of_two().trailing_zeros().saturating_sub(SMALLEST) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_hold_their_bytes_and_come_again() {
        let mut pool = Buffers::default();
        for length in [1, 41, 64, 65, 4096, 65536, 65537, 300_000] {
            let bytes: Vec<u8> = (0..length).map(|i| i as u8).collect();
            // SAFETY: the vector is alive.
            let copy = unsafe { pool.copy(bytes.as_ptr(), length) };
            assert_eq!(copy, bytes);
            pool.give_back(copy);
        }
        assert!(pool.kept > 0 && pool.kept <= KEPT_BYTES);
        let before = pool.kept;
        // SAFETY: one byte of a local.
        let again = unsafe { pool.copy(&7, 1) };
        assert_eq!((again, pool.kept), (vec![7], before - 64));
    }

    #[test]
    fn a_flood_leaves_little() {
        let mut pool = Buffers::default();
        let bytes = vec![0; 65536];
        // SAFETY: the vector is alive.
        let flood: Vec<Vec<u8>> = (0..100).map(|_| unsafe { pool.copy(bytes.as_ptr(), bytes.len()) }).collect();
        flood.into_iter().for_each(|buffer| pool.give_back(buffer));
        assert!(pool.kept <= KEPT_BYTES);
    }
}
