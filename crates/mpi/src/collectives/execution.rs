//! Where collective calls happen and how their plans are run: at once, in a request, or again and
//! again.

use std::sync::Arc;

use towpath_base::ids::Plane;
use towpath_collective::inter::Bridge;
use towpath_collective::{Call, Operation, Plan, PlanError, Selection};
use towpath_engine::messages::Team;

use crate::boards;
use crate::comm::{Comm, Form};
use crate::error::Result;
use crate::face::Handle;
use crate::internal::{plan_failed, run};
use crate::multicast;
use crate::persistent::{Start, create_by};
use crate::request_table;
use crate::world;

/// The communicator of a call as plans see it.
pub(super) struct Ground<'a> {
    pub(super) comm: &'a Arc<Comm>,
    selection: &'a Selection,
}

impl<'a> Ground<'a> {
    /// Looks up the communicator.
    pub(super) fn new(comm: Handle) -> Result<Ground<'a>> {
        // SAFETY: to free a communicator is collective over it, and a program must not call that
        // before another collective call on it has returned (6.14). A call that only starts
        // something is done with the communicator when it has.
        let comm = unsafe { world::borrow_comm(comm) }?;
        Ok(Ground { comm, selection: world::selection()? })
    }

    /// My group.
    fn team(&self) -> Team {
        self.comm.common_team(Plane::Collective)
    }

    /// What plan builders want to know of my group.
    fn call<'t>(&'t self, team: &'t Team) -> Call<'t> {
        Call { team, selection: self.selection }
    }

    /// Both groups of an intercommunicator, of which `team` is mine.
    fn bridge<'t>(&'t self, team: &'t Team) -> Bridge<'t> {
        let remote = self.comm.remote.as_ref().expect("asked for intercommunicators only");
        Bridge { call: self.call(team), remote: &remote.group.peers }
    }

    /// My rank in my group.
    pub(super) fn rank(&self) -> usize {
        self.comm.rank
    }

    /// Ranks of my group.
    pub(super) fn size(&self) -> usize {
        self.comm.group.peers.len()
    }

    /// Ranks with which blocks are exchanged: those of the remote group, if there is one.
    pub(super) fn partners(&self) -> usize {
        self.comm.targets().len()
    }

    /// The call on one group.
    pub(super) fn with(self, operation: Operation) -> Result<Prepared<'a>> {
        Ok(Prepared { ground: self, work: Work::Operation(operation) })
    }

    /// A call that is always a plan of messages.
    pub(super) fn planned(
        self,
        plan: impl FnOnce(&Call) -> std::result::Result<Plan, PlanError>,
    ) -> Result<Prepared<'a>> {
        let plan = plan(&self.call(&self.team())).map_err(plan_failed)?;
        Ok(Prepared { ground: self, work: Work::Plan(plan) })
    }

    /// The call between two groups, with its plan.
    pub(super) fn across(
        self,
        plan: impl FnOnce(&Bridge) -> std::result::Result<Plan, PlanError>,
    ) -> Result<Prepared<'a>> {
        let team = self.team();
        let plan = plan(&self.bridge(&team)).map_err(plan_failed)?;
        Ok(Prepared { ground: self, work: Work::Plan(plan) })
    }
}

enum Work {
    Operation(Operation),
    Plan(Plan),
}

/// A call whose arguments are checked.
pub(super) struct Prepared<'a> {
    ground: Ground<'a>,
    work: Work,
}

impl Prepared<'_> {
    /// The plan of messages for it, and its number in the order of the communicator's calls.
    fn plan(self, form: Form) -> Result<(Plan, u32)> {
        let comm = self.ground.comm;
        Ok((self.unnumbered()?, comm.next_sequence(form)))
    }

    /// The plan of messages for it.
    fn unnumbered(self) -> Result<Plan> {
        match self.work {
            Work::Operation(operation) => operation.plan(&self.ground.call(&self.ground.team())).map_err(plan_failed),
            Work::Plan(plan) => Ok(plan),
        }
    }

    /// Runs it to its end: over the board of the communicator or by multicast where that is
    /// quicker, else by messages.
    ///
    /// # Safety
    /// The memory that the call names must live during the call.
    pub(super) unsafe fn wait(self) -> Result<()> {
        if let Work::Operation(operation) = &self.work
            // SAFETY: promised by the caller.
            && let Some(outcome) = unsafe { boards::try_execute(self.ground.comm, operation, self.ground.selection) }
        {
            return outcome;
        }
        if let Work::Operation(operation) = &self.work
            // SAFETY: promised by the caller.
            && let Some(outcome) = unsafe { multicast::try_execute(self.ground.comm, operation, self.ground.selection) }
        {
            return outcome;
        }
        // SAFETY: promised by the caller.
        unsafe { self.wait_by_messages() }
    }

    /// Whether the communicator has a board already.
    pub(super) fn has_board(&self) -> bool {
        boards::has_one(self.ground.comm)
    }

    /// Runs it to its end by messages.
    ///
    /// # Safety
    /// As [`Prepared::wait`].
    pub(super) unsafe fn wait_by_messages(self) -> Result<()> {
        let (plan, sequence) = self.plan(Form::Blocking)?;
        // SAFETY: promised by the caller.
        unsafe { run(plan, sequence) }
    }

    /// Starts it and names it by a request.
    ///
    /// # Safety
    /// The memory that the call names must live until the request is complete.
    pub(super) unsafe fn begin(self) -> Result<Handle> {
        let comm = self.ground.comm;
        let plan = self.unnumbered()?;
        let lane = world::lane()?;
        let request = lane.with(|state| {
            let place = state.requests.place()?;
            // SAFETY: promised by the caller.
            let run = Box::new(unsafe { plan.start(comm.next_sequence(Form::Nonblocking)) });
            let id = state.runs.add(run, &mut state.engine);
            Ok(state.requests.fill(place, request_table::Work::Run(id), comm.handle(), None))
        });
        lane.nudge();
        request
    }

    /// Makes a persistent request of it.
    ///
    /// # Safety
    /// The memory that the call names must live whenever the request is active.
    pub(super) unsafe fn keep(self) -> Result<Handle> {
        let comm = self.ground.comm;
        let plan = self.unnumbered()?;
        let start = || Start::Collective(Some(Box::new(plan.hold(comm.next_sequence(Form::Persistent)))));
        create_by(start, comm.handle())
    }
}
