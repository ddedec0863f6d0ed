//! The neighbourhood collectives: checks of their arguments (MPI 5.0, section 8.6).
//!
//! Functions with arrays of counts, displacements or datatypes are unsafe: the arrays must have an
//! element for each neighbour. No function accesses a buffer.

use std::ffi::c_void;

use towpath_collective::neighborhood::{Given, Neighborly, Neighbors};
use towpath_neutral::abi::{Handle, HandleArray, Integers};
use towpath_neutral::error::{Result, fail};

use super::arguments::{self, RECEIVE, SEND};
use super::exchange::NeighborCall;
use super::execution::CommView;
use crate::objects::topology::Topology;

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

/// MPI_Neighbor_allgather.
pub fn neighbor_allgather<'a>(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    comm: Handle,
) -> Result<NeighborCall<'a>> {
    let (view, neighbors) = view(comm)?;
    let (sendtype, recvtype) =
        (arguments::of_elements(sendcount, sendtype), arguments::of_elements(recvcount, recvtype));
    let send = arguments::buffer(sendbuf, sendcount, sendtype, SEND)?;
    let receive = arguments::blocks(recvbuf, recvcount, recvtype, neighbors.sources.len(), RECEIVE)?;
    arguments::apart_from(&send, &receive, neighbors.sources.len())?;
    Ok(NeighborCall { view, call: Neighborly { neighbors, send: Given::Same(send), receive } })
}

/// MPI_Neighbor_allgatherv.
///
/// # Safety
/// Arrays must have the lengths that the standard requires.
pub unsafe fn neighbor_allgatherv<'a>(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    displs: Integers,
    recvtype: Handle,
    comm: Handle,
) -> Result<NeighborCall<'a>> {
    let (view, neighbors) = view(comm)?;
    let send = arguments::buffer(sendbuf, sendcount, sendtype, SEND)?;
    let sources = neighbors.sources.len();
    // SAFETY: the arrays have an element for each source (this function's contract).
    let receive = unsafe { arguments::varying(recvbuf, recvcounts, displs, recvtype, sources, RECEIVE) }?;
    arguments::apart_from(&send, &receive, neighbors.sources.len())?;
    Ok(NeighborCall { view, call: Neighborly { neighbors, send: Given::Same(send), receive } })
}

/// MPI_Neighbor_alltoall.
pub fn neighbor_alltoall<'a>(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    comm: Handle,
) -> Result<NeighborCall<'a>> {
    let (view, neighbors) = view(comm)?;
    let (sendtype, recvtype) =
        (arguments::of_elements(sendcount, sendtype), arguments::of_elements(recvcount, recvtype));
    let send = arguments::blocks(sendbuf, sendcount, sendtype, neighbors.destinations.len(), SEND)?;
    let receive = arguments::blocks(recvbuf, recvcount, recvtype, neighbors.sources.len(), RECEIVE)?;
    arguments::apart(&send, neighbors.destinations.len(), &receive, neighbors.sources.len())?;
    Ok(NeighborCall { view, call: Neighborly { neighbors, send: Given::Each(send), receive } })
}

/// MPI_Neighbor_alltoallv.
///
/// # Safety
/// Arrays must have the lengths that the standard requires.
pub unsafe fn neighbor_alltoallv<'a>(
    sendbuf: *const c_void,
    sendcounts: Integers,
    sdispls: Integers,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    rdispls: Integers,
    recvtype: Handle,
    comm: Handle,
) -> Result<NeighborCall<'a>> {
    let (view, neighbors) = view(comm)?;
    let (sources, destinations) = (neighbors.sources.len(), neighbors.destinations.len());
    // SAFETY: the arrays have an element for each destination (this function's contract).
    let send = unsafe { arguments::varying(sendbuf, sendcounts, sdispls, sendtype, destinations, SEND) }?;
    // SAFETY: the arrays have an element for each source (this function's contract).
    let receive = unsafe { arguments::varying(recvbuf, recvcounts, rdispls, recvtype, sources, RECEIVE) }?;
    arguments::apart(&send, neighbors.destinations.len(), &receive, neighbors.sources.len())?;
    Ok(NeighborCall { view, call: Neighborly { neighbors, send: Given::Each(send), receive } })
}

/// MPI_Neighbor_alltoallw.
///
/// # Safety
/// Arrays must have the lengths that the standard requires.
pub unsafe fn neighbor_alltoallw<'a>(
    sendbuf: *const c_void,
    sendcounts: Integers,
    sdispls: Integers,
    sendtypes: HandleArray,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    rdispls: Integers,
    recvtypes: HandleArray,
    comm: Handle,
) -> Result<NeighborCall<'a>> {
    let (view, neighbors) = view(comm)?;
    let (sources, destinations) = (neighbors.sources.len(), neighbors.destinations.len());
    // SAFETY: the arrays have an element for each destination (this function's contract).
    let send = unsafe { arguments::mixed(sendbuf, sendcounts, sdispls, sendtypes, destinations, SEND) }?;
    // SAFETY: the arrays have an element for each source (this function's contract).
    let receive = unsafe { arguments::mixed(recvbuf, recvcounts, rdispls, recvtypes, sources, RECEIVE) }?;
    arguments::apart(&send, neighbors.destinations.len(), &receive, neighbors.sources.len())?;
    Ok(NeighborCall { view, call: Neighborly { neighbors, send: Given::Each(send), receive } })
}
