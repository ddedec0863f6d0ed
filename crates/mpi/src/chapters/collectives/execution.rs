//! Runs collective calls: at once (over a board, by multicast or by messages), as a request, or as
//! a persistent request.

use std::sync::Arc;

use towpath_base::ids::Plane;
use towpath_collective::board::{Begun, number_of};
use towpath_collective::hierarchy::phases::phases;
use towpath_collective::inter::Bridge;
use towpath_collective::numbers::CallForm;
use towpath_collective::{Call, CollectiveWork, Failure, HostCopies, LoneCall, Operation};
use towpath_collective::{PhasedCall, Plan, PlanError, Run, Selection, Team, on_copies};
use towpath_neutral::abi::Handle;
use towpath_neutral::error::Result;

use super::{boards, device_reductions, links, multicast};
use crate::chapters::hints;
use crate::chapters::info;
use crate::chapters::internal::{complete, plan_failed, recover};
use crate::chapters::persistent::create_by;
use crate::objects::comm::Comm;
use crate::objects::persistent::Start;
use crate::objects::registry;
use crate::process;
use crate::progress::board_calls::{BoardCall, Caller, begin, may_be_on_board};
use crate::progress::runs::{CollectiveRun, failed};
use crate::progress::{self, request_table};

/// The communicator of a call, in the form that plan builders need.
pub(super) struct CommView<'a> {
    pub(super) comm: &'a Arc<Comm>,
    pub(super) selection: &'a Selection,
}

impl<'a> CommView<'a> {
    /// Looks up the communicator.
    pub(super) fn new(comm: Handle) -> Result<CommView<'a>> {
        // SAFETY: freeing a communicator is collective over it, and a program must not do so before
        // another collective call on it has returned (6.14). The reference is not used after this
        // call returns.
        let comm = unsafe { registry::borrow_comm(comm) }?;
        let selection = comm.selection().map_or_else(process::selection, Ok)?;
        Ok(CommView { comm, selection })
    }

    /// The local group, for a plan in which rates of links do not matter.
    pub(super) fn team(&self) -> Team {
        self.team_for(CallForm::Blocking, self.comm.calls_by_messages(CallForm::Blocking))
    }

    /// The local group in a call before which this process has begun `begun` others of its form.
    fn team_for(&self, form: CallForm, begun: u64) -> Team {
        self.comm.common_team(form, begun)
    }

    /// The local group and the selection of algorithms, in the form that plan builders need.
    pub(super) fn call<'t>(&'t self, team: &'t Team) -> Call<'t> {
        Call { team, selection: self.selection }
    }

    /// Both groups of an intercommunicator; `team` is the local one.
    fn bridge<'t>(&'t self, team: &'t Team) -> Bridge<'t> {
        let remote = self.comm.remote.as_ref().expect("asked for intercommunicators only");
        Bridge { call: self.call(team), remote: &remote.group.peers }
    }

    /// Rank of this process in the local group.
    pub(super) fn rank(&self) -> usize {
        self.comm.rank
    }

    /// Size of the local group.
    pub(super) fn size(&self) -> usize {
        self.comm.group.peers.len()
    }

    /// Number of ranks that blocks are exchanged with: those of the remote group, if there is one.
    pub(super) fn partners(&self) -> usize {
        self.comm.targets().len()
    }

    /// A call on an intracommunicator.
    pub(super) fn with(self, operation: Operation) -> Result<Prepared<'a>> {
        Ok(Prepared { view: self, work: CollectiveWork::Operation(operation) })
    }

    /// A call that always runs by a plan of messages.
    pub(super) fn planned(
        self,
        plan: impl FnOnce(&Call) -> std::result::Result<Plan, PlanError>,
    ) -> Result<Prepared<'a>> {
        let plan = plan(&self.call(&self.team())).map_err(plan_failed)?;
        Ok(Prepared { view: self, work: CollectiveWork::Plan(Box::new(plan)) })
    }

    /// A call on an intercommunicator, with its plan.
    pub(super) fn across(
        self,
        plan: impl FnOnce(&Bridge) -> std::result::Result<Plan, PlanError>,
    ) -> Result<Prepared<'a>> {
        let team = self.team();
        let plan = plan(&self.bridge(&team)).map_err(plan_failed)?;
        Ok(Prepared { view: self, work: CollectiveWork::Plan(Box::new(plan)) })
    }
}

