//! The order model: a naive, independent model of which send must match which receive (MPI 5.0,
//! 3.2.3 to 3.8), run in lockstep with engines that perform random operations on any wire.
//!
//! The sends of a pair form one stream in call order, and each arrival must be the next element of
//! that stream. Each rank has two plain lists (posted, unexpected), searched from the front. Every
//! completion and probe of the engine is compared with the model.

use std::collections::{BTreeMap, VecDeque};

use towpath_base::events::Event;
use towpath_base::ids::ContextId;
use towpath_base::transfer::Target;
use towpath_engine::testing::Random;
use towpath_engine::{
    Completion, EarlyOutcome, Engine, Envelope, MessageId, Mode, RequestId, protocol,
};
use towpath_transport::wrap::Observed;
use towpath_transport::{Header, JobWire};

use super::{ContiguousPlace, bytes, packed, pattern, peer, room, unpacked};

/// A wire that records its arrivals, from which the model computes what must match.
pub type Recorded<W> = Observed<W, Vec<Event>>;

pub fn recorded<W: JobWire>(wire: W) -> Recorded<W> {
    Observed::new(wire, Vec::new())
}

/// The longest message, and the capacity of a receive that never truncates.
const LONGEST: usize = 1 << 20;

/// A send in the model, until both of its ends are complete.
struct Sent {
    from: usize,
    to: usize,
    context: u64,
    tag: i32,
    data: Vec<u8>,
    /// `None` once the sender has its completion.
    request: Option<RequestId>,
    synchronous: bool,
    announced: bool,
    /// Announced for lack of credit, so it may have been fetched.
    postponed: bool,
    number: Option<u64>,
    matched: bool,
    cancelled: bool,
    /// Received and compared, or cancelled.
    complete: bool,
}

/// A receive in the model, until it is complete.
struct Receive {
    context: u64,
    source: Option<usize>,
    tag: Option<i32>,
    buffer: Vec<u8>,
    capacity: usize,
    request: RequestId,
    matched: Option<u64>,
    cancelled: bool,
}

impl Receive {
    fn takes(&self, sent: &Sent) -> bool {
        wants(self.context, self.source, self.tag, sent)
    }
}

fn wants(context: u64, source: Option<usize>, tag: Option<i32>, sent: &Sent) -> bool {
    context == sent.context
        && source.is_none_or(|s| s == sent.from)
        && tag.is_none_or(|t| t == sent.tag)
}

/// The model of one rank as a receiver.
#[derive(Default)]
struct Rank {
    posted: Vec<u64>,
    unexpected: Vec<u64>,
    extracted: Vec<(MessageId, u64)>,
    receives: BTreeMap<u64, Receive>,
    sends: Vec<u64>,
    /// By sender: sends that have not arrived, in order, and the number that have.
    streams: Vec<(VecDeque<u64>, u64)>,
}

/// The engines, and the model of what they must do.
pub struct Model<W: JobWire> {
    /// One engine per rank.
    pub engines: Vec<Engine<Recorded<W>>>,
    ranks: Vec<Rank>,
    sent: BTreeMap<u64, Sent>,
    next: u64,
    random: Random,
    /// Free buffers of `LONGEST` bytes. Their old content never equals a message that can still
    /// arrive.
    spare: Vec<Vec<u8>>,
    /// Maximum number of open receives of a rank, and of sends of a pair that have not arrived.
    open: usize,
    /// Messages started so far.
    pub messages: usize,
    /// Event counts: matches of posted receives, of unexpected messages, successful probes,
    /// successful cancels, failed cancels, and receives with progress of their own that did, or did
    /// not, get their message in time.
    pub seen: [usize; 7],
    /// Messages that were postponed for lack of credit.
    pub postponed: usize,
    /// Whether sends are cancelled. The model does not know whether a postponed message has been
    /// fetched.
    pub cancels_sends: bool,
}

