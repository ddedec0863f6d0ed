//! Complex numbers: real part followed by imaginary part, as in C, C++ and Fortran.
//!
//! The product uses the plain formula, without the recovery of infinities of C's annex G: it
//! vectorizes, and is bitwise commutative. A part of a product that is NaN has the default bits of
//! NaN for single and double precision.

use super::element::{Number, Real};

/// A complex number.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Complex<T> {
    real: T,
    imaginary: T,
}

impl<T: Real> Number for Complex<T> {
    // Products of halves are seldom, and so long that another instance takes 6 KiB.
    const GAINS_FROM_AVX512: bool = size_of::<T>() >= size_of::<f32>();

    #[inline(always)]
    fn plus(self, right: Self) -> Self {
        Complex { real: self.real.plus(right.real), imaginary: self.imaginary.plus(right.imaginary) }
    }

    #[inline(always)]
    fn times(self, right: Self) -> Self {
        let (a, b) = (self.real, self.imaginary);
        let (c, d) = (right.real, right.imaginary);
        let real = T::difference_of_products((a, c), (b, d));
        Complex { real, imaginary: T::sum_of_products((a, d), (b, c)) }
    }
}
