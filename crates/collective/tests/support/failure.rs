//! Runs that may fail.

use std::time::{Duration, Instant};

use towpath_collective::{CollectiveRun, Failure, Progress};

use super::support::{Caller, Counted};

/// How long a rank waits before it looks for members in other calls.
pub(crate) const LONG: Duration = Duration::from_millis(20);

/// Completes a run. Returns its failure, if it fails.
pub(crate) fn failure_of(
    run: &mut CollectiveRun<Caller>,
    counted: &mut Counted,
) -> Option<Failure> {
    let mut looked = Instant::now();
    loop {
        counted.engine.progress();
        match run.post(counted).0 {
            Progress::Running => std::thread::yield_now(),
            Progress::Compute => run.compute(),
            Progress::Done => return None,
            Progress::Failed(failure) => return Some(failure),
        }
        if looked.elapsed() > LONG {
            looked = Instant::now();
            run.find_mismatch(counted);
        }
    }
}
