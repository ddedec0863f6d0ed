//! Arrays of messages on their way: short ones in the message, those in memory that both ranks map
//! as the place where they are, others as messages of their own.
//!
//! Behind the payload stand the bytes of the short ones, a descriptor of each array, and how many
//! there are.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use bytemuck::{Pod, Zeroable};

use towpath_actors::arrays::PooledArray;
use towpath_actors::message::ARRAYS;
use towpath_actors::{ActorMessage, ArrayMemory, MessageArray, MessageHandle};

use crate::shared::SharedMemory;
use crate::slots::SLOT_BYTES;

/// Arrays up to this length are copied into the message if it still fits into a slot: that costs
/// less than anything else.
const SHORT: usize = 4 << 10;

/// How an array travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArrayRoute {
    /// In the message, from this offset in what stands behind the payload.
    Inside(u64),
    /// As a message with this tag.
    Sent(i32),
    /// The same, and the receiving method says where it is to be.
    Posted(i32),
    /// Not at all: it is at this place in the shared memory, and the sender is told by this name
    /// when nobody reads it any more. The receiver may write to one that is given.
    Shared { offset: u64, name: u64, is_given: bool },
}

/// The same, as it is sent.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct ArrayDescriptor {
    route: u64,
    bytes: u64,
    place: u64,
    name: u64,
}

const INSIDE: u64 = 0;
const SENT: u64 = 1;
const SHARED: u64 = 2;
const GIVEN: u64 = 3;
const POSTED: u64 = 4;

impl ArrayDescriptor {
    fn new(route: ArrayRoute, bytes: usize) -> ArrayDescriptor {
        let bytes = bytes as u64;
        let tagged = |route, tag: i32| {
            let place = u64::from(tag.cast_unsigned());
            ArrayDescriptor { route, bytes, place, name: 0 }
        };
        match route {
            ArrayRoute::Inside(place) => ArrayDescriptor { route: INSIDE, bytes, place, name: 0 },
            ArrayRoute::Sent(tag) => tagged(SENT, tag),
            ArrayRoute::Posted(tag) => tagged(POSTED, tag),
            ArrayRoute::Shared { offset, name, is_given } => {
                let route = if is_given { GIVEN } else { SHARED };
                ArrayDescriptor { route, bytes, place: offset, name }
            }
        }
    }

    fn route(&self) -> Option<ArrayRoute> {
        Some(match self.route {
            INSIDE => ArrayRoute::Inside(self.place),
            SENT => ArrayRoute::Sent(i32::try_from(self.place).ok()?),
            POSTED => ArrayRoute::Posted(i32::try_from(self.place).ok()?),
            SHARED | GIVEN => ArrayRoute::Shared {
                offset: self.place,
                name: self.name,
                is_given: self.route == GIVEN,
            },
            _ => return None,
        })
    }
}

/// Tags of arrays, on the communicator of long messages.
const FIRST_TAG: i32 = 3;
const TAGS: u64 = 30_000;

/// How arrays travel beside a message of so many bytes, to a rank with which this memory is shared.
/// Their tags and names come from the count of arrays that were sent or lent.
pub(crate) fn routes(
    message: usize,
    arrays: &[MessageArray],
    shared: Option<&SharedMemory>,
    count: &mut u64,
) -> Vec<ArrayRoute> {
    let descriptors = size_of::<ArrayDescriptor>() * arrays.len();
    let mut inside = 0;
    let room = SLOT_BYTES.saturating_sub(message + descriptors + LAST);
    let tag = |count: u64| FIRST_TAG + (count % TAGS) as i32;
    let route = |array: &MessageArray| {
        if array.device().is_some() {
            *count += 1;
            return ArrayRoute::Posted(tag(*count));
        }
        let bytes = array.bytes();
        if bytes.len() <= SHORT && inside + bytes.len() <= room {
            let at = inside as u64;
            inside += bytes.len();
            return ArrayRoute::Inside(at);
        }
        *count += 1;
        match shared.and_then(|shared| shared.offset_of(bytes)) {
            Some(offset) => {
                // Then the receiver has the only reference to memory that nobody waits for.
                let is_given = Rc::strong_count(array) == 1 && !array.is_borrowed();
                ArrayRoute::Shared { offset, name: *count, is_given }
            }
            None => {
                let tag = tag(*count);
                if array.is_posted() { ArrayRoute::Posted(tag) } else { ArrayRoute::Sent(tag) }
            }
        }
    };
    arrays.iter().map(route).collect()
}

