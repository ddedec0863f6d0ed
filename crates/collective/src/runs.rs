//! Collective operations in flight. [`Runs::post`] starts and completes their messages and polls
//! the calls on boards, which only use predefined operations. Other local work is taken out
//! ([`Runs::take_work`]) and done without a lock of the caller, because a reduction may call a
//! function of the program.

use towpath_base::slab::{Slab, SlabKey};
use towpath_schedule::CallSignature;

use crate::board::QueueOwner;
use crate::collective_run::CollectiveRun;
use crate::failure::Failure;
use crate::order::CallOrder;
use crate::run::Progress;

/// Collective calls that end without waiting between two rounds of progress. A rank whose partners
/// always arrive first never waits, but must make progress on its messages all the same (3.5).
pub const CALLS_PER_POLL: u64 = 8;

/// Runs that one look for mismatches examines.
const RUNS_PER_LOOK: usize = 8;

/// Identifies a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunId(SlabKey);

enum RunSlot<O> {
    /// Other members are waited for.
    Running(CollectiveRun<O>),
    /// Copies or reductions are ready to run.
    Due(CollectiveRun<O>),
    /// A thread has taken the run out to work on it.
    Out,
    /// Complete. Kept until the request is completed; a persistent request starts the run again.
    Over(CollectiveRun<O>, Option<Failure>),
}

/// A run taken out of the worker for its local work.
pub struct LocalWork<O> {
    id: RunId,
    run: CollectiveRun<O>,
}

impl<O: QueueOwner> LocalWork<O> {
    /// Copies and reduces; may call the program.
    pub fn compute(&mut self) {
        self.run.compute();
    }
}

/// All runs of the process.
pub struct Runs<O> {
    slots: Slab<RunSlot<O>>,
    /// The `Running` runs, in start order.
    running: Vec<RunId>,
    /// Empty list to swap with `running` in the next pass, so that a pass does not allocate.
    spare: Vec<RunId>,
    /// The `Due` runs.
    due: Vec<RunId>,
    /// Number of runs that were over as soon as they were added, since the last poll for them.
    at_once: u64,
}

impl<O> Default for Runs<O> {
    fn default() -> Runs<O> {
        let (running, spare, due) = (Vec::new(), Vec::new(), Vec::new());
        Runs { slots: Slab::default(), running, spare, due, at_once: 0 }
    }
}

impl<O: QueueOwner> Runs<O> {
    /// Adds a run and posts its first messages.
    pub fn add<R>(&mut self, run: R, engine: &mut O::Engine) -> RunId
    where
        R: Into<CollectiveRun<O>>,
    {
        let id = RunId(self.slots.insert(RunSlot::Out));
        self.advance(id, run.into(), engine);
        if self.is_complete(id) {
            self.at_once += 1;
        }
        id
    }

    /// Counts a call that was over before it was added.
    #[inline]
    pub fn count_at_once(&mut self) {
        self.at_once += 1;
    }

    /// True if the caller should make a round of progress after adding a run.
    #[inline]
    pub fn is_poll_due(&mut self) -> bool {
        let is_due = self.at_once >= CALLS_PER_POLL;
        if is_due {
            self.at_once = 0;
        }
        is_due
    }

    /// Posts what can be posted, and files the run by what it needs next. Returns true if it has
    /// moved, see [`CollectiveRun::post`].
    fn advance(&mut self, id: RunId, mut run: CollectiveRun<O>, engine: &mut O::Engine) -> bool {
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
            Progress::Failed(failure) => RunSlot::Over(run, Some(failure)),
        };
        if let Some(slot) = self.slots.get_mut(id.0) {
            *slot = next;
        }
        moved
    }

    /// Advances every running run. Returns true if at least one has moved, see
    /// [`CollectiveRun::post`].
    pub fn post(&mut self, engine: &mut O::Engine) -> bool {
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

    /// True if a run waits for other members. Whoever waits with it should call
    /// [`Runs::find_mismatches`] from time to time.
    #[inline]
    pub fn is_waiting(&self) -> bool {
        !self.running.is_empty()
    }

    /// True if all runs wait for members on boards.
    pub fn are_on_boards(&self) -> bool {
        self.running.iter().all(|id| match self.slots.get(id.0) {
            Some(RunSlot::Running(run)) => run.is_on_board(),
            _ => false,
        })
    }

    /// Fails runs whose members have called other collectives, as far as their messages tell. Looks
    /// at the oldest ones only. True if there was one.
    pub fn find_mismatches(&mut self, engine: &mut O::Engine) -> bool {
        let mut has_found = false;
        for id in self.running.iter().take(RUNS_PER_LOOK) {
            if let Some(RunSlot::Running(run)) = self.slots.get_mut(id.0) {
                has_found |= run.find_mismatch(engine);
            }
        }
        has_found
    }

    /// The place of a run that waits for other members, and what it calls.
    pub fn placed(&self, id: RunId) -> Option<(CallOrder, CallSignature)> {
        match self.slots.get(id.0) {
            Some(RunSlot::Running(run)) => run.placed(),
            _ => None,
        }
    }

    /// Fails a run that waits for other members, which have called something else. It is complete
    /// with the next [`Runs::post`].
    pub fn fail(&mut self, id: RunId, failure: Failure, engine: &mut O::Engine) {
        if let Some(RunSlot::Running(run)) = self.slots.get_mut(id.0) {
            run.fail(failure, engine);
        }
    }

    /// True while a device works on a copy of a run. A device wakes no thread when it completes.
    pub fn is_device_busy(&self) -> bool {
        let is_copying = |id: &RunId| match self.slots.get(id.0) {
            Some(RunSlot::Running(run)) => run.device_work() > 0,
            _ => false,
        };
        self.running.iter().any(is_copying)
    }

    /// Takes out a run whose local work is ready; the calling thread must do the work.
    pub fn take_work(&mut self) -> Option<LocalWork<O>> {
        let id = self.due.pop()?;
        match self.take_out(id) {
            Some(RunSlot::Due(run)) => Some(LocalWork { id, run }),
            _ => None,
        }
    }

    fn take_out(&mut self, id: RunId) -> Option<RunSlot<O>> {
        self.slots.get_mut(id.0).map(|slot| std::mem::replace(slot, RunSlot::Out))
    }

    /// Puts a run back after its local work, and posts the messages that follow.
    pub fn put_back(&mut self, job: LocalWork<O>, engine: &mut O::Engine) {
        self.advance(job.id, job.run, engine);
    }

    /// True if the run is complete.
    pub fn is_complete(&self, id: RunId) -> bool {
        matches!(self.slots.get(id.0), Some(RunSlot::Over(..)))
    }

    /// Removes a complete run and returns why it has failed, if it has.
    pub fn take(&mut self, id: RunId) -> Option<Failure> {
        self.recover(id).1
    }

    /// Removes a complete run and returns it, so that it can be started again.
    pub fn recover(&mut self, id: RunId) -> (Option<CollectiveRun<O>>, Option<Failure>) {
        match self.slots.remove(id.0) {
            Some(RunSlot::Over(run, failure)) => (Some(run), failure),
            _ => (None, None),
        }
    }
}
