//! Requests: a slab of slots that are used again, named by index and generation.
//!
//! A slot owns what its operation still needs (the target of a posted receive, the source of a
//! queued send). Slots are reused last-in first-out, so a program that waits for each message stays
//! in one warm line. Invariant: `complete` is set exactly once in the life of a request, except
//! that a cancel of a finished eager send opens it again until the answer.

use towpath_base::ids::{ContextId, PeerIndex};
use towpath_base::transfer::{Source, Target};
use towpath_transport::RegionKey;

use crate::eager::Mode;
use crate::flow::Fetch;
use crate::receive::ANY_PEER;

/// Names a request: index in the low half, generation in the high half (31 bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The other side: the sender of a received message, the receiver of a sent one.
    pub peer: PeerIndex,
    /// Rank of the sender in the communicator, as it wrote it into the message.
    pub source_rank: u32,
    /// Tag of the message.
    pub tag: i32,
    /// Bytes that reached the target, or bytes of the message sent.
    pub bytes: u64,
    /// The message was longer than the target; the target is full.
    pub truncated: bool,
    /// The operation was cancelled: nothing was received, or no receive will see the message.
    pub cancelled: bool,
    /// The peer was lost before the operation was through.
    pub lost: bool,
}

impl Completion {
    /// The result of an operation with `peer` of which nothing else is known yet.
    #[inline]
    pub(crate) fn of(peer: PeerIndex, source_rank: u32, tag: i32, bytes: u64) -> Completion {
        Completion { peer, source_rank, tag, bytes, truncated: false, cancelled: false, lost: false }
    }
}

/// The message that a request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Whether the message is to be received; else it is to be sent.
    pub receives: bool,
    /// The other side; `None`: any.
    pub peer: Option<PeerIndex>,
    /// Tag of the message; `None`: any.
    pub tag: Option<i32>,
}

/// A message that has no number in its pair yet, or may no longer be called back.
pub(crate) const UNNUMBERED: u64 = u64::MAX;

/// What an operation waits for, and what it owns meanwhile.
pub(crate) enum Work {
    /// Nothing: free or complete.
    None,
    /// A receive in the posted queue.
    Posted { target: Target, link: u32 },
    /// A receive whose bytes the wire is bringing.
    Pulling,
    /// A message whose bytes the wire is bringing before it is matched. Boxed because few are.
    Fetching(Box<Fetch>),
    /// A send that waits in the queue of its peer.
    Queued { source: Source, context: ContextId, mode: Mode },
    /// A published send whose announcement waits in the queue of its peer.
    /// It is `postponed` for lack of credit.
    Published { key: RegionKey, context: ContextId, postponed: bool },
    /// An announced send whose region has not been released.
    Announced { key: RegionKey, postponed: bool },
    /// A synchronous eager send that has not been acknowledged.
    Unacknowledged,
    /// A finished eager send whose cancel request has not been answered.
    Cancelling,
}

pub(crate) struct Slot {
    generation: u32,
    pub(crate) complete: bool,
    /// Nobody will ask for the result: the slot is freed on completion.
    detached: bool,
    pub(crate) completion: Completion,
    /// Number of a sent message in its pair, or [`UNNUMBERED`].
    pub(crate) sequence: u64,
    pub(crate) work: Work,
}

/// Replaces work that owns nothing, without the code that would drop it.
#[inline(always)]
fn replace_spent(work: &mut Work, next: Work) {
    debug_assert!(
        matches!(work, Work::None | Work::Posted { target: Target::Bytes { .. }, .. }),
        "only work that owns nothing may be forgotten"
    );
    std::mem::forget(std::mem::replace(work, next));
}

