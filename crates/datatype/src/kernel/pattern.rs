//! Packing short records with AVX-512: a register (or two) of the program's memory is permuted so
//! that the records' data lie side by side, and stored whole; what is stored too much is stored
//! over by the next register.
//!
//! Only packing; `spread` does the same for unpacking, with masks.

use super::Grid;
use std::arch::x86_64::{
    __m512i, _mm512_loadu_si512, _mm512_permutex2var_epi8, _mm512_permutexvar_epi8, _mm512_storeu_si512,
};
use std::ptr::copy_nonoverlapping;

/// Bytes of a register.
const REGISTER: usize = 64;

/// Longer blocks are moved faster as they are.
const LONGEST: usize = 12;

/// How the bytes of a few records follow each other when packed.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    /// For each packed byte, which of the bytes that were loaded.
    index: [u8; REGISTER],
    /// Bytes of memory that are loaded: one register or two.
    window: usize,
    /// Bytes of memory, packed bytes, and records of one step.
    stride: usize,
    packed: usize,
    records: usize,
}

impl Pattern {
    /// Records of `size` bytes of data that lie within `span` bytes, `stride` bytes apart; their
    /// data are still to be added. None where a permutation does not pay.
    const fn empty(size: usize, span: usize, stride: usize) -> Option<Pattern> {
        if size == 0 || size > REGISTER || span > REGISTER || stride == 0 || stride > REGISTER {
            return None;
        }
        let (mut window, mut records) = (REGISTER, fitting(size, span, stride, REGISTER));
        if records * size < REGISTER * 3 / 4 {
            (window, records) = (2 * REGISTER, fitting(size, span, stride, 2 * REGISTER));
        }
        if records < 3 {
            return None;
        }
        Some(Pattern { index: [0; REGISTER], window, stride: records * stride, packed: records * size, records })
    }

    /// Adds a block of every record: `length` bytes at `offset` of the record, the bytes from `at`
    /// on when packed.
    const fn add(&mut self, offset: usize, at: usize, length: usize) {
        let (mut record, size, stride) = (0, self.packed / self.records, self.stride / self.records);
        while record < self.records {
            let mut byte = 0;
            while byte < length {
                self.index[record * size + at + byte] = (record * stride + offset + byte) as u8;
                byte += 1;
            }
            record += 1;
        }
    }

    /// Blocks of `length` bytes, `stride` bytes apart.
    pub(super) const fn strided(length: usize, stride: usize) -> Option<Pattern> {
        if length > LONGEST {
            return None;
        }
        let mut pattern = Pattern::empty(length, length, stride);
        if let Some(pattern) = &mut pattern {
            pattern.add(0, 0, length);
        }
        pattern
    }

    /// Records of the given blocks (offset and length, in packed order), `stride` bytes apart.
    pub(crate) fn of_records(
        blocks: impl Iterator<Item = (usize, usize)> + Clone,
        span: usize,
        stride: usize,
    ) -> Option<Pattern> {
        let size = blocks.clone().map(|block| block.1).sum();
        let mut pattern = Pattern::empty(size, span, stride)?;
        let mut at = 0;
        for (offset, length) in blocks {
            pattern.add(offset, at, length);
            at += length;
        }
        Some(pattern)
    }

    /// How often a whole step may be made where `span` bytes may be read and `room` bytes written.
    #[inline]
    fn steps(&self, span: usize, room: usize) -> usize {
        let fit = |whole: usize, first: usize, step: usize| whole.checked_sub(first).map_or(0, |rest| rest / step + 1);
        fit(span, self.window, self.stride).min(fit(room, REGISTER, self.packed))
    }
}

/// How many records fit into a window and, packed, into a register.
const fn fitting(size: usize, span: usize, stride: usize, window: usize) -> usize {
    let (loaded, stored) = ((window - span) / stride + 1, REGISTER / size);
    if loaded < stored { loaded } else { stored }
}

/// Packs as many records as whole registers can, and answers how many.
///
/// # Safety
/// The processor must have AVX-512 with VBMI. From `from` on, all pages must be readable up to the
/// end of the last record, which is `span` bytes away, and `to` writable for all packed bytes,
/// `room`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
pub(crate) unsafe fn pack_records(pattern: &Pattern, from: *const u8, span: usize, to: *mut u8, room: usize) -> usize {
    let steps = pattern.steps(span, room);
    // SAFETY: `steps` keeps loads within `span` and stores within `room`; the index has the size of
    // a register.
    unsafe {
        let index = _mm512_loadu_si512(pattern.index.as_ptr().cast::<__m512i>());
        let (mut from, mut to) = (from, to);
        for _ in 0..steps {
            let low = _mm512_loadu_si512(from.cast());
            let packed = if pattern.window == REGISTER {
                _mm512_permutexvar_epi8(index, low)
            } else {
                _mm512_permutex2var_epi8(low, index, _mm512_loadu_si512(from.wrapping_add(REGISTER).cast()))
            };
            _mm512_storeu_si512(to.cast(), packed);
            (from, to) = (from.wrapping_add(pattern.stride), to.wrapping_add(pattern.packed));
        }
    }
    steps * pattern.records
}

/// Packs a grid whose blocks lie as the pattern says.
///
/// # Safety
/// As a grid kernel; the processor must have AVX-512 with VBMI.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
pub(super) unsafe fn pack_rows<const LENGTH: usize>(pattern: &Pattern, grid: &Grid) {
    let stride = grid.from_block as usize;
    let span = (grid.blocks - 1) * stride + LENGTH;
    for row in 0..grid.rows as isize {
        let to = grid.to.wrapping_offset(row.wrapping_mul(grid.to_row));
        let from = grid.from.wrapping_offset(row.wrapping_mul(grid.from_row));
        // SAFETY: a row's blocks are less than a page apart, so that there is no page without one
        // from the first to the last; the row's packed bytes are those of its blocks. The rest is
        // moved block by block.
        unsafe {
            let done = pack_records(pattern, from, span, to, grid.blocks * LENGTH);
            for block in done..grid.blocks {
                copy_nonoverlapping(from.wrapping_add(block * stride), to.wrapping_add(block * LENGTH), LENGTH);
            }
        }
    }
}
