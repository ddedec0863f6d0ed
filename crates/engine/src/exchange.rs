//! Exchanges between declared neighbours: messages to some peers and one expected from each of some
//! others, in one call that waits for all of them (MPI 5.0, 8.6; small path).
//!
//! What a neighbour sends is taken from the front of its stream straight into the buffer: no posted
//! receive, no request. That keeps the order of MPI 5.0, 3.5 because context, peer and tag of an
//! expected message are the call's own: nobody else waits for it, and what is older lies in the
//! unexpected queue, which is asked first. What stands in the way, or is not there after some
//! looks, goes the ordinary way as a request.

use towpath_base::ids::{ContextId, PeerIndex};
use towpath_base::transfer::{Source, Target};
use towpath_transport::{Choice, Header, Here, Wire};

use crate::arrivals::{State, deliver};
use crate::matching::Pattern;
use crate::protocol::{self, MESSAGE_OVERHEAD};
use crate::requests::RequestId;
use crate::{Engine, Mode};

/// Exchanges between two rounds of progress at the least. An exchange whose messages are there
/// needs none itself, but what else is under way must get on in a program that does nothing but
/// exchange.
const ROUND_OF: u32 = 16;

/// One message of an exchange.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    peer: PeerIndex,
    tag: i32,
    pointer: *mut u8,
    length: usize,
    way: Way,
}

/// How far a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Nothing has happened.
    Due,
    /// It goes on as this request.
    Started(RequestId),
    /// It is through.
    Done,
}

impl Part {
    /// A message of `length` bytes at `pointer` to a peer, or room for one from it.
    #[inline]
    pub fn new(peer: PeerIndex, tag: i32, pointer: *mut u8, length: usize) -> Part {
        Part { peer, tag, pointer, length, way: Way::Due }
    }

    #[inline]
    fn is_expected(&self, from: PeerIndex, tag: i32) -> bool {
        self.tag == tag && self.peer == from && self.way == Way::Due
    }
}

/// Messages that one call sends and receives.
#[derive(Debug)]
pub struct Exchange<'a> {
    /// Context of all of them; no receive with a wildcard may be posted in it.
    pub context: ContextId,
    /// My rank in the communicator.
    pub rank: u32,
    /// What is sent.
    pub sends: &'a mut [Part],
    /// What is received. Peer and tag must tell all of them apart.
    pub receives: &'a mut [Part],
    /// A message was longer than its room, which is full.
    pub truncated: bool,
    /// A peer was lost.
    pub lost: bool,
}

/// What is under way of an exchange whose caller does not wait.
#[derive(Debug)]
pub struct Rest {
    requests: Box<[RequestId]>,
    truncated: bool,
    lost: bool,
}

impl Rest {
    /// Whether all of it is through.
    pub fn is_complete<W: Wire>(&self, engine: &Engine<W>) -> bool {
        self.requests.iter().all(|&request| engine.is_complete(request))
    }

    /// Takes the results, once all is through: whether a message of the whole exchange was longer
    /// than its room, and whether a peer was lost.
    pub fn take<W: Wire>(&self, engine: &mut Engine<W>) -> (bool, bool) {
        let (mut truncated, mut lost) = (self.truncated, self.lost);
        for completion in self.requests.iter().filter_map(|&request| engine.take(request)) {
            truncated |= completion.truncated;
            lost |= completion.lost;
        }
        (truncated, lost)
    }
}

/// What became of an expected message that has arrived.
struct Taken {
    position: usize,
    truncated: bool,
}

impl State {
    /// Takes a message that an exchange expects; `None` leaves it where it is.
    ///
    /// # Safety
    /// `payload` must be readable for `length` bytes; the room of the receives must be writable.
    #[inline(always)]
    unsafe fn take_expected(
        &mut self,
        receives: &[Part],
        from: PeerIndex,
        tag: i32,
        payload: *const u8,
        length: usize,
    ) -> Option<Taken> {
        let position = receives.iter().position(|part| part.is_expected(from, tag))?;
        let mut target = Target::Bytes { pointer: receives[position].pointer, length: receives[position].length };
        // SAFETY: promised by the caller.
        let (_, truncated) = unsafe { deliver(&mut target, Here(payload, length)) };
        let peer = self.peers.at(from);
        peer.arrived += 1;
        peer.consumed += length + MESSAGE_OVERHEAD;
        if peer.consumed > self.limits.unexpected_bytes / 4 {
            self.consumed(from, None);
        }
        Some(Taken { position, truncated })
    }
}

