//! Long reductions, which devices may compute in their own memory.

use towpath_collective::{CollectiveWork, DeviceAgreement};
use towpath_neutral::error::Result;

use super::boards;
use super::execution::{CommView, Prepared};

/// Runs a long reduction to completion, on devices or on the host.
///
/// # Safety
/// Same as for [`Prepared::wait`].
#[cold]
pub(super) unsafe fn wait(call: Prepared<'_>) -> Result<()> {
    // SAFETY: these functions have the same contract.
    unsafe { if try_execute(&call.view, &call.work)? { Ok(()) } else { call.wait() } }
}

/// Runs a reduction to completion by messages, if vectors of a rank are on a device that reduces
/// them. False on all ranks if it must run otherwise.
///
/// # Safety
/// Same as for [`Prepared::wait`].
unsafe fn try_execute(view: &CommView<'_>, work: &CollectiveWork) -> Result<bool> {
    let CommView { comm, selection } = *view;
    let call = |work| Prepared { view: CommView { comm, selection }, work };
    let Some(operation) = work.operation() else { return Ok(false) };
    let mut agreement = DeviceAgreement::new(work, view.rank());
    if !boards::has_devices(comm, &agreement.exchange(), selection)? {
        return Ok(false);
    }
    // SAFETY: the agreement lives during the exchanges. The plan names memory that lives during the
    // call (this function's contract).
    unsafe {
        call(CollectiveWork::Operation(agreement.exchange())).wait()?;
        if !agreement.holds() {
            return Ok(false);
        }
        let plan = agreement.plan(operation, &view.call(&view.team()));
        call(CollectiveWork::Operation(agreement.exchange())).wait()?;
        match plan.filter(|_| agreement.holds()) {
            Some(plan) => call(CollectiveWork::Plan(Box::new(plan))).wait_by_messages().map(|()| true),
            None => Ok(false),
        }
    }
}
