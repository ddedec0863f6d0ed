//! Traits for the operations that kernels perform on elements, and their implementation for native
//! numbers.
//!
//! Integers wrap around on overflow. Results depend only on the two operands, so a loop over
//! elements may be divided anywhere. This includes the bits of a NaN. If both operands are NaN, the
//! result is the left one; the compiler alone would not decide that, because it may exchange the
//! operands of an addition, and processors return the first of two NaNs.

#[cfg(target_arch = "x86_64")]
use std::arch::asm;

/// Sum and product.
pub(super) trait Number: Copy {
    /// True if products are computed faster with AVX-512 than with AVX2.
    const GAINS_FROM_AVX512: bool = false;

    /// `self + right`
    fn plus(self, right: Self) -> Self;
    /// `self * right`
    fn times(self, right: Self) -> Self;
}

/// A real number; complex numbers consist of two.
pub(super) trait Real: Number {
    /// `self - right`
    fn minus(self, right: Self) -> Self;

    /// The sum of two products of a left and a right number.
    #[inline(always)]
    fn sum_of_products(first: (Self, Self), second: (Self, Self)) -> Self {
        first.0.times(first.1).plus(second.0.times(second.1))
    }

    /// The difference of two products.
    #[inline(always)]
    fn difference_of_products(first: (Self, Self), second: (Self, Self)) -> Self {
        first.0.times(first.1).minus(second.0.times(second.1))
    }
}

/// Elements that can be compared.
pub(super) trait Ordered: Copy + PartialOrd {
    /// Returns the number itself, but hides from the compiler that it may be the one in memory
    /// already. Of a choice between that one and another the compiler would make a masked store,
    /// and AMD's processors take three to six times as long for those.
    #[inline(always)]
    fn computed(self) -> Self {
        self
    }
}

/// Truth values: 0 is false; true is written as 1.
pub(super) trait Truth: Copy {
    /// True if the element is not zero.
    fn is_true(self) -> bool;
    /// 1 or 0.
    fn from_truth(truth: bool) -> Self;
}

macro_rules! integers {
    ($($integer:ty)*) => {$(
        impl Number for $integer {
            #[inline(always)]
            fn plus(self, right: Self) -> Self {
                self.wrapping_add(right)
            }
            #[inline(always)]
            fn times(self, right: Self) -> Self {
                self.wrapping_mul(right)
            }
        }

        impl Ordered for $integer {
            #[inline(always)]
            fn computed(self) -> Self {
                // AVX2 has instructions for the minimum and maximum of shorter integers.
                if size_of::<$integer>() == 8 { self & all_ones() as $integer } else { self }
            }
        }

        impl Truth for $integer {
            #[inline(always)]
            fn is_true(self) -> bool {
                self != 0
            }
            #[inline(always)]
            fn from_truth(truth: bool) -> Self {
                <$integer>::from(truth)
            }
        }
    )*};
}

/// A mask of which the compiler does not know that all bits are set. It is computed once per loop.
#[inline(always)]
fn all_ones() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        let mut mask = u64::MAX;
        // SAFETY: the assembly is empty; it only passes the mask through a register.
        unsafe {
            asm!("/* {0} */", inout(reg) mask, options(pure, nomem, nostack, preserves_flags));
        }
        mask
    }
    #[cfg(not(target_arch = "x86_64"))]
    u64::MAX
}

macro_rules! floats {
    ($($float:ty, $bits:ty;)*) => {$(
        impl Number for $float {
            #[inline(always)]
            fn plus(self, right: Self) -> Self {
                self + if self.is_nan() { self } else { right }
            }
            #[inline(always)]
            fn times(self, right: Self) -> Self {
                self * if self.is_nan() { self } else { right }
            }
        }

        impl Ordered for $float {
            #[inline(always)]
            fn computed(self) -> Self {
                Self::from_bits(self.to_bits() & all_ones() as $bits)
            }
        }

        impl Real for $float {
            #[inline(always)]
            fn minus(self, right: Self) -> Self {
                self - right
            }
            // One test of the result takes less time than one of each operand.
            #[inline(always)]
            fn sum_of_products(first: (Self, Self), second: (Self, Self)) -> Self {
                let sum = first.0 * first.1 + second.0 * second.1;
                if sum.is_nan() { Self::NAN } else { sum }
            }
            #[inline(always)]
            fn difference_of_products(first: (Self, Self), second: (Self, Self)) -> Self {
                let difference = first.0 * first.1 - second.0 * second.1;
                if difference.is_nan() { Self::NAN } else { difference }
            }
        }
    )*};
}

integers! { i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 }
floats! { f32, u32; f64, u64; }
