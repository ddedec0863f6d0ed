//! What every generated file uses.

pub(crate) use std::ffi::{c_char, c_int, c_void};

pub(crate) use towpath_mpi::entry::{
    count_to_int, deliver, not_built, put, put_string, put_string_with_length, require, room, total_of,
};
pub(crate) use towpath_mpi::errors::Target;
pub(crate) use towpath_mpi::{HandleArray, Integers, IntegersMut, Kind};

pub(crate) use crate::FACE;
pub(crate) use crate::constants::*;
pub(crate) use crate::generated::tables::limits;
pub(crate) use crate::handles::*;
pub(crate) use crate::status::*;

/// Runs a body that needs an initialised MPI; returns the code for the program.
#[inline(always)]
pub(crate) fn call(
    number: u16,
    target: impl FnOnce() -> Target,
    body: impl FnOnce() -> towpath_mpi::error::Result<()>,
) -> c_int {
    error_code_out(towpath_mpi::entry::call(&FACE, number, target, body))
}

/// Runs a body that the standard allows at any time.
#[inline]
pub(crate) fn call_any_time(
    number: u16,
    target: impl FnOnce() -> Target,
    body: impl FnOnce() -> towpath_mpi::error::Result<()>,
) -> c_int {
    error_code_out(towpath_mpi::entry::call_any_time(&FACE, number, target, body))
}

/// Exports a function under its PMPI_ and its MPI_ name; tools replace the MPI_ name and call the
/// PMPI_ name.
///
/// Both are one jump to the function itself, so the release build always merges the two to one
/// address: with the code in each of them, what the compiler inlines could differ.
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
                // SAFETY: what the standard demands of the program: pointers point to what their
                // parameter means.
                unsafe { function($($name),*) }
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn $mpi($($name: $kind),*) -> $result {
                // SAFETY: as above.
                unsafe { function($($name),*) }
            }
        };
    };
}
pub(crate) use export;
