//! Incarnations and sessions: keeps frames of an earlier run of a process from being mistaken for
//! frames of the current one.
//!
//! A process has an incarnation, a number greater than those of its earlier runs (from a counter of
//! the launcher or from the clock). Two processes that know each other's incarnation share a
//! session: a number in every frame, and the initial sequence numbers of both ordered streams, all
//! derived from both incarnations with the job's key. They learn the incarnations from the
//! launcher's business cards, or by greetings, which contain the sender's incarnation and, as far
//! as the sender knows it, the receiver's. How a greeting is handled depends on the peer's
//! incarnation in it:
//!
//! * older than the known one: stale, rejected; a replayed greeting cannot end a session;
//! * newer: the peer has restarted; everything pending with the old incarnation is lost, and a new
//!   session begins;
//! * the known one: answered if the peer does not know us; at most one answer per [`PAUSE`] in any
//!   case.
//!
//! A session that was given up stays given up. Its frames are answered with a greeting that has the
//! flag [`super::frame::ENDED`] set, so that the peer does not have to wait for its own timeout.

#![forbid(unsafe_code)]

use super::Time;
use super::key::FrameKey;
use super::timer::{CEILING, MILLISECOND};

/// Minimum interval between two answering greetings.
pub const PAUSE: Time = MILLISECOND;

/// What two processes have agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    /// The session number in every frame.
    pub number: u16,
    /// Sequence number of the first ordered frame that this process sends.
    pub outgoing: u32,
    /// Sequence number of the first ordered frame that this process receives.
    pub incoming: u32,
}

/// The effect of a greeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GreetingMeaning {
    /// Nothing has changed.
    Known,
    /// A session begins; everything pending in an earlier one is lost.
    Begins,
    /// The peer has given up our session.
    Ended,
    /// From an earlier incarnation.
    Stale,
}

/// The state of the session with one peer.
#[derive(Debug)]
pub struct Incarnations {
    key: FrameKey,
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

impl Incarnations {
    /// Creates the state of a process of incarnation `own`, towards a peer of incarnation `peer`,
    /// if known.
    pub fn new(
        key: FrameKey,
        own_rank: u32,
        peer_rank: u32,
        own: u32,
        peer: Option<u32>,
    ) -> Incarnations {
        let (ended, answer, answered, greeting, tries) = (false, false, None, None, 0);
        Incarnations {
            key,
            own_rank,
            peer_rank,
            own,
            peer,
            ended,
            answer,
            answered,
            greeting,
            tries,
        }
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

    /// Handles a greeting.
    pub fn greeted(&mut self, [theirs, ours]: [u32; 2], ended: bool) -> GreetingMeaning {
        if self.peer.is_some_and(|known| (theirs.wrapping_sub(known) as i32) < 0) {
            return GreetingMeaning::Stale;
        }
        let same = self.peer == Some(theirs);
        if ended {
            // Only the session of exactly these two incarnations can be ended.
            let ends = same && ours == self.own && !self.ended;
            self.ended |= ends;
            return if ends { GreetingMeaning::Ended } else { GreetingMeaning::Known };
        }
        self.answer |= ours != self.own || (same && self.ended);
        if same {
            return GreetingMeaning::Known;
        }
        (self.peer, self.ended, self.greeting, self.tries) = (Some(theirs), false, None, 0);
        GreetingMeaning::Begins
    }

    /// A frame of another session arrived: the peer should be told the current state.
    pub fn stray(&mut self) {
        self.answer = true;
    }

    /// Gives up the session.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// True if the session was given up by either side.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// The greeting to send now, if any: its words, and whether it says that the session has ended.
    /// `eager`: something waits for the session.
    pub fn greeting(&self, now: Time, eager: bool) -> Option<([u32; 2], bool)> {
        let words = [self.own, self.peer.unwrap_or(0)];
        let answers = self.answer && self.answered.is_none_or(|at| now >= at + PAUSE);
        let asks = self.asks(eager) && self.greeting.is_none_or(|at| now >= at);
        (answers || asks).then_some((words, self.ended && self.peer.is_some()))
    }

    fn asks(&self, eager: bool) -> bool {
        eager && self.peer.is_none()
    }

    /// The greeting has been sent.
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

    const KEY: FrameKey = FrameKey([1, 2]);

    fn one(peer: Option<u32>) -> Incarnations {
        Incarnations::new(KEY, 4, 9, 100, peer)
    }

    fn other(peer: Option<u32>) -> Incarnations {
        Incarnations::new(KEY, 9, 4, 200, peer)
    }

    #[test]
    fn both_derive_the_same_session_and_other_lives_another() {
        let (here, there) =
            (one(Some(200)).session().unwrap(), other(Some(100)).session().unwrap());
        assert_eq!(
            (here.number, here.outgoing, here.incoming),
            (there.number, there.incoming, there.outgoing)
        );
        assert_ne!(here.outgoing, here.incoming);
        let next = one(Some(201)).session().unwrap();
        assert_ne!(here, next);
        assert_ne!(Incarnations::new(FrameKey([1, 3]), 4, 9, 100, Some(200)).session(), Some(here));
    }

    #[test]
    fn greetings_make_a_session() {
        let (mut here, mut there) = (one(None), other(None));
        assert_eq!((here.greeting(0, false), here.session()), (None, None));
        let (words, ended) = here.greeting(0, true).unwrap();
        assert_eq!((words, ended), ([100, 0], false));
        here.sent(0);
        assert_eq!((here.greeting(0, true), here.deadline(true)), (None, Some(MILLISECOND)));
        assert_eq!(there.greeted(words, ended), GreetingMeaning::Begins);
        let (words, ended) = there.greeting(5, false).unwrap();
        there.sent(5);
        assert_eq!(here.greeted(words, ended), GreetingMeaning::Begins);
        assert_eq!((here.greeting(10, true), there.greeting(10, true)), (None, None));
        assert!(here.session().is_some() && there.session().is_some());
    }

    #[test]
    fn a_restart_begins_anew_and_an_old_greeting_does_nothing() {
        let mut here = one(Some(200));
        let before = here.session();
        assert_eq!(here.greeted([199, 100], false), GreetingMeaning::Stale);
        assert_eq!(here.greeted([199, 100], true), GreetingMeaning::Stale);
        assert_eq!((here.session(), here.greeting(0, true)), (before, None));
        assert_eq!(here.greeted([201, 0], false), GreetingMeaning::Begins);
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
        assert_eq!(
            there.greeted([100, 199], true),
            GreetingMeaning::Known,
            "an earlier life of ours"
        );
        assert_eq!(there.greeted(words, ended), GreetingMeaning::Ended);
        assert_eq!(there.greeted(words, ended), GreetingMeaning::Known, "once");
        assert_eq!(there.greeted([101, 0], false), GreetingMeaning::Begins);
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
