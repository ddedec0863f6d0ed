//! The receive of a blocking call, which waits on the caller's stack for a few rounds of progress
//! (small path).
//!
//! It is the newest receive there is, so it asks the posted queue first and keeps the order of MPI
//! 5.0, 3.5 without being in that queue: an arrival that no posted receive takes is offered to it.
//! Invariant: it waits only inside [`Engine::receive_soon`] and [`Engine::receive_soon_into`];
//! whatever has not come by then is received through an ordinary request.

use towpath_base::ids::{ContextId, PeerIndex};
use towpath_base::transfer::{Place, Target};
use towpath_transport::{Here, Payload, Wire, ahead};

use crate::Engine;
use crate::arrivals::{State, deliver};
use crate::matching::Pattern;
use crate::protocol;
use crate::receive::ANY_PEER;
use crate::requests::{Completion, RequestId, Work};

/// How a receive stands that was given a few rounds of progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Soon {
    /// The message is there.
    Received(Completion),
    /// It is not, or not all of it: the receive goes on as this request.
    Started(RequestId),
}

/// What waits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    Nothing,
    /// A receive into a row of bytes.
    Row,
    /// A receive into a place of the caller's.
    Place,
}

/// The receive that waits, if one does.
pub(crate) struct Direct {
    waits: Waits,
    pattern: Pattern,
    // The row.
    pointer: *mut u8,
    capacity: usize,
    place: Option<*const dyn Place>,
    // What came, in single fields: a result copied as a whole is read again in wider pieces than it
    // was written, which stalls the processor.
    peer: PeerIndex,
    /// Tag and rank of the sender, as the header has them.
    word: u64,
    bytes: u64,
    truncated: bool,
    /// The request that the receive became.
    started: Option<RequestId>,
}

// SAFETY: the pointers are used only while the engine is inside `receive_soon` or
// `receive_soon_into`, whose callers vouch for them.
unsafe impl Send for Direct {}

