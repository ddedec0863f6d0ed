//! The non-blocking executor of plans.
//!
//! [`Run::post`] starts and completes messages and needs the engine. [`Run::compute`] copies and
//! reduces and runs without the engine, because a reduction may be a user-defined function. Any
//! number of runs can progress concurrently. Invariant: a step is in at most one of the states
//! waiting, ready, in flight and done.

use std::collections::VecDeque;
use std::sync::Arc;

use towpath_base::ids::PeerIndex;
use towpath_engine::board::FinishedCall;
use towpath_engine::messages::{Messages, Ticket};
use towpath_schedule::CallSignature;
use towpath_schedule::buffers::Piece;
use towpath_schedule::plan::{NONE, Plan, PlanLength, PlanStep, StepAction, StepId};

use crate::board::{BoardNotices, CallBeside, renumbered};
use crate::failure::Failure;
use crate::memory::{self, PendingWork, Reduced};
use crate::numbers::{self, signature_of};
use crate::order::CallOrder;

/// State of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Messages are in flight; call [`Run::post`] again after progress of the engine.
    Running,
    /// Copies or reductions are ready: call [`Run::compute`], then [`Run::post`].
    Compute,
    /// Complete.
    Done,
    /// Ended with an error. The content of the buffers is undefined.
    Failed(Failure),
}

/// A plan in execution.
#[derive(Debug)]
pub struct Run {
    /// What devices work on. It is dropped before the plan, which owns memory that it accesses.
    device_work: Vec<(StepId, PendingWork)>,
    plan: Plan,
    /// The length of the plan before its expansions.
    length: PlanLength,
    /// Bytes that each step has received, if there are expansions.
    received: Vec<usize>,
    /// Receives under way that get no message.
    withdrawn: Vec<StepId>,
    sequence: u64,
    ready_messages: VecDeque<StepId>,
    ready_local: VecDeque<StepId>,
    under_way: Vec<(StepId, Ticket)>,
    /// Number of steps that are not done.
    left: usize,
    failure: Option<Failure>,
    /// The board of the members, and the place of this call among those on it.
    beside: Option<(Arc<BoardNotices>, CallBeside)>,
    /// True if no member of the call uses a board.
    needs_no_board: bool,
    /// Its place among the calls of its communicator, if it is told to other processes.
    pub(crate) order: Option<CallOrder>,
}

impl Run {
    /// Starts a plan. `sequence` numbers the collective calls of the communicator and must be equal
    /// on all its ranks, see [`numbers`](crate::numbers).
    ///
    /// # Safety
    /// All memory named when the plan was built must stay valid until the run is done, and must not
    /// be accessed by others in ways that the standard forbids for the buffers of a collective
    /// call.
    pub unsafe fn start(plan: Plan, sequence: u64) -> Run {
        let mut run = Run::hold(plan, sequence);
        run.rewind();
        run
    }

    /// Creates a run that is already over, for [`Run::start_again`] (persistent requests).
    pub fn hold(plan: Plan, sequence: u64) -> Run {
        // Most plans are short enough that all steps can be in flight at once; this avoids growing
        // the lists step by step.
        let room = plan.steps.len().min(64);
        let expands = !plan.expansions.is_empty();
        Run {
            device_work: Vec::new(),
            length: plan.length_of_all(),
            received: vec![0; if expands { plan.steps.len() } else { 0 }],
            withdrawn: Vec::new(),
            plan,
            sequence,
            ready_messages: VecDeque::with_capacity(room),
            ready_local: VecDeque::new(),
            under_way: Vec::with_capacity(room),
            left: 0,
            failure: None,
            beside: None,
            needs_no_board: false,
            order: None,
        }
    }

    /// Compares the call, if it waits long, with those of members that wait on their board.
    /// `number` is that of the call among those that may use the board.
    pub fn compare_with(&mut self, notices: Arc<BoardNotices>, number: u64) {
        self.beside = Some((notices, CallBeside::ByMessages(number)));
    }

    /// Compares the call like [`Run::compare_with`]. These messages complete it after what it has
    /// done on the board.
    pub(crate) fn compare_apart(&mut self, notices: Arc<BoardNotices>, finished: FinishedCall) {
        self.beside = Some((notices, CallBeside::Apart(finished)));
    }

    /// Says that the others make this call without a board too: a message about one is a mismatch.
    pub fn without_board(mut self) -> Run {
        self.needs_no_board = true;
        self
    }

