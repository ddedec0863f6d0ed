//! The portable representation "external32" (MPI 5.0, section 14.5.2): big-endian, IEEE, fixed
//! sizes.
//!
//! Packed bytes are the type signature's elements in a row, so conversion is: pack a piece of whole
//! elements in this machine's form, convert it element by element. `long` has 4 bytes there and is
//! cut to its low half, `wchar_t` to its low 2 bytes; `long double` becomes IEEE binary128 with 16
//! bytes.

use crate::basic::{Basic, Class, Float};
use crate::cursor::{pack, unpack};
use crate::datatype::Datatype;
use crate::error::{Error, Result};

/// Elements are converted in pieces of at most this many bytes of this machine's form.
const PIECE_BYTES: usize = 4096;

/// How one number is converted.
#[derive(Clone, Copy)]
enum Conversion {
    /// The same number of bytes in reverse order.
    Reverse,
    /// Fewer bytes there; back with copies of the sign.
    Signed,
    /// Fewer bytes there; back with zeros.
    Unsigned,
    /// x87 `long double` here, binary128 there.
    Extended,
}

/// One number: bytes here, bytes there, conversion.
#[derive(Clone, Copy)]
struct Number {
    native: usize,
    external: usize,
    conversion: Conversion,
}

impl Number {
    /// The numbers of a basic type that is not a pair: one, or two equal ones.
    fn of(basic: Basic) -> (Number, usize) {
        let class = basic.class();
        let count = if matches!(class, Class::Complex(_)) { 2 } else { 1 };
        let (native, external) = (basic.size() / count, basic.external32_size() / count);
        let conversion = match class {
            Class::Float(Float::Extended) | Class::Complex(Float::Extended) if cfg!(target_arch = "x86_64") => {
                Conversion::Extended
            }
            _ if native == external => Conversion::Reverse,
            Class::Signed(_) => Conversion::Signed,
            _ => Conversion::Unsigned,
        };
        (Number { native, external, conversion }, count)
    }

    /// Converts to big-endian.
    fn write(self, native: &[u8], external: &mut [u8]) {
        if let Conversion::Extended = self.conversion {
            external.copy_from_slice(&to_binary128(native).to_be_bytes());
            return;
        }
        external.iter_mut().rev().zip(native).for_each(|(to, from)| *to = *from);
    }

    /// Converts from big-endian.
    fn read(self, external: &[u8], native: &mut [u8]) {
        let filler = match self.conversion {
            Conversion::Extended => {
                let bytes = external.try_into().unwrap_or_default();
                native.copy_from_slice(&from_binary128(u128::from_be_bytes(bytes)));
                return;
            }
            Conversion::Signed if external[0] & 0x80 != 0 => 0xff,
            _ => 0,
        };
        native.fill(filler);
        native.iter_mut().zip(external.iter().rev()).for_each(|(to, from)| *to = *from);
    }
}

/// Fraction bits of binary128 beyond those of the x87 format.
const EXTRA_BITS: u32 = 112 - 63;
const EXPONENT: u16 = 0x7fff;

/// From the 10 bytes of an x87 number to binary128; both have the same exponents, so this is exact.
fn to_binary128(native: &[u8]) -> u128 {
    let mantissa = u64::from_le_bytes(native[..8].try_into().unwrap_or_default());
    let head = u16::from_le_bytes([native[8], native[9]]);
    let (sign, exponent) = (head & !EXPONENT, head & EXPONENT);
    let leading = mantissa >> 63 == 1;
    let fraction = u128::from(mantissa << 1 >> 1) << EXTRA_BITS;
    let (exponent, fraction) = match (exponent, leading) {
        (0, true) => (1, fraction),
        (0, false) | (_, true) => (exponent, fraction),
        // The processor refuses such numbers: not a number.
        (_, false) => (EXPONENT, 1 << 111),
    };
    u128::from(sign | exponent) << 112 | fraction
}

