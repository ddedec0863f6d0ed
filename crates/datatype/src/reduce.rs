//! Reduction kernels: `inout[i] = input[i] op inout[i]` for the predefined operations of MPI 5.0,
//! section 6.9.2, on the predefined datatypes that the standard allows for each (section 6.9.4 for
//! the value-and-index types).
//!
//! [`kernel`] selects the loop once, before the data arrives; the loop takes only two addresses and
//! a count. The order of operands is exact (`input` on the left), an element is combined only with
//! its counterpart, and no result depends on the length of the buffer, its alignment or the vector
//! instructions of the processor. Reproducible reductions rely on this.

mod complex;
mod converted;
mod element;
#[cfg(target_arch = "x86_64")]
mod extended;
mod half;
mod loops;
mod pair;
mod quad;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use crate::basic::{self, Basic, Class, Float, ReductionGroup};
use crate::kernel::SimdLevel;
use complex::Complex;
use half::Half;
use loops::{floating, integer, logical, moved, numeric, ordered, product, signless};
use quad::Quad;

#[cfg(target_arch = "x86_64")]
use extended::Extended;
/// C's `long double` has the IEEE format except on x86-64.
#[cfg(not(target_arch = "x86_64"))]
use quad::Quad as Extended;

/// Combines `count` elements of `input` into `inout`: `kernel(input, inout, count)`.
///
/// # Safety
/// Both addresses must point to `count` elements, one extent ([`Basic::extent`]) apart; `input`
/// must be readable and `inout` readable and writable. They may be unaligned. The two arrays must
/// be identical or disjoint.
pub type Kernel = unsafe fn(input: *const u8, inout: *mut u8, count: usize);

/// A predefined operation; the discriminant is its handle number in the standard ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Operation {
    /// `MPI_SUM`
    Sum = 0x21,
    /// `MPI_MIN`
    Min = 0x22,
    /// `MPI_MAX`
    Max = 0x23,
    /// `MPI_PROD`
    Product = 0x24,
    /// `MPI_BAND`
    BitwiseAnd = 0x28,
    /// `MPI_BOR`
    BitwiseOr = 0x29,
    /// `MPI_BXOR`
    BitwiseXor = 0x2a,
    /// `MPI_LAND`
    LogicalAnd = 0x30,
    /// `MPI_LOR`
    LogicalOr = 0x31,
    /// `MPI_LXOR`
    LogicalXor = 0x32,
    /// `MPI_MINLOC`
    MinLocation = 0x38,
    /// `MPI_MAXLOC`
    MaxLocation = 0x39,
    /// `MPI_REPLACE`, for one-sided accumulation only
    Replace = 0x3c,
    /// `MPI_NO_OP`, for one-sided accumulation only
    NoOp = 0x3d,
}

/// Every predefined operation, in ascending order of number.
pub const ALL: &[Operation] = &[
    Operation::Sum,
    Operation::Min,
    Operation::Max,
    Operation::Product,
    Operation::BitwiseAnd,
    Operation::BitwiseOr,
    Operation::BitwiseXor,
    Operation::LogicalAnd,
    Operation::LogicalOr,
    Operation::LogicalXor,
    Operation::MinLocation,
    Operation::MaxLocation,
    Operation::Replace,
    Operation::NoOp,
];

const FIRST: usize = ALL[0] as usize;
const NUMBERS: usize = ALL[ALL.len() - 1] as usize - FIRST + 1;
const BY_NUMBER: [Option<Operation>; NUMBERS] = {
    let mut operations = [None; NUMBERS];
    let mut index = 0;
    while index < ALL.len() {
        operations[ALL[index] as usize - FIRST] = Some(ALL[index]);
        index += 1;
    }
    operations
};

impl Operation {
    /// Returns the operation with this handle number in the standard ABI, if there is one.
    #[inline]
    pub fn from_number(number: u32) -> Option<Operation> {
        *BY_NUMBER.get((number as usize).checked_sub(FIRST)?)?
    }

