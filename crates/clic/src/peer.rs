//! One remote process: combines the state machines of a peer. Inputs are the caller's requests,
//! frames and time; outputs are calls of [`Io`].
//!
//! Invariants: every send, pull, release and loss is reported exactly once. After a loss is
//! reported, nothing is accepted from the peer until a greeting of a new incarnation arrives.

#![forbid(unsafe_code)]

mod receive;
mod transmit;

use std::collections::VecDeque;

use super::credit::Credits;
use super::frame::{Kind, Pair};
use super::incarnations::{Incarnations, Session};
use super::io::Io;
use super::key::FrameKey;
use super::pull::{ClicPulls, Expected};
use super::rails::{MOST_RAILS, RailLink, Rails};
use super::refusal::Refusals;
use super::region::{ClicRegions, RegionName};
use super::sequence::ReceiveSequence;
use super::timer::{Delay, LINGER, PATIENCE, SECOND, gather_until, sooner};
use super::window::{FrameContent, SendWindow};
use super::{FRAGMENTS, Settings, Time};

/// What the launcher publishes about a process.
#[derive(Clone, Debug)]
pub struct PeerCard {
    /// Its rank in the job.
    pub rank: u32,
    /// The endpoint number that the packet filter of its host matches.
    pub endpoint: u16,
    /// Its incarnation, if known; otherwise greetings discover it. Never 0.
    pub incarnation: Option<u32>,
    /// The rails to it.
    pub links: Vec<RailLink>,
}

/// The identity of this process.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    /// The job's key.
    pub key: FrameKey,
    /// Its rank in the job.
    pub rank: u32,
    /// The endpoint number that the packet filter of its host matches.
    pub endpoint: u16,
    /// Its incarnation: greater than that of every earlier run, never 0.
    pub incarnation: u32,
}

/// Why a message was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The window is full: retry after an acknowledgement.
    #[error("the send window of this peer is full; retry after an acknowledgement")]
    Full,
    /// Longer than [`Peer::eager_limit`]: publish it instead.
    #[error("the message exceeds the eager limit; publish it instead")]
    Long,
    /// The peer is lost.
    #[error("the peer is lost")]
    Lost,
}

/// A group-related event for the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concern {
    /// The peer has received a whole broadcast: group, message.
    Complete(Pair),
    /// The peer is missing parts: group, message; first, bitmap.
    Repair([u32; 2], Pair),
}

/// The state of the connection to one peer.
#[derive(Debug)]
pub struct Peer {
    own: Own,
    rank: u32,
    endpoint: u16,
    settings: Settings,
    incarnations: Incarnations,
    session: Option<Session>,
    window: SendWindow,
    sequence: ReceiveSequence,
    /// Length of the message being received, and how many bytes of it have arrived.
    coming: Option<(u32, u32)>,
    delay: Delay,
    rails: Rails,
    regions: ClicRegions,
    pulls: ClicPulls,
    /// Releases and completions that wait for room in the window. Bounded by what this process
    /// itself caused.
    notices: VecDeque<(Kind, Pair)>,
    /// Timestamps of probes to be echoed, by rail.
    echoes: [Option<u32>; MOST_RAILS],
    /// The rail for the next greeting, if it is a reply.
    greet_over: Option<u8>,
    greetings: u8,
    asleep: bool,
    peer_asleep: bool,
    announce: bool,
    /// How many more sleep announcements the peer may be sent until it sends something again.
    announcements: u8,
    /// The timestamp that the last round-trip measurement was based on.
    measured: Option<u32>,
    /// Number of broadcasts pending with this peer.
    owed: u32,
    /// The two processes have communicated.
    used: bool,
    /// Since when this process has been leaving; `left`: whether the peer has said goodbye.
    leaves: Option<Time>,
    left: bool,
    /// Whether the peer had said goodbye before it was lost.
    ended_in_order: bool,
    /// The peer ended the session, not this process.
    given_up: bool,
    heard: Time,
    waits_since: Option<Time>,
    sign_at: Time,
    retry: Option<Time>,
    loss: bool,
    refusals: Refusals,
    /// Group-related events, which the endpoint takes after each frame.
    concerns: Vec<Concern>,
}

