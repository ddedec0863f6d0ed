//! The queue of unexpected messages, which have arrived but are not yet matched. A receive or probe
//! takes the oldest one that matches.
//!
//! The oldest few messages are in a [`Front`]. The others are linked in order of arrival, and
//! binned by every kind of pattern that has been searched for so far, so a program that uses no
//! wildcards never pays for wildcard bins. A message occupies a node of 56 bytes, which holds up to
//! eight bytes of payload; a longer payload has a buffer. Invariant: every message in the front is
//! older than every binned one.

mod fetch;
mod node;
#[cfg(test)]
mod tests;

use towpath_base::copy;
use towpath_base::ids::{ContextId, PeerIndex};
use towpath_transport::RegionKey;

use crate::bins::{BinLinks, Bins};
use crate::buffers::{MessageBuffer, MessageBuffers};
use crate::matching::{Front, NONE, Pattern};
use crate::protocol;
use crate::slab::PageSlab;
use node::{ANNOUNCED_WORDS, Column, INLINE_BYTES, Node, NodeContent, NodePlace, Nodes};

/// The payload of a message that was taken from the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MessageBytes {
    /// At most `INLINE_BYTES` bytes.
    Inline([u8; INLINE_BYTES]),
    /// A longer payload: starts at offset `skip` of a buffer that the owner of this value must
    /// free.
    Buffered { buffer: MessageBuffer, skip: usize },
    /// Still at the sender.
    Announced(RegionKey),
    /// Being fetched into a buffer by this request.
    Fetching(u32),
}

impl MessageBytes {
    /// First byte of an eager payload.
    pub(crate) fn pointer(&self) -> *const u8 {
        match self {
            MessageBytes::Inline(bytes) => bytes.as_ptr(),
            // SAFETY: the buffer begins with `skip` bytes that precede the message.
            MessageBytes::Buffered { buffer, skip } => unsafe { buffer.pointer.add(*skip) },
            MessageBytes::Announced(_) | MessageBytes::Fetching(_) => std::ptr::null(),
        }
    }
}

/// A message that was taken from the queue.
#[derive(Debug)]
pub(crate) struct UnexpectedMessage {
    /// Sender.
    pub(crate) from: PeerIndex,
    /// Sender's rank in the communicator; for a message of [`Messages`](crate::messages::Messages),
    /// its immediate data.
    pub(crate) rank: u32,
    pub(crate) tag: i32,
    /// Length of the message in bytes.
    pub(crate) length: u64,
    /// The sender's request that waits for an acknowledgement.
    pub(crate) acknowledge: Option<u64>,
    pub(crate) body: MessageBytes,
}

/// What a probe sees of an unexpected message: sender, sender's rank, tag, and length in bytes.
pub(crate) type Seen = (PeerIndex, u32, i32, u64);

/// Unexpected messages, identified by node numbers.
#[derive(Debug)]
pub(crate) struct Unexpected {
    /// Messages in the queue.
    count: usize,
    front: Front,
    head: u32,
    tail: u32,
    /// Kinds that are binned.
    active: [bool; 4],
    bins: Bins,
    nodes: Nodes,
    /// Links of the wildcard kinds, by node.
    wild: [Vec<BinLinks>; 3],
    /// Matched probes so far.
    probes: u16,
    pub(crate) buffers: MessageBuffers,
}

impl Unexpected {
    /// Creates an empty queue whose front takes at most `limit` messages.
    pub(crate) fn new(limit: usize) -> Unexpected {
        Unexpected {
            count: 0,
            front: Front::new(limit),
            head: NONE,
            tail: NONE,
            active: [false; 4],
            bins: Bins::default(),
            nodes: Nodes(PageSlab::new(size_of::<Node>())),
            wild: Default::default(),
            probes: 0,
            buffers: MessageBuffers::default(),
        }
    }