/// To the x87 format, rounded to nearest, ties to even.
fn from_binary128(value: u128) -> [u8; 16] {
    let head = (value >> 112) as u16;
    let (sign, mut exponent) = (head & !EXPONENT, head & EXPONENT);
    let fraction = value & ((1 << 112) - 1);
    let mut mantissa = (fraction >> EXTRA_BITS) as u64;
    if exponent == EXPONENT {
        let vanished = fraction != 0 && mantissa == 0;
        mantissa |= 1 << 63 | u64::from(vanished) << 62;
    } else {
        let rest = fraction & ((1 << EXTRA_BITS) - 1);
        let half = 1 << (EXTRA_BITS - 1);
        let up = rest > half || (rest == half && mantissa & 1 == 1);
        mantissa += u64::from(up);
        let carried = mantissa >> 63 == 1;
        exponent += u16::from(carried);
        if exponent > 0 {
            mantissa |= 1 << 63;
        }
    }
    let mut native = [0; 16];
    native[..8].copy_from_slice(&mantissa.to_le_bytes());
    native[8..10].copy_from_slice(&(sign | exponent).to_le_bytes());
    native
}

/// Which way a run of elements is converted.
#[derive(Clone, Copy)]
enum Way {
    Pack,
    Unpack,
}

/// What a conversion works on.
struct Work<'a> {
    datatype: &'a Datatype,
    pointer: *mut u8,
    count: i64,
    /// Next byte of the packed form of this machine.
    position: usize,
    external: *mut u8,
}

impl Work<'_> {
    /// Converts `elements` basic elements.
    ///
    /// # Safety
    /// They must be left on both sides.
    unsafe fn run(&mut self, way: Way, basic: Basic, elements: i64) {
        if let Some((value, index, _)) = basic.pair() {
            for _ in 0..elements {
                // SAFETY: a pair is its value and its index.
                unsafe {
                    self.run(way, value, 1);
                    self.run(way, index, 1);
                }
            }
            return;
        }
        let (number, count) = Number::of(basic);
        let mut left = elements as usize * count;
        let mut buffer = [0u8; PIECE_BYTES];
        while left > 0 {
            let numbers = left.min(PIECE_BYTES / number.native);
            let native = &mut buffer[..numbers * number.native];
            // SAFETY: `numbers` numbers are left on both sides.
            unsafe {
                match way {
                    Way::Pack => self.pack(number, native),
                    Way::Unpack => self.unpack(number, native),
                }
            }
            self.position += native.len();
            self.external = self.external.wrapping_add(numbers * number.external);
            left -= numbers;
        }
    }

    /// # Safety
    /// As [`Work::run`].
    unsafe fn pack(&self, number: Number, native: &mut [u8]) {
        let external = self.external;
        // SAFETY: the caller vouches for both sides; `native` is private memory.
        let external = unsafe {
            pack(self.datatype, self.pointer, self.count, self.position, native.as_mut_ptr(), native.len());
            std::slice::from_raw_parts_mut(external, native.len() / number.native * number.external)
        };
        let numbers = native.chunks_exact(number.native).zip(external.chunks_exact_mut(number.external));
        numbers.for_each(|(native, external)| number.write(native, external));
    }

    /// # Safety
    /// As [`Work::run`].
    unsafe fn unpack(&self, number: Number, native: &mut [u8]) {
        let length = native.len() / number.native * number.external;
        // SAFETY: the caller vouches for both sides; nothing else writes to the packed buffer
        // during the call.
        let external = unsafe { std::slice::from_raw_parts(self.external, length) };
        let numbers = native.chunks_exact_mut(number.native).zip(external.chunks_exact(number.external));
        numbers.for_each(|(native, external)| number.read(external, native));
        // SAFETY: as above.
        unsafe { unpack(self.datatype, self.pointer, self.count, self.position, native.as_ptr(), native.len()) };
    }
}

