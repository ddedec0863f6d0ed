//! How messages and arrays are sent.

use std::ffi::c_int;
use std::rc::Rc;

use towpath_actors::message::MessageHandle;
use towpath_actors::{ActorMessage, ArrayMemory, MessageArray, WritableArray};

use crate::abi::BinaryInterface;
use crate::arrays::{self, ArrayRoute};
use crate::batch::{self, MessageBatch};
use crate::layer::MpiLayer;
use crate::library::LibraryError;
use crate::requests::{SendMemory, is_complete};
use crate::shared::{SHORTEST_SHARED, SharedBlock, SharedMemory};
use crate::slots::{ANNOUNCEMENT, BATCH, MESSAGE, RELEASE, SLOT_BYTES, WITHOUT_PREFIX, succeeded};

/// Longer arrays in private memory are left to the MPI library, whose two sides copy at the same
/// time.
const LONGEST_COPY: usize = 4 << 20;
/// From so many sends on that are not complete, messages are sent together.
const MANY_SENDS: usize = 16;

impl<A: BinaryInterface> MpiLayer<A> {
    /// Starts to send, and keeps the memory beside the request.
    pub(crate) fn isend(
        &mut self,
        memory: SendMemory,
        to: u32,
        tag: c_int,
        comm: A::Handle,
    ) -> Result<(), LibraryError> {
        let (bytes, to) = (memory.bytes(), to.cast_signed());
        let (from, mut request) = (bytes.as_ptr().cast(), A::REQUEST_NULL);
        self.sent_bytes += bytes.len() as u64;
        // SAFETY: the bytes are on the heap or in the program's array, and `sends` keeps them until
        // the request is complete, or for ever: see `drop`.
        let code = unsafe {
            if bytes.len() <= SLOT_BYTES {
                let count = bytes.len() as c_int;
                (self.mpi.isend)(from, count, A::BYTE, to, tag, comm, &mut request)
            } else {
                let count = bytes.len() as i64;
                (self.mpi.isend_c)(from, count, A::BYTE, to, tag, comm, &mut request)
            }
        };
        self.sends.push_back((request, memory));
        succeeded("MPI_Isend", code)
    }

    /// Adds a message to those that are sent together, if many sends are not complete. Whether it
    /// has.
    #[inline]
    pub(crate) fn is_batched(
        &mut self,
        to: u32,
        message: &ActorMessage,
    ) -> Result<bool, LibraryError> {
        if self.sends.len() < MANY_SENDS {
            return Ok(false);
        }
        self.poll_sends()?;
        if self.sends.len() < MANY_SENDS {
            return Ok(false);
        }
        if !self.batches.entry(to).or_insert_with(MessageBatch::new).add(message) {
            self.send_batch(to)?;
            self.batches.entry(to).or_insert_with(MessageBatch::new).add(message);
        }
        Ok(true)
    }

    /// Sends what waits for a rank.
    #[inline]
    pub(crate) fn send_batch(&mut self, to: u32) -> Result<(), LibraryError> {
        match self.batches.remove(&to) {
            Some(batch) => self.isend(SendMemory::Batch(batch), to, BATCH, self.comm),
            None => Ok(()),
        }
    }

    pub(crate) fn start_send(
        &mut self,
        to: u32,
        message: MessageHandle,
    ) -> Result<(), LibraryError> {
        if !message.arrays().is_empty() {
            return self.send_with_arrays(to, message);
        }
        let bytes = message.bytes().len();
        if bytes <= batch::LONGEST && self.is_batched(to, &message)? {
            return Ok(());
        }
        // Nothing passes what was sent before, which may say that this comes.
        self.send_batch(to)?;
        if bytes > SLOT_BYTES {
            self.isend(SendMemory::number(bytes as u64), to, ANNOUNCEMENT, self.comm)?;
            return self.isend(SendMemory::Message(message), to, MESSAGE, self.long);
        }
        if message.prefix_is_zero() {
            let memory = SendMemory::WithoutPrefix(message);
            return self.isend(memory, to, WITHOUT_PREFIX, self.comm);
        }
        self.isend(SendMemory::Message(message), to, MESSAGE, self.comm)
    }

    /// A block of shared memory, if that pays and there is room.
    pub(crate) fn shared_block(&self, bytes: usize) -> Option<SharedBlock> {
        if bytes < SHORTEST_SHARED {
            return None;
        }
        let shared = self.shared.as_ref()?;
        let block = SharedBlock::new(&self.mpi, &self.heap, bytes)?;
        // Without room, an MPI library may give private memory.
        shared.offset_of(block.bytes()).map(|_| block)
    }

    /// A copy of these bytes in shared memory, if that pays and there is room.
    pub(crate) fn shared_copy(&self, content: &[u8]) -> Option<MessageArray> {
        let mut block = self.shared_block(content.len())?;
        block.bytes_mut().copy_from_slice(content);
        Some(Rc::new(block))
    }

    /// An array as it is sent to a rank: a copy in shared memory of one that is in private memory
    /// and not very long, because the MPI library would copy it twice.
    pub(crate) fn sent_array(&self, array: MessageArray, to: u32) -> MessageArray {
        let bytes = array.bytes();
        let is_elsewhere = |shared: &SharedMemory| {
            bytes.len() <= LONGEST_COPY && shared.has(to) && shared.offset_of(bytes).is_none()
        };
        let copy =
            self.shared.as_deref().is_some_and(is_elsewhere).then(|| self.shared_copy(bytes));
        copy.flatten().unwrap_or(array)
    }

    pub(crate) fn send_with_arrays(
        &mut self,
        to: u32,
        message: MessageHandle,
    ) -> Result<(), LibraryError> {
        let (message, arrays) = arrays::taken(message);
        let arrays = arrays.into_iter().map(|array| self.sent_array(array, to));
        let arrays: Vec<MessageArray> = arrays.collect();
        let shared = self.shared.as_deref().filter(|shared| shared.has(to));
        let routes = arrays::routes(message.bytes().len(), &arrays, shared, &mut self.arrays);
        self.start_send(to, arrays::described(&message, &arrays, &routes).into())?;
        for (array, route) in arrays.into_iter().zip(routes) {
            match route {
                ArrayRoute::Inside(_) => {}
                ArrayRoute::Sent(tag) => {
                    self.isend(SendMemory::Array(array), to, tag, self.long)?;
                }
                ArrayRoute::Shared { name, .. } => {
                    self.sent_bytes += array.bytes().len() as u64;
                    self.lent.insert(name, array);
                }
            }
        }
        Ok(())
    }

    /// Sends the messages that wait for others, and tells the owners of arrays that nobody here
    /// reads them any more.
    #[inline]
    pub(crate) fn send_rest(&mut self) -> Result<(), LibraryError> {
        while let Some(to) = self.batches.keys().next().copied() {
            self.send_batch(to)?;
        }
        while let Some((owner, name)) = { self.released.borrow_mut().pop() } {
            self.isend(SendMemory::number(name), owner, RELEASE, self.comm)?;
        }
        Ok(())
    }

    /// Drops what has been sent, up to the first that has not.
    #[inline]
    pub(crate) fn poll_sends(&mut self) -> Result<(), LibraryError> {
        while let Some((request, _)) = self.sends.front_mut() {
            if !is_complete(&self.mpi, request)? {
                return Ok(());
            }
            self.sends.pop_front();
        }
        Ok(())
    }
}
