//! One remote process: puts the rooms together. Inputs are the caller's wishes, frames and time;
//! outputs go to the [`Outlet`].
//!
//! Invariants: what is reported as sent, pulled, released or lost is reported once; between the
//! report of loss and a greeting of a new life of the peer nothing is accepted from it.

#![forbid(unsafe_code)]

mod receive;
mod transmit;

use std::collections::VecDeque;

use super::credit::Credits;
use super::epoch::{Epoch, Session};
use super::frame::{Kind, Pair};
use super::key::JobKey;
use super::outlet::Outlet;
use super::pull::{Expected, Pulls};
use super::rails::{Link, MOST_RAILS, Rails};
use super::refusal::Refusals;
use super::region::{Key, Regions};
use super::sequence::Sequence;
use super::timer::{Delay, LINGER, PATIENCE, SECOND, gather_until, sooner};
use super::window::{Content, Window};
use super::{FRAGMENTS, Settings, Time};

/// What the launcher tells about a process.
#[derive(Clone, Debug)]
pub struct Card {
    /// Its rank in the job.
    pub rank: u32,
    /// The number that its host's filter looks for.
    pub endpoint: u16,
    /// Which life it lives, if that is known; else greetings find out. Never 0.
    pub incarnation: Option<u32>,
    /// The rails to it.
    pub links: Vec<Link>,
}

/// Who this process is.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    /// The job's key.
    pub key: JobKey,
    /// Its rank.
    pub rank: u32,
    /// The number that its host's filter looks for.
    pub endpoint: u16,
    /// Which life it lives: greater than in each earlier one, never 0.
    pub incarnation: u32,
}

/// Why a message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The window is full: try again after something was acknowledged.
    #[error("the window to this peer is full now")]
    Full,
    /// Longer than [`Peer::eager_limit`]: publish it.
    #[error("a message of this length must be published")]
    Long,
    /// The peer is lost.
    #[error("the peer is lost")]
    Lost,
}

/// What concerns groups, for the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concern {
    /// The peer has a whole broadcast: group, message.
    Complete(Pair),
    /// The peer misses parts: group, message; first, bitmap.
    Repair([u32; 2], Pair),
}

/// The state towards one peer.
#[derive(Debug)]
pub struct Peer {
    own: Own,
    rank: u32,
    endpoint: u16,
    settings: Settings,
    epoch: Epoch,
    session: Option<Session>,
    window: Window,
    sequence: Sequence,
    /// Length of the message whose parts are coming, and how much of it is here.
    coming: Option<(u32, u32)>,
    delay: Delay,
    rails: Rails,
    regions: Regions,
    pulls: Pulls,
    /// Releases and completions that wait for room in the window. As many as the own process
    /// caused.
    notices: VecDeque<(Kind, Pair)>,
    /// Stamps of probes to be answered, by rail.
    echoes: [Option<u32>; MOST_RAILS],
    /// The rail that the next greeting goes over, if it answers something.
    greet_over: Option<u8>,
    greetings: u8,
    asleep: bool,
    peer_asleep: bool,
    announce: bool,
    /// How often the peer may be told so until it sends something again.
    announcements: u8,
    /// The stamp that the last measurement of the way was made with.
    measured: Option<u32>,
    /// Broadcasts that wait for this peer.
    owed: u32,
    /// The two have to do with each other.
    used: bool,
    /// Since when this process leaves, and whether the peer has said goodbye.
    leaves: Option<Time>,
    left: bool,
    /// Whether the peer had said goodbye when it was lost.
    ended_in_order: bool,
    /// The peer has ended the session, not this process.
    given_up: bool,
    heard: Time,
    waits_since: Option<Time>,
    sign_at: Time,
    retry: Option<Time>,
    loss: bool,
    refusals: Refusals,
    /// Reports about groups, taken by the endpoint after each frame.
    concerns: Vec<Concern>,
}

