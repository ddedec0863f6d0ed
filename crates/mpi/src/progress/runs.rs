//! Collective operations of this process in flight, and the errors that failed ones raise.

use towpath_collective::{Failure, PlanError};
use towpath_neutral::constants::{ERR_COUNT, ERR_NO_MEM, ERR_PROC_ABORTED, ERR_TRUNCATE};
use towpath_neutral::error::Error;

use super::board_calls::Caller;

/// A collective operation of this process in flight, or a persistent one between two starts.
pub(crate) type CollectiveRun = towpath_collective::CollectiveRun<Caller>;

/// All of them.
pub(crate) type Runs = towpath_collective::runs::Runs<Caller>;

/// The local work of one.
pub(crate) type LocalWork = towpath_collective::runs::LocalWork<Caller>;

/// The error that a failed collective raises.
pub(crate) fn failed(failure: Failure) -> Error {
    let class = match failure {
        Failure::Truncated => ERR_TRUNCATE,
        Failure::Plan(error) => return plan_failed(error),
        Failure::Lost => ERR_PROC_ABORTED,
    };
    Error::new(class, failure.to_string())
}

/// The error if a plan cannot be built.
pub(crate) fn plan_failed(error: PlanError) -> Error {
    let class = match error {
        PlanError::Memory { .. } => ERR_NO_MEM,
        PlanError::Overflow => ERR_COUNT,
    };
    Error::new(class, error.to_string())
}
