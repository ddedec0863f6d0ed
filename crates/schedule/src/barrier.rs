//! MPI_BARRIER (6.3) by dissemination: in round k, every rank signals the rank 2^k above and waits
//! for the one 2^k below (Hensgen, Finkel and Manber 1988). After ceil(log2 n) rounds, every rank
//! depends on every other.
//!
//! Between few hosts that share cores, all ranks signal to one, which signals to all. Each signal
//! needs a turn on a core there, and these are 2(n - 1) signals instead of n ceil(log2 n).

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
        Some(Algorithm::Hierarchical) => hierarchy::movement::barrier(&mut builder, call),
        _ => append(&mut builder, call),
    }
    builder.finish()
}

/// Appends a barrier of ranks that have a host each, or are all on one, to a plan.
pub(crate) fn append(builder: &mut Builder, call: &Call) {
    if builder.team.placement.hosts() == 1 {
        return dissemination(builder);
    }
    let size = Size::of_team(&builder.team, 0);
    let forced = call.selection.forced(Collective::Barrier, size);
    let is_by_groups = forced.is_none()
        && builder.team.placement.has_groups()
        && group_costs::by_groups_in_barrier(&builder.team.placement);
    match is_by_groups.then(|| builder.team.grouped()).flatten() {
        Some(team) => {
            builder.within(&team, |builder| hierarchy::movement::barrier(builder, call));
        }
        None => match call.selection.choose(Collective::Barrier, size) {
            Algorithm::Linear => linear(builder),
            _ => dissemination(builder),
        },
    }
}

/// All ranks signal to one, which signals to all.
fn linear(builder: &mut Builder) {
    let (rank, size, root) = (builder.rank(), builder.size(), builder.team.placement.relay());
    let peers = builder.team.peers.clone();
    if rank != root {
        builder.signal(peers[root], 0);
        builder.await_signal(peers[root], 1);
        return;
    }
    let others = || (0..size).filter(|&other| other != root);
    others().for_each(|other| {
        builder.await_signal(peers[other], 0);
    });
    builder.phase();
    others().for_each(|other| {
        builder.signal(peers[other], 1);
    });
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
