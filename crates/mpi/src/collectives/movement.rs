//! Collectives that move data: arguments checked (MPI 5.0, sections 6.3 to 6.8).
//!
//! Every function is unsafe for the same reason: arrays of counts, displacements and datatypes must
//! be as long as the standard asks.

use std::ffi::c_void;

use towpath_collective::allgather::Allgather;
use towpath_collective::alltoall::Alltoall;
use towpath_collective::gather::Gather;
use towpath_collective::inter::{self, Side};
use towpath_collective::scatter::Scatter;
use towpath_collective::{Blocks, Buffer, Operation};

use super::arguments::{self, BUFFER, RECEIVE, SEND, is_in_place};
use super::execution::{Ground, Prepared};
use crate::error::Result;
use crate::face::{Handle, HandleArray, Integers};

/// MPI_Barrier.
pub(super) fn barrier<'a>(comm: Handle) -> Result<Prepared<'a>> {
    let ground = Ground::new(comm)?;
    if ground.comm.is_inter() { ground.across(inter::barrier) } else { ground.with(Operation::Barrier) }
}

/// MPI_Bcast.
pub(super) unsafe fn bcast<'a>(
    buffer: *mut c_void,
    count: i64,
    datatype: Handle,
    root: i32,
    comm: Handle,
) -> Result<Prepared<'a>> {
    let ground = Ground::new(comm)?;
    let data = || arguments::buffer(buffer, count, arguments::of_elements(count, datatype), BUFFER);
    if !ground.comm.is_inter() {
        let root = arguments::root(ground.comm, root)?;
        return ground.with(Operation::Bcast { root, data: data()? });
    }
    match arguments::side(ground.comm, root)? {
        Side::Idle => ground.across(inter::nothing),
        side => {
            let data = data()?;
            ground.across(|bridge| inter::bcast(bridge, side, &data))
        }
    }
}

/// The two sides of a gather or scatter.
struct Rooted {
    root: usize,
    /// What this rank has of its own; `None` in place at the root.
    own: Option<Buffer>,
    /// All blocks, at the root.
    all: Option<Blocks>,
}

/// Checks the arguments of a rooted call in one group.
fn rooted(
    ground: &Ground,
    root: i32,
    own_pointer: *const c_void,
    own: impl FnOnce() -> Result<Buffer>,
    all: impl FnOnce() -> Result<Blocks>,
) -> Result<Rooted> {
    let root = arguments::root(ground.comm, root)?;
    let at_root = ground.rank() == root;
    let own = if at_root && is_in_place(own_pointer) { None } else { Some(own()?) };
    let all = if at_root { Some(all()?) } else { None };
    if let (Some(own), Some(all)) = (&own, &all) {
        arguments::apart_from(own, all, ground.partners())?;
    }
    Ok(Rooted { root, own, all })
}

/// Checks the arguments of a rooted call between groups.
fn across(
    ground: &Ground,
    root: i32,
    own: impl FnOnce() -> Result<Buffer>,
    all: impl FnOnce() -> Result<Blocks>,
) -> Result<(Side, Option<Buffer>, Option<Blocks>)> {
    Ok(match arguments::side(ground.comm, root)? {
        Side::Root => (Side::Root, None, Some(all()?)),
        Side::Idle => (Side::Idle, None, None),
        leaf @ Side::Leaf { .. } => (leaf, Some(own()?), None),
    })
}

/// MPI_Gather.
pub(super) unsafe fn gather<'a>(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    root: i32,
    comm: Handle,
) -> Result<Prepared<'a>> {
    let ground = Ground::new(comm)?;
    let own = || arguments::buffer(sendbuf, sendcount, sendtype, SEND);
    let all = || arguments::blocks(recvbuf, recvcount, recvtype, ground.partners(), RECEIVE);
    if !ground.comm.is_inter() {
        let Rooted { root, own, all } = rooted(&ground, root, sendbuf, own, all)?;
        return ground.with(Operation::Gather(Gather { root, send: own, receive: all }));
    }
    let (side, own, all) = across(&ground, root, own, all)?;
    ground.across(|bridge| inter::gather(bridge, side, own.as_ref(), all.as_ref()))
}

/// MPI_Gatherv.
pub(super) unsafe fn gatherv<'a>(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    displs: Integers,
    recvtype: Handle,
    root: i32,
    comm: Handle,
) -> Result<Prepared<'a>> {
    let ground = Ground::new(comm)?;
    let own = || arguments::buffer(sendbuf, sendcount, sendtype, SEND);
    // SAFETY: the program's arrays have an element for each rank.
    let all = || unsafe { arguments::varying(recvbuf, recvcounts, displs, recvtype, ground.partners(), RECEIVE) };
    if !ground.comm.is_inter() {
        let Rooted { root, own, all } = rooted(&ground, root, sendbuf, own, all)?;
        return ground.with(Operation::Gatherv(Gather { root, send: own, receive: all }));
    }
    let (side, own, all) = across(&ground, root, own, all)?;
    ground.across(|bridge| inter::gatherv(bridge, side, own.as_ref(), all.as_ref()))
}

/// MPI_Scatter.
pub(super) unsafe fn scatter<'a>(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    root: i32,
    comm: Handle,
) -> Result<Prepared<'a>> {
    let ground = Ground::new(comm)?;
    let own = || arguments::buffer(recvbuf, recvcount, recvtype, RECEIVE);
    let all = || arguments::blocks(sendbuf, sendcount, sendtype, ground.partners(), SEND);
    if !ground.comm.is_inter() {
        let Rooted { root, own, all } = rooted(&ground, root, recvbuf, own, all)?;
        return ground.with(Operation::Scatter(Scatter { root, send: all, receive: own }));
    }
    let (side, own, all) = across(&ground, root, own, all)?;
    ground.across(|bridge| inter::scatter(bridge, side, all.as_ref(), own.as_ref()))
}

