//! Transmission to the peer, in this order: greetings, frames of the stream, requests, probes,
//! acknowledgements, and finally the bulk that the peer requested. State changes only after the
//! [`Io`] has accepted a frame, so a full interface costs no more than an attempt.

#![forbid(unsafe_code)]

use super::Peer;
use super::receive::NO_ECHO;
use crate::Time;
use crate::frame::{ASLEEP, ENDED, FrameHeader, Kind, stamp};
use crate::io::{FrameBody, Io};
use crate::timer::{MICROSECOND, SECOND, gather_until};
use crate::window::FrameContent;

/// Maximum number of bulk frames per call; the rest follows with the next call.
const BURST: usize = 64;

/// Delay before a full interface is tried again.
const RETRY: Time = 20 * MICROSECOND;

/// A frame to be sent: kind, rail, sequence field, words.
type Wanted = (Kind, u8, u32, [u32; 2]);

impl Peer {
    /// Sends everything that may be sent now.
    pub(super) fn flush(&mut self, now: Time, io: &mut impl Io) {
        self.retry = None;
        let waits = self.is_busy();
        self.waits_since = if waits { self.waits_since.or(Some(now)) } else { None };
        self.greet(now, io);
        if self.session.is_none() {
            return;
        }
        let mut blocked = 0;
        self.stream(now, &mut blocked, io);
        self.ask(now, &mut blocked, io);
        self.probe(now, &mut blocked, io);
        self.acknowledge(now, &mut blocked, io);
        self.answer(now, &mut blocked, io);
        if blocked != 0 {
            self.retry = Some(now + RETRY);
        }
    }

    fn emit(
        &mut self,
        (kind, rail, sequence, words): Wanted,
        body: FrameBody<'_>,
        io: &mut impl Io,
    ) -> bool {
        let (length, checked) = match body {
            FrameBody::Own(bytes) => {
                (bytes.len() as u16, if kind.body_bytes().is_some() { bytes } else { &[] })
            }
            FrameBody::Message { length, .. } | FrameBody::Region { length, .. } => {
                (length, &[][..])
            }
        };
        let header = FrameHeader {
            sequence,
            source: self.own.rank,
            endpoint: self.endpoint,
            length,
            kind,
            rail,
            flags: if self.asleep { ASLEEP } else { 0 },
            session: self.session.map_or(0, |session| session.number),
            acknowledged: self.sequence.next(),
            words,
        };
        let taken = io.send(self.rank, rail, &header.encode(&self.own.key, checked), body);
        if taken && !self.sequence.has_gap() {
            self.delay.carried();
        }
        taken
    }

    fn greet(&mut self, now: Time, io: &mut impl Io) {
        let Some((words, ended)) = self.incarnations.greeting(now, self.owes()) else { return };
        let rail = self.greet_over.unwrap_or(self.greetings % self.rails.count());
        let header = FrameHeader {
            sequence: stamp(now),
            source: self.own.rank,
            endpoint: self.endpoint,
            length: 0,
            kind: Kind::Greeting,
            rail,
            flags: if ended { ENDED } else { 0 },
            session: 0,
            acknowledged: 0,
            words,
        };
        if io.send(self.rank, rail, &header.encode(&self.own.key, &[]), FrameBody::Own(&[])) {
            self.incarnations.sent(now);
            self.greet_over = None;
            self.greetings = self.greetings.wrapping_add(1);
        } else {
            self.retry = Some(now + RETRY);
        }
    }

    /// Sends frames of the ordered stream: lost ones, then new ones unless they are held back for
    /// batching.
    fn stream(&mut self, now: Time, blocked: &mut u8, io: &mut impl Io) {
        loop {
            while self.window.room() > 0
                && let Some((kind, pair)) = self.notices.pop_front()
            {
                self.window.push(now, kind, 0, FrameContent::Own(pair.encode()));
            }
            let (waiting, oldest) = self.window.waiting();
            let gathers = self.peer_asleep && self.settings.gathers;
            let new =
                oldest.is_some_and(|oldest| gather_until(gathers, waiting, oldest, now).is_none());
            let mut more = true;
            while more
                && let Some((number, flight)) =
                    self.window.next(new).map(|(number, flight)| (number, *flight))
            {
                let again = self.window.tries() > 0;
                let rail =
                    if again { self.rails.other_than(flight.rail) } else { self.rails.best() };
                if *blocked >> rail & 1 != 0 {
                    return;
                }
                let wanted = (flight.kind, rail, number, [stamp(now), flight.word]);
                let taken = match flight.content {
                    FrameContent::Own(bytes) => self.emit(wanted, FrameBody::Own(&bytes), io),
                    FrameContent::Part { buffer, offset, length, .. } => {
                        self.emit(wanted, FrameBody::Message { buffer, offset, length }, io)
                    }
                };
                if taken {
                    self.window.sent(number, rail, now);
                } else {
                    *blocked |= 1 << rail;
                    more = false;
                }
            }
            // Notices that found no room before can be queued only after an acknowledgement.
            if !more || self.notices.is_empty() || self.window.room() == 0 {
                return;
            }
        }
    }

