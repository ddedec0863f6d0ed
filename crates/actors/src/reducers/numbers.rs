//! Reducers of arrays of numbers. The bytes may lie at any address.

use bytemuck::Pod;

/// What is done with two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum NumberOperation {
    /// Their sum; whole numbers wrap.
    Sum = 1,
    /// Their product; whole numbers wrap.
    Product,
    /// The smaller one.
    Min,
    /// The greater one.
    Max,
    /// 1 if both are not 0, else 0; of whole numbers only, as all that follow.
    LogicalAnd,
    /// 1 if one is not 0, else 0.
    LogicalOr,
    /// 1 if only one is not 0, else 0.
    LogicalXor,
    /// The bits that both have.
    BitAnd,
    /// The bits that one has.
    BitOr,
    /// The bits that only one has.
    BitXor,
}

/// Types of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[expect(missing_docs, reason = "the types of Rust with these names")]
pub enum NumberType {
    I8 = 1,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

use NumberOperation::{
    BitAnd, BitOr, BitXor, LogicalAnd, LogicalOr, LogicalXor, Max, Min, Product, Sum,
};
use NumberType::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};

const OPERATIONS: [(NumberOperation, &str); 10] = [
    (Sum, "sum"),
    (Product, "product"),
    (Min, "min"),
    (Max, "max"),
    (LogicalAnd, "logical and"),
    (LogicalOr, "logical or"),
    (LogicalXor, "logical xor"),
    (BitAnd, "bitwise and"),
    (BitOr, "bitwise or"),
    (BitXor, "bitwise xor"),
];

const TYPES: [(NumberType, &str, usize); 10] = [
    (I8, "i8", 1),
    (I16, "i16", 2),
    (I32, "i32", 4),
    (I64, "i64", 8),
    (U8, "u8", 1),
    (U16, "u16", 2),
    (U32, "u32", 4),
    (U64, "u64", 8),
    (F32, "f32", 4),
    (F64, "f64", 8),
];

/// Numbers of these reducers are operation and type, one byte each.
const RADIX: u32 = 256;

/// The number of a reducer that combines arrays of numbers.
#[must_use]
pub const fn of_numbers(operation: NumberOperation, number: NumberType) -> u32 {
    operation as u32 * RADIX + number as u32
}

/// Operation and type of a reducer, with the bytes of the type.
fn known(reducer: u32) -> Option<(NumberOperation, NumberType, usize)> {
    let found = |(operation, _): &&(NumberOperation, _)| *operation as u32 == reducer / RADIX;
    let operation = OPERATIONS.iter().find(found)?.0;
    let found = |(number, ..): &&(NumberType, _, _)| *number as u32 == reducer % RADIX;
    let (number, _, bytes) = *TYPES.iter().find(found)?;
    let is_logic = !matches!(operation, Sum | Product | Min | Max);
    (!(is_logic && matches!(number, F32 | F64))).then_some((operation, number, bytes))
}

pub(super) fn name(reducer: u32) -> Option<String> {
    let (operation, number, _) = known(reducer)?;
    let operation = OPERATIONS.iter().find(|(known, _)| *known == operation)?.1;
    let number = TYPES.iter().find(|(known, ..)| *known == number)?.1;
    Some(format!("{operation} of {number}"))
}

/// An error unless these are numbers of this reducer.
pub(super) fn check(reducer: u32, value: &[u8]) -> Result<(), String> {
    let Some((.., bytes)) = known(reducer) else {
        return Err(format!(
            "there is no reducer {reducer}; those of the program begin with {}",
            super::PROGRAM_REDUCERS
        ));
    };
    if value.len().is_multiple_of(bytes) {
        return Ok(());
    }
    let (length, name) = (value.len(), name(reducer).unwrap_or_default());
    Err(format!("an element contributes {length} bytes to {name}, which is no whole array"))
}

/// Combines arrays of as many numbers, the second into the first. Whether there is such a reducer.
pub(super) fn combine(reducer: u32, into: &mut [u8], value: &[u8]) -> bool {
    let Some((operation, number, _)) = known(reducer) else { return false };
    match number {
        I8 => i8::combine(operation, into, value),
        I16 => i16::combine(operation, into, value),
        I32 => i32::combine(operation, into, value),
        I64 => i64::combine(operation, into, value),
        U8 => u8::combine(operation, into, value),
        U16 => u16::combine(operation, into, value),
        U32 => u32::combine(operation, into, value),
        U64 => u64::combine(operation, into, value),
        F32 => f32::combine(operation, into, value),
        F64 => f64::combine(operation, into, value),
    }
    true
}

trait CombinedNumber: Pod {
    fn combine(operation: NumberOperation, into: &mut [u8], value: &[u8]);
}

