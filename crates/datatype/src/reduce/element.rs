//! Traits for the operations that kernels perform on elements, and their implementation for native
//! numbers.
//!
//! Integers wrap around on overflow. Results depend only on the two operands, so a loop over
//! elements may be divided anywhere.

/// Sum and product.
pub(super) trait Number: Copy {
    /// `self + right`
    fn plus(self, right: Self) -> Self;
    /// `self * right`
    fn times(self, right: Self) -> Self;
}

/// A real number; complex numbers consist of two.
pub(super) trait Real: Number {
    /// `self - right`
    fn minus(self, right: Self) -> Self;
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

macro_rules! floats {
    ($($float:ty)*) => {$(
        impl Number for $float {
            #[inline(always)]
            fn plus(self, right: Self) -> Self {
                self + right
            }
            #[inline(always)]
            fn times(self, right: Self) -> Self {
                self * right
            }
        }

        impl Real for $float {
            #[inline(always)]
            fn minus(self, right: Self) -> Self {
                self - right
            }
        }
    )*};
}

integers! { i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 }
floats! { f32 f64 }
