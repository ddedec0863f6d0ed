//! Memory in the heaps that a member exposes to the others in a round, so that they write to it
//! instead of posting messages.
//!
//! Whoever writes counts itself in the word of the round. A member whose call ends early withdraws
//! its memory: nobody begins to write from then on, and those that do write are waited for.

use towpath_base::sync::LongWords;

use super::rounds::Rounds;

/// Bits of the word of a round below the round plus one.
const ROUND_AT: u32 = 16;
/// The memory has been withdrawn. The bits below are the number of members that write, of which a
/// board has fewer than 32768.
const WITHDRAWN: u64 = 1 << (ROUND_AT - 1);

impl<W: LongWords> Rounds<W> {
    /// Begins to write to the memory that is exposed in this round; false if it is withdrawn.
    pub(crate) fn begin_write(&self) -> bool {
        self.change_exposed(|state| (state & WITHDRAWN == 0).then_some(state + 1)).is_some()
    }

    /// Ends what [`Rounds::begin_write`] began.
    pub(crate) fn end_write(&self) {
        self.change_exposed(|state| Some(state - 1));
    }

    /// Withdraws the memory that is exposed in this round. True if nobody writes to it any more.
    pub(crate) fn withdraw(&self) -> bool {
        self.change_exposed(|state| Some(state | WITHDRAWN)) == Some(WITHDRAWN)
    }

    /// Changes the state of this round's word, and returns the new one. `None` if `change` wants
    /// none.
    fn change_exposed(&self, change: impl Fn(u64) -> Option<u64>) -> Option<u64> {
        let (claims, slot, round) = (&self.memory.claims, self.slot(), self.round + 1);
        loop {
            let before = claims.load_acquire(slot);
            let is_fresh = before >> ROUND_AT == round;
            let state = change(if is_fresh { before & ((1 << ROUND_AT) - 1) } else { 0 })?;
            if claims.replace(slot, before, round << ROUND_AT | state) {
                return Some(state);
            }
        }
    }
}