/// MPI_Scatterv.
pub(super) unsafe fn scatterv<'a>(
    sendbuf: *const c_void,
    sendcounts: Integers,
    displs: Integers,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    root: i32,
    comm: Handle,
) -> Result<Prepared<'a>> {
    let ground = Ground::new(comm)?;
    let own = || arguments::buffer(recvbuf, recvcount, recvtype, RECEIVE);
    // SAFETY: the program's arrays have an element for each rank.
    let all = || unsafe { arguments::varying(sendbuf, sendcounts, displs, sendtype, ground.partners(), SEND) };
    if !ground.comm.is_inter() {
        let Rooted { root, own, all } = rooted(&ground, root, recvbuf, own, all)?;
        return ground.with(Operation::Scatterv(Scatter { root, send: all, receive: own }));
    }
    let (side, own, all) = across(&ground, root, own, all)?;
    ground.across(|bridge| inter::scatterv(bridge, side, all.as_ref(), own.as_ref()))
}

/// Plans an allgather with checked arguments. In place is allowed in one group only.
fn gathered_everywhere<'a>(
    ground: Ground<'a>,
    sendbuf: *const c_void,
    own: impl FnOnce() -> Result<Buffer>,
    receive: Blocks,
) -> Result<Prepared<'a>> {
    let send = if is_in_place(sendbuf) && !ground.comm.is_inter() { None } else { Some(own()?) };
    if let Some(send) = &send {
        arguments::apart_from(send, &receive, ground.partners())?;
    }
    let arguments = Allgather { send, receive };
    if ground.comm.is_inter() {
        ground.across(|bridge| inter::allgather(bridge, &arguments))
    } else {
        ground.with(Operation::Allgather(arguments))
    }
}

/// MPI_Allgather.
pub(super) unsafe fn allgather<'a>(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    comm: Handle,
) -> Result<Prepared<'a>> {
    let ground = Ground::new(comm)?;
    let receive = arguments::blocks(recvbuf, recvcount, recvtype, ground.partners(), RECEIVE)?;
    gathered_everywhere(ground, sendbuf, || arguments::buffer(sendbuf, sendcount, sendtype, SEND), receive)
}

/// MPI_Allgatherv.
pub(super) unsafe fn allgatherv<'a>(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    displs: Integers,
    recvtype: Handle,
    comm: Handle,
) -> Result<Prepared<'a>> {
    let ground = Ground::new(comm)?;
    // SAFETY: the program's arrays have an element for each rank.
    let receive = unsafe { arguments::varying(recvbuf, recvcounts, displs, recvtype, ground.partners(), RECEIVE) }?;
    gathered_everywhere(ground, sendbuf, || arguments::buffer(sendbuf, sendcount, sendtype, SEND), receive)
}

/// Plans an alltoall with checked arguments. In place is allowed in one group only.
fn exchanged<'a>(
    ground: Ground<'a>,
    sendbuf: *const c_void,
    own: impl FnOnce() -> Result<Blocks>,
    receive: Blocks,
) -> Result<Prepared<'a>> {
    let send = if is_in_place(sendbuf) && !ground.comm.is_inter() { None } else { Some(own()?) };
    if let Some(send) = &send {
        arguments::apart(send, ground.partners(), &receive, ground.partners())?;
    }
    let arguments = Alltoall { send, receive };
    if ground.comm.is_inter() {
        ground.across(|bridge| inter::alltoall(bridge, &arguments))
    } else {
        ground.with(Operation::Alltoall(arguments))
    }
}

/// MPI_Alltoall.
pub(super) unsafe fn alltoall<'a>(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    comm: Handle,
) -> Result<Prepared<'a>> {
    let ground = Ground::new(comm)?;
    let ranks = ground.partners();
    let receive = arguments::blocks(recvbuf, recvcount, recvtype, ranks, RECEIVE)?;
    exchanged(ground, sendbuf, || arguments::blocks(sendbuf, sendcount, sendtype, ranks, SEND), receive)
}

/// MPI_Alltoallv.
pub(super) unsafe fn alltoallv<'a>(
    sendbuf: *const c_void,
    sendcounts: Integers,
    sdispls: Integers,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    rdispls: Integers,
    recvtype: Handle,
    comm: Handle,
) -> Result<Prepared<'a>> {
    let ground = Ground::new(comm)?;
    let ranks = ground.partners();
    // SAFETY: the program's arrays have an element for each rank.
    let receive = unsafe { arguments::varying(recvbuf, recvcounts, rdispls, recvtype, ranks, RECEIVE) }?;
    // SAFETY: as above.
    let send = || unsafe { arguments::varying(sendbuf, sendcounts, sdispls, sendtype, ranks, SEND) };
    exchanged(ground, sendbuf, send, receive)
}

/// MPI_Alltoallw.
pub(super) unsafe fn alltoallw<'a>(
    sendbuf: *const c_void,
    sendcounts: Integers,
    sdispls: Integers,
    sendtypes: HandleArray,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    rdispls: Integers,
    recvtypes: HandleArray,
    comm: Handle,
) -> Result<Prepared<'a>> {
    let ground = Ground::new(comm)?;
    let ranks = ground.partners();
    // SAFETY: the program's arrays have an element for each rank.
    let receive = unsafe { arguments::mixed(recvbuf, recvcounts, rdispls, recvtypes, ranks, RECEIVE) }?;
    // SAFETY: as above.
    let send = || unsafe { arguments::mixed(sendbuf, sendcounts, sdispls, sendtypes, ranks, SEND) };
    exchanged(ground, sendbuf, send, receive)
}
