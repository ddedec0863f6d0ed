//! The status of the standard ABI: 32 bytes (MPI 5.0, section 20.3.5). The private ints follow the
//! public ones.

use std::ffi::c_int;

/// Layout of the C structure.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(non_camel_case_types)]
pub struct MPI_Status {
    pub(crate) source: c_int,
    pub(crate) tag: c_int,
    pub(crate) error: c_int,
    pub(crate) count_low: c_int,
    pub(crate) count_high_and_cancelled: c_int,
    pub(crate) reserved: [c_int; 3],
}

const _: () = assert!(size_of::<MPI_Status>() == 32);

/// True if the program passed MPI_STATUS_IGNORE.
#[inline(always)]
pub(crate) fn ignored(status: *const MPI_Status) -> bool {
    status.is_null()
}
