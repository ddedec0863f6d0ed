//! The collective operations of the standard (MPI 5.0, chapter 6 and section 8.6), built as plans
//! of steps over a team.
//!
//! A [`Plan`] is a small graph of steps (send, receive, copy, reduce), built once from the
//! arguments of a call. Blocking, nonblocking, persistent and neighbourhood calls all execute the
//! same plans. [`Plan::start`] creates a [`Run`]. [`Run::post`] only starts and completes messages,
//! and [`Run::compute`] only copies and reduces, so that a user-defined reduction is called without
//! holding any lock of the engine. A blocking call within one host needs no messages: it uses a
//! [`board`], and the caller's loop does the waiting.
//!
//! Nothing here blocks or knows communicators: a builder gets a team, buffers and an algorithm from
//! the table in [`select`]. Reductions associate in rank order, in one fixed way per plan, so the
//! same call yields the same bits in every run, and on every rank of an allreduce.

#![deny(missing_docs)]

mod aliasing;
pub mod allgather;
pub mod allreduce;
pub mod alltoall;
pub mod barrier;
pub mod board;
pub mod broadcast;
pub mod buffers;
mod builder;
pub mod gather;
mod halving;
pub mod inter;
pub mod multicast;
pub mod neighborhood;
mod operation;
pub mod plan;
pub mod reduce;
pub mod reduce_scatter;
pub mod reducer;
pub mod run;
pub mod scan;
pub mod scatter;
pub mod select;
mod tree;

#[cfg(test)]
mod tests;

pub use buffers::{Blocks, Buffer, Element};
pub use operation::Operation;
pub use plan::{Plan, PlanError};
pub use reducer::Reducer;
pub use run::{Failure, Progress, Run};
pub use select::{Pays, Selection};

use towpath_engine::messages::Team;

/// Context for every builder, in addition to the arguments of the call.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The members; for an intercommunicator, the local group.
    pub team: &'a Team,
    /// Algorithm selection: the table, or what the user forced.
    pub selection: &'a Selection,
}
