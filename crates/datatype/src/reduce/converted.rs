//! Sums and products of halves with the conversions of the processor (F16C).
//!
//! A block of halves is widened, combined in single precision and narrowed. The results have the
//! bits that [`Half`] computes, because its conversions treat NaNs as the processor does.

use super::Kernel;
use super::half::Half;
use super::loops::{Combine, Product, Sum, plain};
use crate::kernel::SimdLevel;

#[cfg(target_arch = "x86_64")]
use super::loops::each;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    _MM_FROUND_TO_NEAREST_INT, _mm_loadu_si128, _mm_storeu_si128, _mm256_cvtph_ps, _mm256_cvtps_ph,
};

/// Halves in a vector register of singles.
#[cfg(target_arch = "x86_64")]
const BLOCK: usize = 8;

/// The loop over blocks of halves. An element `T` consists of one or two halves, and `S` of as many
/// singles.
///
/// # Safety
/// Same as for [`Kernel`]; the processor must support AVX2 and F16C.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,f16c")]
unsafe fn converted<T, S, O>(input: *const u8, inout: *mut u8, count: usize)
where
    T: Copy,
    S: Copy,
    O: Combine<T> + Combine<S>,
{
    let elements = BLOCK * size_of::<Half>() / size_of::<T>();
    let bytes = BLOCK * size_of::<Half>();
    let blocks = count / elements;
    for block in 0..blocks {
        // SAFETY: the block lies within the `count` elements (contract of [`Kernel`]), and the
        // registers have `elements` elements `S` each.
        unsafe {
            let place = inout.add(block * bytes);
            let left = _mm256_cvtph_ps(_mm_loadu_si128(input.add(block * bytes).cast()));
            let mut right = _mm256_cvtph_ps(_mm_loadu_si128(place.cast()));
            each::<S, O>((&raw const left).cast(), (&raw mut right).cast(), elements);
            _mm_storeu_si128(place.cast(), _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(right));
        }
    }
    let done = blocks * bytes;
    // SAFETY: the remaining elements follow the blocks.
    unsafe { each::<T, O>(input.add(done), inout.add(done), count % elements) }
}

/// The instance of the loop for a processor of this level.
fn instance<T: Copy, S: Copy, O: Combine<T> + Combine<S>>(level: SimdLevel) -> Option<Kernel> {
    match level {
        SimdLevel::Plain => Some(plain::<T, O>),
        #[cfg(target_arch = "x86_64")]
        SimdLevel::Avx2 | SimdLevel::Avx512 => Some(converted::<T, S, O>),
    }
}

/// Sum of halves, or of complex numbers of halves.
pub(super) fn sum<T: Copy, S: Copy>(level: SimdLevel) -> Option<Kernel>
where
    Sum: Combine<T> + Combine<S>,
{
    instance::<T, S, Sum>(level)
}

/// Product of halves. That of complex numbers has other bits in single precision, where only the
/// end of the computation is rounded.
pub(super) fn product(level: SimdLevel) -> Option<Kernel> {
    instance::<Half, f32, Product>(level)
}
