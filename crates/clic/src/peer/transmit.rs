//! What goes out to the peer next: greetings, frames of the stream, acknowledgements, requests,
//! probes, and last the bulk that the peer asked for. Nothing changes before the outlet has taken
//! the frame, so that a full interface costs an attempt and no more.

#![forbid(unsafe_code)]

use super::Peer;
use super::receive::NO_ECHO;
use crate::Time;
use crate::frame::{ASLEEP, ENDED, Header, Kind, stamp};
use crate::outlet::{Body, Outlet};
use crate::timer::{MICROSECOND, SECOND, gather_until};
use crate::window::Content;

/// Most frames of bulk in one go; the rest follows with the next call.
const BURST: usize = 64;

/// When a full interface is tried again.
const RETRY: Time = 20 * MICROSECOND;

/// A frame that wants to go out: kind, rail, sequence field, words.
type Wanted = (Kind, u8, u32, [u32; 2]);

impl Peer {
    /// Sends all that may go now.
    pub(super) fn flush(&mut self, now: Time, outlet: &mut impl Outlet) {
        self.retry = None;
        let waits = self.is_busy();
        self.waits_since = if waits { self.waits_since.or(Some(now)) } else { None };
        self.greet(now, outlet);
        if self.session.is_none() {
            return;
        }
        let mut blocked = 0;
        self.stream(now, &mut blocked, outlet);
        self.ask(now, &mut blocked, outlet);
        self.probe(now, &mut blocked, outlet);
        self.acknowledge(now, &mut blocked, outlet);
        self.answer(now, &mut blocked, outlet);
        if blocked != 0 {
            self.retry = Some(now + RETRY);
        }
    }

