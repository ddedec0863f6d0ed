//! The portable representation "external32" (MPI 5.0, section 14.5.2): big-endian, IEEE, fixed
//! sizes.
//!
//! Packed data consists of the signature's elements in order. Conversion therefore packs a chunk of
//! whole elements in native form and converts it element by element. In external32 `long` has 4
//! bytes and is truncated to its low half, `wchar_t` to its low 2 bytes; `long double` becomes IEEE
//! binary128 with 16 bytes.

use crate::basic::{Basic, Class, Float};
use crate::cursor::{pack, unpack};
use crate::datatype::Datatype;
use crate::error::{Error, Result};

/// Elements are converted in chunks of at most this many native bytes.
const PIECE_BYTES: usize = 4096;

/// How one number is converted.
#[derive(Clone, Copy)]
enum Conversion {
    /// Same number of bytes, in reverse order.
    Reverse,
    /// Fewer bytes in external32; sign-extended when read.
    Signed,
    /// Fewer bytes in external32; zero-extended when read.
    Unsigned,
    /// x87 `long double` in native form, binary128 in external32.
    Extended,
}

/// Conversion of one number: native size, external size, method.
#[derive(Clone, Copy)]
struct NumberConversion {
    native: usize,
    external: usize,
    conversion: Conversion,
}

impl NumberConversion {
    /// The conversion of a basic type that is not a pair: one number, or two equal ones.
    fn of(basic: Basic) -> (NumberConversion, usize) {
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
        (NumberConversion { native, external, conversion }, count)
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

/// Fraction bits of binary128 in excess of the x87 format's.
const EXTRA_BITS: u32 = 112 - 63;
const EXPONENT: u16 = 0x7fff;

/// Converts the 10 bytes of an x87 number to binary128. Exact, because the exponent ranges are
/// equal.
fn to_binary128(native: &[u8]) -> u128 {
    let mantissa = u64::from_le_bytes(native[..8].try_into().unwrap_or_default());
    let head = u16::from_le_bytes([native[8], native[9]]);
    let (sign, exponent) = (head & !EXPONENT, head & EXPONENT);
    let leading = mantissa >> 63 == 1;
    let fraction = u128::from(mantissa << 1 >> 1) << EXTRA_BITS;
    let (exponent, fraction) = match (exponent, leading) {
        (0, true) => (1, fraction),
        (0, false) | (_, true) => (exponent, fraction),
        // An invalid x87 encoding, which the processor rejects, becomes NaN.
        (_, false) => (EXPONENT, 1 << 111),
    };
    u128::from(sign | exponent) << 112 | fraction
}

/// Converts to the x87 format, rounding to nearest, ties to even.
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

/// Direction of a conversion.
#[derive(Clone, Copy)]
enum ConversionWay {
    Pack,
    Unpack,
}

/// State of a conversion.
struct ConversionWork<'a> {
    datatype: &'a Datatype,
    pointer: *mut u8,
    count: i64,
    /// Position in the packed native form.
    position: usize,
    external: *mut u8,
}

impl ConversionWork<'_> {
    /// Converts `elements` basic elements.
    ///
    /// # Safety
    /// At least this many elements of this type must be left at `position` of the buffer and at
    /// `external`, valid for reading on one side and for writing on the other.
    unsafe fn run(&mut self, way: ConversionWay, basic: Basic, elements: i64) {
        if let Some((value, index, _)) = basic.pair() {
            for _ in 0..elements {
                // SAFETY: a pair consists of its value and its index, and `elements` pairs are left
                // on both sides.
                unsafe {
                    self.run(way, value, 1);
                    self.run(way, index, 1);
                }
            }
            return;
        }
        let (number, count) = NumberConversion::of(basic);
        let mut left = elements as usize * count;
        let mut buffer = [0u8; PIECE_BYTES];
        while left > 0 {
            let numbers = left.min(PIECE_BYTES / number.native);
            let native = &mut buffer[..numbers * number.native];
            // SAFETY: at least `numbers` numbers are left on both sides.
            unsafe {
                match way {
                    ConversionWay::Pack => self.pack(number, native),
                    ConversionWay::Unpack => self.unpack(number, native),
                }
            }
            self.position += native.len();
            self.external = self.external.wrapping_add(numbers * number.external);
            left -= numbers;
        }
    }

