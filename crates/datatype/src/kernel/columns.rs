//! Unpacks short blocks so far apart that each is on a separate page: columns of large matrices.
//!
//! A stride of many pages, especially a power of two, maps the blocks to few sets of each cache and
//! few memory banks, so that each store waits for the previous one. Alternating between the two
//! halves of the column reduces these stalls (measured on Zen 5: 4096 words, 32 KiB apart, at 1.08
//! GB/s against 0.62; pairs at 1.5 against 1.3; no difference without conflicts).

use super::{Grid, prefetch};
use std::ptr::copy_nonoverlapping;

/// Minimum distance between blocks. Alternating between halves does not speed up closer ones.
const APART_BYTES: usize = 32 << 10;

/// For longer blocks the stores are not the bottleneck.
const LONGEST: usize = 32;

/// Number of blocks between a block and the one that is prefetched with it.
const AHEAD: isize = 8;

/// True if [`unpack`] is the best routine for an unpacking grid.
#[inline(always)]
pub(super) fn suits(length: usize, grid: &Grid) -> bool {
    length <= LONGEST && grid.to_block.unsigned_abs() >= APART_BYTES
}

/// Unpacks a grid, alternating between the first and the second half of a row.
///
/// # Safety
/// Same as for [`GridKernel`](super::GridKernel); the grid must be unpacking blocks of `LENGTH`
/// bytes.
#[inline(always)]
pub(super) unsafe fn unpack<const LENGTH: usize>(grid: &Grid) {
    let half = grid.blocks / 2;
    let step = grid.to_block;
    for row in 0..grid.rows as isize {
        let mut to = grid.to.wrapping_offset(row.wrapping_mul(grid.to_row));
        let mut from = grid.from.wrapping_offset(row.wrapping_mul(grid.from_row));
        let mut later = to.wrapping_offset(step.wrapping_mul(half as isize));
        // SAFETY: every block of the grid is valid on both sides (this function's contract); `half`
        // of them start at `to` and the rest at `later`.
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
