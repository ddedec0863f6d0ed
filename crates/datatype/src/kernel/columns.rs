//! Short blocks so far apart that each has a page and more for itself, unpacked: columns of large
//! matrices.
//!
//! A stride of many pages, most of all a power of two, brings the blocks into few sets of every
//! cache and few banks of the memory, where one store waits for the one before. Halves of the
//! column taken in turns wait less (measured on Zen 5: 4096 words, 32 KiB apart, at 1.08 GB/s
//! against 0.62; pairs at 1.5 against 1.3; equal where nothing collides).

use super::{Grid, prefetch};
use std::ptr::copy_nonoverlapping;

/// Blocks this far apart are unpacked so. Nearer ones are no faster by halves.
const APART_BYTES: usize = 32 << 10;

/// Longer blocks take more than their stores.
const LONGEST: usize = 32;

/// Prefetched is the block so many ahead.
const AHEAD: isize = 8;

/// Whether [`unpack`] is what suits an unpacking grid.
#[inline(always)]
pub(super) fn suits(length: usize, grid: &Grid) -> bool {
    length <= LONGEST && grid.to_block.unsigned_abs() >= APART_BYTES
}

/// Unpacks a grid, one block of the first half of a row and one of the second in turns.
///
/// # Safety
/// As a grid kernel; the grid must be unpacking.
#[inline(always)]
pub(super) unsafe fn unpack<const LENGTH: usize>(grid: &Grid) {
    let half = grid.blocks / 2;
    let step = grid.to_block;
    for row in 0..grid.rows as isize {
        let mut to = grid.to.wrapping_offset(row.wrapping_mul(grid.to_row));
        let mut from = grid.from.wrapping_offset(row.wrapping_mul(grid.from_row));
        let mut later = to.wrapping_offset(step.wrapping_mul(half as isize));
        // SAFETY: the caller vouches for every block: `half` from `to` on, and the rest from
        // `later` on.
        unsafe {
            for _ in 0..half {
                prefetch(to.wrapping_offset(step.wrapping_mul(AHEAD)));
                prefetch(later.wrapping_offset(step.wrapping_mul(AHEAD)));
                copy_nonoverlapping(from, to, LENGTH);
                copy_nonoverlapping(from.wrapping_add(half * LENGTH), later, LENGTH);
                (to, later) = (to.wrapping_offset(step), later.wrapping_offset(step));
                from = from.wrapping_add(LENGTH);
            }
            if grid.blocks % 2 == 1 {
                copy_nonoverlapping(from.wrapping_add(half * LENGTH), later, LENGTH);
            }
        }
    }
}
