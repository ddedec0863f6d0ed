//! Collectives that move data: checks of their arguments (MPI 5.0, sections 6.3 to 6.8).
//!
//! Functions with arrays of counts, displacements or datatypes are unsafe: the arrays must have the
//! lengths that the standard requires. No function accesses a buffer.

use std::ffi::c_void;

use towpath_collective::allgather::Allgather;
use towpath_collective::alltoall::Alltoall;
use towpath_collective::gather::Gather;
use towpath_collective::inter::{self, RootSide};
use towpath_collective::scatter::Scatter;
use towpath_collective::{Blocks, Buffer, Operation};
use towpath_neutral::abi::{Handle, HandleArray, Integers};
use towpath_neutral::error::Result;

use super::arguments::{self, BUFFER, RECEIVE, SEND, is_in_place};
use super::execution::{CommView, Prepared};

/// MPI_Barrier.
pub fn barrier<'a>(comm: Handle) -> Result<Prepared<'a>> {
    let view = CommView::new(comm)?;
    if view.comm.is_inter() { view.across(inter::barrier) } else { view.with(Operation::Barrier) }
}

/// MPI_Bcast.
pub fn bcast<'a>(buffer: *mut c_void, count: i64, datatype: Handle, root: i32, comm: Handle) -> Result<Prepared<'a>> {
    let view = CommView::new(comm)?;
    let data = || arguments::buffer(buffer, count, arguments::of_elements(count, datatype), BUFFER);
    if !view.comm.is_inter() {
        let root = arguments::root(view.comm, root)?;
        return view.with(Operation::Bcast { root, data: data()? });
    }
    match arguments::side(view.comm, root)? {
        RootSide::Idle => view.across(inter::nothing),
        side => {
            let data = data()?;
            view.across(|bridge| inter::bcast(bridge, side, &data))
        }
    }
}

/// The arguments of a gather or scatter.
struct Rooted {
    root: usize,
    /// This rank's own block; `None` for MPI_IN_PLACE at the root.
    own: Option<Buffer>,
    /// The blocks of all ranks, at the root.
    all: Option<Blocks>,
}

/// Checks the arguments of a rooted call on an intracommunicator.
fn rooted(
    view: &CommView,
    root: i32,
    own_pointer: *const c_void,
    own: impl FnOnce() -> Result<Buffer>,
    all: impl FnOnce() -> Result<Blocks>,
) -> Result<Rooted> {
    let root = arguments::root(view.comm, root)?;
    let at_root = view.rank() == root;
    let own = if at_root && is_in_place(own_pointer) { None } else { Some(own()?) };
    let all = if at_root { Some(all()?) } else { None };
    if let (Some(own), Some(all)) = (&own, &all) {
        arguments::apart_from(own, all, view.partners())?;
    }
    Ok(Rooted { root, own, all })
}

/// Checks the arguments of a rooted call on an intercommunicator.
fn across(
    view: &CommView,
    root: i32,
    own: impl FnOnce() -> Result<Buffer>,
    all: impl FnOnce() -> Result<Blocks>,
) -> Result<(RootSide, Option<Buffer>, Option<Blocks>)> {
    Ok(match arguments::side(view.comm, root)? {
        RootSide::Root => (RootSide::Root, None, Some(all()?)),
        RootSide::Idle => (RootSide::Idle, None, None),
        leaf @ RootSide::Leaf { .. } => (leaf, Some(own()?), None),
    })
}

/// MPI_Gather.
pub fn gather<'a>(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    root: i32,
    comm: Handle,
) -> Result<Prepared<'a>> {
    let view = CommView::new(comm)?;
    let own = || arguments::buffer(sendbuf, sendcount, sendtype, SEND);
    let all = || arguments::blocks(recvbuf, recvcount, recvtype, view.partners(), RECEIVE);
    if !view.comm.is_inter() {
        let Rooted { root, own, all } = rooted(&view, root, sendbuf, own, all)?;
        return view.with(Operation::Gather(Gather { root, send: own, receive: all }));
    }
    let (side, own, all) = across(&view, root, own, all)?;
    view.across(|bridge| inter::gather(bridge, side, own.as_ref(), all.as_ref()))
}

/// MPI_Gatherv.
///
/// # Safety
/// Arrays must have the lengths that the standard requires.
pub unsafe fn gatherv<'a>(
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
    let view = CommView::new(comm)?;
    let own = || arguments::buffer(sendbuf, sendcount, sendtype, SEND);
    // SAFETY: the arrays have an element for each rank (this function's contract).
    let all = || unsafe { arguments::varying(recvbuf, recvcounts, displs, recvtype, view.partners(), RECEIVE) };
    if !view.comm.is_inter() {
        let Rooted { root, own, all } = rooted(&view, root, sendbuf, own, all)?;
        return view.with(Operation::Gatherv(Gather { root, send: own, receive: all }));
    }
    let (side, own, all) = across(&view, root, own, all)?;
    view.across(|bridge| inter::gatherv(bridge, side, own.as_ref(), all.as_ref()))
}

/// MPI_Scatter.
pub fn scatter<'a>(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    root: i32,
    comm: Handle,
) -> Result<Prepared<'a>> {
    let view = CommView::new(comm)?;
    let own = || arguments::buffer(recvbuf, recvcount, recvtype, RECEIVE);
    let all = || arguments::blocks(sendbuf, sendcount, sendtype, view.partners(), SEND);
    if !view.comm.is_inter() {
        let Rooted { root, own, all } = rooted(&view, root, recvbuf, own, all)?;
        return view.with(Operation::Scatter(Scatter { root, send: all, receive: own }));
    }
    let (side, own, all) = across(&view, root, own, all)?;
    view.across(|bridge| inter::scatter(bridge, side, all.as_ref(), own.as_ref()))
}

