//! Process creation and connection (MPI 5.0, sections 11.8 to 11.10). Spawning and connecting are
//! not implemented yet: no process has a parent, and disconnecting frees the communicator once all
//! communication on it is complete.

use towpath_neutral::abi::Handle;
use towpath_neutral::constants::COMM_NULL;
use towpath_neutral::error::Result;

use super::{collectives, communicators};

/// MPI_Comm_get_parent: MPI_COMM_NULL, since no process was spawned.
pub fn comm_get_parent() -> Result<Handle> {
    Ok(COMM_NULL)
}

/// MPI_Comm_disconnect. Collective: waits until every member has made the call, then frees the
/// communicator.
pub fn comm_disconnect(comm: &mut Handle) -> Result<()> {
    collectives::wait_for_all(*comm)?;
    communicators::comm_free(comm)
}
