//! The routines that move payload between memory and a wire.

use towpath_base::transfer::{Source, Step, Target};

use crate::SHORT_BYTES;

/// Copies a payload of at most [`SHORT_BYTES`] bytes.
///
/// # Safety
/// `from` must be readable and `to` writable for `length` bytes, without overlap.
#[inline(always)]
pub(crate) unsafe fn short(from: *const u8, to: *mut u8, length: usize) {
    debug_assert!(length <= SHORT_BYTES);
    // SAFETY: every branch stays inside `length` bytes: two accesses of a width up to the length, overlapping in the
    // middle, cover a row of one to two widths.
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
                to.add(length - 8).cast::<u64>().write_unaligned(from.add(length - 8).cast::<u64>().read_unaligned());
            }
        }
    }
}

/// Copies the first and the last `T` of a row.
///
/// # Safety
/// As [`short`], and `length` must be one to two times the size of `T`.
#[inline(always)]
unsafe fn ends<T: Copy>(from: *const u8, to: *mut u8, length: usize) {
    let last = length - size_of::<T>();
    // SAFETY: both accesses lie inside the row.
    unsafe {
        let (head, tail) = (from.cast::<T>().read_unaligned(), from.add(last).cast::<T>().read_unaligned());
        to.cast::<T>().write_unaligned(head);
        to.add(last).cast::<T>().write_unaligned(tail);
    }
}

/// Moves the next bytes of `source` to `target` through `bounce`, or directly where both are rows. Says how many bytes
/// moved; `None` when one of them waits for a device.
///
/// # Safety
/// The memory behind both must live; `held` counts bytes of `bounce` that wait for the target and is 0 at first.
pub(crate) unsafe fn across(
    source: &mut Source,
    target: &mut Target,
    bounce: &mut [u8],
    held: &mut usize,
) -> Option<usize> {
    if let (Source::Bytes { pointer: from, length: have }, Target::Bytes { pointer: to, length: room }) =
        (&mut *source, &mut *target)
    {
        let step = (*have).min(*room);
        // SAFETY: both rows have `step` bytes; a message to oneself may name overlapping rows by mistake.
        unsafe {
            std::ptr::copy(*from, *to, step);
            *from = from.add(step);
            *to = to.add(step);
        }
        *have -= step;
        *room -= step;
        return Some(step);
    }
    if *held == 0 {
        let capacity = bounce.len().min(target.length());
        // SAFETY: the bounce buffer has that capacity; the caller vouches for the source.
        match unsafe { source.fill(bounce.as_mut_ptr(), capacity) } {
            Step::Done(bytes) => *held = bytes,
            Step::Pending => return None,
        }
    }
    // SAFETY: `held` bytes lie in the bounce buffer; the caller vouches for the target.
    match unsafe { target.drain(bounce.as_ptr(), *held) } {
        Step::Done(_) => Some(std::mem::take(held)),
        Step::Pending => None,
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
            // SAFETY: both rows are long enough.
            unsafe { short(from.as_ptr(), to.as_mut_ptr(), length) };
            assert_eq!(to[..length], from[..length]);
            assert!(to[length..].iter().all(|byte| *byte == 0), "length {length} wrote too far");
        }
    }
}
