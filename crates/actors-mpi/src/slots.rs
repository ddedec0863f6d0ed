//! The ring of receives from any rank. They match messages in the order in which they were posted,
//! so only the oldest is tested.

use std::ffi::c_int;

use towpath_actors::ActorMessage;

use crate::abi::BinaryInterface;
use crate::batch::messages;
use crate::library::{Functions, LibraryError};

/// Bytes of the longest message that a slot takes.
///
/// Programs send 16 KiB, and there are headers.
pub(crate) const SLOT_BYTES: usize = (16 << 10) + 256;
/// Messages from this length on are not copied out of their slots, which get other memory: that
/// costs a request of MPI.
pub(crate) const SHORTEST_TAKEN: usize = 8 << 10;
/// Receives that are posted at any time: messages that come faster are unexpected in the MPI
/// library, which copies them once more.
const SLOTS: usize = 16;
/// Tag of messages, and of what says that a longer one follows.
pub(crate) const MESSAGE: c_int = 0;
pub(crate) const ANNOUNCEMENT: c_int = 1;
/// Tag of what says that nobody reads an array any more.
pub(crate) const RELEASE: c_int = 2;
/// Tag of messages without the prefix of their header, which is zero.
pub(crate) const WITHOUT_PREFIX: c_int = 3;
/// Tag of several messages ([`crate::batch`]).
pub(crate) const BATCH: c_int = 4;

/// Something has arrived.
pub(crate) enum Arrived {
    Message(u32, ActorMessage),
    Batch(u32, Vec<ActorMessage>),
    /// A message of so many bytes follows on the communicator of long ones.
    Announced(u32, usize),
    /// Nobody reads the array of this name any more.
    Released(u64),
}

/// The ring.
pub(crate) struct Slots<A: BinaryInterface> {
    memory: Vec<ActorMessage>,
    requests: Vec<A::Handle>,
    oldest: usize,
    /// The slot before the oldest one has been emptied and its receive is not posted again: that
    /// can wait until the message has been handled.
    is_emptied: bool,
    /// That slot has other memory than its receive.
    is_replaced: bool,
    comm: A::Handle,
}

impl<A: BinaryInterface> Slots<A> {
    /// Posts all receives on a communicator.
    pub(crate) fn new(mpi: &Functions<A>, comm: A::Handle) -> Result<Slots<A>, LibraryError> {
        let memory = (0..SLOTS).map(|_| ActorMessage::with_bytes(SLOT_BYTES)).collect();
        let requests = vec![A::REQUEST_NULL; SLOTS];
        let mut slots =
            Slots { memory, requests, oldest: 0, is_emptied: false, is_replaced: false, comm };
        for slot in 0..SLOTS {
            slots.make_request(mpi, slot)?;
            start(mpi, &mut slots.requests[slot])?;
        }
        Ok(slots)
    }

    /// Makes the request of a slot, which has none.
    fn make_request(&mut self, mpi: &Functions<A>, slot: usize) -> Result<(), LibraryError> {
        let (to, request) = (self.memory[slot].bytes_mut().as_mut_ptr(), &mut self.requests[slot]);
        let (count, from, tag) = (SLOT_BYTES as c_int, A::ANY_SOURCE, A::ANY_TAG);
        // SAFETY: the memory of a slot is SLOT_BYTES long and on the heap. It is not freed before
        // its request: `close` and `post` free that, and see `drop`.
        let code =
            unsafe { (mpi.recv_init)(to.cast(), count, A::BYTE, from, tag, self.comm, request) };
        succeeded("MPI_Recv_init", code)
    }

    /// The request that the next message completes.
    pub(crate) fn next_request(&self) -> A::Handle {
        self.requests[self.oldest]
    }

    /// Posts the receive of the slot that was emptied.
    #[inline]
    pub(crate) fn post(&mut self, mpi: &Functions<A>) -> Result<(), LibraryError> {
        if !std::mem::take(&mut self.is_emptied) {
            return Ok(());
        }
        let slot = (self.oldest + SLOTS - 1) % SLOTS;
        if std::mem::take(&mut self.is_replaced) {
            // SAFETY: the request is not active.
            let code = unsafe { (mpi.request_free)(&mut self.requests[slot]) };
            succeeded("MPI_Request_free", code)?;
            self.make_request(mpi, slot)?;
        }
        start(mpi, &mut self.requests[slot])
    }

    /// What has arrived in the oldest slot.
    #[inline]
    pub(crate) fn poll(&mut self, mpi: &Functions<A>) -> Result<Option<Arrived>, LibraryError> {
        self.post(mpi)?;
        let (mut flag, mut status) = (0, A::EMPTY);
        // SAFETY: the request is active, and its status and flag are local.
        let code = unsafe { (mpi.test)(&mut self.requests[self.oldest], &mut flag, &mut status) };
        succeeded("MPI_Test", code)?;
        if flag == 0 { Ok(None) } else { self.take(mpi, &status).map(Some) }
    }

