//! What a frame of the peer means.

#![forbid(unsafe_code)]

use super::{Concern, Peer};
use crate::FRAGMENTS;
use crate::Time;
use crate::credit::Credits;
use crate::epoch::Meaning;
use crate::frame::{ASLEEP, Ask, ENDED, Header, Kind, Pair, since};
use crate::outlet::{Outlet, Part};
use crate::refusal::Refusal;
use crate::sequence::Verdict;
use crate::timer::Newest;

/// Longest eager message of any peer.
const LONGEST: u32 = FRAGMENTS as u32 * u16::MAX as u32;

/// How often a peer hears whether this process sleeps after each frame of it that brings anything:
/// once that the process is awake, once that it sleeps again. Without a bound the announcements of
/// two processes would wake each other for ever.
const ANNOUNCEMENTS: u8 = 2;

/// An acknowledgement that echoes nothing.
pub(super) const NO_ECHO: u32 = u32::MAX;

impl Peer {
    /// A frame came over `rail` whose header is [`Header::decode`]'d and says that it is of this
    /// peer. What it brings is reported, and what must be answered is answered. Frames that are
    /// refused are counted.
    pub fn arrived(
        &mut self,
        now: Time,
        rail: u8,
        header: &Header,
        body: &[u8],
        credits: &mut Credits,
        outlet: &mut impl Outlet,
    ) {
        if let Err(why) = self.take(now, rail, header, body, credits, outlet) {
            self.refusals.count(why);
        }
        self.flush(now, outlet);
    }

    fn take(
        &mut self,
        now: Time,
        rail: u8,
        header: &Header,
        body: &[u8],
        credits: &mut Credits,
        outlet: &mut impl Outlet,
    ) -> Result<(), Refusal> {
        if header.rail != rail || rail >= self.rails.count() {
            return Err(Refusal::Rail);
        }
        if header.kind == Kind::Greeting {
            return self.greeted(now, rail, header, credits, outlet);
        }
        if self.session.is_none_or(|session| session.number != header.session) {
            self.epoch.stray();
            self.greet_over = Some(rail);
            return Err(Refusal::Stale);
        }
        let bitmap = if header.kind == Kind::Acknowledge { u64::from_le_bytes(eight(body)) } else { 0 };
        let (rank, slack) = (self.rank, self.rails.trip().slack());
        let free = &mut |buffer| outlet.sent(rank, buffer);
        let progress = self.window.acknowledged(header.acknowledged, bitmap, slack, free)?;
        (0..self.rails.count())
            .filter(|rail| progress.rails >> rail & 1 != 0)
            .for_each(|rail| self.rails.works(rail, now));
        self.heard = now;
        self.peer_asleep = header.flags & ASLEEP != 0;
        if header.kind != Kind::Acknowledge || progress.frames > 0 {
            self.announcements = ANNOUNCEMENTS;
        }
        match header.kind {
            Kind::Eager | Kind::Release | Kind::Complete | Kind::Goodbye => {
                self.ordered(now, rail, header, body, outlet)
            }
            Kind::Ask => {
                let payload = self.rails.payload(rail);
                self.regions.asked(Ask::decode(body), header.words[0], header.sequence, rail, payload)
            }
            Kind::Data => self.bulk(now, header, body, credits, outlet),
            Kind::Acknowledge => {
                self.measure(now, rail, header.words);
                Ok(())
            }
            Kind::Probe => {
                self.echoes[usize::from(rail)] = Some(header.sequence);
                Ok(())
            }
            Kind::Echo => {
                if let Some(trip) = since(header.sequence, now) {
                    self.rails.answered(rail, trip, now);
                }
                Ok(())
            }
            Kind::Repair => {
                self.concerns.push(Concern::Repair(header.words, Pair::decode(body)));
                Ok(())
            }
            // Broadcasts belong to groups, greetings came before.
            Kind::Broadcast | Kind::Greeting => Err(Refusal::Kind),
        }
    }

