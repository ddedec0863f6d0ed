//! The loop over elements, generic over types and operations, and the tables that select its
//! instances.
//!
//! The loop is written so that the compiler vectorizes it. It is compiled for the baseline, for
//! AVX2 and, where that is faster, for AVX-512. All give the same bits, because none uses
//! instructions that fuse or reorder operations.

use super::element::{Number, Ordered, Truth};
use super::{Kernel, Operation};
use crate::kernel::SimdLevel;
use std::ops::{BitAnd, BitOr, BitXor};

/// One operation on one pair of elements.
pub(super) trait Combine<T> {
    /// True if it is computed faster with AVX-512 than with AVX2. Most operations are not: the
    /// caches are their limit.
    const GAINS_FROM_AVX512: bool = false;

    /// `input op inout`
    fn combine(input: T, inout: T) -> T;
}

macro_rules! operations {
    ($(
        $name:ident: $bound:path,
        |$input:ident, $inout:ident| $result:expr $(, avx512 if $gains:expr)?;
    )*) => {$(
        pub(super) struct $name;

        impl<T: $bound> Combine<T> for $name {
            $(const GAINS_FROM_AVX512: bool = $gains;)?

            #[inline(always)]
            fn combine($input: T, $inout: T) -> T {
                $result
            }
        }
    )*};
}

operations! {
    Sum: Number, |input, inout| input.plus(inout);
    Product: Number, |input, inout| input.times(inout), avx512 if T::GAINS_FROM_AVX512;
    Max: Ordered, |input, inout| (if input > inout { input } else { inout }).computed();
    Min: Ordered, |input, inout| (if input < inout { input } else { inout }).computed();
    BitwiseAnd: Bits, |input, inout| input & inout;
    BitwiseOr: Bits, |input, inout| input | inout;
    BitwiseXor: Bits, |input, inout| input ^ inout;
    LogicalAnd: Truth, |input, inout| T::from_truth(input.is_true() & inout.is_true());
    LogicalOr: Truth, |input, inout| T::from_truth(input.is_true() | inout.is_true());
    LogicalXor: Truth, |input, inout| T::from_truth(input.is_true() ^ inout.is_true());
}

/// Elements with bitwise operations.
pub(super) trait Bits: Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> {}
impl<T: Copy + BitAnd<Output = T> + BitOr<Output = T> + BitXor<Output = T>> Bits for T {}

/// The loop over elements.
///
/// # Safety
/// Same as for [`Kernel`].
#[inline(always)]
pub(super) unsafe fn each<T: Copy, O: Combine<T>>(input: *const u8, inout: *mut u8, count: usize) {
    let (input, inout) = (input.cast::<T>(), inout.cast::<T>());
    for index in 0..count {
        // SAFETY: both addresses point to `count` elements (contract of [`Kernel`]); the accesses
        // allow unaligned addresses.
        unsafe {
            let place = inout.add(index);
            place.write_unaligned(O::combine(input.add(index).read_unaligned(), place.read_unaligned()));
        }
    }
}

/// The loop with baseline instructions.
///
/// # Safety
/// Same as for [`Kernel`].
pub(super) unsafe fn plain<T: Copy, O: Combine<T>>(input: *const u8, inout: *mut u8, count: usize) {
    // SAFETY: both addresses point to `count` elements (contract of [`Kernel`]).
    unsafe { each::<T, O>(input, inout, count) }
}

/// The loop with AVX2.
///
/// # Safety
/// Same as for [`Kernel`]; the processor must support AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn wide<T: Copy, O: Combine<T>>(input: *const u8, inout: *mut u8, count: usize) {
    // SAFETY: both addresses point to `count` elements (contract of [`Kernel`]).
    unsafe { each::<T, O>(input, inout, count) }
}

