//! The code that the bindings of both ABIs run around every body: it checks that MPI is
//! initialized, publishes the call, calls the error handler, and writes out-parameters.
//!
//! Invariant: the binding writes out-parameters if the body succeeded. On failure it writes the
//! results that the standard defines (those of a completion call, see
//! [`towpath_neutral::error::Failed`]), and sets new handles to null.

use std::ffi::{c_char, c_int};

use towpath_neutral::abi::AbiTable;
use towpath_neutral::constants;
use towpath_neutral::error::{Error, Failing, Result};

use crate::chapters::errors::{self, ErrhandlerOwner};
use crate::process;
use crate::process::devices::FAILURES;

/// Runs a body that needs an initialized MPI. Returns MPI_SUCCESS, or the neutral code that the
/// error handler returns.
///
/// `number` is the function's number in `towpath_base::calls::NAMES`. `target` is called only on
/// failure.
#[inline(always)]
pub fn call(
    abi: &'static AbiTable,
    number: u16,
    target: impl FnOnce() -> ErrhandlerOwner,
    body: impl FnOnce() -> Result<()>,
) -> i32 {
    let result = match process::enter(number) {
        Ok(page) => {
            let result = body();
            process::leave(page);
            result
        }
        Err(error) => process::refused(number, error),
    };
    match result {
        Ok(()) if !FAILURES.exist() => constants::SUCCESS,
        result => failed(abi, target(), number, result),
    }
}

/// Raises the error of a call, or the failure of a device from which it follows.
#[cold]
fn failed(abi: &'static AbiTable, target: ErrhandlerOwner, number: u16, result: Result<()>) -> i32 {
    let failure = FAILURES.take().map(|sentence| Err(Error::new(constants::ERR_OTHER, sentence)));
    match failure.unwrap_or(result) {
        Ok(()) => constants::SUCCESS,
        Err(error) => errors::raise(abi, target, number, error),
    }
}

/// Runs a body that the standard allows at any time.
#[inline]
pub fn call_any_time(
    abi: &'static AbiTable,
    number: u16,
    target: impl FnOnce() -> ErrhandlerOwner,
    body: impl FnOnce() -> Result<()>,
) -> i32 {
    process::set_abi(abi);
    match body() {
        Ok(()) => constants::SUCCESS,
        Err(error) => errors::raise(abi, target(), number, error),
    }
}

/// The error of a function that has no body yet.
#[cold]
pub fn not_built() -> Error {
    Error::new(constants::ERR_UNSUPPORTED_OPERATION, "this function is not built yet (docs/standard.md lists what is)")
}

/// Rejects NULL where the program must pass the address of a variable.
///
/// # Errors
/// MPI_ERR_ARG.
#[inline(always)]
pub fn require<T>(pointer: *mut T, name: &'static str) -> Result<()> {
    if pointer.is_null() { Err(missing(name)) } else { Ok(()) }
}

#[cold]
fn missing(name: &'static str) -> Error {
    Error::new(constants::ERR_ARG, format!("argument {name} is NULL; pass the address of a variable"))
}

/// Calls `write` with the results of a body, or `clear`, which sets new handles to null, if there
/// are none.
#[inline(always)]
pub fn deliver<T, E: Failing<T>>(
    result: std::result::Result<T, E>,
    write: impl FnOnce(T),
    clear: impl FnOnce(),
) -> Result<()> {
    match result {
        Ok(results) => {
            write(results);
            Ok(())
        }
        Err(failed) => {
            let (error, results) = failed.parts();
            match results {
                Some(results) => write(results),
                None => clear(),
            }
            Err(error)
        }
    }
}

/// Writes to an optional variable of the program.
///
/// # Safety
/// `pointer` must be NULL or valid for a write.
pub unsafe fn put<T>(pointer: *mut T, value: T) {
    if !pointer.is_null() {
        // SAFETY: `pointer` is not NULL, so it is valid for a write (this function's contract).
        unsafe { pointer.write(value) }
    }
}

