//! Copying rows of bytes, as fast as any processor does.
//!
//! The C library copies what is longer than two kibibytes, and shorter than a cache, by `rep movsb`. Processors of AMD do so with 2 to 3
//! GB/s instead of 50 where the target lies 1 to 15 bytes behind the source modulo 4096, and with 25 to 30 up to 48 bytes behind it (EPYC,
//! glibc 2.36, 2026-11-22, by `benchmarks/copies.c`). That is common: large blocks of malloc begin 16 bytes behind a page, headers in front
//! of a message move the other end by a few bytes. In pieces that are shorter it makes no difference where they lie.

/// Longest piece that is not copied by `rep movsb`.
const PIECE: usize = 2048;
/// Shortest row that is not copied by `rep movsb` either: the level of cache that the library asks for is no larger as a rule.
const LONG: usize = 1 << 20;
/// How far behind the source, modulo [`PAGE`], a target may lie for a row to be copied in pieces.
const NEAR: usize = 48;
const PAGE: usize = 4096;

/// Copies `length` bytes.
///
/// # Safety
/// `from` must be readable and `to` writable for so many bytes, without overlap.
#[inline]
pub unsafe fn row(from: *const u8, to: *mut u8, length: usize) {
    let behind = to.addr().wrapping_sub(from.addr()) % PAGE;
    if length > PIECE && length < LONG && behind.wrapping_sub(1) < NEAR {
        // SAFETY: promised by the caller.
        return unsafe { in_pieces(from, to, length) };
    }
    // SAFETY: promised by the caller.
    unsafe { std::ptr::copy_nonoverlapping(from, to, length) };
}

/// # Safety
/// As [`row`].
#[inline(never)]
unsafe fn in_pieces(from: *const u8, to: *mut u8, length: usize) {
    for at in (0..length).step_by(PIECE) {
        // SAFETY: the piece lies in the row.
        unsafe { std::ptr::copy_nonoverlapping(from.add(at), to.add(at), PIECE.min(length - at)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_arrives_and_no_other_changes() {
        let source: Vec<u8> = (0..40_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for length in [0, 1, 2047, 2048, 2049, 4096, 5000, 20_000] {
            for behind in [0, 1, 8, 15, 47, 48, 49, 64, 4095] {
                let mut target = vec![0xa5u8; 40_000];
                let shift = (source.as_ptr().addr() + 100 + behind).wrapping_sub(target.as_ptr().addr()) % PAGE;
                // SAFETY: source and target are longer than offset and row.
                unsafe { row(source[100..].as_ptr(), target[shift..].as_mut_ptr(), length) };
                assert!(target[shift..shift + length] == source[100..100 + length], "{length} bytes, {behind} behind");
                assert!(target[..shift].iter().chain(&target[shift + length..]).all(|byte| *byte == 0xa5));
            }
        }
    }
}
