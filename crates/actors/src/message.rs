//! Messages between chares and between the runtimes of the ranks: a header of fixed size with the
//! payload behind it, in one block of memory that is sent as it is. On the path of every message.

use std::ops::Deref;
use std::rc::Rc;

use crate::arrays::{self, MessageArray};
pub use crate::header::*;
pub use crate::memory::MessageMemory;
use crate::priority::{BitPriority, front_bytes};

/// Nothing takes it out of a message but what consumes the message.
const HAS_MEMORY: &str = "a message has memory";

/// A header and a payload in one block of memory, aligned to 16 bytes, and arrays beside it.
#[derive(Debug)]
pub struct ActorMessage(Option<Box<MessageMemory>>);

impl ActorMessage {
    /// A message with a payload of so many bytes, whose content is arbitrary.
    #[must_use]
    pub fn new(header: ActorHeader, payload: usize) -> ActorMessage {
        let mut message = ActorMessage::with_bytes(HEADER_BYTES + payload);
        *message.header_mut() = header;
        message
    }

    /// A message with a copy of this payload.
    #[must_use]
    pub fn of(header: ActorHeader, payload: &[u8]) -> ActorMessage {
        let mut message = ActorMessage::new(header, payload.len());
        message.payload_mut().copy_from_slice(payload);
        message
    }

    /// A message with this priority and a payload of so many bytes, whose content is arbitrary.
    #[must_use]
    pub fn prioritized(
        mut header: ActorHeader,
        priority: &BitPriority,
        payload: usize,
    ) -> ActorMessage {
        let (first, rest) = priority.split();
        header.flags |= PRIORITY;
        header.priority = first;
        let Some(rest) = rest else { return ActorMessage::new(header, payload) };
        header.flags |= LONG_PRIORITY;
        let front = front_bytes(priority.bits());
        let mut message = ActorMessage::new(header, front + payload);
        let blocks = &mut message.buffer_mut().blocks_mut()[HEADER_BLOCKS..];
        let words = &mut bytemuck::cast_slice_mut(blocks)[..front / size_of::<u32>()];
        words.fill(0);
        words[0] = priority.bits();
        words[1..=rest.len()].copy_from_slice(rest);
        message
    }

    /// A message with this header and a payload of so many bytes, whose content is arbitrary, and
    /// the priority of this one.
    #[must_use]
    pub fn resized(&self, header: ActorHeader, payload: usize) -> ActorMessage {
        let front = &self.bytes()[HEADER_BYTES..self.payload_begin()];
        let mut message = ActorMessage::with_bytes(HEADER_BYTES + front.len() + payload);
        message.bytes_mut()[HEADER_BYTES..][..front.len()].copy_from_slice(front);
        *message.header_mut() = header;
        message
    }

    /// Makes the payload longer by these bytes.
    pub fn append(&mut self, bytes: &[u8]) {
        let before = self.bytes().len();
        let all = before + bytes.len();
        if all > self.buffer().room() {
            let mut longer = ActorMessage::with_bytes(all);
            longer.bytes_mut()[..before].copy_from_slice(self.bytes());
            let arrays = self.take_arrays();
            *self = longer.with_arrays(arrays);
        }
        self.buffer_mut().resize(all);
        self.bytes_mut()[before..].copy_from_slice(bytes);
    }

    /// Makes the payload shorter, or longer with arbitrary content if there is memory for it.
    ///
    /// # Panics
    /// If there is no memory for so many bytes.
    pub fn resize(&mut self, payload: usize) {
        let begin = self.payload_begin();
        self.buffer_mut().resize(begin + payload);
    }

    /// Says how long a message is that has arrived, with its header, in memory for a longer one.
    ///
    /// # Panics
    /// If that is less than a header, or more than the memory.
    pub fn truncate(&mut self, bytes: usize) {
        self.buffer_mut().resize(bytes);
    }

    /// Memory for a message of so many bytes in all, which is about to arrive; its content is
    /// arbitrary.
    ///
    /// # Panics
    /// If that is less than a header.
    #[inline]
    #[must_use]
    pub fn with_bytes(bytes: usize) -> ActorMessage {
        assert!(bytes >= HEADER_BYTES, "a message begins with its header");
        ActorMessage(Some(MessageMemory::take(bytes)))
    }

    /// The memory of the message.
    #[inline]
    #[must_use]
    pub fn into_buffer(mut self) -> Box<MessageMemory> {
        self.0.take().expect(HAS_MEMORY)
    }

    /// The message with this memory.
    #[inline]
    #[must_use]
    pub fn from_buffer(buffer: Box<MessageMemory>) -> ActorMessage {
        ActorMessage(Some(buffer))
    }

    #[inline]
    fn buffer(&self) -> &MessageMemory {
        self.0.as_deref().expect(HAS_MEMORY)
    }

    #[inline]
    fn buffer_mut(&mut self) -> &mut MessageMemory {
        self.0.as_deref_mut().expect(HAS_MEMORY)
    }

    /// Whether the prefix of the header is zero, so that the message can be sent without it.
    #[inline]
    #[must_use]
    pub fn prefix_is_zero(&self) -> bool {
        let words: &[u64] = bytemuck::cast_slice(&self.bytes()[..PREFIX_BYTES]);
        words.iter().all(|word| *word == 0)
    }

    /// The message with these bytes; `None` if they are less than a header.
    #[inline]
    #[must_use]
    pub fn received(bytes: &[u8]) -> Option<ActorMessage> {
        let is_message = bytes.len() >= HEADER_BYTES;
        let mut message = is_message.then(|| ActorMessage::with_bytes(bytes.len()))?;
        message.bytes_mut().copy_from_slice(bytes);
        Some(message)
    }

