//! Collectives that combine data: checks of their arguments (MPI 5.0, sections 6.9 to 6.11).
//!
//! [`reduce_scatter`] is unsafe: its array of counts must have the length that the standard
//! requires. No function accesses a buffer.

use std::ffi::c_void;

use towpath_collective::Operation;
use towpath_collective::inter::{self, RootSide};
use towpath_collective::reduce::Operand;
use towpath_neutral::abi::{Handle, Integers};
use towpath_neutral::error::{Result, fail};

use super::arguments::{self, ArgumentNames, BUFFER, is_in_place};
use super::execution::{CommView, Prepared};
use crate::chapters::{datatypes, operations};

const SEND: ArgumentNames = ArgumentNames { buffer: "sendbuf", ..BUFFER };
const RECEIVE: ArgumentNames = ArgumentNames { buffer: "recvbuf", ..BUFFER };

/// The arguments of a reduction. The buffers are checked where they are significant.
struct Vector {
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: Handle,
}

impl Vector {
    /// The operand. `send` and `receive` are true if the send and the receive buffer are
    /// significant, `in_place` if the operand may be in the receive buffer.
    fn operand(&self, send: bool, receive: bool, in_place: bool) -> Result<Operand> {
        let kind = arguments::datatype(self.datatype, "datatype")?;
        let reducer = operations::reducer(self.op, self.datatype, kind)?;
        let placed = in_place && is_in_place(self.sendbuf);
        if send && !placed {
            arguments::check(self.sendbuf, self.count, kind, SEND)?;
        }
        if !kind.can_have(self.count) {
            return datatypes::bad_count(self.count, kind, RECEIVE.count);
        }
        if receive {
            arguments::check(self.recvbuf, self.count, kind, RECEIVE)?;
            // Both buffers are arrays of the same elements, so they overlap in the first one.
            if send && self.sendbuf == self.recvbuf && self.count > 0 && kind.needs_distinct(self.sendbuf) {
                return arguments::aliased();
            }
        }
        let send = (send && !placed).then(|| self.sendbuf.cast_mut().cast());
        Ok(Operand { send, count: self.count, element: kind.element.clone(), reducer })
    }

    fn receive(&self) -> *mut u8 {
        self.recvbuf.cast()
    }
}

/// MPI_Reduce.
pub fn reduce<'a>(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: Handle,
    root: i32,
    comm: Handle,
) -> Result<Prepared<'a>> {
    let view = CommView::new(comm)?;
    let vector = Vector { sendbuf, recvbuf, count, datatype, op };
    let receive = vector.receive();
    if !view.comm.is_inter() {
        let root = arguments::root(view.comm, root)?;
        let at_root = root == view.rank();
        let operand = vector.operand(true, at_root, at_root)?;
        return view.with(Operation::Reduce { root, operand, receive });
    }
    let side = arguments::side(view.comm, root)?;
    if side == RootSide::Idle {
        return view.across(inter::nothing);
    }
    let operand = vector.operand(side != RootSide::Root, side == RootSide::Root, false)?;
    view.across(|bridge| inter::reduce(bridge, side, &operand, receive))
}

/// MPI_Allreduce.
pub fn allreduce<'a>(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Result<Prepared<'a>> {
    let view = CommView::new(comm)?;
    let vector = Vector { sendbuf, recvbuf, count, datatype, op };
    let operand = vector.operand(true, true, !view.comm.is_inter())?;
    let receive = vector.receive();
    if view.comm.is_inter() {
        view.across(|bridge| inter::allreduce(bridge, &operand, receive))
    } else {
        view.with(Operation::Allreduce { operand, receive })
    }
}

/// Prepares a reduce-scatter with the counts of the local ranks.
fn combined_blocks<'a>(view: CommView<'a>, mut vector: Vector, counts: Vec<i64>) -> Result<Prepared<'a>> {
    vector.count = match counts.iter().try_fold(0i64, |sum, &count| sum.checked_add(count)) {
        Some(count) => count,
        None => {
            fail!(ERR_COUNT, "the counts of all {} ranks together exceed 2^63 - 1", counts.len())
        }
    };
    // With MPI_IN_PLACE, the receive buffer holds the whole vector, whatever the length of this
    // rank's block.
    let in_place = is_in_place(vector.sendbuf) && !view.comm.is_inter();
    let operand = vector.operand(true, counts[view.rank()] > 0 || in_place, !view.comm.is_inter())?;
    let receive = vector.receive();
    if view.comm.is_inter() {
        view.across(|bridge| inter::reduce_scatter(bridge, &operand, &counts, receive))
    } else {
        view.with(Operation::ReduceScatter { operand, counts, receive })
    }
}

/// MPI_Reduce_scatter_block.
pub fn reduce_scatter_block<'a>(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcount: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Result<Prepared<'a>> {
    let view = CommView::new(comm)?;
    if recvcount < 0 {
        fail!(ERR_COUNT, "argument recvcount is {recvcount}; it must not be negative");
    }
    let counts = vec![recvcount; view.size()];
    combined_blocks(view, Vector { sendbuf, recvbuf, count: 0, datatype, op }, counts)
}

/// MPI_Reduce_scatter.
///
/// # Safety
/// Arrays must have the lengths that the standard requires.
pub unsafe fn reduce_scatter<'a>(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Result<Prepared<'a>> {
    let view = CommView::new(comm)?;
    // SAFETY: the array has an element for each local rank (this function's contract).
    let counts = unsafe { arguments::counts(recvcounts, view.size(), "recvcount") }?.into_vec();
    combined_blocks(view, Vector { sendbuf, recvbuf, count: 0, datatype, op }, counts)
}

fn no_scan_between_groups(view: &CommView) -> Result<()> {
    if view.comm.is_inter() {
        fail!(ERR_COMM, "argument comm is an intercommunicator; scans are defined within one group only");
    }
    Ok(())
}

/// MPI_Scan.
pub fn scan<'a>(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Result<Prepared<'a>> {
    let view = CommView::new(comm)?;
    no_scan_between_groups(&view)?;
    let vector = Vector { sendbuf, recvbuf, count, datatype, op };
    let operand = vector.operand(true, true, true)?;
    view.with(Operation::Scan { operand, receive: vector.receive(), exclusive: false })
}

/// MPI_Exscan. The receive buffer of rank 0 is not significant.
pub fn exscan<'a>(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Result<Prepared<'a>> {
    let view = CommView::new(comm)?;
    no_scan_between_groups(&view)?;
    let vector = Vector { sendbuf, recvbuf, count, datatype, op };
    let needs_receive = view.rank() > 0 || is_in_place(sendbuf);
    let operand = vector.operand(true, needs_receive, true)?;
    view.with(Operation::Scan { operand, receive: vector.receive(), exclusive: true })
}
