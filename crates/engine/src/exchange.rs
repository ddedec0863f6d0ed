//! Exchanges between declared neighbours: one call sends to some peers and receives one message
//! from each of some others, and waits for all of them (MPI 5.0, 8.6; fast path).
//!
//! A neighbour's message is copied from the head of its stream straight into the buffer, without a
//! posted receive or a request. This preserves the order of MPI 5.0, 3.5: context, peer and tag of
//! an expected message belong to this call alone, so no other receive can match it, and older
//! messages are in the unexpected queue, which is searched first. A message that is blocked by
//! another one, or that has not arrived after a few polls, falls back to an ordinary request.

use towpath_base::events::{Event, Subscriber};
use towpath_base::ids::{ContextId, PeerIndex};
use towpath_base::transfer::{Source, Target};
use towpath_transport::{Choice, Header, Here, JobWire};

use crate::delivery;
use crate::matching::Pattern;
use crate::protocol::{self, MESSAGE_OVERHEAD};
use crate::requests::RequestId;
use crate::state::State;
use crate::{Engine, Mode};

/// Number of exchanges per round of progress. An exchange whose messages have arrived needs no
/// progress itself, but other operations in flight must advance in a program that only exchanges.
const ROUND_OF: u32 = 16;

/// One message of an exchange.
#[derive(Clone, Copy, Debug)]
pub struct ExchangeMessage {
    peer: PeerIndex,
    tag: i32,
    pointer: *mut u8,
    length: usize,
    way: MessageProgress,
}

/// State of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageProgress {
    /// Not started.
    Due,
    /// Continues as this request.
    Started(RequestId),
    /// Complete.
    Done,
}

impl ExchangeMessage {
    /// A message of `length` bytes at `pointer` to `peer`, or a buffer for one from it.
    #[inline]
    pub fn new(peer: PeerIndex, tag: i32, pointer: *mut u8, length: usize) -> ExchangeMessage {
        ExchangeMessage { peer, tag, pointer, length, way: MessageProgress::Due }
    }

    #[inline]
    fn is_expected(&self, from: PeerIndex, tag: i32) -> bool {
        self.tag == tag && self.peer == from && self.way == MessageProgress::Due
    }
}

/// The messages that one call sends and receives.
#[derive(Debug)]
pub struct Exchange<'a> {
    /// Context of all messages; no wildcard receive may be posted in it.
    pub context: ContextId,
    /// Messages to send.
    pub sends: &'a mut [ExchangeMessage],
    /// Messages to receive. No two may have the same peer and tag.
    pub receives: &'a mut [ExchangeMessage],
    /// A message was longer than its buffer; the buffer is full.
    pub truncated: bool,
    /// A peer that was lost.
    pub lost: Option<PeerIndex>,
}

/// The pending part of a nonblocking exchange.
#[derive(Debug)]
pub struct Rest {
    requests: Box<[RequestId]>,
    truncated: bool,
    lost: Option<PeerIndex>,
}

impl Rest {
    /// True if all messages are complete.
    pub fn is_complete<W: JobWire, S: Subscriber>(&self, engine: &Engine<W, S>) -> bool {
        self.requests.iter().all(|&request| engine.is_complete(request))
    }

    /// Takes the results once all messages are complete: whether any message of the exchange was
    /// truncated, and a peer that was lost.
    pub fn take<W: JobWire, S: Subscriber>(
        &self,
        engine: &mut Engine<W, S>,
    ) -> (bool, Option<PeerIndex>) {
        let (mut truncated, mut lost) = (self.truncated, self.lost);
        for completion in self.requests.iter().filter_map(|&request| engine.take(request)) {
            truncated |= completion.truncated;
            lost = lost.or_else(|| completion.lost.then_some(completion.peer));
        }
        (truncated, lost)
    }
}

/// Outcome of delivering an expected message.
struct TakenMessage {
    position: usize,
    truncated: bool,
}

