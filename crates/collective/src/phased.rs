//! Calls over several hosts in phases ([`phases`](towpath_schedule::hierarchy::phases)): those on a
//! host use a board of its ranks where there is one, and the leaders of the hosts exchange
//! messages.
//!
//! Each host decides for itself whether its phases use a board. The messages of all phases have the
//! sequence number of the call: those of a pair are in one phase after another, and arrive in
//! order.

use std::sync::{Arc, Mutex};

use towpath_schedule::buffers::Scratch;
use towpath_schedule::hierarchy::phases::HostPhases;
use towpath_schedule::{Call, CallSignature, HostCopies, Operation, PlanError};

use crate::board::{BoardQueue, QueueOwner, QueuedCall, may_use_board, number_of};
use crate::collective_run::CollectiveRun;
use crate::failure::Failure;
use crate::memory::copy_pieces;
use crate::order::CallOrder;
use crate::run::{Progress, Run};

/// A call in phases.
pub struct PhasedCall<O> {
    /// Dropped first: what is under way accesses the other parts.
    phases: Vec<CollectiveRun<O>>,
    /// The phase that is under way.
    current: usize,
    is_persistent: bool,
    /// Why the call fails, once all phases are over.
    failure: Option<Failure>,
    copies: HostCopies,
    memory: Vec<Scratch>,
    signature: CallSignature,
    /// Its place among the calls of its communicator, if it is told to other processes.
    pub(crate) order: Option<CallOrder>,
}

// SAFETY: the pointers of a call are dereferenced only by its own functions, which need it
// exclusively, and it moves between threads as a whole.
unsafe impl<O: Send> Send for PhasedCall<O> {}

impl<O> Drop for PhasedCall<O> {
    /// Messages that are under way may still access the memory of the call.
    fn drop(&mut self) {
        if self.current < self.phases.len() || self.has_given_up() {
            std::mem::forget(std::mem::take(&mut self.memory));
            std::mem::forget(std::mem::take(&mut self.copies));
        }
    }
}

impl<O> PhasedCall<O> {
    /// True if the remaining phases will not be executed.
    fn has_given_up(&self) -> bool {
        self.failure.is_some_and(Failure::leaves_steps)
    }
}

impl<O: QueueOwner> PhasedCall<O> {
    /// A call that is over until [`PhasedCall::start_again`]: a persistent one, or one that must be
    /// started once and has its turns in the `queue` of its communicator now. `owner` is this
    /// process as a member of the ranks of its host.
    ///
    /// # Errors
    /// If the plan of a phase cannot be built.
    pub fn hold(
        owner: &O,
        phases: HostPhases,
        copies: HostCopies,
        queue: Option<&Arc<Mutex<BoardQueue>>>,
        sequence: u64,
    ) -> Result<PhasedCall<O>, PlanError> {
        let is_persistent = queue.is_none();
        let queue = queue.cloned().unwrap_or_default();
        let HostPhases { before, between, after, memory, signature } = phases;
        let on_host = |part, operation| {
            on_host(owner, operation, (&queue, is_persistent), (sequence, part, signature))
        };
        // A root that has the data goes on to its host before the exchange, others after it.
        let part_after = u64::from(before.is_some());
        let before = before.map(|operation| on_host(0, operation)).transpose()?;
        let between = between.map(|plan| Box::new(Run::hold(plan, sequence)).into());
        let after = after.map(|operation| on_host(part_after, operation)).transpose()?;
        let phases: Vec<CollectiveRun<O>> =
            [before, between, after].into_iter().flatten().collect();
        let current = phases.len();
        let (failure, order) = (None, None);
        Ok(PhasedCall { phases, current, is_persistent, failure, copies, memory, signature, order })
    }

    /// Makes a call that is over, and is not persistent, another one with a sequence number and
    /// turns of its own.
    pub fn renew(&mut self, sequence: u64) {
        self.phases.iter_mut().for_each(|phase| phase.renew(sequence));
    }

    /// Bytes of memory that the call occupies.
    pub fn bytes(&self) -> usize {
        let phases = self.phases.iter().map(CollectiveRun::bytes).sum::<usize>();
        phases + self.memory.iter().map(Scratch::bytes).sum::<usize>()
    }

