//! Collective operations under way: the lane posts their messages, and their local work is done
//! with the lock released, because a reduction may be a function of the program.

use towpath_collective::{Failure, Progress, Run};
use towpath_engine::Engine;
use towpath_wires::Wires;

use crate::constants::{ERR_PROC_ABORTED, ERR_TRUNCATE};
use crate::error::Error;

/// Names a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunId(usize);

enum Place {
    Vacant,
    /// Messages are under way.
    Running(Box<Run>),
    /// Copies or reductions are due.
    Due(Box<Run>),
    /// A thread works on it.
    Out,
    /// Over; kept until the request is completed, and started again if it is persistent.
    Over(Box<Run>, Option<Error>),
}

/// A run whose local work is done outside the lane.
pub struct Job {
    id: RunId,
    run: Box<Run>,
}

impl Job {
    /// Copies and reduces; may call the program.
    pub fn compute(&mut self) {
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
pub struct Runs {
    places: Vec<Place>,
    vacant: Vec<usize>,
    /// Runs that are `Running`, in the order in which they were started.
    running: Vec<usize>,
    /// An empty list for the next look at those, so that looking allocates nothing.
    spare: Vec<usize>,
    /// Runs that are `Due`.
    due: Vec<usize>,
}

impl Runs {
    /// Begins a run; its first messages are posted at once.
    pub fn add(&mut self, run: Box<Run>, engine: &mut Engine<Wires>) -> RunId {
        let index = self.vacant.pop().unwrap_or_else(|| {
            self.places.push(Place::Vacant);
            self.places.len() - 1
        });
        self.advance(index, run, engine);
        RunId(index)
    }

    /// Posts what can be posted and files the run under what it needs next.
    fn advance(&mut self, index: usize, mut run: Box<Run>, engine: &mut Engine<Wires>) {
        self.places[index] = match run.post(engine) {
            Progress::Running => {
                self.running.push(index);
                Place::Running(run)
            }
            Progress::Compute => {
                self.due.push(index);
                Place::Due(run)
            }
            Progress::Done => Place::Over(run, None),
            Progress::Failed(failure) => Place::Over(run, Some(failed(failure))),
        };
    }

    /// Looks at every running run; true when one of them is not merely waiting any more.
    pub fn post(&mut self, engine: &mut Engine<Wires>) -> bool {
        if self.running.is_empty() {
            return false;
        }
        let before = self.running.len();
        let mut looked_at = std::mem::replace(&mut self.running, std::mem::take(&mut self.spare));
        for index in looked_at.drain(..) {
            if let Place::Running(run) = std::mem::replace(&mut self.places[index], Place::Out) {
                self.advance(index, run, engine);
            }
        }
        self.spare = looked_at;
        self.running.len() != before
    }

    /// A run with local work, for the calling thread to do.
    pub fn take_work(&mut self) -> Option<Job> {
        let index = self.due.pop()?;
        match std::mem::replace(&mut self.places[index], Place::Out) {
            Place::Due(run) => Some(Job { id: RunId(index), run }),
            other => {
                self.places[index] = other;
                None
            }
        }
    }

    /// Takes a run back after its local work and posts what follows.
    pub fn put_back(&mut self, job: Job, engine: &mut Engine<Wires>) {
        self.advance(job.id.0, job.run, engine);
    }

    /// Is the run over?
    pub fn is_complete(&self, id: RunId) -> bool {
        matches!(self.places[id.0], Place::Over(..))
    }

    /// Forgets a run that is over; its error, if it failed.
    pub fn take(&mut self, id: RunId) -> Option<Error> {
        self.recover(id).1
    }

    /// Takes a run that is over back, to be started again later.
    pub fn recover(&mut self, id: RunId) -> (Option<Box<Run>>, Option<Error>) {
        self.vacant.push(id.0);
        match std::mem::replace(&mut self.places[id.0], Place::Vacant) {
            Place::Over(run, failure) => (Some(run), failure),
            _ => (None, None),
        }
    }
}
