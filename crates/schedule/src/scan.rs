//! MPI_SCAN and MPI_EXSCAN (6.11): every rank gets all short vectors and folds those up to its own;
//! long ones travel along a chain of the ranks, segment by segment.
//!
//! Both fold in rank order ([`fold`]), so the choice does not change the result.

use crate::builder::Builder;
use crate::operand::Operand;
use crate::plan::{Plan, PlanError};
use crate::select::{Algorithm, Collective, Size};
use crate::{Call, fold, hierarchy};

/// Builds a plan that combines the vectors of ranks 0 up to and including this one in `receive`.
pub fn scan(call: &Call, operand: &Operand, receive: *mut u8) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(call.team);
    append(&mut builder, call, operand, receive, false);
    builder.finish()
}

/// Builds a plan that combines the vectors of the ranks below this one in `receive`; on rank 0,
/// `receive` is unchanged.
pub fn exscan(call: &Call, operand: &Operand, receive: *mut u8) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(call.team);
    append(&mut builder, call, operand, receive, true);
    builder.finish()
}

/// Appends a scan to a plan.
pub(crate) fn append(
    builder: &mut Builder,
    call: &Call,
    operand: &Operand,
    receive: *mut u8,
    exclusive: bool,
) {
    let size = Size::of_reduction(&builder.team, operand).in_order(&builder.team);
    match call.selection.choose(Collective::Scan, size) {
        Algorithm::Hierarchical => {
            hierarchy::reductions::scan(builder, call, operand, receive, exclusive);
        }
        Algorithm::AllgatherFold => {
            let vectors = fold::exchange(builder, call, operand, receive);
            let end = builder.rank() + usize::from(!exclusive);
            fold::all(builder, operand, &vectors[..end], 0..operand.count, receive);
        }
        _ => fold::chain(builder, operand, receive, exclusive),
    }
    builder.phase();
}