    /// Takes what the oldest slot has received.
    pub(crate) fn take(
        &mut self,
        mpi: &Functions<A>,
        status: &A::Status,
    ) -> Result<Arrived, LibraryError> {
        let mut bytes = 0;
        // SAFETY: the status is that of a completed receive of bytes.
        let code = unsafe { (mpi.get_count)(status, A::BYTE, &mut bytes) };
        succeeded("MPI_Get_count", code)?;
        let from = A::source(status).cast_unsigned();
        // The slot before this one may have been emptied too.
        self.post(mpi)?;
        let received = &self.memory[self.oldest].bytes()[..bytes.cast_unsigned() as usize];
        let number =
            || received.try_into().map(u64::from_ne_bytes).map_err(|_| LibraryError::Unknown);
        let arrived = match A::tag(status) {
            ANNOUNCEMENT => Arrived::Announced(from, number()? as usize),
            RELEASE => Arrived::Released(number()?),
            WITHOUT_PREFIX => {
                let message = ActorMessage::with_prefix(received).ok_or(LibraryError::Unknown)?;
                Arrived::Message(from, message)
            }
            BATCH => Arrived::Batch(from, messages(received).ok_or(LibraryError::Unknown)?),
            _ if received.len() >= SHORTEST_TAKEN => {
                let bytes = received.len();
                let other = ActorMessage::with_bytes(SLOT_BYTES);
                let mut message = std::mem::replace(&mut self.memory[self.oldest], other);
                self.is_replaced = true;
                message.truncate(bytes);
                Arrived::Message(from, message)
            }
            _ => {
                let message = ActorMessage::received(received).ok_or(LibraryError::Unknown)?;
                Arrived::Message(from, message)
            }
        };
        self.is_emptied = true;
        self.oldest = (self.oldest + 1) % SLOTS;
        Ok(arrived)
    }

    /// Ends all receives.
    pub(crate) fn close(&mut self, mpi: &Functions<A>) -> Result<(), LibraryError> {
        self.post(mpi)?;
        for request in &mut self.requests {
            let mut status = A::EMPTY;
            // SAFETY: the request is active. A cancelled receive completes in `MPI_Wait`.
            let codes = unsafe {
                [
                    ("MPI_Cancel", (mpi.cancel)(request)),
                    ("MPI_Wait", (mpi.wait)(request, &mut status)),
                    ("MPI_Request_free", (mpi.request_free)(request)),
                ]
            };
            for (function, code) in codes {
                succeeded(function, code)?;
            }
        }
        self.memory.clear();
        Ok(())
    }
}

impl<A: BinaryInterface> Drop for Slots<A> {
    /// MPI may still write to the memory of receives that were not ended.
    fn drop(&mut self) {
        std::mem::forget(std::mem::take(&mut self.memory));
    }
}

fn start<A: BinaryInterface>(
    mpi: &Functions<A>,
    request: &mut A::Handle,
) -> Result<(), LibraryError> {
    // SAFETY: a persistent receive that is not active; its memory is as `Slots::new` says.
    let code = unsafe { (mpi.start)(request) };
    succeeded("MPI_Start", code)
}

/// An error unless a function has succeeded.
#[inline]
pub(crate) fn succeeded(function: &'static str, code: c_int) -> Result<(), LibraryError> {
    if code == 0 { Ok(()) } else { Err(LibraryError::Failed { function, code }) }
}

#[cfg(test)]
mod tests {
    use towpath_actors::message::{ActorHeader, MessageKind};
    use towpath_actors::{ActorMessage, MachineLayer};

    use super::{MESSAGE, SHORTEST_TAKEN, SLOT_BYTES, SLOTS};
    use crate::fake;

    #[test]
    fn messages_keep_their_content_while_slots_are_used_again() {
        let mut layer = fake::layer(true);
        let lengths = [8, SHORTEST_TAKEN, 3 * SHORTEST_TAKEN / 2, SHORTEST_TAKEN - 1, SLOT_BYTES];
        let header = ActorHeader::new(MessageKind::Invoke, 7, None, 0);
        let sent: Vec<ActorMessage> = (0..4 * SLOTS)
            .map(|number| {
                let bytes = lengths[number % lengths.len()].max(size_of::<ActorHeader>());
                let payload = vec![number as u8; bytes - size_of::<ActorHeader>()];
                ActorMessage::of(header, &payload)
            })
            .collect();
        let mut received = Vec::new();
        for message in &sent {
            fake::arrive(MESSAGE, message.bytes());
            received.extend(layer.receive().map(|(_, message)| message));
        }
        assert_eq!(received.len(), sent.len());
        // Those that were not copied, but for the last one, have made room for others.
        let taken = sent.iter().filter(|message| message.bytes().len() >= SHORTEST_TAKEN).count();
        assert_eq!(fake::receives_made(), SLOTS + taken);
        for (received, sent) in received.iter().zip(&sent) {
            assert_eq!(received.bytes(), sent.bytes());
        }
    }
}
