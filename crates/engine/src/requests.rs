//! Requests: a slab of reusable slots, identified by index and generation.
//!
//! A slot owns what its operation still needs (the target of a posted receive, the source of a
//! queued send). Free slots are reused in LIFO order, so a program that waits for each message
//! stays within one cached slot. Invariant: `complete` is set exactly once in the life of a
//! request, except that cancelling a finished eager send clears it again until the receiver's
//! answer.

use towpath_base::ids::{ContextId, PeerIndex};
use towpath_base::transfer::{Source, Target};
use towpath_transport::RegionKey;

use crate::buffers::MessageBuffer;
use crate::protocol::{EarlyPull, Mode};

/// Peer of an any-source receive that has not been matched.
pub(crate) const ANY_PEER: PeerIndex = PeerIndex(u32::MAX);

/// Identifies a request: index in the low half, generation in the high half (31 bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The other side: the sender of a received message, the receiver of a sent one.
    pub peer: PeerIndex,
    /// Rank of the sender in the communicator, as sent with the message.
    pub source_rank: u32,
    /// Tag of the message.
    pub tag: i32,
    /// Bytes delivered to the target, or bytes of the message sent.
    pub bytes: u64,
    /// The message was longer than the target; the target is full.
    pub truncated: bool,
    /// The operation was cancelled: nothing was received, or no receive will match the message.
    pub cancelled: bool,
    /// The peer was lost before the operation was complete.
    pub lost: bool,
}

impl Completion {
    /// The result of an operation with `peer`, with all flags clear.
    #[inline]
    pub(crate) fn of(peer: PeerIndex, source_rank: u32, tag: i32, bytes: u64) -> Completion {
        Completion {
            peer,
            source_rank,
            tag,
            bytes,
            truncated: false,
            cancelled: false,
            lost: false,
        }
    }
}

/// The message that a request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// True if the message is to be received, false if it is to be sent.
    pub receives: bool,
    /// The other side; `None` is any.
    pub peer: Option<PeerIndex>,
    /// Tag of the message; `None` is any.
    pub tag: Option<i32>,
}

/// Marks a message without a sequence number, or one that can no longer be cancelled.
pub(crate) const UNNUMBERED: u64 = u64::MAX;

/// A message that is fetched before it is matched.
pub(crate) struct Fetch {
    pub(crate) buffer: MessageBuffer,
    pub(crate) length: usize,
    /// Its node in the unexpected queue, until it is taken.
    pub(crate) at: Option<u32>,
    /// The receive that matched it.
    pub(crate) receive: Option<(u32, Target)>,
}

/// A received message that its unpacker has not accepted yet.
pub(crate) struct Unpacking {
    pub(crate) target: Target,
    pub(crate) buffer: MessageBuffer,
    pub(crate) length: usize,
}

/// What an operation waits for, and what it owns in the meantime.
pub(crate) enum PendingWork {
    /// Nothing: free or complete.
    None,
    /// A receive in the posted queue.
    Posted { target: Target, link: u32 },
    /// A receive whose bytes the wire is pulling.
    Pulling,
    /// A message being fetched before it is matched. Boxed because it is rare and large.
    Fetching(Box<Fetch>),
    /// A receive whose bytes have arrived, and which waits for the device of its target.
    Unpacking(Box<Unpacking>),
    /// A send in the queue of its peer.
    Queued { source: Source, context: ContextId, mode: Mode },
    /// A published send whose announcement is in the queue of its peer.
    Published { key: RegionKey, context: ContextId, early: EarlyPull },
    /// An announced send whose region has not been released.
    Announced { key: RegionKey, early: EarlyPull },
    /// A synchronous eager send that has not been acknowledged.
    Unacknowledged,
    /// A finished eager send whose cancel request has not been answered.
    Cancelling,
}

pub(crate) struct Slot {
    generation: u32,
    pub(crate) complete: bool,
    /// The result will not be read: the slot is freed on completion.
    detached: bool,
    pub(crate) completion: Completion,
    /// Sequence number of a sent message in its pair, or [`UNNUMBERED`].
    pub(crate) sequence: u64,
    pub(crate) work: PendingWork,
}

/// Replaces work that owns nothing, without running its drop code.
#[inline(always)]
fn replace_spent(work: &mut PendingWork, next: PendingWork) {
    debug_assert!(
        matches!(
            work,
            PendingWork::None | PendingWork::Posted { target: Target::Bytes { .. }, .. }
        ),
        "only work that owns nothing may be forgotten"
    );
    std::mem::forget(std::mem::replace(work, next));
}