    /// Executes the plan, again or for the first time, with the same sequence number (persistent
    /// requests). A run that lost a process stays lost: it executes nothing any more, because its
    /// messages with the others may still be in flight.
    ///
    /// # Safety
    /// The contract of [`Run::start`] applies.
    ///
    /// # Panics
    /// If the run is not over.
    pub unsafe fn start_again(&mut self) {
        assert!(self.is_over(), "a run was started again before it was over");
        if !self.has_given_up() {
            self.rewind();
        }
    }

    /// Makes a run that is over one of another call, with a sequence number of its own.
    pub fn renumber(&mut self, sequence: u64) {
        debug_assert!(self.is_over(), "a run under way has sent messages with its number");
        self.sequence = sequence;
        if let Some((_, CallBeside::ByMessages(number))) = &mut self.beside {
            *number = renumbered(*number, sequence);
        }
    }

    /// Makes the run, which has been started, fail at its end because another rank sent more than
    /// this one expects.
    pub(crate) fn truncate(&mut self) {
        self.failure.get_or_insert(Failure::Truncated);
    }

    /// Bytes of memory that the run occupies.
    pub fn bytes(&self) -> usize {
        self.plan.bytes()
    }

    /// True if the remaining steps will not be executed.
    fn has_given_up(&self) -> bool {
        self.failure.is_some_and(Failure::leaves_steps)
    }

    /// True if no step is left to execute.
    pub fn is_over(&self) -> bool {
        self.left == 0 || self.has_given_up()
    }

    fn rewind(&mut self) {
        self.failure = None;
        self.plan.truncate(self.length);
        self.left = self.plan.steps.len();
        self.release(0);
    }

    /// Makes the steps from `first` on wait for those that they depend on.
    fn release(&mut self, first: StepId) {
        for step in first..self.plan.steps.len() as StepId {
            let PlanStep { waiting, dependencies, .. } = &mut self.plan.steps[step as usize];
            *waiting = *dependencies;
            if *waiting == 0 {
                self.make_ready(step);
            }
        }
    }

    /// Number of copies and reductions that devices work on. A device that completes wakes no
    /// sleeping thread, so call [`Run::post`] again without sleeping.
    pub fn device_work(&self) -> usize {
        self.device_work.len()
    }

    /// Completes what devices have finished. True if there was something.
    #[cold]
    fn advance_work(&mut self) -> bool {
        let before = self.device_work.len();
        let mut index = 0;
        while index < self.device_work.len() {
            if self.device_work[index].1.advance() {
                let (step, _) = self.device_work.swap_remove(index);
                self.complete(step);
            } else {
                index += 1;
            }
        }
        self.device_work.len() < before
    }

    /// Ends the run without executing the remaining steps.
    #[cold]
    fn give_up(&mut self, failure: Failure) {
        self.failure = Some(failure);
        self.device_work.clear();
    }

    /// The process to which or from which `step` is a message.
    fn peer_of(&self, step: StepId) -> Option<PeerIndex> {
        match &self.plan.steps[step as usize].action {
            StepAction::Send { peer, .. } | StepAction::Receive { peer, .. } => Some(*peer),
            _ => None,
        }
    }

    /// The failure if a message that `step` has received is part of another call.
    fn mismatch(&self, step: StepId, immediate: u32) -> Option<Failure> {
        let (own, theirs) = (self.plan.signature, signature_of(immediate));
        match &self.plan.steps[step as usize].action {
            StepAction::Receive { peer, .. } if own.differs(theirs) => {
                Some(Failure::Mismatch { peer: *peer, own, theirs })
            }
            _ => None,
        }
    }

    /// Looks for a message of another call with the number of this one, which no receive matches,
    /// and for a member that waits on the board in the call of this number. True if there is one:
    /// the run has then failed. For runs that have waited long.
    pub fn find_mismatch<M: Messages + ?Sized>(&mut self, messages: &mut M) -> bool {
        let (own, sequence) = (self.plan.signature, self.sequence);
        let knows = self.needs_no_board;
        // While this member prepares the board of the call, another one may be further and have
        // sent its data: that is no other call, unless a receive matches it. A phase of a call may
        // be further than another one too.
        let is_other = |tag: i32, immediate: u32| {
            let theirs = signature_of(immediate);
            numbers::is_of_call(tag, immediate, sequence)
                && own.differs(theirs)
                && (knows || !own.names_same(theirs))
        };
        let found = messages.find_unmatched(self.plan.context, &is_other);
        let failure = found.map(|(peer, immediate)| Failure::Mismatch {
            peer,
            own,
            theirs: signature_of(immediate),
        });
        let on_board = || {
            let (notices, call) = self.beside.as_ref()?;
            notices.find_mismatch(own, *call)
        };
        let failure = failure.or_else(on_board);
        if let Some(failure) = failure {
            self.fail(failure, messages);
        }
        failure.is_some()
    }

