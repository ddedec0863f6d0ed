//! Compares every operation on every type with a scalar model that shares no code with the kernels.

mod variants;

use super::*;
use crate::basic;

/// Small seeded generator, so that a failure can be reproduced (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

fn little(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u128::from(byte))
}

fn signed(bytes: &[u8]) -> i128 {
    let unused = 128 - 8 * bytes.len() as u32;
    (little(bytes) << unused) as i128 >> unused
}

/// The value of a half, computed from its fields.
fn half_value(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (fraction + 1024.0) * 2f64.powi(exponent - 25),
    };
    if bits & 0x8000 == 0 { magnitude } else { -magnitude }
}

/// The half nearest to a double, found by binary search.
fn nearest_half(value: f64) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = value.abs();
    if magnitude.is_nan() {
        return 0x7e00;
    }
    // The successor of the largest finite half would be 2^16.
    let place = |bits: u16| if bits == 0x7c00 { 65536.0 } else { half_value(bits) };
    let distance = |bits: u16| (place(bits) - magnitude.min(65536.0)).abs();
    let (mut low, mut high) = (0u16, 0x7c00);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if place(middle) <= magnitude { low = middle } else { high = middle }
    }
    let up = distance(high) < distance(low) || distance(high) == distance(low) && low & 1 == 1;
    sign | if up { high } else { low }
}

/// A real number of the model: all test values are doubles, or integers that every format
/// represents exactly.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
enum Value {
    Single(f32),
    Double(f64),
    Half(f64),
    Whole(i128),
}

impl Value {
    fn read(float: Float, bytes: &[u8]) -> Value {
        match float {
            Float::Half => Value::Half(half_value(little(bytes) as u16)),
            Float::Single => Value::Single(f32::from_bits(little(bytes) as u32)),
            Float::Double => Value::Double(f64::from_bits(little(bytes) as u64)),
            Float::Extended => Value::Whole(whole(&bytes[..10], 64)),
            Float::Quad => Value::Whole(whole(bytes, 113)),
        }
    }

    fn combined(self, right: Value, operation: char) -> Value {
        fn on<T: std::ops::Add<Output = T> + std::ops::Sub<Output = T> + std::ops::Mul<Output = T>>(
            left: T,
            right: T,
            operation: char,
        ) -> T {
            match operation {
                '+' => left + right,
                '-' => left - right,
                _ => left * right,
            }
        }
        match (self, right) {
            (Value::Single(left), Value::Single(right)) => Value::Single(on(left, right, operation)),
            (Value::Double(left), Value::Double(right)) => Value::Double(on(left, right, operation)),
            (Value::Half(left), Value::Half(right)) => {
                Value::Half(half_value(nearest_half(on(left, right, operation))))
            }
            (Value::Whole(left), Value::Whole(right)) => Value::Whole(on(left, right, operation)),
            _ => unreachable!("both operands have one format"),
        }
    }

    fn same(self, right: Value) -> bool {
        match (self, right) {
            (Value::Single(left), Value::Single(right)) => left.is_nan() && right.is_nan() || left == right,
            (Value::Double(left) | Value::Half(left), Value::Double(right) | Value::Half(right)) => {
                left.is_nan() && right.is_nan() || left == right
            }
            _ => self == right,
        }
    }
}

/// Reads an integer from an extended (64 bits of significand) or quad number (113).
fn whole(bytes: &[u8], significand: u32) -> i128 {
    let bits = little(bytes);
    let (sign, stored) = if significand == 64 { (bits >> 79 & 1, 64) } else { (bits >> 127, 112) };
    let exponent = (bits >> stored & 0x7fff) as i32;
    let mut magnitude = bits & ((1 << stored) - 1);
    if exponent == 0 && magnitude == 0 {
        return 0;
    }
    if significand == 113 {
        magnitude |= 1 << 112;
    }
    let shift = exponent - 0x3fff - (significand as i32 - 1);
    let magnitude = if shift >= 0 { magnitude << shift } else { magnitude >> -shift } as i128;
    if sign == 1 { -magnitude } else { magnitude }
}

