//! The predefined named datatypes of MPI 5.0 (section 3.2.2 and tables 3.1 to 3.4; chapter 20 for
//! the handle numbers).
//!
//! A [`Basic`] knows its name, its handle number in the standard ABI, its size and alignment for
//! the C and Fortran compilers of x86-64 and aarch64 Linux, its size in external32 and its kind of
//! number. Every derived type is a sequence of basic types. Pair types (`MPI_DOUBLE_INT`) are
//! predefined, but consist of two numbers.

/// A floating-point format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Float {
    /// IEEE binary16, 2 bytes.
    Half,
    /// IEEE binary32, 4 bytes.
    Single,
    /// IEEE binary64, 8 bytes.
    Double,
    /// C `long double`: x87 80-bit number in 16 bytes on x86-64, IEEE binary128 elsewhere.
    Extended,
    /// IEEE binary128, 16 bytes.
    Quad,
}

/// How the bytes of a basic type are interpreted. Widths are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Two's complement integer.
    Signed(usize),
    /// Unsigned integer.
    Unsigned(usize),
    /// Floating-point number.
    Float(Float),
    /// Real part followed by imaginary part.
    Complex(Float),
    /// Truth value; 0 is false.
    Logical(usize),
    /// A character; takes no part in arithmetic.
    Character(usize),
    /// Uninterpreted byte (`MPI_BYTE`).
    Byte,
    /// Packed data (`MPI_PACKED`).
    Packed,
    /// Value and index for `MPI_MINLOC` and `MPI_MAXLOC`, laid out as a C structure of the two.
    Pair(Basic, Basic),
    /// No data: marks the lower or upper bound of a structure (MPI-1).
    Marker,
}

/// Row of the table of types allowed for predefined reduction operations (MPI 5.0, section 6.9.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReductionGroup {
    /// C integer.
    CInteger,
    /// Fortran integer.
    FortranInteger,
    /// Floating point.
    Floating,
    /// Logical.
    Logical,
    /// Complex.
    Complex,
    /// `MPI_BYTE`.
    Byte,
    /// `MPI_AINT`, `MPI_OFFSET`, `MPI_COUNT`.
    MultiLanguage,
    /// Value and index, for `MPI_MINLOC` and `MPI_MAXLOC`.
    Pair,
    /// No predefined operation accepts it.
    None,
}

/// A row of the table of basic types.
struct BasicRow {
    basic: Basic,
    name: &'static str,
    class: Class,
    group: ReductionGroup,
    alignment: usize,
    external: usize,
}

macro_rules! basics {
    ($($variant:ident = $number:literal, $name:literal, $class:expr, $group:ident, $alignment:literal, $external:literal;)*) => {
        /// A predefined named datatype; the discriminant is its handle number in the standard ABI.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Basic { $(#[doc = concat!("`", $name, "`")] $variant = $number,)* }

        const ROWS: &[BasicRow] = &[$(BasicRow {
            basic: Basic::$variant, name: $name, class: $class, group: ReductionGroup::$group, alignment: $alignment, external: $external,
        },)*];

        /// Every predefined named datatype, in ascending order of number.
        pub const ALL: &[Basic] = &[$(Basic::$variant,)*];
    };
}

use Class::{Byte, Character, Complex, Float as Real, Logical, Marker, Packed, Pair, Signed, Unsigned};
use Float::{Double, Extended, Half, Quad, Single};

