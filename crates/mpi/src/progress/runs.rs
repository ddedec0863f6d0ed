//! Collective operations of this process in flight, and the errors that failed ones raise.

use towpath_base::ids::PeerIndex;
use towpath_collective::failure::{self, FormedCall, out_of_step};
use towpath_collective::numbers::CallForm;
use towpath_collective::{CallSignature, Failure, PlanError};
use towpath_neutral::constants::{ERR_BUFFER, ERR_COUNT, ERR_NO_MEM, ERR_OTHER, ERR_PROC_ABORTED, ERR_TRUNCATE};
use towpath_neutral::error::Error;

use super::board_calls::Caller;
use crate::process;

/// A collective operation of this process in flight, or a persistent one between two starts.
pub(crate) type CollectiveRun = towpath_collective::CollectiveRun<Caller>;

/// All of them.
pub(crate) type Runs = towpath_collective::runs::Runs<Caller>;

/// The local work of one.
pub(crate) type LocalWork = towpath_collective::runs::LocalWork<Caller>;

/// The error that a failed collective raises.
pub(crate) fn failed(failure: Failure) -> Error {
    let lost = |peer| failure::lost(&process::name_of(peer), &process::reason_of_loss(peer));
    let class = match failure {
        Failure::Truncated => ERR_TRUNCATE,
        Failure::Device => ERR_BUFFER,
        Failure::Plan(error) => return plan_failed(error),
        Failure::Lost { peer } => return Error::new(ERR_PROC_ABORTED, lost(peer)),
        Failure::Mismatch { peer, own, theirs } => return mismatch(peer, own, theirs),
        Failure::Order { peer, own, theirs } => return forms_differ(peer, own, theirs),
    };
    Error::new(class, failure.to_string())
}

/// The error if another process has called another collective.
fn mismatch(peer: PeerIndex, own: CallSignature, theirs: CallSignature) -> Error {
    let (me, other) = (process::name_of(process::me()), process::name_of(peer));
    let [my_last, their_last] = [process::me(), peer].map(process::last_call_of);
    Error::new(ERR_OTHER, out_of_step((&me, own, my_last), (&other, theirs, their_last)))
}

/// The error if another process has called a collective in another form.
fn forms_differ(peer: PeerIndex, own: FormedCall, theirs: FormedCall) -> Error {
    let name = |peer, call: FormedCall| {
        // The function that has been called last is the blocking call itself.
        let last = process::last_call_of(peer).filter(|_| call.form == CallForm::Blocking);
        (process::name_of(peer), last.map_or_else(|| call.to_string(), str::to_owned))
    };
    let (me, other) = (name(process::me(), own), name(peer, theirs));
    Error::new(ERR_OTHER, failure::forms_differ((&me.0, &me.1), (&other.0, &other.1)))
}

/// The error if a plan cannot be built.
pub(crate) fn plan_failed(error: PlanError) -> Error {
    let class = match error {
        PlanError::Memory { .. } => ERR_NO_MEM,
        PlanError::Overflow => ERR_COUNT,
    };
    Error::new(class, error.to_string())
}
