//! What arrives: short messages in slots, long ones and arrays by receives of their own.

use std::collections::VecDeque;
use std::rc::Rc;

use towpath_actors::arrays::PooledArray;
use towpath_actors::message::{ARRAYS, HEADER_BYTES, MessageKind};
use towpath_actors::{ActorMessage, MessageArray};

use crate::abi::BinaryInterface;
use crate::announced::AnnouncedArray;
use crate::arrays::{self, ArrayRoute, IncomingArray, ViewedArray};
use crate::layer::MpiLayer;
use crate::library::LibraryError;
use crate::requests::{ArrivingArray, FilledMemory, LongReceive, ReceiveEnd, irecv, is_complete};
use crate::slots::{Arrived, MESSAGE};

impl<A: BinaryInterface> MpiLayer<A> {
    pub(crate) fn poll(&mut self) -> Result<Option<(u32, ActorMessage)>, LibraryError> {
        self.send_rest()?;
        self.poll_sends()?;
        if let Some(arrived) = self.arrived.pop_front() {
            return Ok(Some(arrived));
        }
        if let Some(receive) = self.receives.front_mut() {
            while let Some(request) = receive.requests.front_mut()
                && is_complete(&self.mpi, request)?
            {
                receive.requests.pop_front();
            }
            if receive.requests.is_empty() {
                return self.received();
            }
        }
        match self.slots.poll(&self.mpi)? {
            None => Ok(self.look()),
            Some(arrived) => self.take_in(arrived),
        }
    }

    /// What somebody asks of rank 0 while nothing arrives.
    #[inline]
    pub(crate) fn look(&mut self) -> Option<(u32, ActorMessage)> {
        let asked = self.watch.as_mut()?.look()?;
        Some((self.rank, asked))
    }

    /// Takes in what a slot has received.
    #[inline]
    pub(crate) fn take_in(
        &mut self,
        arrived: Arrived,
    ) -> Result<Option<(u32, ActorMessage)>, LibraryError> {
        match arrived {
            Arrived::Message(from, message) => return self.with_arrays(from, message),
            Arrived::Batch(from, messages) => {
                for message in messages {
                    let complete = self.with_arrays(from, message)?;
                    self.arrived.extend(complete);
                }
                return Ok(self.arrived.pop_front());
            }
            Arrived::Announced(from, bytes) => self.receive_long(from, bytes)?,
            Arrived::Released(name) => drop(self.lent.remove(&name)),
        }
        Ok(None)
    }

    /// Takes in what a slot has received while this rank waits: nothing else has arrived.
    pub(crate) fn take_in_for_later(&mut self, arrived: Arrived) -> Result<(), LibraryError> {
        if let Some(first) = self.take_in(arrived)? {
            self.arrived.push_front(first);
        }
        Ok(())
    }

    /// The first of the long receives is complete.
    pub(crate) fn received(&mut self) -> Result<Option<(u32, ActorMessage)>, LibraryError> {
        let Some(receive) = self.receives.pop_front() else { return Ok(None) };
        let LongReceive { from, message, arrays, filled, end, .. } = receive;
        for FilledMemory { mut memory, received } in filled {
            if let Some(received) = received {
                self.copy_array(&received, &mut *memory)?;
            }
        }
        let message = if arrays.is_empty() {
            message
        } else {
            message.with_arrays(arrays.into_iter().map(ArrivingArray::arrived).collect())
        };
        match end {
            ReceiveEnd::Vanishes => Ok(None),
            _ if self.is_ending => Ok(None),
            ReceiveEnd::Passes(to) => self.start_send(to, message.into()).map(|()| None),
            ReceiveEnd::Arrives => self.with_arrays(from, message),
        }
    }

    /// A message whose payload has arrived: at once, unless arrays of it are still on their way.
    #[inline]
    pub(crate) fn with_arrays(
        &mut self,
        from: u32,
        message: ActorMessage,
    ) -> Result<Option<(u32, ActorMessage)>, LibraryError> {
        if message.header().flags & ARRAYS == 0 {
            return Ok(Some((from, message)));
        }
        self.receive_arrays(from, message)
    }

    pub(crate) fn receive_arrays(
        &mut self,
        from: u32,
        message: ActorMessage,
    ) -> Result<Option<(u32, ActorMessage)>, LibraryError> {
        let (message, arrays) = arrays::undescribed(message).ok_or(LibraryError::Unknown)?;
        let mut requests = VecDeque::new();
        // Several chares may get another one.
        let may_wait = message.header().kind() == Some(MessageKind::Invoke);
        let mut incoming = Vec::with_capacity(arrays.len());
        for array in arrays {
            incoming.push(match array.route {
                ArrayRoute::Posted(tag) if may_wait => {
                    let announced = AnnouncedArray { from, tag, bytes: array.bytes };
                    ArrivingArray::Here(self.announced(announced)?)
                }
                ArrayRoute::Sent(tag) | ArrayRoute::Posted(tag) => {
                    self.free_tag(from, tag)?;
                    let announced = AnnouncedArray { from, tag, bytes: array.bytes };
                    let mut memory = PooledArray::new(array.bytes);
                    requests.push_back(self.receive_announced(announced, &mut memory)?);
                    ArrivingArray::Receiving(memory)
                }
                ArrayRoute::Inside(_) | ArrayRoute::Shared { .. } => {
                    ArrivingArray::Here(self.incoming(from, array)?)
                }
            });
        }
        if requests.is_empty() {
            let arrays = incoming.into_iter().map(ArrivingArray::arrived).collect();
            return Ok(Some((from, message.with_arrays(arrays))));
        }
        self.receives.push_back(LongReceive {
            from,
            message,
            arrays: incoming,
            filled: Vec::new(),
            requests,
            end: ReceiveEnd::Arrives,
        });
        Ok(None)
    }

    /// An array that has come with its message, or that the owner has lent.
    fn incoming(&self, from: u32, array: IncomingArray) -> Result<MessageArray, LibraryError> {
        let ArrayRoute::Shared { offset, name, is_given } = array.route else {
            return Ok(Rc::new(array.memory.ok_or(LibraryError::Unknown)?));
        };
        let shared = self.shared.as_ref().ok_or(LibraryError::Unknown)?;
        let (place, lender) = ((offset, array.bytes), (from, name));
        let viewed = ViewedArray::new(shared, place, is_given, lender, &self.released);
        Ok(Rc::new(viewed.ok_or(LibraryError::Unknown)?))
    }

    /// Receives a message that was announced.
    pub(crate) fn receive_long(&mut self, from: u32, bytes: usize) -> Result<(), LibraryError> {
        if bytes < HEADER_BYTES {
            return Err(LibraryError::Unknown);
        }
        let mut message = ActorMessage::with_bytes(bytes);
        let into = message.bytes_mut().as_mut_ptr();
        // SAFETY: the message has so many bytes on the heap, and nobody moves or frees them: see
        // `LongReceive` and `drop`.
        let request = unsafe { irecv(&self.mpi, into, bytes, from, MESSAGE, self.long)? };
        self.receives.push_back(LongReceive {
            from,
            message,
            arrays: Vec::new(),
            filled: Vec::new(),
            requests: VecDeque::from([request]),
            end: ReceiveEnd::Arrives,
        });
        Ok(())
    }
}
