//! The status of the MPICH ABI: 20 bytes. The byte count comes first.

use std::ffi::c_int;

/// Layout of the C structure.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(non_camel_case_types)]
pub struct MPI_Status {
    pub(crate) count_low: c_int,
    pub(crate) count_high_and_cancelled: c_int,
    pub(crate) source: c_int,
    pub(crate) tag: c_int,
    pub(crate) error: c_int,
}

const _: () = assert!(size_of::<MPI_Status>() == 20);

/// MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE.
const IGNORE: usize = 1;

/// True if the program passed MPI_STATUS_IGNORE.
#[inline(always)]
pub(crate) fn ignored(status: *const MPI_Status) -> bool {
    status as usize == IGNORE
}