/// Writes an integer as an extended or quad number.
fn whole_bytes(value: i128, significand: u32) -> [u8; 16] {
    let (stored, sign) = if significand == 64 { (64, 79) } else { (112, 127) };
    let mut bits = u128::from(value < 0) << sign;
    if value != 0 {
        let magnitude = value.unsigned_abs();
        let position = magnitude.ilog2();
        // A larger value has already been rounded, so the bits shifted out are zero.
        let fraction = match (significand - 1).checked_sub(position) {
            Some(distance) => magnitude << distance,
            None => magnitude >> (position + 1 - significand),
        };
        bits |= u128::from(0x3fff + position) << stored | fraction & ((1 << stored) - 1);
    }
    bits.to_le_bytes()
}

/// Random bytes of a number of the format: arbitrary bits for native formats and halves.
fn real_bytes(float: Float, random: &mut Random) -> Vec<u8> {
    match float {
        // Sometimes nearby numbers, so that sums cancel and comparisons see equal values.
        Float::Single if random.next().is_multiple_of(2) => {
            ((random.next() % 64) as f32 / 4.0 - 8.0).to_le_bytes().into()
        }
        Float::Double if random.next().is_multiple_of(2) => {
            ((random.next() % 64) as f64 / 4.0 - 8.0).to_le_bytes().into()
        }
        Float::Half | Float::Single | Float::Double => random.bytes(float.size()),
        Float::Extended => whole_bytes(i128::from(random.next() as i32 >> (random.next() % 31)), 64).into(),
        Float::Quad => whole_bytes(i128::from((random.next() as i64) >> (8 + random.next() % 55)), 113).into(),
    }
}

/// One random element, including its padding.
fn element(basic: Basic, random: &mut Random) -> Vec<u8> {
    match basic.class() {
        Class::Float(float) => real_bytes(float, random),
        Class::Complex(float) => [real_bytes(float, random), real_bytes(float, random)].concat(),
        Class::Logical(width) => {
            let mut bytes = random.bytes(width);
            if random.next().is_multiple_of(2) {
                bytes.fill(0);
            }
            bytes
        }
        Class::Pair(value, index) => {
            let mut bytes = random.bytes(basic.extent());
            let offset = basic.pair().expect("a pair type").2;
            bytes[..value.size()].copy_from_slice(&element(value, random));
            bytes[offset..offset + index.size()].copy_from_slice(&element(index, random));
            if random.next().is_multiple_of(4) {
                bytes[..value.size()].fill(0);
            }
            bytes
        }
        class => random.bytes(class.size()),
    }
}

/// Compares values of a number type; `None` if they are unordered.
fn order(basic: Basic, left: &[u8], right: &[u8]) -> Option<std::cmp::Ordering> {
    match basic.class() {
        Class::Signed(_) | Class::Character(_) => signed(left).partial_cmp(&signed(right)),
        Class::Unsigned(_) => little(left).partial_cmp(&little(right)),
        Class::Float(float) => Value::read(float, left).partial_cmp(&Value::read(float, right)),
        _ => unreachable!("{} is not ordered", basic.name()),
    }
}

