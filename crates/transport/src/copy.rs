//! Routines that move payload between user memory and a wire.

pub use towpath_base::copy::{contiguous, string};

use crate::SHORT_BYTES;

/// Copies a payload of at most [`SHORT_BYTES`] bytes.
///
/// # Safety
/// `from` must be readable and `to` writable for `length` bytes, without overlap.
#[inline(always)]
pub unsafe fn short(from: *const u8, to: *mut u8, length: usize) {
    debug_assert!(length <= SHORT_BYTES);
    // SAFETY: every access is inside the first `length` bytes: for a length between one and two
    // times a width, two accesses of that width that may overlap cover all bytes.
    unsafe {
        match length {
            0 => {}
            1..4 => {
                *to = *from;
                *to.add(length / 2) = *from.add(length / 2);
                *to.add(length - 1) = *from.add(length - 1);
            }
            4..8 => ends::<u32>(from, to, length),
            8..16 => ends::<u64>(from, to, length),
            16..32 => ends::<[u64; 2]>(from, to, length),
            _ => {
                to.cast::<[u64; 4]>().write_unaligned(from.cast::<[u64; 4]>().read_unaligned());
                to.add(length - 8)
                    .cast::<u64>()
                    .write_unaligned(from.add(length - 8).cast::<u64>().read_unaligned());
            }
        }
    }
}

/// Copies the first and the last `T` of a buffer.
///
/// # Safety
/// `from` must be readable and `to` writable for `length` bytes, without overlap, and `length` must
/// be one to two times the size of `T`.
#[inline(always)]
unsafe fn ends<T: Copy>(from: *const u8, to: *mut u8, length: usize) {
    let last = length - size_of::<T>();
    // SAFETY: `length` is at least the size of `T`, so that both accesses are inside `length`
    // bytes.
    unsafe {
        let (head, tail) =
            (from.cast::<T>().read_unaligned(), from.add(last).cast::<T>().read_unaligned());
        to.cast::<T>().write_unaligned(head);
        to.add(last).cast::<T>().write_unaligned(tail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_short_length_is_copied_exactly() {
        let from: Vec<u8> = (1..=SHORT_BYTES as u8).collect();
        for length in 0..=SHORT_BYTES {
            let mut to = [0u8; SHORT_BYTES + 1];
            // SAFETY: `from` has `SHORT_BYTES` bytes and `to` one more; `length` is at most
            // `SHORT_BYTES`.
            unsafe { short(from.as_ptr(), to.as_mut_ptr(), length) };
            assert_eq!(to[..length], from[..length]);
            assert!(to[length..].iter().all(|byte| *byte == 0), "length {length} wrote too far");
        }
    }
}
