//! Unpacking short blocks near each other with AVX-512: a register of packed bytes is permuted so
//! that every block is where it belongs in a line of the program's memory, and stored under a mask
//! that leaves the gaps alone.
//!
//! One store for all blocks in a line instead of one for each (measured on Zen 5, doubles 16 bytes
//! apart: 4 KiB at 116 GB/s against 47 block by block, 64 KiB at 56 against 40, 1 MiB at 35 against
//! 32). From memory it pays only where the lines are fetched ahead (16 MiB at 21.7 GB/s against
//! 15.7, but 9.2 without).

use super::{Grid, LINE, prefetch};
use std::arch::x86_64::{
    __m512i, _mm512_add_epi8, _mm512_loadu_si512, _mm512_mask_storeu_epi8, _mm512_permutexvar_epi8, _mm512_set1_epi8,
};
use std::ptr::copy_nonoverlapping;

/// Prefetched is what lies so many bytes ahead.
const AHEAD_BYTES: usize = 8192;

/// How packed blocks are spread over a line.
pub(super) struct Spread {
    /// For each byte of a line, which of the packed bytes.
    index: [u8; LINE],
    /// Which bytes of a line are data.
    mask: u64,
    /// Blocks in a line, and their bytes.
    blocks: usize,
    packed: usize,
    /// Lines that a register of packed bytes fills: one or two.
    lines: usize,
}

impl Spread {
    /// Blocks of `length` bytes, `stride` bytes apart; none where a line has no two of them or they
    /// lie differently in the next line.
    pub(super) const fn strided(length: usize, stride: usize) -> Option<Spread> {
        if stride <= length || 2 * stride > LINE || !LINE.is_multiple_of(stride) {
            return None;
        }
        let (mut index, mut mask, mut byte) = ([0; LINE], 0u64, 0);
        while byte < LINE {
            if byte % stride < length {
                index[byte] = (byte / stride * length + byte % stride) as u8;
                mask |= 1 << byte;
            }
            byte += 1;
        }
        let blocks = LINE / stride;
        let packed = blocks * length;
        Some(Spread { index, mask, blocks, packed, lines: if 2 * packed <= LINE { 2 } else { 1 } })
    }

    /// How many registers may be loaded where `blocks` packed blocks are left.
    #[inline]
    fn registers(&self, blocks: usize) -> usize {
        let bytes = blocks * self.packed / self.blocks;
        let loads = bytes.checked_sub(LINE).map_or(0, |rest| rest / (self.lines * self.packed) + 1);
        loads.min(blocks / (self.lines * self.blocks))
    }
}

/// Unpacks a grid whose blocks lie as `spread` says.
///
/// # Safety
/// As a grid kernel; the grid must be unpacking, and the processor have AVX-512 with VBMI.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
pub(super) unsafe fn unpack_rows<const LENGTH: usize>(spread: &Spread, grid: &Grid) {
    let stride = grid.to_block as usize;
    for row in 0..grid.rows as isize {
        let to = grid.to.wrapping_offset(row.wrapping_mul(grid.to_row));
        let from = grid.from.wrapping_offset(row.wrapping_mul(grid.from_row));
        let one = |block: usize| {
            // SAFETY: block number `block` of the row.
            unsafe {
                copy_nonoverlapping(from.wrapping_add(block * LENGTH), to.wrapping_add(block * stride), LENGTH);
            }
        };
        // A store into two lines takes twice as long, so the first blocks go alone if the rest then
        // begins a line.
        let to_line = (to as usize).wrapping_neg() % LINE;
        let first = if to_line.is_multiple_of(stride) { (to_line / stride).min(grid.blocks) } else { 0 };
        (0..first).for_each(one);
        let left = grid.blocks - first;
        let (begin, source) = (to.wrapping_add(first * stride), from.wrapping_add(first * LENGTH));
        // SAFETY: handed through, without the first blocks.
        let done = unsafe {
            if grid.far {
                lines::<true>(spread, begin, source, left)
            } else {
                lines::<false>(spread, begin, source, left)
            }
        };
        (first + done..grid.blocks).for_each(one);
    }
}

/// Unpacks as many of `blocks` blocks as whole registers can, and answers how many.
///
/// # Safety
/// As [`unpack_rows`], for these blocks.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
unsafe fn lines<const FAR: bool>(spread: &Spread, to: *mut u8, from: *const u8, blocks: usize) -> usize {
    let registers = spread.registers(blocks);
    let (mut to, mut from) = (to, from);
    // SAFETY: `registers` keeps loads within the packed bytes; of what the mask leaves out nothing
    // is touched, and memory need not be there. An index has the size of a register.
    unsafe {
        let index = _mm512_loadu_si512(spread.index.as_ptr().cast::<__m512i>());
        let second = _mm512_add_epi8(index, _mm512_set1_epi8(spread.packed as i8));
        for _ in 0..registers {
            if FAR {
                prefetch(to.wrapping_add(AHEAD_BYTES));
                prefetch(to.wrapping_add(AHEAD_BYTES + LINE));
            }
            let packed = _mm512_loadu_si512(from.cast::<__m512i>());
            _mm512_mask_storeu_epi8(to.cast(), spread.mask, _mm512_permutexvar_epi8(index, packed));
            if spread.lines == 2 {
                let next = to.wrapping_add(LINE).cast();
                _mm512_mask_storeu_epi8(next, spread.mask, _mm512_permutexvar_epi8(second, packed));
            }
            to = to.wrapping_add(spread.lines * LINE);
            from = from.wrapping_add(spread.lines * spread.packed);
        }
    }
    registers * spread.lines * spread.blocks
}
