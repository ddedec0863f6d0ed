//! The MPI objects and functions, and the only process-wide state of Towpath.
//!
//! From the bottom up: `process` knows this process and its job, `objects` are the values behind
//! the handles, `progress` owns the engine and waits, `chapters` are the bodies of the C functions
//! by chapter of the standard, and `startup` starts and ends MPI. `entry` is the code that the
//! bindings run around every body. A directory uses only those before it, except that MPI_Init and
//! MPI_Finalize call `startup`.

mod chapters;
pub mod entry;
mod objects;
mod process;
mod progress;
mod startup;

pub use chapters::*;
pub use towpath_device::survey as survey_of_devices;
pub use towpath_network::survey as survey_of_networks;
pub use towpath_neutral::abi::{
    AbiTable, Callback, Handle, HandleArray, Integers, IntegersMut, Kind, Status, StatusArray, StringArgument,
};
pub use towpath_neutral::{abi, constants, error};

/// Traffic counts of this process's strict channel, for the program `scc`: chunks written, lines in
/// them, lines times hops, header lines polled for chunks that arrived. `None` for other channels.
///
/// # Errors
/// MPI_ERR_OTHER before MPI_Init.
#[cfg(feature = "strict")]
#[doc(hidden)]
pub fn strict_counts() -> error::Result<Option<[u64; 4]>> {
    let counts = progress::worker()?.with(|state| state.engine.wire().strictness().map(|strict| strict.counts()));
    Ok(counts.map(|counts| [counts.chunks, counts.lines, counts.line_hops, counts.polls]))
}
