//! What differs between the two binary interfaces: the values of handles, and statuses.

use std::ffi::c_int;

/// One binary interface.
pub(crate) trait BinaryInterface: Copy + 'static {
    /// A communicator, a datatype or a request.
    type Handle: Copy + PartialEq + 'static;
    /// A status.
    type Status: Copy + 'static;
    const COMM_WORLD: Self::Handle;
    const BYTE: Self::Handle;
    const REQUEST_NULL: Self::Handle;
    const INFO_NULL: Self::Handle;
    const ANY_SOURCE: c_int;
    const ANY_TAG: c_int;
    const THREAD_FUNNELED: c_int;
    /// A status without content.
    const EMPTY: Self::Status;

    /// A handle of the program.
    fn handle(number: usize) -> Self::Handle;

    /// Who sent the message.
    fn source(status: &Self::Status) -> c_int;

    /// The tag of the message.
    fn tag(status: &Self::Status) -> c_int;
}

/// The ABI of the MPI standard, version 5.0, chapter 20.
#[derive(Clone, Copy)]
pub(crate) struct Standard;

/// `MPI_Status` of the standard ABI (section 20.3).
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct StandardStatus {
    source: c_int,
    tag: c_int,
    error: c_int,
    internal: [c_int; 5],
}

#[cfg(test)]
impl StandardStatus {
    /// The status of a message.
    pub(crate) fn from(source: c_int, tag: c_int) -> StandardStatus {
        StandardStatus { source, tag, ..Standard::EMPTY }
    }
}

impl BinaryInterface for Standard {
    /// Pointers in C; the predefined ones are small numbers.
    type Handle = usize;
    type Status = StandardStatus;
    const COMM_WORLD: usize = 0x101;
    const BYTE: usize = 0x247;
    const REQUEST_NULL: usize = 0x180;
    const INFO_NULL: usize = 0x130;
    const ANY_SOURCE: c_int = -1;
    const ANY_TAG: c_int = -2;
    const THREAD_FUNNELED: c_int = 1024;
    const EMPTY: StandardStatus = StandardStatus { source: 0, tag: 0, error: 0, internal: [0; 5] };

    fn handle(number: usize) -> usize {
        number
    }

    fn source(status: &StandardStatus) -> c_int {
        status.source
    }

    fn tag(status: &StandardStatus) -> c_int {
        status.tag
    }
}

/// The common ABI of MPICH and the libraries that are derived from it.
#[derive(Clone, Copy)]
pub(crate) struct Mpich;

/// `MPI_Status` of MPICH's `mpi.h`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct MpichStatus {
    count: [c_int; 2],
    source: c_int,
    tag: c_int,
    error: c_int,
}

impl BinaryInterface for Mpich {
    type Handle = c_int;
    type Status = MpichStatus;
    const COMM_WORLD: c_int = 0x4400_0000;
    const BYTE: c_int = 0x4c00_010d;
    const REQUEST_NULL: c_int = 0x2c00_0000;
    const INFO_NULL: c_int = 0x1c00_0000;
    const ANY_SOURCE: c_int = -2;
    const ANY_TAG: c_int = -1;
    const THREAD_FUNNELED: c_int = 1;
    const EMPTY: MpichStatus = MpichStatus { count: [0; 2], source: 0, tag: 0, error: 0 };

    fn handle(number: usize) -> c_int {
        number as c_int
    }

    fn source(status: &MpichStatus) -> c_int {
        status.source
    }

    fn tag(status: &MpichStatus) -> c_int {
        status.tag
    }
}
