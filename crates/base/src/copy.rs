//! Copying rows of bytes, as fast as any processor does.
//!
//! The C library copies what is longer than two kibibytes, and shorter than a cache, by
//! `rep movsb`. Processors of AMD do so with 2 to 3 GB/s instead of 50 where the target lies 1 to
//! 15 bytes behind the source modulo 4096, and with 25 to 30 up to 48 bytes behind it (EPYC, glibc
//! 2.36, 2026-11-22, by `benchmarks/copies.c`). That is common: large blocks of malloc begin 16
//! bytes behind a page, headers in front of a message move the other end by a few bytes. A loop
//! over wide registers is as fast at every distance; where the distance is good it was 10 to 20 %
//! faster between two cores of an EPYC 9004.

/// Longest row that is copied by the C library whatever the processor, and longest piece where
/// there are no wide registers.
const PIECE: usize = 2048;
/// Shortest row that is not copied by `rep movsb` either: the level of cache that the library asks
/// for is no larger as a rule.
const LONG: usize = 1 << 20;
/// Shortest row that is worth the start of the string instruction.
const FETCHED: usize = 8 << 10;
/// How far behind the source, modulo [`PAGE`], a target may lie for a row to be copied in pieces.
const NEAR: usize = 48;
const PAGE: usize = 4096;

/// Copies `length` bytes.
///
/// # Safety
/// `from` must be readable and `to` writable for so many bytes, without overlap.
#[inline]
pub unsafe fn row(from: *const u8, to: *mut u8, length: usize) {
    if length > PIECE && length < LONG {
        // SAFETY: promised by the caller.
        return unsafe { middle(from, to, length) };
    }
    // SAFETY: promised by the caller.
    unsafe { std::ptr::copy_nonoverlapping(from, to, length) };
}

/// # Safety
/// As [`row`].
#[inline(never)]
unsafe fn middle(from: *const u8, to: *mut u8, length: usize) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: promised by the caller; the processor has the registers.
        return unsafe { wide(from, to, length) };
    }
    let piece = if is_near(from, to) { PIECE } else { length };
    for at in (0..length).step_by(piece) {
        // SAFETY: the piece lies in the row.
        unsafe { std::ptr::copy_nonoverlapping(from.add(at), to.add(at), piece.min(length - at)) };
    }
}

/// Copies `length` bytes by the processor's string instruction, `rep movsb`, where it is quick for
/// them. Some processors take ownership of whole target lines without reading them, which pays off
/// where another core owns them.
///
/// # Safety
/// As [`row`].
#[inline]
pub unsafe fn string(from: *const u8, to: *mut u8, length: usize) {
    #[cfg(target_arch = "x86_64")]
    if !is_near(from, to) && is_x86_feature_detected!("ermsb") {
        // SAFETY: the instruction reads and writes just the two rows, which the caller lends; the
        // ABI keeps the direction flag clear.
        unsafe {
            std::arch::asm!(
                "rep movsb",
                inout("rcx") length => _,
                inout("rsi") from => _,
                inout("rdi") to => _,
                options(nostack, preserves_flags)
            );
        }
        return;
    }
    // SAFETY: promised by the caller.
    unsafe { row(from, to, length) };
}

/// Copies `length` bytes that another core has written: long rows by the string instruction, which
/// reads far ahead (EPYC 9005, 64 KiB in parts of 16 KiB, 2026-11-24: 2.8 us between two complexes,
/// by registers 2.9; 1.13 and 1.21 between two threads of a core).
///
/// # Safety
/// As [`row`].
#[inline]
pub unsafe fn fetch(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: promised by the caller.
    unsafe {
        match length {
            0..=PIECE => std::ptr::copy_nonoverlapping(from, to, length),
            _ => fetch_long(from, to, length),
        }
    }
}

/// # Safety
/// As [`row`].
#[inline(never)]
unsafe fn fetch_long(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: promised by the caller.
    unsafe { if length < FETCHED { row(from, to, length) } else { string(from, to, length) } };
}

/// True where `rep movsb` is slow: the target lies a little behind the source modulo [`PAGE`].
#[inline]
fn is_near(from: *const u8, to: *mut u8) -> bool {
    (to.addr().wrapping_sub(from.addr()) % PAGE).wrapping_sub(1) < NEAR
}

/// Copies by the widest registers that most processors have.
///
/// # Safety
/// As [`row`], on a processor with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn wide(from: *const u8, to: *mut u8, length: usize) {
    use std::arch::x86_64::{__m256i, _mm256_loadu_si256, _mm256_storeu_si256};
    const BLOCK: usize = 4 * size_of::<__m256i>();
    let whole = length / BLOCK * BLOCK;
    let mut at = 0;
    while at < whole {
        // Four variables, because the compiler keeps an array of them on the stack, which takes
        // twice the time.
        // SAFETY: `at + BLOCK` is at most `length`; the accesses may be unaligned.
        unsafe {
            let (source, target) = (from.add(at).cast::<__m256i>(), to.add(at).cast::<__m256i>());
            let (first, second) = (_mm256_loadu_si256(source), _mm256_loadu_si256(source.add(1)));
            let (third, fourth) = (_mm256_loadu_si256(source.add(2)), _mm256_loadu_si256(source.add(3)));
            _mm256_storeu_si256(target, first);
            _mm256_storeu_si256(target.add(1), second);
            _mm256_storeu_si256(target.add(2), third);
            _mm256_storeu_si256(target.add(3), fourth);
        }
        at += BLOCK;
    }
    // SAFETY: the rest of the row.
    unsafe { std::ptr::copy_nonoverlapping(from.add(whole), to.add(whole), length - whole) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_arrives_and_no_other_changes() {
        let source: Vec<u8> = (0..40_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for length in [0, 1, 2047, 2048, 2049, 2175, 2176, 4096, 5000, 8191, 8192, 20_000] {
            for behind in [0, 1, 8, 15, 47, 48, 49, 64, 4095] {
                let mut target = vec![0xa5u8; 40_000];
                let shift = (source.as_ptr().addr() + 100 + behind).wrapping_sub(target.as_ptr().addr()) % PAGE;
                for copy in [row, string, fetch] {
                    target.fill(0xa5);
                    // SAFETY: source and target are longer than offset and row.
                    unsafe { copy(source[100..].as_ptr(), target[shift..].as_mut_ptr(), length) };
                    assert!(
                        target[shift..shift + length] == source[100..100 + length],
                        "{length} bytes, {behind} behind"
                    );
                    assert!(target[..shift].iter().chain(&target[shift + length..]).all(|byte| *byte == 0xa5));
                }
            }
        }
    }
}