    /// Starts a call that is held. One that has lost a process executes nothing any more.
    ///
    /// # Safety
    /// The memory that the phases and the copies name must live until the call is over.
    ///
    /// # Panics
    /// If the call is under way.
    pub unsafe fn start_again(&mut self) {
        assert!(self.current == self.phases.len(), "a call was started again before it was over");
        if self.has_given_up() {
            return;
        }
        (self.current, self.failure) = (0, None);
        // SAFETY: the buffers live until the call is over (this function's contract), and the
        // copies are memory of their own.
        unsafe { copy_pieces(self.copies.before(), &mut std::thread::yield_now) };
        self.start_phase();
    }

    fn start_phase(&mut self) {
        if let Some(phase) = self.phases.get_mut(self.current) {
            // SAFETY: the memory that the phases name lives until the call is over (contract of
            // `start_again`).
            unsafe { phase.start_again() };
        }
    }

    /// Goes on with the call as far as possible without waiting, like [`CollectiveRun::post`].
    pub fn post(&mut self, engine: &mut O::Engine) -> (Progress, bool) {
        let mut has_moved = false;
        while let Some(phase) = self.phases.get_mut(self.current) {
            let (progress, moved) = phase.post(engine);
            has_moved |= moved;
            match progress {
                Progress::Running | Progress::Compute => return (progress, has_moved),
                Progress::Done => {}
                // The others wait for the phases that follow.
                Progress::Failed(Failure::Truncated) => self.failure = Some(Failure::Truncated),
                Progress::Failed(failure) => return (self.give_up(failure), true),
            }
            self.current += 1;
            self.start_phase();
        }
        if !self.has_given_up() {
            // SAFETY: the buffers live until the call is over (contract of `start_again`), and the
            // copies are memory of their own.
            unsafe { copy_pieces(self.copies.after(), &mut std::thread::yield_now) };
        }
        (self.failure.map_or(Progress::Done, Progress::Failed), true)
    }

    /// Ends the call before its last phase. Unless it can be started again, the phases that are
    /// left give up their turns, which other calls wait for.
    #[cold]
    fn give_up(&mut self, failure: Failure) -> Progress {
        if failure.leaves_steps() || !self.is_persistent {
            self.phases.truncate(self.current + 1);
        }
        self.current = self.phases.len();
        self.failure = Some(failure);
        Progress::Failed(failure)
    }

    /// Executes the copies and reductions that are ready, like [`Run::compute`].
    pub fn compute(&mut self) {
        if let Some(phase) = self.phases.get_mut(self.current) {
            phase.compute();
        }
    }

    /// Looks for messages of other calls, like [`Run::find_mismatch`].
    pub fn find_mismatch(&mut self, engine: &mut O::Engine) -> bool {
        self.phases.get_mut(self.current).is_some_and(|phase| phase.find_mismatch(engine))
    }

    /// Ends the call, like [`CollectiveRun::fail`].
    pub fn fail(&mut self, failure: Failure, engine: &mut O::Engine) {
        if let Some(phase) = self.phases.get_mut(self.current) {
            phase.fail(failure, engine);
        }
    }

    /// What it calls.
    pub(crate) fn signature(&self) -> CallSignature {
        self.signature
    }

    /// True while the current phase waits for members on a board.
    pub fn is_on_board(&self) -> bool {
        self.phases.get(self.current).is_some_and(CollectiveRun::is_on_board)
    }

    /// Number of copies and reductions that devices work on, like [`Run::device_work`].
    pub fn device_work(&self) -> usize {
        self.phases.get(self.current).map_or(0, CollectiveRun::device_work)
    }
}

/// A phase among the ranks of a host.
fn on_host<O: QueueOwner>(
    owner: &O,
    operation: Operation,
    (queue, is_persistent): (&Arc<Mutex<BoardQueue>>, bool),
    (sequence, part, signature): (u64, u64, CallSignature),
) -> Result<CollectiveRun<O>, PlanError> {
    let (team, selection) = (owner.team(), owner.selection());
    let turn = match is_persistent {
        true => may_use_board(&operation, selection, team.size()).then_some(None),
        false => queue.lock().unwrap().enter(&operation, selection, team.size()).map(Some),
    };
    let Some(turn) = turn else {
        let mut plan = operation.plan(&Call { team: &team, selection })?;
        plan.signature = signature;
        let mut run = Box::new(Run::hold(plan, sequence));
        queue.lock().unwrap().attend(&mut run, number_of(sequence, part));
        return Ok(run.into());
    };
    let work = (operation, HostCopies::default());
    let call = QueuedCall::hold(owner.clone(), queue.clone(), work, (turn, sequence));
    Ok(CollectiveRun::Queued(Box::new(call.as_part(part, signature))))
}