/// Checks what a kernel has written for one element; not by equality, because NaNs have many bit
/// patterns.
fn agrees(operation: Operation, basic: Basic, input: &[u8], inout: &[u8], result: &[u8]) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let size = basic.extent();
    let truth = |bytes: &[u8]| bytes.iter().any(|&byte| byte != 0);
    let is = |value: u128| result == &value.to_le_bytes()[..size];
    match (operation, basic.class()) {
        (Operation::Max, _) => result == if order(basic, input, inout) == Some(Greater) { input } else { inout },
        (Operation::Min, _) => result == if order(basic, input, inout) == Some(Less) { input } else { inout },
        (Operation::BitwiseAnd, _) => is(little(input) & little(inout)),
        (Operation::BitwiseOr, _) => is(little(input) | little(inout)),
        (Operation::BitwiseXor, _) => is(little(input) ^ little(inout)),
        (Operation::LogicalAnd, _) => is(u128::from(truth(input) && truth(inout))),
        (Operation::LogicalOr, _) => is(u128::from(truth(input) || truth(inout))),
        (Operation::LogicalXor, _) => is(u128::from(truth(input) != truth(inout))),
        (Operation::Sum, Class::Signed(_) | Class::Unsigned(_) | Class::Character(_)) => {
            is(little(input).wrapping_add(little(inout)))
        }
        (Operation::Product, Class::Signed(_) | Class::Unsigned(_) | Class::Character(_)) => {
            is(little(input).wrapping_mul(little(inout)))
        }
        (Operation::Sum | Operation::Product, Class::Float(float)) => {
            let sign = if operation == Operation::Sum { '+' } else { '*' };
            let expected = Value::read(float, input).combined(Value::read(float, inout), sign);
            Value::read(float, result).same(expected)
        }
        (Operation::Sum | Operation::Product, Class::Complex(float)) => {
            let parts =
                |bytes: &[u8]| (Value::read(float, &bytes[..float.size()]), Value::read(float, &bytes[float.size()..]));
            let ((a, b), (c, d)) = (parts(input), parts(inout));
            let (real, imaginary) = if operation == Operation::Sum {
                (a.combined(c, '+'), b.combined(d, '+'))
            } else {
                let minus = a.combined(c, '*').combined(b.combined(d, '*'), '-');
                (minus, a.combined(d, '*').combined(b.combined(c, '*'), '+'))
            };
            parts(result).0.same(real) && parts(result).1.same(imaginary)
        }
        (Operation::MinLocation | Operation::MaxLocation, Class::Pair(value, index)) => {
            let offset = basic.pair().expect("a pair type").2;
            let fields = |bytes: &[u8]| (bytes[..value.size()].to_vec(), bytes[offset..offset + index.size()].to_vec());
            let wins = if operation == Operation::MinLocation { Less } else { Greater };
            let compared = order(value, &fields(input).0, &fields(inout).0);
            let earlier = order(index, &fields(input).1, &fields(inout).1) == Some(Less);
            let takes = compared == Some(wins) || compared == Some(Equal) && earlier;
            let padding = |bytes: &[u8]| [&bytes[value.size()..offset], &bytes[offset + index.size()..]].concat();
            fields(result) == fields(if takes { input } else { inout }) && padding(result) == padding(inout)
        }
        (operation, class) => unreachable!("{} on {class:?}", operation.name()),
    }
}

/// Runs a kernel on random elements at odd addresses, and checks each of them and the surrounding
/// bytes.
fn check(operation: Operation, basic: Basic, count: usize, shift: usize, random: &mut Random) {
    let kernel = kernel(operation, basic).expect("a supported combination");
    let size = basic.extent();
    let mut input = random.bytes(shift);
    let mut inout = random.bytes(shift + 1);
    for _ in 0..count {
        input.extend(element(basic, random));
        inout.extend(element(basic, random));
    }
    input.extend(random.bytes(40));
    inout.extend(random.bytes(40));
    let (input_before, inout_before) = (input.clone(), inout.clone());
    // SAFETY: both vectors hold `count` elements after the shift.
    unsafe { kernel(input.as_ptr().add(shift), inout.as_mut_ptr().add(shift + 1), count) };
    assert_eq!(input, input_before, "{} on {} changed its input", operation.name(), basic.name());
    for index in 0..count {
        let at = index * size;
        let (left, right) = (&input[shift + at..][..size], &inout_before[shift + 1 + at..][..size]);
        let result = &inout[shift + 1 + at..][..size];
        assert!(
            agrees(operation, basic, left, right, result),
            "{} on {}, element {index} of {count}: {left:02x?} with {right:02x?} gave {result:02x?}",
            operation.name(),
            basic.name()
        );
    }
    let end = shift + 1 + count * size;
    assert_eq!(inout[..shift + 1], inout_before[..shift + 1], "bytes before the buffer");
    assert_eq!(inout[end..], inout_before[end..], "bytes behind the buffer");
}

fn combinations() -> impl Iterator<Item = (Operation, Basic)> {
    ALL.iter().flat_map(|&operation| basic::ALL.iter().map(move |&basic| (operation, basic)))
}

#[test]
fn every_operation_on_every_type_agrees_with_the_model() {
    let mut random = Random(1);
    for (operation, basic) in combinations().filter(|&(operation, basic)| supports(operation, basic)) {
        for count in [0, 1, 2, 3, 7, 16, 31, 64, 100, 1023] {
            for shift in [0, 1, 7, 16] {
                check(operation, basic, count, shift, &mut random);
            }
        }
        check(operation, basic, 20_000, 3, &mut random);
    }
}

#[test]
fn a_kernel_exists_exactly_where_the_operation_is_supported() {
    for (operation, basic) in combinations() {
        let accumulates = matches!(operation, Operation::Replace | Operation::NoOp);
        let moved = operation == Operation::NoOp || basic.size() > 0;
        let expected = accumulates && moved || supports(operation, basic);
        assert_eq!(kernel(operation, basic).is_some(), expected, "{} on {}", operation.name(), basic.name());
        let address = |kernel: Kernel| kernel as usize;
        let reducing = kernel(operation, basic).filter(|_| supports(operation, basic)).map(address);
        assert_eq!(reduction(operation, basic).map(address), reducing, "{} on {}", operation.name(), basic.name());
    }
}