    /// The message with a prefix that is zero and these bytes behind it; `None` if they are less
    /// than the rest of a header.
    #[inline]
    #[must_use]
    pub fn with_prefix(rest: &[u8]) -> Option<ActorMessage> {
        let bytes = PREFIX_BYTES + rest.len();
        let mut message = (bytes >= HEADER_BYTES).then(|| ActorMessage::with_bytes(bytes))?;
        let (prefix, behind) = message.bytes_mut().split_at_mut(PREFIX_BYTES);
        prefix.fill(0);
        behind.copy_from_slice(rest);
        Some(message)
    }

    /// All bytes that are sent: header, payload and arrays.
    #[must_use]
    pub fn sent_bytes(&self) -> usize {
        self.bytes().len() + self.arrays().iter().map(|array| array.length()).sum::<usize>()
    }

    /// The arrays beside the payload.
    #[inline]
    #[must_use]
    pub fn arrays(&self) -> &[MessageArray] {
        self.buffer().arrays()
    }

    /// Takes the arrays out of the message.
    pub fn take_arrays(&mut self) -> Vec<MessageArray> {
        self.buffer_mut().set_arrays(Vec::new())
    }

    /// The message with these arrays instead of its own.
    #[must_use]
    pub fn with_arrays(mut self, arrays: Vec<MessageArray>) -> ActorMessage {
        self.buffer_mut().set_arrays(arrays);
        self
    }

    /// A copy with another header, which says as much about the priority, and with the same arrays.
    #[must_use]
    pub fn copy(&self, header: ActorHeader) -> ActorMessage {
        let mut message = ActorMessage::with_bytes(self.bytes().len());
        message.bytes_mut()[HEADER_BYTES..].copy_from_slice(&self.bytes()[HEADER_BYTES..]);
        *message.header_mut() = header;
        message.with_arrays(self.arrays().to_vec())
    }

    /// All of it, as it is sent.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.buffer().bytes()
    }

    /// All of it, to be received into.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.buffer_mut().bytes_mut()
    }

    /// Its header.
    #[inline]
    #[must_use]
    pub fn header(&self) -> &ActorHeader {
        self.buffer().header()
    }

    /// Its header, to be changed.
    #[inline]
    pub fn header_mut(&mut self) -> &mut ActorHeader {
        &mut bytemuck::cast_slice_mut(&mut self.buffer_mut().blocks_mut()[..HEADER_BLOCKS])[0]
    }

    /// Its payload.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.bytes()[self.payload_begin()..]
    }

    /// Its payload, to be written.
    pub fn payload_mut(&mut self) -> &mut [u8] {
        let begin = self.payload_begin();
        &mut self.bytes_mut()[begin..]
    }

    #[inline]
    fn payload_begin(&self) -> usize {
        self.buffer().payload_begin()
    }

    /// What follows the first 32 bits of its priority, and how many bits that has in all. An
    /// integer has 32.
    pub(crate) fn rest_of_priority(&self) -> (&[u32], u32) {
        if self.header().flags & LONG_PRIORITY == 0 {
            return (&[], 32);
        }
        let Some((bits, words)) = self.buffer().front().split_first() else { return (&[], 32) };
        let words = words.get(..bits.div_ceil(32).saturating_sub(1) as usize).unwrap_or(&[]);
        (words, *bits)
    }
}

impl Drop for ActorMessage {
    fn drop(&mut self) {
        if let Some(buffer) = self.0.take() {
            MessageMemory::give(buffer);
        }
    }
}

/// A message that one place holds, or several do: a broadcast is sent to several ranks.
#[derive(Debug)]
pub enum MessageHandle {
    /// The only one.
    Owned(ActorMessage),
    /// One of several.
    Shared(Rc<ActorMessage>),
}

impl Deref for MessageHandle {
    type Target = ActorMessage;

    fn deref(&self) -> &ActorMessage {
        match self {
            MessageHandle::Owned(message) => message,
            MessageHandle::Shared(message) => message,
        }
    }
}

impl From<ActorMessage> for MessageHandle {
    fn from(message: ActorMessage) -> MessageHandle {
        MessageHandle::Owned(message)
    }
}

impl MessageHandle {
    /// The message, for whoever changes it: a copy if several places hold it.
    #[must_use]
    pub fn into_owned(self) -> ActorMessage {
        match self {
            MessageHandle::Owned(message) => message,
            MessageHandle::Shared(message) => {
                Rc::try_unwrap(message).unwrap_or_else(|message| message.copy(*message.header()))
            }
        }
    }

    /// The bytes of an array, to be written; `None` if there is none, or others have it too.
    pub fn own_array(&mut self, number: usize) -> Option<&mut [u8]> {
        match self {
            MessageHandle::Owned(message) => message.buffer_mut().own_array(number),
            MessageHandle::Shared(_) => None,
        }
    }

    /// The message, for whoever holds it for an unknown time: lent arrays are copied.
    #[must_use]
    pub fn kept(self) -> MessageHandle {
        if !self.arrays().iter().any(|array| array.is_borrowed()) {
            return self;
        }
        let arrays = self.arrays().iter().map(arrays::kept).collect();
        self.into_owned().with_arrays(arrays).into()
    }

    /// The message, to be shared.
    #[must_use]
    pub fn shared(self) -> Rc<ActorMessage> {
        match self {
            MessageHandle::Owned(message) => Rc::new(message),
            MessageHandle::Shared(message) => message,
        }
    }
}
