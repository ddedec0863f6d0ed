//! Collectives that move data: checks of their arguments (MPI 5.0, sections 6.3 to 6.8).
//!
//! The functions with arrays of counts, displacements or datatypes share the bodies of those
//! without ([`Data`]). No function accesses a buffer.

use towpath_collective::allgather::Allgather;
use towpath_collective::alltoall::Alltoall;
use towpath_collective::gather::Gather;
use towpath_collective::inter::{self, RootSide};
use towpath_collective::scatter::Scatter;
use towpath_collective::{Blocks, Buffer, Operation};
use towpath_neutral::abi::Handle;
use towpath_neutral::error::Result;

use super::arguments::{self, ArgumentNames, BUFFER, RECEIVE, SEND, is_in_place};
use super::data::{Data, EqualData};
use super::execution::{CommView, Prepared};

/// MPI_Barrier.
pub fn barrier<'a>(comm: Handle) -> Result<Prepared<'a>> {
    let view = CommView::new(comm)?;
    if view.comm.is_inter() { view.across(inter::barrier) } else { view.with(Operation::Barrier) }
}

/// MPI_Bcast.
pub fn bcast<'a>(data: EqualData, root: i32, comm: Handle) -> Result<Prepared<'a>> {
    let view = CommView::new(comm)?;
    let data = data.of_elements();
    if !view.comm.is_inter() {
        let root = arguments::root(view.comm, root)?;
        return view.with(Operation::Bcast { root, data: data.buffer(BUFFER)? });
    }
    match arguments::side(view.comm, root)? {
        RootSide::Idle => view.across(inter::nothing),
        side => {
            let data = data.buffer(BUFFER)?;
            view.across(|bridge| inter::bcast(bridge, side, &data))
        }
    }
}

/// The data arguments of a gather or scatter.
struct RootedData<D> {
    /// The block of one process.
    own: (EqualData, ArgumentNames),
    /// The blocks of all ranks, which are significant at the root.
    all: (D, ArgumentNames),
}

/// The checked arguments of a gather or scatter.
struct Rooted {
    root: usize,
    /// This rank's own block; `None` for MPI_IN_PLACE at the root.
    own: Option<Buffer>,
    /// The blocks of all ranks, at the root.
    all: Option<Blocks>,
}

impl<D: Data> RootedData<D> {
    /// Checks the arguments of a call on an intracommunicator.
    fn within(self, view: &CommView, root: i32) -> Result<Rooted> {
        let root = arguments::root(view.comm, root)?;
        let at_root = view.rank() == root;
        let (own, names) = self.own;
        let own = if at_root && is_in_place(own.pointer()) { None } else { Some(own.buffer(names)?) };
        let (all, names) = self.all;
        let all = if at_root { Some(all.blocks(view.partners(), names)?) } else { None };
        if let (Some(own), Some(all)) = (&own, &all) {
            arguments::apart_from(own, all, view.partners())?;
        }
        Ok(Rooted { root, own, all })
    }

    /// Checks the arguments of a call on an intercommunicator.
    fn across(self, view: &CommView, root: i32) -> Result<(RootSide, Option<Buffer>, Option<Blocks>)> {
        let ((own, own_names), (all, all_names)) = (self.own, self.all);
        Ok(match arguments::side(view.comm, root)? {
            RootSide::Root => (RootSide::Root, None, Some(all.blocks(view.partners(), all_names)?)),
            RootSide::Idle => (RootSide::Idle, None, None),
            leaf @ RootSide::Leaf { .. } => (leaf, Some(own.buffer(own_names)?), None),
        })
    }
}

/// MPI_Gather and MPI_Gatherv.
pub fn gather<'a, D: Data>(send: EqualData, receive: D, root: i32, comm: Handle) -> Result<Prepared<'a>> {
    let view = CommView::new(comm)?;
    let data = RootedData { own: (send, SEND), all: (receive, RECEIVE) };
    if view.comm.is_inter() {
        let (side, own, all) = data.across(&view, root)?;
        let plan = if D::EQUAL { inter::gather } else { inter::gatherv };
        return view.across(|bridge| plan(bridge, side, own.as_ref(), all.as_ref()));
    }
    let Rooted { root, own, all } = data.within(&view, root)?;
    let gather = Gather { root, send: own, receive: all };
    view.with(if D::EQUAL { Operation::Gather(gather) } else { Operation::Gatherv(gather) })
}

/// MPI_Scatter and MPI_Scatterv.
pub fn scatter<'a, D: Data>(send: D, receive: EqualData, root: i32, comm: Handle) -> Result<Prepared<'a>> {
    let view = CommView::new(comm)?;
    let data = RootedData { own: (receive, RECEIVE), all: (send, SEND) };
    if view.comm.is_inter() {
        let (side, own, all) = data.across(&view, root)?;
        let plan = if D::EQUAL { inter::scatter } else { inter::scatterv };
        return view.across(|bridge| plan(bridge, side, all.as_ref(), own.as_ref()));
    }
    let Rooted { root, own, all } = data.within(&view, root)?;
    let scatter = Scatter { root, send: all, receive: own };
    view.with(if D::EQUAL { Operation::Scatter(scatter) } else { Operation::Scatterv(scatter) })
}

/// MPI_Allgather and MPI_Allgatherv. MPI_IN_PLACE is for intracommunicators only.
pub fn allgather<'a>(send: EqualData, receive: impl Data, comm: Handle) -> Result<Prepared<'a>> {
    let view = CommView::new(comm)?;
    let receive = receive.blocks(view.partners(), RECEIVE)?;
    let in_place = is_in_place(send.pointer()) && !view.comm.is_inter();
    let send = if in_place { None } else { Some(send.buffer(SEND)?) };
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

/// MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw. MPI_IN_PLACE is for intracommunicators only.
pub fn alltoall<'a, D: Data>(send: D, receive: D, comm: Handle) -> Result<Prepared<'a>> {
    let view = CommView::new(comm)?;
    let ranks = view.partners();
    let receive = receive.blocks(ranks, RECEIVE)?;
    let in_place = is_in_place(send.pointer()) && !view.comm.is_inter();
    let send = if in_place { None } else { Some(send.blocks(ranks, SEND)?) };
    if let Some(send) = &send {
        arguments::apart(send, ranks, &receive, ranks)?;
    }
    let arguments = Alltoall { send, receive };
    if view.comm.is_inter() {
        view.across(|bridge| inter::alltoall(bridge, &arguments))
    } else {
        view.with(Operation::Alltoall(arguments))
    }
}
