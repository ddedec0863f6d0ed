//! A collective call on one group with checked arguments: what it does, before an algorithm is
//! chosen.

use crate::allgather::{self, Allgather};
use crate::alltoall::{self, Alltoall};
use crate::buffers::{Blocks, Buffer, Piece};
use crate::builder::Builder;
use crate::gather::{self, Gather};
use crate::operand::Operand;
use crate::plan::{Plan, PlanError};
use crate::scatter::{self, Scatter};
use crate::signature::CallSignature;
use crate::{Call, allreduce, barrier, broadcast, reduce, reduce_scatter, scan};

/// The arguments of a collective call on one group.
#[derive(Debug)]
pub enum Operation {
    /// MPI_BARRIER.
    Barrier,
    /// MPI_BCAST.
    Bcast {
        /// The rank that has the data.
        root: usize,
        /// The data, or its destination.
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
        /// The rank that gets the result.
        root: usize,
        /// This rank's vector, and the operation.
        operand: Operand,
        /// Destination of the result, at the root.
        receive: *mut u8,
    },
    /// MPI_ALLREDUCE.
    Allreduce {
        /// This rank's vector, and the operation.
        operand: Operand,
        /// Destination of the result.
        receive: *mut u8,
    },
    /// MPI_REDUCE_SCATTER and MPI_REDUCE_SCATTER_BLOCK.
    ReduceScatter {
        /// This rank's vector, and the operation.
        operand: Operand,
        /// Elements of each rank's block.
        counts: Vec<i64>,
        /// Destination of this rank's block.
        receive: *mut u8,
    },
    /// MPI_SCAN, or MPI_EXSCAN.
    Scan {
        /// This rank's vector, and the operation.
        operand: Operand,
        /// Destination of the result.
        receive: *mut u8,
        /// True if this rank's own vector is excluded.
        exclusive: bool,
    },
}

/// Bytes from which reductions are long. Ranks tell each other in a microsecond where their vectors
/// are, and a device starts in ten; to copy and reduce these takes the host a hundred.
const LONG: i64 = 1 << 20;

impl Operation {
    /// True for a reduction that devices should compute in their memory. The same on all ranks.
    #[inline]
    pub fn is_long_reduction(&self) -> bool {
        self.folded_bytes() >= LONG
    }

    /// Bytes of the vector that is reduced; 0 if the operation only moves data.
    pub fn folded_bytes(&self) -> i64 {
        match self {
            Operation::Reduce { operand, .. }
            | Operation::Allreduce { operand, .. }
            | Operation::ReduceScatter { operand, .. }
            | Operation::Scan { operand, .. } => operand.bytes(),
            _ => 0,
        }
    }

    /// Builds the plan of messages for the operation.
    pub fn plan(&self, call: &Call) -> Result<Plan, PlanError> {
        let mut plan = self.build(call)?;
        plan.signature = CallSignature::of(self);
        Ok(plan)
    }

    /// True if only the root knows the lengths of all blocks, so that ranks learn from others how
    /// their blocks come.
    pub fn is_varying_at_root(&self) -> bool {
        matches!(self, Operation::Gatherv(_) | Operation::Scatterv(_))
    }

    /// Builds the plan of the messages of a call on a board, in which the blocks of these ranks are
    /// sent apart: at the root those with which it exchanges them, elsewhere this rank.
    ///
    /// # Errors
    /// If the plan cannot be built.
    pub fn plan_apart(&self, call: &Call, ranks: &[usize]) -> Result<Plan, PlanError> {
        let mut builder = Builder::new(call.team);
        match self {
            Operation::Gatherv(arguments) => gather::apart(&mut builder, arguments, ranks),
            Operation::Scatterv(arguments) => scatter::apart(&mut builder, arguments, ranks),
            _ => {}
        }
        Ok(Plan { signature: CallSignature::of(self), ..builder.finish()? })
    }

    /// The bytes of a call among `ranks` ranks for which hosts behind slow links are leaves, if all
    /// ranks know them, else 0.
    pub fn bytes_between_hosts(&self, ranks: usize) -> i64 {
        match self {
            Operation::Bcast { data, .. } => data.bytes(),
            Operation::Allgather(arguments) => arguments.receive.total_bytes(ranks),
            Operation::Reduce { operand, .. }
            | Operation::Allreduce { operand, .. }
            | Operation::ReduceScatter { operand, .. } => operand.bytes(),
            _ => 0,
        }
    }