    /// Handle number in the standard ABI, e.g. 0x21 for `MPI_SUM`.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// Name, e.g. "MPI_SUM".
    pub const fn name(self) -> &'static str {
        match self {
            Operation::Sum => "MPI_SUM",
            Operation::Min => "MPI_MIN",
            Operation::Max => "MPI_MAX",
            Operation::Product => "MPI_PROD",
            Operation::BitwiseAnd => "MPI_BAND",
            Operation::BitwiseOr => "MPI_BOR",
            Operation::BitwiseXor => "MPI_BXOR",
            Operation::LogicalAnd => "MPI_LAND",
            Operation::LogicalOr => "MPI_LOR",
            Operation::LogicalXor => "MPI_LXOR",
            Operation::MinLocation => "MPI_MINLOC",
            Operation::MaxLocation => "MPI_MAXLOC",
            Operation::Replace => "MPI_REPLACE",
            Operation::NoOp => "MPI_NO_OP",
        }
    }

    /// True if the operation is commutative (`MPI_Op_commutative`).
    pub const fn commutative(self) -> bool {
        !matches!(self, Operation::Replace | Operation::NoOp)
    }
}

/// True if a reduction may combine this operation and this datatype: by the standard's table of
/// type groups, or as an extension that other libraries also have.
///
/// `MPI_REPLACE` and `MPI_NO_OP` are not allowed in reductions; one-sided accumulation allows them
/// for every type, and otherwise follows the same table.
pub fn supports(operation: Operation, basic: Basic) -> bool {
    use ReductionGroup::{Byte, CInteger, Complex, Floating, FortranInteger, Logical, MultiLanguage, Pair};
    let group = basic.group();
    let standard = match operation {
        Operation::Max | Operation::Min => {
            matches!(group, CInteger | FortranInteger | Floating | MultiLanguage)
        }
        Operation::Sum | Operation::Product => {
            matches!(group, CInteger | FortranInteger | Floating | Complex | MultiLanguage)
        }
        Operation::LogicalAnd | Operation::LogicalOr | Operation::LogicalXor => {
            matches!(group, CInteger | Logical)
        }
        Operation::BitwiseAnd | Operation::BitwiseOr | Operation::BitwiseXor => {
            matches!(group, CInteger | FortranInteger | Byte | MultiLanguage)
        }
        Operation::MinLocation | Operation::MaxLocation => group == Pair,
        Operation::Replace | Operation::NoOp => false,
    };
    standard || is_extension(operation, basic)
}

/// Combinations outside the standard that two of MPICH, Open MPI and Intel MPI support, so that
/// programs rely on them. They treat characters as signed numbers.
fn is_extension(operation: Operation, basic: Basic) -> bool {
    match operation {
        Operation::MinLocation | Operation::MaxLocation | Operation::Replace | Operation::NoOp => false,
        Operation::LogicalAnd | Operation::LogicalOr | Operation::LogicalXor => {
            basic.class() == Class::Character(1)
                || basic.group() == ReductionGroup::MultiLanguage
                || matches!(basic, Basic::Integer1 | Basic::Integer2 | Basic::Integer8)
        }
        _ => basic.class() == Class::Character(1),
    }
}

/// Returns the kernel of an operation on a datatype; `None` if [`supports`] is false. `MPI_REPLACE`
/// and `MPI_NO_OP` have kernels for every type, for one-sided accumulation.
pub fn kernel(operation: Operation, basic: Basic) -> Option<Kernel> {
    kernel_at(SimdLevel::best(), operation, basic)
}

