//! `MPI_MINLOC` and `MPI_MAXLOC` on the value-and-index types (MPI 5.0, section 6.9.4). The smaller
//! (larger) value wins together with its index; for equal values the smaller index wins.
//!
//! Only the two fields of a pair are accessed; the padding of the program's structure is unchanged.
//! If the values are unordered (NaN), the pair in `inout` is unchanged.

//!
//! The two fields are written in either case, because which pair wins is hard to predict for a
//! processor. The compiler vectorizes the loop for pairs without padding; it is compiled for the
//! same levels as that of `loops`.

use super::{Kernel, Operation};
use crate::kernel::{SimdLevel, opaque};
use std::hint::select_unpredictable;
use std::mem::offset_of;

/// The C structure of a pair type.
#[derive(Clone, Copy)]
#[repr(C)]
struct Pair<V, I> {
    value: V,
    index: I,
}

/// Decides whether a pair of `input` wins.
trait Choose<V, I> {
    /// True if value and index of `input` replace those of `inout`.
    fn takes(input: Pair<V, I>, inout: Pair<V, I>) -> bool;
}

struct Min;
struct Max;
struct Replace;

impl<V: PartialOrd, I: PartialOrd> Choose<V, I> for Min {
    #[inline(always)]
    fn takes(input: Pair<V, I>, inout: Pair<V, I>) -> bool {
        (input.value < inout.value) | ((input.value == inout.value) & (input.index < inout.index))
    }
}

impl<V: PartialOrd, I: PartialOrd> Choose<V, I> for Max {
    #[inline(always)]
    fn takes(input: Pair<V, I>, inout: Pair<V, I>) -> bool {
        (input.value > inout.value) | ((input.value == inout.value) & (input.index < inout.index))
    }
}

impl<V, I> Choose<V, I> for Replace {
    #[inline(always)]
    fn takes(_input: Pair<V, I>, _inout: Pair<V, I>) -> bool {
        true
    }
}

/// Reduces `count` pairs by the rule `C`.
///
/// # Safety
/// Same as for [`Kernel`].
#[inline(always)]
unsafe fn each<V: Copy, I: Copy, C: Choose<V, I>>(input: *const u8, inout: *mut u8, count: usize) {
    for element in 0..count {
        let offset = element * size_of::<Pair<V, I>>();
        // SAFETY: both addresses point to `count` pairs, one extent apart (contract of [`Kernel`]);
        // the accesses allow unaligned addresses.
        unsafe {
            let place = inout.add(offset);
            let (left, right) = (fields(input.add(offset)), fields(place));
            let takes = C::takes(left, right);
            let winner = if is_padded::<V, I>() {
                fields(opaque(select_unpredictable(takes, input.add(offset).cast_mut(), place)))
            } else {
                select_unpredictable(takes, left, right)
            };
            place.cast::<V>().write_unaligned(winner.value);
            place.add(offset_of!(Pair<V, I>, index)).cast::<I>().write_unaligned(winner.index);
        }
    }
}

/// True if the structure has bytes that belong to neither field.
const fn is_padded<V, I>() -> bool {
    size_of::<V>() + size_of::<I>() < size_of::<Pair<V, I>>()
}

/// Reads the two fields of a pair.
///
/// # Safety
/// The address must point to a pair; it may be unaligned.
#[inline(always)]
unsafe fn fields<V: Copy, I: Copy>(pair: *const u8) -> Pair<V, I> {
    // SAFETY: the pair is readable (this function's contract).
    unsafe {
        let index = pair.add(offset_of!(Pair<V, I>, index)).cast::<I>();
        Pair { value: pair.cast::<V>().read_unaligned(), index: index.read_unaligned() }
    }
}

/// The loop with baseline instructions.
///
/// # Safety
/// Same as for [`Kernel`].
unsafe fn plain<V: Copy, I: Copy, C: Choose<V, I>>(input: *const u8, inout: *mut u8, count: usize) {
    // SAFETY: both addresses point to `count` pairs (contract of [`Kernel`]).
    unsafe { each::<V, I, C>(input, inout, count) }
}

/// The loop with AVX2.
///
/// # Safety
/// Same as for [`Kernel`]; the processor must support AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn wide<V: Copy, I: Copy, C: Choose<V, I>>(input: *const u8, inout: *mut u8, count: usize) {
    // SAFETY: both addresses point to `count` pairs (contract of [`Kernel`]).
    unsafe { each::<V, I, C>(input, inout, count) }
}

/// The loop with AVX-512.
///
/// # Safety
/// Same as for [`Kernel`]; the processor must support these parts of AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn wider<V: Copy, I: Copy, C: Choose<V, I>>(input: *const u8, inout: *mut u8, count: usize) {
    // SAFETY: both addresses point to `count` pairs (contract of [`Kernel`]).
    unsafe { each::<V, I, C>(input, inout, count) }
}

/// The instance of the loop for a processor of this level.
fn instance<V: Copy, I: Copy, C: Choose<V, I>>(level: SimdLevel) -> Option<Kernel> {
    #[cfg(target_arch = "x86_64")]
    match level {
        _ if is_padded::<V, I>() => {}
        SimdLevel::Plain => {}
        SimdLevel::Avx2 => return Some(wide::<V, I, C>),
        SimdLevel::Avx512 => return Some(wider::<V, I, C>),
    }
    let _ = level;
    Some(plain::<V, I, C>)
}

/// The kernels for pairs of value type `V` and index type `I`.
pub(super) fn located<V: Copy + PartialOrd, I: Copy + PartialOrd>(
    level: SimdLevel,
    operation: Operation,
) -> Option<Kernel> {
    match operation {
        Operation::MinLocation => instance::<V, I, Min>(level),
        Operation::MaxLocation => instance::<V, I, Max>(level),
        Operation::Replace => Some(plain::<V, I, Replace>),
        _ => None,
    }
}
