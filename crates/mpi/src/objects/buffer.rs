//! Buffers that the program has attached for buffered sends (MPI 5.0, section 3.6). The functions
//! that use them are in `chapters::point_to_point::buffered`.

use std::ffi::c_void;

use towpath_engine::RequestId;

/// An attached buffer.
#[derive(Debug)]
pub(crate) struct AttachedBuffer {
    /// The address that the program attached; returned at detach.
    pub address: usize,
    /// Size in bytes, as given by the program.
    pub size: i64,
    /// Bytes in use, with the overhead of each message.
    pub(crate) used: usize,
    /// The copies in flight.
    pub(crate) under_way: Vec<SentCopy>,
}

/// The copy of a message that is being sent.
pub(crate) struct SentCopy {
    pub(crate) id: RequestId,
    pub(crate) bytes: Vec<u8>,
}

impl std::fmt::Debug for SentCopy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "copy of {} bytes", self.bytes.len())
    }
}

impl AttachedBuffer {
    /// Creates an unused buffer.
    pub(crate) fn new(address: *mut c_void, size: i64) -> AttachedBuffer {
        AttachedBuffer { address: address as usize, size, used: 0, under_way: Vec::new() }
    }
}