macro_rules! whole_numbers {
    ($($number:ty)*) => {
        $(impl CombinedNumber for $number {
            fn combine(operation: NumberOperation, into: &mut [u8], value: &[u8]) {
                let logic = |truth: bool| <$number>::from(truth);
                match operation {
                    Sum => each(into, value, <$number>::wrapping_add),
                    Product => each(into, value, <$number>::wrapping_mul),
                    Min => each(into, value, <$number as Ord>::min),
                    Max => each(into, value, <$number as Ord>::max),
                    LogicalAnd => {
                        each(into, value, |a: $number, b: $number| logic(a != 0 && b != 0));
                    }
                    LogicalOr => {
                        each(into, value, |a: $number, b: $number| logic(a != 0 || b != 0));
                    }
                    LogicalXor => {
                        each(into, value, |a: $number, b: $number| logic((a != 0) != (b != 0)));
                    }
                    BitAnd => each(into, value, |a: $number, b| a & b),
                    BitOr => each(into, value, |a: $number, b| a | b),
                    BitXor => each(into, value, |a: $number, b| a ^ b),
                }
            }
        })*
    };
}

macro_rules! floating_numbers {
    ($($number:ty)*) => {
        $(impl CombinedNumber for $number {
            fn combine(operation: NumberOperation, into: &mut [u8], value: &[u8]) {
                match operation {
                    Product => each(into, value, |a: $number, b| a * b),
                    Min => each(into, value, |a: $number, b| if b < a { b } else { a }),
                    Max => each(into, value, |a: $number, b| if b > a { b } else { a }),
                    // `known` lets no logic come here.
                    _ => each(into, value, |a: $number, b| a + b),
                }
            }
        })*
    };
}

whole_numbers!(i8 i16 i32 i64 u8 u16 u32 u64);
floating_numbers!(f32 f64);

/// Every number of an array with that of another one.
#[inline]
pub(super) fn each<T: Pod>(into: &mut [u8], value: &[u8], combine: impl Fn(T, T) -> T) {
    let bytes = size_of::<T>();
    for (a, b) in into.chunks_exact_mut(bytes).zip(value.chunks_exact(bytes)) {
        let combined = combine(bytemuck::pod_read_unaligned(a), bytemuck::pod_read_unaligned(b));
        a.copy_from_slice(bytemuck::bytes_of(&combined));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn combined<T: Pod>(operation: NumberOperation, number: NumberType, all: [T; 4]) -> [T; 2] {
        // The arrays begin at odd addresses.
        let mut bytes = vec![0; 1 + size_of_val(&all)];
        bytes[1..].copy_from_slice(bytemuck::bytes_of(&[[all[0], all[1]], [all[2], all[3]]]));
        let (into, value) = bytes[1..].split_at_mut(2 * size_of::<T>());
        assert!(combine(of_numbers(operation, number), into, value));
        bytemuck::pod_read_unaligned(into)
    }

    #[test]
    fn numbers_are_combined_one_by_one() {
        assert_eq!(combined(Sum, I8, [127_i8, -3, 1, 5]), [-128, 2]);
        assert_eq!(combined(Product, U16, [300_u16, 7, 2, 6]), [600, 42]);
        assert_eq!(combined(Min, I32, [-4_i32, 9, 3, 8]), [-4, 8]);
        assert_eq!(combined(Max, U64, [u64::MAX, 1, 3, 8]), [u64::MAX, 8]);
        assert_eq!(combined(Max, I64, [-1_i64, 1, 3, -8]), [3, 1]);
        assert_eq!(combined(Sum, F32, [0.5_f32, 1.0, 0.25, -1.0]), [0.75, 0.0]);
        assert_eq!(combined(Product, F64, [0.5_f64, 3.0, 4.0, -1.0]), [2.0, -3.0]);
        assert_eq!(combined(Min, F64, [0.5_f64, 3.0, 4.0, -1.0]), [0.5, -1.0]);
        assert_eq!(combined(Max, F32, [0.5_f32, 3.0, 4.0, -1.0]), [4.0, 3.0]);
    }

    #[test]
    fn logic_gives_zero_and_one_and_bits_are_combined_each() {
        assert_eq!(combined(LogicalAnd, I32, [4_i32, 9, 2, 0]), [1, 0]);
        assert_eq!(combined(LogicalOr, U8, [0_u8, 0, 9, 0]), [1, 0]);
        assert_eq!(combined(LogicalXor, I16, [4_i16, 0, 2, -7]), [0, 1]);
        assert_eq!(combined(BitAnd, U32, [12_u32, 9, 10, 1]), [8, 1]);
        assert_eq!(combined(BitOr, U8, [12_u8, 9, 10, 1]), [14, 9]);
        assert_eq!(combined(BitXor, I8, [12_i8, 9, 10, 1]), [6, 8]);
    }

    #[test]
    fn every_operation_has_a_name_with_every_type_that_it_has() {
        let all = OPERATIONS.iter().flat_map(|(operation, _)| {
            TYPES.iter().filter_map(|(number, ..)| name(of_numbers(*operation, *number)))
        });
        assert_eq!(all.count(), 10 * 8 + 4 * 2);
        assert_eq!(name(of_numbers(LogicalXor, U16)).as_deref(), Some("logical xor of u16"));
    }
}
