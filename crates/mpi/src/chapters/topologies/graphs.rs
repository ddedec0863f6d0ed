//! Graph and distributed graph topologies (MPI 5.0, sections 8.5.3, 8.5.4 and their query
//! functions).

use towpath_mapping::topology::{self, Adjacency, RankOrder, Topology, graph_neighbours};
use towpath_neutral::abi::{Handle, Integers, IntegersMut};
use towpath_neutral::constants::*;
use towpath_neutral::error::{Result, fail};

use super::reorder;
use super::{checked_rank, intracomm, ints, with_topology};
use crate::chapters::groups::count_of;
use crate::chapters::hints::given_to;
use crate::chapters::{info, internal};
use crate::objects::comm::Comm;
use crate::objects::registry;

/// Reads and checks a graph argument.
///
/// # Safety
/// `edges` must have as many elements as the last element of `indx` says.
unsafe fn graph(nnodes: i32, indx: Integers, edges: Integers, processes: usize) -> Result<(Vec<i32>, Vec<i32>)> {
    let nodes = count_of(nnodes, "nnodes")?;
    if nodes > processes {
        fail!(ERR_ARG, "argument nnodes is {nnodes}, but the communicator has {processes} processes");
    }
    let index = ints(indx, nodes, "index")?;
    let mut before = 0;
    for (i, &end) in index.iter().enumerate() {
        if end < before {
            fail!(ERR_ARG, "index[{i}] is {end}, less than the preceding element {before}");
        }
        before = end;
    }
    // SAFETY: `before` is the last element of `indx`, which is the length of `edges` (this
    // function's contract).
    let edges = ints(unsafe { edges.with_length(i64::from(before)) }, before as usize, "edges")?;
    if let Some(i) = edges.iter().position(|edge| !(0..nnodes).contains(edge)) {
        fail!(ERR_ARG, "edges[{i}] is {}, but the graph has nodes 0 to {}", edges[i], nnodes - 1);
    }
    Ok((index, edges))
}

/// MPI_Graph_create.
///
/// # Safety
/// `edges` must have as many elements as the last element of `indx` says.
pub unsafe fn graph_create(
    comm_old: Handle,
    nnodes: i32,
    indx: Integers,
    edges: Integers,
    reorder: bool,
) -> Result<Handle> {
    let parent = intracomm(comm_old, "MPI_Graph_create")?;
    // SAFETY: the last element of `indx` is the length of `edges` (this function's contract).
    let (index, edges) = unsafe { graph(nnodes, indx, edges, parent.group.size()) }?;
    let order = reorder::order_if(reorder, &parent, index.len(), || topology::listed(&index, &edges))?;
    with_topology(&parent, index.len(), &order, |_| Topology::Graph { index, edges })
}

/// MPI_Graph_map: the rank that MPI_Graph_create would assign with reorder = true. Collective.
///
/// # Safety
/// `edges` must have as many elements as the last element of `indx` says.
pub unsafe fn graph_map(comm: Handle, nnodes: i32, indx: Integers, edges: Integers) -> Result<i32> {
    let comm = intracomm(comm, "MPI_Graph_map")?;
    // SAFETY: the last element of `indx` is the length of `edges` (this function's contract).
    let (index, edges) = unsafe { graph(nnodes, indx, edges, comm.group.size()) }?;
    let order = reorder::order_if(true, &comm, index.len(), || topology::listed(&index, &edges))?;
    Ok(order.rank(comm.rank, index.len()).map_or(UNDEFINED, |rank| rank as i32))
}

fn lists(comm: &Comm) -> Result<(&[i32], &[i32])> {
    match comm.topology.as_deref() {
        Some(Topology::Graph { index, edges }) => Ok((index, edges)),
        _ => fail!(ERR_TOPOLOGY, "argument comm has no graph topology; make one with MPI_Graph_create"),
    }
}

/// MPI_Graphdims_get: number of nodes and edges.
pub fn graphdims_get(comm: Handle) -> Result<(i32, i32)> {
    let comm = registry::comm(comm)?;
    let (index, edges) = lists(&comm)?;
    Ok((index.len() as i32, edges.len() as i32))
}

/// Writes the values, at most `most` of them, to an array of `most` elements.
fn write(array: IntegersMut, values: &[i32], most: i32, argument: &str) -> Result<()> {
    let most = count_of(most, argument)?;
    if most > 0 && !values.is_empty() && array.is_null() {
        fail!(ERR_ARG, "an output array is NULL, but {argument} is {most}");
    }
    for (i, &value) in values.iter().take(most).enumerate() {
        array.set(i, i64::from(value));
    }
    Ok(())
}

/// MPI_Graph_get.
pub fn graph_get(comm: Handle, maxindex: i32, maxedges: i32, indx: IntegersMut, edges: IntegersMut) -> Result<()> {
    let comm = registry::comm(comm)?;
    let (index, list) = lists(&comm)?;
    write(indx, index, maxindex, "maxindex")?;
    write(edges, list, maxedges, "maxedges")
}