/// Bytes that `count` elements take in external32 (`MPI_Pack_external_size`).
///
/// # Errors
/// More than 63 bits.
pub fn external32_size(datatype: &Datatype, count: i64) -> Result<i64> {
    datatype.body().external.checked_mul(count.max(0)).ok_or(Error::Overflow { what: "size" })
}

fn checked(datatype: &Datatype, count: i64, available: usize) -> Result<usize> {
    let needed = external32_size(datatype, count)? as usize;
    if needed > available {
        return Err(Error::Truncated { available, needed });
    }
    Ok(needed)
}

/// Packs `count` elements in external32 (`MPI_Pack_external`) and answers how many bytes were
/// written.
///
/// # Errors
/// `capacity` is too small; nothing is written then.
///
/// # Safety
/// As [`pack`].
pub unsafe fn pack_external32(
    datatype: &Datatype,
    pointer: *const u8,
    count: i64,
    into: *mut u8,
    capacity: usize,
) -> Result<usize> {
    let needed = checked(datatype, count, capacity)?;
    let mut work = Work { datatype, pointer: pointer.cast_mut(), count, position: 0, external: into };
    // SAFETY: the runs together are the elements, and take `needed` bytes.
    datatype.for_each_run(count, &mut |basic, elements| unsafe { work.run(Way::Pack, basic, elements) });
    Ok(needed)
}