impl<W: JobWire> Model<W> {
    pub fn new(engines: Vec<Engine<Recorded<W>>>, seed: u64, open: usize) -> Model<W> {
        let size = engines.len();
        let rank = || Rank { streams: vec![Default::default(); size], ..Rank::default() };
        let ranks = std::iter::repeat_with(rank).take(size).collect();
        let random = Random(seed);
        Model {
            engines,
            ranks,
            sent: BTreeMap::new(),
            next: 0,
            random,
            spare: Vec::new(),
            open,
            messages: 0,
            seen: [0; 7],
            postponed: 0,
            cancels_sends: true,
        }
    }

    /// Arrived messages of the ordered pair with the fewest.
    pub fn fewest_of_a_pair(&self) -> u64 {
        self.ranks.iter().flat_map(|rank| &rank.streams).map(|stream| stream.1).min().unwrap_or(0)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound as u64) as usize
    }

    fn name(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Performs one random action of a random rank.
    pub fn step(&mut self) {
        let me = self.below(self.engines.len());
        match self.below(100) {
            0..30 => self.send(me),
            30..55 => self.receive(me),
            55..60 => self.probe(me),
            60..64 => self.matched_probe(me),
            64..70 => self.matched_receive(me),
            70..74 => self.cancel_receive(me),
            74..78 if self.cancels_sends => self.cancel_send(me),
            _ => self.progress(me),
        }
    }

    fn length(&mut self) -> usize {
        match self.below(1000) {
            0..600 => self.below(65),
            600..850 => self.below(1000),
            850..980 => self.below(8192),
            980..998 => self.below(1 << 16),
            _ => self.below(LONGEST + 1),
        }
    }

    fn pattern_of_receive(&mut self) -> (u64, Option<usize>, Option<i32>) {
        let context = self.below(2) as u64;
        let source = (self.below(3) > 0).then(|| self.below(self.engines.len()));
        let tag = (self.below(3) > 0).then(|| self.below(3) as i32);
        (context, source, tag)
    }

    fn send(&mut self, me: usize) {
        let to = self.below(self.engines.len());
        if self.ranks[to].streams[me].0.len() >= self.open
            || self.ranks[me].sends.len() >= 4 * self.open
        {
            return self.progress(me);
        }
        let (name, length, context, tag) =
            (self.name(), self.length(), self.below(2) as u64, self.below(3) as i32);
        let data = pattern(name, length);
        let kind = self.below(10);
        let synchronous = kind < 3;
        let source = if kind & 1 == 0 {
            bytes(&data)
        } else {
            packed(&data, 1 + self.below(50) + length / 500)
        };
        let mode = [Mode::Standard, Mode::Synchronous][usize::from(synchronous)];
        let engine = &mut self.engines[me];
        let (on, rank) = (ContextId(context), me as u32 + 500);
        // SAFETY: `slot` is writable for `length` bytes, and `data` has that many.
        let fill =
            |slot: *mut u8| unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), slot, length) };
        // SAFETY: the model keeps `data` until the send is complete.
        let request = unsafe {
            let is_out = (kind == 9
                && engine.try_send_now(peer(to), on, tag, rank, data.as_ptr(), length).is_some())
                || (kind == 8
                    && engine.try_send_filled(peer(to), on, tag, rank, length, fill).is_some());
            (!is_out).then(|| engine.isend(peer(to), on, tag, rank, source, mode))
        };
        let sent = Sent {
            from: me,
            to,
            context,
            tag,
            data,
            request,
            synchronous,
            announced: false,
            postponed: false,
            number: None,
            matched: false,
            cancelled: false,
            complete: false,
        };
        self.messages += 1;
        self.sent.insert(name, sent);
        self.ranks[to].streams[me].0.push_back(name);
        self.ranks[me].sends.push(name);
        self.check_sends(me);
    }

    fn receive(&mut self, me: usize) {
        if self.ranks[me].receives.len() >= self.open {
            return self.progress(me);
        }
        let (context, source, tag) = self.pattern_of_receive();
        match self.below(10) {
            0 => {
                let capacity = self.below(100);
                self.receive_with(me, context, source, tag, capacity);
            }
            1 => self.receive_now(me, context, source, tag),
            2..8 => self.receive_soon(me, context, source, tag),
            _ => self.receive_with(me, context, source, tag, LONGEST),
        }
    }

    fn receive_with(
        &mut self,
        me: usize,
        context: u64,
        source: Option<usize>,
        tag: Option<i32>,
        capacity: usize,
    ) {
        let expected = self.first_unexpected(me, context, source, tag);
        let mut buffer = self.buffer(capacity);
        let target = self.target(&mut buffer);
        let engine = &mut self.engines[me];
        // SAFETY: the model keeps the buffer until the receive is complete.
        let request = unsafe { engine.irecv(source.map(peer), ContextId(context), tag, target) };
        let receive = Receive {
            context,
            source,
            tag,
            buffer,
            capacity,
            request,
            matched: expected,
            cancelled: false,
        };
        let name = self.name();
        match expected {
            Some(message) => self.take_unexpected(me, message),
            None => self.ranks[me].posted.push(name),
        }
        self.ranks[me].receives.insert(name, receive);
        self.check_receives(me);
    }

    fn buffer(&mut self, capacity: usize) -> Vec<u8> {
        let spare = if capacity == LONGEST { self.spare.pop() } else { None };
        spare.unwrap_or_else(|| vec![0; capacity])
    }

    fn target(&mut self, buffer: &mut [u8]) -> Target {
        if self.below(2) == 0 { room(buffer) } else { unpacked(buffer) }
    }

    /// An immediate receive gets the same message as any other, unless that message is announced.
    fn receive_now(&mut self, me: usize, context: u64, source: Option<usize>, tag: Option<i32>) {
        let Some(message) = self.first_unexpected(me, context, source, tag) else { return };
        let mut buffer = vec![0; 99];
        // SAFETY: `buffer` is a local of 99 bytes.
        let done = unsafe {
            self.engines[me].try_receive_now(
                source.map(peer),
                ContextId(context),
                tag,
                buffer.as_mut_ptr(),
                99,
            )
        };
        let sent = &self.sent[&message];
        assert!(sent.postponed || done.is_none() == sent.announced);
        if let Some(done) = done {
            self.take_unexpected(me, message);
            self.compare(message, &done, &buffer, 99);
        }
    }

    /// A receive with progress of its own is the newest posted one during the call, and a request
    /// afterwards.
    fn receive_soon(&mut self, me: usize, context: u64, source: Option<usize>, tag: Option<i32>) {
        let expected = self.first_unexpected(me, context, source, tag);
        let capacity = [40, LONGEST][self.below(2)];
        let rounds = self.below(4) as u32;
        let mut buffer = self.buffer(capacity);
        let (pointer, from, on) = (buffer.as_mut_ptr(), source.map(peer), ContextId(context));
        let in_place = self.messages.is_multiple_of(2);
        let engine = &mut self.engines[me];
        // SAFETY: the model keeps the buffer until the receive is complete.
        let soon = unsafe {
            match in_place {
                true => engine.receive_soon_into(
                    from,
                    on,
                    tag,
                    &ContiguousPlace(pointer, capacity),
                    rounds,
                ),
                false => engine.receive_soon(from, on, tag, pointer, capacity, rounds),
            }
        };
        let request =
            if let EarlyOutcome::Started(request) = soon { request } else { RequestId(u64::MAX) };
        let receive = Receive {
            context,
            source,
            tag,
            buffer,
            capacity,
            request,
            matched: expected,
            cancelled: false,
        };
        let name = self.name();
        self.ranks[me].receives.insert(name, receive);
        match expected {
            Some(message) => self.take_unexpected(me, message),
            None => self.ranks[me].posted.push(name),
        }
        self.look_at_arrivals(me);
        if expected.is_none() && rounds > 0 {
            self.seen[if self.ranks[me].receives[&name].matched.is_some() { 5 } else { 6 }] += 1;
        }
        if let EarlyOutcome::Received(done) = soon {
            let receive = self.ranks[me].receives.remove(&name).expect("it was just put there");
            let message = receive.matched.expect("a receive matched what it should not");
            assert!(
                !self.sent[&message].announced,
                "an announced message cannot be through at once"
            );
            self.compare(message, &done, &receive.buffer, capacity);
        }
        self.check_receives(me);
        self.check_sends(me);
    }

    fn first_unexpected(
        &self,
        me: usize,
        context: u64,
        source: Option<usize>,
        tag: Option<i32>,
    ) -> Option<u64> {
        self.ranks[me]
            .unexpected
            .iter()
            .copied()
            .find(|name| wants(context, source, tag, &self.sent[name]))
    }

    fn take_unexpected(&mut self, me: usize, message: u64) {
        self.ranks[me].unexpected.retain(|name| *name != message);
        self.account(message).matched = true;
        self.seen[1] += 1;
    }

    fn account(&mut self, message: u64) -> &mut Sent {
        self.sent.get_mut(&message).expect("the message is in the account")
    }

    fn envelope(&self, message: u64) -> Envelope {
        let sent = &self.sent[&message];
        let (peer, source_rank) = (peer(sent.from), sent.from as u32 + 500);
        Envelope { peer, source_rank, tag: sent.tag, bytes: sent.data.len() as u64 }
    }

    fn probe(&mut self, me: usize) {
        let (context, source, tag) = self.pattern_of_receive();
        let expected =
            self.first_unexpected(me, context, source, tag).map(|message| self.envelope(message));
        assert_eq!(self.engines[me].iprobe(source.map(peer), ContextId(context), tag), expected);
        self.seen[2] += usize::from(expected.is_some());
    }

    fn matched_probe(&mut self, me: usize) {
        let (context, source, tag) = self.pattern_of_receive();
        let expected = self.first_unexpected(me, context, source, tag);
        let found = self.engines[me].improbe(source.map(peer), ContextId(context), tag);
        assert_eq!(found.map(|f| f.1), expected.map(|message| self.envelope(message)));
        if let (Some((handle, _)), Some(message)) = (found, expected) {
            self.take_unexpected(me, message);
            self.ranks[me].extracted.push((handle, message));
        }
    }

    fn matched_receive(&mut self, me: usize) {
        if self.ranks[me].extracted.is_empty() {
            return;
        }
        let which = self.below(self.ranks[me].extracted.len());
        let (handle, message) = self.ranks[me].extracted.swap_remove(which);
        let capacity = LONGEST;
        let mut buffer = self.buffer(capacity);
        let target = self.target(&mut buffer);
        // SAFETY: the model keeps the buffer until the receive is complete.
        let request =
            unsafe { self.engines[me].imrecv(handle, target) }.expect("the message is there");
        let matched = Some(message);
        let (source, tag, cancelled) = (None, None, false);
        let receive =
            Receive { context: 0, source, tag, buffer, capacity, request, matched, cancelled };
        let name = self.name();
        self.ranks[me].receives.insert(name, receive);
        self.check_receives(me);
    }

    fn cancel_receive(&mut self, me: usize) {
        let count = self.ranks[me].receives.len();
        if count == 0 {
            return;
        }
        let which = self.below(count);
        let rank = &mut self.ranks[me];
        let Some((name, receive)) = rank.receives.iter_mut().nth(which) else { return };
        self.engines[me].cancel(receive.request);
        if receive.matched.is_none() {
            receive.cancelled = true;
            rank.posted.retain(|posted| posted != name);
        }
        self.check_receives(me);
    }

    fn cancel_send(&mut self, me: usize) {
        if self.ranks[me].sends.is_empty() {
            return;
        }
        let which = self.below(self.ranks[me].sends.len());
        let name = self.ranks[me].sends[which];
        let Some(request) = self.sent[&name].request else { return };
        let finished = self.engines[me].is_complete(request);
        self.engines[me].cancel(request);
        if self.sent[&name].to == me && self.ranks[me].unexpected.contains(&name) {
            return self.cancel_own(me, name, request);
        }
        if finished || !self.engines[me].is_complete(request) {
            return;
        }
        // Cancelled before it was on the wire.
        let to = self.sent[&name].to;
        let stream = &mut self.ranks[to].streams[me].0;
        let length = stream.len();
        stream.retain(|other| *other != name);
        assert_eq!(
            stream.len() + 1,
            length,
            "only a message that is not on the wire is cancelled at once"
        );
        let sent = self.account(name);
        (sent.cancelled, sent.complete) = (true, true);
        self.check_sends(me);
    }

    /// A message to the sender itself that has arrived is cancelled immediately, unless a cancel
    /// request for it is already in flight.
    fn cancel_own(&mut self, me: usize, name: u64, request: RequestId) {
        if self.engines[me].peek(request).is_some_and(|done| done.cancelled) {
            self.take_back(me, name);
            self.check_sends(me);
        }
    }

    /// The receiver drops an unmatched message.
    fn take_back(&mut self, receiver: usize, name: u64) {
        self.seen[3] += 1;
        self.ranks[receiver].unexpected.retain(|other| *other != name);
        let sent = self.account(name);
        (sent.cancelled, sent.complete) = (true, true);
        self.forget(name);
    }

    fn progress(&mut self, me: usize) {
        self.engines[me].progress();
        self.look_at_arrivals(me);
        self.check_receives(me);
        self.check_sends(me);
    }

    fn look_at_arrivals(&mut self, me: usize) {
        for event in std::mem::take(self.engines[me].wire_mut().subscriber()) {
            if let Event::MessageArrived { from, protocol, words, .. } = event {
                self.arrived(me, from.slot(), Header { protocol, words });
            }
        }
    }

    fn arrived(&mut self, me: usize, from: usize, header: Header) {
        match header.protocol {
            protocol::EAGER
            | protocol::EAGER_SYNCHRONOUS
            | protocol::ANNOUNCE
            | protocol::POSTPONE => {
                let stream = &mut self.ranks[me].streams[from];
                let name = stream.0.pop_front().expect("something arrives that was not sent");
                let number = stream.1;
                stream.1 += 1;
                let sent = self.account(name);
                let envelope = [sent.context, (from as u64 + 500) << 32 | sent.tag as u64];
                assert_eq!(header.words, envelope, "messages of a pair overtake each other");
                sent.number = Some(number);
                sent.announced = header.protocol == protocol::ANNOUNCE;
                sent.postponed = header.protocol == protocol::POSTPONE;
                self.postponed += usize::from(sent.postponed);
                self.match_arrival(me, name);
            }
            protocol::CANCEL => {
                let unmatched = &self.ranks[me].unexpected;
                let same = |name: &&u64| {
                    self.sent[name].from == from && self.sent[name].number == Some(header.words[0])
                };
                let found = unmatched.iter().find(same).copied();
                match found {
                    Some(name) => self.take_back(me, name),
                    None => self.seen[4] += 1,
                }
            }
            _ => {}
        }
    }

    fn match_arrival(&mut self, me: usize, name: u64) {
        let rank = &mut self.ranks[me];
        let sent = self.sent.get_mut(&name).expect("the message is in the account");
        match rank.posted.iter().position(|receive| rank.receives[receive].takes(sent)) {
            None => rank.unexpected.push(name),
            Some(position) => {
                let receive = rank.posted.remove(position);
                rank.receives.get_mut(&receive).expect("posted receives are open").matched =
                    Some(name);
                sent.matched = true;
                self.seen[0] += 1;
            }
        }
    }

    /// Exactly the receives that the model has as matched or cancelled must be complete.
    fn check_receives(&mut self, me: usize) {
        let names: Vec<u64> = self.ranks[me].receives.keys().copied().collect();
        for name in names {
            let receive = &self.ranks[me].receives[&name];
            let Some(done) = self.engines[me].take(receive.request) else {
                let waits = receive.matched.is_none_or(|message| {
                    self.sent[&message].announced || self.sent[&message].postponed
                });
                assert!(waits && !receive.cancelled, "a receive should be complete");
                continue;
            };
            let Some(receive) = self.ranks[me].receives.remove(&name) else { continue };
            assert_eq!(done.cancelled, receive.cancelled);
            assert!(
                receive.cancelled || receive.matched.is_some(),
                "a receive matched what it should not: {done:?}"
            );
            if let Some(message) = receive.matched {
                self.compare(message, &done, &receive.buffer, receive.capacity);
            }
            if receive.capacity == LONGEST {
                self.spare.push(receive.buffer);
            }
        }
    }

    fn compare(&mut self, message: u64, done: &Completion, buffer: &[u8], capacity: usize) {
        let envelope = self.envelope(message);
        let sent = self.account(message);
        let taken = sent.data.len().min(capacity);
        assert_eq!(
            (done.peer, done.source_rank, done.tag),
            (envelope.peer, envelope.source_rank, envelope.tag)
        );
        assert_eq!((done.bytes, done.truncated), (taken as u64, sent.data.len() > capacity));
        assert!(buffer[..taken] == sent.data[..taken], "the bytes of another message");
        assert!(!done.lost && sent.matched);
        sent.complete = true;
        self.forget(message);
    }

    fn check_sends(&mut self, me: usize) {
        let names = self.ranks[me].sends.clone();
        let mut finished = Vec::new();
        for name in names {
            let Some(sent) = self.sent.get_mut(&name) else { continue };
            if let Some(request) = sent.request {
                // Keep a finished send open for a while, so that it can be cancelled.
                if !sent.cancelled && !sent.matched && self.random.below(8) > 0 {
                    let early = self.engines[me].is_complete(request)
                        && (sent.synchronous || sent.announced);
                    assert!(!early, "a send is complete before its receive");
                    continue;
                }
                let Some(done) = self.engines[me].take(request) else { continue };
                assert_eq!(done.cancelled, sent.cancelled);
                assert!(sent.cancelled || sent.matched || !(sent.synchronous || sent.announced));
                assert_eq!((done.bytes, done.lost), (sent.data.len() as u64, false));
                sent.request = None;
            }
            finished.push(name);
        }
        self.ranks[me].sends.retain(|name| !finished.contains(name));
        finished.into_iter().for_each(|name| self.forget(name));
    }

    /// Drops a send once both of its ends are complete.
    fn forget(&mut self, name: u64) {
        if self.sent.get(&name).is_some_and(|sent| sent.complete && sent.request.is_none()) {
            self.sent.remove(&name);
        }
    }

    /// Receives everything that is left; afterwards nothing is open.
    pub fn finish(&mut self) {
        for round in 0.. {
            assert!(round < super::PATIENCE, "{} messages are never complete", self.sent.len());
            for me in 0..self.engines.len() {
                self.progress(me);
                self.matched_receive(me);
                while let Some(name) = self.ranks[me].unexpected.first() {
                    let context = self.sent[name].context;
                    self.receive_with(me, context, None, None, LONGEST);
                }
            }
            if self.sent.is_empty() {
                break;
            }
        }
        for me in 0..self.engines.len() {
            while !self.ranks[me].receives.is_empty() {
                self.cancel_receive(me);
                self.progress(me);
            }
            self.engines.iter_mut().for_each(|engine| {
                engine.progress();
            });
        }
        assert!(self.engines.iter().all(|engine| !engine.busy()), "an engine still owes something");
    }
}