    /// Ends the run, whose members have called something else. The next [`Run::post`] returns the
    /// failure.
    pub fn fail<M: Messages + ?Sized>(&mut self, failure: Failure, messages: &mut M) {
        self.give_up(failure);
        self.withdraw(messages);
    }

    /// What it calls.
    pub(crate) fn signature(&self) -> CallSignature {
        self.plan.signature
    }

    /// Withdraws the receives that nothing has matched: the others live, and may still send what
    /// would match them. Messages that nobody receives stay, since others find by them what this
    /// rank calls, unless the board tells them.
    #[cold]
    fn withdraw<M: Messages + ?Sized>(&mut self, messages: &mut M) {
        self.under_way.retain(|(_, ticket)| !messages.withdraw(*ticket));
        if let Some((_, CallBeside::Apart(_))) = self.beside {
            self.under_way.iter().for_each(|(_, ticket)| messages.take_back(*ticket));
        }
    }

    /// Completes the receives for which an expansion has found that nothing is sent.
    #[cold]
    fn complete_withdrawn<M: Messages + ?Sized>(&mut self, messages: &mut M) {
        for step in std::mem::take(&mut self.withdrawn) {
            let position = self.under_way.iter().position(|&(other, _)| other == step);
            if let Some(index) = position
                && messages.withdraw(self.under_way[index].1)
            {
                self.under_way.swap_remove(index);
                self.complete(step);
            }
        }
    }

    /// Starts the messages that are ready and completes those that arrived. Never calls a
    /// user-defined function.
    pub fn post<M: Messages + ?Sized>(&mut self, messages: &mut M) -> Progress {
        if !self.withdrawn.is_empty() {
            self.complete_withdrawn(messages);
        }
        loop {
            let mut moved = false;
            while !self.has_given_up()
                && let Some(step) = self.ready_messages.pop_front()
            {
                self.start_message(step, messages);
            }
            let mut index = 0;
            while index < self.under_way.len() {
                let (step, ticket) = self.under_way[index];
                let Some(outcome) = messages.poll(ticket) else {
                    index += 1;
                    continue;
                };
                self.under_way.swap_remove(index);
                if let Some(peer) = self.peer_of(step).filter(|_| outcome.lost) {
                    self.give_up(Failure::Lost { peer });
                } else if let Some(failure) = self.mismatch(step, outcome.immediate) {
                    self.give_up(failure);
                    self.withdraw(messages);
                    break;
                } else if outcome.truncated {
                    self.truncate();
                }
                if let Some(received) = self.received.get_mut(step as usize) {
                    *received = outcome.bytes;
                }
                self.complete(step);
                moved = true;
            }
            if moved && !self.ready_messages.is_empty() {
                continue;
            }
            let progress = self.progress();
            if progress != Progress::Running || self.device_work() == 0 || !self.advance_work() {
                return progress;
            }
        }
    }

    /// Adds the steps of an expansion.
    fn expand(&mut self, expansion: u32) {
        let expansion = &self.plan.expansions[expansion as usize];
        let message = |&step: &StepId| {
            let StepAction::Receive { piece, .. } = &self.plan.steps[step as usize].action else {
                unreachable!("an expansion reads what has been received")
            };
            // SAFETY: the receive is complete, and has written as many bytes as it has received to
            // its piece, which nothing writes again before the run is over.
            unsafe { bytes_in(piece, self.received[step as usize]) }
        };
        let messages: Vec<&[u8]> = expansion.receives.iter().map(message).collect();
        match (expansion.build)(&messages) {
            Ok(expanded) => {
                if expanded.is_truncated {
                    self.failure.get_or_insert(Failure::Truncated);
                }
                let posted = expanded.withdrawn.iter().map(|&index| expansion.posted[index]);
                self.withdrawn.extend(posted);
                let first = self.plan.append(expanded.plan);
                self.left += self.plan.steps.len() - first as usize;
                self.release(first);
            }
            // The others wait for what this rank was to send, as for a rank that is lost.
            Err(error) => self.failure = Some(Failure::Plan(error)),
        }
    }