impl Peer {
    /// Towards the process of this card.
    pub fn new(own: Own, card: &Card, settings: Settings) -> Peer {
        let mut peer = Peer {
            own,
            rank: card.rank,
            endpoint: card.endpoint,
            settings,
            epoch: Epoch::new(own.key, own.rank, card.rank, own.incarnation, card.incarnation),
            session: None,
            window: Window::new(0, settings.window as usize),
            sequence: Sequence::new(0, settings.window, settings.early_bytes),
            coming: None,
            delay: Delay::default(),
            rails: Rails::new(&card.links),
            regions: Regions::default(),
            pulls: Pulls::new(card.rank),
            notices: VecDeque::new(),
            echoes: [None; MOST_RAILS],
            greet_over: None,
            greetings: 0,
            asleep: settings.drowsy,
            peer_asleep: false,
            announce: false,
            announcements: 0,
            measured: None,
            owed: 0,
            used: false,
            leaves: None,
            ended_in_order: false,
            given_up: false,
            left: false,
            heard: 0,
            waits_since: None,
            sign_at: 0,
            retry: None,
            loss: false,
            refusals: Refusals::default(),
            concerns: Vec::new(),
        };
        peer.begin();
        peer
    }

    /// The session that the epoch knows of begins.
    fn begin(&mut self) {
        self.session = self.epoch.session();
        if let Some(session) = self.session {
            self.window.begin(session.outgoing);
            self.sequence = Sequence::new(session.incoming, self.settings.window, self.settings.early_bytes);
        }
    }

    /// Longest message that [`Peer::send`] takes, in bytes.
    pub fn eager_limit(&self) -> usize {
        self.rails.least_payload() * FRAGMENTS
    }

    /// Ordered frames that the peer has not acknowledged.
    pub fn under_way(&self) -> usize {
        self.settings.window as usize - self.window.room()
    }

    /// Whether a message of `length` bytes would be taken now.
    pub fn takes(&self, length: u32) -> Result<(), SendError> {
        let parts = (length as usize).div_ceil(self.rails.least_payload()).max(1);
        if self.epoch.has_ended() {
            return Err(SendError::Lost);
        }
        if parts > FRAGMENTS {
            return Err(SendError::Long);
        }
        if self.window.room() < parts || !self.notices.is_empty() {
            return Err(SendError::Full);
        }
        Ok(())
    }

    /// Sends `length` bytes that the caller calls `buffer`. They are read until [`Outlet::sent`]
    /// reports the buffer.
    pub fn send(&mut self, now: Time, buffer: u64, length: u32, outlet: &mut impl Outlet) -> Result<(), SendError> {
        self.takes(length)?;
        let piece = self.rails.least_payload();
        let parts = (length as usize).div_ceil(piece).max(1);
        self.used = true;
        for part in 0..parts {
            let offset = part * piece;
            let bytes = (length as usize - offset).min(piece) as u16;
            let content = Content::Part { buffer, offset: offset as u32, length: bytes, last: part + 1 == parts };
            self.window.push(now, Kind::Eager, length, content);
        }
        self.flush(now, outlet);
        Ok(())
    }

    /// Makes `length` bytes fetchable, which the caller calls `token`; [`Outlet::released`] reports
    /// it.
    pub fn publish(&mut self, token: u64, length: u64) -> Key {
        self.regions.publish(token, length)
    }

    /// Takes a publication back; false when the peer has begun to fetch it. One that is taken back
    /// is gone for a peer that asks for it later, and such a peer is not answered: take back only
    /// what the peer does not know of or does not want.
    pub fn withdraw(&mut self, key: Key) -> bool {
        self.regions.withdraw(key)
    }

    /// Fetches the first `wanted` bytes of a region of the peer; [`Outlet::pulled`] reports
    /// `token`. The region is released then.
    pub fn pull(
        &mut self,
        now: Time,
        key: Key,
        token: u64,
        wanted: u64,
        credits: &mut Credits,
        outlet: &mut impl Outlet,
    ) {
        if self.epoch.has_ended() {
            return;
        }
        self.used = true;
        if wanted.min(key.length) == 0 {
            self.notices.push_back((Kind::Release, Pair(key.slot, key.generation)));
            outlet.pulled(self.rank, token);
        } else {
            self.pulls.add(token, key, wanted);
            self.open(now, credits);
        }
        self.flush(now, outlet);
    }

