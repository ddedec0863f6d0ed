//! 8-byte words on separate cache lines: gathered and scattered with AVX-512, or joined in pairs.
//!
//! Gathers and scatters are slow if the data are in memory or in the L1 cache, but win for the
//! caches in between (measured on Zen 5: 8192 words, 128 bytes apart, packed at 17.5 GB/s against
//! 13.6 and unpacked at 18.7 against 13.5; 16384 words, 1 KiB apart, unpacked at 3.6 GB/s against
//! 2.4). Otherwise two words are loaded into one register, which halves the stores (512 words, 192
//! bytes apart: 44 GB/s against 20 by gathers; 131072 words, 256 bytes apart: 5.1 GB/s against 3.8
//! word by word, both with prefetching).

use super::{Grid, LINE, prefetch};
use std::arch::x86_64::{
    __m256i, _mm_loadh_pd, _mm_loadl_pd, _mm_setzero_pd, _mm_storeu_pd, _mm256_i64gather_epi64, _mm256_set_epi64x,
    _mm256_storeu_si256, _mm512_i64scatter_epi64, _mm512_loadu_si512, _mm512_set_epi64,
};
use std::hint::black_box;
use std::ptr::copy_nonoverlapping;

/// Size of a word in bytes.
pub(super) const WORD: usize = 8;

/// Words whose cache lines occupy no more than this stay in the L1 cache.
const CACHED_BYTES: usize = 32 << 10;

/// Number of words between a word and the one that is prefetched with it.
const AHEAD: isize = 64;

/// True if [`pack_joined`] is the best routine for a packing grid of words on separate lines.
#[inline(always)]
pub(super) fn suits_joining(grid: &Grid) -> bool {
    // A stride of two lines leaves every second cache set unused, one of four lines three out of
    // four, and so on.
    let taken = LINE.max(1 << grid.from_block.trailing_zeros());
    grid.far || grid.blocks.saturating_mul(grid.rows).saturating_mul(taken) <= CACHED_BYTES
}

/// Packs a grid of words in pairs, prefetching if the grid is far.
///
/// # Safety
/// Same as for [`GridKernel`](super::GridKernel); the grid must be packing words.
pub(super) unsafe fn pack_joined(grid: &Grid) {
    // SAFETY: the grid is packing words, which are valid on both sides (this function's contract).
    unsafe { if grid.far { joined::<true>(grid) } else { joined::<false>(grid) } }
}

/// # Safety
/// See [`pack_joined`].
#[inline(always)]
unsafe fn joined<const FAR: bool>(grid: &Grid) {
    const WORDS: usize = 4;
    let step = grid.from_block;
    // The compiler must not recognize these as multiples: it would then compute each address from
    // the previous one.
    let (second, third) = (black_box(step.wrapping_mul(2)), black_box(step.wrapping_mul(3)));
    for row in 0..grid.rows as isize {
        let mut to = grid.to.wrapping_offset(row.wrapping_mul(grid.to_row));
        let mut from = grid.from.wrapping_offset(row.wrapping_mul(grid.from_row));
        for _ in 0..grid.blocks / WORDS {
            let at = [from, from.wrapping_offset(step), from.wrapping_offset(second), from.wrapping_offset(third)];
            if FAR {
                at.iter().for_each(|word| prefetch(word.wrapping_offset(step.wrapping_mul(AHEAD))));
            }
            // SAFETY: every word of the grid is valid on both sides (this function's contract); the
            // store instructions allow unaligned addresses.
            unsafe {
                let pair = |low: *const u8, high: *const u8| {
                    _mm_loadh_pd(_mm_loadl_pd(_mm_setzero_pd(), low.cast()), high.cast())
                };
                _mm_storeu_pd(to.cast(), pair(at[0], at[1]));
                _mm_storeu_pd(to.wrapping_add(2 * WORD).cast(), pair(at[2], at[3]));
            }
            to = to.wrapping_add(WORDS * WORD);
            from = from.wrapping_offset(step.wrapping_mul(WORDS as isize));
        }
        for _ in 0..grid.blocks % WORDS {
            // SAFETY: every word of the grid is valid on both sides (this function's contract).
            unsafe { copy_nonoverlapping(from, to, WORD) };
            to = to.wrapping_add(WORD);
            from = from.wrapping_offset(step);
        }
    }
}

/// Packs a grid of words by gathers.
///
/// # Safety
/// Same as for [`GridKernel`](super::GridKernel); the grid must be packing words, and the processor
/// must support AVX2.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn pack(grid: &Grid) {
    const LANES: usize = 4;
    let stride = grid.from_block as i64;
    let index = _mm256_set_epi64x(stride.wrapping_mul(3), stride.wrapping_mul(2), stride, 0);
    for row in 0..grid.rows as isize {
        let mut to = grid.to.wrapping_offset(row.wrapping_mul(grid.to_row));
        let mut from = grid.from.wrapping_offset(row.wrapping_mul(grid.from_row));
        // SAFETY: every word of the grid is valid on both sides (this function's contract).
        unsafe {
            for _ in 0..grid.blocks / LANES {
                let words = _mm256_i64gather_epi64::<1>(from.cast(), index);
                _mm256_storeu_si256(to.cast::<__m256i>(), words);
                to = to.wrapping_add(LANES * WORD);
                from = from.wrapping_offset(grid.from_block.wrapping_mul(LANES as isize));
            }
            for _ in 0..grid.blocks % LANES {
                copy_nonoverlapping(from, to, WORD);
                to = to.wrapping_add(WORD);
                from = from.wrapping_offset(grid.from_block);
            }
        }
    }
}

/// Unpacks a grid of words by scatters.
///
/// # Safety
/// Same as for [`GridKernel`](super::GridKernel); the grid must be unpacking words, and the
/// processor must support AVX-512.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn unpack(grid: &Grid) {
    const LANES: usize = 8;
    let lane = |number: i64| (grid.to_block as i64).wrapping_mul(number);
    let index = _mm512_set_epi64(lane(7), lane(6), lane(5), lane(4), lane(3), lane(2), lane(1), 0);
    for row in 0..grid.rows as isize {
        let mut to = grid.to.wrapping_offset(row.wrapping_mul(grid.to_row));
        let mut from = grid.from.wrapping_offset(row.wrapping_mul(grid.from_row));
        // SAFETY: every word of the grid is valid on both sides (this function's contract).
        // Overlapping lanes are stored in order.
        unsafe {
            for _ in 0..grid.blocks / LANES {
                _mm512_i64scatter_epi64::<1>(to.cast(), index, _mm512_loadu_si512(from.cast()));
                to = to.wrapping_offset(grid.to_block.wrapping_mul(LANES as isize));
                from = from.wrapping_add(LANES * WORD);
            }
            for _ in 0..grid.blocks % LANES {
                copy_nonoverlapping(from, to, WORD);
                to = to.wrapping_offset(grid.to_block);
                from = from.wrapping_add(WORD);
            }
        }
    }
}