/// The slab.
#[derive(Default)]
pub(crate) struct Requests {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Requests {
    /// Takes a slot.
    #[inline(always)]
    pub(crate) fn add(&mut self, completion: Completion, work: Work) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| self.grow());
        let slot = &mut self.slots[index as usize];
        slot.complete = false;
        slot.detached = false;
        slot.completion = completion;
        slot.sequence = UNNUMBERED;
        replace_spent(&mut slot.work, work);
        index
    }

    /// Adds a slot.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> u32 {
        let index = u32::try_from(self.slots.len()).expect("more than 2^32 requests");
        self.slots.push(Slot {
            generation: 0,
            complete: false,
            detached: false,
            completion: Completion::of(PeerIndex(0), 0, 0, 0),
            sequence: UNNUMBERED,
            work: Work::None,
        });
        index
    }

    /// Name of the slot at an index.
    #[inline]
    pub(crate) fn id(&self, index: u32) -> RequestId {
        RequestId(u64::from(self.slots[index as usize].generation) << 32 | u64::from(index))
    }

    /// Index of a request; `None` when the name is stale.
    #[inline]
    pub(crate) fn find(&self, id: RequestId) -> Option<u32> {
        let index = id.0 as u32;
        let slot = self.slots.get(index as usize)?;
        (u64::from(slot.generation) == id.0 >> 32).then_some(index)
    }

    /// The slot at an index.
    #[inline]
    pub(crate) fn slot(&mut self, index: u32) -> &mut Slot {
        &mut self.slots[index as usize]
    }

    /// Marks a request complete; a detached one is freed.
    pub(crate) fn complete(&mut self, index: u32) {
        self.slots[index as usize].work = Work::None;
        self.complete_spent(index);
    }

    /// As [`Requests::complete`] where nothing in the slot needs to be dropped: the small path.
    #[inline(always)]
    pub(crate) fn complete_spent(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        replace_spent(&mut slot.work, Work::None);
        slot.complete = true;
        if slot.detached {
            self.free(index);
        }
    }

    /// Whether the request is complete. A stale name counts as complete.
    #[inline]
    pub(crate) fn is_complete(&self, id: RequestId) -> bool {
        self.slots
            .get(id.0 as u32 as usize)
            .is_none_or(|slot| slot.complete || u64::from(slot.generation) != id.0 >> 32)
    }

    /// Gives the result of a complete request out and frees it.
    #[inline]
    pub(crate) fn take(&mut self, id: RequestId) -> Option<Completion> {
        let index = self.find(id)?;
        let slot = &self.slots[index as usize];
        if !slot.complete {
            return None;
        }
        let completion = slot.completion;
        self.free(index);
        Some(completion)
    }

    /// What a request that is not complete waits for.
    pub(crate) fn pending(&self, id: RequestId) -> Option<Pending> {
        let slot = &self.slots[self.find(id)? as usize];
        let Completion { peer, tag, .. } = slot.completion;
        (!slot.complete).then(|| Pending {
            receives: matches!(slot.work, Work::Posted { .. } | Work::Pulling),
            peer: (peer != ANY_PEER).then_some(peer),
            // Tags of programs are not negative; what is not matched yet has -1 for any.
            tag: (tag >= 0).then_some(tag),
        })
    }

    /// The result of a complete request, which stays.
    pub(crate) fn peek(&self, id: RequestId) -> Option<Completion> {
        let slot = &self.slots[self.find(id)? as usize];
        slot.complete.then_some(slot.completion)
    }

    /// Nobody will ask for this request: frees it now or on completion.
    pub(crate) fn detach(&mut self, id: RequestId) {
        let Some(index) = self.find(id) else { return };
        let slot = &mut self.slots[index as usize];
        if slot.complete {
            self.free(index);
        } else {
            slot.detached = true;
        }
    }

    #[inline(always)]
    fn free(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.generation = (slot.generation + 1) & 0x7fff_ffff;
        slot.complete = false;
        self.free.push(index);
    }

    /// Indices of the requests that are not complete.
    pub(crate) fn unfinished(&self) -> Vec<u32> {
        let unfinished = |slot: &Slot| !matches!(slot.work, Work::None);
        (0..self.slots.len() as u32).filter(|index| unfinished(&self.slots[*index as usize])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Completion {
        Completion::of(PeerIndex(1), 2, 3, 4)
    }

    #[test]
    fn names_go_stale() {
        let mut requests = Requests::default();
        let index = requests.add(some(), Work::Pulling);
        let id = requests.id(index);
        assert!(!requests.is_complete(id) && requests.take(id).is_none());
        requests.complete(index);
        assert!(requests.is_complete(id));
        assert_eq!(requests.take(id), Some(some()));
        assert_eq!((requests.take(id), requests.find(id)), (None, None));
        let next = requests.add(some(), Work::Pulling);
        assert_eq!(next, index);
        assert_ne!(requests.id(next), id);
    }

    #[test]
    fn what_is_not_complete_says_what_it_waits_for() {
        let mut requests = Requests::default();
        let index = requests.add(Completion::of(ANY_PEER, 2, -1, 0), Work::Pulling);
        let id = requests.id(index);
        assert_eq!(requests.pending(id), Some(Pending { receives: true, peer: None, tag: None }));
        let sent = requests.add(some(), Work::Unacknowledged);
        let pending = Pending { receives: false, peer: Some(PeerIndex(1)), tag: Some(3) };
        assert_eq!(requests.pending(requests.id(sent)), Some(pending));
        requests.complete(index);
        assert_eq!(requests.pending(id), None);
    }

    #[test]
    fn detached_requests_free_themselves() {
        let mut requests = Requests::default();
        for early in [true, false] {
            let index = requests.add(some(), Work::Pulling);
            let id = requests.id(index);
            if early {
                requests.detach(id);
                requests.complete(index);
            } else {
                requests.complete(index);
                requests.detach(id);
            }
            assert_eq!(requests.find(id), None);
        }
        assert_eq!((requests.slots.len(), requests.unfinished().len()), (1, 0));
    }

    #[test]
    fn a_slot_is_small() {
        assert!(size_of::<Slot>() <= 96, "{}", size_of::<Slot>());
    }
}