/// A message and its arrays, which it has no more unless others have the message too.
pub(crate) fn taken(message: MessageHandle) -> (MessageHandle, Vec<MessageArray>) {
    match message {
        MessageHandle::Owned(mut message) => {
            let arrays = message.take_arrays();
            (message.into(), arrays)
        }
        MessageHandle::Shared(message) => {
            let arrays = message.arrays().to_vec();
            (MessageHandle::Shared(message), arrays)
        }
    }
}

/// Bytes of the number of arrays, which stands last.
const LAST: usize = size_of::<u64>();

/// A message as it is sent, with what its receiver must know of its arrays.
pub(crate) fn described(
    message: &ActorMessage,
    arrays: &[MessageArray],
    routes: &[ArrayRoute],
) -> ActorMessage {
    let both = arrays.iter().zip(routes);
    let inside = both.clone().filter(|(_, route)| matches!(route, ArrayRoute::Inside(_)));
    let inside = inside.map(|(array, _)| array.bytes());
    let short: usize = inside.clone().map(<[u8]>::len).sum();
    let behind = short + routes.len() * size_of::<ArrayDescriptor>() + LAST;
    let mut header = *message.header();
    header.flags |= ARRAYS;
    let payload = message.payload();
    let mut described = message.resized(header, payload.len() + behind);
    let (into, mut rest) = described.payload_mut().split_at_mut(payload.len());
    into.copy_from_slice(payload);
    let mut append = |bytes: &[u8]| {
        let (into, behind) = std::mem::take(&mut rest).split_at_mut(bytes.len());
        into.copy_from_slice(bytes);
        rest = behind;
    };
    inside.for_each(&mut append);
    for (array, route) in both {
        append(bytemuck::bytes_of(&ArrayDescriptor::new(*route, array.length())));
    }
    append(&(routes.len() as u64).to_ne_bytes());
    described
}

/// An array of a message that has arrived.
#[derive(Debug)]
pub(crate) struct IncomingArray {
    pub(crate) route: ArrayRoute,
    pub(crate) bytes: usize,
    /// Those of an array in the message.
    pub(crate) memory: Option<PooledArray>,
}

/// Takes what stands behind the payload off a message; `None` if that makes no sense.
pub(crate) fn undescribed(mut message: ActorMessage) -> Option<(ActorMessage, Vec<IncomingArray>)> {
    let (behind, last) = message.payload().split_last_chunk::<LAST>()?;
    let count = usize::try_from(u64::from_ne_bytes(*last)).ok()?;
    let descriptors = count.checked_mul(size_of::<ArrayDescriptor>())?;
    let (behind, descriptors) = behind.split_at_checked(behind.len().checked_sub(descriptors)?)?;
    let descriptors = descriptors.chunks_exact(size_of::<ArrayDescriptor>());
    let routed = descriptors.map(|one| {
        let one: ArrayDescriptor = bytemuck::pod_read_unaligned(one);
        Some((one.route()?, usize::try_from(one.bytes).ok()?))
    });
    let payload = routed.clone().try_fold(behind.len(), |left, one| match one? {
        (ArrayRoute::Inside(_), bytes) => left.checked_sub(bytes),
        _ => Some(left),
    })?;
    let short = &behind[payload..];
    let incoming = |one: Option<(ArrayRoute, usize)>| {
        let (route, bytes) = one?;
        let memory = match route {
            ArrayRoute::Inside(at) => {
                let at = usize::try_from(at).ok()?;
                let short = short.get(at..at.checked_add(bytes)?)?;
                Some(PooledArray::of(short))
            }
            ArrayRoute::Sent(_) | ArrayRoute::Posted(_) | ArrayRoute::Shared { .. } => None,
        };
        Some(IncomingArray { route, bytes, memory })
    };
    let arrays: Vec<IncomingArray> = routed.map(incoming).collect::<Option<_>>()?;
    let mut header = *message.header();
    header.flags &= !ARRAYS;
    message.resize(payload);
    *message.header_mut() = header;
    Some((message, arrays))
}

/// Arrays of other ranks that nobody here reads any more: whose they are, and their names.
pub(crate) type ReleasedArrays = Rc<RefCell<Vec<(u32, u64)>>>;

/// An array of another rank, where it is.
pub(crate) struct ViewedArray {
    /// Shows the bytes as long as this exists.
    _shared: Rc<SharedMemory>,
    at: *const u8,
    bytes: usize,
    /// Where this rank may write to it, if nobody else reads it.
    given: Option<*mut u8>,
    owner: u32,
    name: u64,
    released: ReleasedArrays,
}

