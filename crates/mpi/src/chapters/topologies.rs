//! Topology functions (MPI 5.0, chapter 8). Cartesian topologies are in `topologies/cartesian`,
//! graphs in `topologies/graphs`, rank reordering in `topologies/reorder`.

mod cartesian;
pub(crate) mod declaration;
mod graphs;
pub(crate) mod reorder;

pub use cartesian::*;
pub use graphs::*;

use std::sync::Arc;

use towpath_base::ids::ContextId;
use towpath_collective::numbers::CallForm;
use towpath_mapping::topology::{self as mapped, RankOrder, Topology};
use towpath_neutral::abi::{Handle, Integers};
use towpath_neutral::constants::*;
use towpath_neutral::error::{Result, fail};

use super::internal;
use super::splits::{insert, no_intercomm};
use crate::objects::comm::Comm;
use crate::objects::group::Group;
use crate::objects::registry;
use crate::process;

const _: () = assert!(mapped::PROC_NULL == PROC_NULL);

/// MPI_Topo_test.
pub fn topo_test(comm: Handle) -> Result<i32> {
    Ok(match registry::comm(comm)?.topology.as_deref() {
        None => UNDEFINED,
        Some(Topology::Cartesian { .. }) => CART,
        Some(Topology::Graph { .. }) => GRAPH,
        Some(Topology::Distributed(_)) => DIST_GRAPH,
    })
}

/// Checks a rank argument.
fn checked_rank(rank: i32, comm: &Comm) -> Result<usize> {
    let last = comm.group.size() - 1;
    match usize::try_from(rank) {
        Ok(rank) if rank <= last => Ok(rank),
        _ => fail!(ERR_RANK, "argument rank is {rank}, but the communicator has ranks 0 to {last}"),
    }
}

/// Copies an int array argument, which must be NULL or have `count` elements.
fn ints(array: Integers, count: usize, argument: &str) -> Result<Vec<i32>> {
    if count > 0 && array.is_null() {
        fail!(ERR_ARG, "argument {argument} is NULL, but {count} elements are needed");
    }
    Ok((0..count).map(|i| array.get(i) as i32).collect())
}

/// Creates a communicator of `size` processes of `parent`. Each member gets the topology of its new
/// rank; the others get MPI_COMM_NULL.
fn with_topology(
    parent: &Arc<Comm>,
    size: usize,
    order: &RankOrder,
    topology: impl FnOnce(usize) -> Topology,
) -> Result<Handle> {
    let (team, sequence) = internal::team_of(parent);
    let mut word = [registry::new_context().0];
    internal::broadcast(&team, sequence, 0, &mut word)?;
    let peers = (0..size).map(|rank| parent.group.peers[order.process(rank)]).collect();
    let group = Arc::new(Group::new(peers, process::me()));
    let comm = group.rank.map(|rank| {
        let comm = Comm::new(ContextId(word[0]), group.clone(), None, parent.errhandler());
        comm.with_topology(Some(Arc::new(topology(rank)))).with_links_of(parent, CallForm::Blocking)
    });
    declaration::declare(parent, comm)?.map_or(Ok(COMM_NULL), insert)
}

fn intracomm(comm: Handle, what: &str) -> Result<Arc<Comm>> {
    let comm = registry::comm(comm)?;
    no_intercomm(&comm, what)?;
    Ok(comm)
}
