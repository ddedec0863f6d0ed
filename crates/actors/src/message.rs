//! Messages between chares and between the runtimes of the ranks: a header of fixed size with the
//! payload behind it, in one block of memory that is sent as it is. On the path of every message.

use std::ops::Deref;
use std::rc::Rc;

use bytemuck::{Pod, Zeroable};

use crate::arrays::{self, MessageArray};
use crate::index::{Index, LONGEST};
use crate::pool;
pub use crate::pool::Block;
use crate::priority::{BitPriority, front_bytes};

/// What a message asks of the rank that it reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum MessageKind {
    /// Invoke an entry method of one chare.
    Invoke = 1,
    /// Number this broadcast and pass it on to all ranks. Goes to the root of the collection.
    BroadcastRequest,
    /// Invoke an entry method of every chare of the collection on this rank.
    Broadcast,
    /// Say where a new element is constructed. Goes to the home of its index.
    InsertRequest,
    /// Construct an element.
    Insert,
    /// Unpack an element that comes from another rank.
    Arrival,
    /// Something between the runtimes ([`crate::control::ControlMessage`]).
    Control,
    /// Let a suspended method of one chare go on. A rank sends it to itself.
    Resume,
    /// Send this to all members of a section. Goes to its root.
    MulticastRequest,
    /// Invoke an entry method of the members that are named in front of the payload.
    Multicast,
    /// Be a member of a section. Goes to one chare.
    Join,
}

impl MessageKind {
    /// In the order of their numbers, from 1 on.
    const ALL: [MessageKind; 11] = {
        use MessageKind::{
            Arrival, Broadcast, BroadcastRequest, Control, Insert, InsertRequest, Invoke, Join,
            Multicast, MulticastRequest, Resume,
        };
        [
            Invoke,
            BroadcastRequest,
            Broadcast,
            InsertRequest,
            Insert,
            Arrival,
            Control,
            Resume,
            MulticastRequest,
            Multicast,
            Join,
        ]
    };

    #[inline]
    fn of(code: u8) -> Option<MessageKind> {
        MessageKind::ALL.get(usize::from(code.wrapping_sub(1))).copied()
    }
}

/// Flag: the message passes all that are not expedited.
pub const EXPEDITED: u16 = 1;
/// Flag: the message has a priority.
pub const PRIORITY: u16 = 2;
/// Flag: one chare's copy of a broadcast or multicast, which is dropped if that chare exists no
/// more.
pub const COPY: u16 = 4;
/// Flag: the payload is the result of a reduction.
pub const RESULT: u16 = 8;
/// Flag: a broadcast that is not for chares ([`crate::broadcast::InsertBarrier`]).
pub const BARRIER: u16 = 16;
/// Flag: descriptions of arrays stand behind the payload. Only the layer that sends the message
/// sees it.
pub const ARRAYS: u16 = 32;
/// Flag: of an arrival: the element is ready for load balancing. Of an invocation: it goes on.
pub const SYNCHRONIZED: u16 = 64;
/// Flag: a multicast that is not for chares, but tells them that they are members.
pub const JOIN: u16 = 128;
/// Flag: a priority that is no integer stands in front of the payload ([`BitPriority`]).
pub const LONG_PRIORITY: u16 = 256;
/// Flag: a message to a section, which `place` and `number` name ([`crate::SectionId`]). Of an
/// arrival: the sections to which the element belongs stand behind it.
pub const SECTION: u16 = 512;

/// Place of an insertion that shall be at the home of its index.
pub const AT_HOME: u32 = u32::MAX;