/// A count as a C `int`; MPI_UNDEFINED if it does not fit.
#[inline]
pub fn count_to_int(value: i64) -> c_int {
    c_int::try_from(value).unwrap_or(constants::UNDEFINED)
}

/// The sum of `n` degrees. Saturates, and counts negative degrees as 0: the body checks them.
///
/// # Safety
/// `degrees` must be NULL or have `n` elements.
pub unsafe fn total_of(degrees: *const c_int, n: c_int) -> c_int {
    let n = if degrees.is_null() { 0 } else { n.max(0) as usize };
    // SAFETY: `degrees` is not NULL if `n` is positive, so it has `n` elements (this function's
    // contract), and `i` is less.
    (0..n).fold(0, |total: c_int, i| total.saturating_add(unsafe { *degrees.add(i) }.max(0)))
}

/// Size of a string buffer whose length the program gave without the terminating zero
/// (MPI_Info_get).
pub fn room(length: c_int) -> usize {
    usize::try_from(length).unwrap_or(0) + 1
}

/// Writes at most `room` bytes of a string, including a terminating zero. Returns the length
/// without the zero.
///
/// # Safety
/// `pointer` must be NULL or writable for `room` bytes.
pub unsafe fn put_string(pointer: *mut c_char, room: usize, text: &str) -> c_int {
    if pointer.is_null() || room == 0 {
        return 0;
    }
    let length = text.len().min(room - 1);
    // SAFETY: `pointer` is writable for `room` bytes (this function's contract), `length` is less,
    // and `text` has at least `length` bytes.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), pointer.cast::<u8>(), length);
        pointer.add(length).write(0);
    }
    length as c_int
}

/// Writes a string to a buffer of `*length` bytes, and the size that the string needs to `*length`.
///
/// # Safety
/// `length` must be NULL or valid for reads and writes. `pointer` must be NULL or writable for
/// `*length` bytes.
pub unsafe fn put_string_with_length(pointer: *mut c_char, length: *mut c_int, text: &str) {
    if length.is_null() {
        return;
    }
    // SAFETY: `length` is valid, and `pointer` is NULL or writable for `*length` bytes (this
    // function's contract).
    unsafe {
        put_string(pointer, usize::try_from(*length).unwrap_or(0), text);
        *length = count_to_int(text.len() as i64 + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use towpath_neutral::error::Failed;

    #[test]
    fn strings_are_cut_and_terminated() {
        let mut room = [1 as c_char; 4];
        // SAFETY: `room` has four bytes.
        assert_eq!(unsafe { put_string(room.as_mut_ptr(), 4, "abcdef") }, 3);
        assert_eq!(room, [b'a' as c_char, b'b' as c_char, b'c' as c_char, 0]);
        let mut length = 2;
        // SAFETY: `room` has four bytes, and `length` is two.
        unsafe { put_string_with_length(room.as_mut_ptr(), &mut length, "xyz") };
        assert_eq!((room[0], room[1], length), (b'x' as c_char, 0, 4));
        length = 0;
        // SAFETY: `pointer` may be NULL, and `length` is valid.
        unsafe { put_string_with_length(std::ptr::null_mut(), &mut length, "xyz") };
        assert_eq!(length, 4);
    }

    #[test]
    fn failures_have_results_or_clear() {
        let error = || Error::new(constants::ERR_TRUNCATE, "too long");
        let mut written = 0;
        assert!(deliver(Ok::<_, Error>(1), |v| written = v, || unreachable!()).is_ok());
        assert_eq!(written, 1);
        assert!(deliver(Err(Failed::with(error(), 2)), |v| written = v, || unreachable!()).is_err());
        assert_eq!(written, 2);
        let mut cleared = false;
        assert!(deliver(Err::<i32, _>(error()), |_| unreachable!(), || cleared = true).is_err());
        assert!(cleared);
    }

    #[test]
    fn counts_that_do_not_fit_are_undefined() {
        assert_eq!(count_to_int(7), 7);
        assert_eq!(count_to_int(1 << 31), constants::UNDEFINED);
    }
}
