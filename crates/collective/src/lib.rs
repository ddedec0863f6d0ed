//! The collective operations of the standard (MPI 5.0, chapters 6 and 8.6) as plans of steps over a
//! team.
//!
//! A [`Plan`] is a small graph of steps (send, receive, copy, reduce) that is built once from the
//! arguments of a call. Blocking, nonblocking, persistent and neighbourhood calls all execute the
//! same plans: [`Plan::start`] makes a [`Run`], whose [`Run::post`] only starts and completes
//! messages and whose [`Run::compute`] only copies and reduces, so that a program's own reduction
//! function is called with no lock of the engine held. A blocking call among processes of one host
//! needs no messages: it goes over a [`board`], whose waiting is done by the caller's loop.
//!
//! Nothing here blocks, and nothing here knows a communicator: a builder sees a team, buffers and
//! an algorithm from the table in [`select`]. Reductions associate in the order of ranks and in one
//! fixed way per plan, so that the same call gives the same bits on every run, and on every rank of
//! an allreduce.

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

/// What every builder is given beside the arguments of the call.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The members; for an intercommunicator the local group.
    pub team: &'a Team,
    /// Which algorithm where: the table, or what the user forced.
    pub selection: &'a Selection,
}
