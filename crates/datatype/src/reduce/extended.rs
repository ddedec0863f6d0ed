//! C's `long double` on x86-64: the 80-bit x87 format in 16 bytes, computed by the x87 unit.
//!
//! Implemented in inline assembly, because Rust has no such type and the build must not require a C
//! compiler. The six padding bytes of a result are zero.

use super::element::{Number, Ordered, Real};
use std::arch::asm;
use std::cmp::Ordering;

/// An 80-bit number in the first 10 of 16 bytes.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(super) struct Extended(pub(super) [u8; 16]);

/// The 10 bytes that the unit stores, as 8 and 2 of them. They are loaded in the same way, because
/// a processor waits where one load needs the bytes of two recent stores.
#[repr(C)]
struct Stored {
    significand: u64,
    exponent: u16,
}

/// Applies an x87 instruction that pops two numbers and pushes one.
macro_rules! arithmetic {
    ($instruction:literal, $left:expr, $right:expr) => {{
        let mut result = Stored { significand: 0, exponent: 0 };
        // SAFETY: the three addresses are those of local values, of which the instructions access
        // 10 bytes. All x87 registers are declared as clobbered, so the x87 stack is empty before
        // the instructions, and they leave it empty.
        unsafe {
            asm!(
                "fld tbyte ptr [{left}]",
                "fld tbyte ptr [{right}]",
                $instruction,
                "fstp tbyte ptr [{result}]",
                left = in(reg) &raw const $left,
                right = in(reg) &raw const $right,
                result = in(reg) &raw mut result,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack),
            );
        }
        Extended((u128::from(result.exponent) << 64 | u128::from(result.significand)).to_le_bytes())
    }};
}

impl Number for Extended {
    #[inline(always)]
    fn plus(self, right: Self) -> Self {
        arithmetic!("faddp st(1), st", self, right)
    }
    #[inline(always)]
    fn times(self, right: Self) -> Self {
        arithmetic!("fmulp st(1), st", self, right)
    }
}

impl Real for Extended {
    #[inline(always)]
    fn minus(self, right: Self) -> Self {
        arithmetic!("fsubp st(1), st", self, right)
    }
}

/// What a comparison of two numbers sets.
struct Flags {
    above: bool,
    below: bool,
    unordered: bool,
}

impl Extended {
    #[inline(always)]
    fn compare(&self, right: &Self) -> Flags {
        let (above, below, unordered): (u8, u8, u8);
        // SAFETY: the two addresses are those of `self` and `right`, of which the instructions read
        // 10 bytes. All x87 registers are declared as clobbered; the comparison pops one number,
        // and the store to st(0) pops the other without changing the flags.
        unsafe {
            asm!(
                "fld tbyte ptr [{right}]",
                "fld tbyte ptr [{left}]",
                "fucomip st, st(1)",
                "fstp st(0)",
                "seta {above}",
                "setb {below}",
                "setp {unordered}",
                left = in(reg) &raw const *self,
                right = in(reg) &raw const *right,
                above = out(reg_byte) above,
                below = out(reg_byte) below,
                unordered = out(reg_byte) unordered,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(pure, nostack, readonly),
            );
        }
        Flags { above: above != 0, below: below != 0, unordered: unordered != 0 }
    }
}

impl Ordered for Extended {}

impl PartialEq for Extended {
    #[inline(always)]
    fn eq(&self, right: &Self) -> bool {
        let flags = self.compare(right);
        !flags.above & !flags.below
    }
}

impl PartialOrd for Extended {
    #[inline(always)]
    fn partial_cmp(&self, right: &Self) -> Option<Ordering> {
        match self.compare(right) {
            Flags { unordered: true, .. } => None,
            Flags { above: true, .. } => Some(Ordering::Greater),
            Flags { below: true, .. } => Some(Ordering::Less),
            _ => Some(Ordering::Equal),
        }
    }
    // The two that kernels use, without branches.
    #[inline(always)]
    fn lt(&self, right: &Self) -> bool {
        let flags = self.compare(right);
        flags.below & !flags.unordered
    }
    #[inline(always)]
    fn gt(&self, right: &Self) -> bool {
        self.compare(right).above
    }
}
