//! Collective operations in flight. The worker posts their messages; their local work runs without
//! the lock, because a reduction may call a function of the program.

use towpath_base::slab::{Slab, SlabKey};
use towpath_collective::{Failure, Progress, Run};
use towpath_engine::Engine;
use towpath_neutral::constants::{ERR_PROC_ABORTED, ERR_TRUNCATE};
use towpath_neutral::error::Error;
use towpath_wires::Wires;

/// Identifies a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunId(SlabKey);

enum RunSlot {
    /// Messages are in flight.
    Running(Box<Run>),
    /// Copies or reductions are ready to run.
    Due(Box<Run>),
    /// A thread has taken the run out to work on it.
    Out,
    /// Complete. Kept until the request is completed; a persistent request starts the run again.
    Over(Box<Run>, Option<Error>),
}

/// A run taken out of the worker for its local work.
pub(crate) struct LocalWork {
    id: RunId,
    run: Box<Run>,
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
        Failure::Lost => ERR_PROC_ABORTED,
    };
    Error::new(class, failure.to_string())
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
}

impl Runs {
    /// Adds a run and posts its first messages.
    pub(crate) fn add(&mut self, run: Box<Run>, engine: &mut Engine<Wires>) -> RunId {
        let id = RunId(self.slots.insert(RunSlot::Out));
        self.advance(id, run, engine);
        id
    }

    /// Posts what can be posted, and files the run by what it needs next. Returns true if a device
    /// has completed a copy, or the run no longer waits for messages.
    fn advance(&mut self, id: RunId, mut run: Box<Run>, engine: &mut Engine<Wires>) -> bool {
        let copies = run.copies();
        let progress = run.post(engine);
        let moved = progress != Progress::Running || run.copies() < copies;
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

    /// Advances every running run. Returns true if at least one is no longer waiting for messages,
    /// or a device has completed a copy of one.
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
    pub(crate) fn recover(&mut self, id: RunId) -> (Option<Box<Run>>, Option<Error>) {
        match self.slots.remove(id.0) {
            Some(RunSlot::Over(run, failure)) => (Some(run), failure),
            _ => (None, None),
        }
    }
}
