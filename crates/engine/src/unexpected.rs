//! The queue of unexpected messages: arrived, not yet matched. A receive or probe takes the oldest
//! that matches.
//!
//! The oldest few lie in a [`Front`]; the others are linked in order of arrival and binned by every
//! kind of pattern that has been asked for so far (an exact-only program never pays for wildcard
//! bins). A message takes a node of 56 bytes, which holds up to eight bytes of payload, and a
//! buffer for more. Invariant: every message of the front is older than every binned one.

mod fetch;
mod node;
#[cfg(test)]
mod tests;

use towpath_base::copy;
use towpath_base::ids::PeerIndex;
use towpath_transport::RegionKey;

use crate::bins::{Bins, Neighbors};
use crate::buffers::{Buffer, Buffers};
use crate::matching::{Front, NONE, Pattern};
use crate::protocol;
use crate::slab::Slab;
use node::{ANNOUNCED_WORDS, Column, Content, INLINE_BYTES, Node, Nodes, Place};

/// The bytes of a message that was taken out of the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    /// A few bytes.
    Inline([u8; INLINE_BYTES]),
    /// More, from `skip` on in a buffer that is to be given back.
    Buffered { buffer: Buffer, skip: usize },
    /// Still at the sender.
    Announced(RegionKey),
    /// On their way into a buffer of this request.
    Fetching(u32),
}

impl Body {
    /// First byte of an eager payload.
    pub(crate) fn pointer(&self) -> *const u8 {
        match self {
            Body::Inline(bytes) => bytes.as_ptr(),
            // SAFETY: what is skipped is part of the buffer.
            Body::Buffered { buffer, skip } => unsafe { buffer.pointer.add(*skip) },
            Body::Announced(_) | Body::Fetching(_) => std::ptr::null(),
        }
    }
}

/// A message that was taken out of the queue.
#[derive(Debug)]
pub(crate) struct Message {
    /// Sender.
    pub(crate) from: PeerIndex,
    /// Sender's rank in the communicator.
    pub(crate) rank: u32,
    pub(crate) tag: i32,
    /// Bytes of the message.
    pub(crate) length: u64,
    /// Sender's request that waits for an acknowledgement.
    pub(crate) acknowledge: Option<u64>,
    pub(crate) body: Body,
}

/// What a probe sees of a waiting message: sender, its rank and the tag, and the bytes.
pub(crate) type Seen = (PeerIndex, u32, i32, u64);

/// Unexpected messages; names are node numbers.
#[derive(Debug)]
pub(crate) struct Unexpected {
    /// Messages that wait.
    count: usize,
    front: Front,
    head: u32,
    tail: u32,
    /// Kinds that are binned.
    active: [bool; 4],
    bins: Bins,
    nodes: Nodes,
    /// Links of the kinds with wildcards, by node.
    wild: [Vec<Neighbors>; 3],
    /// Matched probes so far.
    probes: u16,
    pub(crate) buffers: Buffers,
}

impl Unexpected {
    /// An empty queue whose front takes at most `limit` messages.
    pub(crate) fn new(limit: usize) -> Unexpected {
        Unexpected {
            count: 0,
            front: Front::new(limit),
            head: NONE,
            tail: NONE,
            active: [false; 4],
            bins: Bins::default(),
            nodes: Nodes(Slab::new(size_of::<Node>())),
            wild: Default::default(),
            probes: 0,
            buffers: Buffers::default(),
        }
    }

    /// Appends an eager message with a copy of its payload, or with the request of its sender in
    /// front of it.
    ///
    /// # Safety
    /// `payload` must be readable for `length` bytes.
    pub(crate) unsafe fn add_eager(
        &mut self,
        envelope: &Pattern,
        rank: u32,
        sequence: u64,
        (payload, length): (*const u8, usize),
        acknowledge: Option<u64>,
    ) {
        let Some(request) = acknowledge else {
            // SAFETY: handed through.
            unsafe { self.append(envelope, rank, sequence, Content::Eager, payload, length) };
            return;
        };
        let buffer = self.buffers.add(length + protocol::REQUEST_BYTES);
        // SAFETY: the buffer holds the request and the message; the caller vouches for `payload`.
        unsafe {
            buffer.pointer.cast::<u64>().write(request);
            copy::row(payload, buffer.pointer.add(protocol::REQUEST_BYTES), length);
        }
        let at = self.node(envelope, rank, sequence, Content::Synchronous, length + protocol::REQUEST_BYTES);
        self.nodes.get_mut(at).set_numbers(buffer.slot(), 0);
        self.enqueue(envelope, at);
    }

