//! Packs short records with AVX-512. One or two registers are loaded from user memory and permuted
//! so that the records' data are adjacent, and the result is stored whole. The excess bytes of a
//! store are overwritten by the next one.
//!
//! Only for packing; `spread` does the same for unpacking, with masks.

use super::Grid;
use std::arch::x86_64::{
    __m512i, _mm512_loadu_si512, _mm512_permutex2var_epi8, _mm512_permutexvar_epi8, _mm512_storeu_si512,
};
use std::ptr::copy_nonoverlapping;

/// Size of a register in bytes.
const REGISTER: usize = 64;

/// Longer blocks are faster to move without a permutation.
const LONGEST: usize = 12;

/// A byte permutation that makes the data of a few records adjacent.
#[derive(Clone, Debug)]
pub(crate) struct RecordPattern {
    /// For each packed byte, the index of the loaded byte.
    index: [u8; REGISTER],
    /// Bytes that are loaded: one register or two.
    window: usize,
    /// Per step: distance in memory, packed bytes, and records.
    stride: usize,
    packed: usize,
    records: usize,
}

impl RecordPattern {
    /// Records of `size` bytes of data within `span` bytes, `stride` bytes apart, with no blocks
    /// added yet. `None` if a permutation does not pay off.
    const fn empty(size: usize, span: usize, stride: usize) -> Option<RecordPattern> {
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
        Some(RecordPattern { index: [0; REGISTER], window, stride: records * stride, packed: records * size, records })
    }

    /// Adds a block of every record: `length` bytes at `offset` of the record, at `at` of its
    /// packed bytes.
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
    pub(super) const fn strided(length: usize, stride: usize) -> Option<RecordPattern> {
        if length > LONGEST {
            return None;
        }
        let mut pattern = RecordPattern::empty(length, length, stride);
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
    ) -> Option<RecordPattern> {
        let size = blocks.clone().map(|block| block.1).sum();
        let mut pattern = RecordPattern::empty(size, span, stride)?;
        let mut at = 0;
        for (offset, length) in blocks {
            pattern.add(offset, at, length);
            at += length;
        }
        Some(pattern)
    }

    /// Number of whole steps if `span` bytes are readable and `room` bytes writable.
    #[inline]
    fn steps(&self, span: usize, room: usize) -> usize {
        let fit = |whole: usize, first: usize, step: usize| whole.checked_sub(first).map_or(0, |rest| rest / step + 1);
        fit(span, self.window, self.stride).min(fit(room, REGISTER, self.packed))
    }
}

/// Number of records that fit in a window and, when packed, in a register.
const fn fitting(size: usize, span: usize, stride: usize, window: usize) -> usize {
    let (loaded, stored) = ((window - span) / stride + 1, REGISTER / size);
    if loaded < stored { loaded } else { stored }
}

/// Packs as many records as whole registers can, and returns how many.
///
/// # Safety
/// The processor must support AVX-512 with VBMI. `from` must be readable for `span` bytes, which
/// end with the last record, gaps included. `to` must be writable for `room` bytes, the size of all
/// packed records. The two must not overlap.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
pub(crate) unsafe fn pack_records(
    pattern: &RecordPattern,
    from: *const u8,
    span: usize,
    to: *mut u8,
    room: usize,
) -> usize {
    let steps = pattern.steps(span, room);
    // SAFETY: `steps` limits loads to `span` bytes from `from` and stores to `room` bytes from
    // `to`; `pattern.index` has the size of a register.
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

/// Packs a grid whose blocks match the pattern.
///
/// # Safety
/// Same as for [`GridKernel`](super::GridKernel). The grid must be packing blocks of `LENGTH` bytes
/// with the positive stride of the pattern, and the processor must support AVX-512 with VBMI.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
pub(super) unsafe fn pack_rows<const LENGTH: usize>(pattern: &RecordPattern, grid: &Grid) {
    let stride = grid.from_block as usize;
    let span = (grid.blocks - 1) * stride + LENGTH;
    for row in 0..grid.rows as isize {
        let to = grid.to.wrapping_offset(row.wrapping_mul(grid.to_row));
        let from = grid.from.wrapping_offset(row.wrapping_mul(grid.from_row));
        // SAFETY: the blocks of a row are less than a page apart, so every page from the first to
        // the last one holds a block and is readable. `to` is writable for the row's packed bytes,
        // and the remaining blocks are valid (this function's contract).
        unsafe {
            let done = pack_records(pattern, from, span, to, grid.blocks * LENGTH);
            for block in done..grid.blocks {
                copy_nonoverlapping(from.wrapping_add(block * stride), to.wrapping_add(block * LENGTH), LENGTH);
            }
        }
    }
}
