//! Grids of equal blocks: one loop for every common block length, for each level of instructions.
//!
//! The shape of a loop matters more than its moves (measured on Zen 5):
//!
//! * Blocks near each other go in rounds of four, so that addresses do not limit the loop. Blocks
//!   on lines of their own go one by one, because the processor's prefetcher learns a stride from
//!   *one* instruction.
//! * Where more memory is touched than the caches hold, the program prefetches (131072 doubles, 128
//!   bytes apart: 8.5 GB/s against 4.0).
//! * Dense stores want 512 bits, scattered ones 256 (64 KiB in blocks of 64 bytes: 127 GB/s against
//!   86), those on lines far apart 128 (60 GB/s against 18).

use super::block::copy;
use super::{Grid, GridKernel, LINE, Level, by_length, columns, opaque, prefetch};
#[cfg(target_arch = "x86_64")]
use super::{lines, words};
use std::hint::black_box;
use std::ptr::copy_nonoverlapping;

/// Blocks further apart than this go one by one.
const NEAR_BYTES: usize = 2 * LINE;

/// Blocks further apart than this are stored by narrow moves.
const WIDE_BYTES: usize = 256;

/// Prefetched is the block so many ahead; pairs of words are unpacked faster where it is nearer
/// (65536 pairs, 256 bytes apart: 19 GB/s against 16).
const fn ahead(length: usize, unpack: bool) -> isize {
    if unpack && length == 16 { 16 } else { 64 }
}

/// The grid routine for blocks of `length` bytes.
pub(super) fn kernel(level: Level, length: usize) -> GridKernel {
    match level {
        Level::Plain => by_length!(length, plain::fixed, plain::any),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => by_length!(length, avx2::fixed, avx2::any),
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => by_length!(length, avx512::fixed, avx512::any),
    }
}

mod plain {
    use super::*;

    pub(super) unsafe fn fixed<const LENGTH: usize>(grid: &Grid) {
        // SAFETY: handed through.
        unsafe { fixed_blocks::<LENGTH>(grid) }
    }

