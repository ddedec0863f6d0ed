//! Words on separate cache lines, moved by non-temporal stores, for messages larger than the
//! caches. Such a store need not fetch the line first (measured on Zen 5, 16 MiB: doubles 128 bytes
//! apart packed at 3.5 GB/s against 2.8, unpacked at 3.4 against 2.8). Below a few MiB it is far
//! slower, as it is for longer blocks at any size. A chunk of a message that is copied through a
//! bounce buffer is never that long.

use super::Grid;
use super::words::WORD;
use std::arch::x86_64::{__m512i, _mm_stream_si64, _mm512_set_epi64, _mm512_stream_si512};

/// Grids of fewer bytes use ordinary stores.
const AT_LEAST: usize = 4 << 20;

/// Bytes per store.
const LINE: usize = 64;

/// Number of bytes up to the next cache line boundary.
#[inline(always)]
fn to_line(at: *mut u8) -> usize {
    (at as usize).wrapping_neg() % LINE
}

/// True if the grid is long enough for non-temporal stores.
#[inline(always)]
fn is_long(grid: &Grid) -> bool {
    grid.blocks.saturating_mul(grid.rows).saturating_mul(grid.length) >= AT_LEAST
}

/// True if [`pack_words`] is the best routine for the grid.
#[inline(always)]
pub(super) fn suits_words_packed(grid: &Grid) -> bool {
    is_long(grid) && grid.from_block.unsigned_abs() > LINE && (grid.to as usize).is_multiple_of(WORD)
}

/// True if [`unpack_words`] is the best routine for the grid.
#[inline(always)]
pub(super) fn suits_words_unpacked(grid: &Grid) -> bool {
    let aligned = (grid.to as usize | grid.to_block as usize | grid.to_row as usize).is_multiple_of(WORD);
    is_long(grid) && grid.to_block.unsigned_abs() > LINE && aligned
}

/// Packs a grid of words to a word-aligned address.
///
/// # Safety
/// Same as for [`GridKernel`](super::GridKernel); the grid must be packing words to a word-aligned
/// address, and the processor must support AVX-512.
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
            // SAFETY: word `index` from `from` is one of the grid, whose words are readable (this
            // function's contract).
            unsafe { at.read_unaligned() }
        };
        let single = |count: usize, from: &mut *const u8, to: &mut *mut u8| {
            for _ in 0..count {
                // SAFETY: every word of the grid is writable (this function's contract).
                unsafe { to.cast::<i64>().write_unaligned(one(*from, 0)) };
                (*from, *to) = (from.wrapping_offset(step), to.wrapping_add(WORD));
            }
        };
        single(first, &mut from, &mut to);
        for _ in 0..(grid.blocks - first) / LANES {
            let word = |index| one(from, index);
            let line = _mm512_set_epi64(word(7), word(6), word(5), word(4), word(3), word(2), word(1), word(0));
            // SAFETY: `to` is line-aligned, and the next eight packed words are writable (this
            // function's contract).
            unsafe { _mm512_stream_si512(to.cast::<__m512i>(), line) };
            (from, to) = (from.wrapping_offset(step.wrapping_mul(LANES as isize)), to.wrapping_add(LINE));
        }
        single((grid.blocks - first) % LANES, &mut from, &mut to);
    }
    order_streamed_stores();
}

/// Orders non-temporal stores before later stores. A separate function, because older compilers
/// declare the intrinsic unsafe and newer ones warn about an unnecessary block.
#[target_feature(enable = "sse2")]
#[inline]
fn order_streamed_stores() {
    #[allow(unused_unsafe)]
    // SAFETY: `sfence` accesses no memory.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// Unpacks a grid of words to word-aligned addresses.
///
/// # Safety
/// Same as for [`GridKernel`](super::GridKernel); the grid must be unpacking words to word-aligned
/// addresses.
#[target_feature(enable = "sse2")]
pub(super) unsafe fn unpack_words(grid: &Grid) {
    for row in 0..grid.rows as isize {
        let mut to = grid.to.wrapping_offset(row.wrapping_mul(grid.to_row));
        let mut from = grid.from.wrapping_offset(row.wrapping_mul(grid.from_row));
        for _ in 0..grid.blocks {
            // SAFETY: every word of the grid is valid on both sides (this function's contract).
            unsafe { _mm_stream_si64(to.cast::<i64>(), from.cast::<i64>().read_unaligned()) };
            (from, to) = (from.wrapping_add(WORD), super::opaque(to.wrapping_offset(grid.to_block)));
        }
    }
    order_streamed_stores();
}
