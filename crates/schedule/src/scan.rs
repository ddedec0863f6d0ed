//! MPI_SCAN and MPI_EXSCAN (6.11) by distance doubling (Hillis and Steele 1986): in round k, every
//! rank combines the partial result of the rank 2^k below with its own. The received operand is
//! always the lower one, so the order is preserved without copies.
//!
//! The exclusive scan first shifts the vectors up by one rank; ranks 1 and above then perform an
//! inclusive scan.

use crate::builder::Builder;
use crate::halving::{Operand, VectorPair};
use crate::plan::{Plan, PlanError};
use crate::select::{Algorithm, Collective, Size};
use crate::{Call, hierarchy};

/// Builds a plan that combines the vectors of ranks 0 up to and including this one in `receive`.
pub fn scan(call: &Call, operand: &Operand, receive: *mut u8) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(call.team);
    if is_hierarchical(call, operand) {
        hierarchy::reductions::scan(&mut builder, call, operand, receive, false);
        return builder.finish();
    }
    let pair = VectorPair::new(&mut builder, operand, receive);
    doubling(&mut builder, operand, &pair, 0);
    builder.finish()
}

/// Builds a plan that combines the vectors of the ranks below this one in `receive`; on rank 0,
/// `receive` is unchanged.
pub fn exscan(call: &Call, operand: &Operand, receive: *mut u8) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(call.team);
    if is_hierarchical(call, operand) {
        hierarchy::reductions::scan(&mut builder, call, operand, receive, true);
        return builder.finish();
    }
    let (rank, size) = (builder.rank(), builder.size());
    builder.reduce_with(&operand.reducer);
    let spare = builder.scratch(operand.count, &operand.element);
    let pair = VectorPair { current: receive, spare };
    let own = operand.send.unwrap_or(receive);
    if rank + 1 < size {
        builder.send(rank + 1, 0, operand.whole(own));
    }
    if rank > 0 {
        builder.receive(rank - 1, 0, operand.whole(spare));
        builder.phase();
        builder.copy(operand.whole(spare), operand.whole(receive));
        builder.phase();
        doubling(&mut builder, operand, &pair, 1);
    }
    builder.finish()
}

fn is_hierarchical(call: &Call, operand: &Operand) -> bool {
    let size = Size::of_reduction(call.team, operand).in_order(call.team);
    call.selection.choose(Collective::Scan, size) == Algorithm::Hierarchical
}

/// The inclusive scan over the ranks from `first` on.
fn doubling(builder: &mut Builder, operand: &Operand, pair: &VectorPair, first: usize) {
    let (rank, size) = (builder.rank(), builder.size());
    let mut distance = 1;
    let mut turn = 1;
    while first + distance < size {
        if rank + distance < size {
            builder.send(rank + distance, turn, operand.whole(pair.current));
        }
        if rank >= first + distance {
            builder.receive(rank - distance, turn, operand.whole(pair.spare));
            builder.phase();
            builder.reduce(pair.spare, pair.current, 0..operand.count, &operand.element);
        }
        builder.phase();
        distance *= 2;
        turn += 1;
    }
}
