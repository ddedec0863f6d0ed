//! Collective operations (MPI 5.0, chapter 6, and the neighbourhood collectives of section 8.6).
//!
//! The functions in `movement`, `reductions` and `neighbors` are shared by MPI_X, MPI_IX and
//! MPI_X_init: they check the arguments and prepare the call ([`Prepared`], [`NeighborCall`]). The
//! binding then waits for the call, begins it, or keeps it for a persistent request. `execution`
//! runs it by a plan of messages, a board or multicast; `exchange` runs a neighbourhood call
//! without a plan.

use towpath_neutral::abi::Handle;
use towpath_neutral::constants::COMM_WORLD;
use towpath_neutral::error::Result;

pub(crate) mod arguments;
mod boards;
mod data;
mod device_reductions;
mod exchange;
mod execution;
mod links;
mod movement;
pub(crate) mod multicast;
mod neighbors;
mod reductions;

pub use data::*;
pub use exchange::NeighborCall;
pub use execution::Prepared;
pub use movement::*;
pub use neighbors::*;
pub use reductions::*;

/// Waits until all members of the communicator have called this.
pub(crate) fn wait_for_all(comm: Handle) -> Result<()> {
    // SAFETY: a barrier accesses no memory of the program.
    unsafe { barrier(comm)?.wait() }
}

/// The barrier of MPI_Finalize. Uses the board of MPI_COMM_WORLD if there is one, but does not make
/// one.
pub(crate) fn closing_barrier() -> Result<()> {
    let prepared = barrier(COMM_WORLD)?;
    // SAFETY: a barrier accesses no memory of the program.
    unsafe { if prepared.has_board() { prepared.wait() } else { prepared.wait_by_messages() } }
}
