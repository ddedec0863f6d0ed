//! A value of a reduction, which functions of the program combine with others.

use std::ffi::c_void;

/// `towpath_value`.
#[derive(Default)]
pub struct ReductionValue(pub(crate) Vec<u8>);

/// The bytes of a value.
///
/// # Safety
/// The value is one that a reducer was given, which has not returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_value_data(value: *mut ReductionValue) -> *mut c_void {
    // SAFETY: the value exists while its reducer runs, and nothing else uses it then.
    unsafe { &mut *value }.0.as_mut_ptr().cast()
}

/// How many bytes it has.
///
/// # Safety
/// As [`towpath_value_data`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_value_bytes(value: *const ReductionValue) -> usize {
    // SAFETY: the value exists while its reducer runs.
    unsafe { &*value }.0.len()
}

/// Gives it another length.
///
/// # Safety
/// As [`towpath_value_data`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_value_resize(value: *mut ReductionValue, bytes: usize) {
    // SAFETY: the value exists while its reducer runs, and nothing else uses it then.
    unsafe { &mut *value }.0.resize(bytes, 0);
}