/// The loop with AVX-512.
///
/// # Safety
/// Same as for [`Kernel`]; the processor must support these parts of AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn wider<T: Copy, O: Combine<T>>(input: *const u8, inout: *mut u8, count: usize) {
    // SAFETY: both addresses point to `count` elements (contract of [`Kernel`]).
    unsafe { each::<T, O>(input, inout, count) }
}

/// The instance of the loop for a processor of this level. Numbers of 16 bytes, which is also their
/// alignment, are not computed in vectors.
fn instance<T: Copy, O: Combine<T>>(level: SimdLevel) -> Option<Kernel> {
    #[cfg(target_arch = "x86_64")]
    match level {
        _ if align_of::<T>() > 8 => {}
        SimdLevel::Plain => {}
        SimdLevel::Avx512 if O::GAINS_FROM_AVX512 => return Some(wider::<T, O>),
        SimdLevel::Avx2 | SimdLevel::Avx512 => return Some(wide::<T, O>),
    }
    // Other architectures have one level.
    let _ = (level, O::GAINS_FROM_AVX512);
    Some(plain::<T, O>)
}

/// Operations on integers.
pub(super) fn integer<T>(level: SimdLevel, operation: Operation) -> Option<Kernel>
where
    T: Number + Ordered + Bits + Truth,
{
    numeric::<T>(level, operation)
        .or_else(|| ordered::<T>(level, operation))
        .or_else(|| signless::<T>(level, operation))
        .or_else(|| logical::<T>(level, operation))
}

/// Operations on real numbers.
pub(super) fn floating<T>(level: SimdLevel, operation: Operation) -> Option<Kernel>
where
    T: Number + Ordered,
{
    numeric::<T>(level, operation).or_else(|| ordered::<T>(level, operation))
}

/// Sum and product.
pub(super) fn numeric<T: Number>(level: SimdLevel, operation: Operation) -> Option<Kernel> {
    match operation {
        Operation::Sum => instance::<T, Sum>(level),
        _ => product::<T>(level, operation),
    }
}

/// Product.
pub(super) fn product<T: Number>(level: SimdLevel, operation: Operation) -> Option<Kernel> {
    match operation {
        Operation::Product => instance::<T, Product>(level),
        _ => None,
    }
}

/// Maximum and minimum.
pub(super) fn ordered<T: Ordered>(level: SimdLevel, operation: Operation) -> Option<Kernel> {
    match operation {
        Operation::Max => instance::<T, Max>(level),
        Operation::Min => instance::<T, Min>(level),
        _ => None,
    }
}

/// Bitwise operations.
pub(super) fn signless<T: Bits>(level: SimdLevel, operation: Operation) -> Option<Kernel> {
    match operation {
        Operation::BitwiseAnd => instance::<T, BitwiseAnd>(level),
        Operation::BitwiseOr => instance::<T, BitwiseOr>(level),
        Operation::BitwiseXor => instance::<T, BitwiseXor>(level),
        _ => None,
    }
}

/// Logical operations.
pub(super) fn logical<T: Truth>(level: SimdLevel, operation: Operation) -> Option<Kernel> {
    match operation {
        Operation::LogicalAnd => instance::<T, LogicalAnd>(level),
        Operation::LogicalOr => instance::<T, LogicalOr>(level),
        Operation::LogicalXor => instance::<T, LogicalXor>(level),
        _ => None,
    }
}

/// The kernel of `MPI_REPLACE`.
///
/// # Safety
/// Same as for [`Kernel`].
pub(super) unsafe fn moved<T: Copy>(input: *const u8, inout: *mut u8, count: usize) {
    // SAFETY: both addresses point to `count` elements (contract of [`Kernel`]); `copy` allows the
    // two arrays to be identical.
    unsafe { std::ptr::copy(input, inout, count * size_of::<T>()) }
}

/// The kernel of `MPI_NO_OP`.
///
/// # Safety
/// None is required; the signature is that of [`Kernel`].
pub(super) unsafe fn nothing(_input: *const u8, _inout: *mut u8, _count: usize) {}