fn neighbours_of(comm: &Comm, rank: i32) -> Result<&[i32]> {
    let (index, edges) = lists(comm)?;
    Ok(graph_neighbours(index, edges, checked_rank(rank, comm)?))
}

/// MPI_Graph_neighbors_count.
pub fn graph_neighbors_count(comm: Handle, rank: i32) -> Result<i32> {
    let comm = registry::comm(comm)?;
    Ok(neighbours_of(&comm, rank)?.len() as i32)
}

/// MPI_Graph_neighbors.
pub fn graph_neighbors(comm: Handle, rank: i32, maxneighbors: i32, neighbors: IntegersMut) -> Result<()> {
    let comm = registry::comm(comm)?;
    write(neighbors, neighbours_of(&comm, rank)?, maxneighbors, "maxneighbors")
}

/// Reads edge weights; `None` for MPI_UNWEIGHTED.
fn weights(array: Integers, count: usize, argument: &str) -> Result<Option<Vec<i32>>> {
    if array.address() == UNWEIGHTED {
        return Ok(None);
    }
    if array.address() == WEIGHTS_EMPTY || count == 0 {
        if count > 0 {
            fail!(ERR_ARG, "argument {argument} is MPI_WEIGHTS_EMPTY, but there are {count} edges");
        }
        return Ok(Some(Vec::new()));
    }
    let values = ints(array, count, argument)?;
    match values.iter().position(|&weight| weight < 0) {
        Some(i) => fail!(ERR_ARG, "{argument}[{i}] is {}; weights must not be negative", values[i]),
        None => Ok(Some(values)),
    }
}

fn check_ranks(ranks: &[i32], size: usize, argument: &str) -> Result<()> {
    match ranks.iter().position(|&rank| rank != PROC_NULL && !(0..size as i64).contains(&i64::from(rank))) {
        Some(i) => fail!(ERR_RANK, "{argument}[{i}] is {}, but the communicator has ranks 0 to {}", ranks[i], size - 1),
        None => Ok(()),
    }
}

/// MPI_Dist_graph_create_adjacent.
pub fn dist_graph_create_adjacent(
    comm_old: Handle,
    indegree: i32,
    sources: Integers,
    sourceweights: Integers,
    outdegree: i32,
    destinations: Integers,
    destweights: Integers,
    info: Handle,
    reorder: bool,
) -> Result<Handle> {
    let parent = intracomm(comm_old, "MPI_Dist_graph_create_adjacent")?;
    let hints = info::pairs(info)?;
    let (inward, outward) = (count_of(indegree, "indegree")?, count_of(outdegree, "outdegree")?);
    let sources = ints(sources, inward, "sources")?;
    let destinations = ints(destinations, outward, "destinations")?;
    check_ranks(&sources, parent.group.size(), "sources")?;
    check_ranks(&destinations, parent.group.size(), "destinations")?;
    let source_weights = weights(sourceweights, inward, "sourceweights")?;
    let destination_weights = weights(destweights, outward, "destweights")?;
    let mine = Adjacency {
        weighted: source_weights.is_some() && destination_weights.is_some(),
        sources,
        source_weights: source_weights.unwrap_or_default(),
        destinations,
        destination_weights: destination_weights.unwrap_or_default(),
    };
    let size = parent.group.size();
    let distances = if reorder { reorder::distances(&parent)? } else { None };
    if distances.is_none() {
        let made = with_topology(&parent, size, &RankOrder::default(), |_| Topology::Distributed(mine))?;
        return given_to(made, &hints);
    }
    // The process that takes a rank needs the lists that were passed by the parent's process of
    // that rank.
    let words = internal::gather_lists(&parent, &mine.words())?;
    let mut all: Vec<Adjacency> = words.iter().map(|words| Adjacency::read(words)).collect();
    let order = reorder::order(&parent, distances.as_ref(), size, || topology::adjacent(&all))?;
    given_to(with_topology(&parent, size, &order, |rank| Topology::Distributed(all.swap_remove(rank)))?, &hints)
}

/// One edge, as sent to all processes.
struct SentEdge {
    from: i32,
    to: i32,
    weight: i32,
}

