//! The collectives by name, and their operations on memory that nobody reads.

use towpath_schedule::allgather::Allgather;
use towpath_schedule::alltoall::Alltoall;
use towpath_schedule::gather::Gather;
use towpath_schedule::reduce::Operand;
use towpath_schedule::scatter::Scatter;
use towpath_schedule::{Blocks, Buffer, Element, Operation, Reducer, Team};

/// A collective that can be explained.
#[derive(Debug)]
pub(crate) struct CollectiveName {
    pub(crate) name: &'static str,
    /// Its name in the standard.
    pub(crate) function: &'static str,
    pub(crate) has_root: bool,
    /// What the bytes are those of; empty for a barrier.
    pub(crate) bytes_of: &'static str,
    pub(crate) is_reduction: bool,
    operation: fn(&Team, usize, i64) -> Operation,
}

const fn row(
    name: &'static str,
    function: &'static str,
    (has_root, bytes_of, is_reduction): (bool, &'static str, bool),
    operation: fn(&Team, usize, i64) -> Operation,
) -> CollectiveName {
    CollectiveName { name, function, has_root, bytes_of, is_reduction, operation }
}

const BLOCK: &str = "from each rank";
const VECTOR: &str = "in each vector";

pub(crate) const COLLECTIVES: &[CollectiveName] =
    &[
        row("barrier", "MPI_Barrier", (false, "", false), |_, _, _| Operation::Barrier),
        row("bcast", "MPI_Bcast", (true, "from the root", false), |_, root, bytes| {
            Operation::Bcast { root, data: buffer(1, bytes) }
        }),
        row("gather", "MPI_Gather", (true, BLOCK, false), |team, root, bytes| {
            let receive = (team.rank == root).then(|| blocks(2, bytes));
            Operation::Gather(Gather { root, send: Some(buffer(1, bytes)), receive })
        }),
        row("scatter", "MPI_Scatter", (true, "to each rank", false), |team, root, bytes| {
            let send = (team.rank == root).then(|| blocks(2, bytes));
            Operation::Scatter(Scatter { root, send, receive: Some(buffer(1, bytes)) })
        }),
        row("allgather", "MPI_Allgather", (false, BLOCK, false), |_, _, bytes| {
            let (send, receive) = (Some(buffer(1, bytes)), blocks(2, bytes));
            Operation::Allgather(Allgather { send, receive })
        }),
        row("alltoall", "MPI_Alltoall", (false, "from each rank to each", false), |_, _, bytes| {
            let (send, receive) = (Some(blocks(1, bytes)), blocks(2, bytes));
            Operation::Alltoall(Alltoall { send, receive })
        }),
        row("reduce", "MPI_Reduce", (true, VECTOR, true), |_, root, bytes| Operation::Reduce {
            root,
            operand: operand(bytes / DOUBLE),
            receive: address(2),
        }),
        row("allreduce", "MPI_Allreduce", (false, VECTOR, true), |_, _, bytes| {
            Operation::Allreduce { operand: operand(bytes / DOUBLE), receive: address(2) }
        }),
        row(
            "reduce_scatter",
            "MPI_Reduce_scatter_block",
            (false, "in each block", true),
            |team, _, bytes| {
                let (size, count) = (team.size(), bytes / DOUBLE);
                let operand = operand(count.saturating_mul(size as i64));
                Operation::ReduceScatter { operand, counts: vec![count; size], receive: address(2) }
            },
        ),
        row("scan", "MPI_Scan", (false, VECTOR, true), |_, _, bytes| Operation::Scan {
            operand: operand(bytes / DOUBLE),
            receive: address(2),
            exclusive: false,
        }),
    ];

/// Bytes of an element of a reduction.
const DOUBLE: i64 = 8;

impl CollectiveName {
    /// The operation of a member.
    pub(crate) fn operation(&self, team: &Team, root: usize, bytes: i64) -> Operation {
        (self.operation)(team, root, bytes)
    }
}

/// An address that nobody reads: the plans are not executed.
fn address(number: usize) -> *mut u8 {
    std::ptr::without_provenance_mut(number << 44)
}

fn buffer(number: usize, bytes: i64) -> Buffer {
    Buffer { pointer: address(number), count: bytes, element: Element::dense(1) }
}

fn blocks(number: usize, bytes: i64) -> Blocks {
    Blocks::Equal { pointer: address(number), count: bytes, element: Element::dense(1) }
}

fn operand(count: i64) -> Operand {
    let reducer = Reducer::predefined(|_, _, _| ());
    Operand { send: Some(address(1)), count, element: Element::dense(DOUBLE), reducer }
}