/// What stands in front of the payload.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct ActorHeader {
    kind: u8,
    index_length: u8,
    /// Of [`EXPEDITED`], [`PRIORITY`], [`COPY`], [`RESULT`], [`BARRIER`], [`ARRAYS`],
    /// [`SYNCHRONIZED`], [`SECTION`], [`JOIN`] and [`LONG_PRIORITY`].
    pub flags: u16,
    /// The entry method or constructor. Of an arrival: how often elements of this index had
    /// migrated when this one was constructed.
    pub entry: u32,
    /// The collection ([`crate::CollectionId`]).
    pub collection: u64,
    /// Smaller is more urgent. Of a longer one: its first 32 bits.
    pub priority: i32,
    /// The reference number, by which a chare finds the message that it expects. Of an arrival: how
    /// often the element has been ready for load balancing.
    pub reference: u32,
    /// Of a broadcast: its number. Of an arrival: the element's next reduction. Of insertions: how
    /// many barriers the asker has sent ([`crate::broadcast::InsertBarrier`]). To a section: which
    /// one of its root.
    pub number: u32,
    /// Of insertions, arrivals and copies of broadcasts: how often elements of this index have
    /// migrated, with this time.
    pub migrations: u32,
    /// Of insertions: the rank that asks for the element. Of an arrival: its type.
    pub asker: u32,
    /// Of insertions: the rank where the element shall be, or [`AT_HOME`]. Of an arrival: how many
    /// broadcasts the element has had. To a section: its root.
    pub place: u32,
    index: [i32; LONGEST],
}

/// Bytes in front of the payload: the payload is aligned as the message is.
pub const HEADER_BYTES: usize = size_of::<ActorHeader>();
const HEADER_BLOCKS: usize = HEADER_BYTES / size_of::<Block>();
const _: () = assert!(HEADER_BYTES.is_multiple_of(size_of::<Block>()));

impl ActorHeader {
    /// A header of this kind, without priority; `index` is that of one chare, or none.
    #[must_use]
    pub fn new(
        kind: MessageKind,
        collection: u64,
        index: Option<&Index>,
        entry: u32,
    ) -> ActorHeader {
        let mut header =
            ActorHeader { kind: kind as u8, collection, entry, ..ActorHeader::zeroed() };
        if let Some(index) = index {
            header.set_index(index);
        }
        header
    }

    /// What the message asks for; `None` if no runtime of this version has sent it.
    #[must_use]
    pub fn kind(&self) -> Option<MessageKind> {
        MessageKind::of(self.kind)
    }

    /// Makes it one that asks for something else.
    pub fn set_kind(&mut self, kind: MessageKind) {
        self.kind = kind as u8;
    }

    /// The chare; an index without words in messages to no single one.
    #[must_use]
    pub fn index(&self) -> Index {
        Index::new(self.index.get(..usize::from(self.index_length)).unwrap_or(&[]))
            .expect("no more words than an index has")
    }

    /// Addresses it to a chare.
    pub fn set_index(&mut self, index: &Index) {
        let words = index.words();
        self.index[..words.len()].copy_from_slice(words);
        self.index_length = u8::try_from(words.len()).expect("six words at most");
    }
}

/// A header and a payload in one block of memory, aligned to 16 bytes, and arrays beside it.
#[derive(Debug)]
pub struct ActorMessage {
    blocks: Vec<Block>,
    bytes: usize,
    /// Most messages have none.
    #[expect(clippy::box_collection, reason = "messages are moved, and this is one word")]
    arrays: Option<Box<Vec<MessageArray>>>,
}

