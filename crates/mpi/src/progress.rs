//! The progress engine of this process: matching engine, requests and collective runs behind one
//! lock, and the only waiting loop of Towpath.

pub(crate) mod board_calls;
pub(crate) mod completion;
pub(crate) mod counters;
pub(crate) mod held_up;
pub(crate) mod request_table;
pub(crate) mod runs;
pub(crate) mod state;
#[cfg(test)]
mod tests;
pub(crate) mod wait_target;
pub(crate) mod worker;

use std::sync::OnceLock;

use worker::Worker;

use towpath_neutral::error::{Result, fail};

static WORKER: OnceLock<Worker> = OnceLock::new();

/// Stores the worker, once.
pub(crate) fn set_worker(worker: Worker) -> &'static Worker {
    assert!(WORKER.set(worker).is_ok(), "the worker is made once");
    WORKER.get().expect("the worker was just stored")
}

/// The worker, or an error before MPI_Init.
#[inline]
pub(crate) fn worker() -> Result<&'static Worker> {
    match WORKER.get() {
        Some(worker) => Ok(worker),
        None => fail!(ERR_OTHER, "MPI is not initialized; call MPI_Init first"),
    }
}