    fn emit(&mut self, (kind, rail, sequence, words): Wanted, body: Body<'_>, outlet: &mut impl Outlet) -> bool {
        let (length, checked) = match body {
            Body::Own(bytes) => (bytes.len() as u16, if kind.body_bytes().is_some() { bytes } else { &[] }),
            Body::Message { length, .. } | Body::Region { length, .. } => (length, &[][..]),
        };
        let header = Header {
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
        let taken = outlet.send(self.rank, rail, &header.encode(&self.own.key, checked), body);
        if taken && !self.sequence.has_gap() {
            self.delay.carried();
        }
        taken
    }

    fn greet(&mut self, now: Time, outlet: &mut impl Outlet) {
        let Some((words, ended)) = self.epoch.greeting(now, self.owes()) else { return };
        let rail = self.greet_over.unwrap_or(self.greetings % self.rails.count());
        let header = Header {
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
        if outlet.send(self.rank, rail, &header.encode(&self.own.key, &[]), Body::Own(&[])) {
            self.epoch.sent(now);
            self.greet_over = None;
            self.greetings = self.greetings.wrapping_add(1);
        } else {
            self.retry = Some(now + RETRY);
        }
    }

    /// Frames of the ordered stream: lost ones, then new ones, unless they wait for company.
    fn stream(&mut self, now: Time, blocked: &mut u8, outlet: &mut impl Outlet) {
        loop {
            while self.window.room() > 0
                && let Some((kind, pair)) = self.notices.pop_front()
            {
                self.window.push(now, kind, 0, Content::Own(pair.encode()));
            }
            let (waiting, oldest) = self.window.waiting();
            let gathers = self.peer_asleep && self.settings.gathers;
            let new = oldest.is_some_and(|oldest| gather_until(gathers, waiting, oldest, now).is_none());
            let mut more = true;
            while more && let Some((number, flight)) = self.window.next(new).map(|(number, flight)| (number, *flight)) {
                let again = self.window.tries() > 0;
                let rail = if again { self.rails.other_than(flight.rail) } else { self.rails.best() };
                if *blocked >> rail & 1 != 0 {
                    return;
                }
                let wanted = (flight.kind, rail, number, [stamp(now), flight.word]);
                let taken = match flight.content {
                    Content::Own(bytes) => self.emit(wanted, Body::Own(&bytes), outlet),
                    Content::Part { buffer, offset, length, .. } => {
                        self.emit(wanted, Body::Message { buffer, offset, length }, outlet)
                    }
                };
                if taken {
                    self.window.sent(number, rail, now);
                } else {
                    *blocked |= 1 << rail;
                    more = false;
                }
            }
            // Notices that found no room before do so only when something is acknowledged.
            if !more || self.notices.is_empty() || self.window.room() == 0 {
                return;
            }
        }
    }

    fn ask(&mut self, now: Time, blocked: &mut u8, outlet: &mut impl Outlet) {
        while let Some(request) = self.pulls.next(*blocked) {
            let wanted = (Kind::Ask, request.rail, stamp(now), [request.number, 0]);
            if self.emit(wanted, Body::Own(&request.ask.encode()), outlet) {
                self.pulls.asked(request.number, &self.rails, self.peer_asleep, now);
            } else {
                *blocked |= 1 << request.rail;
            }
        }
    }

    /// Echoes of the peer's probes, probes of rails, and signs of life wanted of a peer that owes
    /// something.
    fn probe(&mut self, now: Time, blocked: &mut u8, outlet: &mut impl Outlet) {
        for rail in 0..self.rails.count() {
            if let Some(theirs) = self.echoes[usize::from(rail)]
                && *blocked >> rail & 1 == 0
            {
                if self.emit((Kind::Echo, rail, theirs, [0; 2]), Body::Own(&[]), outlet) {
                    self.echoes[usize::from(rail)] = None;
                } else {
                    *blocked |= 1 << rail;
                }
            }
        }
        while let Some(rail) = self.rails.probe(now) {
            // A rail that takes nothing is as good as one that answers nothing.
            self.emit((Kind::Probe, rail, stamp(now), [0; 2]), Body::Own(&[]), outlet);
            self.rails.probed(rail, now);
        }
        let quiet = self.waits_since.map(|since| since.max(self.heard) + SECOND);
        if quiet.is_some_and(|at| at <= now) && self.sign_at <= now {
            let rail = self.rails.best();
            self.emit((Kind::Probe, rail, stamp(now), [0; 2]), Body::Own(&[]), outlet);
            self.sign_at = now + SECOND;
        }
    }

    fn acknowledge(&mut self, now: Time, blocked: &mut u8, outlet: &mut impl Outlet) {
        if !self.announce && self.delay.due().is_none_or(|due| due > now) {
            return;
        }
        let newest = self.delay.newest();
        let rail = newest.map_or_else(|| self.rails.best(), |newest| newest.rail);
        if *blocked >> rail & 1 != 0 {
            return;
        }
        let words = match newest {
            Some(newest) => [newest.stamp, (now.saturating_sub(newest.at) >> 6).min(Time::from(NO_ECHO - 1)) as u32],
            None => [0, NO_ECHO],
        };
        let bitmap = self.sequence.bitmap().to_le_bytes();
        if self.emit((Kind::Acknowledge, rail, stamp(now), words), Body::Own(&bitmap), outlet) {
            self.delay.carried();
            self.announce = false;
        } else {
            *blocked |= 1 << rail;
        }
    }

    /// Sends a keep-alive frame over each rail: switches on the way learn where this process is.
    pub(crate) fn keep_alive(&mut self, now: Time, outlet: &mut impl Outlet) {
        if self.session.is_none() {
            return;
        }
        let bitmap = self.sequence.bitmap().to_le_bytes();
        for rail in 0..self.rails.count() {
            // One that is not taken now is not missed.
            self.emit((Kind::Acknowledge, rail, stamp(now), [0, NO_ECHO]), Body::Own(&bitmap), outlet);
        }
    }

    /// Bulk that the peer asked for.
    fn answer(&mut self, now: Time, blocked: &mut u8, outlet: &mut impl Outlet) {
        for _ in 0..BURST {
            let Some(chunk) = self.regions.next(*blocked) else { return };
            let wanted = (Kind::Data, chunk.rail, chunk.stamp, [chunk.request, chunk.index]);
            let body = Body::Region { token: chunk.token, offset: chunk.offset, length: chunk.length };
            if self.emit(wanted, body, outlet) {
                self.regions.sent(&chunk);
            } else {
                *blocked |= 1 << chunk.rail;
            }
        }
        if self.regions.has_answers() {
            self.retry = Some(now);
        }
    }

    /// A request for parts of a broadcast; false when the rail takes nothing now.
    pub(crate) fn ask_repair(
        &mut self,
        now: Time,
        words: [u32; 2],
        pair: super::Pair,
        outlet: &mut impl Outlet,
    ) -> bool {
        let rail = self.rails.best();
        self.session.is_some() && self.emit((Kind::Repair, rail, stamp(now), words), Body::Own(&pair.encode()), outlet)
    }
}
