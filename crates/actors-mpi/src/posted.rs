//! Posted arrays: an array that its sender has sent as a message of its own is received once the
//! method of the program has said where it is to be.

use std::collections::VecDeque;
use std::rc::Rc;

use towpath_actors::arrays::{PooledArray, UnreceivedArray};
use towpath_actors::message::{ActorHeader, MessageKind};
use towpath_actors::{ActorMessage, MessageArray, WritableArray};

use crate::abi::BinaryInterface;
use crate::announced::{AnnouncedArray, PostedArray};
use crate::layer::MpiLayer;
use crate::library::LibraryError;
use crate::requests::{ArrivingArray, FilledMemory, LongReceive, ReceiveEnd, irecv};

impl<A: BinaryInterface> MpiLayer<A> {
    /// An array of a message that arrives before it.
    pub(crate) fn announced(&mut self, array: AnnouncedArray) -> MessageArray {
        let name = UnreceivedArray(self.announcements);
        self.announcements += 1;
        self.unreceived.insert(name, array);
        Rc::new(PostedArray::new(name, array.bytes, &self.unwanted))
    }

    /// Starts to receive an array into memory of this length.
    fn receive_announced(
        &self,
        array: AnnouncedArray,
        memory: &mut [u8],
    ) -> Result<A::Handle, LibraryError> {
        irecv(&self.mpi, memory, array.from, array.tag, self.long)
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
            let mut longer = None;
            if memory.length() < array.bytes {
                let into = longer.insert(PooledArray::new(array.bytes));
                requests.push_back(self.receive_announced(array, into.bytes_mut())?);
            } else {
                requests.push_back(self.receive_announced(array, memory.bytes_mut())?);
            }
            filled.push(FilledMemory { memory, longer });
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
            let announced = array.unreceived().and_then(|name| self.unreceived.remove(&name));
            arrays.push(match announced {
                Some(announced) => {
                    let mut memory = PooledArray::new(announced.bytes);
                    requests.push_back(self.receive_announced(announced, memory.bytes_mut())?);
                    ArrivingArray::Receiving(memory)
                }
                None => ArrivingArray::Here(array.clone()),
            });
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

    /// Receives an array that nobody wants, because its sender waits until it has been sent.
    pub(crate) fn receive_unwanted(&mut self, name: UnreceivedArray) -> Result<(), LibraryError> {
        let Some(array) = self.unreceived.remove(&name) else { return Ok(()) };
        let mut memory = PooledArray::new(array.bytes);
        let request = self.receive_announced(array, memory.bytes_mut())?;
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
