//! The receive of a blocking call, which waits on the caller's stack for a few rounds of progress (small path).
//!
//! It is the newest receive there is, so it asks the posted queue first and keeps the order of MPI 5.0, 3.5 without being
//! in that queue: an arrival that no posted receive takes is offered to it. Invariant: it waits only inside
//! [`Engine::receive_soon`]; whatever has not come by then is received through an ordinary request.

use towpath_base::ids::{ContextId, PeerIndex};
use towpath_base::transfer::Target;
use towpath_transport::Wire;

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

/// The receive that waits, if one does.
pub(crate) struct Direct {
    /// False: no receive waits here.
    waits: bool,
    pattern: Pattern,
    pointer: *mut u8,
    capacity: usize,
    // What came, in single fields: a result copied as a whole is read again in wider pieces than it was written, which
    // stalls the processor.
    peer: PeerIndex,
    /// Tag and rank of the sender, as the header has them.
    word: u64,
    bytes: u64,
    truncated: bool,
    /// The request that the receive became.
    started: Option<RequestId>,
}

// SAFETY: the pointer is used only while the engine is inside `receive_soon`, whose caller vouches for it.
unsafe impl Send for Direct {}

impl Direct {
    pub(crate) fn new() -> Direct {
        Direct {
            waits: false,
            pattern: Pattern { context: 0, key: 0, mask: 0 },
            pointer: std::ptr::null_mut(),
            capacity: 0,
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
        self.waits && self.pattern.matches(message)
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

impl State {
    /// Gives an eager message to the receive that waits.
    ///
    /// # Safety
    /// `payload` must be readable for `length` bytes.
    #[inline(always)]
    pub(crate) unsafe fn receive_directly(
        &mut self,
        from: PeerIndex,
        words: &[u64; 2],
        payload: *const u8,
        length: usize,
    ) {
        let direct = &mut self.direct;
        let mut target = Target::Bytes { pointer: direct.pointer, length: direct.capacity };
        // SAFETY: the caller vouches for the payload, the caller of `receive_soon`, inside which we are, for the target.
        let (bytes, truncated) = unsafe { deliver(&mut target, payload, length) };
        direct.waits = false;
        direct.peer = from;
        direct.word = words[1];
        direct.bytes = bytes;
        direct.truncated = truncated;
    }

    /// Makes a request of the receive that waits, because its message comes in pieces; gives its index and target.
    #[cold]
    pub(crate) fn start_direct(&mut self) -> (u32, Target) {
        let index = self.requests.add(Completion::of(ANY_PEER, u32::MAX, -1, 0), Work::None);
        let direct = &mut self.direct;
        direct.started = Some(self.requests.id(index));
        direct.waits = false;
        (index, Target::Bytes { pointer: direct.pointer, length: direct.capacity })
    }
}

impl<W: Wire> Engine<W> {
    /// Receives into `capacity` contiguous bytes with at most `rounds` rounds of progress; what is not through then goes
    /// on as a request. `None` for `from` or `tag` is a wildcard.
    ///
    /// # Safety
    /// `pointer` must be writable for `capacity` bytes, until the request is complete if one is started.
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
        direct.waits = true;
        direct.pattern = pattern;
        direct.pointer = pointer;
        direct.capacity = capacity;
        for _ in 0..rounds {
            self.progress();
            if !self.state.direct.waits {
                return self.state.direct.outcome();
            }
        }
        self.state.direct.waits = false;
        // SAFETY: handed through.
        Soon::Started(unsafe { self.irecv(from, context, tag, Target::Bytes { pointer, length: capacity }) })
    }

    /// Receives a message that waits in the unexpected queue.
    #[inline(never)]
    fn receive_kept(&mut self, at: u32, pointer: *mut u8, capacity: usize) -> Soon {
        // SAFETY: the caller of `receive_soon` vouches for the target.
        match unsafe { self.receive_waiting(at, pointer, capacity) } {
            Some(completion) => Soon::Received(completion),
            None => Soon::Started(self.receive_found(at, Target::Bytes { pointer, length: capacity })),
        }
    }
}