/// What a message consists of.
#[derive(Debug)]
pub struct MessageParts {
    /// Memory of the header and the payload.
    pub blocks: Vec<Block>,
    /// How many bytes of it are used.
    pub bytes: usize,
    /// The arrays beside it.
    pub arrays: Vec<MessageArray>,
}

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
        let words = &mut bytemuck::cast_slice_mut(&mut message.blocks[HEADER_BLOCKS..])
            [..front / size_of::<u32>()];
        words.fill(0);
        words[0] = priority.bits();
        words[1..=rest.len()].copy_from_slice(rest);
        message
    }

    /// A message with this header and a payload of so many bytes, whose content is arbitrary, and
    /// the priority and the arrays of this one.
    #[must_use]
    pub fn resized(&self, header: ActorHeader, payload: usize) -> ActorMessage {
        let front = &self.bytes()[HEADER_BYTES..self.payload_begin()];
        let mut message = ActorMessage::with_bytes(HEADER_BYTES + front.len() + payload);
        message.bytes_mut()[HEADER_BYTES..][..front.len()].copy_from_slice(front);
        *message.header_mut() = header;
        message.with_arrays(self.arrays().to_vec())
    }

    /// Makes the payload longer by these bytes.
    pub fn append(&mut self, bytes: &[u8]) {
        let before = self.bytes;
        let all = before + bytes.len();
        if all > size_of_val(&self.blocks[..]) {
            let mut longer = ActorMessage::with_bytes(all);
            longer.bytes_mut()[..before].copy_from_slice(self.bytes());
            longer.arrays = self.arrays.take();
            *self = longer;
        }
        self.bytes = all;
        self.bytes_mut()[before..].copy_from_slice(bytes);
    }

    /// Memory for a message of so many bytes in all, which is about to arrive; its content is
    /// arbitrary.
    ///
    /// # Panics
    /// If that is less than a header.
    #[must_use]
    pub fn with_bytes(bytes: usize) -> ActorMessage {
        assert!(bytes >= HEADER_BYTES, "a message begins with its header");
        ActorMessage { blocks: pool::take(bytes), bytes, arrays: None }
    }

    /// The parts of which [`ActorMessage::from_parts`] makes the message again.
    #[must_use]
    pub fn into_parts(mut self) -> MessageParts {
        let (blocks, arrays) = (std::mem::take(&mut self.blocks), self.arrays.take());
        MessageParts { blocks, bytes: self.bytes, arrays: arrays.map_or_else(Vec::new, |all| *all) }
    }

    /// The message that [`ActorMessage::into_parts`] has taken apart.
    ///
    /// # Panics
    /// If the bytes are less than a header, or more than the memory.
    #[must_use]
    pub fn from_parts(MessageParts { blocks, bytes, arrays }: MessageParts) -> ActorMessage {
        assert!((HEADER_BYTES..=blocks.len() * size_of::<Block>()).contains(&bytes));
        ActorMessage { blocks, bytes, arrays: None }.with_arrays(arrays)
    }

    /// All bytes that are sent: header, payload and arrays.
    #[must_use]
    pub fn sent_bytes(&self) -> usize {
        self.bytes + self.arrays().iter().map(|array| array.bytes().len()).sum::<usize>()
    }

    /// The arrays beside the payload.
    #[must_use]
    pub fn arrays(&self) -> &[MessageArray] {
        self.arrays.as_ref().map_or(&[], |arrays| arrays)
    }

    /// The message with these arrays instead of its own.
    #[must_use]
    pub fn with_arrays(mut self, arrays: Vec<MessageArray>) -> ActorMessage {
        self.arrays = if arrays.is_empty() { None } else { Some(Box::new(arrays)) };
        self
    }

    /// A copy with another header, which says as much about the priority, and with the same arrays.
    #[must_use]
    pub fn copy(&self, header: ActorHeader) -> ActorMessage {
        let mut message = ActorMessage::with_bytes(self.bytes);
        message.bytes_mut()[HEADER_BYTES..].copy_from_slice(&self.bytes()[HEADER_BYTES..]);
        *message.header_mut() = header;
        message.with_arrays(self.arrays().to_vec())
    }

    /// All of it, as it is sent.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.blocks)[..self.bytes]
    }

    /// All of it, to be received into.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.blocks)[..self.bytes]
    }

    /// Its header.
    #[must_use]
    pub fn header(&self) -> &ActorHeader {
        &bytemuck::cast_slice(&self.blocks[..HEADER_BLOCKS])[0]
    }

    /// Its header, to be changed.
    pub fn header_mut(&mut self) -> &mut ActorHeader {
        &mut bytemuck::cast_slice_mut(&mut self.blocks[..HEADER_BLOCKS])[0]
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
        if self.header().flags & LONG_PRIORITY == 0 {
            return HEADER_BYTES;
        }
        let bits = self.front().first().copied().unwrap_or(0);
        self.bytes.min(HEADER_BYTES + front_bytes(bits))
    }

    /// What is in front of the payload or begins it.
    fn front(&self) -> &[u32] {
        bytemuck::cast_slice(&self.blocks[HEADER_BLOCKS..])
    }

    /// What follows the first 32 bits of its priority, and how many bits that has in all. An
    /// integer has 32.
    pub(crate) fn rest_of_priority(&self) -> (&[u32], u32) {
        if self.header().flags & LONG_PRIORITY == 0 {
            return (&[], 32);
        }
        let Some((bits, words)) = self.front().split_first() else { return (&[], 32) };
        let words = words.get(..bits.div_ceil(32).saturating_sub(1) as usize).unwrap_or(&[]);
        (words, *bits)
    }
}

impl Drop for ActorMessage {
    fn drop(&mut self) {
        pool::give(std::mem::take(&mut self.blocks));
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
