//! Posted arrays: an array that its sender has sent as a message of its own is received once the
//! method of the program has said where it is to be.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::rc::Rc;

use towpath_actors::arrays::{PooledArray, UnreceivedArray};
use towpath_actors::message::{ActorHeader, MessageKind};
use towpath_actors::{ActorMessage, MessageArray, WritableArray};

use crate::abi::BinaryInterface;
use crate::announced::{AnnouncedArray, PostedArray};
use crate::layer::MpiLayer;
use crate::library::LibraryError;
use crate::requests::{ArrivingArray, FilledMemory, LongReceive, ReceiveEnd, irecv_array};
use crate::slots::succeeded;

impl<A: BinaryInterface> MpiLayer<A> {
    /// An array of a message that arrives before it.
    pub(crate) fn announced(
        &mut self,
        array: AnnouncedArray,
    ) -> Result<MessageArray, LibraryError> {
        self.free_tag(array.from, array.tag)?;
        let name = UnreceivedArray(self.announcements);
        self.announcements += 1;
        self.unreceived.insert(name, array);
        Ok(Rc::new(PostedArray::new(name, array.bytes, &self.unwanted)))
    }

    /// An array with this tag is about to be received. Tags are used again after a while: if one
    /// that was sent before waits, it is received first, because MPI gives messages in their order.
    pub(crate) fn free_tag(&mut self, from: u32, tag: c_int) -> Result<(), LibraryError> {
        let is_same = |array: &AnnouncedArray| (array.from, array.tag) == (from, tag);
        let found = self
            .unreceived
            .iter()
            .find(|(name, array)| is_same(array) && !self.early.contains_key(name));
        let Some((name, array)) = found.map(|(name, array)| (*name, *array)) else {
            return Ok(());
        };
        let mut memory = PooledArray::new(array.bytes);
        let (mut request, mut status) = (self.receive_announced(array, &mut memory)?, A::EMPTY);
        // SAFETY: the request is active, and the status is local. The array was announced, so it
        // has been sent.
        succeeded("MPI_Wait", unsafe { (self.mpi.wait)(&mut request, &mut status) })?;
        self.early.insert(name, memory);
        Ok(())
    }

    /// Starts to receive an array into memory of this length.
    pub(crate) fn receive_announced(
        &self,
        array: AnnouncedArray,
        memory: &mut dyn WritableArray,
    ) -> Result<A::Handle, LibraryError> {
        irecv_array(&self.mpi, memory, array.from, array.tag, self.long)
    }

    /// Receives arrays into memory of the program, and then lets a message arrive.
    pub(crate) fn fill(
        &mut self,
        arrays: Vec<(UnreceivedArray, Box<dyn WritableArray>)>,
        then: ActorMessage,
    ) -> Result<(), LibraryError> {
        let (mut requests, mut filled) = (VecDeque::new(), Vec::new());
        for (name, mut memory) in arrays {
            let array = self.unreceived.remove(&name).ok_or(LibraryError::Unknown)?;
            let mut received = self.early.remove(&name);
            if received.is_none() {
                let into: &mut dyn WritableArray = if memory.length() < array.bytes {
                    received.insert(PooledArray::new(array.bytes))
                } else {
                    &mut *memory
                };
                requests.push_back(self.receive_announced(array, into)?);
            }
            filled.push(FilledMemory { memory, received });
        }
        self.receives.push_back(LongReceive {
            from: self.rank,
            message: then,
            arrays: Vec::new(),
            filled,
            requests,
            end: ReceiveEnd::Arrives,
        });
        Ok(())
    }

    /// Receives all arrays of a message whose chare has left, and then sends it on.
    pub(crate) fn receive_and_send(
        &mut self,
        to: u32,
        message: ActorMessage,
    ) -> Result<(), LibraryError> {
        let (mut requests, mut arrays) = (VecDeque::new(), Vec::new());
        for array in message.arrays() {
            let Some(name) = array.unreceived() else {
                arrays.push(ArrivingArray::Here(array.clone()));
                continue;
            };
            let announced = self.unreceived.remove(&name).ok_or(LibraryError::Unknown)?;
            let memory = match self.early.remove(&name) {
                Some(memory) => memory,
                None => {
                    let mut memory = PooledArray::new(announced.bytes);
                    requests.push_back(self.receive_announced(announced, &mut memory)?);
                    memory
                }
            };
            arrays.push(ArrivingArray::Receiving(memory));
        }
        self.receives.push_back(LongReceive {
            from: self.rank,
            message: message.with_arrays(Vec::new()),
            arrays,
            filled: Vec::new(),
            requests,
            end: ReceiveEnd::Passes(to),
        });
        Ok(())
    }

    /// Takes in messages all of whose parts had been received before.
    pub(crate) fn take_complete(&mut self) -> Result<(), LibraryError> {
        while self.receives.front().is_some_and(|receive| receive.requests.is_empty()) {
            let complete = self.received()?;
            self.arrived.extend(complete);
        }
        Ok(())
    }

