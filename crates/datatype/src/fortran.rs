//! Datatypes for Fortran kinds selected by precision and range (MPI 5.0, section 19.1.9).
//!
//! The kinds are those of gfortran and compatible compilers: real kinds 4, 8, 10 (x86-64 only) and
//! 16, integer kinds 1, 2, 4, 8 and 16. The smallest sufficient kind is chosen, as by
//! `SELECTED_REAL_KIND`.

use crate::basic::Basic;
use crate::body::ElementLayout;
use crate::constants::UNDEFINED;
use crate::datatype::{Datatype, Form};
use crate::error::{Error, Result};
use crate::recipe::Recipe;

/// Per real kind: decimal digits, decimal exponent range, real type, complex type.
const REALS: &[(i64, i64, Basic, Basic)] = &[
    (6, 37, Basic::Real4, Basic::Complex8),
    (15, 307, Basic::Real8, Basic::Complex16),
    #[cfg(target_arch = "x86_64")]
    (18, 4931, Basic::LongDouble, Basic::CLongDoubleComplex),
    (33, 4931, Basic::Real16, Basic::Complex32),
];

/// Per integer kind: decimal digits, type.
const INTEGERS: &[(i64, Basic)] =
    &[(2, Basic::Integer1), (4, Basic::Integer2), (9, Basic::Integer4), (18, Basic::Integer8), (38, Basic::Integer16)];

fn words(what: &str, value: i64) -> String {
    if value == UNDEFINED { format!("any {what}") } else { format!("{what} {value}") }
}

fn real_kind(kind: &'static str, precision: i64, range: i64) -> Result<(Basic, Basic)> {
    let enough = |have: i64, want: i64| want == UNDEFINED || have >= want;
    let unknown = precision == UNDEFINED && range == UNDEFINED;
    let found = REALS.iter().find(|real| !unknown && enough(real.0, precision) && enough(real.1, range));
    found.map(|real| (real.2, real.3)).ok_or_else(|| Error::NoKind {
        kind,
        precision: words("precision", precision),
        range: words("range", range),
    })
}

fn predefined(basic: Basic, recipe: Recipe) -> Datatype {
    let datatype = Datatype::made(ElementLayout::basic(basic), recipe, Form::Small);
    datatype.commit();
    datatype
}

impl Datatype {
    /// A real type with at least `precision` decimal digits and a decimal exponent range of at
    /// least `range`; one of the two may be `MPI_UNDEFINED` (`MPI_Type_create_f90_real`).
    ///
    /// # Errors
    /// If there is no such kind.
    pub fn f90_real(precision: i64, range: i64) -> Result<Datatype> {
        let (basic, _) = real_kind("real", precision, range)?;
        Ok(predefined(basic, Recipe::F90Real { basic, precision, range }))
    }

    /// Like [`Datatype::f90_real`], but complex (`MPI_Type_create_f90_complex`).
    ///
    /// # Errors
    /// If there is no such kind.
    pub fn f90_complex(precision: i64, range: i64) -> Result<Datatype> {
        let (_, basic) = real_kind("complex", precision, range)?;
        Ok(predefined(basic, Recipe::F90Complex { basic, precision, range }))
    }

    /// An integer type that holds all numbers of up to `range` decimal digits
    /// (`MPI_Type_create_f90_integer`).
    ///
    /// # Errors
    /// If there is no such kind.
    pub fn f90_integer(range: i64) -> Result<Datatype> {
        let found = INTEGERS.iter().find(|integer| range != UNDEFINED && integer.0 >= range);
        let basic = found.map(|integer| integer.1).ok_or_else(|| Error::NoKind {
            kind: "integer",
            precision: "any precision".into(),
            range: words("range", range),
        })?;
        Ok(predefined(basic, Recipe::F90Integer { basic, range }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Combiner;

    #[test]
    fn the_smallest_sufficient_kind_is_taken() {
        let real = |precision, range| Datatype::f90_real(precision, range).map(|real| real.size()).ok();
        assert_eq!(real(6, 37), Some(4));
        assert_eq!(real(7, UNDEFINED), Some(8));
        assert_eq!(real(UNDEFINED, 38), Some(8));
        assert_eq!(real(33, 4931), Some(16));
        assert_eq!(real(34, UNDEFINED), None);
        assert_eq!(real(UNDEFINED, UNDEFINED), None);
        assert_eq!(Datatype::f90_complex(15, 100).map(|complex| complex.size()), Ok(16));
        let integer = |range| Datatype::f90_integer(range).map(|integer| integer.size()).ok();
        assert_eq!([2, 3, 9, 10, 38, 39].map(integer), [Some(1), Some(2), Some(4), Some(8), Some(16), None]);
    }

    #[test]
    fn they_are_predefined_but_not_named() {
        let real = Datatype::f90_real(15, UNDEFINED).expect("double precision");
        assert!(real.is_predefined() && real.is_committed());
        assert_eq!((real.as_named(), real.single_basic()), (None, Some(Basic::Real8)));
        let contents = real.contents();
        assert_eq!((contents.combiner, contents.integers), (Combiner::F90Real, vec![15, UNDEFINED]));
        assert!(contents.datatypes.is_empty());
    }
}
