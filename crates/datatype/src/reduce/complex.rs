//! Complex numbers: real part, then imaginary part, as C, C++ and Fortran lay them out.
//!
//! The product is the plain formula, without the recovery of infinities in annex G of the C
//! standard: it vectorises, and exchanging the operands changes no bit of the result.

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
