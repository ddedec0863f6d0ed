//! How long the methods of each chare run, while the job balances loads.
//!
//! What counts is the time for which a method had the processor. Reading that clock is a system
//! call; the clock of the host is not. A method that was interrupted takes as long as the time
//! slice of another process at least, so only long methods are corrected.

use crate::balance::{Balancer, BalancerOptions, MigrationCost};
use crate::chares::ChareId;
use crate::layer::MachineLayer;
use crate::runtime::Runtime;
use crate::state::State;

/// Nanoseconds from which on a method may have been interrupted.
const LONG: u64 = 200_000;

/// Two clocks that were read at the same moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clocks {
    time: u64,
    processor: u64,
}

impl Clocks {
    /// Reads both.
    pub(crate) fn read(layer: &dyn MachineLayer) -> Clocks {
        Clocks { time: layer.time(), processor: layer.processor_time() }
    }

    /// How long a method has run that began at this moment and has ended.
    fn since(&mut self, begun: u64, layer: &dyn MachineLayer) -> u64 {
        let passed = layer.time().saturating_sub(begun);
        if passed < LONG {
            return passed;
        }
        let now = Clocks::read(layer);
        let ran = now.processor.saturating_sub(self.processor);
        let interrupted = now.time.saturating_sub(self.time).saturating_sub(ran);
        *self = now;
        passed.saturating_sub(interrupted)
    }
}

impl Runtime {
    /// The runtime with load balancing. Called before it does anything else, on all ranks.
    #[must_use]
    pub fn with_balancer(mut self, options: BalancerOptions) -> Runtime {
        self.balancing = options;
        let state = self.state.get_mut();
        state.clocks = Clocks::read(state.layer.as_ref());
        self
    }

    /// Whether loads are measured.
    #[inline]
    pub(crate) fn balances(&self) -> bool {
        self.balancing.balancer != Balancer::None
    }

    /// A method is about to run.
    #[inline]
    pub(crate) fn method_begins(&self) -> Option<u64> {
        self.balances().then(|| self.state.borrow().layer.time())
    }

    /// It has ended.
    #[inline]
    pub(crate) fn method_ends(&self, id: ChareId, begun: Option<u64>) {
        if let Some(begun) = begun {
            self.add_load(id, begun);
        }
    }

    /// Waits until there may be something to do.
    pub(crate) fn wait(&self) {
        let state = &mut *self.state.borrow_mut();
        state.layer.wait();
        if self.balances() {
            state.clocks = Clocks::read(state.layer.as_ref());
        }
    }

    fn add_load(&self, id: ChareId, begun: u64) {
        let state = &mut *self.state.borrow_mut();
        let ran = state.clocks.since(begun, state.layer.as_ref());
        let collection = state.collections.get_mut(&id.collection);
        if let Some(element) = collection.and_then(|known| known.element_mut(&id.index)) {
            element.load += ran;
        }
    }
}

impl State {
    /// An element of so many bytes was packed and sent, or unpacked, which has begun at this moment.
    pub(crate) fn has_moved(&mut self, bytes: usize, begun: Option<u64>) {
        if let Some(begun) = begun {
            let time = self.layer.time().saturating_sub(begun);
            let moved = MigrationCost { bytes: bytes as u64, time };
            self.balancing.cost = self.balancing.cost.plus(moved);
        }
    }
}
