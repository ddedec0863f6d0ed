//! Collective operations (MPI 5.0, chapter 6, and the neighbourhood collectives of section 8.6).
//!
//! `movement`, `reductions` and `neighbors` check the arguments of a call and build its plan;
//! `execution` runs a plan now, in a request, or in a persistent request; `exchange` runs a
//! blocking call among neighbours without one. The bodies in `blocking`, `nonblocking` and
//! `persistent` are one line each: prepare, then wait, begin or keep.

mod arguments;
mod blocking;
mod exchange;
mod execution;
mod movement;
mod neighbors;
mod nonblocking;
mod persistent;
mod reductions;

pub(crate) use arguments::aliased;
pub use blocking::*;
pub use nonblocking::*;
pub use persistent::*;

use crate::constants::COMM_WORLD;
use crate::error::Result;

/// The barrier of MPI_Finalize: over the board of MPI_COMM_WORLD if it has one; none is made for
/// it.
pub(crate) fn closing_barrier() -> Result<()> {
    let prepared = movement::barrier(COMM_WORLD)?;
    // SAFETY: a barrier touches no memory of the program.
    unsafe { if prepared.has_board() { prepared.wait() } else { prepared.wait_by_messages() } }
}
