//! The header of a message: what it asks, and of whom.

use bytemuck::{Pod, Zeroable};

use crate::index::{Index, LONGEST};
use crate::pool::Block;

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
/// Flag: the array of an invocation is for a persistent channel, which `number` names.
pub const CHANNEL: u16 = 1024;

/// Place of an insertion that shall be at the home of its index.
pub const AT_HOME: u32 = u32::MAX;

/// What stands in front of the payload.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct ActorHeader {
    /// Smaller is more urgent. Of a longer one: its first 32 bits.
    pub priority: i32,
    /// The reference number, by which a chare finds the message that it expects. Of an arrival: how
    /// often the element has been ready for load balancing.
    pub reference: u32,
    /// Of a broadcast: its number. Of an arrival: the element's next reduction. Of insertions: how
    /// many barriers the asker has sent ([`crate::broadcast::InsertBarrier`]). To a section: which
    /// one of its root. For a persistent channel: which one of the rank.
    pub number: u32,
    /// Of insertions, arrivals and copies of broadcasts: how often elements of this index have
    /// migrated, with this time.
    pub migrations: u32,
    /// Of insertions: the rank that asks for the element. Of an arrival: its type.
    pub asker: u32,
    /// Of insertions: the rank where the element shall be, or [`AT_HOME`]. Of an arrival: how many
    /// broadcasts the element has had. To a section: its root.
    pub place: u32,
    /// The words of the index behind the first ones.
    more_words: [i32; LONGEST - FIRST_WORDS],
    kind: u8,
    index_length: u8,
    /// Of [`EXPEDITED`], [`PRIORITY`], [`COPY`], [`RESULT`], [`BARRIER`], [`ARRAYS`],
    /// [`SYNCHRONIZED`], [`SECTION`], [`JOIN`], [`LONG_PRIORITY`] and [`CHANNEL`].
    pub flags: u16,
    /// The entry method or constructor. Of an arrival: how often elements of this index had
    /// migrated when this one was constructed.
    pub entry: u32,
    /// The collection ([`crate::CollectionId`]).
    pub collection: u64,
    first_words: [i32; FIRST_WORDS],
}

const FIRST_WORDS: usize = 2;

/// Bytes at the beginning of a header that are zero in most messages, which are sent without them:
/// what a small message needs then fits into one cache line.
pub const PREFIX_BYTES: usize = std::mem::offset_of!(ActorHeader, kind);
/// Bytes in front of the payload: the payload is aligned as the message is.
pub const HEADER_BYTES: usize = size_of::<ActorHeader>();
pub(crate) const HEADER_BLOCKS: usize = HEADER_BYTES / size_of::<Block>();
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
    #[inline]
    #[must_use]
    pub fn kind(&self) -> Option<MessageKind> {
        MessageKind::of(self.kind)
    }

    /// Makes it one that asks for something else.
    pub fn set_kind(&mut self, kind: MessageKind) {
        self.kind = kind as u8;
    }

    /// The chare; an index without words in messages to no single one.
    #[inline]
    #[must_use]
    pub fn index(&self) -> Index {
        let ([first, second], [third, fourth, fifth, sixth]) = (self.first_words, self.more_words);
        Index::of([first, second, third, fourth, fifth, sixth], self.index_length)
            .unwrap_or_default()
    }

    /// Addresses it to a chare.
    #[inline]
    pub fn set_index(&mut self, index: &Index) {
        let ([first, second, more @ ..], length) = index.parts();
        (self.first_words, self.more_words, self.index_length) = ([first, second], more, length);
    }
}