/// Reads the edges that this process passes to MPI_Dist_graph_create, and whether they have
/// weights.
fn given_edges(
    size: usize,
    n: i32,
    sources: Integers,
    degrees: Integers,
    destinations: Integers,
    weights_given: Integers,
) -> Result<(Vec<SentEdge>, bool)> {
    let n = count_of(n, "n")?;
    let sources = ints(sources, n, "sources")?;
    let degrees = ints(degrees, n, "degrees")?;
    check_ranks(&sources, size, "sources")?;
    if let Some(i) = degrees.iter().position(|&degree| degree < 0) {
        fail!(ERR_ARG, "degrees[{i}] is {}; it must not be negative", degrees[i]);
    }
    let total = degrees.iter().map(|&degree| degree as usize).sum();
    if i32::try_from(total).is_err() {
        fail!(ERR_ARG, "degrees add up to {total}; a process may pass at most {} edges", i32::MAX);
    }
    let destinations = ints(destinations, total, "destinations")?;
    check_ranks(&destinations, size, "destinations")?;
    let given = weights(weights_given, total, "weights")?;
    let from = sources.iter().zip(&degrees).flat_map(|(&source, &degree)| std::iter::repeat_n(source, degree as usize));
    let weight = |i: usize| given.as_ref().map_or(1, |given| given[i]);
    let edges =
        from.zip(&destinations).enumerate().map(|(i, (from, &to))| SentEdge { from, to, weight: weight(i) }).collect();
    Ok((edges, given.is_some()))
}

/// MPI_Dist_graph_create: all processes gather all edges, and each keeps its own, ordered by the
/// rank that passed them.
pub fn dist_graph_create(
    comm_old: Handle,
    n: i32,
    sources: Integers,
    degrees: Integers,
    destinations: Integers,
    weights: Integers,
    info: Handle,
    reorder: bool,
) -> Result<Handle> {
    let parent = intracomm(comm_old, "MPI_Dist_graph_create")?;
    let hints = info::pairs(info)?;
    let (edges, weighted) = given_edges(parent.group.size(), n, sources, degrees, destinations, weights)?;
    let all = everybodys_edges(&parent, &edges)?;
    let size = parent.group.size();
    let triples = || all.iter().map(|edge| (edge.from, edge.to, edge.weight));
    let order = reorder::order_if(reorder, &parent, size, || topology::weighted(size, triples()))?;
    let made = with_topology(&parent, size, &order, |rank| {
        let inward: Vec<&SentEdge> = all.iter().filter(|edge| edge.to == rank as i32).collect();
        let outward: Vec<&SentEdge> = all.iter().filter(|edge| edge.from == rank as i32).collect();
        Topology::Distributed(Adjacency {
            sources: inward.iter().map(|edge| edge.from).collect(),
            source_weights: inward.iter().map(|edge| edge.weight).collect(),
            destinations: outward.iter().map(|edge| edge.to).collect(),
            destination_weights: outward.iter().map(|edge| edge.weight).collect(),
            weighted,
        })
    })?;
    given_to(made, &hints)
}

/// Gathers the edges that all processes passed, in rank order.
fn everybodys_edges(parent: &Comm, mine: &[SentEdge]) -> Result<Vec<SentEdge>> {
    let words = |edge: &SentEdge| [u64::from(edge.from as u32) << 32 | u64::from(edge.to as u32), edge.weight as u64];
    let lists = internal::gather_lists(parent, &mine.iter().flat_map(words).collect::<Vec<u64>>())?;
    let edge = |words: &[u64]| SentEdge { from: (words[0] >> 32) as i32, to: words[0] as i32, weight: words[1] as i32 };
    Ok(lists.iter().flat_map(|list| list.chunks(2)).map(edge).collect())
}

fn distributed(comm: &Comm) -> Result<&Adjacency> {
    match comm.topology.as_deref() {
        Some(Topology::Distributed(lists)) => Ok(lists),
        _ => {
            fail!(ERR_TOPOLOGY, "argument comm has no distributed graph topology; make one with MPI_Dist_graph_create")
        }
    }
}

/// MPI_Dist_graph_neighbors_count: in-degree, out-degree and whether the edges have weights.
pub fn dist_graph_neighbors_count(comm: Handle) -> Result<(i32, i32, bool)> {
    let comm = registry::comm(comm)?;
    let lists = distributed(&comm)?;
    Ok((lists.sources.len() as i32, lists.destinations.len() as i32, lists.weighted))
}

/// MPI_Dist_graph_neighbors.
pub fn dist_graph_neighbors(
    comm: Handle,
    maxindegree: i32,
    sources: IntegersMut,
    sourceweights: IntegersMut,
    maxoutdegree: i32,
    destinations: IntegersMut,
    destweights: IntegersMut,
) -> Result<()> {
    let comm = registry::comm(comm)?;
    let lists = distributed(&comm)?;
    let wanted = |array: &IntegersMut| {
        lists.weighted && !array.is_null() && array.address() != UNWEIGHTED && array.address() != WEIGHTS_EMPTY
    };
    write(sources, &lists.sources, maxindegree, "maxindegree")?;
    write(destinations, &lists.destinations, maxoutdegree, "maxoutdegree")?;
    if wanted(&sourceweights) {
        write(sourceweights, &lists.source_weights, maxindegree, "maxindegree")?;
    }
    if wanted(&destweights) {
        write(destweights, &lists.destination_weights, maxoutdegree, "maxoutdegree")?;
    }
    Ok(())
}
