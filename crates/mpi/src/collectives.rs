//! Collective operations (MPI 5.0, chapter 6): bodies that check arguments, build a plan and run it.

use towpath_base::ids::Plane;
use towpath_collective::Call;

use crate::error::Result;
use crate::face::Handle;
use crate::internal::{plan_failed, run};
use crate::world;

/// MPI_Barrier.
pub fn barrier(comm: Handle) -> Result<()> {
    let comm = world::comm(comm)?;
    let team = comm.team(Plane::Collective);
    let call = Call { team: &team, selection: world::selection()? };
    let plan = towpath_collective::barrier::barrier(&call).map_err(plan_failed)?;
    // SAFETY: a barrier touches no memory of the program.
    unsafe { run(plan, comm.next_sequence()) }
}
