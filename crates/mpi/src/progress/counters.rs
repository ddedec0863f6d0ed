//! The counters of this process, gathered from the engine, the wires and the waiter, and printed at
//! MPI_Finalize.

use towpath_base::config;
use towpath_base::events::Counters;
use towpath_clic_wire::Clic;

use super::worker::Worker;
use crate::process;

impl Worker {
    /// The counters of this process. `sleeps` is 0 while another thread polls.
    pub(crate) fn counters(&self) -> Counters {
        let sleeps = self.sleeps().unwrap_or_default();
        self.with(|state| {
            let multicast_frames = state.engine.wire().clic().map_or(0, Clic::frames_of_groups);
            Counters { multicast_frames, sleeps, ..state.engine.subscriber().clone() }
        })
    }
}

/// Prints the counters of this process, if TOWPATH_SHOW_COUNTERS is 1.
pub(crate) fn show(worker: &Worker) {
    if config::number("TOWPATH_SHOW_COUNTERS") == Some(1) {
        let rows = worker.counters().rows();
        let rows = rows.map(|(name, count)| format!("\n  {name}: {count}")).concat();
        let me = process::name_of(process::me());
        process::say_lines(&format!("towpath: counters of {me}:{rows}"));
    }
}
