//! Agreement on the contexts of a duplicated communicator (MPI 5.0, section 7.4.2). Rank 0 proposes
//! them and broadcasts its proposal. In an intercommunicator both sides propose, and the proposal
//! of the low side is used.

use towpath_base::ids::ContextId;
use towpath_collective::inter::{Bridge, introduce};
use towpath_collective::numbers::CallForm;
use towpath_collective::{Buffer, Call, Element, Plan};
use towpath_neutral::error::Result;

use super::intercomm::is_low;
use super::internal::{broadcast_plan, plan_failed};
use crate::objects::comm::Comm;
use crate::objects::registry;
use crate::process;

/// Proposed contexts: the common context and that of this side's group, then the same two proposed
/// by the other side.
pub(crate) struct Proposals([u64; 4]);

impl Proposals {
    /// New proposals of this process, which count only if it is rank 0.
    pub(crate) fn new() -> Proposals {
        Proposals([registry::new_context().0, registry::new_context().0, 0, 0])
    }

    /// The plan that distributes the proposals in a call of this form. They must not be moved until
    /// it has run.
    pub(crate) fn plan(&mut self, comm: &Comm, form: CallForm) -> Result<Plan> {
        let team = comm.common_team(form, comm.calls_by_messages(form));
        let Some(remote) = &comm.remote else { return broadcast_plan(&team, 0, &mut self.0[..1]) };
        let bridge =
            Bridge { call: Call { team: &team, selection: process::selection()? }, remote: &remote.group.peers };
        let words = Buffer { pointer: self.0.as_mut_ptr().cast(), count: 4, element: Element::dense(8) };
        introduce(&bridge, &words).map_err(plan_failed)
    }

    /// The contexts agreed on: that of the copy, and that of its local group (used by
    /// intercommunicators).
    pub(crate) fn agreed(&self, comm: &Comm) -> (ContextId, ContextId) {
        let [common, local, theirs, _] = self.0;
        let common = if comm.is_inter() && !is_low(comm) { theirs } else { common };
        (ContextId(common), ContextId(local))
    }
}
