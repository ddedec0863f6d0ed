//! Which routine copies a chunk out of a window: measured while the first chunks of a size are copied, then kept.
//!
//! What is best depends on the size and on how the two cores stand to each other, so it is timed where it is used: chunks
//! of one power of two are copied by each routine in turn, and the one with the quickest copy wins. From 16 KiB on, where
//! the time of a single copy says little about a pipeline of them, and where the processor has no wide registers, the C
//! library's routine is used: there it was as fast or faster in every measurement.

use crate::copy;

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256i, _MM_HINT_T0, _mm_prefetch, _mm256_loadu_si256, _mm256_storeu_si256, _rdtsc};

/// Copies of each routine that are timed for a size.
const TRIALS: u32 = 12;
/// Powers of two that are told apart: chunks of 4 to 8 KiB, and of 8 to 16 KiB.
const SIZES: usize = 2;
const SMALLEST_LOG: u32 = 12;

/// How a chunk may be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Routine {
    /// The C library's, which the sender uses too: for long rows often one string instruction.
    Library,
    /// A loop over the widest registers that most processors have.
    Wide,
}

/// What is known of one size.
#[derive(Clone, Copy, Debug)]
struct Size {
    timed: u32,
    /// Ticks of the quickest copy of 64 KiB, by routine.
    quickest: [u64; 2],
}

/// The choice for every size.
#[derive(Debug)]
pub(crate) struct Routines {
    sizes: [Size; SIZES],
    wide: bool,
}

impl Routines {
    pub(crate) fn new() -> Routines {
        Routines { sizes: [Size { timed: 0, quickest: [u64::MAX; 2] }; SIZES], wide: has_wide() }
    }

    /// Copies a chunk.
    ///
    /// # Safety
    /// `from` must be readable and `to` writable for `length` bytes, without overlap.
    #[inline]
    pub(crate) unsafe fn copy(&mut self, from: *const u8, to: *mut u8, length: usize) {
        let Some(size) = size_of_chunk(length).filter(|_| self.wide) else {
            // SAFETY: handed through.
            return unsafe { copy_by(Routine::Library, from, to, length) };
        };
        let size = &mut self.sizes[size];
        if size.timed < 2 * TRIALS {
            let routine = if size.timed.is_multiple_of(2) { Routine::Library } else { Routine::Wide };
            let started = ticks();
            // SAFETY: handed through.
            unsafe { copy_by(routine, from, to, length) };
            size.enter(routine, ticks().wrapping_sub(started), length);
        } else {
            // SAFETY: handed through.
            unsafe { copy_by(size.chosen(), from, to, length) };
        }
    }
}

impl Size {
    fn enter(&mut self, routine: Routine, ticks: u64, length: usize) {
        let scaled = ticks.saturating_mul(1 << 16) / length as u64;
        let quickest = &mut self.quickest[routine as usize];
        *quickest = scaled.min(*quickest);
        self.timed += 1;
    }

    fn chosen(&self) -> Routine {
        if self.quickest[Routine::Wide as usize] < self.quickest[Routine::Library as usize] {
            Routine::Wide
        } else {
            Routine::Library
        }
    }
}

/// Which size a chunk has; `None` where there is no choice.
fn size_of_chunk(length: usize) -> Option<usize> {
    let size = length.checked_ilog2()?.checked_sub(SMALLEST_LOG)? as usize;
    (size < SIZES).then_some(size)
}

