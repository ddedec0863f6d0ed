//! IEEE binary16 numbers, computed in binary32.
//!
//! One operation on two halves in single precision, rounded again to half, is correctly rounded,
//! because 24 bits are at least 2 * 11 + 2. The conversions are branch-free, so that loops over
//! them vectorize, and treat NaNs as those of processors do: the quiet bit is set, and the rest is
//! kept as far as it fits. Comparisons are made on the bits.

use super::element::{Number, Ordered, Real};
use std::cmp::Ordering;

/// A binary16 number, represented by its bits.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Half(pub(super) u16);

/// 2^16: from here on a single is an infinite half. Smaller ones that are too large round up to it.
const TOO_LARGE: u32 = 0x4780_0000;
/// Smallest normal half, as a single: 2^-14.
const SMALLEST_NORMAL: u32 = 0x3880_0000;
/// Infinity, as a single.
const INFINITY: u32 = 0x7f80_0000;

/// Returns `yes` if the condition holds, else `no`; branch-free, so that loops vectorize.
#[inline(always)]
fn select(condition: bool, yes: u32, no: u32) -> u32 {
    let mask = u32::from(condition).wrapping_neg();
    (yes & mask) | (no & !mask)
}

impl Half {
    /// Converts to single precision; exact.
    #[inline(always)]
    pub(super) fn widen(self) -> f32 {
        let sign = u32::from(self.0 & 0x8000) << 16;
        let magnitude = u32::from(self.0 & 0x7fff) << 13;
        // Rebases the exponent from bias 15 to 127. A subnormal half is the fraction of a number in
        // [0.5, 1), minus 0.5.
        let normal = magnitude + (112 << 23);
        let subnormal = (f32::from_bits(u32::from(self.0 & 0x3ff) | 0x3f00_0000) - 0.5).to_bits();
        let finite = select(magnitude < 1 << 23, subnormal, normal);
        let special = magnitude | INFINITY;
        f32::from_bits(sign | select(magnitude >= 0x7c00 << 13, special, finite))
    }

    /// Rounds to the nearest half, ties to even.
    #[inline(always)]
    pub(super) fn narrow(single: f32) -> Half {
        let bits = single.to_bits();
        let sign = bits >> 16 & 0x8000;
        let magnitude = bits & 0x7fff_ffff;
        let special = select(magnitude > INFINITY, 0x7e00 | (magnitude >> 13 & 0x3ff), 0x7c00);
        // The last bit of 0.5 has the weight of the last bit of a subnormal half, so the addition
        // rounds.
        let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
        let odd = magnitude >> 13 & 1;
        let normal = magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + odd) >> 13;
        let finite = select(magnitude < SMALLEST_NORMAL, subnormal, normal);
        Half((sign | select(magnitude >= TOO_LARGE, special, finite)) as u16)
    }
}

impl Half {
    /// True unless it is NaN.
    #[inline(always)]
    fn is_number(self) -> bool {
        self.0 & 0x7fff <= 0x7c00
    }

    /// An integer in the order of the numbers. Both zeros have the same one.
    #[inline(always)]
    fn key(self) -> i16 {
        let sign = self.0 as i16 >> 15;
        ((self.0 & 0x7fff) as i16 ^ sign) - sign
    }
}

impl Number for Half {
    #[inline(always)]
    fn plus(self, right: Self) -> Self {
        Half::narrow(self.widen().plus(right.widen()))
    }
    #[inline(always)]
    fn times(self, right: Self) -> Self {
        Half::narrow(self.widen().times(right.widen()))
    }
}

impl Real for Half {
    #[inline(always)]
    fn minus(self, right: Self) -> Self {
        Half::narrow(self.widen() - right.widen())
    }
}

impl Ordered for Half {}

impl PartialEq for Half {
    #[inline(always)]
    fn eq(&self, right: &Self) -> bool {
        self.partial_cmp(right) == Some(Ordering::Equal)
    }
}

impl PartialOrd for Half {
    #[inline(always)]
    fn partial_cmp(&self, right: &Self) -> Option<Ordering> {
        (self.is_number() & right.is_number()).then(|| self.key().cmp(&right.key()))
    }
    #[inline(always)]
    fn lt(&self, right: &Self) -> bool {
        self.is_number() & right.is_number() & (self.key() < right.key())
    }
    #[inline(always)]
    fn gt(&self, right: &Self) -> bool {
        right.lt(self)
    }
}
