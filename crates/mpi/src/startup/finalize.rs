//! MPI_Finalize (MPI 5.0, section 11.2).

use towpath_base::control::RankState;
use towpath_base::sync::Ordering;
use towpath_neutral::constants::{COMM_SELF, ERR_OTHER};
use towpath_neutral::error::{Error, Result};

use crate::chapters::collectives;
use crate::chapters::topologies::declaration;
use crate::objects::registry;
use crate::process::{self, Phase};
use crate::progress::wait_target::WaitTarget;
use crate::progress::{self, counters};

/// Ends MPI: deletes the attributes of MPI_COMM_SELF, then completes everything in flight, then
/// tells the launcher.
pub(crate) fn finish() -> Result<()> {
    let (process, worker) = (process::this()?, progress::worker()?);
    registry::comm(COMM_SELF)?.attributes.delete_all(COMM_SELF)?;
    declaration::show("at the end");
    collectives::closing_barrier()?;
    worker.with(|state| state.engine.end_flow_control());
    worker.wait_for(|_| WaitTarget::Other, |state| (!(state.sweep_abandoned() | state.engine.busy())).then_some(()));
    worker.with(|state| state.engine.wire_mut().leave());
    worker.wait_for(|_| WaitTarget::Other, |state| (!state.engine.busy()).then_some(()));
    counters::show(worker);
    worker.with(|state| state.engine.wire_mut().close());
    process::set_phase(Phase::After);
    process.segment.own_control().set_state(RankState::Finalized);
    process.segment.head().finalized.fetch_add(1, Ordering::AcqRel);
    process.launcher.lock().unwrap().finalize().map_err(|error| Error::new(ERR_OTHER, error.to_string()))
}
