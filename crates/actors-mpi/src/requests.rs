//! Requests of MPI, and what they read or write meanwhile.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::rc::Rc;

use towpath_actors::arrays::PooledArray;
use towpath_actors::message::{MessageHandle, PREFIX_BYTES};
use towpath_actors::{ActorMessage, ArrayMemory, MessageArray, WritableArray};

use crate::abi::BinaryInterface;
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

    /// Where it is, and how many bytes it has.
    #[inline]
    pub(crate) fn place(&self) -> (*const u8, usize) {
        let bytes = match self {
            SendMemory::Message(message) => message.bytes(),
            SendMemory::WithoutPrefix(message) => &message.bytes()[PREFIX_BYTES..],
            SendMemory::Batch(batch) => batch.bytes(),
            SendMemory::Number(bytes) => &bytes[..],
            SendMemory::Array(array) => return place_of(&**array),
        };
        (bytes.as_ptr(), bytes.len())
    }
}

/// Where an array is, and how many bytes it has.
pub(crate) fn place_of(array: &dyn ArrayMemory) -> (*const u8, usize) {
    match array.device() {
        Some(device) => (device.at, device.bytes),
        None => (array.bytes().as_ptr(), array.bytes().len()),
    }
}

/// A message that is complete once all its parts have been received.
pub(crate) struct LongReceive<A: BinaryInterface> {
    pub(crate) from: u32,
    pub(crate) message: ActorMessage,
    pub(crate) arrays: Vec<ArrivingArray>,
    /// Memory of the program that is being filled.
    pub(crate) filled: Vec<FilledMemory>,
    /// Those that are not complete.
    pub(crate) requests: VecDeque<A::Handle>,
    pub(crate) end: ReceiveEnd,
}

/// What happens to a message that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReceiveEnd {
    Arrives,
    /// It is for a chare of this rank.
    Passes(u32),
    /// Nobody wants it.
    Vanishes,
}

/// An array of such a message.
#[derive(Debug)]
pub(crate) enum ArrivingArray {
    Here(MessageArray),
    Receiving(PooledArray),
}

impl ArrivingArray {
    /// The array, which has been received.
    pub(crate) fn arrived(self) -> MessageArray {
        match self {
            ArrivingArray::Here(array) => array,
            ArrivingArray::Receiving(memory) => Rc::new(memory),
        }
    }
}

/// Memory of the program, and the array for it if that is not received there: it is longer, or had
/// to be received before.
pub(crate) struct FilledMemory {
    pub(crate) memory: Box<dyn WritableArray>,
    pub(crate) received: Option<PooledArray>,
}

/// Starts to receive an array, whose memory the layer keeps until the request is complete, or for
/// ever.
pub(crate) fn irecv_array<A: BinaryInterface>(
    mpi: &Functions<A>,
    into: &mut dyn WritableArray,
    from: u32,
    tag: c_int,
    comm: A::Handle,
) -> Result<A::Handle, LibraryError> {
    let (at, bytes) = (into.address(), into.length());
    // SAFETY: the array has so many bytes at its address, and nobody moves or frees them: see
    // `LongReceive` and `drop`.
    unsafe { irecv(mpi, at, bytes, from, tag, comm) }
}

/// Starts to receive so many bytes.
///
/// # Safety
/// There is so much memory, of the processor or a device, until the request is complete.
pub(crate) unsafe fn irecv<A: BinaryInterface>(
    mpi: &Functions<A>,
    into: *mut u8,
    bytes: usize,
    from: u32,
    tag: c_int,
    comm: A::Handle,
) -> Result<A::Handle, LibraryError> {
    let (count, mut request) = (bytes as i64, A::REQUEST_NULL);
    let (into, from) = (into.cast(), from.cast_signed());
    // SAFETY: as the caller says.
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
