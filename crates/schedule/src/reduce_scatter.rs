//! MPI_REDUCE_SCATTER_BLOCK and MPI_REDUCE_SCATTER (6.10): every rank gets all short vectors, or
//! collects its block of long ones from all others, and folds its block. Where few hosts share
//! cores, one rank folds short vectors for all.
//!
//! All of them fold in rank order ([`fold`]), so the choice does not change the result.

use crate::buffers::{Blocks, Buffer};
use crate::builder::Builder;
use crate::fold::Ready;
use crate::operand::Operand;
use crate::plan::{Plan, PlanError};
use crate::scatter::{self, Scatter};
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
    // Element 0 of the vector whose own block is `receive`.
    let into = operand.element.at(receive, -starts[call.team.rank]);
    match call.selection.choose_reduction(
        operand,
        (Collective::ReduceScatter, size),
        Algorithm::ReduceThenScatter,
    ) {
        Algorithm::Hierarchical => {
            hierarchy::reductions::reduce_scatter(&mut builder, operand, &starts, receive);
        }
        Algorithm::AllgatherFold => {
            let vectors = fold::exchange(&mut builder, call, operand, receive);
            let own = starts[call.team.rank]..starts[call.team.rank + 1];
            fold::all(&mut builder, operand, &vectors, own, into);
        }
        Algorithm::ReduceThenScatter => {
            reduce_then_scatter(&mut builder, operand, &starts, receive);
        }
        _ => {
            fold::fold_stripes(&mut builder, operand, (receive, into), &starts);
        }
    }
    builder.finish()
}

/// One rank folds all vectors and sends each rank its block.
fn reduce_then_scatter(builder: &mut Builder, operand: &Operand, starts: &[i64], receive: *mut u8) {
    let (rank, root) = (builder.rank(), builder.team.placement.relay());
    let (element, counts) = (&operand.element, starts.windows(2).map(|pair| pair[1] - pair[0]));
    let counts: Box<[i64]> = counts.collect();
    let sum = match rank == root {
        true => builder.scratch(operand.count, element),
        false => std::ptr::dangling_mut(),
    };
    let vector = Operand { send: Some(operand.send.unwrap_or(receive)), ..operand.clone() };
    fold::at(builder, &vector, root, sum, &Ready::default());
    builder.phase();
    let own = Buffer { pointer: receive, count: counts[rank], element: element.clone() };
    let displacements = starts[..counts.len()].into();
    let blocks = Blocks::Varying { pointer: sum, counts, displacements, element: element.clone() };
    let arguments = Scatter { root, send: Some(blocks), receive: Some(own) };
    scatter::linear(builder, &arguments);
}

/// First element of each block, followed by the total.
fn starts_of(counts: &[i64]) -> Vec<i64> {
    let mut starts = vec![0i64];
    for count in counts {
        starts.push(starts[starts.len() - 1].saturating_add(*count));
    }
    starts
}