/// # Safety
/// As [`Routines::copy`]; [`Routine::Wide`] only where [`has_wide`] says so.
#[inline]
unsafe fn copy_by(routine: Routine, from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: handed through.
    unsafe {
        match routine {
            Routine::Library => copy::row(from, to, length),
            Routine::Wide => wide(from, to, length),
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn has_wide() -> bool {
    is_x86_feature_detected!("avx2")
}

#[cfg(target_arch = "x86_64")]
pub(crate) fn ticks() -> u64 {
    // SAFETY: every processor of this architecture counts.
    unsafe { _rdtsc() }
}

/// # Safety
/// As [`Routines::copy`], on a processor with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn wide(from: *const u8, to: *mut u8, length: usize) {
    const BLOCK: usize = 4 * size_of::<__m256i>();
    const AHEAD: usize = 8 * BLOCK;
    let whole = length / BLOCK * BLOCK;
    let mut at = 0;
    while at < whole {
        // SAFETY: `at + BLOCK` is at most `length`; the accesses may be unaligned.
        unsafe {
            let (source, target) = (from.add(at).cast::<__m256i>(), to.add(at).cast::<__m256i>());
            // The lines come from the other core's cache: the sooner they are asked for, the more are under way.
            _mm_prefetch::<_MM_HINT_T0>(from.wrapping_add(at + AHEAD).cast());
            _mm_prefetch::<_MM_HINT_T0>(from.wrapping_add(at + AHEAD + BLOCK / 2).cast());
            let block = [
                _mm256_loadu_si256(source),
                _mm256_loadu_si256(source.add(1)),
                _mm256_loadu_si256(source.add(2)),
                _mm256_loadu_si256(source.add(3)),
            ];
            for (index, register) in block.into_iter().enumerate() {
                _mm256_storeu_si256(target.add(index), register);
            }
        }
        at += BLOCK;
    }
    // SAFETY: the rest of the row.
    unsafe { std::ptr::copy_nonoverlapping(from.add(whole), to.add(whole), length - whole) };
}

#[cfg(not(target_arch = "x86_64"))]
fn has_wide() -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn ticks() -> u64 {
    0
}

/// # Safety
/// As [`Routines::copy`].
#[cfg(not(target_arch = "x86_64"))]
unsafe fn wide(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: handed through.
    unsafe { std::ptr::copy_nonoverlapping(from, to, length) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_routine_copies_all_and_no_more() {
        let from: Vec<u8> = (0..70_000).map(|index| (index * 7 + index / 256) as u8).collect();
        for length in [0, 1, 127, 128, 129, 4095, 4096, 5000, 65_536, 69_999] {
            for offset in [0, 1, 31] {
                let count = length.min(from.len() - offset);
                for routine in [Routine::Library, Routine::Wide] {
                    if routine == Routine::Wide && !has_wide() {
                        continue;
                    }
                    let mut to = vec![0u8; count + 2];
                    // SAFETY: both rows are long enough.
                    unsafe { copy_by(routine, from.as_ptr().add(offset), to.as_mut_ptr().add(1), count) };
                    assert!(to[1..=count] == from[offset..offset + count] && to[0] == 0 && to[count + 1] == 0);
                }
            }
        }
    }

    #[test]
    fn the_quicker_routine_is_kept() {
        let mut size = Size { timed: 0, quickest: [u64::MAX; 2] };
        for (routine, ticks) in
            [(Routine::Library, 300), (Routine::Wide, 900), (Routine::Library, 500), (Routine::Wide, 250)]
        {
            size.enter(routine, ticks, 8192);
        }
        assert_eq!((size.chosen(), size.timed), (Routine::Wide, 4));
        size.enter(Routine::Library, 400, 16_384);
        assert_eq!(size.chosen(), Routine::Library);
    }

    #[test]
    fn the_choice_is_made_for_small_chunks_only() {
        let sizes = [0, 1, 4095, 4096, 8191, 8192, 16_383, 16_384, usize::MAX].map(size_of_chunk);
        assert_eq!(sizes, [None, None, None, Some(0), Some(0), Some(1), Some(1), None, None]);
        let mut routines = Routines::new();
        let (from, mut to) = (vec![5u8; 9_000], vec![0u8; 9_000]);
        for round in 0..100 {
            to.fill(0);
            // SAFETY: both rows have that length.
            unsafe { routines.copy(from.as_ptr(), to.as_mut_ptr(), 9_000 - round) };
            assert!(to[..9_000 - round].iter().all(|byte| *byte == 5));
        }
    }
}
