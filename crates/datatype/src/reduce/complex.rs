//! Complex numbers: real part followed by imaginary part, as in C, C++ and Fortran.
//!
//! The product uses the plain formula, without the recovery of infinities of C's annex G: it
//! vectorizes, and is bitwise commutative.

use super::element::{Number, Real};

/// A complex number.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Complex<T> {
    real: T,
    imaginary: T,
}

impl<T: Real> Number for Complex<T> {
    #[inline(always)]
    fn plus(self, right: Self) -> Self {
        Complex { real: self.real.plus(right.real), imaginary: self.imaginary.plus(right.imaginary) }
    }

    #[inline(always)]
    fn times(self, right: Self) -> Self {
        Complex {
            real: self.real.times(right.real).minus(self.imaginary.times(right.imaginary)),
            imaginary: self.real.times(right.imaginary).plus(self.imaginary.times(right.real)),
        }
    }
}