    /// Appends an eager message with a copy of its payload. For a synchronous send, `acknowledge`
    /// is the sender's request, which is stored before the payload.
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
            // SAFETY: `payload` is readable for `length` bytes (this function's contract).
            unsafe { self.append(envelope, rank, sequence, NodeContent::Eager, payload, length) };
            return;
        };
        let buffer = self.buffers.add(length + protocol::REQUEST_BYTES);
        // SAFETY: the buffer has room for the request and `length` bytes and is aligned to 8 bytes;
        // `payload` is readable for `length` bytes (this function's contract).
        unsafe {
            buffer.pointer.cast::<u64>().write(request);
            copy::contiguous(payload, buffer.pointer.add(protocol::REQUEST_BYTES), length);
        }
        let at = self.node(
            envelope,
            rank,
            sequence,
            NodeContent::Synchronous,
            length + protocol::REQUEST_BYTES,
        );
        self.nodes.get_mut(at).set_numbers(buffer.slot(), 0);
        self.enqueue(envelope, at);
    }

    /// Appends an announced message: its region key and length. `may_fetch` means that it may be
    /// fetched before a receive matches it. Returns the message's node.
    pub(crate) fn add_announced(
        &mut self,
        envelope: &Pattern,
        rank: u32,
        sequence: u64,
        words: [u64; ANNOUNCED_WORDS],
        may_fetch: bool,
    ) -> u32 {
        let content = if may_fetch { NodeContent::Fetchable } else { NodeContent::Announced };
        // SAFETY: `words` is a parameter, readable for its size.
        unsafe {
            self.append(
                envelope,
                rank,
                sequence,
                content,
                words.as_ptr().cast(),
                size_of_val(&words),
            )
        }
    }

    /// # Safety
    /// `bytes` must be readable for `length` bytes.
    unsafe fn append(
        &mut self,
        envelope: &Pattern,
        rank: u32,
        sequence: u64,
        content: NodeContent,
        bytes: *const u8,
        length: usize,
    ) -> u32 {
        let at = self.node(envelope, rank, sequence, content, length);
        let node = self.nodes.get_mut(at);
        if length <= INLINE_BYTES {
            // SAFETY: `bytes` is readable for `length` bytes (this function's contract), and
            // `node.payload` has room for them.
            unsafe { copy::contiguous(bytes, node.payload.as_mut_ptr(), length) };
        } else {
            // SAFETY: `bytes` is readable for `length` bytes (this function's contract).
            let buffer = unsafe { self.buffers.copy(bytes, length) };
            node.set_numbers(buffer.slot(), 0);
        }
        self.enqueue(envelope, at);
        at
    }

    /// Allocates a node; the payload is not set.
    fn node(
        &mut self,
        envelope: &Pattern,
        rank: u32,
        sequence: u64,
        content: NodeContent,
        length: usize,
    ) -> u32 {
        self.nodes.add(Node {
            context: envelope.context,
            key: envelope.key,
            rank,
            sequence: sequence as u32,
            length: u32::try_from(length).expect("an eager message is shorter than 4 GiB"),
            generation: 0,
            content,
            place: NodePlace::Front,
            payload: [0; INLINE_BYTES],
            arrival: BinLinks::NONE,
            exact: BinLinks::NONE,
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
        node.place = NodePlace::Binned;
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

    /// True if the queue is empty.
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

    /// The message with this sequence number of its pair, if it is in the queue.
    pub(crate) fn find_sequence(&self, from: PeerIndex, sequence: u64) -> Option<u32> {
        self.waiting().find(|at| self.is_message(*at, from, sequence as u32))
    }

    fn is_message(&self, at: u32, from: PeerIndex, sequence: u32) -> bool {
        let node = self.nodes.get(at);
        node.pattern().source() == from && node.sequence == sequence
    }

    /// All messages in order of arrival.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = u32> + '_ {
        let next = |at: &u32| Some(self.nodes.get(*at).arrival.next).filter(|next| *next != NONE);
        let first = (self.head != NONE).then_some(self.head);
        self.front.values().chain(std::iter::successors(first, next))
    }

    /// See [`Messages::find_unmatched`](crate::messages::Messages::find_unmatched). Looks at all
    /// messages.
    pub(crate) fn find_unmatched(
        &self,
        context: ContextId,
        wanted: &dyn Fn(i32, u32) -> bool,
    ) -> Option<(PeerIndex, u32)> {
        let mut senders = Vec::new();
        let mut is_first = |from: PeerIndex| {
            let is_new = !senders.contains(&from);
            if is_new {
                senders.push(from);
            }
            is_new
        };
        self.waiting()
            .map(|at| self.nodes.get(at))
            .filter(|node| node.context == context.0)
            .filter(|node| is_first(node.pattern().source()))
            .find(|node| wanted(node.pattern().tag(), node.rank))
            .map(|node| (node.pattern().source(), node.rank))
    }

    /// What a probe sees of a message.
    pub(crate) fn see(&self, at: u32) -> Seen {
        let node = self.nodes.get(at);
        let length = match node.content {
            NodeContent::Announced | NodeContent::Fetchable => self.announced(node)[2],
            NodeContent::Synchronous => u64::from(node.length) - protocol::REQUEST_BYTES as u64,
            _ => u64::from(node.length),
        };
        (node.pattern().source(), node.rank, node.pattern().tag(), length)
    }

    /// True if the bytes of a message have arrived.
    pub(crate) fn is_here(&self, at: u32) -> bool {
        matches!(
            self.nodes.get(at).content,
            NodeContent::Eager | NodeContent::Synchronous | NodeContent::Fetched
        )
    }

    /// True if the sender of a message has been told, or soon will be, that the message is
    /// complete.
    pub(crate) fn is_through(&self, at: u32) -> bool {
        matches!(self.nodes.get(at).content, NodeContent::Fetching | NodeContent::Fetched)
    }

    /// True if a message belongs to `context` and its sender does not wait for a receive.
    pub(crate) fn is_unwanted(&self, at: u32, context: u64) -> bool {
        let node = self.nodes.get(at);
        node.context == context
            && !matches!(node.content, NodeContent::Synchronous | NodeContent::Announced)
    }

    fn announced(&self, node: &Node) -> [u64; ANNOUNCED_WORDS] {
        let buffer = self.buffers.at(node.number(0), node.length as usize);
        // SAFETY: the node holds an announcement, so `buffer` has three initialized words and is
        // aligned to 8 bytes.
        unsafe { buffer.pointer.cast::<[u64; ANNOUNCED_WORDS]>().read() }
    }

    /// Removes a message from the queue but keeps its node, for a matched probe. Returns the node's
    /// generation.
    pub(crate) fn extract(&mut self, at: u32) -> u16 {
        let place = self.nodes.get(at).place;
        match place {
            NodePlace::Front => {
                if let Some(position) = self.front.position(at) {
                    self.front.remove(position);
                }
            }
            NodePlace::Binned => self.unlink(at),
            NodePlace::Extracted | NodePlace::Free => return self.nodes.get(at).generation,
        }
        self.probes = self.probes.wrapping_add(1);
        let (place, generation) = (NodePlace::Extracted, self.probes);
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

    /// Frees the memory that only long queues need. The queue must be empty.
    fn give_back(&mut self) {
        if self.active != [false; 4] {
            self.active = [false; 4];
            self.wild = Default::default();
            self.bins.shrink();
        }
    }

    /// Removes a message from the queue and frees its node.
    #[inline]
    pub(crate) fn take(&mut self, at: u32) -> UnexpectedMessage {
        self.extract(at);
        self.release(at)
    }

    /// Takes the message of an extracted node; `None` if node or generation is stale.
    pub(crate) fn take_extracted(&mut self, at: u32, generation: u16) -> Option<UnexpectedMessage> {
        if !self.nodes.0.was_given_out(at) {
            return None;
        }
        let node = self.nodes.get(at);
        let named = node.generation == generation && node.place == NodePlace::Extracted;
        named.then(|| self.release(at))
    }

    fn release(&mut self, at: u32) -> UnexpectedMessage {
        let node = self.nodes.get(at);
        let pattern = node.pattern();
        let mut length = u64::from(node.length);
        let mut acknowledge = None;
        let body = match node.content {
            NodeContent::Eager | NodeContent::Fetched if length <= INLINE_BYTES as u64 => {
                MessageBytes::Inline(node.payload)
            }
            NodeContent::Eager | NodeContent::Fetched => MessageBytes::Buffered {
                buffer: self.buffers.at(node.number(0), length as usize),
                skip: 0,
            },
            NodeContent::Synchronous => {
                let buffer = self.buffers.at(node.number(0), length as usize);
                // SAFETY: the buffer begins with the sender's request and is aligned to 8 bytes.
                acknowledge = Some(unsafe { buffer.pointer.cast::<u64>().read() });
                length -= protocol::REQUEST_BYTES as u64;
                MessageBytes::Buffered { buffer, skip: protocol::REQUEST_BYTES }
            }
            NodeContent::Announced | NodeContent::Fetchable => {
                let words = self.announced(node);
                let buffer = self.buffers.at(node.number(0), length as usize);
                self.buffers.remove(buffer);
                length = words[2];
                MessageBytes::Announced(RegionKey([words[0], words[1]]))
            }
            NodeContent::Fetching => MessageBytes::Fetching(node.number(1)),
        };
        let message = UnexpectedMessage {
            from: pattern.source(),
            rank: node.rank,
            tag: pattern.tag(),
            length,
            acknowledge,
            body,
        };
        self.nodes.get_mut(at).place = NodePlace::Free;
        self.nodes.0.remove(at);
        message
    }
}
