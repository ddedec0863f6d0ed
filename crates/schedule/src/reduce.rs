//! MPI_REDUCE (6.9.1): the root folds all vectors; or every rank folds a stripe of long vectors,
//! and the root collects the stripes.
//!
//! Both fold in rank order ([`fold`]), so neither the choice nor the root changes the result.

use crate::builder::Builder;
use crate::fold::{Ready, StripeFold};
use crate::plan::{Plan, PlanError};
use crate::select::{Algorithm, Collective, Size};
use crate::{Call, allreduce, fold, hierarchy};

pub use crate::operand::Operand;

/// Builds a plan that combines the vectors of all ranks in `receive` at the root. `receive` is
/// unused elsewhere.
pub fn reduce(
    call: &Call,
    root: usize,
    operand: &Operand,
    receive: *mut u8,
) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(call.team);
    let result = (call.team.rank == root).then_some(receive);
    append(&mut builder, call, root, operand, result, &Ready::default());
    builder.finish()
}

/// Appends the reduction to a plan, of vectors that become `ready`. `result` is its destination, at
/// the root.
pub(crate) fn append(
    builder: &mut Builder,
    call: &Call,
    root: usize,
    operand: &Operand,
    result: Option<*mut u8>,
    ready: &Ready,
) {
    let size = Size::of_reduction(&builder.team, operand);
    let forced = call.selection.forced(Collective::Reduce, size);
    if forced.is_none() && allreduce::folds_by_groups(&builder.team, operand, false) {
        by_groups(builder, root, operand, result, ready);
        return builder.phase();
    }
    match call.selection.choose_reduction(operand, (Collective::Reduce, size), Algorithm::Linear) {
        Algorithm::Hierarchical => {
            ready.wait(builder);
            hierarchy::reductions::reduce(builder, call, root, operand, result);
        }
        Algorithm::Linear => linear(builder, root, operand, result, ready),
        _ => stripes(builder, root, operand, result, ready),
    }
    builder.phase();
}

/// One rank folds: the root, or one whose link is not slow.
fn linear(
    builder: &mut Builder,
    root: usize,
    operand: &Operand,
    result: Option<*mut u8>,
    ready: &Ready,
) {
    let placement = builder.team.placement.clone();
    let is_slow = placement.is_leaf(placement.host_of(root));
    let (rank, collector) = (builder.rank(), if is_slow { placement.relay() } else { root });
    let into = match result {
        Some(result) => result,
        None if rank == collector => builder.scratch(operand.count, &operand.element),
        None => std::ptr::dangling_mut(),
    };
    fold::at(builder, operand, collector, into, ready);
    if collector != root {
        builder.phase();
        if rank == collector {
            builder.send(root, 0, operand.whole(into));
        } else if rank == root {
            builder.receive(collector, 0, operand.whole(into));
        }
    }
}

/// Each group folds its vectors and the sum of those before it, and the last one sends the result.
fn by_groups(
    builder: &mut Builder,
    root: usize,
    operand: &Operand,
    result: Option<*mut u8>,
    ready: &Ready,
) {
    let folding = fold::GroupFold::new(&builder.team.placement, Some(root));
    let (rank, last) = (builder.rank(), folding.last());
    let into = match result {
        Some(result) => result,
        None if folding.collects(rank) => builder.scratch(operand.count, &operand.element),
        None => std::ptr::dangling_mut(),
    };
    folding.append(builder, operand, into, ready);
    if last != root {
        builder.phase();
        if rank == last {
            builder.send(root, 0, operand.whole(into));
        } else if rank == root {
            builder.receive(last, 0, operand.whole(into));
        }
    }
}

fn stripes(
    builder: &mut Builder,
    root: usize,
    operand: &Operand,
    result: Option<*mut u8>,
    ready: &Ready,
) {
    let (rank, size) = (builder.rank(), builder.size());
    let placement = builder.team.placement.clone();
    let home = result.unwrap_or_else(|| builder.scratch(operand.count, &operand.element));
    let mut folding = StripeFold::new(operand, home, home, ready);
    for (number, starts) in fold::chunks(&placement, operand, ready).enumerate() {
        let (there, back) = (2 * number, 2 * number + 1);
        let marks = folding.append(builder, &starts, there);
        let stripe = |rank: usize| operand.piece(home, &(starts[rank]..starts[rank + 1]));
        if rank != root {
            let sent = builder.send(root, back, stripe(rank));
            builder.after(sent, marks.folded);
            continue;
        }
        for from in (0..size).filter(|&from| from != root) {
            let arrived = builder.receive(from, back, stripe(from));
            builder.after(arrived, marks.sent[from]);
        }
    }
}
