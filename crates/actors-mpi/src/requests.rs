//! Requests of MPI, and what they read or write meanwhile.

use std::collections::VecDeque;
use std::ffi::c_int;

use towpath_actors::message::{MessageHandle, PREFIX_BYTES};
use towpath_actors::{ActorMessage, MessageArray};

use crate::abi::BinaryInterface;
use crate::arrays::IncomingArray;
use crate::batch::MessageBatch;
use crate::library::{Functions, LibraryError};
use crate::slots::succeeded;

/// What is being sent.
pub(crate) enum SendMemory {
    Message(MessageHandle),
    /// A message without the prefix of its header.
    WithoutPrefix(MessageHandle),
    Batch(MessageBatch),
    /// An announcement, or the name of an array.
    Number(Box<[u8; 8]>),
    Array(MessageArray),
}

impl SendMemory {
    pub(crate) fn number(number: u64) -> SendMemory {
        SendMemory::Number(Box::new(number.to_ne_bytes()))
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            SendMemory::Message(message) => message.bytes(),
            SendMemory::WithoutPrefix(message) => &message.bytes()[PREFIX_BYTES..],
            SendMemory::Batch(batch) => batch.bytes(),
            SendMemory::Number(bytes) => &bytes[..],
            SendMemory::Array(array) => array.bytes(),
        }
    }
}

/// A message that is complete once all its parts have been received.
pub(crate) struct LongReceive<A: BinaryInterface> {
    pub(crate) from: u32,
    pub(crate) message: ActorMessage,
    pub(crate) arrays: Vec<IncomingArray>,
    /// Those that are not complete.
    pub(crate) requests: VecDeque<A::Handle>,
}

/// Starts to receive so many bytes. The memory is on the heap, and the layer keeps it until the
/// request is complete, or for ever.
pub(crate) fn irecv<A: BinaryInterface>(
    mpi: &Functions<A>,
    into: &mut [u8],
    from: u32,
    tag: c_int,
    comm: A::Handle,
) -> Result<A::Handle, LibraryError> {
    let (count, mut request) = (into.len() as i64, A::REQUEST_NULL);
    let (into, from) = (into.as_mut_ptr().cast(), from.cast_signed());
    // SAFETY: so many bytes are there, and nobody moves or frees them: see `LongReceive` and
    // `drop`.
    let code = unsafe { (mpi.irecv_c)(into, count, A::BYTE, from, tag, comm, &mut request) };
    succeeded("MPI_Irecv", code)?;
    Ok(request)
}

pub(crate) fn is_complete<A: BinaryInterface>(
    mpi: &Functions<A>,
    request: &mut A::Handle,
) -> Result<bool, LibraryError> {
    let (mut flag, mut status) = (0, A::EMPTY);
    // SAFETY: the request is active or null, and flag and status are local.
    let code = unsafe { (mpi.test)(request, &mut flag, &mut status) };
    succeeded("MPI_Test", code)?;
    Ok(flag != 0)
}
