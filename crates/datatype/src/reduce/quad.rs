//! IEEE binary128 numbers (`MPI_REAL16`, and C's `long double` on some architectures) in integer
//! arithmetic.
//!
//! Sum, product and comparison follow IEEE 754: round to nearest, ties to even, with subnormal
//! numbers, infinities and quiet NaNs. Intermediate significands have their leading bit at
//! [`LEADING`] and three bits below the last fraction bit, the lowest of which is sticky: it is the
//! OR of all bits shifted out.

use super::element::{Number, Ordered, Real};
use std::cmp::Ordering;

/// A binary128 number, represented by its bits.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Quad(pub(super) u128);

const SIGN: u128 = 1 << 127;
const FRACTION: u32 = 112;
const INFINITY: u128 = 0x7fff << FRACTION;
const NOT_A_NUMBER: u128 = INFINITY | 1 << (FRACTION - 1);
/// Bits kept below the fraction until rounding.
const GUARD: u32 = 3;
const LEADING: u32 = FRACTION + GUARD;
const BIAS: i32 = 0x3fff;

/// Shifts right; the lowest bit is sticky.
fn shifted(significand: u128, distance: u32) -> u128 {
    match distance {
        0 => significand,
        1..=127 => significand >> distance | u128::from(significand << (128 - distance) != 0),
        _ => u128::from(significand != 0),
    }
}

/// Rounds `significand * 2^(exponent - LEADING)`, where `exponent` is biased, and encodes the
/// number.
fn assembled(sign: u128, exponent: i32, significand: u128) -> Quad {
    if significand == 0 {
        return Quad(sign);
    }
    let position = significand.ilog2();
    let mut exponent = exponent + position as i32 - LEADING as i32;
    let mut significand = match position.checked_sub(LEADING) {
        Some(above) => shifted(significand, above),
        None => significand << (LEADING - position),
    };
    if exponent < 1 {
        significand = shifted(significand, exponent.abs_diff(1));
        exponent = 1;
    }
    if exponent >= 0x7fff {
        return Quad(sign | INFINITY);
    }
    let rest = significand & ((1 << GUARD) - 1);
    let kept = significand >> GUARD;
    let half = 1 << (GUARD - 1);
    let up = rest > half || rest == half && kept & 1 == 1;
    // The leading bit adds 1 to the exponent field. A carry out of the rounding gives the right
    // result, up to infinity.
    let magnitude = (((exponent - 1) as u128) << FRACTION) + kept + u128::from(up);
    Quad(sign | magnitude)
}

impl Quad {
    fn sign(self) -> u128 {
        self.0 & SIGN
    }

    fn magnitude(self) -> u128 {
        self.0 & !SIGN
    }

    fn is_nan(self) -> bool {
        self.magnitude() > INFINITY
    }

    /// Biased exponent, and significand with its leading bit at the position of the fraction;
    /// subnormals have exponent 1.
    fn parts(self) -> (i32, u128) {
        let exponent = (self.magnitude() >> FRACTION) as i32;
        let fraction = self.0 & ((1 << FRACTION) - 1);
        if exponent == 0 { (1, fraction) } else { (exponent, fraction | 1 << FRACTION) }
    }
}

/// The product of two numbers below 2^113, shifted right by `FRACTION - GUARD` bits. The lowest bit
/// is sticky: it is also set if any bit that was shifted out was set.
fn product(left: u128, right: u128) -> u128 {
    let mask = u128::from(u64::MAX);
    let (left_high, left_low) = (left >> 64, left & mask);
    let (right_high, right_low) = (right >> 64, right & mask);
    let low = left_low * right_low;
    let middle = left_high * right_low + (low >> 64);
    let middle_two = left_low * right_high + (middle & mask);
    let high = left_high * right_high + (middle >> 64) + (middle_two >> 64);
    let lower = middle_two << 64 | low & mask;
    let distance = FRACTION - GUARD;
    high << (128 - distance) | lower >> distance | u128::from(lower << (128 - distance) != 0)
}

impl Number for Quad {
    fn plus(self, right: Self) -> Self {
        if self.is_nan() || right.is_nan() {
            return Quad(NOT_A_NUMBER);
        }
        let (large, small) = if self.magnitude() >= right.magnitude() { (self, right) } else { (right, self) };
        if large.magnitude() == INFINITY {
            let cancels = small.magnitude() == INFINITY && large.sign() != small.sign();
            return if cancels { Quad(NOT_A_NUMBER) } else { large };
        }
        let (exponent, significand) = large.parts();
        let (small_exponent, small_significand) = small.parts();
        let significand = significand << GUARD;
        let addend = shifted(small_significand << GUARD, exponent.abs_diff(small_exponent));
        if large.sign() == small.sign() {
            assembled(large.sign(), exponent, significand + addend)
        } else {
            let difference = significand - addend;
            assembled(if difference == 0 { 0 } else { large.sign() }, exponent, difference)
        }
    }

    fn times(self, right: Self) -> Self {
        let sign = self.sign() ^ right.sign();
        if self.is_nan() || right.is_nan() {
            return Quad(NOT_A_NUMBER);
        }
        let infinite = self.magnitude() == INFINITY || right.magnitude() == INFINITY;
        let zero = self.magnitude() == 0 || right.magnitude() == 0;
        match (infinite, zero) {
            (true, true) => return Quad(NOT_A_NUMBER),
            (true, false) => return Quad(sign | INFINITY),
            (false, true) => return Quad(sign),
            (false, false) => {}
        }
        let (exponent, significand) = self.parts();
        let (right_exponent, right_significand) = right.parts();
        assembled(sign, exponent + right_exponent - BIAS, product(significand, right_significand))
    }
}

impl Real for Quad {
    fn minus(self, right: Self) -> Self {
        self.plus(Quad(right.0 ^ SIGN))
    }
}

impl Ordered for Quad {}

impl PartialEq for Quad {
    fn eq(&self, right: &Self) -> bool {
        self.partial_cmp(right) == Some(Ordering::Equal)
    }
}

impl PartialOrd for Quad {
    fn partial_cmp(&self, right: &Self) -> Option<Ordering> {
        if self.is_nan() || right.is_nan() {
            return None;
        }
        let signed = |quad: &Quad| {
            let magnitude = quad.magnitude() as i128;
            if quad.sign() == 0 { magnitude } else { -magnitude }
        };
        Some(signed(self).cmp(&signed(right)))
    }
}
