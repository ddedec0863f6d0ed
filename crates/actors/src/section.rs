//! Sections: subsets of a collection, to which messages can be sent and over which there can be
//! reductions.
//!
//! The rank that makes a section is its root. It tells all members that they belong to it, each by
//! a message that finds the member as every message does, and keeps multicasts until all have said
//! so. A multicast goes down a tree of the ranks where the root has last heard of members, with
//! their indexes. A rank that has one of these members no more sends the message after it, and
//! tells the root. So every member gets every multicast once.
//!
//! A member keeps the number of its next reduction over the section, and takes it along when it
//! migrates. For [`Reductions`] all members begin at the root, and are between two ranks until they
//! know that they belong to the section.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::callback::ChareCallback;
use crate::collection::CollectionId;
use crate::index::Index;
use crate::message::{ActorHeader, ActorMessage, MessageHandle, SECTION};
use crate::reduction::{ReductionMessage, Reductions};
use crate::tree::SpanningTree;

/// Ranks to which a rank passes on a multicast, at most.
const WIDTH: usize = 4;
/// The payload is aligned to so many bytes.
const ALIGNED: usize = 16;

/// Names a section in the whole job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SectionId {
    /// The collection to which its members belong.
    pub collection: CollectionId,
    /// The rank that has made it.
    pub root: u32,
    /// Which one of that rank it is.
    pub number: u32,
}

impl SectionId {
    /// The section to which a message was sent, if it is a multicast.
    #[must_use]
    pub fn of(header: &ActorHeader) -> Option<SectionId> {
        let collection = CollectionId(header.collection);
        let (root, number) = (header.place, header.number);
        (header.flags & SECTION != 0).then_some(SectionId { collection, root, number })
    }

    /// Makes a message one to this section.
    pub(crate) fn name_in(self, header: &mut ActorHeader) {
        header.flags |= SECTION;
        (header.collection, header.place, header.number) =
            (self.collection.0, self.root, self.number);
    }
}

/// What ranks tell each other about a section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SectionMessage {
    /// These are its members. The rank that makes it tells itself.
    Create(Vec<Index>),
    /// This is told of results of reductions whose contributions name nobody. The rank that has
    /// made it tells itself.
    Client(ChareCallback),
    /// To the root: these members at a rank know that they are.
    Joined {
        /// The rank.
        rank: u32,
        /// The members.
        members: Vec<Index>,
    },
    /// To the root: members have been seen to be at other ranks.
    Moved(Vec<(Index, u32)>),
    /// To the root: a member exists no more.
    Gone {
        /// Which one.
        member: Index,
        /// Whether it had known that it was one.
        joined: bool,
    },
    /// Part of a reduction.
    Reduction(ReductionMessage),
}

/// That an element is a member of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Membership {
    pub(crate) section: SectionId,
    /// Number of its next reduction.
    pub(crate) reduction: u32,
}

/// Appends the memberships of an element to the message that carries it.
pub(crate) fn append_memberships(message: &mut ActorMessage, memberships: &[Membership]) {
    if memberships.is_empty() {
        return;
    }
    let mut bytes = postcard::to_allocvec(memberships).expect("memberships have a representation");
    let length = u32::try_from(bytes.len()).expect("nobody is a member of so many sections");
    bytes.extend(length.to_ne_bytes());
    message.append(&bytes);
    message.header_mut().flags |= SECTION;
}

/// The packed element in a message, and its memberships; `None` if this is no such message.
pub(crate) fn split_memberships(message: &ActorMessage) -> Option<(&[u8], Vec<Membership>)> {
    let payload = message.payload();
    if message.header().flags & SECTION == 0 {
        return Some((payload, Vec::new()));
    }
    let (rest, length) = payload.split_last_chunk()?;
    let at = rest.len().checked_sub(u32::from_ne_bytes(*length) as usize)?;
    Some((&rest[..at], postcard::from_bytes(&rest[at..]).ok()?))
}

/// The members that are at one rank.
pub(crate) type Part = (u32, Vec<Index>);

/// What stands in front of the payload of a multicast: the parts for a rank and those below it,
/// its own first.
pub(crate) fn multicast(
    like: &ActorMessage,
    header: ActorHeader,
    parts: &[Part],
    payload: &[u8],
) -> ActorMessage {
    let list = postcard::to_allocvec(parts).expect("indexes have a representation");
    let (length, begin) = (size_of::<u64>(), payload_begin(list.len()));
    let mut message = like.resized(header, begin + payload.len());
    let bytes = message.payload_mut();
    bytes[..length].copy_from_slice(&(list.len() as u64).to_ne_bytes());
    bytes[length..length + list.len()].copy_from_slice(&list);
    bytes[begin..].copy_from_slice(payload);
    message.with_arrays(like.arrays().to_vec())
}

