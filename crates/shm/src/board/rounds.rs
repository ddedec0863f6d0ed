//! The words of a board: who has written in which round, who has finished it, and who does its
//! common work.
//!
//! Generic over the memory, so that a model checker can run it (`model`).

use std::sync::Arc;

use towpath_base::sync::{LongWords, Ordering};

use super::calls::{ROUND, RoundNote};

/// What a member waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// The line of this member in this round.
    Line(usize),
    /// The end of this member's current round.
    End(usize),
    /// The lines of all members in this round.
    AllLines,
}

impl Want {
    /// Encodes the value for the `wants` word; 0 means that none was ever published.
    fn encode(self) -> u64 {
        match self {
            Want::Line(member) => member as u64 * 2 + 1,
            Want::End(member) => member as u64 * 2 + 2,
            Want::AllLines => u64::MAX,
        }
    }
}

/// The words that all members share.
#[derive(Clone, Debug)]
pub(crate) struct RoundMemory<W> {
    /// Number of rounds that each member has finished.
    pub done: W,
    /// By round: the round, and either the member that has claimed its common work or the state of
    /// the memory that is exposed in it (`exposed`). No round has both.
    pub claims: W,
    /// What each member waits for, or waited for last.
    pub wants: W,
    /// The round in which a line was written plus one and the mark of its call, by round and
    /// member.
    pub lines: W,
    /// The call in which each member has waited long.
    pub told: W,
    /// The upper bits of the number of each member's call, and the round since which they hold.
    pub uppers: W,
}

/// One member's view of the words.
#[derive(Debug)]
pub(crate) struct Rounds<W: LongWords> {
    pub(super) members: usize,
    pub(crate) own: usize,
    pub(super) depth: u64,
    pub(super) memory: RoundMemory<W>,
    /// The last published want of this member.
    said: Option<Want>,
    /// The current round of this member.
    pub(super) round: u64,
    /// The mark and the number of its call, in one word: short calls store as little as possible.
    pub(super) call: u64,
    /// Bytes ever allocated from this member's area, gaps at its end included.
    pub(super) taken: u64,
    /// The end of the round before, by round.
    pub(super) notes: Arc<[RoundNote]>,
    /// All members have finished the rounds below this one.
    pub(super) known: u64,
}

impl<W: LongWords> Rounds<W> {
    pub(crate) fn new(
        members: usize,
        own: usize,
        depth: usize,
        memory: RoundMemory<W>,
    ) -> Rounds<W> {
        Rounds {
            members,
            own,
            depth: depth as u64,
            memory,
            said: None,
            round: 0,
            call: 0,
            taken: 0,
            notes: (0..depth).map(|_| RoundNote::default()).collect(),
            known: 0,
        }
    }

    pub(super) fn slot(&self) -> usize {
        self.slot_of(self.round)
    }

    pub(super) fn slot_of(&self, round: u64) -> usize {
        (round & (self.depth - 1)) as usize
    }

    pub(super) fn line(&self, member: usize) -> usize {
        self.line_ahead(member, 0)
    }

    /// The line of a member `rounds` rounds later.
    pub(super) fn line_ahead(&self, member: usize, rounds: u64) -> usize {
        self.line_in(member, self.round + rounds)
    }

    fn line_in(&self, member: usize, round: u64) -> usize {
        self.slot_of(round) * self.members + member
    }

    /// The line of a member `rounds` rounds earlier, if the member wrote it then.
    pub(super) fn line_written_before(&self, member: usize, rounds: u64) -> Option<usize> {
        let round = self.round.checked_sub(rounds)?;
        let line = self.line_in(member, round);
        (self.memory.lines.load_acquire(line) & ROUND == round + 1).then_some(line)
    }

    /// Returns the member that has finished the fewest rounds, and updates `known`.
    fn slowest(&mut self) -> usize {
        let (mut least, mut slowest) = (self.round, self.own);
        for member in (0..self.members).filter(|&member| member != self.own) {
            let done = self.memory.done.load_acquire(member);
            if done < least {
                (least, slowest) = (done, member);
            }
        }
        self.known = least;
        slowest
    }

    /// `Ok` if all members have finished the rounds below `round`, otherwise the slowest of them.
    #[inline]
    pub(crate) fn all_have_finished(&mut self, round: u64) -> Result<(), usize> {
        if self.known < round {
            let slowest = self.slowest();
            if self.known < round {
                return Err(slowest);
            }
        }
        Ok(())
    }

    /// `Ok` if this member may write its line of this round, otherwise the member to wait for.
    #[inline]
    pub(crate) fn line_is_free(&mut self) -> Result<(), usize> {
        self.all_have_finished((self.round + 1).saturating_sub(self.depth))
    }

    /// The word of a line of this round and call.
    #[inline]
    fn word(&self) -> u64 {
        self.call & !ROUND | (self.round + 1)
    }

    /// Publishes this member's line.
    #[inline]
    pub(crate) fn commit(&self) {
        self.memory.lines.store_release(self.line(self.own), self.word());
    }

    /// True if a member has written its line of this round, in the same call.
    #[inline]
    pub(crate) fn is_written(&self, member: usize) -> bool {
        self.memory.lines.load_acquire(self.line(member)) == self.word()
    }

    /// True if all members have written their lines of this round. Starts with the next member: if
    /// all started with the same one, late writers would all read the lines of the early ones.
    pub(crate) fn all_are_written(&self) -> bool {
        (self.own + 1..self.members).chain(0..=self.own).all(|member| self.is_written(member))
    }

    /// Publishes what this member waits for. Usually that has not changed, and the word, which
    /// others read, is then not written.
    #[inline]
    pub(crate) fn want(&mut self, want: Want) {
        if self.said != Some(want) {
            self.said = Some(want);
            self.memory.wants.store_release(self.own, want.encode());
        }
    }

    /// The other members whose last published want is this one.
    pub(crate) fn those_that_want(&self, want: Want) -> impl Iterator<Item = usize> {
        let wanted = move |member: &usize| self.memory.wants.load_acquire(*member) == want.encode();
        (0..self.members).filter(move |&member| member != self.own).filter(wanted)
    }

    /// Tries to claim the common work of this round; true for the one member that succeeds. The
    /// others find the claimant by [`Rounds::claimant`].
    pub(crate) fn claim(&self) -> bool {
        let before = self.memory.claims.load_acquire(self.slot());
        before >> 16 != self.round + 1
            && self.memory.claims.replace(self.slot(), before, self.claimed_by(self.own))
    }

    fn claimed_by(&self, member: usize) -> u64 {
        (self.round + 1) << 16 | member as u64
    }

    /// The member that has claimed the common work of this round.
    pub(crate) fn claimant(&self) -> Option<usize> {
        let claim = self.memory.claims.load_acquire(self.slot());
        (claim >> 16 == self.round + 1).then_some((claim & 0xFFFF) as usize)
    }

    /// Goes on to the next round: this member no longer reads anything of the old one.
    #[inline]
    pub(crate) fn finish(&mut self) {
        self.round += 1;
        self.memory.done.store_release(self.own, self.round);
        let note = &self.notes[self.slot()];
        note.taken.store(self.taken, Ordering::Relaxed);
        note.call.store(self.call, Ordering::Release);
    }
}
