//! `memcpy` that avoids the cases in which the C library's is slow.
//!
//! glibc copies blocks longer than 2 KiB and shorter than a cache by `rep movsb`. On AMD processors
//! this runs at 2 to 3 GB/s instead of 50 if the target is 1 to 15 bytes above the source modulo
//! 4096, and at 25 to 30 GB/s up to 48 bytes above it (EPYC, glibc 2.36, 2026-11-22,
//! `benchmarks/copies.c`). Such distances are common: large blocks of malloc begin 16 bytes after a
//! page boundary, and a message header shifts the other buffer by a few bytes. A loop over vector
//! registers is equally fast at every distance; where `rep movsb` is not slow, the loop was still
//! 10 to 20 % faster between two cores of an EPYC 9004.

/// Longest block that always goes to the C library, and the length of a chunk if there are no
/// vector registers.
const PIECE: usize = 2048;
/// From this length on the C library does not use `rep movsb` either: its upper threshold is a
/// cache size, which is usually no larger.
const LONG: usize = 1 << 20;
/// `rep movsb` is slow if the target is at most this far above the source, modulo [`PAGE`].
const NEAR: usize = 48;
const PAGE: usize = 4096;

/// Copies `length` bytes.
///
/// # Safety
/// `from` must be readable and `to` writable for `length` bytes, and the two must not overlap.
#[inline]
pub unsafe fn contiguous(from: *const u8, to: *mut u8, length: usize) {
    if length > PIECE && length < LONG {
        // SAFETY: `from` is readable and `to` writable for `length` bytes, without overlap (this
        // function's contract).
        return unsafe { middle(from, to, length) };
    }
    // SAFETY: `from` is readable and `to` writable for `length` bytes, without overlap (this
    // function's contract).
    unsafe { std::ptr::copy_nonoverlapping(from, to, length) };
}

/// # Safety
/// See [`contiguous`].
#[inline(never)]
unsafe fn middle(from: *const u8, to: *mut u8, length: usize) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the blocks are readable, writable and disjoint (this function's contract); AVX2
        // is available.
        return unsafe { wide(from, to, length) };
    }
    let piece = if is_near(from, to) { PIECE } else { length };
    for at in (0..length).step_by(piece) {
        // SAFETY: the chunk at `at` ends within `length`, and the blocks are disjoint (this
        // function's contract).
        unsafe { std::ptr::copy_nonoverlapping(from.add(at), to.add(at), piece.min(length - at)) };
    }
}

/// Copies `length` bytes by `rep movsb` if that is fast for these addresses. Some processors then
/// take ownership of whole target lines without reading them, which pays off if another core owns
/// them.
///
/// # Safety
/// See [`contiguous`].
#[inline]
pub unsafe fn string(from: *const u8, to: *mut u8, length: usize) {
    #[cfg(target_arch = "x86_64")]
    if !is_near(from, to) && is_x86_feature_detected!("ermsb") {
        // SAFETY: `rep movsb` accesses only `length` bytes at `from` and at `to`, which are
        // readable and writable (this function's contract); the ABI keeps the direction flag clear.
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
    // SAFETY: `from` is readable and `to` writable for `length` bytes, without overlap (this
    // function's contract).
    unsafe { contiguous(from, to, length) };
}

/// True if `rep movsb` is slow: the target is slightly above the source modulo [`PAGE`].
#[inline]
fn is_near(from: *const u8, to: *mut u8) -> bool {
    (to.addr().wrapping_sub(from.addr()) % PAGE).wrapping_sub(1) < NEAR
}

/// Copies `length` bytes through 32-byte vector registers.
///
/// # Safety
/// See [`contiguous`]; the processor must have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn wide(from: *const u8, to: *mut u8, length: usize) {
    use std::arch::x86_64::{__m256i, _mm256_loadu_si256, _mm256_storeu_si256};
    const BLOCK: usize = 4 * size_of::<__m256i>();
    let whole = length / BLOCK * BLOCK;
    let mut at = 0;
    while at < whole {
        // No array: the compiler spills it to the stack, which doubles the time.
        // SAFETY: `at + BLOCK` is at most `length`, for which `from` is readable and `to` writable
        // (this function's contract); `loadu` and `storeu` allow unaligned addresses.
        unsafe {
            let (source, target) = (from.add(at).cast::<__m256i>(), to.add(at).cast::<__m256i>());
            let (first, second) = (_mm256_loadu_si256(source), _mm256_loadu_si256(source.add(1)));
            let (third, fourth) =
                (_mm256_loadu_si256(source.add(2)), _mm256_loadu_si256(source.add(3)));
            _mm256_storeu_si256(target, first);
            _mm256_storeu_si256(target.add(1), second);
            _mm256_storeu_si256(target.add(2), third);
            _mm256_storeu_si256(target.add(3), fourth);
        }
        at += BLOCK;
    }
    // SAFETY: `length - whole` bytes remain after offset `whole` of both blocks, of which `from` is
    // readable, `to` is writable and the two are disjoint (this function's contract).
    unsafe { std::ptr::copy_nonoverlapping(from.add(whole), to.add(whole), length - whole) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_arrives_and_no_other_changes() {
        let source: Vec<u8> =
            (0..40_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for length in [0, 1, 2047, 2048, 2049, 2175, 2176, 4096, 5000, 8191, 8192, 20_000] {
            for behind in [0, 1, 8, 15, 47, 48, 49, 64, 4095] {
                let mut target = vec![0xa5u8; 40_000];
                let shift = (source.as_ptr().addr() + 100 + behind)
                    .wrapping_sub(target.as_ptr().addr())
                    % PAGE;
                for copy in [contiguous, string] {
                    target.fill(0xa5);
                    // SAFETY: `source` holds `100 + length` bytes and `target` `shift + length`.
                    unsafe { copy(source[100..].as_ptr(), target[shift..].as_mut_ptr(), length) };
                    assert!(
                        target[shift..shift + length] == source[100..100 + length],
                        "{length} bytes, {behind} behind"
                    );
                    assert!(
                        target[..shift]
                            .iter()
                            .chain(&target[shift + length..])
                            .all(|byte| *byte == 0xa5)
                    );
                }
            }
        }
    }
}