    /// Receives an array that nobody wants, because its sender waits until it has been sent.
    pub(crate) fn receive_unwanted(&mut self, name: UnreceivedArray) -> Result<(), LibraryError> {
        let Some(array) = self.unreceived.remove(&name) else { return Ok(()) };
        if self.early.remove(&name).is_some() {
            return Ok(());
        }
        let mut memory = PooledArray::new(array.bytes);
        let request = self.receive_announced(array, &mut memory)?;
        let header = ActorHeader::new(MessageKind::Invoke, 0, None, 0);
        self.receives.push_back(LongReceive {
            from: array.from,
            message: ActorMessage::new(header, 0),
            arrays: vec![ArrivingArray::Receiving(memory)],
            filled: Vec::new(),
            requests: VecDeque::from([request]),
            end: ReceiveEnd::Vanishes,
        });
        Ok(())
    }

    /// The same with all that are left when the job ends.
    pub(crate) fn receive_all_unwanted(&mut self) -> Result<(), LibraryError> {
        let all: Vec<UnreceivedArray> = self.unreceived.keys().copied().collect();
        all.into_iter().try_for_each(|name| self.receive_unwanted(name))
    }
}

#[cfg(test)]
mod tests {
    use std::rc::{Rc, Weak};

    use towpath_actors::MachineLayer;

    use super::*;
    use crate::arrays::{self, ArrayRoute};
    use crate::fake;
    use crate::slots::MESSAGE;

    /// An array that may be posted.
    #[derive(Debug)]
    struct TestArray {
        bytes: Vec<u8>,
        is_posted: bool,
    }

    impl towpath_actors::ArrayMemory for TestArray {
        fn bytes(&self) -> &[u8] {
            &self.bytes
        }

        fn is_posted(&self) -> bool {
            self.is_posted
        }
    }

    fn array(is_posted: bool) -> MessageArray {
        Rc::new(TestArray { bytes: vec![7; 100_000], is_posted })
    }

    fn message(arrays: Vec<MessageArray>) -> ActorMessage {
        let header = ActorHeader::new(MessageKind::Invoke, 7, None, 0);
        ActorMessage::of(header, b"payload").with_arrays(arrays)
    }

    /// A message arrives whose array has this tag.
    fn arrive(is_posted: bool, tag: c_int) {
        let message = message(vec![array(is_posted)]);
        let route = if is_posted { ArrayRoute::Posted(tag) } else { ArrayRoute::Sent(tag) };
        let described = arrays::described(&message, message.arrays(), &[route]);
        fake::arrive(MESSAGE, described.bytes());
    }

    #[test]
    fn an_array_that_nobody_receives_delays_no_other() {
        let mut layer = fake::layer(true);
        fake::keep_incomplete();
        let (posted, other) = (array(true), array(false));
        let (kept, sent): (Weak<_>, Weak<_>) = (Rc::downgrade(&posted), Rc::downgrade(&other));
        layer.send(1, message(vec![posted]).into());
        let tag = fake::take_sent().last().unwrap().tag;
        layer.send(1, message(vec![other]).into());
        fake::complete_all_but(tag);
        assert!(layer.receive().is_none());
        assert!(sent.upgrade().is_none(), "it has been sent");
        assert!(kept.upgrade().is_some());
        fake::complete();
        layer.wait(None);
        assert!(kept.upgrade().is_none());
    }

    #[test]
    fn posted_arrays_are_received_when_it_is_said_where_they_are_to_be() {
        let mut layer = fake::layer(true);
        arrive(true, 100);
        let (_, message) = layer.receive().unwrap();
        assert!(fake::received().is_empty());
        let name = message.arrays()[0].unreceived().unwrap();
        let memory = Box::new(PooledArray::new(100_000));
        let then = ActorMessage::of(*message.header(), b"then");
        MachineLayer::receive_arrays(&mut layer, vec![(name, memory)], then);
        assert_eq!(fake::received(), [100]);
        assert_eq!(layer.receive().unwrap().1.payload(), b"then");
        drop(message);
        layer.flush();
        assert!(fake::received().is_empty(), "it has been received");
    }

    #[test]
    fn a_tag_that_is_used_again_is_received_in_order() {
        let mut layer = fake::layer(true);
        arrive(true, 100);
        let (_, first) = layer.receive().unwrap();
        arrive(false, 100);
        let second = layer.receive().or_else(|| layer.receive()).unwrap().1;
        assert_eq!(fake::received(), [100, 100], "the first array before the second");
        assert_eq!(second.arrays()[0].length(), 100_000);
        let name = first.arrays()[0].unreceived().unwrap();
        let memory = Box::new(PooledArray::new(100_000));
        let then = ActorMessage::of(*first.header(), b"then");
        MachineLayer::receive_arrays(&mut layer, vec![(name, memory)], then);
        assert!(fake::received().is_empty(), "it is here");
        layer.wait(None);
        assert_eq!(layer.receive().unwrap().1.payload(), b"then");
    }

    #[test]
    fn arrays_of_messages_that_are_dropped_are_received() {
        let mut layer = fake::layer(true);
        arrive(true, 100);
        drop(layer.receive());
        layer.flush();
        assert_eq!(fake::received(), [100]);
        arrive(true, 101);
        let held = layer.receive();
        layer.close();
        assert_eq!(fake::received(), [101], "when the job ends, though the program has it");
        drop(held);
    }

    #[test]
    fn a_message_is_sent_on_with_its_arrays() {
        let mut layer = fake::layer(true);
        arrive(true, 100);
        let (_, message) = layer.receive().unwrap();
        layer.send(1, message.into());
        assert_eq!(fake::received(), [100]);
        assert!(fake::take_sent().is_empty(), "its array has not arrived");
        assert!(layer.receive().is_none());
        assert_eq!(fake::take_sent().len(), 2);
    }
}
