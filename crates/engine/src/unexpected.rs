//! The queue of unexpected messages: arrived, not yet matched. A receive or probe takes the oldest that matches.
//!
//! The oldest few lie in a [`Front`]; the others are linked in order of arrival and binned by every kind of pattern that
//! has been asked for so far (an exact-only program never pays for wildcard bins). Short payloads lie in the node, longer ones in
//! pooled buffers. Nodes are reused. Invariant: every message of the front is older than every binned one.

use towpath_base::copy;
use towpath_base::ids::PeerIndex;
use towpath_transport::{RegionKey, SHORT_BYTES};

use crate::bins::Bins;
use crate::buffers::Buffers;
use crate::matching::{Front, NONE, Pattern};

/// The bytes of a waiting message.
#[derive(Debug)]
pub(crate) enum Body {
    /// At most [`SHORT_BYTES`].
    Inline([u8; SHORT_BYTES]),
    /// Longer, from the pool.
    Heap(Vec<u8>),
    /// Still at the sender.
    Announced(RegionKey),
}

impl Body {
    /// Keeps a copy of an eager payload.
    ///
    /// # Safety
    /// `payload` must be readable for `length` bytes.
    #[inline]
    pub(crate) unsafe fn copy(payload: *const u8, length: usize, buffers: &mut Buffers) -> Body {
        if length > SHORT_BYTES {
            // SAFETY: handed through.
            return Body::Heap(unsafe { buffers.copy(payload, length) });
        }
        let mut bytes = [0; SHORT_BYTES];
        // SAFETY: the caller vouches for `payload`; the array holds `SHORT_BYTES`.
        unsafe { copy::row(payload, bytes.as_mut_ptr(), length) };
        Body::Inline(bytes)
    }

    /// First byte of an eager payload.
    pub(crate) fn pointer(&self) -> *const u8 {
        match self {
            Body::Inline(bytes) => bytes.as_ptr(),
            Body::Heap(bytes) => bytes.as_ptr(),
            Body::Announced(_) => std::ptr::null(),
        }
    }
}

/// An arrived message.
#[derive(Debug)]
pub(crate) struct Message {
    /// Context, source and tag.
    pub(crate) envelope: Pattern,
    /// Sender.
    pub(crate) from: PeerIndex,
    /// Sender's rank in the communicator.
    pub(crate) rank: u32,
    pub(crate) tag: i32,
    /// Number of the message in its pair.
    pub(crate) sequence: u64,
    /// Bytes of the message.
    pub(crate) length: u64,
    /// Sender's request that waits for an acknowledgement.
    pub(crate) acknowledge: Option<u64>,
    pub(crate) body: Body,
}

/// Where a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In the front.
    Front,
    /// In arrival order behind the front; links of the bins by kind.
    Binned { previous: u32, next: u32, links: [u32; 4] },
    /// Taken by a matched probe, waits for its receive.
    Extracted,
}

#[derive(Debug)]
struct Node {
    generation: u32,
    place: Place,
    order: u64,
    message: Option<Message>,
}

