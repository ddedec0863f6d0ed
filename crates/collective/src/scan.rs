//! MPI_SCAN and MPI_EXSCAN (6.11) by distance doubling (Hillis and Steele 1986): in round k every
//! rank combines what the rank 2^k below has with its own. The lower operand is always the one
//! received, so the order is kept without copies.
//!
//! The exclusive scan shifts the vectors up by one rank first; ranks 1 and above then do an
//! inclusive scan.

use crate::Call;
use crate::builder::Builder;
use crate::halving::{Operand, Pair};
use crate::plan::{Plan, PlanError};

/// A plan that leaves in `receive` the combination of the vectors of ranks 0 to mine.
pub fn scan(call: &Call, operand: &Operand, receive: *mut u8) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(call.team);
    let pair = Pair::new(&mut builder, operand, receive);
    doubling(&mut builder, operand, &pair, 0);
    builder.finish()
}

/// A plan that leaves in `receive` the combination of the vectors of the ranks below mine; on rank
/// 0 `receive` stays as it is.
pub fn exscan(call: &Call, operand: &Operand, receive: *mut u8) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(call.team);
    let (rank, size) = (builder.rank(), builder.size());
    builder.reduce_with(&operand.reducer);
    let spare = builder.row(operand.count, &operand.element);
    let pair = Pair { current: receive, spare };
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

/// The inclusive scan over the ranks from `first` on.
fn doubling(builder: &mut Builder, operand: &Operand, pair: &Pair, first: usize) {
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
