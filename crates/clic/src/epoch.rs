//! Incarnations and sessions: frames of an earlier life of a process are not mistaken for frames of
//! this one.
//!
//! A process that starts has an incarnation, a number greater than those of its earlier lives (the
//! launcher counts, or the clock does). Two processes that know each other's incarnation share a
//! session: a number in every frame, and the first numbers of both ordered streams, all derived
//! from both incarnations by the job's key. They learn them with the launcher's business cards, or
//! by greetings: (own, yours as far as I know it). A greeting says nothing new or is answered or is
//! stale:
//!
//! * an incarnation older than the known one: stale, refused; a replayed greeting cannot end a
//!   session;
//! * a newer one: the peer was restarted; what was under way with the old one is lost, and a new
//!   session begins;
//! * the known one: answered if it does not know us, in any case at most once in [`PAUSE`].
//!
//! A session that was given up stays so: its frames are answered with a greeting that says
//! [`super::frame::ENDED`], so that the other side does not wait for its own timer.

#![forbid(unsafe_code)]

use super::Time;
use super::key::JobKey;
use super::timer::{CEILING, MILLISECOND};

/// Shortest time between two greetings in answer.
pub const PAUSE: Time = MILLISECOND;

/// What two processes have agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    /// Stands in every frame.
    pub number: u16,
    /// Number of the first ordered frame that this process sends.
    pub outgoing: u32,
    /// And of the first that it receives.
    pub incoming: u32,
}

/// What a greeting means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Nothing new.
    Known,
    /// A session begins; if there was one before, everything of it is lost.
    Begins,
    /// The peer has given our session up.
    Ended,
    /// It comes from an earlier life.
    Stale,
}

/// The state towards one peer.
#[derive(Debug)]
pub struct Epoch {
    key: JobKey,
    own_rank: u32,
    peer_rank: u32,
    own: u32,
    peer: Option<u32>,
    ended: bool,
    answer: bool,
    answered: Option<Time>,
    greeting: Option<Time>,
    tries: u32,
}

impl Epoch {
    /// Of a process that lives its life `own`, towards a peer that lives `peer`, if that is known.
    pub fn new(key: JobKey, own_rank: u32, peer_rank: u32, own: u32, peer: Option<u32>) -> Epoch {
        let (ended, answer, answered, greeting, tries) = (false, false, None, None, 0);
        Epoch { key, own_rank, peer_rank, own, peer, ended, answer, answered, greeting, tries }
    }

    /// The session, if there is one.
    pub fn session(&self) -> Option<Session> {
        let peer = self.peer.filter(|_| !self.ended)?;
        let direction = |from: (u32, u32), to: (u32, u32)| {
            let pack = |(rank, life): (u32, u32)| u64::from(rank) << 32 | u64::from(life);
            self.key.mix(pack(from), pack(to))
        };
        let (own, peer) = ((self.own_rank, self.own), (self.peer_rank, peer));
        let (outgoing, incoming) = (direction(own, peer), direction(peer, own));
        Some(Session {
            number: (outgoing >> 48 ^ incoming >> 48) as u16,
            outgoing: outgoing as u32,
            incoming: incoming as u32,
        })
    }

    /// A greeting came.
    pub fn greeted(&mut self, [theirs, ours]: [u32; 2], ended: bool) -> Meaning {
        if self.peer.is_some_and(|known| (theirs.wrapping_sub(known) as i32) < 0) {
            return Meaning::Stale;
        }
        let same = self.peer == Some(theirs);
        if ended {
            // Only the session of exactly these two lives can be ended.
            let ends = same && ours == self.own && !self.ended;
            self.ended |= ends;
            return if ends { Meaning::Ended } else { Meaning::Known };
        }
        self.answer |= ours != self.own || (same && self.ended);
        if same {
            return Meaning::Known;
        }
        (self.peer, self.ended, self.greeting, self.tries) = (Some(theirs), false, None, 0);
        Meaning::Begins
    }

    /// A frame came that is not of this session: the other side should know how things are.
    pub fn stray(&mut self) {
        self.answer = true;
    }

    /// Gives the session up.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// True when the session was given up by either side.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// A greeting that wants to go out now, `eager` when something waits for the session: its
    /// words, and whether it says that the session has ended.
    pub fn greeting(&self, now: Time, eager: bool) -> Option<([u32; 2], bool)> {
        let words = [self.own, self.peer.unwrap_or(0)];
        let answers = self.answer && self.answered.is_none_or(|at| now >= at + PAUSE);
        let asks = self.asks(eager) && self.greeting.is_none_or(|at| now >= at);
        (answers || asks).then_some((words, self.ended && self.peer.is_some()))
    }

