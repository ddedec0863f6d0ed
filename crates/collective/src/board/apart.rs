//! The messages that complete a call whose blocks do not all fit on the board ([`super::records`]).

use towpath_schedule::{Call, Operation, PlanError};

use super::team::{BoardOutcome, TeamBoard};
use crate::numbers;
use crate::run::Run;

impl TeamBoard {
    /// True if the last call, which has ended with `outcome`, sends blocks apart.
    #[inline]
    pub fn sends_apart(&self, operation: &Operation, outcome: BoardOutcome) -> bool {
        operation.is_varying_at_root()
            && outcome != BoardOutcome::OutOfStep
            && !self.apart.is_empty()
    }

    /// The messages that complete a call that [sends blocks apart](TeamBoard::sends_apart).
    /// `sequence` is their number; `None` for a blocking call.
    ///
    /// # Safety
    /// The contract of [`Run::start`] applies.
    ///
    /// # Errors
    /// If their plan cannot be built.
    pub unsafe fn messages_apart(
        &mut self,
        operation: &Operation,
        outcome: BoardOutcome,
        call: &Call,
        sequence: Option<u64>,
    ) -> Result<Box<Run>, PlanError> {
        let plan = operation.plan_apart(call, &std::mem::take(&mut self.apart))?;
        let sequence = sequence.unwrap_or_else(|| numbers::sequence_apart(self.calls()));
        // SAFETY: this function has the same contract.
        let mut run = Box::new(unsafe { Run::start(plan, sequence) });
        run.compare_apart(self.notices().clone(), self.board.finished_call());
        if outcome == BoardOutcome::Truncated {
            run.truncate();
        }
        Ok(run)
    }
}