impl ViewedArray {
    /// An array at a place in the shared memory; `None` if that does not show so many bytes there.
    pub(crate) fn new(
        shared: &Rc<SharedMemory>,
        (offset, bytes): (u64, usize),
        is_given: bool,
        (owner, name): (u32, u64),
        released: &ReleasedArrays,
    ) -> Option<ViewedArray> {
        let at = shared.at(offset, bytes as u64)?;
        let given = if is_given { Some(shared.given_at(offset, bytes as u64)?) } else { None };
        let (shared, released) = (shared.clone(), released.clone());
        Some(ViewedArray { _shared: shared, at, bytes, given, owner, name, released })
    }
}

impl ArrayMemory for ViewedArray {
    fn bytes(&self) -> &[u8] {
        // SAFETY: the memory that this keeps shows so many bytes there. The owner keeps the array,
        // and leaves it as it is, until it gets the release that `drop` asks for.
        unsafe { std::slice::from_raw_parts(self.at, self.bytes) }
    }

    fn is_borrowed(&self) -> bool {
        self.given.is_none()
    }

    fn owned_bytes(&mut self) -> Option<&mut [u8]> {
        // SAFETY: as in `bytes`. This rank may write there, and nobody else looks at what was
        // given to it.
        self.given.map(|at| unsafe { std::slice::from_raw_parts_mut(at, self.bytes) })
    }
}

impl fmt::Debug for ViewedArray {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} bytes of rank {}", self.bytes, self.owner)
    }
}

impl Drop for ViewedArray {
    fn drop(&mut self) {
        self.released.borrow_mut().push((self.owner, self.name));
    }
}

#[cfg(test)]
mod tests {
    use towpath_actors::message::MessageKind;
    use towpath_actors::{ActorHeader, BitPriority};

    use super::*;

    fn message(payload: &[u8], arrays: &[usize]) -> ActorMessage {
        let header = ActorHeader::new(MessageKind::Invoke, 3, None, 4);
        let array = |(at, bytes): (usize, &usize)| Rc::new(vec![at as u8; *bytes]) as MessageArray;
        let arrays = arrays.iter().enumerate().map(array).collect();
        ActorMessage::of(header, payload).with_arrays(arrays)
    }

    fn routed(message: &ActorMessage) -> Vec<ArrayRoute> {
        routes(message.bytes().len(), message.arrays(), None, &mut 0)
    }

    #[test]
    fn what_is_described_is_found_again() {
        for arrays in [&[0, 5, 4096, 100_000, 17][..], &[9000], &[4000, 4000, 4000, 4000, 4000]] {
            let sent = message(b"payload", arrays);
            let wire = described(&sent, sent.arrays(), &routed(&sent));
            let wire = ActorMessage::of(*wire.header(), wire.payload());
            let (message, incoming) = undescribed(wire).unwrap();
            assert_eq!(message.payload(), b"payload");
            assert_eq!(message.header().flags, 0);
            assert_eq!(incoming.iter().map(|one| one.bytes).collect::<Vec<_>>(), arrays);
            for (at, one) in incoming.iter().enumerate() {
                if let ArrayRoute::Inside(_) = one.route {
                    let memory = one.memory.as_ref().unwrap();
                    assert_eq!(memory.bytes(), vec![at as u8; one.bytes]);
                }
            }
        }
    }

    #[test]
    fn a_priority_in_front_of_the_payload_stays_there() {
        let priority = BitPriority::new(&[5, 6, 7], 90).unwrap();
        let header = ActorHeader::new(MessageKind::Invoke, 3, None, 4);
        let mut sent = ActorMessage::prioritized(header, &priority, 7);
        sent.payload_mut().copy_from_slice(b"payload");
        let bytes = sent.bytes().to_vec();
        let sent = sent.with_arrays(vec![Rc::new(vec![1; 10])]);
        let (message, incoming) =
            undescribed(described(&sent, sent.arrays(), &routed(&sent))).unwrap();
        assert_eq!((message.bytes(), incoming.len()), (&bytes[..], 1));
    }

    #[test]
    fn short_arrays_travel_in_the_message_while_it_fits_into_a_slot() {
        let routes = routed(&message(&[0; 9000], &[4096, 4097, 4096]));
        assert_eq!(routes, [ArrayRoute::Inside(0), ArrayRoute::Sent(4), ArrayRoute::Sent(5)]);
    }

    #[test]
    fn descriptions_that_make_no_sense_do_no_harm() {
        let sent = message(b"x", &[3, 70_000]);
        let wire = described(&sent, sent.arrays(), &routed(&sent));
        let bytes = wire.payload();
        for cut in 0..bytes.len() {
            let header = *wire.header();
            let _ = undescribed(ActorMessage::of(header, &bytes[..cut]));
            let mut changed = bytes.to_vec();
            changed[cut] ^= 0xff;
            let _ = undescribed(ActorMessage::of(header, &changed));
        }
    }
}