/// The kernel for a processor of this level.
fn kernel_at(level: SimdLevel, operation: Operation, basic: Basic) -> Option<Kernel> {
    match operation {
        Operation::Replace => return replace(level, basic),
        Operation::NoOp => return Some(loops::nothing),
        _ if !supports(operation, basic) => return None,
        _ => {}
    }
    match basic.class() {
        Class::Signed(1) | Class::Character(1) => integer::<i8>(level, operation),
        Class::Signed(2) => integer::<i16>(level, operation),
        Class::Signed(4) => integer::<i32>(level, operation),
        Class::Signed(8) => integer::<i64>(level, operation),
        Class::Signed(16) => integer::<i128>(level, operation),
        Class::Unsigned(1) => integer::<u8>(level, operation),
        Class::Unsigned(2) => integer::<u16>(level, operation),
        Class::Unsigned(4) => integer::<u32>(level, operation),
        Class::Unsigned(8) => integer::<u64>(level, operation),
        Class::Byte => signless::<u8>(level, operation),
        Class::Logical(1) => logical::<u8>(level, operation),
        Class::Logical(2) => logical::<u16>(level, operation),
        Class::Logical(4) => logical::<u32>(level, operation),
        Class::Logical(8) => logical::<u64>(level, operation),
        Class::Logical(16) => logical::<u128>(level, operation),
        Class::Float(Float::Half) => half(level, operation),
        Class::Float(Float::Single) => floating::<f32>(level, operation),
        Class::Float(Float::Double) => floating::<f64>(level, operation),
        Class::Float(Float::Extended) => floating::<Extended>(level, operation),
        Class::Float(Float::Quad) => floating::<Quad>(level, operation),
        Class::Complex(Float::Half) => complex_half(level, operation),
        Class::Complex(Float::Single) => numeric::<Complex<f32>>(level, operation),
        Class::Complex(Float::Double) => numeric::<Complex<f64>>(level, operation),
        Class::Complex(Float::Extended) => numeric::<Complex<Extended>>(level, operation),
        Class::Complex(Float::Quad) => numeric::<Complex<Quad>>(level, operation),
        Class::Pair(..) => located(level, operation, basic),
        Class::Signed(_) | Class::Unsigned(_) | Class::Logical(_) | Class::Character(_) => None,
        Class::Packed | Class::Marker => None,
    }
}

/// Returns the kernel of a reduction; `None` if [`supports`] is false. A table lookup, because
/// short reductions are frequent.
#[inline]
pub fn reduction(operation: Operation, basic: Basic) -> Option<Kernel> {
    static KERNELS: LazyLock<Box<[Option<Kernel>]>> = LazyLock::new(|| {
        let entry = |operation, basic| kernel(operation, basic).filter(|_| supports(operation, basic));
        let row = |&operation: &Option<Operation>| basic::ALL.iter().map(move |&basic| entry(operation?, basic));
        BY_NUMBER.iter().flat_map(row).collect()
    });
    KERNELS[(operation as usize - FIRST) * basic::ALL.len() + basic.index()]
}

/// Operations on halves.
fn half(level: SimdLevel, operation: Operation) -> Option<Kernel> {
    match operation {
        Operation::Sum => converted::sum::<Half, f32>(level),
        Operation::Product => converted::product(level),
        _ => ordered::<Half>(level, operation),
    }
}

/// Operations on complex numbers of halves.
fn complex_half(level: SimdLevel, operation: Operation) -> Option<Kernel> {
    match operation {
        Operation::Sum => converted::sum::<Complex<Half>, Complex<f32>>(level),
        _ => product::<Complex<Half>>(level, operation),
    }
}

/// The kernels of the value-and-index types.
fn located(level: SimdLevel, operation: Operation, basic: Basic) -> Option<Kernel> {
    match basic {
        Basic::FloatInt => pair::located::<f32, i32>(level, operation),
        Basic::DoubleInt => pair::located::<f64, i32>(level, operation),
        Basic::LongInt => pair::located::<i64, i32>(level, operation),
        Basic::IntInt | Basic::IntegerInteger => pair::located::<i32, i32>(level, operation),
        Basic::ShortInt => pair::located::<i16, i32>(level, operation),
        Basic::LongDoubleInt => pair::located::<Extended, i32>(level, operation),
        Basic::RealReal => pair::located::<f32, f32>(level, operation),
        Basic::DoublePrecisionPair => pair::located::<f64, f64>(level, operation),
        _ => None,
    }
}

/// The kernels of `MPI_REPLACE`: copies that leave the padding of pairs unchanged.
fn replace(level: SimdLevel, basic: Basic) -> Option<Kernel> {
    match basic.class() {
        Class::Pair(..) => located(level, Operation::Replace, basic),
        class => match class.size() {
            1 => Some(moved::<u8>),
            2 => Some(moved::<u16>),
            4 => Some(moved::<u32>),
            8 => Some(moved::<u64>),
            16 => Some(moved::<u128>),
            32 => Some(moved::<[u128; 2]>),
            _ => None,
        },
    }
}
