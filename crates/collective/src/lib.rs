//! The execution of the collective operations of the standard (MPI 5.0, chapter 6 and section 8.6).
//!
//! `towpath_schedule` builds a [`Plan`] for the arguments of a call; its names are exported here
//! too. [`Run::start`] starts the plan. [`Run::post`] only starts and completes messages, and
//! [`Run::compute`] only copies and reduces, so that a user-defined reduction is called without
//! holding any lock of the engine. A call within one host needs no messages, but a [`board`].
//!
//! Nothing here blocks by itself or depends on communicators.

#![deny(missing_docs)]

pub mod board;
mod collective_run;
mod device_agreement;
mod exchange;
pub mod failure;
mod kept;
mod lone;
mod memory;
pub mod multicast;
pub mod numbers;
pub mod order;
mod packed;
mod phased;
mod placements;
pub mod run;
pub mod runs;
mod work;

#[cfg(test)]
mod tests;

pub use collective_run::CollectiveRun;
pub use device_agreement::{DeviceAgreement, ReductionSite};
pub use exchange::exchange_parts;
pub use failure::Failure;
pub use kept::KeptCalls;
pub use lone::{LoneCall, perform_alone};
pub use memory::{copy_pieces, on_copies, reduce_elements, reduce_on_device};
pub use packed::{Packing, copy_packed};
pub use phased::PhasedCall;
pub use placements::{AgreedRates, LinkCheck, Placements};
pub use run::{Progress, Run};
pub use towpath_schedule::{
    Blocks, Buffer, Call, CallSignature, Element, HostCopies, Operation, Pays, Placement, Plan,
    PlanError, Reducer, Selection, Team, allgather, allreduce, alltoall, barrier, broadcast,
    buffers, gather, hierarchy, inter, neighborhood, probe, reduce, reduce_scatter, reducer, scan,
    scatter, select,
};
pub use work::CollectiveWork;
