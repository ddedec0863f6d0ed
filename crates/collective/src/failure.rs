//! Why collective calls fail.

use towpath_base::ids::PeerIndex;
use towpath_schedule::CallSignature;
use towpath_schedule::plan::PlanError;

/// What [`Failure::Mismatch`] violates (MPI 5.0, 6.1).
const SAME_CALLS: &str = "all ranks of a communicator must call the same collectives, in the \
                              same order and with the same root";

/// What it violates if the calls are the same.
const SAME_COUNTS: &str = "their counts and datatypes must describe the same number of bytes";

/// Reason why a run failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// A rank sent more than this rank expected. All steps were executed nevertheless, so that no
    /// rank hangs.
    #[error(
        "a rank sent more data than this rank expects; counts and datatypes of the ranks do not fit together"
    )]
    Truncated,
    /// A process of the communicator was lost; the remaining steps are not executed.
    #[error("a process that takes part in the collective died")]
    Lost,
    /// A process has called another collective, or named another root. If both name the same, their
    /// counts need different ways. The remaining steps are not executed.
    #[error("{}", out_of_step("this rank", "another one", *own, *theirs))]
    Mismatch {
        /// The other process.
        peer: PeerIndex,
        /// What this process calls.
        own: CallSignature,
        /// What the other process calls.
        theirs: CallSignature,
    },
    /// The plan of a call that could have used a board cannot be built.
    #[error(transparent)]
    Plan(PlanError),
}

impl Failure {
    /// True if steps are left that will not be executed: their memory stays in use.
    pub(crate) fn leaves_steps(self) -> bool {
        matches!(self, Failure::Lost | Failure::Mismatch { .. })
    }
}

/// The sentence about two ranks whose calls do not fit together.
pub fn out_of_step(me: &str, other: &str, own: CallSignature, theirs: CallSignature) -> String {
    if own.names_same(theirs) {
        format!("{me} calls {own}, but {other} calls {theirs} with another length; {SAME_COUNTS}")
    } else {
        format!("{me} calls {own}, but {other} calls {theirs}; {SAME_CALLS}")
    }
}
