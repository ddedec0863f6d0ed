//! Where collective calls happen and how their plans are run: at once, in a request, or again and again.

use std::sync::Arc;

use towpath_base::ids::Plane;
use towpath_collective::inter::Bridge;
use towpath_collective::{Call, Plan, PlanError, Selection};
use towpath_engine::messages::Team;

use crate::comm::{Comm, Form};
use crate::error::Result;
use crate::face::Handle;
use crate::internal::{plan_failed, run};
use crate::persistent::{Start, create};
use crate::request_table::Work;
use crate::world;

/// The communicator of a call as plans see it.
pub(super) struct Ground<'a> {
    pub(super) comm: &'a Arc<Comm>,
    team: Team,
    selection: &'a Selection,
}

impl<'a> Ground<'a> {
    /// Looks up the communicator.
    pub(super) fn new(comm: Handle) -> Result<Ground<'a>> {
        let comm = world::comm(comm)?;
        let context = comm.context().on(Plane::Collective);
        let team = Team { context, rank: comm.rank, peers: comm.group.peers.clone() };
        Ok(Ground { comm, team, selection: world::selection()? })
    }

    /// My group.
    pub(super) fn call(&self) -> Call<'_> {
        Call { team: &self.team, selection: self.selection }
    }

    /// Both groups of an intercommunicator.
    pub(super) fn bridge(&self) -> Option<Bridge<'_>> {
        let remote = self.comm.remote.as_ref()?;
        Some(Bridge { call: self.call(), remote: &remote.group.peers })
    }

    /// My rank in my group.
    pub(super) fn rank(&self) -> usize {
        self.team.rank
    }

    /// Ranks with which blocks are exchanged: those of the remote group, if there is one.
    pub(super) fn partners(&self) -> usize {
        self.comm.targets().len()
    }

    /// With the plan for the call.
    pub(super) fn with(self, plan: std::result::Result<Plan, PlanError>) -> Result<Prepared<'a>> {
        Ok(Prepared { comm: self.comm, plan: plan.map_err(plan_failed)? })
    }
}

/// A call whose arguments are checked and whose plan is made.
pub(super) struct Prepared<'a> {
    comm: &'a Arc<Comm>,
    plan: Plan,
}

impl Prepared<'_> {
    /// Runs it to its end.
    ///
    /// # Safety
    /// The memory that the plan was made for must live during the call.
    pub(super) unsafe fn wait(self) -> Result<()> {
        // SAFETY: promised by the caller.
        unsafe { run(self.plan, self.comm.next_sequence(Form::Blocking)) }
    }

    /// Starts it and names it by a request.
    ///
    /// # Safety
    /// The memory that the plan was made for must live until the request is complete.
    pub(super) unsafe fn begin(self) -> Result<Handle> {
        // SAFETY: promised by the caller.
        let run = Box::new(unsafe { self.plan.start(self.comm.next_sequence(Form::Nonblocking)) });
        let lane = world::lane()?;
        let request = lane.with(|state| {
            let id = state.runs.add(run, &mut state.engine);
            state.requests.add(Work::Run(id), self.comm.handle(), None)
        });
        lane.nudge();
        request
    }

    /// Makes a persistent request of it.
    ///
    /// # Safety
    /// The memory that the plan was made for must live whenever the request is active.
    pub(super) unsafe fn keep(self) -> Result<Handle> {
        let run = Box::new(self.plan.hold(self.comm.next_sequence(Form::Persistent)));
        create(Start::Collective(Some(run)), self.comm.handle())
    }
}
