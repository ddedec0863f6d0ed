//! Kernels that move bytes: grids of equal blocks between two pairs of strides, lists of blocks to
//! or from packed bytes, and permutations of vector registers. There is one routine per common
//! block length and instruction set, chosen once per plan, so that a block is moved by a few
//! instructions instead of a call of `memcpy`.
//!
//! | module | moves | instruction sets |
//! |---|---|---|
//! | `block` | one block of any length | that of the calling routine |
//! | `grid` | `rows` x `blocks` equal blocks between two pairs of strides | all |
//! | `list` | equal blocks at listed offsets, to or from packed bytes | all |
//! | `unequal` | blocks of any length at listed offsets | all, AVX-512 with masks |
//! | `columns` | a grid of short blocks far apart, unpacked | all |
//! | `lines` | a grid of long blocks | AVX-512 |
//! | `words` | a grid of 8-byte words on separate cache lines | all; AVX-512 gathers and scatters |
//! | `stream` | long grids of such words, by non-temporal stores | AVX-512 |
//! | `spread` | packed bytes to short blocks near each other: permuted, masked | AVX-512 |
//! | `pattern` | records of at most 64 bytes to packed bytes: whole registers, permuted | AVX-512 |
//!
//! Invariants: nothing outside the blocks is written. Reads are confined to the blocks and to gaps
//! on pages that hold a block; bytes read from gaps are discarded.

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
pub(crate) use pattern::{RecordPattern, pack_records};
pub(crate) use unequal::{ListBlock, Unequal};

/// Size of a cache line in bytes.
pub(crate) const LINE: usize = 64;

/// Data that touch more memory than this are prefetched: roughly the capacity of the caches of one
/// core.
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
    /// True if the message of which this is a part touches more than [`FAR_BYTES`].
    pub(crate) far: bool,
}

impl Grid {
    /// True if the destination blocks are contiguous.
    #[inline(always)]
    fn is_packing(&self) -> bool {
        self.to_block == self.length as isize
    }

    /// True if the source blocks are contiguous.
    #[inline(always)]
    fn is_unpacking(&self) -> bool {
        self.from_block == self.length as isize
    }
}

/// Moves a grid.
///
/// # Safety
/// Every block must be valid for reads at its source and for writes at its destination, and no
/// destination may overlap a source. The processor must support the instruction set for which the
/// routine was chosen.
pub(crate) type GridKernel = unsafe fn(&Grid);

/// Instruction set of a routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SimdLevel {
    /// The baseline of the architecture.
    Plain,
    /// With the conversions of halves (F16C), which every processor with AVX2 has.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// With byte permutations (VBMI): Ice Lake and Zen 4 onwards.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl SimdLevel {
    /// The best one that this processor supports.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(crate) fn best() -> SimdLevel {
        if is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("f16c")
        {
            SimdLevel::Avx512
        } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("f16c") {
            SimdLevel::Avx2
        } else {
            SimdLevel::Plain
        }
    }

    /// The best one that this processor supports.
    #[cfg(not(target_arch = "x86_64"))]
    #[inline]
    pub(crate) fn best() -> SimdLevel {
        SimdLevel::Plain
    }

    /// All that this processor supports.
    #[cfg(test)]
    pub(crate) fn usable() -> Vec<SimdLevel> {
        match SimdLevel::best() {
            SimdLevel::Plain => vec![SimdLevel::Plain],
            #[cfg(target_arch = "x86_64")]
            SimdLevel::Avx2 => vec![SimdLevel::Plain, SimdLevel::Avx2],
            #[cfg(target_arch = "x86_64")]
            SimdLevel::Avx512 => vec![SimdLevel::Plain, SimdLevel::Avx2, SimdLevel::Avx512],
        }
    }
}

/// The instance of a routine that is compiled for blocks of `length` bytes. For lengths without an
/// instance, the general routine.
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

/// The grid kernel for blocks of `length` bytes.
#[inline]
pub(crate) fn grid_kernel(length: usize) -> GridKernel {
    grid::kernel(SimdLevel::best(), length)
}

/// Prefetches the cache line at `address`, which may be any address.
#[inline(always)]
fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of an invalid address has no effect.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Hides the origin of an address from the compiler, so that it does not unroll the surrounding
/// loop, or does not turn a choice between addresses into a branch.
#[allow(clippy::pointers_in_nomem_asm_block)] // The address is only renamed.
#[inline(always)]
pub(crate) fn opaque(address: *mut u8) -> *mut u8 {
    #[cfg(target_arch = "x86_64")]
    {
        let mut address = address;
        // SAFETY: the assembly is empty; it only passes the address through a register.
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
