//! `MPI_MINLOC` and `MPI_MAXLOC` on the value-and-index types (MPI 5.0, section 6.9.4). The smaller
//! (larger) value wins together with its index; for equal values the smaller index wins.
//!
//! Only the two fields of a pair are accessed; the padding of the program's structure is unchanged.
//! If the values are unordered (NaN), the pair in `inout` is unchanged.

use super::{Kernel, Operation};
use std::cmp::Ordering;
use std::mem::offset_of;

/// The C structure of a pair type.
#[repr(C)]
struct Pair<V, I> {
    value: V,
    index: I,
}

/// Decides whether a pair of `input` wins.
trait Choose<V, I> {
    /// True if value and index of `input` replace those of `inout`.
    fn takes(order: Option<Ordering>, input: I, inout: I) -> bool;
}

struct Min;
struct Max;
struct Replace;

impl<V, I: PartialOrd> Choose<V, I> for Min {
    #[inline(always)]
    fn takes(order: Option<Ordering>, input: I, inout: I) -> bool {
        order == Some(Ordering::Less) || order == Some(Ordering::Equal) && input < inout
    }
}

impl<V, I: PartialOrd> Choose<V, I> for Max {
    #[inline(always)]
    fn takes(order: Option<Ordering>, input: I, inout: I) -> bool {
        order == Some(Ordering::Greater) || order == Some(Ordering::Equal) && input < inout
    }
}

impl<V, I> Choose<V, I> for Replace {
    #[inline(always)]
    fn takes(_order: Option<Ordering>, _input: I, _inout: I) -> bool {
        true
    }
}

/// Reduces `count` pairs by the rule `C`.
///
/// # Safety
/// Same as for [`Kernel`].
unsafe fn each<V: Copy + PartialOrd, I: Copy, C: Choose<V, I>>(input: *const u8, inout: *mut u8, count: usize) {
    let index_at = offset_of!(Pair<V, I>, index);
    for element in 0..count {
        let offset = element * size_of::<Pair<V, I>>();
        // SAFETY: both addresses point to `count` pairs, one extent apart (contract of [`Kernel`]);
        // the accesses allow unaligned addresses.
        unsafe {
            let (input, inout) = (input.add(offset), inout.add(offset));
            let value: V = input.cast::<V>().read_unaligned();
            let index: I = input.add(index_at).cast::<I>().read_unaligned();
            let order = value.partial_cmp(&inout.cast::<V>().read_unaligned());
            let place = inout.add(index_at).cast::<I>();
            if C::takes(order, index, place.read_unaligned()) {
                inout.cast::<V>().write_unaligned(value);
                place.write_unaligned(index);
            }
        }
    }
}

/// The kernels for pairs of value type `V` and index type `I`.
pub(super) fn located<V: Copy + PartialOrd, I: Copy + PartialOrd>(operation: Operation) -> Option<Kernel> {
    match operation {
        Operation::MinLocation => Some(each::<V, I, Min>),
        Operation::MaxLocation => Some(each::<V, I, Max>),
        Operation::Replace => Some(each::<V, I, Replace>),
        _ => None,
    }
}