/// Unexpected messages; names are node indices.
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
    order: u64,
    nodes: Vec<Node>,
    free: Vec<u32>,
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
            order: 0,
            nodes: Vec::new(),
            free: Vec::new(),
            buffers: Buffers::default(),
        }
    }

    /// Appends a message.
    pub(crate) fn add(&mut self, message: Message) {
        self.count += 1;
        let envelope = message.envelope;
        let at = match self.free.pop() {
            Some(at) => {
                self.nodes[at as usize].message = Some(message);
                at
            }
            None => {
                self.nodes.push(Node { generation: 0, place: Place::Front, order: 0, message: Some(message) });
                self.nodes.len() as u32 - 1
            }
        };
        if self.head == NONE && self.front.push(envelope, at) {
            self.nodes[at as usize].place = Place::Front;
        } else {
            self.add_binned(at);
        }
    }

    fn add_binned(&mut self, at: u32) {
        self.order += 1;
        self.nodes[at as usize].order = self.order;
        self.nodes[at as usize].place = Place::Binned { previous: self.tail, next: NONE, links: [NONE; 4] };
        match self.tail {
            NONE => self.head = at,
            tail => *self.place(tail).1 = at,
        }
        self.tail = at;
        for kind in 0..4 {
            if self.active[kind] {
                self.bin(at, kind);
            }
        }
    }

    /// The neighbours in arrival order and the bin links of a binned node.
    fn place(&mut self, at: u32) -> (&mut u32, &mut u32, &mut [u32; 4]) {
        match &mut self.nodes[at as usize].place {
            Place::Binned { previous, next, links } => (previous, next, links),
            _ => unreachable!("only binned messages are linked"),
        }
    }

    fn bin(&mut self, at: u32, kind: usize) {
        let node = &self.nodes[at as usize];
        let Some(message) = &node.message else { return };
        let link = self.bins.append(kind, message.envelope.context, message.envelope.key, node.order, at);
        self.place(at).2[kind] = link;
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
                at = *self.place(at).1;
            }
        }
        self.bins.oldest(kind, wanted.context, wanted.key).map(|found| self.bins.value(found.1))
    }

    /// The message with this number of its pair, if it waits.
    pub(crate) fn find_sequence(&self, from: PeerIndex, sequence: u64) -> Option<u32> {
        self.waiting().find(|at| self.peek(*at).is_some_and(|m| m.from == from && m.sequence == sequence))
    }

    /// All waiting messages in order of arrival.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = u32> + '_ {
        let next = |at: &u32| match self.nodes[*at as usize].place {
            Place::Binned { next, .. } if next != NONE => Some(next),
            _ => None,
        };
        let first = (self.head != NONE).then_some(self.head);
        self.front.values().chain(std::iter::successors(first, next))
    }

    /// A message by its node.
    pub(crate) fn peek(&self, at: u32) -> Option<&Message> {
        self.nodes.get(at as usize)?.message.as_ref()
    }

    /// Takes a message out of the queue but keeps its node, for a matched probe. Returns the node's generation.
    pub(crate) fn extract(&mut self, at: u32) -> u32 {
        match std::mem::replace(&mut self.nodes[at as usize].place, Place::Extracted) {
            Place::Front => {
                self.count -= 1;
                if let Some(position) = self.front.position(at) {
                    self.front.remove(position);
                }
            }
            Place::Binned { previous, next, links } => {
                self.count -= 1;
                match previous {
                    NONE => self.head = next,
                    previous => *self.place(previous).1 = next,
                }
                match next {
                    NONE => self.tail = previous,
                    next => *self.place(next).0 = previous,
                }
                for link in links.into_iter().filter(|link| *link != NONE) {
                    self.bins.remove(link);
                }
            }
            Place::Extracted => {}
        }
        self.nodes[at as usize].generation
    }

    /// Takes a waiting message out.
    #[inline]
    pub(crate) fn take(&mut self, at: u32) -> Option<Message> {
        self.extract(at);
        self.release(at)
    }

    /// Takes the message of an extracted node; `None` when the name is stale.
    pub(crate) fn take_extracted(&mut self, at: u32, generation: u32) -> Option<Message> {
        let node = self.nodes.get(at as usize)?;
        if node.generation != generation || node.place != Place::Extracted {
            return None;
        }
        self.release(at)
    }

    fn release(&mut self, at: u32) -> Option<Message> {
        let node = &mut self.nodes[at as usize];
        let message = node.message.take()?;
        node.generation = node.generation.wrapping_add(1);
        self.free.push(at);
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching::FRONT;
    use crate::protocol::MESSAGE_OVERHEAD;
    use proptest::prelude::*;
    use towpath_base::ids::ContextId;

    #[derive(Clone, Debug)]
    enum Event {
        Arrive(u64, u32, i32),
        Receive(u64, Option<u32>, Option<i32>),
        Cancel(usize),
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            4 => (0..2u64, 0..3u32, 0..3i32).prop_map(|(c, s, t)| Event::Arrive(c, s, t)),
            3 => (0..2u64, prop::option::weighted(0.6, 0..3u32), prop::option::weighted(0.6, 0..3i32))
                .prop_map(|(c, s, t)| Event::Receive(c, s, t)),
            1 => (0..64usize).prop_map(Event::Cancel),
        ]
    }

    fn message(from: u32, tag: i32, context: u64, sequence: u64) -> Message {
        let envelope = Pattern::message(PeerIndex(from), &[context, u64::from(tag as u32)]);
        let body = Body::Inline([0; SHORT_BYTES]);
        Message { envelope, from: PeerIndex(from), rank: from, tag, sequence, length: 0, acknowledge: None, body }
    }

    proptest! {
        #[test]
        fn the_oldest_match_is_taken(limit in prop_oneof![Just(3usize), Just(64)], events in prop::collection::vec(event(), 1..300)) {
            let mut queue = Unexpected::new(limit);
            let mut naive: Vec<(Pattern, u32, u64)> = Vec::new();
            for (number, event) in events.into_iter().enumerate() {
                match event {
                    Event::Arrive(context, from, tag) => {
                        let message = message(from, tag, context, number as u64);
                        naive.push((message.envelope, from, number as u64));
                        queue.add(message);
                    }
                    Event::Receive(context, from, tag) => {
                        let wanted = Pattern::receive(ContextId(context), from.map(PeerIndex), tag);
                        let expected = naive.iter().position(|e| e.0.matches(&wanted)).map(|i| naive.remove(i).2);
                        let found = queue.find(&wanted).and_then(|at| queue.take(at)).map(|m| m.sequence);
                        prop_assert_eq!(found, expected);
                    }
                    Event::Cancel(which) if !naive.is_empty() => {
                        let (_, from, sequence) = naive.remove(which % naive.len());
                        let at = queue.find_sequence(PeerIndex(from), sequence).unwrap();
                        prop_assert_eq!(queue.take(at).map(|m| m.sequence), Some(sequence));
                    }
                    Event::Cancel(_) => {}
                }
                prop_assert_eq!((queue.waiting().count(), queue.count), (naive.len(), naive.len()));
            }
        }
    }

    #[test]
    fn an_extracted_message_is_taken_once() {
        let mut queue = Unexpected::new(FRONT);
        queue.add(message(1, 2, 3, 4));
        let wanted = Pattern::receive(ContextId(3), None, None);
        let at = queue.find(&wanted).unwrap();
        let generation = queue.extract(at);
        assert_eq!(queue.find(&wanted), None);
        assert!(queue.take_extracted(at, generation).is_some());
        assert!(queue.take_extracted(at, generation).is_none());
    }

    #[test]
    fn the_overhead_covers_a_node() {
        assert!(size_of::<Node>() + size_of::<u32>() <= MESSAGE_OVERHEAD, "{}", size_of::<Node>());
    }
}
