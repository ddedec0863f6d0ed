//! Grids of equal blocks: one loop for each common block length and instruction set.
//!
//! The shape of a loop matters more than its move instructions (measured on Zen 5):
//!
//! * Blocks near each other are moved in rounds of four, so that address arithmetic does not limit
//!   the loop. Blocks on separate cache lines are moved one at a time, because the hardware
//!   prefetcher learns a stride from a *single* instruction.
//! * If more memory is touched than the caches hold, the loop prefetches (131072 doubles, 128 bytes
//!   apart: 8.5 GB/s against 4.0).
//! * 512-bit stores are best for dense destinations, 256-bit ones for scattered destinations (64
//!   KiB in blocks of 64 bytes: 127 GB/s against 86), 128-bit ones for cache lines far apart (60
//!   GB/s against 18).

use super::block::copy;
use super::{Grid, GridKernel, LINE, SimdLevel, by_length, columns, opaque, prefetch};
#[cfg(target_arch = "x86_64")]
use super::{lines, words};
use std::hint::black_box;
use std::ptr::copy_nonoverlapping;

/// Blocks further apart than this are moved one at a time.
const NEAR_BYTES: usize = 2 * LINE;

/// Blocks further apart than this are stored by narrow moves.
const WIDE_BYTES: usize = 256;

/// Number of blocks between a block and the one that is prefetched with it. For pairs of words a
/// shorter distance is faster when unpacking (65536 pairs, 256 bytes apart: 19 GB/s against 16).
const fn ahead(length: usize, unpack: bool) -> isize {
    if unpack && length == 16 { 16 } else { 64 }
}

/// The grid kernel for blocks of `length` bytes.
pub(super) fn kernel(level: SimdLevel, length: usize) -> GridKernel {
    match level {
        SimdLevel::Plain => by_length!(length, plain::fixed, plain::any),
        #[cfg(target_arch = "x86_64")]
        SimdLevel::Avx2 => by_length!(length, avx2::fixed, avx2::any),
        #[cfg(target_arch = "x86_64")]
        SimdLevel::Avx512 => by_length!(length, avx512::fixed, avx512::any),
    }
}

mod plain {
    use super::*;

    pub(super) unsafe fn fixed<const LENGTH: usize>(grid: &Grid) {
        // SAFETY: every block of the grid is valid on both sides (contract of [`GridKernel`]).
        unsafe { fixed_blocks::<LENGTH>(grid) }
    }

    pub(super) unsafe fn any(grid: &Grid) {
        // SAFETY: every block of the grid is valid on both sides (contract of [`GridKernel`]).
        unsafe { any_blocks(grid) }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::*;

    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn fixed<const LENGTH: usize>(grid: &Grid) {
        let narrow = LENGTH > 16 && grid.is_unpacking() && grid.to_block.unsigned_abs() > WIDE_BYTES;
        // SAFETY: every block of the grid is valid on both sides (contract of [`GridKernel`]).
        unsafe { if narrow { plain::fixed::<LENGTH>(grid) } else { fixed_blocks::<LENGTH>(grid) } }
    }

    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn any(grid: &Grid) {
        // SAFETY: every block of the grid is valid on both sides (contract of [`GridKernel`]).
        unsafe { any_blocks(grid) }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::*;
    use crate::kernel::pattern::{RecordPattern, pack_rows};
    use crate::kernel::spread::{Spread, unpack_rows};
    use crate::kernel::stream;

    /// True if gathers or scatters pay off; `stride` is that of the side that is not packed.
    fn scattered(length: usize, stride: isize, far: bool) -> bool {
        length == words::WORD && !far && stride.unsigned_abs() > LINE
    }

    /// The most common stride for blocks of some length: gaps as long as the blocks, or required by
    /// alignment (12 of 16 bytes).
    const fn usual_stride(length: usize) -> usize {
        if length == 12 { 16 } else { 2 * length }
    }

    /// True if `spread` is the best routine for the grid. Pairs of words benefit only if lines are
    /// prefetched.
    fn is_spread<const LENGTH: usize>(grid: &Grid) -> bool {
        grid.is_unpacking() && grid.to_block == usual_stride(LENGTH) as isize && (LENGTH < 2 * words::WORD || grid.far)
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
    pub(super) unsafe fn fixed<const LENGTH: usize>(grid: &Grid) {
        let usual: &Option<RecordPattern> = const { &RecordPattern::strided(LENGTH, usual_stride(LENGTH)) };
        let spread: &Option<Spread> = const { &Spread::strided(LENGTH, usual_stride(LENGTH)) };
        let spread = if is_spread::<LENGTH>(grid) { spread } else { &None };
        if let Some(spread) = spread {
            // SAFETY: every block of the grid is valid on both sides (contract of [`GridKernel`]),
            // the grid is unpacking with the stride of `spread`, and AVX-512 with VBMI is enabled
            // here.
            return unsafe { unpack_rows::<LENGTH>(spread, grid) };
        }
        // SAFETY: every block of the grid is valid on both sides (contract of [`GridKernel`]), each
        // routine is called only for grids that it accepts, and AVX-512 with VBMI is enabled here.
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
        // SAFETY: every block of the grid is valid on both sides (contract of [`GridKernel`]), and
        // AVX-512 is enabled here; `lines` accepts only blocks of 512 bytes or more.
        unsafe { if lines::suits(grid) { lines::blocks(grid) } else { any_blocks(grid) } }
    }
}

/// Distances from the first block of a round to its second to fourth block, and to the next round.
///
/// The addresses of four blocks are computed by one addition each instead of a chain of four, which
/// would limit the loop to one block per cycle. The compiler must not recognize the distances as
/// multiples, or it reintroduces the chain.
#[derive(Clone, Copy)]
struct Steps {
    second: isize,
    third: isize,
    fourth: isize,
    round: isize,
}

/// Blocks per round.
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
    // SAFETY: every block of the grid is valid on both sides (contract of [`GridKernel`]);
    // `columns` and `words` are called only for grids that they accept. Steps of a packed side are
    // constants.
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
            // SAFETY: four blocks are left in the row, and every block is valid on both sides
            // (contract of [`GridKernel`]).
            unsafe {
                copy_nonoverlapping(from, to, LENGTH);
                copy_nonoverlapping(second.0, second.1, LENGTH);
                copy_nonoverlapping(third.0, third.1, LENGTH);
                copy_nonoverlapping(fourth.0, fourth.1, LENGTH);
            }
            (from, to) = next(|s| s.round);
        }
        for _ in 0..grid.blocks % ROUND {
            // SAFETY: the block is in the row, and every block is valid on both sides (contract of
            // [`GridKernel`]).
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
            // SAFETY: every block of the grid is valid on both sides (contract of [`GridKernel`]).
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
            // SAFETY: every block of the grid is valid on both sides (contract of [`GridKernel`]).
            unsafe { copy(from, to, grid.length) };
            to = opaque(to.wrapping_offset(grid.to_block));
            from = from.wrapping_offset(grid.from_block);
        }
    }
}