    /// Appends an announced message: its region and length. `postponed` says that the sender waits
    /// for room rather than for a receive. Returns its node.
    pub(crate) fn add_announced(
        &mut self,
        envelope: &Pattern,
        rank: u32,
        sequence: u64,
        words: [u64; ANNOUNCED_WORDS],
        postponed: bool,
    ) -> u32 {
        let content = if postponed { Content::Postponed } else { Content::Announced };
        // SAFETY: the words are a parameter.
        unsafe { self.append(envelope, rank, sequence, content, words.as_ptr().cast(), size_of_val(&words)) }
    }

    /// # Safety
    /// `bytes` must be readable for `length` bytes.
    unsafe fn append(
        &mut self,
        envelope: &Pattern,
        rank: u32,
        sequence: u64,
        content: Content,
        bytes: *const u8,
        length: usize,
    ) -> u32 {
        let at = self.node(envelope, rank, sequence, content, length);
        let node = self.nodes.get_mut(at);
        if length <= INLINE_BYTES {
            // SAFETY: the caller vouches for `bytes`; the node has room for eight.
            unsafe { copy::row(bytes, node.payload.as_mut_ptr(), length) };
        } else {
            // SAFETY: handed through.
            let buffer = unsafe { self.buffers.copy(bytes, length) };
            node.set_numbers(buffer.slot(), 0);
        }
        self.enqueue(envelope, at);
        at
    }

    /// A node without payload.
    fn node(&mut self, envelope: &Pattern, rank: u32, sequence: u64, content: Content, length: usize) -> u32 {
        self.nodes.add(Node {
            context: envelope.context,
            key: envelope.key,
            rank,
            sequence: sequence as u32,
            length: u32::try_from(length).expect("an eager message is shorter than 4 GiB"),
            generation: 0,
            content,
            place: Place::Front,
            payload: [0; INLINE_BYTES],
            arrival: Neighbors::NONE,
            exact: Neighbors::NONE,
        })
    }

    fn enqueue(&mut self, envelope: &Pattern, at: u32) {
        self.count += 1;
        if self.head != NONE || !self.front.push(*envelope, at) {
            self.add_binned(at);
        }
    }

    fn add_binned(&mut self, at: u32) {
        let tail = self.tail;
        let node = self.nodes.get_mut(at);
        node.place = Place::Binned;
        node.arrival.previous = tail;
        match tail {
            NONE => self.head = at,
            tail => self.nodes.get_mut(tail).arrival.next = at,
        }
        self.tail = at;
        for kind in 0..4 {
            if self.active[kind] {
                self.bin(at, kind);
            }
        }
    }

    fn bin(&mut self, at: u32, kind: usize) {
        let Pattern { context, key, .. } = self.nodes.get(at).pattern();
        let (bins, mut links) = self.column(kind);
        bins.append(&mut links, kind, context, key, at);
    }

    fn column(&mut self, kind: usize) -> (&mut Bins, Column<'_>) {
        let wild = kind.checked_sub(1).map(|column| &mut self.wild[column]);
        (&mut self.bins, Column { nodes: &mut self.nodes, wild })
    }

    /// Whether no message waits.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The oldest message that matches.
    #[inline]
    pub(crate) fn find(&mut self, wanted: &Pattern) -> Option<u32> {
        if self.count == 0 { None } else { self.search(*wanted) }
    }

    #[inline(never)]
    fn search(&mut self, wanted: Pattern) -> Option<u32> {
        if let Some(position) = self.front.find(&wanted) {
            return Some(self.front.value(position));
        }
        if self.head == NONE { None } else { self.find_binned(&wanted) }
    }

    #[cold]
    fn find_binned(&mut self, wanted: &Pattern) -> Option<u32> {
        let kind = wanted.kind();
        if !self.active[kind] {
            self.active[kind] = true;
            let mut at = self.head;
            while at != NONE {
                self.bin(at, kind);
                at = self.nodes.get(at).arrival.next;
            }
        }
        self.bins.oldest(kind, wanted.context, wanted.key)
    }

    /// The message with this number of its pair, if it waits.
    pub(crate) fn find_sequence(&self, from: PeerIndex, sequence: u64) -> Option<u32> {
        self.waiting().find(|at| self.is_message(*at, from, sequence as u32))
    }

    fn is_message(&self, at: u32, from: PeerIndex, sequence: u32) -> bool {
        let node = self.nodes.get(at);
        node.pattern().source() == from && node.sequence == sequence
    }

