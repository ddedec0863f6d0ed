//! Receiving in a blocking call, with a few rounds of progress before a request is made (fast
//! path).
//!
//! The direct receive counts as the newest one, so an arrival is offered to it only if no posted
//! receive matches. This keeps the order of MPI 5.0, 3.5 without an entry in the posted queue.
//! Invariant: a direct receive is pending only inside [`Engine::receive_soon`] and
//! [`Engine::receive_soon_into`]; a message that has not arrived by their end is received through
//! an ordinary request.

use towpath_base::events::Subscriber;
use towpath_base::ids::{ContextId, PeerIndex};
use towpath_base::transfer::{Place, Target};
use towpath_transport::{Here, JobWire, Payload};

use crate::Engine;
use crate::delivery;
use crate::direct::{EarlyOutcome, Waits, put};
use crate::matching::Pattern;
use crate::requests::{ANY_PEER, Completion, PendingWork};
use crate::state::State;

impl<S: Subscriber> State<S> {
    /// Delivers an eager message to the pending receive.
    ///
    /// # Safety
    /// `payload` must be readable for its length.
    #[inline(always)]
    pub(crate) unsafe fn receive_directly(
        &mut self,
        from: PeerIndex,
        words: &[u64; 2],
        payload: impl Payload,
    ) {
        let direct = &mut self.direct;
        // SAFETY: `payload` is readable (this function's contract). A direct receive is pending, so
        // its destination is valid (contracts of `receive_soon` and `receive_soon_into`).
        let (bytes, truncated) = unsafe {
            if direct.waits == Waits::Contiguous {
                delivery::copy(direct.pointer, direct.capacity, payload)
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

    /// Turns the pending receive into a request, because its message has to be pulled. Returns the
    /// request's index and target.
    #[cold]
    pub(crate) fn start_direct(&mut self) -> (u32, Target) {
        let index = self.requests.add(Completion::of(ANY_PEER, u32::MAX, -1, 0), PendingWork::None);
        let direct = &mut self.direct;
        let contiguous = Target::Bytes { pointer: direct.pointer, length: direct.capacity };
        let target = direct.place().map_or(contiguous, |place| place.target());
        direct.started = Some(self.requests.id(index));
        direct.waits = Waits::Nothing;
        (index, target)
    }
}

impl<W: JobWire, S: Subscriber> Engine<W, S> {
    /// Receives into `capacity` contiguous bytes with at most `rounds` rounds of progress. A
    /// receive that is still incomplete continues as a request. `None` for `from` or `tag` is a
    /// wildcard.
    ///
    /// # Safety
    /// `pointer` must be writable for `capacity` bytes; if a request is started, until that is
    /// complete.
    #[inline(always)]
    pub unsafe fn receive_soon(
        &mut self,
        from: Option<PeerIndex>,
        context: ContextId,
        tag: Option<i32>,
        pointer: *mut u8,
        capacity: usize,
        rounds: u32,
    ) -> EarlyOutcome {
        let pattern = Pattern::receive(context, from, tag);
        if let Some(at) = self.state.unexpected.find(&pattern) {
            return self.receive_kept(at, pointer, capacity);
        }
        let direct = &mut self.state.direct;
        direct.waits = Waits::Contiguous;
        direct.pattern = pattern;
        direct.pointer = pointer;
        direct.capacity = capacity;
        if let Some(outcome) = self.wait_directly(rounds) {
            return outcome;
        }
        // SAFETY: `pointer` stays writable for `capacity` bytes until the request is complete (this
        // function's contract).
        EarlyOutcome::Started(unsafe {
            self.irecv(from, context, tag, Target::Bytes { pointer, length: capacity })
        })
    }

    /// Like [`Engine::receive_soon`], into `place`.
    ///
    /// # Safety
    /// The memory behind `place` must be valid; if a request is started, until that is complete.
    #[inline]
    pub unsafe fn receive_soon_into(
        &mut self,
        from: Option<PeerIndex>,
        context: ContextId,
        tag: Option<i32>,
        place: &(dyn Place + 'static),
        rounds: u32,
    ) -> EarlyOutcome {
        let pattern = Pattern::receive(context, from, tag);
        if let Some(at) = self.state.unexpected.find(&pattern) {
            // SAFETY: `payload` is readable for `length` bytes, and the memory behind `place` is
            // valid (this function's contract).
            let received =
                self.receive_waiting(at, |payload, length| unsafe { put(place, payload, length) });
            return received.map_or_else(
                || EarlyOutcome::Started(self.receive_found(at, place.target())),
                EarlyOutcome::Received,
            );
        }
        let direct = &mut self.state.direct;
        direct.waits = Waits::Place;
        direct.pattern = pattern;
        direct.place = Some(place);
        if let Some(outcome) = self.wait_directly(rounds) {
            return outcome;
        }
        // SAFETY: the memory behind `place` stays valid until the request is complete (this
        // function's contract).
        EarlyOutcome::Started(unsafe { self.irecv(from, context, tag, place.target()) })
    }

    /// Makes progress until the pending receive has its message; `None` if it does not get one
    /// within `rounds` rounds.
    #[inline(always)]
    fn wait_directly(&mut self, rounds: u32) -> Option<EarlyOutcome> {
        for _ in 0..rounds {
            self.progress();
            if self.state.direct.waits == Waits::Nothing {
                return Some(self.state.direct.outcome());
            }
        }
        self.state.direct.waits = Waits::Nothing;
        None
    }

    /// Receives a message from the unexpected queue.
    #[inline(never)]
    fn receive_kept(&mut self, at: u32, pointer: *mut u8, capacity: usize) -> EarlyOutcome {
        // SAFETY: `payload` is readable for `length` bytes. `receive_kept` is called only by
        // `receive_soon`, whose contract makes `pointer` writable for `capacity` bytes.
        match self.receive_waiting(at, |payload, length| unsafe {
            delivery::copy(pointer, capacity, Here(payload, length))
        }) {
            Some(completion) => EarlyOutcome::Received(completion),
            None => {
                let target = Target::Bytes { pointer, length: capacity };
                EarlyOutcome::Started(self.receive_found(at, target))
            }
        }
    }
}
