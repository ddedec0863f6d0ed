//! Long blocks with AVX-512: eight cache lines are loaded before they are stored, so that their
//! cache misses overlap.
//!
//! This pays off for blocks on separate pages, as long as the caches of a core hold them (measured
//! on Zen 5, blocks of 512 bytes, 8 KiB apart: 8 of them at 100 GB/s against 88 line by line, 128
//! at 59 against 55, but 2048 at 40 against 43), and for blocks closer together in memory, which
//! are prefetched as well (16 MiB, 1 KiB apart: 19.7 GB/s against 17.5).

use super::{Grid, LINE, prefetch};
use std::arch::x86_64::{__m512i, _mm512_loadu_si512, _mm512_storeu_si512};

/// Shorter blocks do not benefit.
const SHORTEST: usize = 512;

/// Longer blocks are left to `memcpy`.
const LONGEST: usize = super::block::LONG;

/// Minimum distance at which the hardware prefetcher does not detect a stream.
const APART_BYTES: usize = 4096;

/// Maximum number of bytes in such blocks for which they stay in the caches of a core.
const CACHED_BYTES: usize = 512 << 10;

/// Approximate distance in bytes of data between a block and the one that is prefetched with it.
const AHEAD_BYTES: usize = 4096;

/// Lines that are loaded before any of them is stored.
const GROUP: usize = 8;

/// True if [`blocks`] is the best routine for the grid.
#[inline(always)]
pub(super) fn suits(grid: &Grid) -> bool {
    let apart = grid.to_block.unsigned_abs().max(grid.from_block.unsigned_abs()) >= APART_BYTES;
    let cached = grid.blocks.saturating_mul(grid.rows).saturating_mul(grid.length) <= CACHED_BYTES;
    (SHORTEST..=LONGEST).contains(&grid.length) && if apart { cached && !grid.far } else { grid.far }
}

/// Moves a grid of long blocks.
///
/// # Safety
/// Same as for [`GridKernel`](super::GridKernel); blocks must be at least one cache line long, and
/// the processor must support AVX-512.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn blocks(grid: &Grid) {
    let ahead = (AHEAD_BYTES / grid.length) as isize;
    for row in 0..grid.rows as isize {
        let mut to = grid.to.wrapping_offset(row.wrapping_mul(grid.to_row));
        let mut from = grid.from.wrapping_offset(row.wrapping_mul(grid.from_row));
        for _ in 0..grid.blocks {
            if grid.far {
                let next = match grid.is_unpacking() {
                    true => to.wrapping_offset(grid.to_block.wrapping_mul(ahead)).cast_const(),
                    false => from.wrapping_offset(grid.from_block.wrapping_mul(ahead)),
                };
                fetch(next, grid.length);
            }
            // SAFETY: every block of the grid is valid on both sides (this function's contract).
            unsafe { block(from, to, grid.length) };
            to = to.wrapping_offset(grid.to_block);
            from = from.wrapping_offset(grid.from_block);
        }
    }
}

/// Prefetches all lines of a block.
#[inline(never)] // Otherwise the compiler duplicates the caller's loop per combination of conditions.
fn fetch(block: *const u8, length: usize) {
    (0..length).step_by(LINE).for_each(|line| prefetch(block.wrapping_add(line)));
}

/// Moves one block.
///
/// # Safety
/// The source must be readable and the destination writable for `length` bytes, which is at least a
/// cache line, and the two must not overlap; the processor must support AVX-512.
#[inline(never)] // As for `fetch`.
#[target_feature(enable = "avx512f")]
unsafe fn block(from: *const u8, to: *mut u8, length: usize) {
    let load = |at: usize| {
        // SAFETY: the line at `at` is inside the block, which is readable.
        unsafe { _mm512_loadu_si512(from.wrapping_add(at).cast::<__m512i>()) }
    };
    let store = |at: usize, line| {
        // SAFETY: the line at `at` is inside the block, which is writable.
        unsafe { _mm512_storeu_si512(to.wrapping_add(at).cast::<__m512i>(), line) }
    };
    let mut done = 0;
    while done + GROUP * LINE <= length {
        let line = |index: usize| done + index * LINE;
        let first = (load(line(0)), load(line(1)), load(line(2)), load(line(3)));
        let second = (load(line(4)), load(line(5)), load(line(6)), load(line(7)));
        store(line(0), first.0);
        store(line(1), first.1);
        store(line(2), first.2);
        store(line(3), first.3);
        store(line(4), second.0);
        store(line(5), second.1);
        store(line(6), second.2);
        store(line(7), second.3);
        done += GROUP * LINE;
    }
    while done + LINE < length {
        store(done, load(done));
        done += LINE;
    }
    if done < length {
        store(length - LINE, load(length - LINE));
    }
}