    /// All waiting messages in order of arrival.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = u32> + '_ {
        let next = |at: &u32| Some(self.nodes.get(*at).arrival.next).filter(|next| *next != NONE);
        let first = (self.head != NONE).then_some(self.head);
        self.front.values().chain(std::iter::successors(first, next))
    }

    /// What a probe sees of a waiting message.
    pub(crate) fn see(&self, at: u32) -> Seen {
        let node = self.nodes.get(at);
        let length = match node.content {
            Content::Announced | Content::Postponed => self.announced(node)[2],
            Content::Synchronous => u64::from(node.length) - protocol::REQUEST_BYTES as u64,
            _ => u64::from(node.length),
        };
        (node.pattern().source(), node.rank, node.pattern().tag(), length)
    }

    /// Whether the bytes of a waiting message are here.
    pub(crate) fn is_here(&self, at: u32) -> bool {
        matches!(self.nodes.get(at).content, Content::Eager | Content::Synchronous | Content::Fetched)
    }

    /// Whether the sender of a waiting message has been told, or soon is, that the message is
    /// through.
    pub(crate) fn is_through(&self, at: u32) -> bool {
        matches!(self.nodes.get(at).content, Content::Fetching | Content::Fetched)
    }

    /// Whether a waiting message belongs to a context and its sender does not wait for a receive.
    pub(crate) fn is_unwanted(&self, at: u32, context: u64) -> bool {
        let node = self.nodes.get(at);
        node.context == context && !matches!(node.content, Content::Synchronous | Content::Announced)
    }

    fn announced(&self, node: &Node) -> [u64; ANNOUNCED_WORDS] {
        let buffer = self.buffers.at(node.number(0), node.length as usize);
        // SAFETY: the node holds an announcement, which is three words in a buffer aligned to 8
        // bytes.
        unsafe { buffer.pointer.cast::<[u64; ANNOUNCED_WORDS]>().read() }
    }

    /// Takes a message out of the queue but keeps its node, for a matched probe. Returns the node's
    /// generation.
    pub(crate) fn extract(&mut self, at: u32) -> u16 {
        let place = self.nodes.get(at).place;
        match place {
            Place::Front => {
                if let Some(position) = self.front.position(at) {
                    self.front.remove(position);
                }
            }
            Place::Binned => self.unlink(at),
            Place::Extracted | Place::Free => return self.nodes.get(at).generation,
        }
        self.probes = self.probes.wrapping_add(1);
        let (place, generation) = (Place::Extracted, self.probes);
        let node = self.nodes.get_mut(at);
        (node.place, node.generation) = (place, generation);
        self.count -= 1;
        if self.count == 0 {
            self.give_back();
        }
        generation
    }

    fn unlink(&mut self, at: u32) {
        let Node { context, key, arrival, .. } = *self.nodes.get(at);
        match arrival.previous {
            NONE => self.head = arrival.next,
            previous => self.nodes.get_mut(previous).arrival.next = arrival.next,
        }
        match arrival.next {
            NONE => self.tail = arrival.previous,
            next => self.nodes.get_mut(next).arrival.previous = arrival.previous,
        }
        for kind in 0..4 {
            if self.active[kind] {
                let (bins, mut links) = self.column(kind);
                bins.remove(&mut links, kind, context, key, at);
            }
        }
    }

    /// Gives back what only many messages need, when there are none.
    fn give_back(&mut self) {
        if self.active != [false; 4] {
            self.active = [false; 4];
            self.wild = Default::default();
            self.bins.shrink();
        }
    }

    /// Takes a waiting message out.
    #[inline]
    pub(crate) fn take(&mut self, at: u32) -> Message {
        self.extract(at);
        self.release(at)
    }

    /// Takes the message of an extracted node; `None` when the name is stale.
    pub(crate) fn take_extracted(&mut self, at: u32, generation: u16) -> Option<Message> {
        if !self.nodes.0.was_given_out(at) {
            return None;
        }
        let node = self.nodes.get(at);
        let named = node.generation == generation && node.place == Place::Extracted;
        named.then(|| self.release(at))
    }

    fn release(&mut self, at: u32) -> Message {
        let node = self.nodes.get(at);
        let pattern = node.pattern();
        let mut length = u64::from(node.length);
        let mut acknowledge = None;
        let body = match node.content {
            Content::Eager | Content::Fetched if length <= INLINE_BYTES as u64 => Body::Inline(node.payload),
            Content::Eager | Content::Fetched => {
                Body::Buffered { buffer: self.buffers.at(node.number(0), length as usize), skip: 0 }
            }
            Content::Synchronous => {
                let buffer = self.buffers.at(node.number(0), length as usize);
                // SAFETY: the buffer begins with the sender's request and is aligned to 8 bytes.
                acknowledge = Some(unsafe { buffer.pointer.cast::<u64>().read() });
                length -= protocol::REQUEST_BYTES as u64;
                Body::Buffered { buffer, skip: protocol::REQUEST_BYTES }
            }
            Content::Announced | Content::Postponed => {
                let words = self.announced(node);
                let buffer = self.buffers.at(node.number(0), length as usize);
                self.buffers.remove(buffer);
                length = words[2];
                Body::Announced(RegionKey([words[0], words[1]]))
            }
            Content::Fetching => Body::Fetching(node.number(1)),
        };
        let message =
            Message { from: pattern.source(), rank: node.rank, tag: pattern.tag(), length, acknowledge, body };
        self.nodes.get_mut(at).place = Place::Free;
        self.nodes.0.remove(at);
        message
    }
}