impl<S: Subscriber> State<S> {
    /// Delivers a message that an exchange expects. `None` if none does; the message then stays in
    /// its stream.
    ///
    /// # Safety
    /// `payload` must be readable for `length` bytes; the buffers of `receives` must be writable.
    #[inline(always)]
    unsafe fn take_expected(
        &mut self,
        receives: &[ExchangeMessage],
        from: PeerIndex,
        tag: i32,
        payload: *const u8,
        length: usize,
    ) -> Option<TakenMessage> {
        let position = receives.iter().position(|part| part.is_expected(from, tag))?;
        let ExchangeMessage { pointer, length: room, .. } = receives[position];
        // SAFETY: `payload` is readable for `length` bytes and the part is writable (this
        // function's contract).
        let (_, truncated) = unsafe { delivery::copy(pointer, room, Here(payload, length)) };
        let bytes = length as u64;
        self.subscriber.event(Event::Matched { from, bytes, rendezvous: false });
        let peer = self.peers.at(from);
        peer.arrived += 1;
        peer.consumed += length + MESSAGE_OVERHEAD;
        if peer.consumed > self.limits.unexpected_bytes / 4 {
            self.consumed(from, None);
        }
        Some(TakenMessage { position, truncated })
    }
}

impl Exchange<'_> {
    /// Starts all messages and polls up to `rounds` times for the expected ones. True if all are
    /// complete; otherwise the caller alternates progress and [`Exchange::take_completed`] until
    /// that returns true.
    ///
    /// # Safety
    /// The send buffers must stay readable and the receive buffers writable until all messages are
    /// complete.
    #[inline]
    pub unsafe fn begin<W: JobWire, S: Subscriber>(
        &mut self,
        engine: &mut Engine<W, S>,
        rounds: u32,
    ) -> bool {
        let mut left = self.receives.len();
        if !engine.state.unexpected.is_empty() {
            left -= self.take_kept(engine);
        }
        // SAFETY: the send buffers stay readable until complete (this function's contract).
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
        // SAFETY: the receive buffers stay writable until complete (this function's contract).
        unsafe { self.post(engine) };
        self.take_completed(engine)
    }

    /// Takes expected messages from the heads of the peers' streams; `left` are outstanding.
    /// Returns how many were taken, and whether a message that only progress can handle blocks the
    /// rest.
    #[inline(always)]
    fn look<W: JobWire, S: Subscriber>(
        &mut self,
        engine: &mut Engine<W, S>,
        left: usize,
    ) -> (usize, bool) {
        let Engine { wire, state } = engine;
        let Exchange { context, receives, truncated, .. } = self;
        let (mut taken, mut foreign) = (0, false);
        let beyond = wire.poll_front(
            |from: PeerIndex, header: &Header, payload: *const u8, length: usize| {
                if header.protocol != protocol::EAGER || header.words[0] != context.0 {
                    foreign = true;
                    return Choice::Leave;
                }
                // SAFETY: `poll_front` passes a payload that is readable during this call. `look`
                // runs only inside `begin`, whose contract makes the buffers writable.
                let came = unsafe {
                    state.take_expected(
                        receives,
                        from,
                        protocol::tag(&header.words),
                        payload,
                        length,
                    )
                };
                // Any other message of this context belongs to a later call, or is behind one that
                // does, so it stays in the stream.
                let Some(came) = came else { return Choice::Leave };
                receives[came.position].way = MessageProgress::Done;
                *truncated |= came.truncated;
                taken += 1;
                if taken == left {
                    return Choice::Done;
                }
                let another = receives
                    .iter()
                    .any(|part| part.peer == from && part.way == MessageProgress::Due);
                if another { Choice::More } else { Choice::Enough }
            },
        );
        (taken, (foreign || beyond) && taken < left)
    }

    /// Matches messages that arrived before the call. Returns how many receives this completed or
    /// started.
    #[cold]
    fn take_kept<W: JobWire, S: Subscriber>(&mut self, engine: &mut Engine<W, S>) -> usize {
        let mut found = 0;
        for part in self.receives.iter_mut() {
            let pattern = Pattern::receive(self.context, Some(part.peer), Some(part.tag));
            let Some(at) = engine.state.unexpected.find(&pattern) else { continue };
            found += 1;
            // SAFETY: `payload` is readable for `length` bytes. `take_kept` runs only inside
            // `begin`, whose contract makes the buffers writable.
            let received = engine.receive_waiting(at, |payload, length| unsafe {
                delivery::copy(part.pointer, part.length, Here(payload, length))
            });
            part.way = match received {
                Some(completion) => {
                    self.truncated |= completion.truncated;
                    MessageProgress::Done
                }
                None => {
                    let room = Target::Bytes { pointer: part.pointer, length: part.length };
                    MessageProgress::Started(engine.receive_found(at, room))
                }
            };
        }
        found
    }

    /// Sends all messages. False if one could not be sent immediately.
    ///
    /// # Safety
    /// The contract of [`Exchange::begin`] applies.
    #[inline(always)]
    unsafe fn send<W: JobWire, S: Subscriber>(&mut self, engine: &mut Engine<W, S>) -> bool {
        let mut all = true;
        for part in self.sends.iter_mut() {
            let ExchangeMessage { peer, tag, pointer, length, .. } = *part;
            // SAFETY: `pointer` is readable for `length` bytes (contract of `begin`).
            let sent = unsafe { engine.try_send_now(peer, self.context, tag, 0, pointer, length) };
            part.way = MessageProgress::Done;
            if sent.is_none() {
                let source = Source::Bytes { pointer, length };
                // SAFETY: `pointer` stays readable for `length` bytes until the send completes
                // (contract of `begin`).
                part.way = MessageProgress::Started(unsafe {
                    engine.isend(peer, self.context, tag, 0, source, Mode::Standard)
                });
                all = false;
            }
        }
        all
    }

    /// True if a receive is not complete.
    #[inline]
    fn waits(&self) -> bool {
        self.receives.iter().any(|part| part.way != MessageProgress::Done)
    }

    /// Posts a request for each receive that has not been matched.
    ///
    /// # Safety
    /// The contract of [`Exchange::begin`] applies.
    #[inline(never)]
    unsafe fn post<W: JobWire, S: Subscriber>(&mut self, engine: &mut Engine<W, S>) {
        for part in self.receives.iter_mut().filter(|part| part.way == MessageProgress::Due) {
            let target = Target::Bytes { pointer: part.pointer, length: part.length };
            // SAFETY: the buffer stays writable until the receive completes (contract of `begin`).
            part.way = MessageProgress::Started(unsafe {
                engine.irecv(Some(part.peer), self.context, Some(part.tag), target)
            });
        }
    }

    /// The pending part, for a nonblocking call. The message slices are not needed any more.
    pub fn rest(&self) -> Rest {
        let parts = self.sends.iter().chain(self.receives.iter());
        let started = |part: &ExchangeMessage| {
            if let MessageProgress::Started(request) = part.way { Some(request) } else { None }
        };
        Rest {
            requests: parts.filter_map(started).collect(),
            truncated: self.truncated,
            lost: self.lost,
        }
    }

    /// Takes the results of completed requests. True if all messages are complete.
    pub fn take_completed<W: JobWire, S: Subscriber>(&mut self, engine: &mut Engine<W, S>) -> bool {
        let mut all = true;
        for part in self.sends.iter_mut().chain(self.receives.iter_mut()) {
            let MessageProgress::Started(request) = part.way else { continue };
            match engine.take(request) {
                Some(completion) => {
                    part.way = MessageProgress::Done;
                    self.truncated |= completion.truncated;
                    self.lost = self.lost.or_else(|| completion.lost.then_some(completion.peer));
                }
                None => all = false,
            }
        }
        all
    }
}
