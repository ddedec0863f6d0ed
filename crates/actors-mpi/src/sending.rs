//! How messages and arrays are sent.

use std::ffi::c_int;
use std::rc::Rc;

use towpath_actors::message::MessageHandle;
use towpath_actors::{ActorMessage, MessageArray, WritableArray};

use crate::abi::BinaryInterface;
use crate::arrays::{self, ArrayRoute};
use crate::batch::{self, MessageBatch};
use crate::layer::MpiLayer;
use crate::library::LibraryError;
use crate::requests::{SendMemory, is_complete};
use crate::shared::{SHORTEST_SHARED, SharedBlock, SharedMemory};
use crate::slots::{
    ANNOUNCEMENT, BATCH, MESSAGE, RELEASE, SHORTEST_TAKEN, SLOT_BYTES, WITHOUT_PREFIX, succeeded,
};

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
        let (code, request) = self.start_isend(&memory, to, tag, comm);
        self.sends.push_back((request, memory));
        succeeded("MPI_Isend", code)
    }

    /// The same with a posted array, which may be received long after what is sent later.
    fn isend_posted(
        &mut self,
        array: MessageArray,
        to: u32,
        tag: c_int,
    ) -> Result<(), LibraryError> {
        let memory = SendMemory::Array(array);
        let (code, request) = self.start_isend(&memory, to, tag, self.long);
        self.posted_sends.push((request, memory));
        succeeded("MPI_Isend", code)
    }

    /// What `MPI_Isend` says, and its request, beside which the memory is kept.
    fn start_isend(
        &mut self,
        memory: &SendMemory,
        to: u32,
        tag: c_int,
        comm: A::Handle,
    ) -> (c_int, A::Handle) {
        let ((from, bytes), to) = (memory.place(), to.cast_signed());
        let (from, mut request) = (from.cast(), A::REQUEST_NULL);
        self.sent_bytes += bytes as u64;
        // SAFETY: the bytes are on the heap or in the program's array, and the caller keeps them
        // until the request is complete, or for ever: see `drop`.
        let code = unsafe {
            if bytes <= SLOT_BYTES {
                let count = bytes as c_int;
                (self.mpi.isend)(from, count, A::BYTE, to, tag, comm, &mut request)
            } else {
                let count = bytes as i64;
                (self.mpi.isend_c)(from, count, A::BYTE, to, tag, comm, &mut request)
            }
        };
        (code, request)
    }

    /// Adds a message to those that are sent together, if many sends are not complete. Whether it
    /// has. A program that has initialized MPI may wait in a function of MPI for what a message
    /// lets happen, so all of its messages are sent at once.
    #[inline]
    pub(crate) fn is_batched(
        &mut self,
        to: u32,
        message: &ActorMessage,
    ) -> Result<bool, LibraryError> {
        if self.sends.len() < MANY_SENDS || !self.has_initialized {
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
        // The receiver takes a longer one as it is.
        if bytes < SHORTEST_TAKEN && message.prefix_is_zero() {
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
        SharedBlock::new(&self.heap, bytes, |block| shared.shows(block))
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
        if array.device().is_some() {
            return array;
        }
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
        if message.arrays().iter().any(|array| array.unreceived().is_some()) {
            return self.receive_and_send(to, message.into_owned());
        }
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
                ArrayRoute::Posted(tag) => self.isend_posted(array, to, tag)?,
                ArrayRoute::Shared { name, .. } => {
                    self.sent_bytes += array.bytes().len() as u64;
                    self.lent.insert(name, array);
                }
            }
        }
        Ok(())
    }

    /// Sends the messages that wait for others, tells the owners of arrays that nobody here reads
    /// them any more, and receives arrays for which nobody has posted memory.
    #[inline]
    pub(crate) fn send_rest(&mut self) -> Result<(), LibraryError> {
        while let Some(to) = self.batches.keys().next().copied() {
            self.send_batch(to)?;
        }
        while let Some((owner, name)) = { self.released.borrow_mut().pop() } {
            self.isend(SendMemory::number(name), owner, RELEASE, self.comm)?;
        }
        while let Some(name) = { self.unwanted.borrow_mut().pop() } {
            self.receive_unwanted(name)?;
        }
        Ok(())
    }

    /// Drops what has been sent, up to the first that has not, and posted arrays.
    #[inline]
    pub(crate) fn poll_sends(&mut self) -> Result<(), LibraryError> {
        if !self.posted_sends.is_empty() {
            self.poll_posted_sends()?;
        }
        while let Some((request, _)) = self.sends.front_mut() {
            if !is_complete(&self.mpi, request)? {
                return Ok(());
            }
            self.sends.pop_front();
        }
        Ok(())
    }

    fn poll_posted_sends(&mut self) -> Result<(), LibraryError> {
        let mut place = 0;
        while let Some((request, _)) = self.posted_sends.get_mut(place) {
            if is_complete(&self.mpi, request)? {
                self.posted_sends.swap_remove(place);
            } else {
                place += 1;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use towpath_actors::MachineLayer;
    use towpath_actors::message::{ActorHeader, MessageKind, PREFIX_BYTES};

    use super::*;
    use crate::fake;

    fn message(entry: u32, payload: usize) -> ActorMessage {
        let header = ActorHeader::new(MessageKind::Invoke, 7, None, entry);
        ActorMessage::of(header, &vec![entry as u8; payload])
    }

    /// Sends short messages to rank 1, of the entries from this one on.
    fn send(layer: &mut impl MachineLayer, entries: std::ops::Range<u32>) {
        for entry in entries {
            layer.send(1, message(entry, 8).into());
        }
    }

    /// The entries of the messages of a batch, or of one that was sent by itself.
    fn entries(sent: &[fake::SentBytes]) -> Vec<u32> {
        let messages = |one: &fake::SentBytes| match one.tag {
            BATCH => batch::messages(&one.bytes).unwrap(),
            WITHOUT_PREFIX => vec![ActorMessage::with_prefix(&one.bytes).unwrap()],
            MESSAGE => vec![ActorMessage::received(&one.bytes).unwrap()],
            _ => Vec::new(),
        };
        sent.iter().flat_map(messages).map(|message| message.header().entry).collect()
    }

    /// A layer with so many sends that are not complete, which shall be sent before all others.
    fn busy() -> impl MachineLayer {
        let mut layer = fake::layer(true);
        fake::keep_incomplete();
        send(&mut layer, 0..MANY_SENDS as u32);
        assert_eq!(fake::take_sent().len(), MANY_SENDS);
        layer
    }

    #[test]
    fn messages_wait_for_one_another_while_many_sends_are_not_complete() {
        let mut layer = busy();
        send(&mut layer, 100..103);
        assert!(fake::take_sent().is_empty());
        layer.flush();
        let sent = fake::take_sent();
        assert_eq!((sent.len(), sent[0].tag), (1, BATCH));
        assert_eq!(entries(&sent), [100, 101, 102]);
    }

    #[test]
    fn messages_of_a_program_that_has_initialized_mpi_never_wait() {
        let mut layer = fake::layer(false);
        fake::keep_incomplete();
        send(&mut layer, 0..50);
        assert_eq!(entries(&fake::take_sent()), (0..50).collect::<Vec<u32>>());
    }

    #[test]
    fn nothing_passes_messages_that_wait() {
        for longer in [batch::LONGEST + 1, 2 * SLOT_BYTES] {
            let mut layer = busy();
            send(&mut layer, 100..102);
            layer.send(1, message(102, longer).into());
            send(&mut layer, 103..104);
            layer.flush();
            let sent = fake::take_sent();
            assert_eq!(entries(&sent), [100, 101, 102, 103]);
            let announced = sent.iter().position(|one| one.tag == ANNOUNCEMENT);
            assert_eq!(announced, (longer > SLOT_BYTES).then_some(1));
        }
    }

    #[test]
    fn a_rank_sends_what_waits_before_it_waits_itself() {
        let mut layer = busy();
        send(&mut layer, 100..103);
        fake::arrive(WITHOUT_PREFIX, &message(5, 8).bytes()[PREFIX_BYTES..]);
        layer.wait(None);
        assert_eq!(entries(&fake::take_sent()), [100, 101, 102]);
        send(&mut layer, 103..105);
        assert_eq!(layer.receive().map(|(_, message)| message.header().entry), Some(5));
        assert_eq!(entries(&fake::take_sent()), [103, 104]);
    }

    #[test]
    fn a_rank_that_sleeps_has_sent_everything() {
        let mut layer = busy();
        send(&mut layer, 100..103);
        // Something has been sent when it wakes up.
        fake::complete();
        layer.wait(None);
        assert_eq!(fake::sent_before_wait(), Some(1));
    }

    #[test]
    fn messages_of_a_batch_come_one_after_the_other() {
        let mut layer = fake::layer(true);
        let mut arriving = MessageBatch::new();
        assert!((0..20).all(|entry| arriving.add(&message(entry, 8))));
        fake::arrive(BATCH, arriving.bytes());
        fake::arrive(WITHOUT_PREFIX, &message(20, 8).bytes()[PREFIX_BYTES..]);
        layer.wait(None);
        let next = || layer.receive().map(|(_, message)| message.header().entry);
        let received: Vec<u32> = std::iter::from_fn(next).collect();
        assert_eq!(received, (0..21).collect::<Vec<u32>>());
    }

    #[test]
    fn what_waits_is_sent_when_the_layer_is_closed() {
        let mut layer = busy();
        send(&mut layer, 100..103);
        fake::complete();
        layer.close();
        assert_eq!(entries(&fake::take_sent()), [100, 101, 102]);
    }
}
