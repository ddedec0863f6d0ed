//! MPI_ALLREDUCE (6.9.6): every rank gets all short vectors and folds them; or one rank folds, and
//! broadcasts the result; or every rank folds a stripe of long vectors, and the stripes are
//! exchanged.
//!
//! All of them fold in rank order ([`fold`]), so the choice does not change the result.

use crate::allgather::{self, Allgather};
use crate::buffers::{Blocks, Buffer};
use crate::builder::Builder;
use crate::fold::{Ready, StripeFold};
use crate::operand::Operand;
use crate::plan::{Plan, PlanError};
use crate::select::{Algorithm, Collective, Size};
use crate::{Call, Team, broadcast, fold, group_costs, hierarchy};

/// Builds a plan that combines the vectors of all ranks in `receive` on every rank.
pub fn allreduce(call: &Call, operand: &Operand, receive: *mut u8) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(call.team);
    append(&mut builder, call, operand, receive);
    builder.finish()
}

/// Appends the steps of an allreduce to a plan.
pub(crate) fn append(builder: &mut Builder, call: &Call, operand: &Operand, receive: *mut u8) {
    append_after(builder, call, operand, receive, &Ready::default());
    builder.phase();
}

/// Appends the steps of an allreduce whose vectors become `ready`. Returns when the result is.
pub(crate) fn append_after(
    builder: &mut Builder,
    call: &Call,
    operand: &Operand,
    receive: *mut u8,
    ready: &Ready,
) -> Ready {
    let size = Size::of_reduction(&builder.team, operand);
    let forced = call.selection.forced(Collective::Allreduce, size);
    if forced.is_none() && folds_by_groups(&builder.team, operand, true) {
        by_groups(builder, call, operand, receive, ready);
    } else {
        match call.selection.choose_reduction(
            operand,
            (Collective::Allreduce, size),
            Algorithm::ReduceBcast,
        ) {
            Algorithm::Hierarchical => {
                ready.wait(builder);
                hierarchy::reductions::allreduce(builder, call, operand, receive);
            }
            Algorithm::AllgatherFold => {
                ready.wait(builder);
                let vectors = fold::exchange(builder, call, operand, receive);
                fold::all(builder, operand, &vectors, 0..operand.count, receive);
            }
            Algorithm::ReduceBcast => reduce_bcast(builder, call, operand, receive, ready),
            _ if exchanges_stripes(&builder.team) => {
                return stripes(builder, operand, receive, ready);
            }
            _ => {
                ready.wait(builder);
                stripes_and_allgather(builder, call, operand, receive);
            }
        }
    }
    builder.phase();
    Ready::default()
}

/// True if vectors are folded group by group. The ranks have a host each then.
pub(crate) fn folds_by_groups(team: &Team, operand: &Operand, to_all: bool) -> bool {
    let placement = &team.placement;
    placement.has_groups()
        && !placement.has_levels()
        && operand.reducer.is_commutative()
        && group_costs::folds_by_groups(placement, operand.bytes(), to_all)
}

/// The rank that has the result of the last group broadcasts it.
fn by_groups(
    builder: &mut Builder,
    call: &Call,
    operand: &Operand,
    receive: *mut u8,
    ready: &Ready,
) {
    let folding = fold::GroupFold::new(&builder.team.placement, None);
    folding.append(builder, operand, receive, ready);
    builder.phase();
    let data = Buffer { pointer: receive, count: operand.count, element: operand.element.clone() };
    broadcast::append(builder, call, folding.last(), &data);
}

fn reduce_bcast(
    builder: &mut Builder,
    call: &Call,
    operand: &Operand,
    receive: *mut u8,
    ready: &Ready,
) {
    let relay = builder.team.placement.relay();
    fold::at(builder, operand, relay, receive, ready);
    builder.phase();
    let data = Buffer { pointer: receive, count: operand.count, element: operand.element.clone() };
    match operand.is_on_one_device() {
        true => broadcast::linear(builder, relay, &data.piece()),
        false => broadcast::of_result(builder, call, relay, &data),
    }
}

/// True if all ranks send each other their stripes of the result.
fn exchanges_stripes(team: &Team) -> bool {
    team.size() <= group_costs::DIRECT || team.placement.has_leaves()
}

fn stripes(builder: &mut Builder, operand: &Operand, receive: *mut u8, ready: &Ready) -> Ready {
    let (rank, size) = (builder.rank(), builder.size());
    let placement = builder.team.placement.clone();
    let mut done = Ready::in_segments();
    let mut folding = StripeFold::new(operand, receive, receive, ready);
    for (number, starts) in fold::chunks(&placement, operand, ready).enumerate() {
        let (there, back) = (2 * number, 2 * number + 1);
        let marks = folding.append(builder, &starts, there);
        let mut complete = vec![marks.folded; size];
        let stripe = |rank: usize| operand.piece(receive, &(starts[rank]..starts[rank + 1]));
        for step in 1..size {
            let from = (rank + size - step) % size;
            let arrived = builder.receive(from, back, stripe(from));
            builder.after(arrived, marks.sent[from]);
            complete[from] = arrived;
        }
        for step in 1..size {
            let sent = builder.send((rank + step) % size, back, stripe(rank));
            builder.after(sent, marks.folded);
        }
        starts[1..].iter().zip(complete).for_each(|(&end, step)| done.push(end, step));
    }
    done
}

fn stripes_and_allgather(builder: &mut Builder, call: &Call, operand: &Operand, receive: *mut u8) {
    let starts = builder.team.placement.stripes(0, operand.count);
    let ready = Ready::default();
    StripeFold::new(operand, receive, receive, &ready).append(builder, &starts, 0);
    builder.phase();
    let blocks = Blocks::Varying {
        pointer: receive,
        counts: starts.windows(2).map(|pair| pair[1] - pair[0]).collect(),
        displacements: starts[..builder.size()].into(),
        element: operand.element.clone(),
    };
    allgather::append(builder, call, &Allgather { send: None, receive: blocks });
}
