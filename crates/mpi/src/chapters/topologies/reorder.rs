//! Rank reordering (MPI 5.0, 8.5.1 to 8.5.4, 8.5.8): assigns processes to the ranks of a
//! communicator with a topology.
//!
//! All processes gather each other's locations in the hardware. If they are not bound or are all
//! equally far apart, reordering gains nothing; every process can tell that from the locations, and
//! ranks stay. Otherwise rank 0 of the parent maps the graph (`towpath_mapping`) and broadcasts the
//! result, so that all processes agree even if only rank 0 knows the whole graph.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use towpath_machine::levels::{Distances, ProcessPlace};
use towpath_mapping::topology::RankOrder;
use towpath_mapping::{self as mapping, Graph};
use towpath_neutral::error::Result;

use crate::chapters::hardware::instances_of_mine;
use crate::chapters::internal;
use crate::objects::comm::Comm;
use crate::process;

/// The distances between the processes of a communicator; `None` if they are all equal. Collective.
pub(super) fn distances(parent: &Comm) -> Result<Option<Distances>> {
    let (team, sequence) = internal::team_of(parent);
    let all = internal::gather_everywhere(&team, sequence, &own_place(parent)?.words())?;
    let distances = Distances::among(&ProcessPlace::read(&all));
    Ok(Some(distances).filter(Distances::differ))
}

/// Where this process runs, according to the description of its machine in TOWPATH_MACHINE or the
/// topology file or, if there is none, to the kernel.
fn own_place(parent: &Comm) -> Result<ProcessPlace> {
    let process = process::this()?;
    let host = process::host_among(parent.members())?;
    Ok(match &process.machine {
        Some(machine) => machine.place(host, process.job.local_rank as usize),
        None => ProcessPlace::of_instances(host, &instances_of_mine()),
    })
}

/// The order that rank 0 computes for a graph; `graph` is called on rank 0 only. Collective.
pub(super) fn order(
    parent: &Comm,
    distances: Option<&Distances>,
    nodes: usize,
    graph: impl FnOnce() -> Graph,
) -> Result<RankOrder> {
    let Some(distances) = distances else { return Ok(RankOrder::default()) };
    let mut processes = vec![0u64; nodes];
    if parent.rank == 0 {
        let found = mapping::map(&graph(), distances).places;
        processes.iter_mut().zip(found).for_each(|(word, process)| *word = process as u64);
    }
    if nodes > 0 {
        let (team, sequence) = internal::team_of(parent);
        internal::broadcast(&team, sequence, 0, &mut processes)?;
    }
    Ok(RankOrder::of(processes.into_iter().map(|process| process as usize).collect()))
}

/// Combines [`distances`] and [`order`] if `reorder` is set. For graphs known to all processes.
/// Collective.
pub(super) fn order_if(
    reorder: bool,
    parent: &Arc<Comm>,
    nodes: usize,
    graph: impl FnOnce() -> Graph,
) -> Result<RankOrder> {
    let distances = if reorder { distances(parent)? } else { None };
    order(parent, distances.as_ref(), nodes, graph)
}