/// The request table. Not a [`Slab`](towpath_base::slab::Slab), which drops what it removes: the
/// fast path overwrites work that owns nothing without running its drop code.
#[derive(Default)]
pub(crate) struct RequestSlab {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl RequestSlab {
    /// Allocates a slot.
    #[inline(always)]
    pub(crate) fn add(&mut self, completion: Completion, work: PendingWork) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| self.grow());
        let slot = &mut self.slots[index as usize];
        slot.complete = false;
        slot.detached = false;
        slot.completion = completion;
        slot.sequence = UNNUMBERED;
        replace_spent(&mut slot.work, work);
        index
    }

    /// Adds a slot to the table.
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
            work: PendingWork::None,
        });
        index
    }

    /// Id of the slot at an index.
    #[inline]
    pub(crate) fn id(&self, index: u32) -> RequestId {
        RequestId(u64::from(self.slots[index as usize].generation) << 32 | u64::from(index))
    }

    /// Index of a request; `None` if the id is stale.
    #[inline]
    pub(crate) fn find(&self, id: RequestId) -> Option<u32> {
        let index = id.0 as u32;
        let slot = self.slots.get(index as usize)?;
        (u64::from(slot.generation) == id.0 >> 32).then_some(index)
    }

    /// True if this is a receive that no message has matched.
    pub(crate) fn is_posted(&self, id: RequestId) -> bool {
        self.find(id).is_some_and(|index| {
            matches!(self.slots[index as usize].work, PendingWork::Posted { .. })
        })
    }

    /// The slot at an index.
    #[inline]
    pub(crate) fn slot(&mut self, index: u32) -> &mut Slot {
        &mut self.slots[index as usize]
    }

    /// Marks a request complete, and frees it if it is detached.
    pub(crate) fn complete(&mut self, index: u32) {
        self.slots[index as usize].work = PendingWork::None;
        self.complete_spent(index);
    }

    /// Like [`RequestSlab::complete`], for a slot that owns nothing to drop (fast path).
    #[inline(always)]
    pub(crate) fn complete_spent(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        replace_spent(&mut slot.work, PendingWork::None);
        slot.complete = true;
        if slot.detached {
            self.free(index);
        }
    }

    /// True if the request is complete. A stale id counts as complete.
    #[inline]
    pub(crate) fn is_complete(&self, id: RequestId) -> bool {
        self.slots
            .get(id.0 as u32 as usize)
            .is_none_or(|slot| slot.complete || u64::from(slot.generation) != id.0 >> 32)
    }

    /// Returns the result of a complete request and frees it.
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

    /// What an incomplete request waits for.
    pub(crate) fn pending(&self, id: RequestId) -> Option<Pending> {
        let slot = &self.slots[self.find(id)? as usize];
        let Completion { peer, tag, .. } = slot.completion;
        (!slot.complete).then(|| Pending {
            receives: matches!(
                slot.work,
                PendingWork::Posted { .. } | PendingWork::Pulling | PendingWork::Unpacking(_)
            ),
            peer: (peer != ANY_PEER).then_some(peer),
            // Application tags are not negative; an unmatched receive of any tag has -1.
            tag: (tag >= 0).then_some(tag),
        })
    }

    /// The result of a complete request, without freeing it.
    pub(crate) fn peek(&self, id: RequestId) -> Option<Completion> {
        let slot = &self.slots[self.find(id)? as usize];
        slot.complete.then_some(slot.completion)
    }

    /// Detaches a request: frees it now if complete, otherwise on completion.
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
        let unfinished = |slot: &Slot| !matches!(slot.work, PendingWork::None);
        (0..self.slots.len() as u32)
            .filter(|index| unfinished(&self.slots[*index as usize]))
            .collect()
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
        let mut requests = RequestSlab::default();
        let index = requests.add(some(), PendingWork::Pulling);
        let id = requests.id(index);
        assert!(!requests.is_complete(id) && requests.take(id).is_none());
        requests.complete(index);
        assert!(requests.is_complete(id));
        assert_eq!(requests.take(id), Some(some()));
        assert_eq!((requests.take(id), requests.find(id)), (None, None));
        let next = requests.add(some(), PendingWork::Pulling);
        assert_eq!(next, index);
        assert_ne!(requests.id(next), id);
    }

    #[test]
    fn what_is_not_complete_says_what_it_waits_for() {
        let mut requests = RequestSlab::default();
        let index = requests.add(Completion::of(ANY_PEER, 2, -1, 0), PendingWork::Pulling);
        let id = requests.id(index);
        assert_eq!(requests.pending(id), Some(Pending { receives: true, peer: None, tag: None }));
        let sent = requests.add(some(), PendingWork::Unacknowledged);
        let pending = Pending { receives: false, peer: Some(PeerIndex(1)), tag: Some(3) };
        assert_eq!(requests.pending(requests.id(sent)), Some(pending));
        requests.complete(index);
        assert_eq!(requests.pending(id), None);
    }

    #[test]
    fn detached_requests_free_themselves() {
        let mut requests = RequestSlab::default();
        for early in [true, false] {
            let index = requests.add(some(), PendingWork::Pulling);
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
