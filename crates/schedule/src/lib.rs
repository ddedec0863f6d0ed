//! The schedules of the collective operations of the standard (MPI 5.0, chapter 6 and section 8.6):
//! plans of steps over a team, the algorithms that build them, and the choice between these.
//!
//! A [`Plan`] is a small graph of steps (send, receive, copy, reduce), built once from the
//! arguments of a call. Blocking, nonblocking, persistent and neighbourhood calls all execute the
//! same plans. A builder gets a team, buffers and an algorithm from the table in [`select`].
//! Reductions associate in rank order, in one fixed way per plan, so the same call yields the same
//! bits in every run, and on every rank of an allreduce.
//!
//! [`simulation`] computes when a schedule completes under a cost model ([`cost`]), and detects
//! deadlocks.
//!
//! Invariant: nothing here moves data. A plan names the memory of the caller by address, and only
//! the executor of the plan reads or writes there, so this crate needs neither an engine nor unsafe
//! code.

#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod aliasing;
pub mod allgather;
pub mod allreduce;
pub mod alltoall;
pub mod barrier;
pub mod broadcast;
pub mod buffers;
mod builder;
pub mod cost;
mod device_vectors;
mod fold;
pub mod gather;
mod group_costs;
pub mod hierarchy;
mod host_copies;
pub mod inter;
pub mod neighborhood;
pub mod operand;
mod operation;
mod placement_costs;
pub mod plan;
pub mod probe;
pub mod reduce;
pub mod reduce_scatter;
pub mod reducer;
mod relays;
mod repetition;
pub mod scan;
pub mod scatter;
mod segments;
pub mod select;
mod signature;
pub mod simulation;
mod team;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod tree;
mod tree_costs;

pub use buffers::{Blocks, Buffer, Element};
pub use device_vectors::DeviceVectors;
pub use host_copies::HostCopies;
pub use operation::Operation;
pub use plan::{Plan, PlanError};
pub use reducer::Reducer;
pub use select::{Pays, Selection};
pub use signature::{CallSignature, numbers};
pub use team::{Placement, Team};

/// Context for every builder, in addition to the arguments of the call.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The members; for an intercommunicator, the local group.
    pub team: &'a Team,
    /// Algorithm selection: the table, or what the user forced.
    pub selection: &'a Selection,
}
