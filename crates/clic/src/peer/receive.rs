//! Handling of frames received from the peer.

#![forbid(unsafe_code)]

use super::{Concern, Peer};
use crate::FRAGMENTS;
use crate::Time;
use crate::credit::Credits;
use crate::frame::{ASLEEP, BlockRequest, ENDED, FrameHeader, Kind, Pair, since};
use crate::incarnations::GreetingMeaning;
use crate::io::{Io, MessagePart};
use crate::refusal::Refusal;
use crate::sequence::FrameVerdict;
use crate::timer::Newest;

/// Longest eager message of any peer.
const LONGEST: u32 = FRAGMENTS as u32 * u16::MAX as u32;

/// How often a peer is told whether this process sleeps, after each frame from it that carries
/// news: once that the process is awake, once that it sleeps again. Without a bound, the
/// announcements of two processes would wake each other up forever.
const ANNOUNCEMENTS: u8 = 2;

/// Marks an acknowledgement that echoes no timestamp.
pub(super) const NO_ECHO: u32 = u32::MAX;

impl Peer {
    /// Handles a frame that arrived over `rail`. [`FrameHeader::decode`] has accepted its header,
    /// which names this peer as the source. Reports what the frame contains and sends the response,
    /// if any. Counts frames that are rejected.
    pub fn arrived(
        &mut self,
        now: Time,
        rail: u8,
        header: &FrameHeader,
        body: &[u8],
        credits: &mut Credits,
        io: &mut impl Io,
    ) {
        if let Err(why) = self.take(now, rail, header, body, credits, io) {
            self.refusals.count(why);
        }
        self.flush(now, io);
    }

    fn take(
        &mut self,
        now: Time,
        rail: u8,
        header: &FrameHeader,
        body: &[u8],
        credits: &mut Credits,
        io: &mut impl Io,
    ) -> Result<(), Refusal> {
        if header.rail != rail || rail >= self.rails.count() {
            return Err(Refusal::Rail);
        }
        if header.kind == Kind::Greeting {
            return self.greeted(now, rail, header, credits, io);
        }
        if self.session.is_none_or(|session| session.number != header.session) {
            self.incarnations.stray();
            self.greet_over = Some(rail);
            return Err(Refusal::Stale);
        }
        let bitmap =
            if header.kind == Kind::Acknowledge { u64::from_le_bytes(eight(body)) } else { 0 };
        let (rank, slack) = (self.rank, self.rails.trip().slack());
        let free = &mut |buffer| io.sent(rank, buffer);
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
                self.ordered(now, rail, header, body, io)
            }
            Kind::Ask => {
                let payload = self.rails.payload(rail);
                self.regions.asked(
                    BlockRequest::decode(body),
                    header.words[0],
                    header.sequence,
                    rail,
                    payload,
                )
            }
            Kind::Data => self.bulk(now, header, body, credits, io),
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
            // The endpoint handles broadcasts, and greetings are handled above.
            Kind::Broadcast | Kind::Greeting => Err(Refusal::Kind),
        }
    }

    fn greeted(
        &mut self,
        now: Time,
        rail: u8,
        header: &FrameHeader,
        credits: &mut Credits,
        io: &mut impl Io,
    ) -> Result<(), Refusal> {
        let before = self.session;
        match self.incarnations.greeted(header.words, header.flags & ENDED != 0) {
            GreetingMeaning::Stale => return Err(Refusal::Stale),
            GreetingMeaning::Known => {}
            // Of two processes that leave, one may give up before the other.
            GreetingMeaning::Ended if self.leaves.is_some() => self.forget(credits),
            GreetingMeaning::Ended => {
                self.given_up = true;
                self.end(credits, io);
            }
            GreetingMeaning::Begins => {
                self.given_up = false;
                if before.is_some() {
                    self.forget(credits);
                    io.lost(self.rank);
                }
                self.begin();
                self.heard = now;
                self.open(now, credits);
            }
        }
        self.greet_over = Some(rail);
        Ok(())
    }

    /// Measures the round trip from an acknowledgement, which echoes one of our timestamps. Several
    /// acknowledgements may echo the same one; they count as one measurement.
    fn measure(&mut self, now: Time, rail: u8, [echo, held]: [u32; 2]) {
        if held == NO_ECHO || self.measured.replace(echo) == Some(echo) {
            return;
        }
        if let Some(trip) =
            since(echo, now).and_then(|trip| trip.checked_sub(Time::from(held) << 6))
        {
            self.rails.sample(rail, trip, now);
        }
    }

    fn ordered(
        &mut self,
        now: Time,
        rail: u8,
        header: &FrameHeader,
        body: &[u8],
        io: &mut impl Io,
    ) -> Result<(), Refusal> {
        let [stamp, word] = header.words;
        let verdict = self.sequence.arrived(header.sequence, header.kind, word, body)?;
        if verdict == FrameVerdict::Deliver {
            self.deliver(header.kind, word, body, io);
            self.sequence.step();
            while let Some(kept) = self.sequence.ready() {
                self.deliver(kept.kind, kept.word, &kept.body, io);
                self.sequence.step();
            }
        }
        self.used = true;
        let at_once = verdict != FrameVerdict::Deliver || self.sequence.has_gap() || self.left;
        self.delay.arrived(Newest { stamp, rail, at: now }, at_once, self.settings.window / 4);
        if verdict == FrameVerdict::Again { Err(Refusal::Again) } else { Ok(()) }
    }

    /// Delivers the next frame in order.
    fn deliver(&mut self, kind: Kind, word: u32, body: &[u8], io: &mut impl Io) {
        let Pair(one, other) = Pair::decode(body);
        let outcome = match kind {
            Kind::Release => {
                self.regions.release(one, other).map(|token| io.released(self.rank, token))
            }
            Kind::Complete => {
                self.concerns.push(Concern::Complete(Pair(one, other)));
                Ok(())
            }
            Kind::Goodbye => {
                self.left = true;
                Ok(())
            }
            _ => self.message(word, body, io),
        };
        if let Err(why) = outcome {
            self.refusals.count(why);
        }
    }

    /// Delivers a fragment of a message. A fragment that does not continue the current message is
    /// rejected; a new message may start with the next one.
    fn message(&mut self, total: u32, bytes: &[u8], io: &mut impl Io) -> Result<(), Refusal> {
        let (whole, offset) = self.coming.take().unwrap_or((total, 0));
        let end = u64::from(offset) + bytes.len() as u64;
        if whole != total
            || end > u64::from(total)
            || total > LONGEST
            || (bytes.is_empty() && total > 0)
        {
            return Err(Refusal::Length);
        }
        self.coming = (end < u64::from(total)).then_some((total, end as u32));
        io.message(self.rank, MessagePart { total, offset, bytes });
        Ok(())
    }

    fn bulk(
        &mut self,
        now: Time,
        header: &FrameHeader,
        body: &[u8],
        credits: &mut Credits,
        io: &mut impl Io,
    ) -> Result<(), Refusal> {
        let [request, index] = header.words;
        let placed = self.pulls.place(request, index, body.len())?;
        io.bulk(self.rank, placed.token, placed.offset, body);
        if let Some(finished) =
            self.pulls.placed(request, index, header.sequence, now, &mut self.rails, credits)
        {
            self.notices
                .push_back((Kind::Release, Pair(finished.key.slot, finished.key.generation)));
            io.pulled(self.rank, finished.token);
        }
        self.open(now, credits);
        Ok(())
    }
}

/// The first eight bytes; decoding has checked that a control frame has a body of this length.
fn eight(body: &[u8]) -> [u8; 8] {
    body.first_chunk().copied().unwrap_or_default()
}
