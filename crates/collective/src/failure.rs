//! Why collective calls fail.

use std::fmt;

use towpath_base::ids::PeerIndex;
use towpath_schedule::plan::PlanError;
use towpath_schedule::{CallSignature, Operation};

use crate::numbers::CallForm;
use crate::order::PlacedCall;

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
        "a rank sent more data than this rank expects; counts and datatypes of the ranks do not \
         fit together"
    )]
    Truncated,
    /// A process of the communicator was lost; the remaining steps are not executed.
    #[error("a process that takes part in the collective died")]
    Lost {
        /// The process.
        peer: PeerIndex,
    },
    /// A process has called another collective, or named another root. If both name the same, their
    /// counts need different ways. The remaining steps are not executed.
    #[error("{}", out_of_step(("this rank", *own, None), ("another rank", *theirs, None)))]
    Mismatch {
        /// The other process.
        peer: PeerIndex,
        /// What this process calls.
        own: CallSignature,
        /// What the other process calls.
        theirs: CallSignature,
    },
    /// Each of two processes has called something before what the other one has called, in another
    /// form. The remaining steps are not executed.
    #[error("{}", forms_differ(("this rank", &own.to_string()), ("another rank", &theirs.to_string())))]
    Order {
        /// The other process.
        peer: PeerIndex,
        /// The call of this process.
        own: FormedCall,
        /// The call of the other process.
        theirs: FormedCall,
    },
    /// A device could not reduce vectors that were in its memory. All steps were executed
    /// nevertheless, so that no rank hangs; the result is undefined.
    #[error(
        "a device can no longer reduce the vectors of the call, which were in its memory when it \
         began; do not free a buffer before its operation is complete"
    )]
    Device,
    /// The plan of a call that could have used a board cannot be built.
    #[error(transparent)]
    Plan(PlanError),
}

impl Failure {
    /// True if a member is in another call than others, and so uses their board no more.
    pub fn is_out_of_step(self) -> bool {
        matches!(self, Failure::Mismatch { .. } | Failure::Order { .. })
    }

    /// True if steps are left that will not be executed: their memory stays in use.
    pub(crate) fn leaves_steps(self) -> bool {
        matches!(self, Failure::Lost { .. } | Failure::Mismatch { .. } | Failure::Order { .. })
    }
}

/// A call of some form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormedCall {
    /// What is called.
    pub signature: CallSignature,
    /// Its form.
    pub form: CallForm,
}

impl From<PlacedCall> for FormedCall {
    fn from(call: PlacedCall) -> FormedCall {
        FormedCall { signature: call.signature, form: call.order.form }
    }
}

impl fmt::Display for FormedCall {
    /// The names of the functions of this form.
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, word) in self.signature.to_string().split(' ').enumerate() {
            let space = if index == 0 { "" } else { " " };
            match (word.strip_prefix("MPI_"), self.form) {
                (Some(name), CallForm::Nonblocking) => {
                    write!(to, "{space}MPI_I{}", name.to_lowercase())?;
                }
                (Some(name), CallForm::Persistent) => {
                    let (name, comma) =
                        name.strip_suffix(',').map_or((name, ""), |name| (name, ","));
                    write!(to, "{space}MPI_{name}_init{comma}")?;
                }
                _ => write!(to, "{space}{word}")?,
            }
        }
        Ok(())
    }
}

/// The sentence about a process, by its name, that is lost for this reason.
pub fn lost(name: &str, reason: &str) -> String {
    format!("{name}, which takes part in the collective, is lost: {reason}")
}

/// The sentence about a rank that has sent more than this one expects. `other` is a rank of the
/// communicator that has called something else last. It may have moved on since, so it is a hint.
pub fn truncated(comm: &str, other: Option<(usize, &str)>) -> String {
    let mut sentence = Failure::Truncated.to_string();
    if let Some((rank, call)) = other {
        sentence.push_str(&format!(
            ", or they are in different calls: rank {rank} of {comm} has called {call} last"
        ));
    }
    sentence
}

/// The sentence about two ranks, by their names and calls, each of which has called something
/// before the call of the other one.
pub fn forms_differ(own: (&str, &str), theirs: (&str, &str)) -> String {
    format!(
        "{} calls {}, but {} calls {} before that; a blocking, a nonblocking and a persistent call \
         do not match, and all ranks of a communicator must call its collectives in the same order",
        own.0, own.1, theirs.0, theirs.1
    )
}

/// A rank in a sentence about calls that do not fit together: its name, its call, and the function
/// that it has called last.
pub type RankInWords<'a> = (&'a str, CallSignature, Option<&'a str>);