impl Exchange<'_> {
    /// Starts everything, and completes what completes within `rounds` looks. True when all is
    /// through; else [`Exchange::settle`] is to be called between rounds of progress until it says
    /// so.
    ///
    /// # Safety
    /// What is sent must be readable and the room of what is received writable, until all is
    /// through.
    #[inline]
    pub unsafe fn begin<W: Wire>(&mut self, engine: &mut Engine<W>, rounds: u32) -> bool {
        let mut left = self.receives.len();
        if !engine.state.unexpected.is_empty() {
            left -= self.take_kept(engine);
        }
        // SAFETY: promised by the caller.
        let sent = unsafe { self.send(engine) };
        for _ in 0..rounds {
            if left == 0 {
                break;
            }
            let (taken, blocked) = self.look(engine, left);
            left -= taken;
            if blocked {
                break;
            }
        }
        engine.act();
        engine.state.exchanges = engine.state.exchanges.wrapping_add(1);
        if engine.state.exchanges.is_multiple_of(ROUND_OF) {
            engine.progress();
        }
        if sent && left == 0 && !self.waits() {
            return true;
        }
        // SAFETY: promised by the caller.
        unsafe { self.post(engine) };
        self.settle(engine)
    }

    /// Takes what has arrived from the streams of the peers, of which `left` messages are expected:
    /// how many came, and whether something stands in the way that needs progress.
    #[inline(always)]
    fn look<W: Wire>(&mut self, engine: &mut Engine<W>, left: usize) -> (usize, bool) {
        let Engine { wire, state } = engine;
        let Exchange { context, receives, truncated, .. } = self;
        let (mut taken, mut foreign) = (0, false);
        let beyond = wire.sift(|from: PeerIndex, header: &Header, payload: *const u8, length: usize| {
            if header.protocol != protocol::EAGER || header.words[0] != context.0 {
                foreign = true;
                return Choice::Leave;
            }
            // SAFETY: the wire lends the payload; whoever called `begin` vouches for the room.
            let came = unsafe { state.take_expected(receives, from, protocol::tag(&header.words), payload, length) };
            // What else has this context belongs to a later call, or waits behind what does: it may
            // stay.
            let Some(came) = came else { return Choice::Leave };
            receives[came.position].way = Way::Done;
            *truncated |= came.truncated;
            taken += 1;
            if taken == left {
                return Choice::Done;
            }
            let another = receives.iter().any(|part| part.peer == from && part.way == Way::Due);
            if another { Choice::More } else { Choice::Enough }
        });
        (taken, (foreign || beyond) && taken < left)
    }

    /// Takes what arrived before the call; how many receives that settles or starts.
    #[cold]
    fn take_kept<W: Wire>(&mut self, engine: &mut Engine<W>) -> usize {
        let mut found = 0;
        for part in self.receives.iter_mut() {
            let pattern = Pattern::receive(self.context, Some(part.peer), Some(part.tag));
            let Some(at) = engine.state.unexpected.find(&pattern) else { continue };
            found += 1;
            let room = || Target::Bytes { pointer: part.pointer, length: part.length };
            // SAFETY: the message is readable; whoever called `begin` vouches for the room.
            let received =
                engine.receive_waiting(at, |payload, length| unsafe { deliver(&mut room(), Here(payload, length)) });
            part.way = match received {
                Some(completion) => {
                    self.truncated |= completion.truncated;
                    Way::Done
                }
                None => Way::Started(engine.receive_found(at, room())),
            };
        }
        found
    }

    /// Sends everything; false when something has to wait.
    ///
    /// # Safety
    /// As [`Exchange::begin`].
    #[inline(always)]
    unsafe fn send<W: Wire>(&mut self, engine: &mut Engine<W>) -> bool {
        let mut all = true;
        for part in self.sends.iter_mut() {
            let Part { peer, tag, pointer, length, .. } = *part;
            // SAFETY: promised by the caller.
            let sent = unsafe { engine.try_send_now(peer, self.context, tag, self.rank, pointer, length) };
            part.way = Way::Done;
            if sent.is_none() {
                let source = Source::Bytes { pointer, length };
                // SAFETY: as above.
                part.way =
                    Way::Started(unsafe { engine.isend(peer, self.context, tag, self.rank, source, Mode::Standard) });
                all = false;
            }
        }
        all
    }

    /// Whether a receive is under way as a request.
    #[inline]
    fn waits(&self) -> bool {
        self.receives.iter().any(|part| part.way != Way::Done)
    }

    /// Makes requests of the receives that are due.
    ///
    /// # Safety
    /// As [`Exchange::begin`].
    #[inline(never)]
    unsafe fn post<W: Wire>(&mut self, engine: &mut Engine<W>) {
        for part in self.receives.iter_mut().filter(|part| part.way == Way::Due) {
            let target = Target::Bytes { pointer: part.pointer, length: part.length };
            // SAFETY: promised by the caller.
            part.way = Way::Started(unsafe { engine.irecv(Some(part.peer), self.context, Some(part.tag), target) });
        }
    }

    /// What is under way, for a call that does not wait. The parts are not needed any more.
    pub fn rest(&self) -> Rest {
        let parts = self.sends.iter().chain(self.receives.iter());
        let started = |part: &Part| if let Way::Started(request) = part.way { Some(request) } else { None };
        Rest { requests: parts.filter_map(started).collect(), truncated: self.truncated, lost: self.lost }
    }

    /// Takes the results of requests that are complete. True when all is through.
    pub fn settle<W: Wire>(&mut self, engine: &mut Engine<W>) -> bool {
        let mut all = true;
        for part in self.sends.iter_mut().chain(self.receives.iter_mut()) {
            let Way::Started(request) = part.way else { continue };
            match engine.take(request) {
                Some(completion) => {
                    part.way = Way::Done;
                    self.truncated |= completion.truncated;
                    self.lost |= completion.lost;
                }
                None => all = false,
            }
        }
        all
    }
}
