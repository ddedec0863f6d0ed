//! Imports and helpers of the generated bindings.

pub(crate) use std::ffi::{c_char, c_int, c_void};

pub(crate) use towpath_mpi::collectives::{EqualData, MixedData, VaryingData, Vector};
pub(crate) use towpath_mpi::entry::{
    count_to_int, deliver, not_built, put, put_string, put_string_with_length, require, room,
    total_of,
};
pub(crate) use towpath_mpi::errors::ErrhandlerOwner;
pub(crate) use towpath_mpi::{HandleArray, Integers, IntegersMut, Kind, StringArgument};

pub(crate) use crate::ABI;
pub(crate) use crate::constants::*;
pub(crate) use crate::generated::tables::limits;
pub(crate) use crate::handles::*;
pub(crate) use crate::status::*;

/// Runs a body that requires MPI to be initialized; returns the error code for the program.
#[inline(always)]
pub(crate) fn call(
    number: u16,
    target: impl FnOnce() -> ErrhandlerOwner,
    body: impl FnOnce() -> towpath_mpi::error::Result<()>,
) -> c_int {
    error_code_out(towpath_mpi::entry::call(&ABI, number, target, body))
}

/// Runs a body that the standard allows at any time; returns the error code for the program.
#[inline]
pub(crate) fn call_any_time(
    number: u16,
    target: impl FnOnce() -> ErrhandlerOwner,
    body: impl FnOnce() -> towpath_mpi::error::Result<()>,
) -> c_int {
    error_code_out(towpath_mpi::entry::call_any_time(&ABI, number, target, body))
}

/// Exports a function under its PMPI_ and its MPI_ name; tools replace the MPI_ name and call the
/// PMPI_ name.
///
/// Both are a single jump to the actual function, so that the release build always merges them into
/// one address. If each contained the code, the compiler's inlining could differ between the two.
macro_rules! export {
    ($(#[$about:meta])* $pmpi:ident, $mpi:ident($($name:ident: $kind:ty),* $(,)?) $body:block) => {
        export! { $(#[$about])* $pmpi, $mpi($($name: $kind),*) -> std::ffi::c_int $body }
    };
    ($(#[$about:meta])* $pmpi:ident, $mpi:ident($($name:ident: $kind:ty),* $(,)?) -> $result:ty $body:block) => {
        const _: () = {
            $(#[$about])*
            #[inline(never)]
            unsafe extern "C" fn function($($name: $kind),*) -> $result $body

            #[unsafe(no_mangle)]
            unsafe extern "C" fn $pmpi($($name: $kind),*) -> $result {
                // SAFETY: `function` has the same contract, which the standard imposes on the
                // program: every pointer is valid for the use of its parameter.
                unsafe { function($($name),*) }
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn $mpi($($name: $kind),*) -> $result {
                // SAFETY: `function` has the same contract, which the standard imposes on the
                // program: every pointer is valid for the use of its parameter.
                unsafe { function($($name),*) }
            }
        };
    };
}
pub(crate) use export;