    /// True if all these bytes pass the link of each host in a call that does not wait for slower
    /// links, so that its time tells something of the link.
    pub fn shows_rates(&self) -> bool {
        matches!(
            self,
            Operation::Bcast { .. } | Operation::Reduce { .. } | Operation::Allreduce { .. }
        )
    }

    /// True if no rank has data for another one or waits for others. All ranks get the same answer.
    pub fn is_empty(&self) -> bool {
        let is_empty = |blocks: &Blocks| blocks.is_equal() && blocks.bytes(0) == 0;
        match self {
            Operation::Bcast { data, .. } => data.bytes() == 0,
            Operation::Gather(arguments) => arguments.bytes() == 0,
            Operation::Scatter(arguments) => arguments.bytes() == 0,
            Operation::Allgather(arguments) => is_empty(&arguments.receive),
            Operation::Alltoall(arguments) => is_empty(&arguments.receive),
            Operation::Reduce { operand, .. }
            | Operation::Allreduce { operand, .. }
            | Operation::ReduceScatter { operand, .. }
            | Operation::Scan { operand, .. } => operand.bytes() == 0,
            Operation::Barrier | Operation::Gatherv(_) | Operation::Scatterv(_) => false,
        }
    }

    /// What the call copies in a team of one rank: from the first to the second piece; `None` if it
    /// does nothing there.
    #[inline]
    pub fn copy_of_one(&self) -> Option<(Piece, Piece)> {
        let (from, to) = match self {
            Operation::Barrier
            | Operation::Bcast { .. }
            | Operation::Scan { exclusive: true, .. } => return None,
            Operation::Gather(arguments) | Operation::Gatherv(arguments) => {
                (arguments.send.as_ref()?.piece(), arguments.receive.as_ref()?.piece(0))
            }
            Operation::Scatter(arguments) | Operation::Scatterv(arguments) => {
                (arguments.send.as_ref()?.piece(0), arguments.receive.as_ref()?.piece())
            }
            Operation::Allgather(arguments) => {
                (arguments.send.as_ref()?.piece(), arguments.receive.piece(0))
            }
            Operation::Alltoall(arguments) => {
                (arguments.send.as_ref()?.piece(0), arguments.receive.piece(0))
            }
            Operation::Reduce { operand, receive, .. }
            | Operation::Allreduce { operand, receive }
            | Operation::ReduceScatter { operand, receive, .. }
            | Operation::Scan { operand, receive, exclusive: false } => {
                (operand.whole(operand.send?), operand.whole(*receive))
            }
        };
        (from.bytes() > 0 && !from.same(&to)).then_some((from, to))
    }

    fn build(&self, call: &Call) -> Result<Plan, PlanError> {
        match self {
            Operation::Barrier => barrier::barrier(call),
            Operation::Bcast { root, data } => broadcast::bcast(call, *root, data),
            Operation::Gather(arguments) => gather::gather(call, arguments),
            Operation::Gatherv(arguments) => gather::gatherv(call, arguments),
            Operation::Scatter(arguments) => scatter::scatter(call, arguments),
            Operation::Scatterv(arguments) => scatter::scatterv(call, arguments),
            Operation::Allgather(arguments) => allgather::allgather(call, arguments),
            Operation::Alltoall(arguments) => alltoall::alltoall(call, arguments),
            Operation::Reduce { root, operand, receive } => {
                reduce::reduce(call, *root, operand, *receive)
            }
            Operation::Allreduce { operand, receive } => {
                allreduce::allreduce(call, operand, *receive)
            }
            Operation::ReduceScatter { operand, counts, receive } => {
                reduce_scatter::reduce_scatter(call, operand, counts, *receive)
            }
            Operation::Scan { operand, receive, exclusive: false } => {
                scan::scan(call, operand, *receive)
            }
            Operation::Scan { operand, receive, exclusive: true } => {
                scan::exscan(call, operand, *receive)
            }
        }
    }
}
