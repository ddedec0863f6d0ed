//! MPI_REDUCE_SCATTER_BLOCK and MPI_REDUCE_SCATTER (6.10): every rank collects its block from all
//! others and folds in rank order ([`fold`]).

use crate::builder::Builder;
use crate::operand::Operand;
use crate::plan::{Plan, PlanError};
use crate::select::{Algorithm, Collective, Size};
use crate::{Call, fold, hierarchy};

/// Builds a plan that combines the vectors of all ranks and leaves block `rank` of the result in
/// `receive`. `counts` are the elements of the blocks; `operand.count` is their sum. With
/// MPI_IN_PLACE, the vector is in `receive`.
pub fn reduce_scatter(
    call: &Call,
    operand: &Operand,
    counts: &[i64],
    receive: *mut u8,
) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(call.team);
    let size = Size::of_reduction(call.team, operand);
    let starts = starts_of(counts);
    match call.selection.choose(Collective::ReduceScatter, size) {
        Algorithm::Hierarchical => {
            hierarchy::reductions::reduce_scatter(&mut builder, operand, &starts, receive);
        }
        _ => {
            let into = operand.element.at(receive, -starts[call.team.rank]);
            let mut memory = fold::StripeMemory::default();
            fold::stripes(&mut builder, operand, &starts, receive, into, 0, &mut memory);
        }
    }
    builder.finish()
}

/// First element of each block, followed by the total.
fn starts_of(counts: &[i64]) -> Vec<i64> {
    let mut starts = vec![0i64];
    for count in counts {
        starts.push(starts[starts.len() - 1].saturating_add(*count));
    }
    starts
}