impl Direct {
    pub(crate) fn new() -> Direct {
        Direct {
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

    /// Whether the receive that waits here takes this message.
    #[inline(always)]
    pub(crate) fn takes(&self, message: &Pattern) -> bool {
        self.waits != Waits::Nothing && self.pattern.matches(message)
    }

    /// The place that waits, if it is not a row.
    fn place(&self) -> Option<&dyn Place> {
        // SAFETY: a place waits only inside `receive_soon_into`, whose caller lends it.
        self.place.filter(|_| self.waits == Waits::Place).map(|place| unsafe { &*place })
    }

    /// Puts a message into the place that waits.
    ///
    /// # Safety
    /// `payload` must be readable for `length` bytes.
    #[inline(never)]
    unsafe fn put(&self, payload: *const u8, length: usize) -> (u64, bool) {
        ahead::read(payload, length);
        // SAFETY: handed through; the caller of `receive_soon_into` vouches for the memory behind
        // the place.
        self.place().map_or((0, false), |place| unsafe { put(place, payload, length) })
    }

    /// How the receive that waited here ended.
    #[inline(always)]
    fn outcome(&mut self) -> Soon {
        if let Some(request) = self.started.take() {
            return Soon::Started(request);
        }
        let words = [0, self.word];
        let completion = Completion::of(self.peer, protocol::rank(&words), protocol::tag(&words), self.bytes);
        Soon::Received(Completion { truncated: self.truncated, ..completion })
    }
}

/// Puts a message into a place; returns the bytes taken and whether some had no room.
///
/// # Safety
/// `payload` must be readable for `length` bytes and the memory behind `place` alive.
unsafe fn put(place: &dyn Place, payload: *const u8, length: usize) -> (u64, bool) {
    let room = place.room();
    let taken = length.min(room);
    // SAFETY: handed through; `taken` bytes fit.
    unsafe { place.put(payload, taken) };
    (taken as u64, length > room)
}

impl State {
    /// Gives an eager message to the receive that waits.
    ///
    /// # Safety
    /// The memory behind `payload` must be alive.
    #[inline(always)]
    pub(crate) unsafe fn receive_directly(&mut self, from: PeerIndex, words: &[u64; 2], payload: impl Payload) {
        let direct = &mut self.direct;
        // SAFETY: the caller vouches for the payload, the caller of `receive_soon`, inside which we
        // are, for the target.
        let (bytes, truncated) = unsafe {
            if direct.waits == Waits::Row {
                let mut target = Target::Bytes { pointer: direct.pointer, length: direct.capacity };
                deliver(&mut target, payload)
            } else {
                let length = payload.length();
                direct.put(payload.whole(), length)
            }
        };
        direct.waits = Waits::Nothing;
        direct.peer = from;
        direct.word = words[1];
        direct.bytes = bytes;
        direct.truncated = truncated;
    }

    /// Makes a request of the receive that waits, because its message comes in pieces; gives its
    /// index and target.
    #[cold]
    pub(crate) fn start_direct(&mut self) -> (u32, Target) {
        let index = self.requests.add(Completion::of(ANY_PEER, u32::MAX, -1, 0), Work::None);
        let direct = &mut self.direct;
        let row = Target::Bytes { pointer: direct.pointer, length: direct.capacity };
        let target = direct.place().map_or(row, |place| place.target());
        direct.started = Some(self.requests.id(index));
        direct.waits = Waits::Nothing;
        (index, target)
    }
}

impl<W: Wire> Engine<W> {
    /// Receives into `capacity` contiguous bytes with at most `rounds` rounds of progress; what is
    /// not through then goes on as a request. `None` for `from` or `tag` is a wildcard.
    ///
    /// # Safety
    /// `pointer` must be writable for `capacity` bytes, until the request is complete if one is
    /// started.
    #[inline(always)]
    pub unsafe fn receive_soon(
        &mut self,
        from: Option<PeerIndex>,
        context: ContextId,
        tag: Option<i32>,
        pointer: *mut u8,
        capacity: usize,
        rounds: u32,
    ) -> Soon {
        let pattern = Pattern::receive(context, from, tag);
        if let Some(at) = self.state.unexpected.find(&pattern) {
            return self.receive_kept(at, pointer, capacity);
        }
        let direct = &mut self.state.direct;
        direct.waits = Waits::Row;
        direct.pattern = pattern;
        direct.pointer = pointer;
        direct.capacity = capacity;
        if let Some(outcome) = self.wait_directly(rounds) {
            return outcome;
        }
        // SAFETY: handed through.
        Soon::Started(unsafe { self.irecv(from, context, tag, Target::Bytes { pointer, length: capacity }) })
    }

    /// As [`Engine::receive_soon`], into `place`.
    ///
    /// # Safety
    /// The memory behind `place` must live, until the request is complete if one is started.
    #[inline]
    pub unsafe fn receive_soon_into(
        &mut self,
        from: Option<PeerIndex>,
        context: ContextId,
        tag: Option<i32>,
        place: &(dyn Place + 'static),
        rounds: u32,
    ) -> Soon {
        let pattern = Pattern::receive(context, from, tag);
        if let Some(at) = self.state.unexpected.find(&pattern) {
            // SAFETY: the message is readable; the caller vouches for the place.
            let received = self.receive_waiting(at, |payload, length| unsafe { put(place, payload, length) });
            return received.map_or_else(|| Soon::Started(self.receive_found(at, place.target())), Soon::Received);
        }
        let direct = &mut self.state.direct;
        direct.waits = Waits::Place;
        direct.pattern = pattern;
        direct.place = Some(place);
        if let Some(outcome) = self.wait_directly(rounds) {
            return outcome;
        }
        // SAFETY: handed through.
        Soon::Started(unsafe { self.irecv(from, context, tag, place.target()) })
    }

    /// Makes progress until the receive that waits has its message; `None` when it has not after so
    /// many rounds.
    #[inline(always)]
    fn wait_directly(&mut self, rounds: u32) -> Option<Soon> {
        for _ in 0..rounds {
            self.progress();
            if self.state.direct.waits == Waits::Nothing {
                return Some(self.state.direct.outcome());
            }
        }
        self.state.direct.waits = Waits::Nothing;
        None
    }

    /// Receives a message that waits in the unexpected queue.
    #[inline(never)]
    fn receive_kept(&mut self, at: u32, pointer: *mut u8, capacity: usize) -> Soon {
        let row = || Target::Bytes { pointer, length: capacity };
        // SAFETY: the message is readable; the caller of `receive_soon` vouches for the target.
        match self.receive_waiting(at, |payload, length| unsafe { deliver(&mut row(), Here(payload, length)) }) {
            Some(completion) => Soon::Received(completion),
            None => Soon::Started(self.receive_found(at, row())),
        }
    }
}