/// MPI_Scatterv.
///
/// # Safety
/// Arrays must have the lengths that the standard requires.
pub unsafe fn scatterv<'a>(
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
    let view = CommView::new(comm)?;
    let own = || arguments::buffer(recvbuf, recvcount, recvtype, RECEIVE);
    // SAFETY: the arrays have an element for each rank (this function's contract).
    let all = || unsafe { arguments::varying(sendbuf, sendcounts, displs, sendtype, view.partners(), SEND) };
    if !view.comm.is_inter() {
        let Rooted { root, own, all } = rooted(&view, root, recvbuf, own, all)?;
        return view.with(Operation::Scatterv(Scatter { root, send: all, receive: own }));
    }
    let (side, own, all) = across(&view, root, own, all)?;
    view.across(|bridge| inter::scatterv(bridge, side, all.as_ref(), own.as_ref()))
}

/// Prepares an allgather with checked arguments. MPI_IN_PLACE is for intracommunicators only.
fn gathered_everywhere<'a>(
    view: CommView<'a>,
    sendbuf: *const c_void,
    own: impl FnOnce() -> Result<Buffer>,
    receive: Blocks,
) -> Result<Prepared<'a>> {
    let send = if is_in_place(sendbuf) && !view.comm.is_inter() { None } else { Some(own()?) };
    if let Some(send) = &send {
        arguments::apart_from(send, &receive, view.partners())?;
    }
    let arguments = Allgather { send, receive };
    if view.comm.is_inter() {
        view.across(|bridge| inter::allgather(bridge, &arguments))
    } else {
        view.with(Operation::Allgather(arguments))
    }
}

/// MPI_Allgather.
pub fn allgather<'a>(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    comm: Handle,
) -> Result<Prepared<'a>> {
    let view = CommView::new(comm)?;
    let receive = arguments::blocks(recvbuf, recvcount, recvtype, view.partners(), RECEIVE)?;
    gathered_everywhere(view, sendbuf, || arguments::buffer(sendbuf, sendcount, sendtype, SEND), receive)
}

/// MPI_Allgatherv.
///
/// # Safety
/// Arrays must have the lengths that the standard requires.
pub unsafe fn allgatherv<'a>(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    displs: Integers,
    recvtype: Handle,
    comm: Handle,
) -> Result<Prepared<'a>> {
    let view = CommView::new(comm)?;
    // SAFETY: the arrays have an element for each rank (this function's contract).
    let receive = unsafe { arguments::varying(recvbuf, recvcounts, displs, recvtype, view.partners(), RECEIVE) }?;
    gathered_everywhere(view, sendbuf, || arguments::buffer(sendbuf, sendcount, sendtype, SEND), receive)
}

/// Prepares an alltoall with checked arguments. MPI_IN_PLACE is for intracommunicators only.
fn exchanged<'a>(
    view: CommView<'a>,
    sendbuf: *const c_void,
    own: impl FnOnce() -> Result<Blocks>,
    receive: Blocks,
) -> Result<Prepared<'a>> {
    let send = if is_in_place(sendbuf) && !view.comm.is_inter() { None } else { Some(own()?) };
    if let Some(send) = &send {
        arguments::apart(send, view.partners(), &receive, view.partners())?;
    }
    let arguments = Alltoall { send, receive };
    if view.comm.is_inter() {
        view.across(|bridge| inter::alltoall(bridge, &arguments))
    } else {
        view.with(Operation::Alltoall(arguments))
    }
}

/// MPI_Alltoall.
pub fn alltoall<'a>(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    comm: Handle,
) -> Result<Prepared<'a>> {
    let view = CommView::new(comm)?;
    let ranks = view.partners();
    let receive = arguments::blocks(recvbuf, recvcount, recvtype, ranks, RECEIVE)?;
    exchanged(view, sendbuf, || arguments::blocks(sendbuf, sendcount, sendtype, ranks, SEND), receive)
}

/// MPI_Alltoallv.
///
/// # Safety
/// Arrays must have the lengths that the standard requires.
pub unsafe fn alltoallv<'a>(
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
    let view = CommView::new(comm)?;
    let ranks = view.partners();
    // SAFETY: the arrays have an element for each rank (this function's contract).
    let receive = unsafe { arguments::varying(recvbuf, recvcounts, rdispls, recvtype, ranks, RECEIVE) }?;
    // SAFETY: the arrays have an element for each rank (this function's contract).
    let send = || unsafe { arguments::varying(sendbuf, sendcounts, sdispls, sendtype, ranks, SEND) };
    exchanged(view, sendbuf, send, receive)
}

/// MPI_Alltoallw.
///
/// # Safety
/// Arrays must have the lengths that the standard requires.
pub unsafe fn alltoallw<'a>(
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
    let view = CommView::new(comm)?;
    let ranks = view.partners();
    // SAFETY: the arrays have an element for each rank (this function's contract).
    let receive = unsafe { arguments::mixed(recvbuf, recvcounts, rdispls, recvtypes, ranks, RECEIVE) }?;
    // SAFETY: the arrays have an element for each rank (this function's contract).
    let send = || unsafe { arguments::mixed(sendbuf, sendcounts, sdispls, sendtypes, ranks, SEND) };
    exchanged(view, sendbuf, send, receive)
}
