//! Executes plans without blocking.
//!
//! [`Run::post`] starts and completes messages and is called with the engine in hand;
//! [`Run::compute`] copies and reduces, and is called without it, because a reduction may be a
//! function of the program. Any number of runs progress side by side. Invariant: a step is in at
//! most one of "waiting", "ready", "under way" and "done".

use std::collections::VecDeque;

use towpath_engine::messages::{Messages, Ticket};

use crate::plan::{Action, NONE, Plan, StepId};

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Messages are under way; call [`Run::post`] again when the engine has moved.
    Running,
    /// Copies or reductions are due: call [`Run::compute`], then [`Run::post`].
    Compute,
    /// Complete.
    Done,
    /// Ended with an error. The buffers are undefined.
    Failed(Failure),
}

/// Why a run failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// A rank sent more than this rank expected. All steps were executed nevertheless, so that no
    /// rank hangs.
    #[error("a rank sent more data than this rank expects; counts and datatypes of the ranks do not fit together")]
    Truncated,
    /// A process of the communicator died; the remaining steps are not executed.
    #[error("a process that takes part in the collective died")]
    Lost,
}

/// The tag of a message of call `sequence`; the turn tells messages of one pair apart.
#[inline]
pub(crate) fn tag(sequence: u32, turn: u16) -> i32 {
    ((sequence & 0xFFFF) << 15 | u32::from(turn) & 0x7FFF) as i32
}

/// A plan being executed.
#[derive(Debug)]
pub struct Run {
    plan: Plan,
    sequence: u32,
    ready_messages: VecDeque<StepId>,
    ready_local: VecDeque<StepId>,
    under_way: Vec<(StepId, Ticket)>,
    /// Steps that are not done.
    left: usize,
    failure: Option<Failure>,
}

impl Run {
    pub(crate) fn new(plan: Plan, sequence: u32) -> Run {
        let mut run = Run::held(plan, sequence);
        run.rewind();
        run
    }

    pub(crate) fn held(plan: Plan, sequence: u32) -> Run {
        // Most plans are so short that all of it may be under way at once; none needs a list to
        // grow step by step.
        let room = plan.steps.len().min(64);
        Run {
            plan,
            sequence,
            ready_messages: VecDeque::with_capacity(room),
            ready_local: VecDeque::new(),
            under_way: Vec::with_capacity(room),
            left: 0,
            failure: None,
        }
    }

    /// Executes the plan, once more or for the first time, with the sequence number it has
    /// (persistent requests).
    ///
    /// # Safety
    /// As [`Plan::start`].
    ///
    /// # Panics
    /// When the run is not over.
    pub unsafe fn start_again(&mut self) {
        assert!(self.is_over(), "a run was started again before it was over");
        self.rewind();
    }

    /// Whether nothing is left to do.
    pub fn is_over(&self) -> bool {
        self.left == 0 || self.failure == Some(Failure::Lost)
    }

    fn rewind(&mut self) {
        self.failure = None;
        self.left = self.plan.steps.len();
        for step in 0..self.plan.steps.len() {
            let waiting = self.plan.steps[step].dependencies;
            self.plan.steps[step].waiting = waiting;
            if waiting == 0 {
                self.make_ready(step as StepId);
            }
        }
    }

    /// Starts the messages that are due and completes those that arrived. Calls no function of the
    /// program.
    pub fn post<M: Messages + ?Sized>(&mut self, messages: &mut M) -> Progress {
        loop {
            let mut moved = false;
            while self.failure != Some(Failure::Lost)
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
                if outcome.lost {
                    self.failure = Some(Failure::Lost);
                } else if outcome.truncated {
                    self.failure.get_or_insert(Failure::Truncated);
                }
                self.complete(step);
                moved = true;
            }
            if !moved || self.ready_messages.is_empty() {
                return self.progress();
            }
        }
    }

    /// Copies and reduces what is due. May call the program's reduction function, so no lock may be
    /// held.
    pub fn compute(&mut self) {
        while self.failure != Some(Failure::Lost)
            && let Some(step) = self.ready_local.pop_front()
        {
            match &self.plan.steps[step as usize].action {
                // SAFETY: `Plan::start` was promised that the memory lives; the edges of the plan
                // keep steps on the same memory apart.
                Action::Copy { from, to } => unsafe { crate::buffers::Piece::copy(from, to) },
                Action::Reduce { input, inout, count } => {
                    let reducer = self.plan.reducer.as_ref().expect("a plan with reductions has a reducer");
                    // SAFETY: as above.
                    unsafe { reducer.apply(*input, *inout, *count) }
                }
                Action::Send { .. } | Action::Receive { .. } | Action::Join => {
                    unreachable!("only local steps are queued here")
                }
            }
            self.complete(step);
        }
    }

    fn progress(&self) -> Progress {
        match self.failure {
            Some(Failure::Lost) => Progress::Failed(Failure::Lost),
            Some(failure) if self.left == 0 => Progress::Failed(failure),
            _ if self.left == 0 => Progress::Done,
            _ if !self.ready_local.is_empty() => Progress::Compute,
            _ => Progress::Running,
        }
    }

    fn start_message<M: Messages + ?Sized>(&mut self, step: StepId, messages: &mut M) {
        let tag = |turn: u16| tag(self.sequence, turn);
        let plan = &self.plan;
        let ticket = match &plan.steps[step as usize].action {
            // SAFETY: `Plan::start` was promised that the memory lives; the edges of the plan keep
            // it unchanged.
            Action::Send { peer, turn, piece } => unsafe {
                messages.start_send(*peer, plan.context, tag(*turn), plan.rank, piece.source())
            },
            // SAFETY: as above.
            Action::Receive { peer, turn, piece } => unsafe {
                messages.start_receive(*peer, plan.context, tag(*turn), piece.target())
            },
            Action::Copy { .. } | Action::Reduce { .. } | Action::Join => {
                unreachable!("only messages are queued here")
            }
        };
        self.under_way.push((step, ticket));
    }

    /// Marks a step as done and readies those that waited for it alone.
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
            Action::Send { .. } | Action::Receive { .. } => self.ready_messages.push_back(step),
            Action::Copy { .. } | Action::Reduce { .. } => self.ready_local.push_back(step),
            Action::Join => self.complete(step),
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if !self.under_way.is_empty() {
            // Messages to and from the living may still touch the intermediate memory of a run that
            // lost a peer.
            std::mem::forget(std::mem::take(&mut self.plan.memory));
        }
    }
}