    fn ask(&mut self, now: Time, blocked: &mut u8, io: &mut impl Io) {
        while let Some(request) = self.pulls.next(*blocked) {
            let wanted = (Kind::Ask, request.rail, stamp(now), [request.number, 0]);
            if self.emit(wanted, FrameBody::Own(&request.ask.encode()), io) {
                self.pulls.asked(request.number, &self.rails, self.peer_asleep, now);
            } else {
                *blocked |= 1 << request.rail;
            }
        }
    }

    /// Sends echoes of the peer's probes, probes of rails, and keep-alive probes to a peer that
    /// owes a response.
    fn probe(&mut self, now: Time, blocked: &mut u8, io: &mut impl Io) {
        for rail in 0..self.rails.count() {
            if let Some(theirs) = self.echoes[usize::from(rail)]
                && *blocked >> rail & 1 == 0
            {
                if self.emit((Kind::Echo, rail, theirs, [0; 2]), FrameBody::Own(&[]), io) {
                    self.echoes[usize::from(rail)] = None;
                } else {
                    *blocked |= 1 << rail;
                }
            }
        }
        while let Some(rail) = self.rails.probe(now) {
            // A rail that accepts no frame is treated like one that does not answer.
            self.emit((Kind::Probe, rail, stamp(now), [0; 2]), FrameBody::Own(&[]), io);
            self.rails.probed(rail, now);
        }
        let quiet = self.waits_since.map(|since| since.max(self.heard) + SECOND);
        if quiet.is_some_and(|at| at <= now) && self.sign_at <= now {
            let rail = self.rails.best();
            self.emit((Kind::Probe, rail, stamp(now), [0; 2]), FrameBody::Own(&[]), io);
            self.sign_at = now + SECOND;
        }
    }

    fn acknowledge(&mut self, now: Time, blocked: &mut u8, io: &mut impl Io) {
        if !self.announce && self.delay.due().is_none_or(|due| due > now) {
            return;
        }
        let newest = self.delay.newest();
        let rail = newest.map_or_else(|| self.rails.best(), |newest| newest.rail);
        if *blocked >> rail & 1 != 0 {
            return;
        }
        let words = match newest {
            Some(newest) => [
                newest.stamp,
                (now.saturating_sub(newest.at) >> 6).min(Time::from(NO_ECHO - 1)) as u32,
            ],
            None => [0, NO_ECHO],
        };
        let bitmap = self.sequence.bitmap().to_le_bytes();
        if self.emit((Kind::Acknowledge, rail, stamp(now), words), FrameBody::Own(&bitmap), io) {
            self.delay.carried();
            self.announce = false;
        } else {
            *blocked |= 1 << rail;
        }
    }

    /// Sends a keep-alive frame over each rail, so that switches on the path learn where this
    /// process is.
    pub(crate) fn keep_alive(&mut self, now: Time, io: &mut impl Io) {
        if self.session.is_none() {
            return;
        }
        let bitmap = self.sequence.bitmap().to_le_bytes();
        for rail in 0..self.rails.count() {
            // A frame that is not accepted now is not retried.
            self.emit(
                (Kind::Acknowledge, rail, stamp(now), [0, NO_ECHO]),
                FrameBody::Own(&bitmap),
                io,
            );
        }
    }

    /// Sends bulk that the peer requested.
    fn answer(&mut self, now: Time, blocked: &mut u8, io: &mut impl Io) {
        for _ in 0..BURST {
            let Some(chunk) = self.regions.next(*blocked) else { return };
            let wanted = (Kind::Data, chunk.rail, chunk.stamp, [chunk.request, chunk.index]);
            let body = FrameBody::Region {
                token: chunk.token,
                offset: chunk.offset,
                length: chunk.length,
            };
            if self.emit(wanted, body, io) {
                self.regions.sent(&chunk);
            } else {
                *blocked |= 1 << chunk.rail;
            }
        }
        if self.regions.has_answers() {
            self.retry = Some(now);
        }
    }

    /// Requests parts of a broadcast; false if the rail accepts nothing now.
    pub(crate) fn ask_repair(
        &mut self,
        now: Time,
        words: [u32; 2],
        pair: super::Pair,
        io: &mut impl Io,
    ) -> bool {
        let rail = self.rails.best();
        self.session.is_some()
            && self.emit(
                (Kind::Repair, rail, stamp(now), words),
                FrameBody::Own(&pair.encode()),
                io,
            )
    }
}