#[test]
fn the_table_is_that_of_the_standard_and_of_two_other_libraries() {
    use Operation::{BitwiseXor, LogicalOr, Max, MaxLocation, Product};
    let rows = [
        (Basic::Int, "max product bits logical"),
        (Basic::Uint8, "max product bits logical"),
        (Basic::Integer, "max product bits"),
        (Basic::Integer16, "max product bits"),
        (Basic::Integer4, "max product bits"),
        (Basic::Integer8, "max product bits logical"),
        (Basic::Count, "max product bits logical"),
        (Basic::Double, "max product"),
        (Basic::Real2, "max product"),
        (Basic::LongDouble, "max product"),
        (Basic::Complex4, "product"),
        (Basic::CLongDoubleComplex, "product"),
        (Basic::CBool, "logical"),
        (Basic::Logical16, "logical"),
        (Basic::Byte, "bits"),
        (Basic::RealReal, "location"),
        (Basic::LongDoubleInt, "location"),
        (Basic::Char, "max product bits logical"),
        (Basic::Character, "max product bits logical"),
        (Basic::Wchar, ""),
        (Basic::Packed, ""),
    ];
    let words =
        [(Max, "max"), (Product, "product"), (BitwiseXor, "bits"), (LogicalOr, "logical"), (MaxLocation, "location")];
    for (basic, allowed) in rows {
        for (operation, word) in words {
            let expected = allowed.split(' ').any(|name| name == word);
            assert_eq!(supports(operation, basic), expected, "{} on {}", operation.name(), basic.name());
        }
    }
}

#[test]
fn replace_copies_and_leaves_padding_and_no_op_does_nothing() {
    let mut random = Random(2);
    for &basic in basic::ALL.iter().filter(|basic| basic.size() > 0) {
        let input = random.bytes(5 * basic.extent());
        let before = random.bytes(5 * basic.extent());
        let mut inout = before.clone();
        let run = |operation, inout: &mut Vec<u8>| {
            let kernel = kernel(operation, basic).expect("a kernel for accumulation");
            // SAFETY: both vectors hold five elements.
            unsafe { kernel(input.as_ptr(), inout.as_mut_ptr(), 5) };
        };
        run(Operation::NoOp, &mut inout);
        assert_eq!(inout, before);
        run(Operation::Replace, &mut inout);
        let mut expected = input.clone();
        if let Some((value, index, offset)) = basic.pair() {
            for (at, byte) in expected.iter_mut().enumerate() {
                let field = at % basic.extent();
                if field >= value.size() && field < offset || field >= offset + index.size() {
                    *byte = before[at];
                }
            }
        }
        assert_eq!(inout, expected, "{}", basic.name());
    }
}

#[test]
fn numbers_lead_back_to_their_operations() {
    for &operation in ALL {
        assert_eq!(Operation::from_number(operation.number()), Some(operation));
    }
    assert_eq!(Operation::from_number(0x20), None);
    assert_eq!(Operation::from_number(0x1021), None);
}

#[test]
fn input_is_the_left_operand_of_minimum_and_maximum() {
    for operation in [Operation::Min, Operation::Max] {
        let kernel = kernel(operation, Basic::Double).expect("a kernel");
        for (input, inout) in [(f64::NAN, 1.0), (1.0, f64::NAN), (0.0, -0.0), (-0.0, 0.0)] {
            let mut result: f64 = inout;
            // SAFETY: both addresses point to one element.
            unsafe { kernel((&raw const input).cast(), (&raw mut result).cast(), 1) };
            assert_eq!(result.to_bits(), inout.to_bits(), "a comparison that does not hold keeps inout");
        }
    }
}

#[test]
fn every_half_survives_the_way_through_single() {
    for bits in 0..=u16::MAX {
        let value = half_value(bits);
        let half = Half(bits);
        assert!(f64::from(half.widen()) == value || value.is_nan() && half.widen().is_nan());
        assert!(Half::narrow(half.widen()).0 == bits || value.is_nan());
    }
    let mut random = Random(3);
    for _ in 0..200_000 {
        let single = f32::from_bits(random.next() as u32);
        let scaled = (random.next() as i32) as f32 / 2f32.powi((random.next() % 48) as i32);
        for value in [single, scaled] {
            let (narrow, expected) = (Half::narrow(value).0, nearest_half(f64::from(value)));
            assert!(narrow == expected || value.is_nan() && half_value(narrow).is_nan(), "{value}: {narrow:x}");
        }
    }
}