    /// Tells the root of a group that a broadcast is here.
    pub(super) fn complete(&mut self, now: Time, group: u32, message: u32, outlet: &mut impl Outlet) {
        self.used = true;
        self.notices.push_back((Kind::Complete, Pair(group, message)));
        self.flush(now, outlet);
    }

    /// So many broadcasts more, or fewer, wait for this peer.
    pub(super) fn owe(&mut self, change: i32) {
        self.used |= change > 0;
        self.owed = self.owed.saturating_add_signed(change);
    }

    /// This process is about to sleep, or awake again. The peer is told if it has sent or taken
    /// something since it was told last.
    pub fn set_asleep(&mut self, now: Time, asleep: bool, outlet: &mut impl Outlet) {
        if self.asleep != asleep && !self.settings.drowsy {
            self.asleep = asleep;
            self.announce = self.session.is_some() && self.announcements > 0;
            self.announcements = self.announcements.saturating_sub(1);
            self.flush(now, outlet);
        }
    }

    /// This process leaves.
    pub(super) fn leave(&mut self, now: Time, outlet: &mut impl Outlet) {
        if self.used && !self.epoch.has_ended() && self.leaves.is_none() {
            self.leaves = Some(now);
            self.notices.push_back((Kind::Goodbye, Pair(0, 0)));
            self.flush(now, outlet);
        }
    }

    /// When a leaving process waits for this peer no longer.
    fn parting(&self) -> Option<Time> {
        let patience = if self.left { LINGER } else { PATIENCE };
        self.leaves.filter(|_| self.is_busy()).map(|since| since.max(self.heard) + patience)
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Time, credits: &mut Credits, outlet: &mut impl Outlet) {
        if self.epoch.has_ended() {
            return self.flush(now, outlet);
        }
        if self.is_silent(now) {
            self.end(credits, outlet);
            return;
        }
        if self.parting().is_some_and(|at| at <= now) {
            // Whoever is gone owes no answer any more.
            self.epoch.end();
            self.forget(credits);
            return;
        }
        if self.session.is_some() {
            if self.window_deadline().is_some_and(|at| at <= now)
                && let Some((rail, sent)) = self.window.expired()
            {
                self.rails.missed(rail, sent, now);
            }
            self.pulls.expire(now, &mut self.rails, credits);
            self.open(now, credits);
        }
        self.flush(now, outlet);
    }

    /// Its turn has come in the queue for credit.
    pub(super) fn called(&mut self, now: Time, credits: &mut Credits, outlet: &mut impl Outlet) {
        self.pulls.called(credits);
        self.tick(now, credits, outlet);
    }

    fn open(&mut self, now: Time, credits: &mut Credits) {
        if self.session.is_some() {
            self.pulls.open(now, &mut self.rails, credits);
        }
    }

    /// When [`Peer::tick`] must be called at the latest.
    pub fn deadline(&self) -> Option<Time> {
        // What flush does, it has tried already, where an interface was full.
        let mut next = self.retry.or_else(|| self.flush_deadline());
        if self.epoch.has_ended() {
            return next;
        }
        if self.session.is_some() {
            next = sooner(next, sooner(self.pulls.deadline(), self.window_deadline()));
        }
        let end = self.quiet_since().zip(self.settings.silence).map(|(since, silence)| since + silence);
        sooner(sooner(next, end), self.parting())
    }

    fn flush_deadline(&self) -> Option<Time> {
        let greeting = self.epoch.deadline(self.owes());
        if self.session.is_none() {
            return greeting;
        }
        let (waiting, oldest) = self.window.waiting();
        let gathers = self.peer_asleep && self.settings.gathers;
        let gathered = oldest.and_then(|oldest| gather_until(gathers, waiting, oldest, oldest));
        let sign = self.quiet_since().map(|since| self.sign_at.max(since + SECOND));
        let others = [gathered, self.delay.due(), self.rails.next_probe(), sign];
        others.into_iter().fold(greeting, sooner)
    }

