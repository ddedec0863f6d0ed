//! Copies that bypass the caches by non-temporal stores, which write whole lines without a read for
//! ownership.

/// Copies `length` bytes with non-temporal stores. They are visible to other processors before any
/// store that follows this call.
///
/// # Safety
/// `from` must be readable and `to` writable for `length` bytes, without overlap.
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, length: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    const LINE: usize = 64;
    let head = to.align_offset(LINE).min(length);
    let whole = (length - head) / LINE * LINE;
    // SAFETY: head, whole lines and rest are exactly the `length` bytes, which are readable at
    // `from` and writable at `to` (this function's contract). The whole lines of the target are
    // 64-aligned. The fence orders the non-temporal stores before those that publish the message.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, head);
        let (from, to) = (from.add(head), to.add(head));
        for at in (0..whole).step_by(LINE) {
            let (source, target) = (from.add(at).cast::<__m128i>(), to.add(at).cast::<__m128i>());
            let (first, second) = (_mm_loadu_si128(source), _mm_loadu_si128(source.add(1)));
            let (third, fourth) = (_mm_loadu_si128(source.add(2)), _mm_loadu_si128(source.add(3)));
            _mm_stream_si128(target, first);
            _mm_stream_si128(target.add(1), second);
            _mm_stream_si128(target.add(2), third);
            _mm_stream_si128(target.add(3), fourth);
        }
        _mm_sfence();
        std::ptr::copy_nonoverlapping(from.add(whole), to.add(whole), length - head - whole);
    }
}

/// Like the x86-64 version, by ordinary stores.
///
/// # Safety
/// `from` must be readable and `to` writable for `length` bytes, without overlap.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: `from` is readable and `to` writable for `length` bytes, without overlap (this
    // function's contract).
    unsafe { std::ptr::copy_nonoverlapping(from, to, length) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streamed_rows_are_whole() {
        let from: Vec<u8> = (0..70_000).map(|index| (index * 7 + index / 256) as u8).collect();
        for length in [0, 1, 63, 64, 65, 4095, 65_536, 69_999] {
            for offset in [0, 1, 31] {
                let count = length.min(from.len() - offset);
                let mut to = vec![0u8; count + 2];
                // SAFETY: `from` has `count` bytes from `offset` on, and `to` has `count` bytes
                // from 1 on.
                unsafe { copy(from.as_ptr().add(offset), to.as_mut_ptr().add(1), count) };
                assert!(
                    to[1..=count] == from[offset..offset + count]
                        && to[0] == 0
                        && to[count + 1] == 0
                );
            }
        }
    }
}