/// Unpacks `count` elements from external32 (`MPI_Unpack_external`) and answers how many bytes were
/// read.
///
/// # Errors
/// `length` is too small; nothing is read then.
///
/// # Safety
/// As [`unpack`].
pub unsafe fn unpack_external32(
    datatype: &Datatype,
    pointer: *mut u8,
    count: i64,
    from: *const u8,
    length: usize,
) -> Result<usize> {
    let needed = checked(datatype, count, length)?;
    let mut work = Work { datatype, pointer, count, position: 0, external: from.cast_mut() };
    // SAFETY: as above; unpacking only reads from the external side.
    datatype.for_each_run(count, &mut |basic, elements| unsafe { work.run(Way::Unpack, basic, elements) });
    Ok(needed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::Form;

    fn convert<T: Copy + Default + PartialEq + std::fmt::Debug>(basic: Basic, values: &[T]) -> Vec<u8> {
        let (datatype, count) = (Datatype::named(basic), values.len() as i64);
        let size = external32_size(&datatype, count).expect("a small size") as usize;
        let mut packed = vec![0; size];
        let mut back = vec![T::default(); values.len()];
        // SAFETY: `values` and `back` hold `count` elements of this type, `packed` their bytes.
        unsafe {
            assert_eq!(pack_external32(&datatype, values.as_ptr().cast(), count, packed.as_mut_ptr(), size), Ok(size));
            assert_eq!(unpack_external32(&datatype, back.as_mut_ptr().cast(), count, packed.as_ptr(), size), Ok(size));
        }
        assert_eq!(back, values);
        packed
    }

    #[test]
    fn numbers_are_big_endian() {
        assert_eq!(convert(Basic::Int, &[0x0102_0304i32, -2]), [1, 2, 3, 4, 0xff, 0xff, 0xff, 0xfe]);
        assert_eq!(convert(Basic::Double, &[1.0f64]), [0x3f, 0xf0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(convert(Basic::CFloatComplex, &[[1.0f32, -2.0]]), [0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0]);
        assert_eq!(convert(Basic::Char, &[7i8, -1]), [7, 0xff]);
    }

    #[test]
    fn long_and_wide_characters_are_cut() {
        assert_eq!(convert(Basic::Long, &[-3i64, 0x0102_0304]), [0xff, 0xff, 0xff, 0xfd, 1, 2, 3, 4]);
        assert_eq!(convert(Basic::UnsignedLong, &[0x8000_0001u64]), [0x80, 0, 0, 1]);
        assert_eq!(convert(Basic::LongLong, &[-3i64]), [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfd]);
        assert_eq!(convert(Basic::Wchar, &['\u{20ac}' as u32]), [0x20, 0xac]);
    }

    #[test]
    fn structures_lose_their_gaps() {
        #[repr(C)]
        #[derive(Clone, Copy, Default, PartialEq, Debug)]
        struct Record(i16, i32);
        assert_eq!(convert(Basic::ShortInt, &[Record(1, 2), Record(-1, 3)]), [0, 1, 0, 0, 0, 2, 255, 255, 0, 0, 0, 3]);
        let children = [Basic::Short, Basic::Int].map(Datatype::named);
        let record = Datatype::structure(&[1, 1], &[0, 4], &children, Form::Small).expect("a valid structure");
        let mut packed = [0; 12];
        let records = [Record(1, 2), Record(-1, 3)];
        // SAFETY: two records, 12 bytes.
        let written =
            unsafe { pack_external32(&record, records.as_ptr().cast(), 2, packed.as_mut_ptr(), packed.len()) };
        assert_eq!((written, packed), (Ok(12), [0, 1, 0, 0, 0, 2, 255, 255, 0, 0, 0, 3]));
    }

    #[test]
    fn long_runs_go_in_pieces() {
        let values: Vec<i32> = (0..5000).map(|value| value * 12345).collect();
        let packed = convert(Basic::Int32, &values);
        assert!(packed.chunks_exact(4).zip(&values).all(|(bytes, value)| bytes == value.to_be_bytes()));
    }

    #[test]
    fn too_small_buffers_are_refused() {
        let int = Datatype::named(Basic::Int);
        // SAFETY: nothing is touched.
        let result = unsafe { pack_external32(&int, std::ptr::null(), 2, std::ptr::null_mut(), 7) };
        assert_eq!(result, Err(Error::Truncated { available: 7, needed: 8 }));
    }

    /// Sign and exponent, mantissa with its leading bit.
    fn x87(head: u16, mantissa: u64) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&mantissa.to_le_bytes());
        bytes[8..10].copy_from_slice(&head.to_le_bytes());
        bytes
    }

    #[test]
    fn long_doubles_survive_the_round_trip() {
        let one = x87(0x3fff, 1 << 63);
        assert_eq!(to_binary128(&one), 0x3fff << 112);
        let third = x87(0xbffd, 0xaaaa_aaaa_aaaa_aaab);
        let least = x87(0, 1);
        let greatest = x87(0x7ffe, u64::MAX);
        let infinite = x87(0xffff, 1 << 63);
        for number in [one, third, least, greatest, infinite, x87(0, 0), x87(0x8000, 0), x87(1, 1 << 63)] {
            assert_eq!(from_binary128(to_binary128(&number)), number);
        }
        assert_eq!(to_binary128(&x87(0, 1 << 63)), 1 << 112, "a pseudo-denormal has the least normal exponent");
        assert_eq!(to_binary128(&x87(5, 1)) >> 111, 0xffff, "an unnormal is not a number");
    }

    #[test]
    fn binary128_is_rounded_to_even() {
        let half = 1u128 << (EXTRA_BITS - 1);
        let one = 0x3fffu128 << 112;
        assert_eq!(from_binary128(one | half), x87(0x3fff, 1 << 63));
        assert_eq!(from_binary128(one | half | 1), x87(0x3fff, 1 << 63 | 1));
        assert_eq!(from_binary128(one | half << 1 | half), x87(0x3fff, 1 << 63 | 2));
        let below_two = one | ((1 << 112) - 1);
        assert_eq!(from_binary128(below_two), x87(0x4000, 1 << 63));
        let greatest = 0x7ffeu128 << 112 | ((1 << 112) - 1);
        assert_eq!(from_binary128(greatest), x87(0x7fff, 1 << 63));
        let below_normal = (1u128 << 112) - 1;
        assert_eq!(from_binary128(below_normal), x87(1, 1 << 63));
        let quiet = from_binary128(0x7fffu128 << 112 | 1);
        assert_eq!(quiet, x87(0x7fff, 3 << 62));
    }
}
