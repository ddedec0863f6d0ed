//! How long the methods of each chare run, while the job balances loads or is observed.

use crate::balance::{Balancer, BalancerOptions, MigrationCost};
use crate::chares::ChareId;
use crate::clocks::MethodStart;
use crate::runtime::Runtime;
use crate::state::State;

impl Runtime {
    /// The runtime with load balancing. Called before it does anything else, on all ranks.
    #[must_use]
    pub fn with_balancer(mut self, options: BalancerOptions) -> Runtime {
        self.balancing = options;
        self.measures.set(self.measures.get() || self.balances());
        let state = self.state.get_mut();
        state.clocks.restart(state.layer.as_ref());
        self
    }

    /// Measures how long methods run, or does so no longer if no loads are balanced.
    pub(crate) fn measure_methods(&self, measures: bool) {
        let measures = measures || self.balances();
        if measures && !self.measures.replace(measures) {
            let state = &mut *self.state.borrow_mut();
            state.clocks.restart(state.layer.as_ref());
        }
        self.measures.set(measures);
    }

    /// Whether loads are balanced.
    #[inline]
    pub(crate) fn balances(&self) -> bool {
        self.balancing.balancer != Balancer::None
    }

    /// A method is about to run.
    #[inline]
    pub(crate) fn method_begins(&self) -> Option<MethodStart> {
        self.measures.get().then(|| {
            let state = &mut *self.state.borrow_mut();
            state.clocks.begin(state.layer.as_ref())
        })
    }

    /// It has ended.
    #[inline]
    pub(crate) fn method_ends(&self, id: ChareId, begun: Option<MethodStart>) {
        if let Some(begun) = begun {
            self.add_load(id, begun);
        }
    }

    /// The rank has waited.
    pub(crate) fn has_waited(&self) {
        if self.measures.get() {
            let state = &mut *self.state.borrow_mut();
            state.clocks.restart(state.layer.as_ref());
        }
    }

    fn add_load(&self, id: ChareId, begun: MethodStart) {
        let state = &mut *self.state.borrow_mut();
        let ran = state.clocks.end(begun, state.layer.as_ref());
        let collection = state.collections.get_mut(&id.collection);
        if let Some(element) = collection.and_then(|known| known.element_mut(&id.index)) {
            element.load += ran;
        }
    }
}

impl State {
    /// An element of so many bytes was packed and sent, or unpacked; that began at this moment.
    pub(crate) fn has_moved(&mut self, bytes: usize, begun: Option<MethodStart>) {
        if let Some(begun) = begun {
            let time = self.layer.time().saturating_sub(begun.time);
            let moved = MigrationCost { bytes: bytes as u64, time };
            self.balancing.cost = self.balancing.cost.plus(moved);
        }
    }
}