    /// # Safety
    /// See [`ConversionWork::run`].
    unsafe fn pack(&self, number: NumberConversion, native: &mut [u8]) {
        let external = self.external;
        // SAFETY: the elements of `native` are left in the buffer, and `external` is writable for
        // their external form (this function's contract); `native` is a local buffer that overlaps
        // neither.
        let external = unsafe {
            pack(self.datatype, self.pointer, self.count, self.position, native.as_mut_ptr(), native.len());
            std::slice::from_raw_parts_mut(external, native.len() / number.native * number.external)
        };
        let numbers = native.chunks_exact(number.native).zip(external.chunks_exact_mut(number.external));
        numbers.for_each(|(native, external)| number.write(native, external));
    }

    /// # Safety
    /// See [`ConversionWork::run`].
    unsafe fn unpack(&self, number: NumberConversion, native: &mut [u8]) {
        let length = native.len() / number.native * number.external;
        // SAFETY: `external` is readable for `length` bytes (this function's contract), and nothing
        // writes to it while the slice exists.
        let external = unsafe { std::slice::from_raw_parts(self.external, length) };
        let numbers = native.chunks_exact_mut(number.native).zip(external.chunks_exact(number.external));
        numbers.for_each(|(native, external)| number.read(external, native));
        // SAFETY: the elements of `native` are left in the buffer, which is writable for them (this
        // function's contract).
        unsafe { unpack(self.datatype, self.pointer, self.count, self.position, native.as_ptr(), native.len()) };
    }
}

/// Size of `count` elements in external32, in bytes (`MPI_Pack_external_size`).
///
/// # Errors
/// If the size does not fit in 63 bits.
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

/// Packs `count` elements in external32 (`MPI_Pack_external`) and returns the number of bytes
/// written.
///
/// # Errors
/// If `capacity` is too small; nothing is written then.
///
/// # Safety
/// See [`pack`].
pub unsafe fn pack_external32(
    datatype: &Datatype,
    pointer: *const u8,
    count: i64,
    into: *mut u8,
    capacity: usize,
) -> Result<usize> {
    let needed = checked(datatype, count, capacity)?;
    let mut work = ConversionWork { datatype, pointer: pointer.cast_mut(), count, position: 0, external: into };
    // SAFETY: the runs are all of the elements at `pointer`, which are readable; `into` is writable
    // for `capacity` bytes, which is at least the `needed` bytes of the runs.
    datatype.for_each_run(count, &mut |basic, elements| unsafe { work.run(ConversionWay::Pack, basic, elements) });
    Ok(needed)
}

/// Unpacks `count` elements from external32 (`MPI_Unpack_external`) and returns the number of bytes
/// read.
///
/// # Errors
/// If `length` is too small; nothing is read then.
///
/// # Safety
/// See [`unpack`].
pub unsafe fn unpack_external32(
    datatype: &Datatype,
    pointer: *mut u8,
    count: i64,
    from: *const u8,
    length: usize,
) -> Result<usize> {
    let needed = checked(datatype, count, length)?;
    let mut work = ConversionWork { datatype, pointer, count, position: 0, external: from.cast_mut() };
    // SAFETY: the runs are all of the elements at `pointer`, which are writable; `from` is readable
    // for `length` bytes, which is at least the `needed` bytes of the runs, and unpacking only
    // reads it.
    datatype.for_each_run(count, &mut |basic, elements| unsafe { work.run(ConversionWay::Unpack, basic, elements) });
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
        // SAFETY: `values` and `back` hold `count` elements of this type, `packed` their external
        // form.
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
        // SAFETY: `records` holds two records, and `packed` their 12 external bytes.
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
        // SAFETY: `capacity` is too small, so no memory is accessed.
        let result = unsafe { pack_external32(&int, std::ptr::null(), 2, std::ptr::null_mut(), 7) };
        assert_eq!(result, Err(Error::Truncated { available: 7, needed: 8 }));
    }

    /// An x87 number with this sign and exponent, and this mantissa, explicit leading bit included.
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