// Variant, number, name, class, group, alignment, size in external32 (table 14.2). `long` has 4
// bytes in external32. The sized LOGICALs and small REALs, which the table omits, keep their native
// size.
basics! {
    Aint = 0x201, "MPI_AINT", Signed(8), MultiLanguage, 8, 8;
    Count = 0x202, "MPI_COUNT", Signed(8), MultiLanguage, 8, 8;
    Offset = 0x203, "MPI_OFFSET", Signed(8), MultiLanguage, 8, 8;
    Packed = 0x207, "MPI_PACKED", Packed, None, 1, 1;
    Short = 0x208, "MPI_SHORT", Signed(2), CInteger, 2, 2;
    Int = 0x209, "MPI_INT", Signed(4), CInteger, 4, 4;
    Long = 0x20a, "MPI_LONG", Signed(8), CInteger, 8, 4;
    LongLong = 0x20b, "MPI_LONG_LONG_INT", Signed(8), CInteger, 8, 8;
    UnsignedShort = 0x20c, "MPI_UNSIGNED_SHORT", Unsigned(2), CInteger, 2, 2;
    Unsigned = 0x20d, "MPI_UNSIGNED", Unsigned(4), CInteger, 4, 4;
    UnsignedLong = 0x20e, "MPI_UNSIGNED_LONG", Unsigned(8), CInteger, 8, 4;
    UnsignedLongLong = 0x20f, "MPI_UNSIGNED_LONG_LONG", Unsigned(8), CInteger, 8, 8;
    Float = 0x210, "MPI_FLOAT", Real(Single), Floating, 4, 4;
    CFloatComplex = 0x212, "MPI_C_COMPLEX", Complex(Single), Complex, 4, 8;
    CxxFloatComplex = 0x213, "MPI_CXX_FLOAT_COMPLEX", Complex(Single), Complex, 4, 8;
    Double = 0x214, "MPI_DOUBLE", Real(Double), Floating, 8, 8;
    CDoubleComplex = 0x216, "MPI_C_DOUBLE_COMPLEX", Complex(Double), Complex, 8, 16;
    CxxDoubleComplex = 0x217, "MPI_CXX_DOUBLE_COMPLEX", Complex(Double), Complex, 8, 16;
    Logical = 0x218, "MPI_LOGICAL", Logical(4), Logical, 4, 4;
    Integer = 0x219, "MPI_INTEGER", Signed(4), FortranInteger, 4, 4;
    Real = 0x21a, "MPI_REAL", Real(Single), Floating, 4, 4;
    Complex = 0x21b, "MPI_COMPLEX", Complex(Single), Complex, 4, 8;
    DoublePrecision = 0x21c, "MPI_DOUBLE_PRECISION", Real(Double), Floating, 8, 8;
    DoubleComplex = 0x21d, "MPI_DOUBLE_COMPLEX", Complex(Double), Complex, 8, 16;
    Character = 0x21e, "MPI_CHARACTER", Character(1), None, 1, 1;
    LongDouble = 0x220, "MPI_LONG_DOUBLE", Real(Extended), Floating, 16, 16;
    CLongDoubleComplex = 0x224, "MPI_C_LONG_DOUBLE_COMPLEX", Complex(Extended), Complex, 16, 32;
    CxxLongDoubleComplex = 0x225, "MPI_CXX_LONG_DOUBLE_COMPLEX", Complex(Extended), Complex, 16, 32;
    FloatInt = 0x228, "MPI_FLOAT_INT", Pair(Basic::Float, Basic::Int), Pair, 4, 8;
    DoubleInt = 0x229, "MPI_DOUBLE_INT", Pair(Basic::Double, Basic::Int), Pair, 8, 12;
    LongInt = 0x22a, "MPI_LONG_INT", Pair(Basic::Long, Basic::Int), Pair, 8, 8;
    IntInt = 0x22b, "MPI_2INT", Pair(Basic::Int, Basic::Int), Pair, 4, 8;
    ShortInt = 0x22c, "MPI_SHORT_INT", Pair(Basic::Short, Basic::Int), Pair, 4, 6;
    LongDoubleInt = 0x22d, "MPI_LONG_DOUBLE_INT", Pair(Basic::LongDouble, Basic::Int), Pair, 16, 20;
    RealReal = 0x230, "MPI_2REAL", Pair(Basic::Real, Basic::Real), Pair, 4, 8;
    DoublePrecisionPair = 0x231, "MPI_2DOUBLE_PRECISION", Pair(Basic::DoublePrecision, Basic::DoublePrecision), Pair, 8, 16;
    IntegerInteger = 0x232, "MPI_2INTEGER", Pair(Basic::Integer, Basic::Integer), Pair, 4, 8;
    CBool = 0x238, "MPI_C_BOOL", Logical(1), Logical, 1, 1;
    CxxBool = 0x239, "MPI_CXX_BOOL", Logical(1), Logical, 1, 1;
    Wchar = 0x23c, "MPI_WCHAR", Character(4), None, 4, 2;
    // Removed from the standard but still in the MPICH ABI; the numbers are unused by the standard.
    LowerBound = 0x23d, "MPI_LB", Marker, None, 1, 0;
    UpperBound = 0x23e, "MPI_UB", Marker, None, 1, 0;
    // Not in the standard, but a C type of the MPICH ABI; the number is unused by the standard.
    CFloat16 = 0x23f, "MPIX_C_FLOAT16", Real(Half), Floating, 2, 2;
    Int8 = 0x240, "MPI_INT8_T", Signed(1), CInteger, 1, 1;
    Uint8 = 0x241, "MPI_UINT8_T", Unsigned(1), CInteger, 1, 1;
    Char = 0x243, "MPI_CHAR", Character(1), None, 1, 1;
    SignedChar = 0x244, "MPI_SIGNED_CHAR", Signed(1), CInteger, 1, 1;
    UnsignedChar = 0x245, "MPI_UNSIGNED_CHAR", Unsigned(1), CInteger, 1, 1;
    Byte = 0x247, "MPI_BYTE", Byte, Byte, 1, 1;
    Int16 = 0x248, "MPI_INT16_T", Signed(2), CInteger, 2, 2;
    Uint16 = 0x249, "MPI_UINT16_T", Unsigned(2), CInteger, 2, 2;
    Int32 = 0x250, "MPI_INT32_T", Signed(4), CInteger, 4, 4;
    Uint32 = 0x251, "MPI_UINT32_T", Unsigned(4), CInteger, 4, 4;
    Int64 = 0x258, "MPI_INT64_T", Signed(8), CInteger, 8, 8;
    Uint64 = 0x259, "MPI_UINT64_T", Unsigned(8), CInteger, 8, 8;
    Logical1 = 0x2c0, "MPI_LOGICAL1", Logical(1), Logical, 1, 1;
    Integer1 = 0x2c1, "MPI_INTEGER1", Signed(1), FortranInteger, 1, 1;
    Logical2 = 0x2c8, "MPI_LOGICAL2", Logical(2), Logical, 2, 2;
    Integer2 = 0x2c9, "MPI_INTEGER2", Signed(2), FortranInteger, 2, 2;
    Real2 = 0x2ca, "MPI_REAL2", Real(Half), Floating, 2, 2;
    Logical4 = 0x2d0, "MPI_LOGICAL4", Logical(4), Logical, 4, 4;
    Integer4 = 0x2d1, "MPI_INTEGER4", Signed(4), FortranInteger, 4, 4;
    Real4 = 0x2d2, "MPI_REAL4", Real(Single), Floating, 4, 4;
    Complex4 = 0x2d3, "MPI_COMPLEX4", Complex(Half), Complex, 2, 4;
    Logical8 = 0x2d8, "MPI_LOGICAL8", Logical(8), Logical, 8, 8;
    Integer8 = 0x2d9, "MPI_INTEGER8", Signed(8), FortranInteger, 8, 8;
    Real8 = 0x2da, "MPI_REAL8", Real(Double), Floating, 8, 8;
    Complex8 = 0x2db, "MPI_COMPLEX8", Complex(Single), Complex, 4, 8;
    Logical16 = 0x2e0, "MPI_LOGICAL16", Logical(16), Logical, 16, 16;
    Integer16 = 0x2e1, "MPI_INTEGER16", Signed(16), FortranInteger, 16, 16;
    Real16 = 0x2e2, "MPI_REAL16", Real(Quad), Floating, 16, 16;
    Complex16 = 0x2e3, "MPI_COMPLEX16", Complex(Double), Complex, 8, 16;
    Complex32 = 0x2eb, "MPI_COMPLEX32", Complex(Quad), Complex, 16, 32;
}

