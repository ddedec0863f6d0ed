//! The status of the standard ABI: 32 bytes (MPI 5.0, section 20.3.5).
//!
//! The five private ints hold the byte count (low word, then high word shifted left once with the
//! cancelled bit below).

use std::ffi::{c_int, c_void};

use towpath_mpi::error::{Error, Result};
use towpath_mpi::{Status, StatusArray};

use crate::FACE;
use crate::constants::*;

/// As C sees it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(non_camel_case_types)]
pub struct MPI_Status {
    source: c_int,
    tag: c_int,
    error: c_int,
    count_low: c_int,
    count_high_and_cancelled: c_int,
    reserved: [c_int; 3],
}

const _: () = assert!(size_of::<MPI_Status>() == 32);

impl MPI_Status {
    fn get(&self) -> Status {
        Status {
            source: rank_in(self.source),
            tag: tag_in(self.tag),
            error: error_code_in(self.error),
            bytes: i64::from(self.count_low as u32) | i64::from(self.count_high_and_cancelled as u32 >> 1) << 32,
            cancelled: self.count_high_and_cancelled & 1 != 0,
        }
    }

    #[inline]
    fn set(&mut self, status: &Status) {
        self.source = rank_out(status.source);
        self.tag = tag_out(status.tag);
        self.count_low = status.bytes as c_int;
        self.count_high_and_cancelled = ((status.bytes >> 32) as c_int) << 1 | c_int::from(status.cancelled);
    }
}

/// Whether the program does not want a status.
#[inline(always)]
pub(crate) fn ignored(status: *const MPI_Status) -> bool {
    status.is_null()
}

/// Reads element `index` of an array of statuses.
///
/// # Safety
/// The array has more than `index` elements.
pub(crate) unsafe fn read(array: *const c_void, index: usize) -> Status {
    // SAFETY: promised by the caller.
    unsafe { (*array.cast::<MPI_Status>().add(index)).get() }
}

/// Writes element `index` of an array of statuses.
///
/// # Safety
/// The array is writable and has more than `index` elements.
pub(crate) unsafe fn write(array: *mut c_void, index: usize, status: &Status, with_error: bool) {
    // SAFETY: promised by the caller.
    let place = unsafe { &mut *array.cast::<MPI_Status>().add(index) };
    place.set(status);
    if with_error {
        place.error = error_code_out(status.error);
    }
}

/// An array of statuses for the core.
pub(crate) fn statuses(array: *mut MPI_Status) -> StatusArray {
    StatusArray::new(if ignored(array) { std::ptr::null_mut() } else { array.cast() }, &FACE)
}

/// Reads a status that the program hands in.
///
/// # Errors
/// MPI_ERR_ARG where the program has none.
///
/// # Safety
/// `status` is ignored, NULL or the program's.
pub(crate) unsafe fn status_in(status: *const MPI_Status) -> Result<Status> {
    if ignored(status) || status.is_null() {
        return Err(Error::new(
            towpath_mpi::constants::ERR_ARG,
            "argument status is MPI_STATUS_IGNORE or NULL; pass the address of a status",
        ));
    }
    // SAFETY: promised by the caller.
    Ok(unsafe { (*status).get() })
}

/// Writes the status of a single completion: the error field stays as it is (MPI 5.0, 3.2.5),
/// except that the empty status, which no message has, contains MPI_SUCCESS (3.7.3).
///
/// # Safety
/// `status` is ignored, NULL or the program's.
#[inline]
pub(crate) unsafe fn status_put(status: *mut MPI_Status, value: &Status) {
    if !ignored(status) && !status.is_null() {
        // SAFETY: promised by the caller.
        let place = unsafe { &mut *status };
        place.set(value);
        if value.source == towpath_mpi::constants::ANY_SOURCE {
            place.error = 0;
        }
    }
}

/// Writes a status with its error field (MPI_Status_set_error and its kin).
///
/// # Safety
/// `status` is ignored, NULL or the program's.
pub(crate) unsafe fn status_put_whole(status: *mut MPI_Status, value: &Status) {
    if !ignored(status) && !status.is_null() {
        // SAFETY: promised by the caller.
        unsafe { write(status.cast(), 0, value, true) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_survive_the_way_out_and_in() {
        for (bytes, cancelled) in [(0, false), (1, true), (0x1_0000_0001, false), (1 << 60, true)] {
            let status = Status { source: 3, tag: 4, error: 5, bytes, cancelled };
            let mut place = [MPI_Status::default(); 2];
            // SAFETY: two elements.
            unsafe { write(place.as_mut_ptr().cast(), 1, &status, true) };
            // SAFETY: two elements.
            assert_eq!(unsafe { read(place.as_ptr().cast(), 1) }, status);
        }
    }

    #[test]
    fn a_single_completion_leaves_the_error_field() {
        let mut place = MPI_Status { error: 77, ..MPI_Status::default() };
        // SAFETY: a status of this test.
        unsafe { status_put(&mut place, &Status { source: 1, tag: 2, error: 3, bytes: 4, cancelled: false }) };
        assert_eq!(place.error, 77);
        // SAFETY: as above.
        unsafe { status_put(&mut place, &Status::EMPTY) };
        assert_eq!(place.error, 0, "the empty status is whole");
    }
}
