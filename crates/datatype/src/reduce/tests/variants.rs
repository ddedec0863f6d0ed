//! Compares the instances for every level of this processor, bit by bit, with the baseline's on one
//! element at a time.

use super::{Random, element};
use crate::basic::{Basic, Class, Float};
use crate::kernel::SimdLevel;
use crate::reduce::{Operation, kernel_at, supports};

/// Bits of the exponent and of the stored fraction.
fn widths(float: Float) -> (u32, u32) {
    match float {
        Float::Half => (5, 10),
        Float::Single => (8, 23),
        Float::Double => (11, 52),
        Float::Extended => (15, 64),
        Float::Quad => (15, 112),
    }
}

/// A zero, an infinity, a quiet or signaling NaN, a subnormal number or one; of either sign.
fn special(float: Float, random: &mut Random) -> Vec<u8> {
    let (exponent, fraction) = widths(float);
    let payload = u128::from(random.next() % 256);
    let highest = ((1 << exponent) - 1) << fraction;
    // The first bit of an extended number's fraction is its integer.
    let integer = if float == Float::Extended { 1 << 63 } else { 0 };
    let quiet = if float == Float::Extended { 1 << 62 } else { 1 << (fraction - 1) };
    let magnitude = match random.next() % 6 {
        0 => 0,
        1 => highest | integer,
        2 => highest | integer | quiet | payload,
        3 => highest | integer | 1 | payload,
        4 => payload,
        _ => ((1 << (exponent - 1)) - 1) << fraction | integer,
    };
    let sign = u128::from(random.next() % 2) << (exponent + fraction);
    (magnitude | sign).to_le_bytes()[..float.size()].to_vec()
}

/// A random element, half of whose floating-point numbers are special.
fn unusual(basic: Basic, random: &mut Random) -> Vec<u8> {
    let mut bytes = element(basic, random);
    let floats = match basic.class() {
        Class::Float(float) => vec![(float, 0)],
        Class::Complex(float) => vec![(float, 0), (float, float.size())],
        Class::Pair(value, index) => [(value, 0), (index, basic.pair().expect("a pair type").2)]
            .into_iter()
            .filter_map(|(field, at)| match field.class() {
                Class::Float(float) => Some((float, at)),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    };
    for (float, at) in floats {
        if random.next().is_multiple_of(2) {
            bytes[at..at + float.size()].copy_from_slice(&special(float, random));
        }
    }
    bytes
}

/// Compares all levels on `count` elements that start `shift` bytes after an aligned address.
fn compare(operation: Operation, basic: Basic, count: usize, shift: usize, random: &mut Random) {
    let kernel = |level| kernel_at(level, operation, basic).expect("a supported combination");
    let buffer = |random: &mut Random| {
        let mut bytes = random.bytes(shift);
        (0..count).for_each(|_| bytes.extend(unusual(basic, random)));
        bytes.extend(random.bytes(70));
        bytes
    };
    let (input, before) = (buffer(random), buffer(random));
    let mut expected = before.clone();
    for index in 0..count {
        let at = shift + index * basic.extent();
        let (left, right) = (input[at..].as_ptr(), expected[at..].as_mut_ptr());
        // SAFETY: both vectors hold `count` elements after the shift.
        unsafe { kernel(SimdLevel::Plain)(left, right, 1) };
    }
    for level in SimdLevel::usable() {
        let mut inout = before.clone();
        // SAFETY: both vectors hold `count` elements after the shift.
        unsafe { kernel(level)(input.as_ptr().add(shift), inout.as_mut_ptr().add(shift), count) };
        if let Some(at) = (0..inout.len()).find(|&at| inout[at] != expected[at]) {
            let element = shift + at.saturating_sub(shift) / basic.extent() * basic.extent();
            let of = |bytes: &[u8]| bytes[element..element + basic.extent()].to_vec();
            panic!(
                "{} on {} with {level:?}, {count} elements, shift {shift}: \
                 {:02x?} with {:02x?} gave {:02x?}, not {:02x?}",
                operation.name(),
                basic.name(),
                of(&input),
                of(&before),
                of(&inout),
                of(&expected)
            );
        }
    }
}

#[test]
fn every_level_gives_the_same_bits() {
    let mut random = Random(6);
    let is_supported = |&(operation, basic): &_| supports(operation, basic);
    for (operation, basic) in super::combinations().filter(is_supported) {
        for count in 0..=70 {
            compare(operation, basic, count, count % 5, &mut random);
        }
        for count in [127, 300, 1025] {
            compare(operation, basic, count, 3, &mut random);
        }
    }
}
