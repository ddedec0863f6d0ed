//! MPI_BARRIER (6.3) by dissemination: in round k, every rank signals the rank 2^k above and waits
//! for the one 2^k below (Hensgen, Finkel and Manber 1988). After ceil(log2 n) rounds, every rank
//! depends on every other.

use crate::builder::Builder;
use crate::plan::{Plan, PlanError};
use crate::select::{Algorithm, Collective, Size};
use crate::{Call, group_costs, hierarchy};

/// Builds a plan that completes on no rank before it has been started on every rank.
pub fn barrier(call: &Call) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(call.team);
    // On one host, which algorithm it is need not be looked up.
    let has_levels = call.team.placement.has_levels();
    let size = || Size::of_team(call.team, 0);
    match has_levels.then(|| call.selection.choose(Collective::Barrier, size())) {
        Some(Algorithm::Hierarchical) => hierarchy::movement::barrier(&mut builder),
        _ => append(&mut builder),
    }
    builder.finish()
}

/// Appends a barrier of ranks that have a host each, or are all on one, to a plan.
pub(crate) fn append(builder: &mut Builder) {
    if !builder.team.placement.has_groups() {
        return dissemination(builder);
    }
    match builder.team.grouped() {
        Some(team) if group_costs::by_groups_in_barrier(&builder.team.placement) => {
            builder.within(&team, hierarchy::movement::barrier);
        }
        _ => dissemination(builder),
    }
}

pub(crate) fn dissemination(builder: &mut Builder) {
    let (rank, size) = (builder.rank(), builder.size());
    let mut distance = 1;
    for turn in 0.. {
        if distance >= size {
            break;
        }
        let to = builder.team.peers[(rank + distance) % size];
        let from = builder.team.peers[(rank + size - distance) % size];
        builder.signal(to, turn);
        builder.await_signal(from, turn);
        builder.phase();
        distance *= 2;
    }
}