/// The sentence about two ranks whose calls do not fit together.
pub fn out_of_step(own: RankInWords<'_>, theirs: RankInWords<'_>) -> String {
    if own.1.names_same(theirs.1) {
        let (me, call, other) = (own.0, own.1, theirs.0);
        return format!("{me} and {other} call {call} with different lengths; {SAME_COUNTS}");
    }
    format!("{} calls {}, but {} calls {}; {SAME_CALLS}", own.0, call(own), theirs.0, call(theirs))
}

/// The name of a rank's call. MPI_Finalize begins with a barrier.
fn call((_, signature, last): RankInWords<'_>) -> String {
    let is_barrier = signature == CallSignature::of(&Operation::Barrier);
    last.filter(|last| is_barrier && *last == FINALIZE)
        .map_or_else(|| signature.to_string(), str::to_owned)
}

const FINALIZE: &str = "MPI_Finalize";

/// The sentence about a member that is in another call of the same collective.
pub fn in_other_call(member: usize, comm: &str) -> String {
    format!(
        "rank {member} of {comm} is in another collective call than this rank: the ranks have not \
         called the same collective functions in the same order with matching counts, datatypes \
         and roots"
    )
}

/// The same, with the names of the functions that this rank and the member have called last, if
/// they differ.
pub fn in_other_calls(member: usize, comm: &str, calls: [Option<&str>; 2]) -> String {
    let rule = "the ranks have not called the same collective functions in the same order";
    match calls {
        [Some(own), Some(other)] if own != other => {
            let mut sentence =
                format!("rank {member} of {comm} has called {other}, this rank {own}: {rule}");
            if own == FINALIZE || other == FINALIZE {
                sentence.push_str("; call MPI_Finalize only after all other MPI calls");
            } else {
                let earlier = ", or counts, datatypes and roots of an earlier call did not match";
                sentence.push_str(earlier);
            }
            sentence
        }
        _ => in_other_call(member, comm),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_names_both_calls() {
        let barrier = CallSignature::of(&Operation::Barrier);
        let said = out_of_step(("rank 2", barrier, None), ("rank 0", CallSignature(2), None));
        assert!(
            said.starts_with("rank 2 calls MPI_Barrier, but rank 0 calls MPI_Bcast; "),
            "{said}"
        );
        let last = Some("MPI_Finalize");
        let said = out_of_step(("rank 2", CallSignature(2), last), ("rank 0", barrier, last));
        assert!(
            said.starts_with("rank 2 calls MPI_Bcast, but rank 0 calls MPI_Finalize; "),
            "{said}"
        );
        let said = out_of_step(("rank 2", barrier, None), ("rank 0", barrier.about_board(), None));
        assert!(said.starts_with("rank 2 and rank 0 call MPI_Barrier with different "), "{said}");
    }

    #[test]
    fn a_call_is_named_in_its_form() {
        let name = |number, form| FormedCall { signature: CallSignature(number), form }.to_string();
        assert_eq!(name(2, CallForm::Blocking), "MPI_Bcast");
        assert_eq!(name(2 | 32, CallForm::Nonblocking), "MPI_Ibcast with root 0");
        assert_eq!(name(7, CallForm::Nonblocking), "MPI_Iallgather or MPI_Iallgatherv");
        assert_eq!(name(8, CallForm::Persistent), "MPI_Alltoall_init");
        let lengths = "MPI_Alltoallv_init or MPI_Alltoallw_init";
        assert_eq!(name(15, CallForm::Persistent), lengths);
        let said = forms_differ(("rank 0", "MPI_Bcast"), ("rank 1", "MPI_Ibcast"));
        assert!(
            said.starts_with("rank 0 calls MPI_Bcast, but rank 1 calls MPI_Ibcast before that; ")
        );
    }

    #[test]
    fn the_sentence_names_the_calls_that_differ() {
        let early = in_other_calls(1, "MPI_COMM_WORLD", [Some("MPI_Finalize"), Some("MPI_Bcast")]);
        let begin = "rank 1 of MPI_COMM_WORLD has called MPI_Bcast, this rank MPI_Finalize: ";
        assert!(early.starts_with(begin), "{early}");
        assert!(early.contains("call MPI_Finalize only") && !early.contains("counts"), "{early}");
        let other = in_other_calls(1, "x", [Some("MPI_Bcast"), Some("MPI_Reduce")]);
        assert!(other.contains("of an earlier call") && !other.contains("Finalize"), "{other}");
        for same in [[Some("MPI_Bcast"), Some("MPI_Bcast")], [None, Some("MPI_Bcast")]] {
            assert!(in_other_calls(1, "x", same).contains("with matching counts"));
        }
    }
}
