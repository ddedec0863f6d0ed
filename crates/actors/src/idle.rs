//! What a rank does that has nothing to do.

use std::time::Duration;

use crate::callback::ChareCallback;
use crate::collection::CollectionId;
use crate::control::{ControlMessage, ExitScope};
use crate::quiescence::WaveStep;
use crate::runtime::Runtime;
use crate::state::State;

impl State {
    /// How long this rank waits before it starts a wave, if it does: one that somebody waits for,
    /// else one that nobody has asked for.
    fn until_wave(&self) -> Option<Duration> {
        if self.rank != 0 || self.quiescence.is_active() {
            return None;
        }
        let unasked = || match (self.ranks, self.timers.is_empty()) {
            // Without other ranks, nothing can arrive.
            (1, true) => Some(Duration::ZERO),
            (1, false) => None,
            _ => Some(self.stall.pause()),
        };
        self.pauses.rest(|| self.layer.time()).or_else(unasked)
    }

    /// At rank 0: whether somebody waits for quiescence.
    fn awaits_quiescence(&self) -> bool {
        !self.quiescence_clients.is_empty() || self.checkpoint.waits_for_quiescence()
    }

    /// How long this rank waits until a callback is due, if there is one.
    pub(crate) fn until_timer(&self) -> Option<Duration> {
        // The clock is not read for nothing.
        if self.timers.is_empty() { None } else { self.timers.until_next(self.layer.time()) }
    }
}

impl Runtime {
    /// Calls what is to be called when this rank has nothing to do, as it has now, or else waits
    /// until there may be something to do. If no rank ever will have, the job ends.
    pub fn wait(&self) {
        let has_called = self.idle_calls_end();
        let mut state = self.state.borrow_mut();
        let wave = state.until_wave();
        let limit = wave.into_iter().chain(state.until_timer()).min();
        let has_no_time = limit == Some(Duration::ZERO);
        let has_passed = has_no_time || (!has_called && state.layer.wait(limit));
        drop(state);
        self.has_waited();
        if has_passed && wave.is_some() && limit == wave {
            let mut state = self.state.borrow_mut();
            if !state.pauses.end() {
                let now = state.layer.time();
                state.stall.begin(now);
            }
            drop(state);
            self.count_messages();
        }
    }

    /// Tells a callback after some time, once the method that runs then has returned. Quiescence
    /// waits for that.
    pub fn call_after(&self, delay: Duration, callback: ChareCallback) {
        let mut state = self.state.borrow_mut();
        state.counts.sent += 1;
        let delay = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        let at = state.layer.time().saturating_add(delay);
        state.timers.add(at, callback);
    }

    /// Tells callbacks that are due. Whether there were any.
    pub(crate) fn timers_end(&self) -> bool {
        let now = self.state.borrow().layer.time();
        let mut has_told = false;
        while let Some(callback) = { self.state.borrow_mut().timers.next(now) } {
            self.state.borrow_mut().counts.processed += 1;
            self.noticed(self.call(callback, &[]));
            has_told = true;
        }
        has_told
    }

    /// Calls a function of this rank ([`crate::Chares::call_back`]), once, when this rank has
    /// nothing to do. Quiescence does not wait for that, but the job goes on until then.
    pub fn call_when_idle(&self, function: u64) {
        let mut state = self.state.borrow_mut();
        state.counts.idle_calls += 1;
        state.idle_calls.push(function);
    }

    /// Calls these functions. Whether there were any.
    fn idle_calls_end(&self) -> bool {
        // What they ask for is called when this rank has looked for messages.
        let calls = std::mem::take(&mut self.state.borrow_mut().idle_calls);
        for function in &calls {
            self.noticed(self.call_function(*function, &[]));
            self.state.borrow_mut().counts.idle_calls -= 1;
        }
        !calls.is_empty()
    }

    /// At rank 0: somebody wants to be told of quiescence.
    pub(crate) fn await_quiescence(&self, callback: ChareCallback) {
        self.state.borrow_mut().quiescence_clients.push(callback);
        self.count_messages();
    }

    /// Starts a wave of quiescence detection here and below, unless one is under way: who waits is
    /// told when that one ends.
    pub(crate) fn count_messages(&self) {
        let mut state = self.state.borrow_mut();
        if !state.quiescence.is_active() {
            state.pauses.end();
            state.quiescence.begin();
            state.tell_below(&ControlMessage::CountMessages);
        }
    }

    /// The rank has nothing to do: answers a wave. Whether there was one.
    pub(crate) fn idle(&self) -> bool {
        let mut state = self.state.borrow_mut();
        let (counts, tree) = (state.counts, state.job_tree());
        let Some(step) = state.quiescence.idle(counts, tree.parent().is_none()) else {
            return false;
        };
        match step {
            WaveStep::Start(counts) => {
                let now = state.layer.time();
                let is_second = state.stall.found_work(counts.are_balanced(), now);
                let is_awaited = state.awaits_quiescence();
                let is_next = is_second || (is_awaited && !state.pauses.begin(counts, now));
                drop(state);
                if is_next {
                    self.count_messages();
                }
            }
            WaveStep::Report(counts) => {
                let counted = ControlMessage::Counted(counts);
                let parent = tree.parent().unwrap_or(0);
                state.tell(parent, CollectionId::SINGLE_CHARES, counted);
            }
            WaveStep::Quiescent(counts) => {
                state.stall.end();
                let is_over = counts.idle_calls == 0;
                if counts.waiting + counts.held > 0 {
                    if is_over {
                        drop(state);
                        self.exit_here(1, ExitScope::Undelivered);
                    } else if state.awaits_quiescence() {
                        // What a rank calls when it is idle may let them go on.
                        let now = state.layer.time();
                        state.pauses.begin_quiet(counts, now);
                    }
                    return true;
                }
                drop(state);
                match self.is_for_checkpoint(counts.waiting) {
                    Ok(false) => {}
                    Ok(true) => return true,
                    Err(error) => {
                        self.fail(error);
                        return true;
                    }
                }
                let clients = std::mem::take(&mut self.state.borrow_mut().quiescence_clients);
                if clients.is_empty() && is_over {
                    self.exit_here(1, ExitScope::Stalled);
                }
                for client in clients {
                    self.noticed(self.call(client, &[]));
                }
            }
        }
        true
    }
}
