//! The state that the worker's lock protects: the engine, the requests and the collective runs of
//! the process.

use towpath_collective::Failure;
use towpath_engine::Engine;
use towpath_wires::Wires;

use super::request_table::{RequestWork, Requests};
use super::runs::Runs;
use super::wait_target::WaitTarget;

/// The state that the worker's lock protects.
pub(crate) struct State {
    /// Matching, protocols and wires.
    pub engine: Engine<Wires>,
    /// The program's requests.
    pub requests: Requests,
    /// Collective operations in flight.
    pub runs: Runs,
    /// Conditions on board lines for which threads sleep while another thread polls.
    pub(crate) watches: Vec<Watch>,
    /// True while those that have waited long look for members in other calls.
    pub(super) compares_calls: bool,
    /// Why the wait for a line must end.
    pub(super) line_failure: Option<Failure>,
}

impl State {
    /// The state of a process that has called nothing.
    pub(crate) fn new(engine: Engine<Wires>) -> State {
        let (requests, runs) = (Requests::default(), Runs::default());
        State { engine, requests, runs, watches: Vec::new(), compares_calls: false, line_failure: None }
    }

    /// Advances messages and collective runs, and checks the board lines that other threads wait
    /// for. Returns true if anything changed.
    pub(crate) fn progress(&mut self) -> bool {
        let moved = self.engine.progress();
        let posted = self.runs.post(&mut self.engine);
        moved | posted | (!self.watches.is_empty() && self.look())
    }

    /// Fails the collective call that is waited for.
    #[cold]
    pub(super) fn fail(&mut self, target: WaitTarget, failure: Failure) {
        match target {
            WaitTarget::Run(_, id) => self.runs.fail(id, failure, &mut self.engine),
            WaitTarget::Request(request) => {
                if let Ok((&RequestWork::Run(id), _)) = self.requests.work_on(request) {
                    self.runs.fail(id, failure, &mut self.engine);
                }
            }
            WaitTarget::Line(_) => self.line_failure = Some(failure),
            _ => {}
        }
    }

    /// True if a wait for this needs no messages of other hosts soon: it is a collective, and all
    /// that are under way wait on boards. `on_line`: it waits for a line itself, and not for a run.
    pub(super) fn waits_within_host(&self, target: WaitTarget, on_line: bool) -> bool {
        let is_on_board = on_line || matches!(target, WaitTarget::Run(..));
        is_on_board && self.runs.are_on_boards() && !self.engine.expects_messages()
    }

    /// True while an operation waits for a device. A device wakes no thread when it completes.
    pub(crate) fn is_device_busy(&self) -> bool {
        self.engine.is_device_busy() || self.runs.is_device_busy()
    }

    /// Removes the watches whose condition holds. Returns true if there were any.
    #[cold]
    fn look(&mut self) -> bool {
        let (before, late) = (self.watches.len(), self.compares_calls);
        // SAFETY: a watch is in the list only while its thread is in `Worker::sleep_for_line`, so
        // the closure is alive; `&mut self` means that the worker's lock is held, so no other
        // thread calls it.
        self.watches.retain(|watch| unsafe { !(*watch.0)(late) });
        self.watches.len() < before
    }
}

/// The condition that a sleeping thread waits for. Points to a closure on that thread's stack.
pub(crate) struct Watch(pub(super) *mut (dyn FnMut(bool) -> bool + 'static));

// SAFETY: the closure is called only under the worker's lock, while the thread that owns it is
// blocked in `Worker::sleep_for_line`.
unsafe impl Send for Watch {}