/// The parts and the payload of a multicast; `None` if it is none.
pub(crate) fn split_multicast(message: &ActorMessage) -> Option<(Vec<Part>, &[u8])> {
    let payload = message.payload();
    let (length, rest) = payload.split_first_chunk()?;
    let length = usize::try_from(u64::from_ne_bytes(*length)).ok()?;
    let parts = postcard::from_bytes(rest.get(..length)?).ok()?;
    Some((parts, payload.get(payload_begin(length)..)?))
}

fn payload_begin(list: usize) -> usize {
    (size_of::<u64>() + list).next_multiple_of(ALIGNED)
}

/// The parts that a rank passes on, each to the first rank of it.
pub(crate) fn branches(parts: &[Part]) -> impl Iterator<Item = &[Part]> {
    let below = parts.get(1..).unwrap_or(&[]);
    below.chunks(below.len().div_ceil(WIDTH).max(1))
}

/// One rank's part of a section.
#[derive(Debug)]
pub(crate) struct SectionPart {
    pub(crate) reductions: Reductions,
    /// At the root.
    pub(crate) members: SectionMembers,
}

/// What the root of a section knows of its members.
#[derive(Debug, Default)]
pub(crate) struct SectionMembers {
    places: FxHashMap<Index, u32>,
    /// How many have not said that they know, once the section is made.
    joining: Option<usize>,
    /// Multicasts until then.
    pub(crate) held: Vec<MessageHandle>,
    /// Who is told of results of reductions whose contributions name nobody.
    pub(crate) client: Option<ChareCallback>,
}

impl SectionPart {
    /// The part of a rank that sees this tree.
    pub(crate) fn new(tree: SpanningTree) -> SectionPart {
        let mut reductions = Reductions::new(tree);
        // Only the root knows how many members there are.
        reductions.begin_elsewhere(0);
        SectionPart { reductions, members: SectionMembers::default() }
    }
}

impl SectionMembers {
    /// The section is made of these, at the ranks where they are believed to be.
    pub(crate) fn create(&mut self, places: FxHashMap<Index, u32>) {
        self.joining = Some(places.len());
        self.places = places;
    }

    /// Whether all know that they are members.
    pub(crate) fn are_ready(&self) -> bool {
        self.joining == Some(0)
    }

    /// So many more know it, or exist no more.
    pub(crate) fn joined(&mut self, members: usize) {
        self.joining = self.joining.map(|joining| joining.saturating_sub(members));
    }

    /// A member was seen at a rank.
    pub(crate) fn seen(&mut self, member: Index, rank: u32) {
        // It may exist no more.
        if let Some(place) = self.places.get_mut(&member) {
            *place = rank;
        }
    }

    /// A member exists no more.
    pub(crate) fn gone(&mut self, member: &Index) {
        self.places.remove(member);
    }

    /// The members by rank, those of the root first.
    pub(crate) fn parts(&self, root: u32) -> Vec<Part> {
        let mut parts = BTreeMap::<_, Vec<Index>>::new();
        for (index, rank) in &self.places {
            parts.entry(*rank).or_default().push(*index);
        }
        let own = parts.remove(&root).unwrap_or_default();
        std::iter::once((root, own)).chain(parts).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::MessageKind;

    fn parts(ranks: std::ops::Range<u32>) -> Vec<Part> {
        ranks.map(|rank| (rank, vec![Index::one(rank.cast_signed())])).collect()
    }

    #[test]
    fn a_multicast_reaches_each_rank_once() {
        for ranks in 1..40 {
            let mut reached = Vec::new();
            let mut ahead = vec![parts(0..ranks)];
            while let Some(parts) = ahead.pop() {
                reached.push(parts[0].0);
                assert!(branches(&parts).count() <= WIDTH);
                ahead.extend(branches(&parts).map(<[Part]>::to_vec));
            }
            reached.sort_unstable();
            assert!(reached.into_iter().eq(0..ranks));
        }
    }

    #[test]
    fn messages_are_split_as_they_were_joined() {
        let header = ActorHeader::new(MessageKind::Multicast, 1, None, 2);
        let sent = ActorMessage::of(header, b"payload");
        let parts = parts(3..6);
        let message = multicast(&sent, header, &parts, b"payload");
        assert_eq!(split_multicast(&message), Some((parts, &b"payload"[..])));
        assert_eq!(split_multicast(&sent), None);

        let collection = CollectionId(7);
        let section = SectionId { collection, root: 1, number: 4 };
        let mut memberships = Vec::new();
        for reduction in 0..40 {
            let mut message = ActorMessage::of(header, b"element");
            append_memberships(&mut message, &memberships);
            let split = split_memberships(&message);
            assert_eq!(split, Some((&b"element"[..], memberships.clone())));
            memberships.push(Membership { section, reduction });
        }
        let mut short = ActorMessage::of(header, &[9, 0, 0, 0]);
        short.header_mut().flags = SECTION;
        assert_eq!(split_memberships(&short), None);
    }
}
