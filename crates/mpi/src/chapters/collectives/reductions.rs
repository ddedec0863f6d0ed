//! Collectives that combine data: checks of their arguments (MPI 5.0, sections 6.9 to 6.11).
//!
//! [`reduce_scatter`] is unsafe: its array of counts must have the length that the standard
//! requires. No function accesses a buffer.

use std::ffi::c_void;

use towpath_collective::inter::{self, RootSide};
use towpath_collective::reduce::Operand;
use towpath_collective::{HostCopies, Operation};
use towpath_neutral::abi::{Handle, Integers};
use towpath_neutral::error::{Result, fail};

use super::arguments::{self, ArgumentNames, BUFFER, is_in_place};
use super::execution::{CommView, Prepared};
use crate::chapters::host_copies::in_host_memory;
use crate::chapters::{datatypes, operations};
use crate::objects::datatype::Type;
use crate::process::devices;

const SEND: ArgumentNames = ArgumentNames { buffer: "sendbuf", ..BUFFER };
const RECEIVE: ArgumentNames = ArgumentNames { buffer: "recvbuf", ..BUFFER };

/// The arguments of a reduction. The buffers are checked where they are significant.
pub struct Vector {
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: Handle,
    /// Elements of the result, if it is not the whole vector.
    results: Option<i64>,
    copies: HostCopies,
}

impl Vector {
    /// The arguments of the call.
    #[inline(always)]
    pub fn new(sendbuf: *const c_void, recvbuf: *mut c_void, count: i64, datatype: Handle, op: Handle) -> Vector {
        Vector { sendbuf, recvbuf, count, datatype, op, results: None, copies: HostCopies::default() }
    }

    /// Replaces buffers in the memory of a device by host copies; `send` and `receive` are true for
    /// those that are significant.
    #[cold]
    fn copy_to_host(&mut self, kind: &Type, send: bool, receive: bool) -> Result<()> {
        let Vector { sendbuf, recvbuf, count, results, copies, .. } = self;
        if send {
            *sendbuf = in_host_memory(copies, &kind.datatype, *sendbuf, *count, 0)?.cast();
        }
        if receive {
            // Only in place does the reduction read what is in the receive buffer.
            let read = if is_in_place(*sendbuf) { *count } else { 0 };
            let written = results.unwrap_or(*count);
            *recvbuf = in_host_memory(copies, &kind.datatype, *recvbuf, read, written)?.cast();
        }
        Ok(())
    }

    /// The operand. `send` and `receive` are true if the send and the receive buffer are
    /// significant, `in_place` if the operand may be in the receive buffer.
    fn operand(&mut self, send: bool, receive: bool, in_place: bool) -> Result<Operand> {
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
        if devices::may_exist() && self.count > 0 {
            self.copy_to_host(kind, send && !placed, receive)?;
        }
        let send = (send && !placed).then(|| self.sendbuf.cast_mut().cast());
        Ok(Operand { send, count: self.count, element: kind.element.clone(), reducer })
    }

    fn receive(&self) -> *mut u8 {
        self.recvbuf.cast()
    }
}

/// MPI_Reduce.
pub fn reduce<'a>(mut vector: Vector, root: i32, comm: Handle) -> Result<Prepared<'a>> {
    let view = CommView::new(comm)?;
    if !view.comm.is_inter() {
        let root = arguments::root(view.comm, root)?;
        let at_root = root == view.rank();
        let operand = vector.operand(true, at_root, at_root)?;
        let receive = vector.receive();
        return Ok(view.with(Operation::Reduce { root, operand, receive })?.on_copies(vector.copies));
    }
    let side = arguments::side(view.comm, root)?;
    if side == RootSide::Idle {
        return view.across(inter::nothing);
    }
    let operand = vector.operand(side != RootSide::Root, side == RootSide::Root, false)?;
    let receive = vector.receive();
    Ok(view.across(|bridge| inter::reduce(bridge, side, &operand, receive))?.on_copies(vector.copies))
}

/// MPI_Allreduce.
pub fn allreduce<'a>(mut vector: Vector, comm: Handle) -> Result<Prepared<'a>> {
    let view = CommView::new(comm)?;
    let operand = vector.operand(true, true, !view.comm.is_inter())?;
    let receive = vector.receive();
    let prepared = match view.comm.is_inter() {
        true => view.across(|bridge| inter::allreduce(bridge, &operand, receive)),
        false => view.with(Operation::Allreduce { operand, receive }),
    };
    Ok(prepared?.on_copies(vector.copies))
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
    let own = counts[view.rank()];
    vector.results = Some(own);
    let operand = vector.operand(true, own > 0 || in_place, !view.comm.is_inter())?;
    let receive = vector.receive();
    let prepared = match view.comm.is_inter() {
        true => view.across(|bridge| inter::reduce_scatter(bridge, &operand, &counts, receive)),
        false => view.with(Operation::ReduceScatter { operand, counts, receive }),
    };
    Ok(prepared?.on_copies(vector.copies))
}

/// MPI_Reduce_scatter_block. The count is that of one process.
pub fn reduce_scatter_block<'a>(vector: Vector, comm: Handle) -> Result<Prepared<'a>> {
    let view = CommView::new(comm)?;
    if vector.count < 0 {
        fail!(ERR_COUNT, "argument recvcount is {}; it must not be negative", vector.count);
    }
    let counts = vec![vector.count; view.size()];
    combined_blocks(view, vector, counts)
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
    combined_blocks(view, Vector::new(sendbuf, recvbuf, 0, datatype, op), counts)
}

fn no_scan_between_groups(view: &CommView) -> Result<()> {
    if view.comm.is_inter() {
        fail!(ERR_COMM, "argument comm is an intercommunicator; scans are defined within one group only");
    }
    Ok(())
}

/// MPI_Scan.
pub fn scan<'a>(mut vector: Vector, comm: Handle) -> Result<Prepared<'a>> {
    let view = CommView::new(comm)?;
    no_scan_between_groups(&view)?;
    let operand = vector.operand(true, true, true)?;
    let receive = vector.receive();
    Ok(view.with(Operation::Scan { operand, receive, exclusive: false })?.on_copies(vector.copies))
}

/// MPI_Exscan. The receive buffer of rank 0 is not significant.
pub fn exscan<'a>(mut vector: Vector, comm: Handle) -> Result<Prepared<'a>> {
    let view = CommView::new(comm)?;
    no_scan_between_groups(&view)?;
    let needs_receive = view.rank() > 0 || is_in_place(vector.sendbuf);
    let operand = vector.operand(true, needs_receive, true)?;
    let receive = vector.receive();
    Ok(view.with(Operation::Scan { operand, receive, exclusive: true })?.on_copies(vector.copies))
}