    fn asks(&self, eager: bool) -> bool {
        eager && self.peer.is_none()
    }

    /// The greeting has gone out.
    pub fn sent(&mut self, now: Time) {
        (self.answer, self.answered) = (false, Some(now));
        self.greeting = Some(now + (MILLISECOND << self.tries.min(10)).min(CEILING));
        self.tries += 1;
    }

    /// When the next greeting is due.
    pub fn deadline(&self, eager: bool) -> Option<Time> {
        let answer = self.answer.then(|| self.answered.map_or(0, |at| at + PAUSE));
        let ask = self.asks(eager).then(|| self.greeting.unwrap_or(0));
        super::timer::sooner(answer, ask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: JobKey = JobKey([1, 2]);

    fn one(peer: Option<u32>) -> Epoch {
        Epoch::new(KEY, 4, 9, 100, peer)
    }

    fn other(peer: Option<u32>) -> Epoch {
        Epoch::new(KEY, 9, 4, 200, peer)
    }

    #[test]
    fn both_derive_the_same_session_and_other_lives_another() {
        let (here, there) = (one(Some(200)).session().unwrap(), other(Some(100)).session().unwrap());
        assert_eq!((here.number, here.outgoing, here.incoming), (there.number, there.incoming, there.outgoing));
        assert_ne!(here.outgoing, here.incoming);
        let next = one(Some(201)).session().unwrap();
        assert_ne!(here, next);
        assert_ne!(Epoch::new(JobKey([1, 3]), 4, 9, 100, Some(200)).session(), Some(here));
    }

    #[test]
    fn greetings_make_a_session() {
        let (mut here, mut there) = (one(None), other(None));
        assert_eq!((here.greeting(0, false), here.session()), (None, None));
        let (words, ended) = here.greeting(0, true).unwrap();
        assert_eq!((words, ended), ([100, 0], false));
        here.sent(0);
        assert_eq!((here.greeting(0, true), here.deadline(true)), (None, Some(MILLISECOND)));
        assert_eq!(there.greeted(words, ended), Meaning::Begins);
        let (words, ended) = there.greeting(5, false).unwrap();
        there.sent(5);
        assert_eq!(here.greeted(words, ended), Meaning::Begins);
        assert_eq!((here.greeting(10, true), there.greeting(10, true)), (None, None));
        assert!(here.session().is_some() && there.session().is_some());
    }

    #[test]
    fn a_restart_begins_anew_and_an_old_greeting_does_nothing() {
        let mut here = one(Some(200));
        let before = here.session();
        assert_eq!(here.greeted([199, 100], false), Meaning::Stale);
        assert_eq!(here.greeted([199, 100], true), Meaning::Stale);
        assert_eq!((here.session(), here.greeting(0, true)), (before, None));
        assert_eq!(here.greeted([201, 0], false), Meaning::Begins);
        assert_ne!(here.session(), before);
        assert_eq!(here.greeting(0, false), Some(([100, 201], false)));
    }

    #[test]
    fn an_end_is_told_but_only_to_whom_it_concerns() {
        let (mut here, mut there) = (one(Some(200)), other(Some(100)));
        here.end();
        assert_eq!(here.session(), None);
        assert_eq!(here.greeting(0, true), None, "it is told when somebody asks");
        here.stray();
        let (words, ended) = here.greeting(0, true).unwrap();
        assert!(ended);
        assert_eq!(there.greeted([100, 199], true), Meaning::Known, "an earlier life of ours");
        assert_eq!(there.greeted(words, ended), Meaning::Ended);
        assert_eq!(there.greeted(words, ended), Meaning::Known, "once");
        assert_eq!(there.greeted([101, 0], false), Meaning::Begins);
        assert!(there.session().is_some());
    }

    #[test]
    fn answers_are_no_flood() {
        let mut here = one(Some(200));
        here.stray();
        assert!(here.greeting(10, false).is_some());
        here.sent(10);
        here.stray();
        assert_eq!((here.greeting(11, false), here.deadline(false)), (None, Some(10 + PAUSE)));
        assert!(here.greeting(10 + PAUSE, false).is_some());
    }
}