#[test]
fn quad_products_and_sums_are_rounded_to_nearest_even() {
    use super::element::Number;
    let mut random = Random(4);
    let rounded = |value: i128| {
        let excess = value.unsigned_abs().checked_ilog2().unwrap_or(0).saturating_sub(112);
        let (unit, half) = (1i128 << excess, (1i128 << excess) / 2);
        let down = value.div_euclid(unit) * unit;
        let rest = value - down;
        let up = rest > half || excess > 0 && rest == half && (down / unit) & 1 != 0;
        if up { down + unit } else { down }
    };
    let quad = |value: i128| Quad(u128::from_le_bytes(whole_bytes(value, 113)));
    for _ in 0..100_000 {
        let left = i128::from(random.next() as i64);
        let right = i128::from((random.next() as i64) >> (random.next() % 64));
        let product = quad(left).times(quad(right));
        assert_eq!(whole(&product.0.to_le_bytes(), 113), rounded(left * right), "{left} * {right}");
        // Large and small summands, chosen so that the sum has up to 127 bits.
        let large = rounded(left << (random.next() % 63) as u32);
        let sum = quad(large).plus(quad(right));
        assert_eq!(whole(&sum.0.to_le_bytes(), 113), rounded(large + right), "{large} + {right}");
    }
}

#[test]
fn quads_have_infinities_subnormals_and_signed_zeros() {
    use super::element::{Number, Real};
    let infinity = Quad(0x7fff << 112);
    let largest = Quad((0x7fff << 112) - 1);
    let smallest_normal = Quad(1 << 112);
    let smallest = Quad(1);
    let half = Quad(0x3ffe << 112);
    let one = Quad(0x3fff << 112);
    let zero = Quad(0);
    let minus_zero = Quad(1 << 127);
    let not_a_number = |quad: Quad| quad.partial_cmp(&quad).is_none();
    assert!(not_a_number(infinity.minus(infinity)) && not_a_number(infinity.times(zero)));
    assert_eq!(largest.plus(largest).0, infinity.0);
    assert_eq!(largest.plus(one).0, largest.0);
    assert_eq!(infinity.minus(largest).0, infinity.0);
    assert_eq!(smallest_normal.times(half).0, 1 << 111);
    assert_eq!(smallest.times(half).0, 0, "a tie goes to the even zero");
    assert_eq!(Quad(3).times(half).0, 2, "a tie goes to the even number");
    assert_eq!(smallest_normal.minus(smallest).0, (1 << 112) - 1);
    assert_eq!(smallest.plus(Quad((1 << 112) - 1)).0, smallest_normal.0);
    assert_eq!(one.minus(one).0, 0);
    assert_eq!(minus_zero.plus(minus_zero).0, minus_zero.0);
    assert_eq!(minus_zero.plus(zero).0, 0);
    assert_eq!(minus_zero.partial_cmp(&zero), Some(std::cmp::Ordering::Equal));
    assert_eq!(minus_zero.times(one).0, minus_zero.0);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn extended_numbers_keep_their_64_bits() {
    use super::element::{Number, Real};
    let number = |value: i128| Extended(whole_bytes(value, 64));
    let value = |extended: Extended| whole(&extended.0[..10], 64);
    let most = (1i128 << 64) - 1;
    assert_eq!(value(number(most).plus(number(0))), most);
    assert_eq!(value(number(most).plus(number(2))), 1 << 64, "2^64 + 1 is a tie and rounds to even");
    assert_eq!(value(number(most).minus(number(1))), most - 1);
    assert_eq!(value(number(1).minus(number(most))), 1 - most);
    assert_eq!(value(number(1 << 32).times(number((1 << 62) - 1))), ((1 << 62) - 1) << 32);
    assert_eq!(number(3).partial_cmp(&number(2)), Some(std::cmp::Ordering::Greater));
    let not_a_number = Extended((0x7fffu128 << 64 | 3 << 62).to_le_bytes());
    assert_eq!(not_a_number.partial_cmp(&number(1)), None);
}
