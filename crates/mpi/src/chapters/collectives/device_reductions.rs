//! Long reductions, which devices may compute in their own memory.

use towpath_collective::hierarchy::phases::reduces;
use towpath_collective::multicast::{NEVER, is_wanted};
use towpath_collective::numbers::CallForm;
use towpath_collective::{CallSignature, CollectiveWork, DeviceAgreement, Operation, ReductionSite};
use towpath_neutral::error::Result;

use super::boards;
use super::execution::{CommView, Prepared};
use crate::chapters::internal::plan_failed;
use crate::process::devices;

/// Runs a long reduction to completion, on devices or on the host.
///
/// # Safety
/// Same as for [`Prepared::wait`].
#[cold]
pub(super) unsafe fn wait(call: Prepared<'_>) -> Result<()> {
    let Prepared { view, work } = call;
    let CommView { comm, selection } = view;
    let (operation, mut copies) = work.into_operation();
    let on_board = boards::must_ask_for_site(comm, &operation, selection)?;
    let is_cast = is_wanted(&operation, selection, view.size(), NEVER);
    let asks = match on_board {
        Some(asks) => asks,
        None => !is_cast && reduces(&view.call(&view.team()), &operation) && hosts_have_devices(&view, &operation)?,
    };
    if asks {
        let agreement = DeviceAgreement::new(&operation, &copies, view.rank());
        if let ReductionSite::Vectors(spread) = agree(&view, &operation, agreement)? {
            // Between hosts segments travel while others are reduced.
            let spread = spread.filter(|_| on_board.is_some());
            let plan = copies.plan(&view.call(&view.team()), &operation, spread).map_err(plan_failed)?;
            let call = Prepared { view, work: CollectiveWork::Plan(Box::new(plan)) };
            // SAFETY: the memory that the call names lives during it (this function's contract).
            return unsafe { call.wait_by_messages() };
        }
    }
    let is_by_messages = on_board.is_none() && !is_cast && !copies.is_empty();
    let call = Prepared { view, work: CollectiveWork::new((operation, copies)) };
    // SAFETY: as above.
    unsafe { if is_by_messages { call.repeat() } else { call.wait() } }
}

/// True if a host of the communicator has devices. The ranks tell each other in the first of these
/// calls.
fn hosts_have_devices(view: &CommView<'_>, operation: &Operation) -> Result<bool> {
    let queue = view.comm.queue(CallForm::Blocking);
    let known = queue.lock().unwrap().hosts_have_devices;
    let ask = || agree(view, operation, DeviceAgreement::on(u64::from(devices::are_on_host())));
    let have = known.map_or_else(|| ask().map(|site| site != ReductionSite::Board), Ok)?;
    queue.lock().unwrap().hosts_have_devices = Some(have);
    Ok(have)
}

/// Lets the ranks tell each other where their vectors are. Their messages and lines name the call.
fn agree(view: &CommView<'_>, operation: &Operation, mut agreement: DeviceAgreement) -> Result<ReductionSite> {
    let CommView { comm, selection } = *view;
    let (exchange, signature) = (agreement.exchange(), CallSignature::of(operation));
    // SAFETY: the exchange names memory of the agreement, which lives during this call.
    if !unsafe { boards::try_execute(signature.mark(), comm, &exchange, selection) }? {
        let mut plan = exchange.plan(&view.call(&view.team())).map_err(plan_failed)?;
        plan.signature = signature.about_board();
        let work = CollectiveWork::Plan(Box::new(plan));
        // SAFETY: as above.
        unsafe { Prepared { view: CommView { comm, selection }, work }.wait_by_messages() }?;
    }
    Ok(agreement.site())
}