    /// Executes the copies and reductions that are ready. May call a user-defined reduction, so the
    /// caller must not hold a lock.
    pub fn compute(&mut self) {
        while !self.has_given_up()
            && let Some(step) = self.ready_local.pop_front()
        {
            match &self.plan.steps[step as usize].action {
                StepAction::Copy { from, to } => {
                    // SAFETY: the memory of both pieces is valid until the run is done (contract of
                    // `Run::start`), and the plan's edges keep conflicting steps apart.
                    let pending = unsafe { memory::copy(from, to) };
                    if let Some(mut copy) = pending
                        && !copy.advance()
                    {
                        self.device_work.push((step, PendingWork::Copy(copy)));
                        continue;
                    }
                }
                StepAction::Reduce { input, inout, count, device } => {
                    let reducer =
                        self.plan.reducer.as_ref().expect("a plan with reductions has a reducer");
                    // SAFETY: both vectors are valid for `count` elements until the run is done
                    // (contract of `Run::start`), and the plan's edges keep conflicting steps
                    // apart.
                    match unsafe { memory::reduce(reducer, (*input, *inout), *count, *device) } {
                        Reduced::Done => {}
                        Reduced::Pending(work) => {
                            self.device_work.push((step, PendingWork::Reduction(work)));
                            continue;
                        }
                        Reduced::Refused => {
                            self.failure.get_or_insert(Failure::Device);
                        }
                    }
                }
                StepAction::Expand { expansion } => self.expand(*expansion),
                StepAction::Send { .. } | StepAction::Receive { .. } | StepAction::Join => {
                    unreachable!("only local steps are queued here")
                }
            }
            self.complete(step);
        }
    }

    fn progress(&self) -> Progress {
        match self.failure {
            Some(failure) if failure.leaves_steps() => Progress::Failed(failure),
            Some(failure) if self.left == 0 => Progress::Failed(failure),
            _ if self.left == 0 => Progress::Done,
            _ if !self.ready_local.is_empty() => Progress::Compute,
            _ => Progress::Running,
        }
    }

    fn start_message<M: Messages + ?Sized>(&mut self, step: StepId, messages: &mut M) {
        let tag = |turn: u16| numbers::tag(self.sequence, turn);
        let plan = &self.plan;
        let ticket = match &plan.steps[step as usize].action {
            // SAFETY: the memory is valid until the run is done (contract of `Run::start`), and
            // the plan's edges keep it unchanged until the send is complete.
            StepAction::Send { peer, turn, piece } => unsafe {
                messages.start_send(
                    *peer,
                    plan.context,
                    tag(*turn),
                    numbers::immediate(plan.signature, self.sequence),
                    memory::source(piece),
                )
            },
            // SAFETY: the memory is valid until the run is done (contract of `Run::start`), and
            // the plan's edges keep other steps off it until the receive is complete.
            StepAction::Receive { peer, turn, piece } => unsafe {
                messages.start_receive(*peer, plan.context, tag(*turn), memory::target(piece))
            },
            StepAction::Copy { .. }
            | StepAction::Reduce { .. }
            | StepAction::Expand { .. }
            | StepAction::Join => {
                unreachable!("only messages are queued here")
            }
        };
        self.under_way.push((step, ticket));
    }

    /// Marks a step as done and releases the steps that waited only for it.
    fn complete(&mut self, step: StepId) {
        self.left -= 1;
        let mut edge = self.plan.steps[step as usize].first_edge;
        while edge != NONE {
            let follower = self.plan.edges[edge as usize];
            let waiting = &mut self.plan.steps[follower.to as usize].waiting;
            *waiting -= 1;
            if *waiting == 0 {
                self.make_ready(follower.to);
            }
            edge = follower.next;
        }
    }

    fn make_ready(&mut self, step: StepId) {
        match self.plan.steps[step as usize].action {
            StepAction::Send { .. } | StepAction::Receive { .. } => {
                self.ready_messages.push_back(step)
            }
            StepAction::Copy { .. } | StepAction::Reduce { .. } | StepAction::Expand { .. } => {
                self.ready_local.push_back(step)
            }
            StepAction::Join => self.complete(step),
        }
    }
}

/// The first `bytes` bytes of a piece, or all if it has fewer.
///
/// # Safety
/// They must be initialized, and not written while the slice is in use.
unsafe fn bytes_in(piece: &Piece, bytes: usize) -> &[u8] {
    let Some((pointer, length)) = piece.contiguous() else { return &[] };
    // SAFETY: the bytes are within the piece, initialized, and not written meanwhile (this
    // function's contract).
    unsafe { std::slice::from_raw_parts(pointer, bytes.min(length)) }
}

// SAFETY: the pointers of a run's plan are dereferenced only by the thread that executes it, and a
// request moves between threads only under the lock of its table. The expansions of a plan count
// references (`Rc`) to memory that only they know, so all references move with the run.
unsafe impl Send for Run {}

impl Drop for Run {
    fn drop(&mut self) {
        if !self.under_way.is_empty() {
            // Messages to and from the remaining peers may still access the intermediate memory of
            // a run that lost a peer, so leak it.
            std::mem::forget(std::mem::take(&mut self.plan.memory));
            std::mem::forget(std::mem::take(&mut self.plan.device_memory));
        }
    }
}