impl Peer {
    /// Creates the state towards the process that `card` describes.
    pub fn new(own: Own, card: &PeerCard, settings: Settings) -> Peer {
        let mut peer = Peer {
            own,
            rank: card.rank,
            endpoint: card.endpoint,
            settings,
            incarnations: Incarnations::new(
                own.key,
                own.rank,
                card.rank,
                own.incarnation,
                card.incarnation,
            ),
            session: None,
            window: SendWindow::new(0, settings.window as usize),
            sequence: ReceiveSequence::new(0, settings.window, settings.early_bytes),
            coming: None,
            delay: Delay::default(),
            rails: Rails::new(&card.links),
            regions: ClicRegions::default(),
            pulls: ClicPulls::new(card.rank),
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

    /// Starts the session of both incarnations.
    fn begin(&mut self) {
        self.session = self.incarnations.session();
        if let Some(session) = self.session {
            self.window.begin(session.outgoing);
            self.sequence = ReceiveSequence::new(
                session.incoming,
                self.settings.window,
                self.settings.early_bytes,
            );
        }
    }

    /// Longest message that [`Peer::send`] accepts, in bytes.
    pub fn eager_limit(&self) -> usize {
        self.rails.least_payload() * FRAGMENTS
    }

    /// Number of ordered frames that the peer has not acknowledged.
    pub fn under_way(&self) -> usize {
        self.settings.window as usize - self.window.room()
    }

    /// Checks whether [`Peer::send`] would accept a message of `length` bytes now.
    ///
    /// # Errors
    /// See [`SendError`].
    pub fn takes(&self, length: u32) -> Result<(), SendError> {
        let parts = (length as usize).div_ceil(self.rails.least_payload()).max(1);
        if self.incarnations.has_ended() {
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

    /// Sends `length` bytes that the caller calls `buffer`. The bytes are read until [`Io::sent`]
    /// reports the buffer.
    ///
    /// # Errors
    /// See [`SendError`].
    pub fn send(
        &mut self,
        now: Time,
        buffer: u64,
        length: u32,
        io: &mut impl Io,
    ) -> Result<(), SendError> {
        self.takes(length)?;
        let piece = self.rails.least_payload();
        let parts = (length as usize).div_ceil(piece).max(1);
        self.used = true;
        for part in 0..parts {
            let offset = part * piece;
            let bytes = (length as usize - offset).min(piece) as u16;
            let content = FrameContent::Part {
                buffer,
                offset: offset as u32,
                length: bytes,
                last: part + 1 == parts,
            };
            self.window.push(now, Kind::Eager, length, content);
        }
        self.flush(now, io);
        Ok(())
    }

    /// Publishes `length` bytes under the caller's name `token`; [`Io::released`] reports when the
    /// peer is done with them.
    pub fn publish(&mut self, token: u64, length: u64) -> RegionName {
        self.regions.publish(token, length)
    }

    /// Withdraws a published region; false if the peer has begun to fetch it. A later request for a
    /// withdrawn region is not answered, so withdraw only what the peer does not know about or does
    /// not want.
    pub fn withdraw(&mut self, key: RegionName) -> bool {
        self.regions.withdraw(key)
    }

    /// Fetches the first `wanted` bytes of a region of the peer. When they have arrived,
    /// [`Io::pulled`] reports `token` and the region is released.
    pub fn pull(
        &mut self,
        now: Time,
        key: RegionName,
        token: u64,
        wanted: u64,
        credits: &mut Credits,
        io: &mut impl Io,
    ) {
        if self.incarnations.has_ended() {
            return;
        }
        self.used = true;
        if wanted.min(key.length) == 0 {
            self.notices.push_back((Kind::Release, Pair(key.slot, key.generation)));
            io.pulled(self.rank, token);
        } else {
            self.pulls.add(token, key, wanted);
            self.open(now, credits);
        }
        self.flush(now, io);
    }

    /// Reports to the root of a group that a broadcast has arrived.
    pub(super) fn complete(&mut self, now: Time, group: u32, message: u32, io: &mut impl Io) {
        self.used = true;
        self.notices.push_back((Kind::Complete, Pair(group, message)));
        self.flush(now, io);
    }

    /// Adjusts the number of broadcasts pending with this peer.
    pub(super) fn owe(&mut self, change: i32) {
        self.used |= change > 0;
        self.owed = self.owed.saturating_add_signed(change);
    }

    /// This process is about to sleep, or is awake again. The peer is notified if anything has been
    /// exchanged with it since the last notification.
    pub fn set_asleep(&mut self, now: Time, asleep: bool, io: &mut impl Io) {
        if self.asleep != asleep && !self.settings.drowsy {
            self.asleep = asleep;
            self.announce = self.session.is_some() && self.announcements > 0;
            self.announcements = self.announcements.saturating_sub(1);
            self.flush(now, io);
        }
    }

    /// Says goodbye to the peer, because this process leaves the job.
    pub(super) fn leave(&mut self, now: Time, io: &mut impl Io) {
        if self.used && !self.incarnations.has_ended() && self.leaves.is_none() {
            self.leaves = Some(now);
            self.notices.push_back((Kind::Goodbye, Pair(0, 0)));
            self.flush(now, io);
        }
    }

    /// When a leaving process stops waiting for this peer.
    fn parting(&self) -> Option<Time> {
        let patience = if self.left { LINGER } else { PATIENCE };
        self.leaves.filter(|_| self.is_busy()).map(|since| since.max(self.heard) + patience)
    }

    /// Runs the timers that have expired by `now`.
    pub fn tick(&mut self, now: Time, credits: &mut Credits, io: &mut impl Io) {
        if self.incarnations.has_ended() {
            return self.flush(now, io);
        }
        if self.is_silent(now) {
            self.end(credits, io);
            return;
        }
        if self.parting().is_some_and(|at| at <= now) {
            // A peer that is gone owes no response any more.
            self.incarnations.end();
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
        self.flush(now, io);
    }

    /// This peer has reached the head of the credit queue.
    pub(super) fn called(&mut self, now: Time, credits: &mut Credits, io: &mut impl Io) {
        self.pulls.called(credits);
        self.tick(now, credits, io);
    }

    fn open(&mut self, now: Time, credits: &mut Credits) {
        if self.session.is_some() {
            self.pulls.open(now, &mut self.rails, credits);
        }
    }

    /// When [`Peer::tick`] must be called at the latest.
    pub fn deadline(&self) -> Option<Time> {
        // If an interface was full, `flush` has already tried to send whatever was due.
        let mut next = self.retry.or_else(|| self.flush_deadline());
        if self.incarnations.has_ended() {
            return next;
        }
        if self.session.is_some() {
            next = sooner(next, sooner(self.pulls.deadline(), self.window_deadline()));
        }
        let end =
            self.quiet_since().zip(self.settings.silence).map(|(since, silence)| since + silence);
        sooner(sooner(next, end), self.parting())
    }

    fn flush_deadline(&self) -> Option<Time> {
        let greeting = self.incarnations.deadline(self.owes());
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

    /// Since when the peer has been silent while a response from it is pending.
    fn quiet_since(&self) -> Option<Time> {
        self.waits_since.map(|since| since.max(self.heard))
    }

    fn window_deadline(&self) -> Option<Time> {
        self.window.deadline(self.rails.trip().timeout(self.peer_asleep, self.window.tries()))
    }

    /// True while anything is pending with the peer.
    pub fn is_busy(&self) -> bool {
        let parts = self.leaves.is_some() && !self.left;
        !self.incarnations.has_ended()
            && (self.owes() || !self.regions.is_empty() || self.owed > 0 || parts)
    }

    fn owes(&self) -> bool {
        !self.window.is_empty() || !self.pulls.is_empty() || !self.notices.is_empty()
    }

    fn is_silent(&self, now: Time) -> bool {
        self.quiet_since()
            .zip(self.settings.silence)
            .is_some_and(|(since, silence)| now >= since + silence)
    }

    /// See [`Rails::fails`].
    pub(super) fn rail_fails(&mut self, rail: u8, now: Time) {
        self.rails.fails(rail, now);
    }

    /// The peer is gone: ends everything that is pending with it.
    pub(super) fn end(&mut self, credits: &mut Credits, io: &mut impl Io) {
        self.ended_in_order = self.left;
        self.incarnations.end();
        self.forget(credits);
        io.lost(self.rank);
    }

    /// Drops all state of the session.
    fn forget(&mut self, credits: &mut Credits) {
        self.pulls.forget(credits);
        self.regions = ClicRegions::default();
        self.window = SendWindow::new(0, self.settings.window as usize);
        self.sequence = ReceiveSequence::new(0, self.settings.window, self.settings.early_bytes);
        self.notices.clear();
        self.concerns.clear();
        self.delay = Delay::default();
        self.echoes = [None; MOST_RAILS];
        (self.session, self.coming, self.waits_since, self.retry, self.owed) =
            (None, None, None, None, 0);
        (self.announce, self.peer_asleep, self.left) = (false, false, false);
        (self.announcements, self.measured) = (0, None);
        self.loss = true;
    }

    /// Returns whether a session has ended since the last call.
    pub(super) fn take_loss(&mut self) -> bool {
        std::mem::take(&mut self.loss)
    }

    /// The session, once both sides have agreed on it.
    pub fn session(&self) -> Option<Session> {
        self.session
    }

    /// The endpoint number that the peer's packet filter matches.
    pub(super) fn endpoint(&self) -> u16 {
        self.endpoint
    }

    /// True if the peer is lost.
    pub fn is_lost(&self) -> bool {
        self.incarnations.has_ended()
    }

    /// True if the peer is lost because it left in an orderly way: it said goodbye first.
    pub fn has_left(&self) -> bool {
        self.is_lost() && self.ended_in_order
    }

    /// True if the peer is lost because it gave up on this process, although it is alive.
    pub fn has_given_up(&self) -> bool {
        self.is_lost() && self.given_up
    }

    /// True while the peer says that it sleeps, so frames to it are batched.
    pub fn peer_sleeps(&self) -> bool {
        self.peer_asleep
    }

    /// The rails to the peer, for diagnostics.
    pub fn rails(&self) -> &Rails {
        &self.rails
    }

    /// Calls `each` for the chunks of bulk that are expected over a rail; see
    /// [`ClicPulls::expected`].
    pub fn expected(&self, rail: u8, each: impl FnMut(Expected) -> bool) {
        self.pulls.expected(rail, each);
    }

    /// Counts of rejected frames of this peer.
    pub fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    /// Bytes that are buffered on behalf of this peer; at most [`Settings::early_bytes`].
    pub fn kept_bytes(&self) -> usize {
        self.sequence.bytes()
    }

    /// Returns the group-related events since the last call.
    pub(super) fn take_concerns(&mut self) -> Vec<Concern> {
        std::mem::take(&mut self.concerns)
    }
}
