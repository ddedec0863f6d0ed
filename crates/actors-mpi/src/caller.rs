//! The thread that calls MPI.

use std::sync::OnceLock;
use std::thread::{self, ThreadId};

use crate::library::LibraryError;

/// The first thread of the process that has opened a layer: `MPI_THREAD_FUNNELED` lets no other one
/// call MPI, neither at the same time nor later.
static CALLER: OnceLock<ThreadId> = OnceLock::new();

/// Whether this thread may call MPI.
pub(crate) fn check_caller() -> Result<(), LibraryError> {
    let own = thread::current().id();
    if *CALLER.get_or_init(|| own) == own { Ok(()) } else { Err(LibraryError::OtherThread) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_of_a_process_calls_mpi() {
        let twice = || [check_caller(), check_caller()];
        let both =
            thread::scope(|scope| [scope.spawn(twice), scope.spawn(twice)].map(|one| one.join()));
        let both = both.map(|one| one.expect("it does not panic"));
        let other = [Err(LibraryError::OtherThread), Err(LibraryError::OtherThread)];
        assert!(both.contains(&[Ok(()), Ok(())]) && both.contains(&other), "{both:?}");
    }
}
