//! The direct receive of a blocking call, which needs no request for the first few rounds of
//! progress (fast path). [`Engine::receive_soon`](crate::Engine::receive_soon) uses it.

use towpath_base::ids::PeerIndex;
use towpath_base::transfer::Place;
use towpath_transport::ahead;

use crate::matching::Pattern;
use crate::protocol;
use crate::requests::{ANY_PEER, Completion, RequestId};

/// Outcome of a receive that was given a few rounds of progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlyOutcome {
    /// The message has been received.
    Received(Completion),
    /// The message has not arrived completely: the receive continues as this request.
    Started(RequestId),
}

/// The kind of receive that is pending.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    Nothing,
    /// A receive into contiguous bytes.
    Contiguous,
    /// A receive into a [`Place`].
    Place,
}

/// The pending direct receive, if any.
pub(crate) struct DirectReceive {
    pub(crate) waits: Waits,
    pub(crate) pattern: Pattern,
    // Destination of a receive into contiguous bytes.
    pub(crate) pointer: *mut u8,
    pub(crate) capacity: usize,
    pub(crate) place: Option<*const dyn Place>,
    // The result, in separate fields: a struct copied as a whole would be read in wider pieces than
    // it was written, which defeats store forwarding.
    pub(crate) peer: PeerIndex,
    /// Tag and rank of the sender, as in the header.
    pub(crate) word: u64,
    pub(crate) bytes: u64,
    pub(crate) truncated: bool,
    /// The request that the receive was turned into.
    pub(crate) started: Option<RequestId>,
}

// SAFETY: the pointers are dereferenced only while a receive is pending, inside `receive_soon` or
// `receive_soon_into` on the calling thread, whose contracts keep the memory valid.
unsafe impl Send for DirectReceive {}

impl DirectReceive {
    pub(crate) fn new() -> DirectReceive {
        DirectReceive {
            waits: Waits::Nothing,
            pattern: Pattern { context: 0, key: 0, mask: 0 },
            pointer: std::ptr::null_mut(),
            capacity: 0,
            place: None,
            peer: ANY_PEER,
            word: 0,
            bytes: 0,
            truncated: false,
            started: None,
        }
    }

    /// True if the pending receive accepts this message.
    #[inline(always)]
    pub(crate) fn takes(&self, message: &Pattern) -> bool {
        self.waits != Waits::Nothing && self.pattern.matches(message)
    }

    /// The pending place, unless the receive is into contiguous bytes.
    pub(crate) fn place(&self) -> Option<&dyn Place> {
        // SAFETY: `waits` is `Place` only inside `receive_soon_into`, which borrows the place for
        // that time.
        self.place.filter(|_| self.waits == Waits::Place).map(|place| unsafe { &*place })
    }

    /// Stores a message in the pending place.
    ///
    /// # Safety
    /// `payload` must be readable for `length` bytes.
    #[inline(never)]
    pub(crate) unsafe fn put(&self, payload: *const u8, length: usize) -> (u64, bool) {
        ahead::read(payload, length);
        // SAFETY: `payload` is readable for `length` bytes (this function's contract). The place is
        // pending, so its memory is valid (contract of `receive_soon_into`).
        self.place().map_or((0, false), |place| unsafe { put(place, payload, length) })
    }

    /// The outcome of the receive that was pending.
    #[inline(always)]
    pub(crate) fn outcome(&mut self) -> EarlyOutcome {
        if let Some(request) = self.started.take() {
            return EarlyOutcome::Started(request);
        }
        let words = [0, self.word];
        let completion =
            Completion::of(self.peer, protocol::rank(&words), protocol::tag(&words), self.bytes);
        EarlyOutcome::Received(Completion { truncated: self.truncated, ..completion })
    }
}

/// Stores a message in a place. Returns the bytes stored and whether the message was truncated.
///
/// # Safety
/// `payload` must be readable for `length` bytes, and the memory behind `place` valid.
pub(crate) unsafe fn put(place: &dyn Place, payload: *const u8, length: usize) -> (u64, bool) {
    let room = place.room();
    let taken = length.min(room);
    // SAFETY: `payload` is readable for `length` bytes, `taken` of which fit the place, whose
    // memory is valid (this function's contract).
    unsafe { place.put(payload, taken) };
    (taken as u64, length > room)
}
