//! MPI_REDUCE_SCATTER_BLOCK and MPI_REDUCE_SCATTER (6.10): either halving, with the blocks ordered
//! such that each rank ends up with its own, or every rank collects its block from all others,
//! which moves the fewest bytes for large blocks.
//!
//! Both preserve the order of operands.

use crate::builder::Builder;
use crate::halving::{Operand, VectorPair, halve, position};
use crate::plan::{Plan, PlanError};
use crate::select::{Algorithm, Collective, Size};
use crate::tree::Fold;
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
    match call.selection.choose(Collective::ReduceScatter, size) {
        Algorithm::Hierarchical => {
            let starts = starts_of(counts);
            hierarchy::reductions::reduce_scatter(&mut builder, operand, &starts, receive);
        }
        Algorithm::Fold => {
            let starts = starts_of(counts);
            let into = operand.element.at(receive, -starts[call.team.rank]);
            fold::stripes(&mut builder, operand, &starts, receive, into);
        }
        Algorithm::Linear => linear(&mut builder, operand, counts, receive),
        _ => halving(&mut builder, operand, counts, receive),
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

fn halving(builder: &mut Builder, operand: &Operand, counts: &[i64], receive: *mut u8) {
    let fold = Fold::new(builder.size());
    let rank = builder.rank();
    let element = &operand.element;
    let input = operand.send.unwrap_or(receive);
    let blocks = starts_of(counts);
    // Reorder the blocks: those of the rank with number `position(index, fold)` go to `index`.
    // `ordered` holds the new start of each block, `positions` the start of each index.
    let mut ordered = vec![0i64; counts.len()];
    let mut positions = vec![0i64];
    let mut filled = 0;
    let home = builder.scratch(operand.count, element);
    for index in 0..fold.power {
        let number = position(index, fold);
        let last = fold.rank(number);
        let first = if fold.speaks_for_two(number) { last - 1 } else { last };
        for block in first..=last {
            builder.copy(
                element.piece(input, blocks[block], counts[block]),
                element.piece(home, filled, counts[block]),
            );
            ordered[block] = filled;
            filled += counts[block];
        }
        positions.push(filled);
    }
    builder.phase();
    let permuted = Operand { send: None, ..operand.clone() };
    let mut pair = VectorPair::new(builder, &permuted, home);
    if let Some(number) = pair.fold(builder, &permuted, fold) {
        halve(builder, &permuted, &mut pair, fold, number, &positions);
        if fold.speaks_for_two(number) {
            builder.send(
                rank - 1,
                2,
                element.piece(pair.current, ordered[rank - 1], counts[rank - 1]),
            );
        }
        builder.copy(
            element.piece(pair.current, ordered[rank], counts[rank]),
            element.piece(receive, 0, counts[rank]),
        );
    } else {
        builder.receive(rank + 1, 2, element.piece(receive, 0, counts[rank]));
    }
}

fn linear(builder: &mut Builder, operand: &Operand, counts: &[i64], receive: *mut u8) {
    let (rank, size) = (builder.rank(), builder.size());
    let element = &operand.element;
    let blocks = starts_of(counts);
    let count = counts[rank];
    builder.reduce_with(&operand.reducer);
    let input = operand.send.unwrap_or(receive);
    let contributions: Vec<*mut u8> = (0..size).map(|_| builder.scratch(count, element)).collect();
    for step in 1..size {
        let (to, from) = ((rank + step) % size, (rank + size - step) % size);
        builder.receive(from, 0, element.piece(contributions[from], 0, count));
        builder.send(to, 0, element.piece(input, blocks[to], counts[to]));
    }
    builder.copy(
        element.piece(input, blocks[rank], count),
        element.piece(contributions[rank], 0, count),
    );
    builder.phase();
    for pair in contributions.windows(2) {
        builder.reduce(pair[0], pair[1], 0..count, element);
        builder.phase();
    }
    builder
        .copy(element.piece(contributions[size - 1], 0, count), element.piece(receive, 0, count));
}
