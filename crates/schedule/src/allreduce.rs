//! MPI_ALLREDUCE (6.9.6): recursive doubling for short vectors; halving and doubling (Rabenseifner
//! 2004) for long ones; a ring for very long ones on any number of ranks if the operation commutes.
//!
//! Every element is either computed on one rank only and then distributed, or computed by all ranks
//! with the same operands in the same order. So all ranks get the same bits.

use crate::builder::Builder;
use crate::halving::{Operand, VectorPair, elements, even_parts, halve};
use crate::plan::{Plan, PlanError};
use crate::select::{Algorithm, Collective, Size};
use crate::tree::Fold;
use crate::{Call, fold, hierarchy};

/// Builds a plan that combines the vectors of all ranks in `receive` on every rank.
pub fn allreduce(call: &Call, operand: &Operand, receive: *mut u8) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(call.team);
    append(&mut builder, call, operand, receive);
    builder.finish()
}

/// Appends the steps of an allreduce to a plan.
fn append(builder: &mut Builder, call: &Call, operand: &Operand, receive: *mut u8) {
    let size = Size::of_reduction(&builder.team, operand);
    match call.selection.choose(Collective::Allreduce, size) {
        Algorithm::Hierarchical => {
            hierarchy::reductions::allreduce(builder, call, operand, receive);
        }
        Algorithm::Fold => fold::everywhere(builder, call, operand, receive),
        Algorithm::Ring => ring(builder, operand, receive),
        Algorithm::Rabenseifner => rabenseifner(builder, operand, receive),
        _ => recursive_doubling(builder, operand, receive),
    }
    builder.phase();
}

fn recursive_doubling(builder: &mut Builder, operand: &Operand, receive: *mut u8) {
    let fold = Fold::new(builder.size());
    let mut pair = VectorPair::new(builder, operand, receive);
    if let Some(number) = pair.fold(builder, operand, fold) {
        for level in 0..fold.levels() {
            let partner = number ^ 1 << level;
            let rank = fold.rank(partner);
            builder.send(rank, 1, operand.whole(pair.current));
            builder.receive(rank, 1, operand.whole(pair.spare));
            builder.phase();
            pair.combine(builder, operand, 0..operand.count, partner < number, false);
        }
        builder.copy(operand.whole(pair.current), operand.whole(receive));
        builder.phase();
    }
    unfold(builder, operand, fold, receive);
}

/// Sends the result to the ranks that were folded away.
fn unfold(builder: &mut Builder, operand: &Operand, fold: Fold, receive: *mut u8) {
    let rank = builder.rank();
    match fold.number(rank) {
        None => {
            builder.receive(rank + 1, 2, operand.whole(receive));
        }
        Some(number) if fold.speaks_for_two(number) => {
            builder.send(rank - 1, 2, operand.whole(receive));
        }
        Some(_) => {}
    }
}

fn rabenseifner(builder: &mut Builder, operand: &Operand, receive: *mut u8) {
    let fold = Fold::new(builder.size());
    let mut pair = VectorPair::new(builder, operand, receive);
    if let Some(number) = pair.fold(builder, operand, fold) {
        let starts = even_parts(operand.count, fold.power);
        let halved = halve(builder, operand, &mut pair, fold, number, &starts);
        let mut mine = halved.mine;
        let last = elements(&starts, &mine);
        builder.copy(operand.piece(pair.current, &last), operand.piece(receive, &last));
        builder.phase();
        for (partner, given) in halved.given.into_iter().rev() {
            let rank = fold.rank(partner);
            builder.send(rank, 3, operand.piece(receive, &elements(&starts, &mine)));
            builder.receive(rank, 3, operand.piece(receive, &elements(&starts, &given)));
            builder.phase();
            mine = mine.start.min(given.start)..mine.end.max(given.end);
        }
    }
    unfold(builder, operand, fold, receive);
}

/// Part p starts at rank p + 1 and travels around the ring, and every rank combines it with its own
/// part p. It is complete at rank p and then travels around once more.
fn ring(builder: &mut Builder, operand: &Operand, receive: *mut u8) {
    let (rank, size) = (builder.rank(), builder.size());
    let pair = VectorPair::new(builder, operand, receive);
    let starts = even_parts(operand.count, size);
    let (above, below) = ((rank + size - 1) % size, (rank + 1) % size);
    let part = |back: usize| {
        let part = (rank + 2 * size - back) % size;
        elements(&starts, &(part..part + 1))
    };
    for step in 1..size {
        builder.send(below, step, operand.piece(receive, &part(step)));
        builder.receive(above, step, operand.piece(pair.spare, &part(step + 1)));
        builder.phase();
        builder.reduce(pair.spare, receive, part(step + 1), &operand.element);
        builder.phase();
    }
    for step in 0..size - 1 {
        builder.send(below, size + step, operand.piece(receive, &part(step)));
        builder.receive(above, size + step, operand.piece(receive, &part(step + 1)));
        builder.phase();
    }
}
