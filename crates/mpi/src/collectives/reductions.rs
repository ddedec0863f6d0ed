//! Collectives that combine data: arguments checked, plans made (MPI 5.0, sections 6.9 to 6.11).
//!
//! Every function is unsafe for the same reason: arrays of counts must be as long as the standard asks.

use std::ffi::c_void;

use towpath_collective::inter::{self, Side};
use towpath_collective::reduce::Operand;
use towpath_collective::{
    Element, allreduce as everywhere, reduce as combine, reduce_scatter as spread, scan as prefix,
};

use super::arguments::{self, Names, is_in_place};
use super::execution::{Ground, Prepared};
use crate::error::{Result, fail};
use crate::face::{Handle, Integers};
use crate::operations;

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
    /// The operand; `send` says whether the send buffer is significant, `receive` whether the receive buffer is, and
    /// `in_place` whether the operand may lie in it.
    fn operand(&self, send: bool, receive: bool, in_place: bool) -> Result<Operand> {
        let kind = arguments::datatype(self.datatype, "datatype")?;
        let reducer = operations::reducer(self.op, self.datatype, kind)?;
        let placed = in_place && is_in_place(self.sendbuf);
        if send && !placed {
            arguments::check(self.sendbuf, self.count, kind, SEND)?;
        }
        if receive || self.count < 0 {
            arguments::check(self.recvbuf, self.count, kind, RECEIVE)?;
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
    let plan = match ground.bridge() {
        None => {
            let root = arguments::root(ground.comm, root)?;
            let at_root = root == ground.rank();
            combine::reduce(&ground.call(), root, &vector.operand(true, at_root, at_root)?, vector.receive())
        }
        Some(bridge) => match arguments::side(ground.comm, root)? {
            Side::Idle => inter::nothing(&bridge),
            Side::Root => inter::reduce(&bridge, Side::Root, &vector.operand(false, true, false)?, vector.receive()),
            leaf => inter::reduce(&bridge, leaf, &vector.operand(true, false, false)?, vector.receive()),
        },
    };
    ground.with(plan)
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
    let plan = match ground.bridge() {
        None => everywhere::allreduce(&ground.call(), &operand, vector.receive()),
        Some(bridge) => inter::allreduce(&bridge, &operand, vector.receive()),
    };
    ground.with(plan)
}

/// Plans a reduce-scatter with the counts of the local ranks.
fn combined_blocks<'a>(ground: Ground<'a>, mut vector: Vector, counts: &[i64]) -> Result<Prepared<'a>> {
    vector.count = counts.iter().fold(0i64, |sum, &count| sum.saturating_add(count));
    let operand = vector.operand(true, counts[ground.rank()] > 0, !ground.comm.is_inter())?;
    let plan = match ground.bridge() {
        None => spread::reduce_scatter(&ground.call(), &operand, counts, vector.receive()),
        Some(bridge) => inter::reduce_scatter(&bridge, &operand, counts, vector.receive()),
    };
    ground.with(plan)
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
    let counts = vec![recvcount; ground.call().team.size()];
    combined_blocks(ground, Vector { sendbuf, recvbuf, count: 0, datatype, op }, &counts)
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
    let counts = unsafe { arguments::counts(recvcounts, ground.call().team.size(), "recvcount") }?;
    combined_blocks(ground, Vector { sendbuf, recvbuf, count: 0, datatype, op }, &counts)
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
    let plan = prefix::scan(&ground.call(), &vector.operand(true, true, true)?, vector.receive());
    ground.with(plan)
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
    let plan = prefix::exscan(&ground.call(), &vector.operand(true, needs_receive, true)?, vector.receive());
    ground.with(plan)
}
