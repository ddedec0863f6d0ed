//! The runtime of this thread, while it takes part in a job.

use std::cell::Cell;
use std::ptr;

use towpath_actors::Runtime;

/// A runtime, and what its program is compared by.
pub(crate) struct CurrentJob {
    pub(crate) runtime: Runtime,
    pub(crate) fingerprint: u64,
    /// Whether a function of the library uses it, further up the stack.
    pub(crate) is_used: Cell<bool>,
}

thread_local! {
    /// Null, or what `towpath_start` has made and `towpath_stop` takes away. Null too while a
    /// reducer runs.
    pub(crate) static JOB: Cell<*mut CurrentJob> = const { Cell::new(ptr::null_mut()) };

    /// During a job, this rank and how many there are.
    pub(crate) static PLACE: Cell<Option<(u32, u32)>> = const { Cell::new(None) };
}

const NOT_STARTED: &str = "towpath_start has not been called by this thread";
const IN_REDUCER: &str = "a reducer has called a function of the library other than \
                          towpath_value_*, towpath_rank, towpath_ranks and towpath_fail";

/// Uses the job of this thread.
pub(crate) fn with_job<T>(
    use_it: impl FnOnce(&CurrentJob) -> Result<T, String>,
) -> Result<T, String> {
    // SAFETY: `towpath_start` has made it, and `towpath_stop` takes nothing away that is used.
    let job = unsafe { JOB.get().as_ref() };
    let job = job.ok_or_else(|| if PLACE.get().is_some() { IN_REDUCER } else { NOT_STARTED })?;
    let outer = job.is_used.replace(true);
    let result = use_it(job);
    job.is_used.set(outer);
    result
}

/// Whether a function of the library has called the program.
pub(crate) fn is_used() -> bool {
    // SAFETY: as in `with_job`.
    unsafe { JOB.get().as_ref() }.is_some_and(|job| job.is_used.get())
}

/// Uses the runtime of this thread.
#[inline]
pub(crate) fn with_runtime<T>(
    use_it: impl FnOnce(&Runtime) -> Result<T, String>,
) -> Result<T, String> {
    with_job(|job| use_it(&job.runtime))
}

/// Calls a reducer of the program. The state of the runtime is borrowed meanwhile, so all functions
/// of the library that need it are refused.
pub(crate) fn without_job(reducer: impl FnOnce()) {
    let job = JOB.replace(ptr::null_mut());
    reducer();
    JOB.set(job);
}
