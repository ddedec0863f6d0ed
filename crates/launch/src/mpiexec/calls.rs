//! Names of the MPI calls that control pages show by number.
#![forbid(unsafe_code)]

/// The name of a call; `None` for 0 (no call yet) and for numbers this build does not know.
pub(crate) fn name(number: u32) -> Option<&'static str> {
    let _ = number;
    None
}
