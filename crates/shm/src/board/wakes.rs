//! Publishing on a board, and waking the members that wait for it.
//!
//! Invariant: no wake-up is lost. A member publishes what it wants before it sleeps; the member
//! that completes it sees that, or the sleeper's recheck sees the completion.
//!
//! Generic over the memory, so that a model checker can run it (`model`).

use towpath_base::sync::LongWords;
use towpath_machine::wait::sleep::{HostWords, SleepWord, SleeperWords};

use super::rounds::{Rounds, Want};

/// The members of a board as processes that sleep.
pub(crate) trait Sleepers {
    type Word: SleepWord;
    /// The words that all processes of the host share.
    fn host(&self) -> HostWords<'_, Self::Word>;
    /// The words of a member.
    fn words(&self, member: usize) -> SleeperWords<'_, Self::Word>;
    /// Wakes a member if it sleeps or is about to.
    fn wake(&self, member: usize);
}

impl<W: LongWords> Rounds<W> {
    /// Publishes this member's line, and wakes the members that wait for it.
    #[inline]
    pub(crate) fn post(&self, members: &impl Sleepers) {
        self.commit();
        if members.host().somebody_sleeps() {
            self.wake_readers(members);
        }
    }

    /// Goes on to the next round, and wakes the members that wait for the end of this one.
    #[inline]
    pub(crate) fn leave(&mut self, members: &impl Sleepers) {
        self.finish();
        if members.host().somebody_sleeps() {
            self.wake_those_that_want(Want::End(self.own), members);
        }
    }

    /// Wakes the members that wait for the line that this member has written.
    #[cold]
    fn wake_readers<S: Sleepers>(&self, members: &S) {
        self.wake_those_that_want(Want::Line(self.own), members);
        // If two members write the last lines at the same time, at least one of them must see the
        // line of the other.
        S::Word::fence();
        if self.all_are_written() {
            self.wake_those_that_want(Want::AllLines, members);
        }
    }

    #[cold]
    fn wake_those_that_want(&self, done: Want, members: &impl Sleepers) {
        for member in self.those_that_want(done) {
            if members.words(member).is_asleep() {
                members.wake(member);
            }
        }
    }
}
