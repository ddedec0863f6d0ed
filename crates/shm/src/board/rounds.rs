//! The words of a board: who has written in which round, who has finished it, who does its common
//! work.
//!
//! Generic over the memory, so that a model checker can run it (`model`).

use towpath_base::sync::LongWords;

/// What a member waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// The line of this member in this round.
    Line(usize),
    /// That this member finishes a round.
    End(usize),
    /// The lines of all members in this round.
    AllLines,
}

impl Want {
    /// As the word that says it; 0 says that nothing was ever wanted.
    fn encode(self) -> u64 {
        match self {
            Want::Line(member) => member as u64 * 2 + 1,
            Want::End(member) => member as u64 * 2 + 2,
            Want::AllLines => u64::MAX,
        }
    }
}

/// The words that all members see.
#[derive(Clone, Debug)]
pub(crate) struct Memory<W> {
    /// Rounds that each member has finished.
    pub done: W,
    /// Round and member of the claim, by round.
    pub claims: W,
    /// What each member waits for, or waited for the last time.
    pub wants: W,
    /// One more than the round in which a line was written, by round and member.
    pub lines: W,
}

/// One member's view of the words.
#[derive(Debug)]
pub(crate) struct Rounds<W: LongWords> {
    members: usize,
    pub(crate) own: usize,
    pub(super) depth: u64,
    memory: Memory<W>,
    /// What I have said that I want.
    said: Option<Want>,
    /// The round I am in.
    pub(super) round: u64,
    /// All members have finished the rounds below.
    pub(super) known: u64,
}

impl<W: LongWords> Rounds<W> {
    pub(crate) fn new(members: usize, own: usize, depth: usize, memory: Memory<W>) -> Rounds<W> {
        Rounds { members, own, depth: depth as u64, memory, said: None, round: 0, known: 0 }
    }

    pub(super) fn slot(&self) -> usize {
        (self.round & (self.depth - 1)) as usize
    }

    pub(super) fn line(&self, member: usize) -> usize {
        self.line_ahead(member, 0)
    }

    /// The line of a member so many rounds later.
    pub(super) fn line_ahead(&self, member: usize, rounds: u64) -> usize {
        ((self.round + rounds) & (self.depth - 1)) as usize * self.members + member
    }

    /// The line of a member so many rounds earlier, if the member has written it then.
    pub(super) fn line_written_before(&self, member: usize, rounds: u64) -> Option<usize> {
        let round = self.round.checked_sub(rounds)?;
        let line = (round & (self.depth - 1)) as usize * self.members + member;
        (self.memory.lines.load_acquire(line) == round + 1).then_some(line)
    }

    /// The member that has finished the fewest rounds; all others count as known.
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

    /// Whether all members have finished the rounds below `round`; else the slowest of them.
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

    /// Whether my line of this round may be written.
    #[inline]
    pub(crate) fn line_is_free(&mut self) -> Result<(), usize> {
        self.all_have_finished((self.round + 1).saturating_sub(self.depth))
    }

    /// Shows my line.
    #[inline]
    pub(crate) fn commit(&self) {
        self.memory.lines.store_release(self.line(self.own), self.round + 1);
    }

    /// Whether a member has written its line of this round.
    #[inline]
    pub(crate) fn is_written(&self, member: usize) -> bool {
        self.memory.lines.load_acquire(self.line(member)) == self.round + 1
    }

    /// Whether all members have written their lines of this round. Begins behind me: if all began
    /// with the same member, those who write late would all look at the lines of those who wrote
    /// early.
    pub(crate) fn all_are_written(&self) -> bool {
        (self.own + 1..self.members).chain(0..=self.own).all(|member| self.is_written(member))
    }

    /// Says what I wait for. Mostly it is what I said before: then the word, which others read,
    /// stays as it is.
    #[inline]
    pub(crate) fn want(&mut self, want: Want) {
        if self.said != Some(want) {
            self.said = Some(want);
            self.memory.wants.store_release(self.own, want.encode());
        }
    }

    /// The others that have said so last.
    pub(crate) fn those_that_want(&self, want: Want) -> impl Iterator<Item = usize> {
        let wanted = move |member: &usize| self.memory.wants.load_acquire(*member) == want.encode();
        (0..self.members).filter(move |&member| member != self.own).filter(wanted)
    }

    /// Tries to be the one member that does the common work of this round. Whoever is refused finds
    /// the claimant by [`Rounds::claimant`].
    pub(crate) fn claim(&self) -> bool {
        let before = self.memory.claims.load_acquire(self.slot());
        before >> 16 != self.round + 1 && self.memory.claims.replace(self.slot(), before, self.claimed_by(self.own))
    }

    fn claimed_by(&self, member: usize) -> u64 {
        (self.round + 1) << 16 | member as u64
    }

    /// The member that claimed the common work of this round.
    pub(crate) fn claimant(&self) -> Option<usize> {
        let claim = self.memory.claims.load_acquire(self.slot());
        (claim >> 16 == self.round + 1).then_some((claim & 0xFFFF) as usize)
    }

    /// Goes on to the next round: I read nothing of this one any more.
    #[inline]
    pub(crate) fn finish(&mut self) {
        self.round += 1;
        self.memory.done.store_release(self.own, self.round);
    }
}
