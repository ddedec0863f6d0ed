//! Collectives that combine data: arguments checked (MPI 5.0, sections 6.9 to 6.11).
//!
//! Every function is unsafe for the same reason: arrays of counts must be as long as the standard
//! asks.

use std::ffi::c_void;

use towpath_collective::inter::{self, Side};
use towpath_collective::reduce::Operand;
use towpath_collective::{Element, Operation};

use super::arguments::{self, Names, is_in_place};
use super::execution::{Ground, Prepared};
use crate::error::{Result, fail};
use crate::face::{Handle, Integers};
use crate::{datatypes, operations};

const SEND: Names = Names { buffer: "sendbuf", count: "count", displacements: "", datatype: "datatype" };
const RECEIVE: Names = Names { buffer: "recvbuf", count: "count", displacements: "", datatype: "datatype" };

/// What is combined and how; the buffers are checked where they are significant.
struct Vector {
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: Handle,
}

impl Vector {
    /// The operand; `send` says whether the send buffer is significant, `receive` whether the
    /// receive buffer is, and `in_place` whether the operand may lie in it.
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
            // Both are rows of the same elements, so they share the first one.
            if send && self.sendbuf == self.recvbuf && self.count > 0 && kind.needs_distinct(self.sendbuf) {
                return arguments::aliased();
            }
        }
        let send = (send && !placed).then(|| self.sendbuf.cast_mut().cast());
        Ok(Operand { send, count: self.count, element: Element::of(&kind.datatype), reducer })
    }

    fn receive(&self) -> *mut u8 {
        self.recvbuf.cast()
    }
}

/// MPI_Reduce.
pub(super) unsafe fn reduce<'a>(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: Handle,
    root: i32,
    comm: Handle,
) -> Result<Prepared<'a>> {
    let ground = Ground::new(comm)?;
    let vector = Vector { sendbuf, recvbuf, count, datatype, op };
    let receive = vector.receive();
    if !ground.comm.is_inter() {
        let root = arguments::root(ground.comm, root)?;
        let at_root = root == ground.rank();
        let operand = vector.operand(true, at_root, at_root)?;
        return ground.with(Operation::Reduce { root, operand, receive });
    }
    let side = arguments::side(ground.comm, root)?;
    if side == Side::Idle {
        return ground.across(inter::nothing);
    }
    let operand = vector.operand(side != Side::Root, side == Side::Root, false)?;
    ground.across(|bridge| inter::reduce(bridge, side, &operand, receive))
}

/// MPI_Allreduce.
pub(super) unsafe fn allreduce<'a>(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Result<Prepared<'a>> {
    let ground = Ground::new(comm)?;
    let vector = Vector { sendbuf, recvbuf, count, datatype, op };
    let operand = vector.operand(true, true, !ground.comm.is_inter())?;
    let receive = vector.receive();
    if ground.comm.is_inter() {
        ground.across(|bridge| inter::allreduce(bridge, &operand, receive))
    } else {
        ground.with(Operation::Allreduce { operand, receive })
    }
}

/// Plans a reduce-scatter with the counts of the local ranks.
fn combined_blocks<'a>(ground: Ground<'a>, mut vector: Vector, counts: Vec<i64>) -> Result<Prepared<'a>> {
    vector.count = match counts.iter().try_fold(0i64, |sum, &count| sum.checked_add(count)) {
        Some(count) => count,
        None => fail!(ERR_COUNT, "the counts of all {} ranks together exceed 2^63 - 1", counts.len()),
    };
    // In place the receive buffer holds the vector, whatever my own block is.
    let in_place = is_in_place(vector.sendbuf) && !ground.comm.is_inter();
    let operand = vector.operand(true, counts[ground.rank()] > 0 || in_place, !ground.comm.is_inter())?;
    let receive = vector.receive();
    if ground.comm.is_inter() {
        ground.across(|bridge| inter::reduce_scatter(bridge, &operand, &counts, receive))
    } else {
        ground.with(Operation::ReduceScatter { operand, counts, receive })
    }
}

/// MPI_Reduce_scatter_block.
pub(super) unsafe fn reduce_scatter_block<'a>(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcount: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Result<Prepared<'a>> {
    let ground = Ground::new(comm)?;
    if recvcount < 0 {
        fail!(ERR_COUNT, "argument recvcount is {recvcount}; it must not be negative");
    }
    let counts = vec![recvcount; ground.size()];
    combined_blocks(ground, Vector { sendbuf, recvbuf, count: 0, datatype, op }, counts)
}

/// MPI_Reduce_scatter.
pub(super) unsafe fn reduce_scatter<'a>(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Result<Prepared<'a>> {
    let ground = Ground::new(comm)?;
    // SAFETY: the program's array has an element for each local rank.
    let counts = unsafe { arguments::counts(recvcounts, ground.size(), "recvcount") }?.into_vec();
    combined_blocks(ground, Vector { sendbuf, recvbuf, count: 0, datatype, op }, counts)
}

fn no_scan_between_groups(ground: &Ground) -> Result<()> {
    if ground.comm.is_inter() {
        fail!(ERR_COMM, "argument comm is an intercommunicator; scans are defined within one group only");
    }
    Ok(())
}

/// MPI_Scan.
pub(super) unsafe fn scan<'a>(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Result<Prepared<'a>> {
    let ground = Ground::new(comm)?;
    no_scan_between_groups(&ground)?;
    let vector = Vector { sendbuf, recvbuf, count, datatype, op };
    let operand = vector.operand(true, true, true)?;
    ground.with(Operation::Scan { operand, receive: vector.receive(), exclusive: false })
}

/// MPI_Exscan. The receive buffer of rank 0 is not significant.
pub(super) unsafe fn exscan<'a>(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Result<Prepared<'a>> {
    let ground = Ground::new(comm)?;
    no_scan_between_groups(&ground)?;
    let vector = Vector { sendbuf, recvbuf, count, datatype, op };
    let needs_receive = ground.rank() > 0 || is_in_place(sendbuf);
    let operand = vector.operand(true, needs_receive, true)?;
    ground.with(Operation::Scan { operand, receive: vector.receive(), exclusive: true })
}
