//! Long reductions, which devices may compute in their own memory.

use towpath_collective::multicast::is_wanted;
use towpath_collective::{Call, CallSignature, CollectiveWork, DeviceAgreement, Operation, Pays, ReductionSite};
use towpath_neutral::error::Result;

use super::boards;
use super::execution::{CommView, Prepared};
use crate::chapters::internal::plan_failed;

/// Runs a long reduction to completion, on devices or on the host.
///
/// # Safety
/// Same as for [`Prepared::wait`].
#[cold]
pub(super) unsafe fn wait(call: Prepared<'_>) -> Result<()> {
    let Prepared { view, work } = call;
    let CommView { comm, selection } = view;
    let (operation, copies) = work.into_operation();
    let is_on_host = copies.is_empty();
    let is_cast = is_wanted(&operation, selection, view.size(), Pays(0, 0));
    // SAFETY: the memory that the call names lives during the call (this function's contract).
    unsafe {
        match boards::must_ask_for_site(comm, &operation, selection)? {
            Some(true) => {
                let mut agreement = DeviceAgreement::new(&operation, &copies, view.rank());
                agree(&view, &operation, &mut agreement)?;
                if let ReductionSite::Vectors(spread) = agreement.site() {
                    let plan = copies.plan(&view.call(&view.team()), &operation, spread).map_err(plan_failed)?;
                    return Prepared { view, work: CollectiveWork::Plan(Box::new(plan)) }.wait_by_messages();
                }
            }
            None if !is_on_host && !is_cast => {
                return Prepared { view, work: CollectiveWork::new((operation, copies)) }.repeat();
            }
            _ => {}
        }
        Prepared { view, work: CollectiveWork::new((operation, copies)) }.wait()
    }
}

/// Lets the ranks tell each other where their vectors are. Their messages and lines name the call.
///
/// # Safety
/// Same as for [`Prepared::wait`].
unsafe fn agree(view: &CommView<'_>, operation: &Operation, agreement: &mut DeviceAgreement) -> Result<()> {
    let CommView { comm, selection } = *view;
    let (exchange, signature) = (agreement.exchange(), CallSignature::of(operation));
    // SAFETY: the exchange names memory of the agreement, which lives during this call.
    unsafe {
        if boards::try_execute_as(signature.mark(), comm, &exchange, selection)? {
            return Ok(());
        }
        let mut plan = exchange.plan(&Call { team: &view.team(), selection }).map_err(plan_failed)?;
        plan.signature = signature.about_board();
        let work = CollectiveWork::Plan(Box::new(plan));
        Prepared { view: CommView { comm, selection }, work }.wait_by_messages()
    }
}
