//! The library's assumptions about Fortran (MPI 5.0, section 20.4): sizes of the default kinds,
//! supported sized types, and the representation of logicals.
//!
//! The values are those of common compilers (4-byte integer, real and logical; true is 1) and
//! cannot be changed: setting the same values succeeds, others fail with MPI_ERR_ABI.

use std::ffi::c_void;

use towpath_neutral::abi::Handle;
use towpath_neutral::constants::*;
use towpath_neutral::error::{Error, Result, fail};
use towpath_neutral::info::Pairs;

use super::datatypes::type_size;
use super::info;

/// Info keys of the default kinds, and their types.
const SIZES: [(&str, Handle); 4] = [
    ("mpi_logical_size", LOGICAL),
    ("mpi_integer_size", INTEGER),
    ("mpi_real_size", REAL),
    ("mpi_double_precision_size", DOUBLE_PRECISION),
];

/// Info keys of types that a Fortran compiler may lack, and the types.
const OPTIONAL: [(&str, Handle); 19] = [
    ("mpi_logical1_supported", LOGICAL1),
    ("mpi_logical2_supported", LOGICAL2),
    ("mpi_logical4_supported", LOGICAL4),
    ("mpi_logical8_supported", LOGICAL8),
    ("mpi_logical16_supported", LOGICAL16),
    ("mpi_integer1_supported", INTEGER1),
    ("mpi_integer2_supported", INTEGER2),
    ("mpi_integer4_supported", INTEGER4),
    ("mpi_integer8_supported", INTEGER8),
    ("mpi_integer16_supported", INTEGER16),
    ("mpi_real2_supported", REAL2),
    ("mpi_real4_supported", REAL4),
    ("mpi_real8_supported", REAL8),
    ("mpi_real16_supported", REAL16),
    ("mpi_complex4_supported", COMPLEX4),
    ("mpi_complex8_supported", COMPLEX8),
    ("mpi_complex16_supported", COMPLEX16),
    ("mpi_complex32_supported", COMPLEX32),
    ("mpi_double_complex_supported", DOUBLE_COMPLEX),
];

fn known() -> Result<Pairs> {
    let mut pairs = Pairs::default();
    for (key, datatype) in SIZES {
        pairs.set(key, &type_size(datatype)?.to_string());
    }
    for (key, datatype) in OPTIONAL {
        let supported = type_size(datatype).is_ok_and(|size| size > 0);
        pairs.set(key, if supported { "true" } else { "false" });
    }
    Ok(pairs)
}

/// MPI_Abi_get_fortran_info.
pub fn abi_get_fortran_info() -> Result<Handle> {
    info::insert(known()?)
}

/// MPI_Abi_set_fortran_info: succeeds if the info agrees with the built-in values.
pub fn abi_set_fortran_info(info: Handle) -> Result<()> {
    let known = known()?;
    for (key, value) in info::pairs(info)?.iter() {
        if let Some(present) = known.get(key)
            && present != value
        {
            fail!(ERR_ABI, "argument info has {key} = {value}, but this library is built for {present}");
        }
    }
    Ok(())
}

/// The bytes of true and false in a logical of `size` bytes.
fn booleans(size: i32) -> Result<([u8; 16], [u8; 16], usize)> {
    if !matches!(size, 1 | 2 | 4 | 8 | 16) {
        fail!(ERR_ARG, "argument logical_size is {size}; it must be 1, 2, 4, 8 or 16");
    }
    Ok((1u128.to_ne_bytes(), 0u128.to_ne_bytes(), size as usize))
}

fn present(pointer: *mut c_void, name: &str) -> Result<()> {
    if pointer.is_null() {
        Err(Error::new(ERR_ARG, format!("argument {name} is NULL; pass a logical")))
    } else {
        Ok(())
    }
}

/// MPI_Abi_get_fortran_booleans: the values are always known.
///
/// # Safety
/// Both pointers must be NULL or have room for a logical of `size` bytes.
pub unsafe fn abi_get_fortran_booleans(size: i32, on: *mut c_void, off: *mut c_void) -> Result<bool> {
    let (true_bytes, false_bytes, length) = booleans(size)?;
    present(on, "logical_true")?;
    present(off, "logical_false")?;
    // SAFETY: neither pointer is NULL, so both have room for `length` bytes (this function's
    // contract), and so do the arrays of 16 bytes. On little-endian machines the first bytes of a
    // wide integer are the narrow one.
    unsafe {
        std::ptr::copy_nonoverlapping(true_bytes.as_ptr(), on.cast(), length);
        std::ptr::copy_nonoverlapping(false_bytes.as_ptr(), off.cast(), length);
    }
    Ok(true)
}

/// MPI_Abi_set_fortran_booleans: succeeds if the values agree with the built-in ones.
///
/// # Safety
/// Both pointers must be NULL or point to a logical of `size` bytes.
pub unsafe fn abi_set_fortran_booleans(size: i32, on: *mut c_void, off: *mut c_void) -> Result<()> {
    let (true_bytes, false_bytes, length) = booleans(size)?;
    present(on, "logical_true")?;
    present(off, "logical_false")?;
    // SAFETY: neither pointer is NULL, so both are readable for `length` bytes (this function's
    // contract).
    let same = |pointer: *mut c_void, bytes: &[u8; 16]| unsafe {
        (0..length).all(|i| *pointer.cast::<u8>().add(i) == bytes[i])
    };
    if !same(on, &true_bytes) || !same(off, &false_bytes) {
        fail!(ERR_ABI, "this library is built for Fortran logicals with 1 for true and 0 for false");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_come_back_as_they_were_given() {
        for size in [1, 2, 4, 8, 16] {
            let (mut on, mut off) = ([7u8; 16], [7u8; 16]);
            // SAFETY: `on` and `off` have 16 bytes, the largest size.
            unsafe {
                assert!(abi_get_fortran_booleans(size, on.as_mut_ptr().cast(), off.as_mut_ptr().cast()).unwrap());
                abi_set_fortran_booleans(size, on.as_mut_ptr().cast(), off.as_mut_ptr().cast()).unwrap();
            }
            assert_eq!((on[0], off[0]), (1, 0));
            on[0] = 255;
            // SAFETY: `on` and `off` have 16 bytes, the largest size.
            let refused = unsafe { abi_set_fortran_booleans(size, on.as_mut_ptr().cast(), off.as_mut_ptr().cast()) };
            assert_eq!(refused.unwrap_err().class(), ERR_ABI);
        }
        assert!(booleans(3).is_err());
    }
}
