//! One block of any length.

use std::ptr::copy_nonoverlapping;

/// Packs (`user` to `packed`) or unpacks (`packed` to `user`) one block.
///
/// # Safety
/// The source must be readable and the destination writable for `length` bytes, and the two must
/// not overlap.
#[inline(always)]
pub(crate) unsafe fn exchange<const PACK: bool>(user: *mut u8, packed: *mut u8, length: usize) {
    // SAFETY: `user` and `packed` are valid for `length` bytes and do not overlap (this function's
    // contract).
    unsafe { if PACK { copy(user, packed, length) } else { copy(packed, user, length) } }
}

/// Longer blocks are left to `towpath_base::copy`; for shorter ones the call would cost more than
/// the copy.
pub(super) const LONG: usize = 2048;

/// Copies one block of any length. Short blocks are copied by two overlapping moves, which is
/// cheaper than a call of `memcpy`.
///
/// # Safety
/// The source must be readable and the destination writable for `length` bytes, and the two must
/// not overlap.
#[inline(always)]
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: every branch accesses only the first `length` bytes of `from` and `to`, which are
    // valid (this function's contract).
    unsafe {
        match length {
            0 => {}
            1 => *to = *from,
            2..4 => ends::<2>(from, to, length),
            4..8 => ends::<4>(from, to, length),
            8..=16 => ends::<8>(from, to, length),
            17..=32 => ends::<16>(from, to, length),
            33..=64 => ends::<32>(from, to, length),
            65..=LONG => {
                let last = length - 64;
                let mut done = 0;
                while done < last {
                    copy_nonoverlapping(from.add(done), to.add(done), 64);
                    done += 64;
                }
                copy_nonoverlapping(from.add(last), to.add(last), 64);
            }
            _ => towpath_base::copy::contiguous(from, to, length),
        }
    }
}

/// Copies the first and the last `HALF` bytes, which may overlap each other.
///
/// # Safety
/// `length` must be between `HALF` and `2 * HALF`; the source must be readable and the destination
/// writable for `length` bytes, and the two must not overlap.
#[inline(always)]
unsafe fn ends<const HALF: usize>(from: *const u8, to: *mut u8, length: usize) {
    let last = length - HALF;
    // SAFETY: both pieces are inside the `length` bytes, which are valid (this function's
    // contract).
    unsafe {
        copy_nonoverlapping(from, to, HALF);
        copy_nonoverlapping(from.add(last), to.add(last), HALF);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_every_length_and_nothing_else() {
        let from: Vec<u8> = (0..5000).map(|byte| byte as u8 | 1).collect();
        for length in (0..600).chain(LONG - 70..LONG + 70) {
            let mut to = vec![0u8; length + 2];
            // SAFETY: `from` holds at least `length + 3` bytes, and `to` holds `length + 2`.
            unsafe { copy(from.as_ptr().add(3), to.as_mut_ptr().add(1), length) };
            assert_eq!((to[0], to[length + 1]), (0, 0));
            assert_eq!(&to[1..=length], &from[3..3 + length]);
        }
    }
}
