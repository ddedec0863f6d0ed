//! Creating and connecting processes (MPI 5.0, sections 11.8 to 11.10). Spawning and connecting are
//! not built yet: no process has a parent, and disconnecting is freeing once everything on the
//! communicator is complete.

use crate::constants::COMM_NULL;
use crate::error::Result;
use crate::face::Handle;

/// MPI_Comm_get_parent: MPI_COMM_NULL, since no process was spawned.
pub fn comm_get_parent() -> Result<Handle> {
    Ok(COMM_NULL)
}

/// MPI_Comm_disconnect: collective; waits until every member has come this far, then frees the
/// communicator.
pub fn comm_disconnect(comm: &mut Handle) -> Result<()> {
    crate::collectives::barrier(*comm)?;
    crate::communicators::comm_free(comm)
}
