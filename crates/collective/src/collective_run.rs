//! Collective operations under way, by any way: a plan of messages, a call on a board, or phases of
//! both.

use towpath_schedule::CallSignature;

use crate::board::{QueueOwner, QueuedCall};
use crate::failure::Failure;
use crate::order::CallOrder;
use crate::phased::PhasedCall;
use crate::run::{Progress, Run};

/// A collective operation under way, or a persistent one between two starts.
pub enum CollectiveRun<O> {
    /// A plan of messages.
    ByMessages(Box<Run>),
    /// A call in the queue of a board.
    Queued(Box<QueuedCall<O>>),
    /// A call over several hosts.
    Phased(Box<PhasedCall<O>>),
}

impl<O> From<Box<Run>> for CollectiveRun<O> {
    fn from(run: Box<Run>) -> CollectiveRun<O> {
        CollectiveRun::ByMessages(run)
    }
}

impl<O> From<Box<PhasedCall<O>>> for CollectiveRun<O> {
    fn from(call: Box<PhasedCall<O>>) -> CollectiveRun<O> {
        CollectiveRun::Phased(call)
    }
}

impl<O: QueueOwner> CollectiveRun<O> {
    /// Makes an operation that is over, and is not persistent, another one with a sequence number
    /// of its own. It must be started next.
    pub fn renew(&mut self, sequence: u64) {
        match self {
            CollectiveRun::ByMessages(run) => run.renumber(sequence),
            CollectiveRun::Queued(call) => call.renew(sequence),
            CollectiveRun::Phased(call) => call.renew(sequence),
        }
    }

    /// Bytes of memory that an operation that is over occupies.
    pub fn bytes(&self) -> usize {
        match self {
            CollectiveRun::ByMessages(run) => run.bytes(),
            CollectiveRun::Queued(call) => call.bytes(),
            CollectiveRun::Phased(call) => call.bytes(),
        }
    }

    /// Starts an operation that is held.
    ///
    /// # Safety
    /// The memory that the operation names must live until it is complete.
    ///
    /// # Panics
    /// If it is under way.
    pub unsafe fn start_again(&mut self) {
        // SAFETY: the memory that the operation names lives until it is complete (this function's
        // contract).
        unsafe {
            match self {
                CollectiveRun::ByMessages(run) => run.start_again(),
                CollectiveRun::Queued(call) => call.start_again(),
                CollectiveRun::Phased(call) => call.start_again(),
            }
        }
    }

    /// Goes on as far as possible without waiting. Also returns true if a thread must not sleep
    /// before it has announced its sleep again: a device has completed a copy, or the run does not
    /// wait for what it waited for before.
    pub fn post(&mut self, engine: &mut O::Engine) -> (Progress, bool) {
        let copies = self.device_work();
        let (progress, has_moved) = match self {
            CollectiveRun::ByMessages(run) => (run.post(engine), false),
            CollectiveRun::Queued(call) => call.post(engine),
            CollectiveRun::Phased(call) => call.post(engine),
        };
        (progress, has_moved || progress != Progress::Running || self.device_work() < copies)
    }

    /// Executes the copies and reductions that are ready, like [`Run::compute`].
    pub fn compute(&mut self) {
        match self {
            CollectiveRun::ByMessages(run) => run.compute(),
            CollectiveRun::Queued(call) => call.compute(),
            CollectiveRun::Phased(call) => call.compute(),
        }
    }

    /// Looks for messages of other calls, like [`Run::find_mismatch`]. After true, the next
    /// [`CollectiveRun::post`] returns the failure.
    pub fn find_mismatch(&mut self, engine: &mut O::Engine) -> bool {
        match self {
            CollectiveRun::ByMessages(run) => run.find_mismatch(engine),
            CollectiveRun::Queued(call) => call.find_mismatch(engine),
            CollectiveRun::Phased(call) => call.find_mismatch(engine),
        }
    }

    /// Ends an operation under way, whose members have called something else. The next
    /// [`CollectiveRun::post`] returns the failure.
    pub fn fail(&mut self, failure: Failure, engine: &mut O::Engine) {
        match self {
            CollectiveRun::ByMessages(run) => run.fail(failure, engine),
            CollectiveRun::Queued(call) => call.fail(failure, engine),
            CollectiveRun::Phased(call) => call.fail(failure, engine),
        }
    }

    /// Places it among the calls of its communicator.
    pub fn place(mut self, order: CallOrder) -> CollectiveRun<O> {
        match &mut self {
            CollectiveRun::ByMessages(run) => run.order = Some(order),
            CollectiveRun::Queued(call) => call.order = Some(order),
            CollectiveRun::Phased(call) => call.order = Some(order),
        }
        self
    }

    /// Its place, if it has one, and what it calls.
    pub fn placed(&self) -> Option<(CallOrder, CallSignature)> {
        Some(match self {
            CollectiveRun::ByMessages(run) => (run.order?, run.signature()),
            CollectiveRun::Queued(call) => (call.order?, call.signature()),
            CollectiveRun::Phased(call) => (call.order?, call.signature()),
        })
    }

    /// True while the run waits for members on a board.
    pub fn is_on_board(&self) -> bool {
        match self {
            CollectiveRun::ByMessages(_) => false,
            CollectiveRun::Queued(call) => call.is_on_board(),
            CollectiveRun::Phased(call) => call.is_on_board(),
        }
    }

    /// Number of copies and reductions that devices work on, like [`Run::device_work`].
    pub fn device_work(&self) -> usize {
        match self {
            CollectiveRun::ByMessages(run) => run.device_work(),
            CollectiveRun::Queued(call) => call.device_work(),
            CollectiveRun::Phased(call) => call.device_work(),
        }
    }
}
