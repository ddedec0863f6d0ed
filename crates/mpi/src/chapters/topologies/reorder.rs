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
use towpath_mapping::{self as mapping, Graph};
use towpath_neutral::error::Result;

use crate::chapters::hardware::instances_of_mine;
use crate::chapters::internal;
use crate::objects::comm::Comm;
use crate::objects::topology::{Adjacency, coordinates, graph_neighbours, shifted};
use crate::process;

/// The parent's process for each rank of the new communicator; empty: each process keeps its rank.
#[derive(Clone, Debug, Default)]
pub(super) struct RankOrder(Vec<usize>);

impl RankOrder {
    /// The parent's rank of the process that takes `rank`.
    pub(super) fn process(&self, rank: usize) -> usize {
        self.0.get(rank).copied().unwrap_or(rank)
    }

    /// The rank below `size` that a process of the parent takes; `None` if it takes none.
    pub(super) fn rank(&self, process: usize, size: usize) -> Option<usize> {
        (0..size).find(|&rank| self.process(rank) == process)
    }
}

/// The distances between the processes of a communicator; `None` if they are all equal. Collective.
pub(super) fn distances(parent: &Comm) -> Result<Option<Distances>> {
    let (team, sequence) = internal::team_of(parent);
    let all = internal::gather_everywhere(&team, sequence, &own_place(parent)?.words())?;
    let distances = Distances::among(&ProcessPlace::read(&all));
    Ok(Some(distances).filter(Distances::differ))
}

/// Where this process runs, according to the machine description in TOWPATH_MACHINE or, if there is
/// none, to the kernel.
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
    Ok(RankOrder(processes.into_iter().map(|process| process as usize).collect()))
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

/// The graph of a grid, with a node order for each dimension.
pub(crate) fn grid(dims: &[i32], periodic: &[bool]) -> Graph {
    let nodes = dims.iter().map(|&dim| dim as usize).product();
    let next = |node: usize| (0..dims.len()).filter_map(move |i| shifted(dims, periodic, node, i, 1));
    let edges = (0..nodes).flat_map(|node| next(node).map(move |other| (node, other, 1)));
    let graph = Graph::new(nodes, edges);
    (1..dims.len())
        .fold(graph, |graph, i| graph.with_order((0..nodes).map(|node| coordinates(dims, node)[i] as u32).collect()))
}

/// The graph of MPI_Graph_create.
pub(crate) fn listed(index: &[i32], edges: &[i32]) -> Graph {
    let of_node = |node: usize| {
        let list = graph_neighbours(index, edges, node);
        list.iter().map(move |&to| (node, to as usize, 1))
    };
    Graph::new(index.len(), (0..index.len()).flat_map(of_node))
}

/// The graph of weighted directed edges; edges from or to MPI_PROC_NULL are ignored.
pub(super) fn weighted(nodes: usize, edges: impl Iterator<Item = (i32, i32, i32)>) -> Graph {
    let known = |(from, to, weight): (i32, i32, i32)| {
        Some((usize::try_from(from).ok()?, usize::try_from(to).ok()?, u64::try_from(weight).ok()?))
    };
    Graph::new(nodes, edges.filter_map(known))
}

/// The graph of MPI_Dist_graph_create_adjacent. Each end of an edge adds its weight, so an edge
/// that is listed at one end only counts half.
pub(super) fn adjacent(all: &[Adjacency]) -> Graph {
    let of_node = |(node, lists): (usize, &'_ Adjacency)| {
        let inward = lists.sources.iter().enumerate().map(|(i, &other)| (other, lists.source_weights.get(i)));
        let outward =
            lists.destinations.iter().enumerate().map(|(i, &other)| (other, lists.destination_weights.get(i)));
        let edge = |(other, weight): (i32, Option<&i32>)| (node as i32, other, weight.copied().unwrap_or(1));
        inward.chain(outward).map(edge).collect::<Vec<_>>()
    };
    weighted(all.len(), all.iter().enumerate().flat_map(of_node))
}

impl Adjacency {
    /// Encodes the lists as words: four lengths and the flag, then the values.
    pub(super) fn words(&self) -> Vec<u64> {
        let lists = [&self.sources, &self.source_weights, &self.destinations, &self.destination_weights];
        let lengths = lists.iter().map(|list| list.len() as u64).chain([u64::from(self.weighted)]);
        lengths.chain(lists.iter().flat_map(|list| list.iter().map(|&value| value as u64))).collect()
    }

    /// Decodes lists from words.
    pub(super) fn read(words: &[u64]) -> Adjacency {
        let (lengths, mut rest) = words.split_at(5);
        let mut next = |length: u64| {
            let (list, behind) = rest.split_at(length as usize);
            rest = behind;
            list.iter().map(|&word| word as i32).collect()
        };
        Adjacency {
            sources: next(lengths[0]),
            source_weights: next(lengths[1]),
            destinations: next(lengths[2]),
            destination_weights: next(lengths[3]),
            weighted: lengths[4] != 0,
        }
    }
}
