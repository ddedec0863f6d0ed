//! Words on lines of their own, stored to memory past the caches, for messages that the caches
//! could not hold. Such a store need not fetch the line first (measured on Zen 5, 16 MiB: doubles
//! 128 bytes apart packed at 3.5 GB/s against 2.8, unpacked at 3.4 against 2.8). Below a few MiB
//! they lose by far, and so do longer blocks at any size; parts of a message on their way through a
//! window are never long.

use super::Grid;
use super::words::WORD;
use std::arch::x86_64::{__m512i, _mm_stream_si64, _mm512_set_epi64, _mm512_stream_si512};

/// Grids of fewer bytes are left to the caches.
const AT_LEAST: usize = 4 << 20;

/// Bytes that are stored at once.
const LINE: usize = 64;

/// How many bytes are missing to the next line.
#[inline(always)]
fn to_line(at: *mut u8) -> usize {
    (at as usize).wrapping_neg() % LINE
}

/// Whether the grid is so long that its bytes should go past the caches.
#[inline(always)]
fn is_long(grid: &Grid) -> bool {
    grid.blocks.saturating_mul(grid.rows).saturating_mul(grid.length) >= AT_LEAST
}

/// Whether [`pack_words`] is what suits the grid.
#[inline(always)]
pub(super) fn suits_words_packed(grid: &Grid) -> bool {
    is_long(grid) && grid.from_block.unsigned_abs() > LINE && (grid.to as usize).is_multiple_of(WORD)
}

/// Whether [`unpack_words`] is what suits the grid.
#[inline(always)]
pub(super) fn suits_words_unpacked(grid: &Grid) -> bool {
    let aligned = (grid.to as usize | grid.to_block as usize | grid.to_row as usize).is_multiple_of(WORD);
    is_long(grid) && grid.to_block.unsigned_abs() > LINE && aligned
}

/// Packs a grid of words to an address that is a multiple of a word's length.
///
/// # Safety
/// As a grid kernel; the grid must be packing words, and the processor have AVX-512.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn pack_words(grid: &Grid) {
    const LANES: usize = LINE / WORD;
    let step = grid.from_block;
    for row in 0..grid.rows as isize {
        let mut to = grid.to.wrapping_offset(row.wrapping_mul(grid.to_row));
        let mut from = grid.from.wrapping_offset(row.wrapping_mul(grid.from_row));
        let first = grid.blocks.min(to_line(to) / WORD);
        let one = |from: *const u8, index: isize| {
            let at = from.wrapping_offset(step.wrapping_mul(index)).cast::<i64>();
            // SAFETY: the caller vouches for every word.
            unsafe { at.read_unaligned() }
        };
        let single = |count: usize, from: &mut *const u8, to: &mut *mut u8| {
            for _ in 0..count {
                // SAFETY: as above.
                unsafe { to.cast::<i64>().write_unaligned(one(*from, 0)) };
                (*from, *to) = (from.wrapping_offset(step), to.wrapping_add(WORD));
            }
        };
        single(first, &mut from, &mut to);
        for _ in 0..(grid.blocks - first) / LANES {
            let word = |index| one(from, index);
            let line = _mm512_set_epi64(word(7), word(6), word(5), word(4), word(3), word(2), word(1), word(0));
            // SAFETY: as above; eight words from here on are a line.
            unsafe { _mm512_stream_si512(to.cast::<__m512i>(), line) };
            (from, to) = (from.wrapping_offset(step.wrapping_mul(LANES as isize)), to.wrapping_add(LINE));
        }
        single((grid.blocks - first) % LANES, &mut from, &mut to);
    }
    order_streamed_stores();
}

/// Orders streamed stores before those that follow. A function of its own, because older compilers
/// call the instruction unsafe and newer ones the block unnecessary.
#[target_feature(enable = "sse2")]
#[inline]
fn order_streamed_stores() {
    #[allow(unused_unsafe)]
    // SAFETY: the instruction touches no memory of its own.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// Unpacks a grid of words to addresses that are multiples of a word's length.
///
/// # Safety
/// As a grid kernel; the grid must be unpacking words.
#[target_feature(enable = "sse2")]
pub(super) unsafe fn unpack_words(grid: &Grid) {
    for row in 0..grid.rows as isize {
        let mut to = grid.to.wrapping_offset(row.wrapping_mul(grid.to_row));
        let mut from = grid.from.wrapping_offset(row.wrapping_mul(grid.from_row));
        for _ in 0..grid.blocks {
            // SAFETY: the caller vouches for every word.
            unsafe { _mm_stream_si64(to.cast::<i64>(), from.cast::<i64>().read_unaligned()) };
            (from, to) = (from.wrapping_add(WORD), super::opaque(to.wrapping_offset(grid.to_block)));
        }
    }
    order_streamed_stores();
}
