//! The neighbourhood collectives: checks of their arguments (MPI 5.0, section 8.6).
//!
//! The functions with arrays of counts, displacements or datatypes share the bodies of those
//! without ([`Data`]). No function accesses a buffer.

use towpath_collective::neighborhood::{Given, Neighborly, Neighbors};
use towpath_mapping::topology::Topology;
use towpath_neutral::abi::Handle;
use towpath_neutral::error::{Result, fail};

use super::arguments::{self, RECEIVE, SEND};
use super::data::{Data, EqualData};
use super::exchange::NeighborCall;
use super::execution::CommView;

/// A communicator with its neighbours.
fn view<'a>(comm: Handle) -> Result<(CommView<'a>, &'a Neighbors)> {
    let view = CommView::new(comm)?;
    let Some(topology) = &view.comm.topology else { return no_topology() };
    let neighbors = view.comm.neighbors.get_or_init(|| listed(topology, view.rank()));
    Ok((view, neighbors))
}

#[cold]
fn no_topology<T>() -> Result<T> {
    fail!(
        ERR_TOPOLOGY,
        "argument comm has no topology; neighbours come from MPI_Cart_create, MPI_Graph_create or \
         MPI_Dist_graph_create"
    );
}

/// Lists the neighbours of a rank.
fn listed(topology: &Topology, rank: usize) -> Neighbors {
    let (sources, destinations) = topology.neighbours(rank);
    match topology {
        Topology::Cartesian { .. } => {
            let rank = |rank: i32| usize::try_from(rank).ok();
            Neighbors::on_grid(&sources.chunks(2).map(|pair| (rank(pair[0]), rank(pair[1]))).collect::<Vec<_>>())
        }
        _ => {
            let ranks = |list: Vec<i32>| list.into_iter().map(|rank| rank as usize).collect::<Vec<_>>();
            Neighbors::on_graph(&ranks(sources), &ranks(destinations))
        }
    }
}

/// MPI_Neighbor_allgather and MPI_Neighbor_allgatherv.
pub fn neighbor_allgather<'a, D: Data>(send: EqualData, receive: D, comm: Handle) -> Result<NeighborCall<'a>> {
    let (view, neighbors) = view(comm)?;
    let send = if D::EQUAL { send.of_elements() } else { send };
    let send = send.buffer(SEND)?;
    let sources = neighbors.sources.len();
    let receive = receive.of_elements().blocks(sources, RECEIVE)?;
    arguments::apart_from(&send, &receive, sources)?;
    Ok(NeighborCall { view, call: Neighborly { neighbors, send: Given::Same(send), receive } })
}

/// MPI_Neighbor_alltoall, MPI_Neighbor_alltoallv and MPI_Neighbor_alltoallw.
pub fn neighbor_alltoall<'a, D: Data>(send: D, receive: D, comm: Handle) -> Result<NeighborCall<'a>> {
    let (view, neighbors) = view(comm)?;
    let (sources, destinations) = (neighbors.sources.len(), neighbors.destinations.len());
    let send = send.of_elements().blocks(destinations, SEND)?;
    let receive = receive.of_elements().blocks(sources, RECEIVE)?;
    arguments::apart(&send, destinations, &receive, sources)?;
    Ok(NeighborCall { view, call: Neighborly { neighbors, send: Given::Each(send), receive } })
}