/// A call whose arguments are checked.
#[must_use = "a prepared call does nothing until it is waited for, begun or kept"]
pub struct Prepared<'a> {
    pub(super) view: CommView<'a>,
    pub(super) work: CollectiveWork,
}

impl<'a> Prepared<'a> {
    /// The call with host copies of its buffers.
    #[inline]
    pub(super) fn on_copies(self, copies: HostCopies) -> Prepared<'a> {
        Prepared { view: self.view, work: self.work.of_reduction(copies) }
    }

    /// The plan that performs the call by messages, as one before which this process has begun
    /// `begun` others of its form.
    fn unnumbered(self, form: CallForm, begun: u64) -> Result<Plan> {
        let Prepared { view, work } = self;
        match work {
            CollectiveWork::Plan(plan) => Ok(*plan),
            work => work.plan(&view.call(&view.team_for(form, begun))).map_err(plan_failed),
        }
    }

    /// The call in phases, not started, with the coming sequence number; `None` if it has no levels
    /// of ranks and hosts.
    #[inline]
    fn in_phases(&mut self, form: CallForm) -> Result<Option<Box<PhasedCall<Caller>>>> {
        if self.view.comm.group.placement().has_levels() { self.over_hosts(form) } else { Ok(None) }
    }

    #[inline(never)]
    fn over_hosts(&mut self, form: CallForm) -> Result<Option<Box<PhasedCall<Caller>>>> {
        let comm = self.view.comm;
        let Some(operation) = self.work.operation() else { return Ok(None) };
        let team = self.view.team_for(form, comm.calls_by_messages(form));
        let Some(phases) = phases(&self.view.call(&team), operation).map_err(plan_failed)? else {
            return Ok(None);
        };
        let (process, host) = (process::this()?, Some(Box::new(team.on_my_host())));
        let owner = Caller { comm: comm.clone(), process, host };
        let queue = match form {
            CallForm::Persistent => None,
            _ => Some(comm.queue(form)),
        };
        let (copies, sequence) = (self.work.take_copies(), comm.coming_sequence(form));
        let call = PhasedCall::hold(&owner, phases, copies, queue, sequence).map_err(plan_failed)?;
        Ok(Some(Box::new(call)))
    }

    /// Runs the call to completion: a long reduction on devices if they have its vectors, else over
    /// the communicator's board or by multicast if that is faster, in phases over several hosts,
    /// else by messages.
    ///
    /// # Safety
    /// The memory that the call names must live during the call.
    pub unsafe fn wait(self) -> Result<()> {
        let CommView { comm, selection } = self.view;
        // SAFETY: the memory that the work names lives during the call (this function's contract).
        unsafe {
            if let CollectiveWork::Operation(operation) = &self.work
                && (boards::try_execute(0, comm, operation, selection)?
                    || multicast::try_execute(comm, operation, selection)?)
            {
                return Ok(());
            }
            match self.work {
                CollectiveWork::Operation(_) => self.repeat(),
                CollectiveWork::Plan(_) => self.wait_by_messages(),
                CollectiveWork::OnCopies(both) => Prepared { view: self.view, work: both.0 }.wait_between(both.1),
                CollectiveWork::Long(work) => device_reductions::wait(Prepared { view: self.view, work: *work }),
            }
        }
    }

    /// Runs an operation, on copies or not, to completion in phases or by messages, as an earlier
    /// call that it repeats if there is one. Copies are used only where vectors must leave their
    /// device.
    ///
    /// # Safety
    /// Same as for [`Prepared::wait`].
    #[inline(never)]
    pub(super) unsafe fn repeat(mut self) -> Result<()> {
        let comm = self.view.comm;
        let observed = self.work.operation().map_or(Ok(None), |operation| links::attend(comm, operation))?;
        let sequence = comm.coming_sequence(CallForm::Blocking);
        let known = match &self.work {
            CollectiveWork::Operation(operation) => comm.kept.lock().unwrap().take(operation),
            _ => None,
        };
        let mut call = match known {
            Some(mut call) => {
                call.renew(sequence);
                call
            }
            None => self.held(sequence)?,
        };
        comm.next_sequence(CallForm::Blocking);
        if let CollectiveRun::ByMessages(run) = &mut call {
            boards::attend(comm, run);
        }
        // SAFETY: the memory that the call names lives during the call (this function's contract).
        // That of a repeated call is the same.
        unsafe { call.start_again() };
        let (call, failure) = recover(call, comm.context().on(Plane::Collective))?;
        if let Some(failure) = failure {
            return Err(failed(failure));
        }
        if let Some((bytes, begin)) = observed {
            comm.placements().note(bytes, begin.elapsed());
        }
        if let (Some(call), CollectiveWork::Operation(operation)) = (call, self.work) {
            comm.kept.lock().unwrap().keep(operation, call);
        }
        Ok(())
    }

    /// The operation in phases or by messages, not started.
    fn held(&mut self, sequence: u64) -> Result<CollectiveRun> {
        if let Some(call) = self.in_phases(CallForm::Blocking)? {
            return Ok(call.into());
        }
        let (mut copies, team) = (self.work.take_copies(), self.view.team());
        let operation = self.work.operation().expect("a plan is not repeated");
        let plan = copies.plan(&self.view.call(&team), operation, None).map_err(plan_failed)?;
        Ok(Box::new(Run::hold(plan, sequence)).into())
    }

    /// Runs the call to completion on host copies of its buffers.
    ///
    /// # Safety
    /// Same as for [`Prepared::wait`]; the call must be on the copies.
    #[cold]
    unsafe fn wait_between(self, copies: HostCopies) -> Result<()> {
        // SAFETY: the memory that the call names lives during the call (this function's contract),
        // and the copies live until its end.
        unsafe { on_copies(&copies, || self.wait()) }
    }

    /// True if the communicator already has a board.
    pub(super) fn has_board(&self) -> bool {
        boards::has_one(self.view.comm)
    }

    /// Runs the call to completion by messages.
    ///
    /// # Safety
    /// Same as for [`Prepared::wait`].
    pub(super) unsafe fn wait_by_messages(self) -> Result<()> {
        let comm = self.view.comm;
        let form = CallForm::Blocking;
        let plan = self.unnumbered(form, comm.calls_by_messages(form))?;
        let sequence = comm.next_sequence(form);
        let context = plan.context;
        // SAFETY: the memory that the plan names lives during the call (this function's contract).
        let mut run = Box::new(unsafe { Run::start(plan, sequence) });
        boards::attend(comm, &mut run);
        complete(run.into(), context)
    }

    /// Starts the call and returns a request for it.
    ///
    /// # Safety
    /// The memory that the call names must live until the request is complete.
    pub unsafe fn begin(self) -> Result<Handle> {
        let (comm, worker) = (self.view.comm, progress::worker()?);
        // A call that has its turn in the queue must be added: later ones wait for it.
        let entry = worker.with(|state| state.requests.reserve())?;
        let order = comm.order(CallForm::Nonblocking);
        // SAFETY: the memory that the call names lives until the request is complete (this
        // function's contract).
        let begun = unsafe { self.placed() };
        let (request, is_poll_due) = worker.with(|state| {
            let Ok(Some(run)) = begun else {
                state.requests.give_back(entry);
                state.runs.count_at_once();
                return begun.map(|_| (request_table::COMPLETE, state.runs.is_poll_due()));
            };
            let id = state.runs.add(run.place(order), &mut state.engine);
            let work = request_table::RequestWork::Run(id);
            Ok((state.requests.fill(entry, work, comm.handle(), None), state.runs.is_poll_due()))
        })?;
        worker.nudge();
        if is_poll_due {
            worker.poll_in_passing();
        }
        Ok(request)
    }

    /// The call at its place among the nonblocking calls on the communicator; `None` if it is over
    /// already.
    ///
    /// # Safety
    /// Same as for [`Prepared::begin`].
    unsafe fn placed(mut self) -> Result<Option<CollectiveRun>> {
        let phased = self.in_phases(CallForm::Nonblocking);
        if !matches!(phased, Ok(None)) {
            self.view.comm.next_sequence(CallForm::Nonblocking);
        }
        if let Some(mut call) = phased? {
            // SAFETY: the memory that the call names lives until the request is complete (this
            // function's contract).
            unsafe { call.start_again() };
            return Ok(Some(call.into()));
        }
        let Prepared { view, mut work } = self;
        let (comm, process) = (view.comm, process::this()?);
        if let Some(call) = alone(comm, &work) {
            // SAFETY: the memory that the call names lives until the request is complete (this
            // function's contract).
            unsafe { call.perform() };
            return Ok(None);
        }
        let begun = comm.calls_by_messages(CallForm::Nonblocking);
        let sequence = comm.next_sequence(CallForm::Nonblocking);
        if !matches!(work, CollectiveWork::Plan(_)) {
            // SAFETY: the memory that the call names lives until the request is complete (this
            // function's contract).
            work = match unsafe { begin(comm, process, work.into_operation(), sequence) } {
                Begun::Over { is_truncated: false } => return Ok(None),
                Begun::Over { is_truncated: true } => return Err(failed(Failure::Truncated)),
                Begun::Waiting(call) => return Ok(Some(CollectiveRun::Queued(call))),
                Begun::ByMessages(work) => CollectiveWork::new(work),
            };
        }
        let plan = Prepared { view, work }.unnumbered(CallForm::Nonblocking, begun)?;
        // SAFETY: the memory that the call names lives until the request is complete (this
        // function's contract).
        let mut run = Box::new(unsafe { Run::start(plan, sequence) });
        comm.queue(CallForm::Nonblocking).lock().unwrap().attend(&mut run, number_of(sequence, 0));
        Ok(Some(run.into()))
    }

    /// Creates a persistent request for the call. No info keys are recognized.
    ///
    /// # Safety
    /// The memory that the call names must live whenever the request is active.
    pub unsafe fn keep(mut self, info: Handle) -> Result<Handle> {
        info::known(info)?;
        let order = self.view.comm.order(CallForm::Persistent);
        let start = |run: CollectiveRun| Start::Collective(Some(run.place(order)));
        if let Some(call) = self.in_phases(CallForm::Persistent)? {
            let comm = self.view.comm;
            let begin = || {
                comm.next_sequence(CallForm::Persistent);
                start(call.into())
            };
            return create_by(begin, comm.handle());
        }
        let Prepared { view, work } = self;
        let (comm, process) = (view.comm, process::this()?);
        if let Some(call) = alone(comm, &work) {
            return create_by(|| Start::Alone(call), comm.handle());
        }
        let may_be = |operation| may_be_on_board(comm, operation, view.selection);
        let number = || comm.next_sequence(CallForm::Persistent);
        if work.operation().is_some_and(may_be) {
            let owner = Caller { comm: comm.clone(), process, host: None };
            let work = work.into_operation();
            let call = || match hints::orders_starts(comm) {
                true => {
                    let queue = comm.queue(CallForm::Persistent).clone();
                    BoardCall::hold(owner, queue, work, (None, number())).among_others()
                }
                false => BoardCall::hold(owner, Arc::default(), work, (None, number())),
            };
            return create_by(|| start(CollectiveRun::Queued(Box::new(call()))), comm.handle());
        }
        let begun = comm.calls_by_messages(CallForm::Persistent);
        let plan = Prepared { view, work }.unnumbered(CallForm::Persistent, begun)?;
        let run = || Box::new(Run::hold(plan, number()).without_board());
        create_by(|| start(run().into()), comm.handle())
    }
}

/// The call of one rank; `None` if there are several, or it takes time.
fn alone(comm: &Comm, work: &CollectiveWork) -> Option<LoneCall> {
    match work {
        CollectiveWork::Operation(operation) if comm.group.peers.len() == 1 => LoneCall::new(operation),
        CollectiveWork::Long(work) => alone(comm, work),
        _ => None,
    }
}