const FIRST: usize = 0x200;

/// Row index + 1, indexed by `number - FIRST`; 0 if no type has that number.
const INDEX: [u8; 0x100] = {
    let mut index = [0; 0x100];
    let mut row = 0;
    while row < ROWS.len() {
        index[ROWS[row].basic as usize - FIRST] = row as u8 + 1;
        row += 1;
    }
    index
};

impl Float {
    /// Size in memory in bytes.
    pub const fn size(self) -> usize {
        match self {
            Float::Half => 2,
            Float::Single => 4,
            Float::Double => 8,
            Float::Extended | Float::Quad => 16,
        }
    }
}

impl Class {
    /// Size of the data in bytes, without the padding of a pair.
    pub const fn size(self) -> usize {
        match self {
            Class::Signed(width) | Class::Unsigned(width) | Class::Logical(width) | Class::Character(width) => width,
            Class::Float(float) => float.size(),
            Class::Complex(float) => 2 * float.size(),
            Class::Byte | Class::Packed => 1,
            Class::Marker => 0,
            Class::Pair(value, index) => value.size() + index.size(),
        }
    }
}

impl Basic {
    const fn row(self) -> &'static BasicRow {
        &ROWS[INDEX[self as usize - FIRST] as usize - 1]
    }

    /// Returns the type with this handle number in the standard ABI, if there is one.
    pub fn from_number(number: u32) -> Option<Basic> {
        let index = *INDEX.get((number as usize).checked_sub(FIRST)?)?;
        Some(ROWS[usize::from(index).checked_sub(1)?].basic)
    }

    /// Handle number in the standard ABI, e.g. 0x209 for `MPI_INT`.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// Position in [`ALL`], for tables with one entry per basic type.
    pub const fn index(self) -> usize {
        INDEX[self as usize - FIRST] as usize - 1
    }

    /// Name, e.g. "MPI_INT".
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Size of the data in bytes: 12 for `MPI_DOUBLE_INT`.
    pub const fn size(self) -> usize {
        self.row().class.size()
    }

    /// Alignment within a C structure, in bytes.
    pub const fn alignment(self) -> usize {
        self.row().alignment
    }

    /// Distance between consecutive array elements in bytes: 16 for `MPI_DOUBLE_INT`.
    pub const fn extent(self) -> usize {
        match self.row().class {
            Class::Pair(value, index) => {
                let end = Basic::index_offset(value, index) + index.size();
                end.next_multiple_of(self.row().alignment)
            }
            class => class.size(),
        }
    }

    /// Value type and index type of a pair type, and the offset of the index.
    pub const fn pair(self) -> Option<(Basic, Basic, usize)> {
        match self.row().class {
            Class::Pair(value, index) => Some((value, index, Basic::index_offset(value, index))),
            _ => None,
        }
    }

    /// Offset of the index in the C structure `{ value; index }`.
    pub(crate) const fn index_offset(value: Basic, index: Basic) -> usize {
        value.size().next_multiple_of(index.alignment())
    }

    /// Size in external32, in bytes.
    pub const fn external32_size(self) -> usize {
        self.row().external
    }

    /// How its bytes are interpreted.
    pub const fn class(self) -> Class {
        self.row().class
    }

    /// Row in the table of predefined reduction operations.
    pub const fn group(self) -> ReductionGroup {
        self.row().group
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_back_to_their_types() {
        for (position, &basic) in ALL.iter().enumerate() {
            assert_eq!(Basic::from_number(basic.number()), Some(basic));
            assert_eq!(basic.index(), position);
        }
        for number in [0, 0x1ff, 0x200, 0x204, 0x2ec, 0x300, 0x1000, u32::MAX] {
            assert_eq!(Basic::from_number(number), None);
        }
        assert!(ALL.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn fixed_size_numbers_carry_their_size() {
        // Chapter 20 of the standard: numbers from 0x240 contain log2 of the size in bits 3 to 5.
        for &basic in ALL.iter().filter(|basic| basic.number() >= 0x240) {
            assert_eq!(basic.size(), 1 << (basic.number() >> 3 & 7), "{}", basic.name());
        }
    }

    #[test]
    fn pairs_have_the_layout_of_the_c_structure() {
        let layouts = [
            (Basic::FloatInt, 8, 8, 4),
            (Basic::DoubleInt, 12, 16, 8),
            (Basic::LongInt, 12, 16, 8),
            (Basic::IntInt, 8, 8, 4),
            (Basic::ShortInt, 6, 8, 4),
            (Basic::LongDoubleInt, 20, 32, 16),
            (Basic::RealReal, 8, 8, 4),
            (Basic::DoublePrecisionPair, 16, 16, 8),
            (Basic::IntegerInteger, 8, 8, 4),
        ];
        for (basic, size, extent, offset) in layouts {
            assert_eq!((basic.size(), basic.extent()), (size, extent), "{}", basic.name());
            assert_eq!(basic.pair().map(|pair| pair.2), Some(offset), "{}", basic.name());
            let (value, index, _) = basic.pair().expect("a pair type");
            assert_eq!(basic.external32_size(), value.external32_size() + index.external32_size());
        }
        assert_eq!(Basic::Int.pair(), None);
    }

    #[test]
    fn groups_agree_with_classes() {
        for &basic in ALL {
            let agrees = match basic.group() {
                ReductionGroup::CInteger | ReductionGroup::FortranInteger | ReductionGroup::MultiLanguage => {
                    matches!(basic.class(), Class::Signed(_) | Class::Unsigned(_))
                }
                ReductionGroup::Floating => matches!(basic.class(), Class::Float(_)),
                ReductionGroup::Logical => matches!(basic.class(), Class::Logical(_)),
                ReductionGroup::Complex => matches!(basic.class(), Class::Complex(_)),
                ReductionGroup::Byte => basic == Basic::Byte,
                ReductionGroup::Pair => basic.pair().is_some(),
                ReductionGroup::None => {
                    matches!(basic.class(), Class::Character(_) | Class::Packed | Class::Marker)
                }
            };
            assert!(agrees, "{}", basic.name());
        }
    }
}
