//! A collective call on one group, with its arguments checked: what is to happen, before it is
//! decided how.

use crate::allgather::{self, Allgather};
use crate::alltoall::{self, Alltoall};
use crate::buffers::Buffer;
use crate::gather::{self, Gather};
use crate::halving::Operand;
use crate::plan::{Plan, PlanError};
use crate::scatter::{self, Scatter};
use crate::{Call, allreduce, barrier, broadcast, reduce, reduce_scatter, scan};

/// What a collective call on one group asks for.
#[derive(Debug)]
pub enum Operation {
    /// MPI_BARRIER.
    Barrier,
    /// MPI_BCAST.
    Bcast {
        /// Who has the data.
        root: usize,
        /// Where it is, or where it goes.
        data: Buffer,
    },
    /// MPI_GATHER.
    Gather(Gather),
    /// MPI_GATHERV.
    Gatherv(Gather),
    /// MPI_SCATTER.
    Scatter(Scatter),
    /// MPI_SCATTERV.
    Scatterv(Scatter),
    /// MPI_ALLGATHER and MPI_ALLGATHERV.
    Allgather(Allgather),
    /// MPI_ALLTOALL, MPI_ALLTOALLV and MPI_ALLTOALLW.
    Alltoall(Alltoall),
    /// MPI_REDUCE.
    Reduce {
        /// Who gets the result.
        root: usize,
        /// My vector and the operation.
        operand: Operand,
        /// Where the result goes, at the root.
        receive: *mut u8,
    },
    /// MPI_ALLREDUCE.
    Allreduce {
        /// My vector and the operation.
        operand: Operand,
        /// Where the result goes.
        receive: *mut u8,
    },
    /// MPI_REDUCE_SCATTER and MPI_REDUCE_SCATTER_BLOCK.
    ReduceScatter {
        /// My vector and the operation.
        operand: Operand,
        /// Elements of each rank's block.
        counts: Vec<i64>,
        /// Where my block goes.
        receive: *mut u8,
    },
    /// MPI_SCAN, or MPI_EXSCAN.
    Scan {
        /// My vector and the operation.
        operand: Operand,
        /// Where the result goes.
        receive: *mut u8,
        /// Whether my own vector is left out.
        exclusive: bool,
    },
}

impl Operation {
    /// The plan of messages for it.
    pub fn plan(&self, call: &Call) -> Result<Plan, PlanError> {
        match self {
            Operation::Barrier => barrier::barrier(call),
            Operation::Bcast { root, data } => broadcast::bcast(call, *root, data),
            Operation::Gather(arguments) => gather::gather(call, arguments),
            Operation::Gatherv(arguments) => gather::gatherv(call, arguments),
            Operation::Scatter(arguments) => scatter::scatter(call, arguments),
            Operation::Scatterv(arguments) => scatter::scatterv(call, arguments),
            Operation::Allgather(arguments) => allgather::allgather(call, arguments),
            Operation::Alltoall(arguments) => alltoall::alltoall(call, arguments),
            Operation::Reduce { root, operand, receive } => reduce::reduce(call, *root, operand, *receive),
            Operation::Allreduce { operand, receive } => allreduce::allreduce(call, operand, *receive),
            Operation::ReduceScatter { operand, counts, receive } => {
                reduce_scatter::reduce_scatter(call, operand, counts, *receive)
            }
            Operation::Scan { operand, receive, exclusive: false } => scan::scan(call, operand, *receive),
            Operation::Scan { operand, receive, exclusive: true } => scan::exscan(call, operand, *receive),
        }
    }
}
