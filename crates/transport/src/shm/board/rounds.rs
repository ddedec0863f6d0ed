//! The words of a board: who has written in which round, who has finished it, who does its common work.
//!
//! Generic over the memory, so that a model checker can run it (`shm::model`).

use towpath_base::sync::LongWords;

/// One member's view of the words.
#[derive(Debug)]
pub(in crate::shm) struct Rounds<W: LongWords> {
    members: usize,
    pub(super) own: usize,
    pub(super) depth: u64,
    /// Rounds that each member has finished.
    done: W,
    /// Round and member of the claim, by round.
    claims: W,
    /// One more than the round in which a line was written, by round and member.
    lines: W,
    /// The round I am in.
    pub(super) round: u64,
    /// All members have finished the rounds below.
    pub(super) known: u64,
}

impl<W: LongWords> Rounds<W> {
    pub(crate) fn new(members: usize, own: usize, depth: usize, done: W, claims: W, lines: W) -> Rounds<W> {
        Rounds { members, own, depth: depth as u64, done, claims, lines, round: 0, known: 0 }
    }

    pub(super) fn slot(&self) -> usize {
        (self.round & (self.depth - 1)) as usize
    }

    pub(super) fn line(&self, member: usize) -> usize {
        self.slot() * self.members + member
    }

    /// The member that has finished the fewest rounds; all others count as known.
    fn slowest(&mut self) -> usize {
        let (mut least, mut slowest) = (self.round, self.own);
        for member in (0..self.members).filter(|&member| member != self.own) {
            let done = self.done.load_acquire(member);
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
        self.lines.store_release(self.line(self.own), self.round + 1);
    }

    /// Whether a member has written its line of this round.
    #[inline]
    pub(crate) fn is_written(&self, member: usize) -> bool {
        self.lines.load_acquire(self.line(member)) == self.round + 1
    }

    /// Tries to be the one member that does the common work of this round. Whoever is refused finds the claimant by
    /// [`Rounds::claimant`].
    pub(crate) fn claim(&self) -> bool {
        let before = self.claims.load_acquire(self.slot());
        before >> 16 != self.round + 1 && self.claims.replace(self.slot(), before, self.claimed_by(self.own))
    }

    fn claimed_by(&self, member: usize) -> u64 {
        (self.round + 1) << 16 | member as u64
    }

    /// The member that claimed the common work of this round.
    pub(crate) fn claimant(&self) -> Option<usize> {
        let claim = self.claims.load_acquire(self.slot());
        (claim >> 16 == self.round + 1).then_some((claim & 0xFFFF) as usize)
    }

    /// Goes on to the next round: I read nothing of this one any more.
    #[inline]
    pub(crate) fn finish(&mut self) {
        self.round += 1;
        self.done.store_release(self.own, self.round);
    }
}
