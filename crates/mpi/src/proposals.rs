//! How the processes of a communicator agree on the contexts of a copy (MPI 5.0, section 7.4.2):
//! rank 0 proposes them and everybody hears of it. Both sides of an intercommunicator propose, and
//! the low one's proposal counts.

use towpath_base::ids::{ContextId, Plane};
use towpath_collective::inter::{Bridge, introduce};
use towpath_collective::{Buffer, Call, Element, Plan};

use crate::comm::Comm;
use crate::error::Result;
use crate::intercomm::is_low;
use crate::internal::{broadcast_plan, plan_failed};
use crate::world;

/// Contexts that were proposed: the common one and that of the own group, then the same of the
/// other group.
pub(crate) struct Proposals([u64; 4]);

impl Proposals {
    /// What this process proposes, should it be rank 0.
    pub(crate) fn new() -> Proposals {
        Proposals([world::new_context().0, world::new_context().0, 0, 0])
    }

    /// The plan that makes them known. They must stay where they are until it has run.
    pub(crate) fn plan(&mut self, comm: &Comm) -> Result<Plan> {
        let team = comm.common_team(Plane::Collective);
        let Some(remote) = &comm.remote else { return broadcast_plan(&team, 0, &mut self.0[..1]) };
        let bridge = Bridge { call: Call { team: &team, selection: world::selection()? }, remote: &remote.group.peers };
        let words = Buffer { pointer: self.0.as_mut_ptr().cast(), count: 4, element: Element::dense(8) };
        introduce(&bridge, &words).map_err(plan_failed)
    }

    /// What was agreed: the context of the copy, and that of its local group (for
    /// intercommunicators).
    pub(crate) fn settled(&self, comm: &Comm) -> (ContextId, ContextId) {
        let [common, local, theirs, _] = self.0;
        let common = if comm.is_inter() && !is_low(comm) { theirs } else { common };
        (ContextId(common), ContextId(local))
    }
}
