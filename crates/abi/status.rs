//! Conversion of statuses, whose layout depends on the ABI (`status_layout`). The byte count is
//! stored in two ints: its low word, and its high word shifted left by one with the cancelled flag
//! in the lowest bit.

use std::ffi::{c_int, c_void};

use towpath_mpi::error::{Error, Result};
use towpath_mpi::{Status, StatusArray};

use crate::ABI;
use crate::constants::*;
pub use crate::status_layout::MPI_Status;
use crate::status_layout::ignored;

impl MPI_Status {
    fn get(&self) -> Status {
        Status {
            source: rank_in(self.source),
            tag: tag_in(self.tag),
            error: error_code_in(self.error),
            bytes: i64::from(self.count_low as u32)
                | i64::from(self.count_high_and_cancelled as u32 >> 1) << 32,
            cancelled: self.count_high_and_cancelled & 1 != 0,
        }
    }

    #[inline]
    fn set(&mut self, status: &Status) {
        self.source = rank_out(status.source);
        self.tag = tag_out(status.tag);
        self.count_low = status.bytes as c_int;
        self.count_high_and_cancelled =
            ((status.bytes >> 32) as c_int) << 1 | c_int::from(status.cancelled);
    }
}

/// Reads element `index` of an array of statuses.
///
/// # Safety
/// `array` must be readable and have more than `index` elements.
pub(crate) unsafe fn read(array: *const c_void, index: usize) -> Status {
    // SAFETY: `array` has more than `index` elements (this function's contract).
    unsafe { (*array.cast::<MPI_Status>().add(index)).get() }
}

/// Writes element `index` of an array of statuses.
///
/// # Safety
/// `array` must be writable and have more than `index` elements.
pub(crate) unsafe fn write(array: *mut c_void, index: usize, status: &Status, with_error: bool) {
    // SAFETY: `array` is writable and has more than `index` elements (this function's contract).
    let place = unsafe { &mut *array.cast::<MPI_Status>().add(index) };
    place.set(status);
    if with_error {
        place.error = error_code_out(status.error);
    }
}

/// An array of statuses in neutral form.
pub(crate) fn statuses(array: *mut MPI_Status) -> StatusArray {
    StatusArray::new(if ignored(array) { std::ptr::null_mut() } else { array.cast() }, &ABI)
}

/// Reads a status argument.
///
/// # Errors
/// MPI_ERR_ARG if the argument is MPI_STATUS_IGNORE or NULL.
///
/// # Safety
/// `status` must be MPI_STATUS_IGNORE, NULL, or point to a status.
pub(crate) unsafe fn status_in(status: *const MPI_Status) -> Result<Status> {
    if ignored(status) || status.is_null() {
        return Err(Error::new(
            towpath_mpi::constants::ERR_ARG,
            "argument status is MPI_STATUS_IGNORE or NULL; pass the address of a status",
        ));
    }
    // SAFETY: `status` is neither MPI_STATUS_IGNORE nor NULL, so it points to a status.
    Ok(unsafe { (*status).get() })
}

/// Writes the status of a single completion. The error field is unchanged (MPI 5.0, 3.2.5), except
/// for the empty status, which no message has and which contains MPI_SUCCESS (3.7.3).
///
/// # Safety
/// `status` must be MPI_STATUS_IGNORE, NULL, or point to a writable status.
#[inline]
pub(crate) unsafe fn status_put(status: *mut MPI_Status, value: &Status) {
    if !ignored(status) && !status.is_null() {
        // SAFETY: `status` is neither MPI_STATUS_IGNORE nor NULL, so it points to a writable
        // status.
        let place = unsafe { &mut *status };
        place.set(value);
        if value.source == towpath_mpi::constants::ANY_SOURCE {
            place.error = 0;
        }
    }
}

/// Writes a status including its error field (for MPI_Status_set_error and similar functions).
///
/// # Safety
/// `status` must be MPI_STATUS_IGNORE, NULL, or point to a writable status.
pub(crate) unsafe fn status_put_whole(status: *mut MPI_Status, value: &Status) {
    if !ignored(status) && !status.is_null() {
        // SAFETY: `status` is neither MPI_STATUS_IGNORE nor NULL, so it points to a writable
        // status.
        unsafe { write(status.cast(), 0, value, true) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_survive_the_way_out_and_in() {
        for (bytes, cancelled) in [(0, false), (1, true), (0x1_0000_0001, false), (1 << 60, true)] {
            let status = Status { source: -3, tag: -2, error: 5, bytes, cancelled };
            let mut place = [MPI_Status::default(); 2];
            // SAFETY: `place` has two elements.
            unsafe { write(place.as_mut_ptr().cast(), 1, &status, true) };
            // SAFETY: `place` has two elements.
            assert_eq!(unsafe { read(place.as_ptr().cast(), 1) }, status);
        }
    }

    #[test]
    fn a_single_completion_leaves_the_error_field() {
        let mut place = MPI_Status { error: 77, ..MPI_Status::default() };
        // SAFETY: `place` is a local status.
        unsafe {
            status_put(
                &mut place,
                &Status { source: 1, tag: 2, error: 3, bytes: 4, cancelled: false },
            )
        };
        assert_eq!(place.error, 77);
        // SAFETY: `place` is a local status.
        unsafe { status_put(&mut place, &Status::EMPTY) };
        assert_eq!(place.error, 0, "the empty status is whole");
    }
}
