//! The loop over elements, generic over types and operations, and the tables that select its
//! instances.
//!
//! The loop is written so that the compiler vectorizes it, and is compiled a second time for AVX2.
//! Both give the same bits, because neither uses instructions that fuse or reorder operations.

use super::element::{Number, Truth};
use super::{Kernel, Operation};
use std::ops::{BitAnd, BitOr, BitXor};

/// One operation on one pair of elements.
trait Combine<T> {
    /// `input op inout`
    fn combine(input: T, inout: T) -> T;
}

macro_rules! operations {
    ($($name:ident: $bound:path, |$input:ident, $inout:ident| $result:expr;)*) => {$(
        struct $name;

        impl<T: $bound> Combine<T> for $name {
            #[inline(always)]
            fn combine($input: T, $inout: T) -> T {
                $result
            }
        }
    )*};
}

operations! {
    Sum: Number, |input, inout| input.plus(inout);
    Product: Number, |input, inout| input.times(inout);
    Max: Ordered, |input, inout| if input > inout { input } else { inout };
    Min: Ordered, |input, inout| if input < inout { input } else { inout };
    BitwiseAnd: Bits, |input, inout| input & inout;
    BitwiseOr: Bits, |input, inout| input | inout;
    BitwiseXor: Bits, |input, inout| input ^ inout;
    LogicalAnd: Truth, |input, inout| T::from_truth(input.is_true() & inout.is_true());
    LogicalOr: Truth, |input, inout| T::from_truth(input.is_true() | inout.is_true());
    LogicalXor: Truth, |input, inout| T::from_truth(input.is_true() ^ inout.is_true());
}

/// Elements that can be compared.
pub(super) trait Ordered: Copy + PartialOrd {}
impl<T: Copy + PartialOrd> Ordered for T {}

/// Elements with bitwise operations.
pub(super) trait Bits: Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> {}
impl<T: Copy + BitAnd<Output = T> + BitOr<Output = T> + BitXor<Output = T>> Bits for T {}

/// The loop over elements.
///
/// # Safety
/// Same as for [`Kernel`].
#[inline(always)]
unsafe fn each<T: Copy, O: Combine<T>>(input: *const u8, inout: *mut u8, count: usize) {
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
unsafe fn plain<T: Copy, O: Combine<T>>(input: *const u8, inout: *mut u8, count: usize) {
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

/// The instance of the loop for this processor.
fn instance<T: Copy, O: Combine<T>>() -> Option<Kernel> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        return Some(wide::<T, O>);
    }
    Some(plain::<T, O>)
}

/// Operations on integers.
pub(super) fn integer<T: Number + Ordered + Bits + Truth>(operation: Operation) -> Option<Kernel> {
    numeric::<T>(operation)
        .or_else(|| ordered::<T>(operation))
        .or_else(|| signless::<T>(operation))
        .or_else(|| logical::<T>(operation))
}

/// Operations on real numbers.
pub(super) fn floating<T: Number + Ordered>(operation: Operation) -> Option<Kernel> {
    numeric::<T>(operation).or_else(|| ordered::<T>(operation))
}

/// Sum and product.
pub(super) fn numeric<T: Number>(operation: Operation) -> Option<Kernel> {
    match operation {
        Operation::Sum => instance::<T, Sum>(),
        Operation::Product => instance::<T, Product>(),
        _ => None,
    }
}

/// Maximum and minimum.
fn ordered<T: Ordered>(operation: Operation) -> Option<Kernel> {
    match operation {
        Operation::Max => instance::<T, Max>(),
        Operation::Min => instance::<T, Min>(),
        _ => None,
    }
}

/// Bitwise operations.
pub(super) fn signless<T: Bits>(operation: Operation) -> Option<Kernel> {
    match operation {
        Operation::BitwiseAnd => instance::<T, BitwiseAnd>(),
        Operation::BitwiseOr => instance::<T, BitwiseOr>(),
        Operation::BitwiseXor => instance::<T, BitwiseXor>(),
        _ => None,
    }
}

/// Logical operations.
pub(super) fn logical<T: Truth>(operation: Operation) -> Option<Kernel> {
    match operation {
        Operation::LogicalAnd => instance::<T, LogicalAnd>(),
        Operation::LogicalOr => instance::<T, LogicalOr>(),
        Operation::LogicalXor => instance::<T, LogicalXor>(),
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