    fn greeted(
        &mut self,
        now: Time,
        rail: u8,
        header: &Header,
        credits: &mut Credits,
        outlet: &mut impl Outlet,
    ) -> Result<(), Refusal> {
        let before = self.session;
        match self.epoch.greeted(header.words, header.flags & ENDED != 0) {
            Meaning::Stale => return Err(Refusal::Stale),
            Meaning::Known => {}
            // Among those who leave, one may give up sooner than the other.
            Meaning::Ended if self.leaves.is_some() => self.forget(credits),
            Meaning::Ended => {
                self.given_up = true;
                self.end(credits, outlet);
            }
            Meaning::Begins => {
                self.given_up = false;
                if before.is_some() {
                    self.forget(credits);
                    outlet.lost(self.rank);
                }
                self.begin();
                self.heard = now;
                self.open(now, credits);
            }
        }
        self.greet_over = Some(rail);
        Ok(())
    }

    /// An acknowledgement echoes a stamp of ours. Many echo the same one, which is one measurement.
    fn measure(&mut self, now: Time, rail: u8, [echo, held]: [u32; 2]) {
        if held == NO_ECHO || self.measured.replace(echo) == Some(echo) {
            return;
        }
        if let Some(trip) = since(echo, now).and_then(|trip| trip.checked_sub(Time::from(held) << 6)) {
            self.rails.sample(rail, trip, now);
        }
    }

    fn ordered(
        &mut self,
        now: Time,
        rail: u8,
        header: &Header,
        body: &[u8],
        outlet: &mut impl Outlet,
    ) -> Result<(), Refusal> {
        let [stamp, word] = header.words;
        let verdict = self.sequence.arrived(header.sequence, header.kind, word, body)?;
        if verdict == Verdict::Deliver {
            self.deliver(header.kind, word, body, outlet);
            self.sequence.step();
            while let Some(kept) = self.sequence.ready() {
                self.deliver(kept.kind, kept.word, &kept.body, outlet);
                self.sequence.step();
            }
        }
        self.used = true;
        let at_once = verdict != Verdict::Deliver || self.sequence.has_gap() || self.left;
        self.delay.arrived(Newest { stamp, rail, at: now }, at_once, self.settings.window / 4);
        if verdict == Verdict::Again { Err(Refusal::Again) } else { Ok(()) }
    }

    /// The next frame in order.
    fn deliver(&mut self, kind: Kind, word: u32, body: &[u8], outlet: &mut impl Outlet) {
        let Pair(one, other) = Pair::decode(body);
        let outcome = match kind {
            Kind::Release => self.regions.release(one, other).map(|token| outlet.released(self.rank, token)),
            Kind::Complete => {
                self.concerns.push(Concern::Complete(Pair(one, other)));
                Ok(())
            }
            Kind::Goodbye => {
                self.left = true;
                Ok(())
            }
            _ => self.message(word, body, outlet),
        };
        if let Err(why) = outcome {
            self.refusals.count(why);
        }
    }

    /// A part of a message. One that does not continue the last is refused, and a new message may
    /// begin with the next.
    fn message(&mut self, total: u32, bytes: &[u8], outlet: &mut impl Outlet) -> Result<(), Refusal> {
        let (whole, offset) = self.coming.take().unwrap_or((total, 0));
        let end = u64::from(offset) + bytes.len() as u64;
        if whole != total || end > u64::from(total) || total > LONGEST || (bytes.is_empty() && total > 0) {
            return Err(Refusal::Length);
        }
        self.coming = (end < u64::from(total)).then_some((total, end as u32));
        outlet.message(self.rank, Part { total, offset, bytes });
        Ok(())
    }

    fn bulk(
        &mut self,
        now: Time,
        header: &Header,
        body: &[u8],
        credits: &mut Credits,
        outlet: &mut impl Outlet,
    ) -> Result<(), Refusal> {
        let [request, index] = header.words;
        let placed = self.pulls.place(request, index, body.len())?;
        outlet.bulk(self.rank, placed.token, placed.offset, body);
        if let Some(finished) = self.pulls.placed(request, index, header.sequence, now, &mut self.rails, credits) {
            self.notices.push_back((Kind::Release, Pair(finished.key.slot, finished.key.generation)));
            outlet.pulled(self.rank, finished.token);
        }
        self.open(now, credits);
        Ok(())
    }
}

/// The first eight bytes (a body of a control frame has its length: decoding has seen to that).
fn eight(body: &[u8]) -> [u8; 8] {
    body.first_chunk().copied().unwrap_or_default()
}