    pub(super) unsafe fn any(grid: &Grid) {
        // SAFETY: handed through.
        unsafe { any_blocks(grid) }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::*;

    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn fixed<const LENGTH: usize>(grid: &Grid) {
        let narrow = LENGTH > 16 && grid.is_unpacking() && grid.to_block.unsigned_abs() > WIDE_BYTES;
        // SAFETY: handed through.
        unsafe { if narrow { plain::fixed::<LENGTH>(grid) } else { fixed_blocks::<LENGTH>(grid) } }
    }

    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn any(grid: &Grid) {
        // SAFETY: handed through.
        unsafe { any_blocks(grid) }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::*;
    use crate::kernel::pattern::{Pattern, pack_rows};
    use crate::kernel::spread::{Spread, unpack_rows};
    use crate::kernel::stream;

    /// Whether gathers or scatters, as the stride is that of one side or the other, are worth
    /// while.
    fn scattered(length: usize, stride: isize, far: bool) -> bool {
        length == words::WORD && !far && stride.unsigned_abs() > LINE
    }

    /// The gaps that blocks of some length mostly have: their own length, or what alignment asks
    /// for (12 of 16 bytes).
    const fn usual_stride(length: usize) -> usize {
        if length == 12 { 16 } else { 2 * length }
    }

    /// Whether packed blocks are to be spread over lines. Pairs of words gain only where lines are
    /// fetched ahead.
    fn is_spread<const LENGTH: usize>(grid: &Grid) -> bool {
        grid.is_unpacking() && grid.to_block == usual_stride(LENGTH) as isize && (LENGTH < 2 * words::WORD || grid.far)
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
    pub(super) unsafe fn fixed<const LENGTH: usize>(grid: &Grid) {
        let usual: &Option<Pattern> = const { &Pattern::strided(LENGTH, usual_stride(LENGTH)) };
        let spread: &Option<Spread> = const { &Spread::strided(LENGTH, usual_stride(LENGTH)) };
        let spread = if is_spread::<LENGTH>(grid) { spread } else { &None };
        if let Some(spread) = spread {
            // SAFETY: handed through; the grid is dense where it is written.
            return unsafe { unpack_rows::<LENGTH>(spread, grid) };
        }
        // SAFETY: as above.
        unsafe {
            match usual {
                Some(pattern) if grid.is_packing() && grid.from_block == usual_stride(LENGTH) as isize => {
                    pack_rows::<LENGTH>(pattern, grid);
                }
                _ if LENGTH == words::WORD && grid.is_packing() && stream::suits_words_packed(grid) => {
                    stream::pack_words(grid);
                }
                _ if LENGTH == words::WORD && grid.is_unpacking() && stream::suits_words_unpacked(grid) => {
                    stream::unpack_words(grid);
                }
                _ if grid.is_unpacking() && columns::suits(LENGTH, grid) => fixed_blocks::<LENGTH>(grid),
                _ if grid.is_packing() && scattered(LENGTH, grid.from_block, grid.far) => {
                    if words::suits_joining(grid) { words::pack_joined(grid) } else { words::pack(grid) }
                }
                _ if grid.is_unpacking() && scattered(LENGTH, grid.to_block, grid.far) => words::unpack(grid),
                _ if LENGTH > 16 && grid.is_unpacking() => avx2::fixed::<LENGTH>(grid),
                _ => fixed_blocks::<LENGTH>(grid),
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
    pub(super) unsafe fn any(grid: &Grid) {
        // SAFETY: handed through.
        unsafe { if lines::suits(grid) { lines::blocks(grid) } else { any_blocks(grid) } }
    }
}

/// Distances of the second to the fourth block of a round from its first, and to the next round.
///
/// Four blocks take their addresses from one addition instead of a chain of four, which would limit
/// the loop to one block a cycle. The compiler must not see that the distances are multiples, or it
/// makes a chain of them again.
#[derive(Clone, Copy)]
struct Steps {
    second: isize,
    third: isize,
    fourth: isize,
    round: isize,
}

/// Blocks in a round.
const ROUND: usize = 4;

impl Steps {
    #[inline(always)]
    fn strided(block: isize) -> Steps {
        let (third, fourth) = (black_box(block.wrapping_mul(2)), black_box(block.wrapping_mul(3)));
        Steps { second: block, third, fourth, round: block.wrapping_mul(4) }
    }

    #[inline(always)]
    fn dense(block: isize) -> Steps {
        Steps { second: block, third: 2 * block, fourth: 3 * block, round: 4 * block }
    }
}

#[inline(always)]
unsafe fn fixed_blocks<const LENGTH: usize>(grid: &Grid) {
    let dense = Steps::dense(LENGTH as isize);
    let stride = if grid.is_unpacking() { grid.to_block } else { grid.from_block };
    // SAFETY: handed through. A dense side has distances that the compiler knows.
    unsafe {
        if stride.unsigned_abs() > if grid.far { LINE } else { NEAR_BYTES } {
            if grid.is_unpacking() && columns::suits(LENGTH, grid) {
                return columns::unpack::<LENGTH>(grid);
            }
            #[cfg(target_arch = "x86_64")]
            if LENGTH == words::WORD && grid.is_packing() && words::suits_joining(grid) {
                return words::pack_joined(grid);
            }
            return match (grid.is_unpacking(), grid.far) {
                (false, false) => one_by_one::<LENGTH, false, false>(grid),
                (false, true) => one_by_one::<LENGTH, false, true>(grid),
                (true, false) => one_by_one::<LENGTH, true, false>(grid),
                (true, true) => one_by_one::<LENGTH, true, true>(grid),
            };
        }
        match (grid.to_block == dense.second, grid.from_block == dense.second) {
            (true, _) => rounds::<LENGTH>(grid, dense, Steps::strided(grid.from_block)),
            (_, true) => rounds::<LENGTH>(grid, Steps::strided(grid.to_block), dense),
            _ => rounds::<LENGTH>(grid, Steps::strided(grid.to_block), Steps::strided(grid.from_block)),
        }
    }
}

#[inline(always)]
unsafe fn rounds<const LENGTH: usize>(grid: &Grid, to_steps: Steps, from_steps: Steps) {
    for row in 0..grid.rows as isize {
        let mut to = grid.to.wrapping_offset(row.wrapping_mul(grid.to_row));
        let mut from = grid.from.wrapping_offset(row.wrapping_mul(grid.from_row));
        for _ in 0..grid.blocks / ROUND {
            let next = |step: fn(&Steps) -> isize| {
                (from.wrapping_offset(step(&from_steps)), to.wrapping_offset(step(&to_steps)))
            };
            let (second, third, fourth) = (next(|s| s.second), next(|s| s.third), next(|s| s.fourth));
            // SAFETY: the caller vouches for every block.
            unsafe {
                copy_nonoverlapping(from, to, LENGTH);
                copy_nonoverlapping(second.0, second.1, LENGTH);
                copy_nonoverlapping(third.0, third.1, LENGTH);
                copy_nonoverlapping(fourth.0, fourth.1, LENGTH);
            }
            (from, to) = next(|s| s.round);
        }
        for _ in 0..grid.blocks % ROUND {
            // SAFETY: as above.
            unsafe { copy_nonoverlapping(from, to, LENGTH) };
            to = opaque(to.wrapping_offset(to_steps.second));
            from = from.wrapping_offset(from_steps.second);
        }
    }
}

#[inline(always)]
unsafe fn one_by_one<const LENGTH: usize, const UNPACK: bool, const FAR: bool>(grid: &Grid) {
    for row in 0..grid.rows as isize {
        let mut to = grid.to.wrapping_offset(row.wrapping_mul(grid.to_row));
        let mut from = grid.from.wrapping_offset(row.wrapping_mul(grid.from_row));
        for _ in 0..grid.blocks {
            if FAR {
                let (at, step) = if UNPACK { (to.cast_const(), grid.to_block) } else { (from, grid.from_block) };
                prefetch(at.wrapping_offset(const { ahead(LENGTH, UNPACK) }.wrapping_mul(step)));
            }
            // SAFETY: the caller vouches for every block.
            unsafe { copy_nonoverlapping(from, to, LENGTH) };
            to = opaque(to.wrapping_offset(grid.to_block));
            from = from.wrapping_offset(grid.from_block);
        }
    }
}

#[inline(always)]
unsafe fn any_blocks(grid: &Grid) {
    for row in 0..grid.rows as isize {
        let mut to = grid.to.wrapping_offset(row.wrapping_mul(grid.to_row));
        let mut from = grid.from.wrapping_offset(row.wrapping_mul(grid.from_row));
        for _ in 0..grid.blocks {
            // SAFETY: the caller vouches for every block.
            unsafe { copy(from, to, grid.length) };
            to = opaque(to.wrapping_offset(grid.to_block));
            from = from.wrapping_offset(grid.from_block);
        }
    }
}
