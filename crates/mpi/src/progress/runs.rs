//! Collective operations in flight. The worker posts their messages and polls the calls on boards,
//! which only use predefined operations. Other local work runs without the lock, because a
//! reduction may call a function of the program.

use towpath_base::slab::{Slab, SlabKey};
use towpath_collective::{Failure, PlanError, Progress};
use towpath_engine::Engine;
use towpath_neutral::constants::{ERR_COUNT, ERR_NO_MEM, ERR_PROC_ABORTED, ERR_TRUNCATE};
use towpath_neutral::error::Error;
use towpath_wires::Wires;

use super::board_calls::Caller;

/// Collective calls that end without waiting between two rounds of progress. A rank whose partners
/// always arrive first never waits, but must make progress on its messages all the same (3.5).
pub(crate) const CALLS_PER_POLL: u32 = 8;

/// Identifies a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunId(SlabKey);

/// A collective operation of this process in flight, or a persistent one between two starts.
pub(crate) type CollectiveRun = towpath_collective::CollectiveRun<Caller>;

enum RunSlot {
    /// Other members are waited for.
    Running(CollectiveRun),
    /// Copies or reductions are ready to run.
    Due(CollectiveRun),
    /// A thread has taken the run out to work on it.
    Out,
    /// Complete. Kept until the request is completed; a persistent request starts the run again.
    Over(CollectiveRun, Option<Error>),
}

/// A run taken out of the worker for its local work.
pub(crate) struct LocalWork {
    id: RunId,
    run: CollectiveRun,
}

impl LocalWork {
    /// Copies and reduces; may call the program.
    pub(crate) fn compute(&mut self) {
        self.run.compute();
    }
}

/// The error that a failed collective raises.
pub(crate) fn failed(failure: Failure) -> Error {
    let class = match failure {
        Failure::Truncated => ERR_TRUNCATE,
        Failure::Plan(error) => return plan_failed(error),
        Failure::Lost => ERR_PROC_ABORTED,
    };
    Error::new(class, failure.to_string())
}

/// The error if a plan cannot be built.
pub(crate) fn plan_failed(error: PlanError) -> Error {
    let class = match error {
        PlanError::Memory { .. } => ERR_NO_MEM,
        PlanError::Overflow => ERR_COUNT,
    };
    Error::new(class, error.to_string())
}

/// All runs of the process.
#[derive(Default)]
pub(crate) struct Runs {
    slots: Slab<RunSlot>,
    /// The `Running` runs, in start order.
    running: Vec<RunId>,
    /// Empty list to swap with `running` in the next pass, so that a pass does not allocate.
    spare: Vec<RunId>,
    /// The `Due` runs.
    due: Vec<RunId>,
    /// Number of runs that were over as soon as they were added, since the last poll for them.
    at_once: u32,
}

impl Runs {
    /// Adds a run and posts its first messages.
    pub(crate) fn add<R>(&mut self, run: R, engine: &mut Engine<Wires>) -> RunId
    where
        R: Into<CollectiveRun>,
    {
        let id = RunId(self.slots.insert(RunSlot::Out));
        self.advance(id, run.into(), engine);
        if self.is_complete(id) {
            self.at_once += 1;
        }
        id
    }

    /// True if the caller should make a round of progress after adding a run.
    #[inline]
    pub(crate) fn is_poll_due(&mut self) -> bool {
        let is_due = self.at_once >= CALLS_PER_POLL;
        if is_due {
            self.at_once = 0;
        }
        is_due
    }

    /// Posts what can be posted, and files the run by what it needs next. Returns true if it has
    /// moved, see [`CollectiveRun::post`].
    fn advance(&mut self, id: RunId, mut run: CollectiveRun, engine: &mut Engine<Wires>) -> bool {
        let (progress, moved) = run.post(engine);
        let next = match progress {
            Progress::Running => {
                self.running.push(id);
                RunSlot::Running(run)
            }
            Progress::Compute => {
                self.due.push(id);
                RunSlot::Due(run)
            }
            Progress::Done => RunSlot::Over(run, None),
            Progress::Failed(failure) => RunSlot::Over(run, Some(failed(failure))),
        };
        if let Some(slot) = self.slots.get_mut(id.0) {
            *slot = next;
        }
        moved
    }

    /// Advances every running run. Returns true if at least one has moved, see
    /// [`CollectiveRun::post`].
    pub(crate) fn post(&mut self, engine: &mut Engine<Wires>) -> bool {
        if self.running.is_empty() {
            return false;
        }
        let mut moved = false;
        let mut looked_at = std::mem::replace(&mut self.running, std::mem::take(&mut self.spare));
        for id in looked_at.drain(..) {
            if let Some(RunSlot::Running(run)) = self.take_out(id) {
                moved |= self.advance(id, run, engine);
            }
        }
        self.spare = looked_at;
        moved
    }

    /// True while a device works on a copy of a run. A device wakes no thread when it completes.
    pub(crate) fn is_device_busy(&self) -> bool {
        let is_copying = |id: &RunId| matches!(self.slots.get(id.0), Some(RunSlot::Running(run)) if run.copies() > 0);
        self.running.iter().any(is_copying)
    }

    /// Takes out a run whose local work is ready; the calling thread must do the work.
    pub(crate) fn take_work(&mut self) -> Option<LocalWork> {
        let id = self.due.pop()?;
        match self.take_out(id) {
            Some(RunSlot::Due(run)) => Some(LocalWork { id, run }),
            _ => None,
        }
    }

    fn take_out(&mut self, id: RunId) -> Option<RunSlot> {
        self.slots.get_mut(id.0).map(|slot| std::mem::replace(slot, RunSlot::Out))
    }

    /// Puts a run back after its local work, and posts the messages that follow.
    pub(crate) fn put_back(&mut self, job: LocalWork, engine: &mut Engine<Wires>) {
        self.advance(job.id, job.run, engine);
    }

    /// True if the run is complete.
    pub(crate) fn is_complete(&self, id: RunId) -> bool {
        matches!(self.slots.get(id.0), Some(RunSlot::Over(..)))
    }

    /// Removes a complete run and returns its error, if it failed.
    pub(crate) fn take(&mut self, id: RunId) -> Option<Error> {
        self.recover(id).1
    }

    /// Removes a complete run and returns it, so that it can be started again.
    pub(crate) fn recover(&mut self, id: RunId) -> (Option<CollectiveRun>, Option<Error>) {
        match self.slots.remove(id.0) {
            Some(RunSlot::Over(run, failure)) => (Some(run), failure),
            _ => (None, None),
        }
    }
}