    /// Since when the peer has been silent although something waits for it.
    fn quiet_since(&self) -> Option<Time> {
        self.waits_since.map(|since| since.max(self.heard))
    }

    fn window_deadline(&self) -> Option<Time> {
        self.window.deadline(self.rails.trip().timeout(self.peer_asleep, self.window.tries()))
    }

    /// True while something waits for the peer.
    pub fn is_busy(&self) -> bool {
        let parts = self.leaves.is_some() && !self.left;
        !self.epoch.has_ended() && (self.owes() || !self.regions.is_empty() || self.owed > 0 || parts)
    }

    fn owes(&self) -> bool {
        !self.window.is_empty() || !self.pulls.is_empty() || !self.notices.is_empty()
    }

    fn is_silent(&self, now: Time) -> bool {
        self.quiet_since().zip(self.settings.silence).is_some_and(|(since, silence)| now >= since + silence)
    }

    /// As [`Rails::fails`].
    pub(super) fn rail_fails(&mut self, rail: u8, now: Time) {
        self.rails.fails(rail, now);
    }

    /// The peer is gone: everything ends.
    pub(super) fn end(&mut self, credits: &mut Credits, outlet: &mut impl Outlet) {
        self.ended_in_order = self.left;
        self.epoch.end();
        self.forget(credits);
        outlet.lost(self.rank);
    }

    /// Forgets all that belonged to a session.
    fn forget(&mut self, credits: &mut Credits) {
        self.pulls.forget(credits);
        self.regions = Regions::default();
        self.window = Window::new(0, self.settings.window as usize);
        self.sequence = Sequence::new(0, self.settings.window, self.settings.early_bytes);
        self.notices.clear();
        self.concerns.clear();
        self.delay = Delay::default();
        self.echoes = [None; MOST_RAILS];
        (self.session, self.coming, self.waits_since, self.retry, self.owed) = (None, None, None, None, 0);
        (self.announce, self.peer_asleep, self.left) = (false, false, false);
        (self.announcements, self.measured) = (0, None);
        self.loss = true;
    }

    /// Whether a session has ended since the last call.
    pub(super) fn take_loss(&mut self) -> bool {
        std::mem::take(&mut self.loss)
    }

    /// What both sides have agreed on, once they have.
    pub fn session(&self) -> Option<Session> {
        self.session
    }

    /// The number that the peer's filter looks for.
    pub(super) fn endpoint(&self) -> u16 {
        self.endpoint
    }

    /// True when the peer is lost.
    pub fn is_lost(&self) -> bool {
        self.epoch.has_ended()
    }

    /// True when the peer is lost because it has left in order: it said goodbye before.
    pub fn has_left(&self) -> bool {
        self.is_lost() && self.ended_in_order
    }

    /// True when the peer is lost because it has given up this process, though it lives.
    pub fn has_given_up(&self) -> bool {
        self.is_lost() && self.given_up
    }

    /// True while frames have been told to go slowly since the peer sleeps.
    pub fn peer_sleeps(&self) -> bool {
        self.peer_asleep
    }

    /// The rails, for reports.
    pub fn rails(&self) -> &Rails {
        &self.rails
    }

    /// Chunks of bulk that should come over a rail; see [`Pulls::expected`].
    pub fn expected(&self, rail: u8, each: impl FnMut(Expected) -> bool) {
        self.pulls.expected(rail, each);
    }

    /// Frames of this peer that were not believed, or not needed.
    pub fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    /// Bytes that this peer makes the process keep; at most [`Settings::early_bytes`].
    pub fn kept_bytes(&self) -> usize {
        self.sequence.bytes()
    }

    /// What concerns groups, since the last call.
    pub(super) fn take_concerns(&mut self) -> Vec<Concern> {
        std::mem::take(&mut self.concerns)
    }
}
