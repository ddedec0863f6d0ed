//! The loops that move bytes: a grid of equal blocks from one pair of strides to another, a list of
//! blocks to or from packed bytes, and permutations of whole registers. One routine for each common
//! block length and each level of instructions, chosen once for a plan, so that a block is a few
//! moves and not a call of `memcpy`.
//!
//! | module | what it moves | levels |
//! |---|---|---|
//! | `block` | one block of any length | as the routine around it |
//! | `grid` | `rows` x `blocks` equal blocks between two pairs of strides | all |
//! | `list` | equal blocks at listed offsets, to or from packed bytes | all |
//! | `unequal` | blocks of any length at listed offsets | all, AVX-512 with masks |
//! | `columns` | a grid of short blocks far apart, unpacked | all |
//! | `lines` | a grid of long blocks | AVX-512 |
//! | `words` | a grid of 8-byte words on lines of their own | all; AVX-512 gathers and scatters |
//! | `stream` | long grids of such words, past the caches | AVX-512 |
//! | `spread` | packed bytes to short blocks near each other: permuted, masked | AVX-512 |
//! | `pattern` | records of at most 64 bytes to packed bytes: whole registers, permuted | AVX-512 |
//!
//! Invariants: nothing outside the blocks is written. What is read lies in the blocks, or in gaps
//! on a page that a block is on, and is not used.

mod block;
mod columns;
mod grid;
#[cfg(target_arch = "x86_64")]
mod lines;
mod list;
#[cfg(target_arch = "x86_64")]
mod pattern;
#[cfg(target_arch = "x86_64")]
mod spread;
#[cfg(target_arch = "x86_64")]
mod stream;
mod unequal;
#[cfg(target_arch = "x86_64")]
mod words;

pub(crate) use block::exchange;
pub(crate) use list::Equal;
#[cfg(target_arch = "x86_64")]
pub(crate) use pattern::{Pattern, pack_records};
pub(crate) use unequal::{Block, Unequal};

/// Bytes that memory moves at once.
pub(crate) const LINE: usize = 64;

/// Data that touch more memory than this are fetched ahead of their use: about what the caches of
/// one core hold.
pub(crate) const FAR_BYTES: usize = 2 << 20;

/// `rows` x `blocks` blocks of `length` bytes. Strides are in bytes and may be negative.
pub(crate) struct Grid {
    pub(crate) to: *mut u8,
    pub(crate) to_block: isize,
    pub(crate) to_row: isize,
    pub(crate) from: *const u8,
    pub(crate) from_block: isize,
    pub(crate) from_row: isize,
    pub(crate) blocks: usize,
    pub(crate) rows: usize,
    pub(crate) length: usize,
    /// The message of which this is a part touches more than [`FAR_BYTES`].
    pub(crate) far: bool,
}

impl Grid {
    /// Whether the blocks end up side by side.
    #[inline(always)]
    fn is_packing(&self) -> bool {
        self.to_block == self.length as isize
    }

    /// Whether the blocks lie side by side.
    #[inline(always)]
    fn is_unpacking(&self) -> bool {
        self.from_block == self.length as isize
    }
}

/// Moves a grid.
///
/// # Safety
/// Every block must be valid for reads at its source and for writes at its destination, and no
/// destination may overlap a source. The processor must have the instructions of the level that the
/// routine was chosen for.
pub(crate) type GridKernel = unsafe fn(&Grid);

/// What the processor can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// What every processor of this kind can.
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// With permutations of bytes (VBMI): Ice Lake and Zen 4 onwards.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// The best one here.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(crate) fn best() -> Level {
        if is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
        {
            Level::Avx512
        } else if is_x86_feature_detected!("avx2") {
            Level::Avx2
        } else {
            Level::Plain
        }
    }

    /// The best one here.
    #[cfg(not(target_arch = "x86_64"))]
    #[inline]
    pub(crate) fn best() -> Level {
        Level::Plain
    }

    /// All that work here.
    #[cfg(test)]
    pub(crate) fn usable() -> Vec<Level> {
        match Level::best() {
            Level::Plain => vec![Level::Plain],
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => vec![Level::Plain, Level::Avx2],
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => vec![Level::Plain, Level::Avx2, Level::Avx512],
        }
    }
}

/// The instance of a routine for blocks of `length` bytes, or the routine for any length.
macro_rules! by_length {
    ($length:expr, $($fixed:ident)::+, $other:expr $(, $more:ident)*) => {
        match $length {
            1 => $($fixed)::+::<1 $(, $more)*>,
            2 => $($fixed)::+::<2 $(, $more)*>,
            4 => $($fixed)::+::<4 $(, $more)*>,
            8 => $($fixed)::+::<8 $(, $more)*>,
            12 => $($fixed)::+::<12 $(, $more)*>,
            16 => $($fixed)::+::<16 $(, $more)*>,
            24 => $($fixed)::+::<24 $(, $more)*>,
            32 => $($fixed)::+::<32 $(, $more)*>,
            48 => $($fixed)::+::<48 $(, $more)*>,
            64 => $($fixed)::+::<64 $(, $more)*>,
            _ => $other,
        }
    };
}
use by_length;

/// The grid routine for blocks of `length` bytes.
#[inline]
pub(crate) fn grid_kernel(length: usize) -> GridKernel {
    grid::kernel(Level::best(), length)
}

/// Asks for the line at `address`, which need not exist.
#[inline(always)]
fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address is allowed.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Hides from the compiler where an address comes from, so that it does not unroll the loop around.
#[allow(clippy::pointers_in_nomem_asm_block)] // The address is only renamed.
#[inline(always)]
fn opaque(address: *mut u8) -> *mut u8 {
    #[cfg(target_arch = "x86_64")]
    {
        let mut address = address;
        // SAFETY: no instruction at all.
        unsafe {
            std::arch::asm!("/* {0} */", inout(reg) address, options(pure, nomem, nostack, preserves_flags));
        }
        address
    }
    #[cfg(not(target_arch = "x86_64"))]
    address
}

#[cfg(test)]
mod tests;
