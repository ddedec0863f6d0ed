//! The runtime of this thread, while it takes part in a job.

use std::cell::Cell;
use std::ptr;

use towpath_actors::Runtime;

/// A runtime, and what its program is compared by.
pub(crate) struct CurrentJob {
    pub(crate) runtime: Runtime,
    pub(crate) fingerprint: u64,
}

thread_local! {
    /// Null, or what `towpath_start` has made and `towpath_stop` takes away.
    pub(crate) static JOB: Cell<*mut CurrentJob> = const { Cell::new(ptr::null_mut()) };
}

const NOT_STARTED: &str = "towpath_start has not been called by this thread";

/// Uses the job of this thread.
pub(crate) fn with_job<T>(
    use_it: impl FnOnce(&CurrentJob) -> Result<T, String>,
) -> Result<T, String> {
    // SAFETY: `towpath_stop` takes nothing away while the job runs, and calls nothing of the
    // program.
    let job = unsafe { JOB.get().as_ref() };
    use_it(job.ok_or(NOT_STARTED)?)
}

/// Uses the runtime of this thread.
#[inline]
pub(crate) fn with_runtime<T>(
    use_it: impl FnOnce(&Runtime) -> Result<T, String>,
) -> Result<T, String> {
    with_job(|job| use_it(&job.runtime))
}
