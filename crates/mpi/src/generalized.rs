//! Generalized requests: operations of the program behind MPI requests (MPI 5.0, section 13.2).

use std::ffi::c_void;

use towpath_base::sync::{AtomicBool, AtomicU32, Ordering};

use crate::constants::SUCCESS;
use crate::error::{Error, Result};
use crate::face::{Callback, Face, FortranCalls, Status};
use crate::world;

/// The program's functions and whether it said that the operation is complete.
pub struct Generalized {
    query: Callback,
    free_state: Callback,
    cancel: Callback,
    extra: *mut c_void,
    ends: Ends,
    /// The functions are of Fortran.
    fortran: AtomicBool,
}

/// Which of MPI_Grequest_complete and MPI_Request_free have been called. One word, so that of two
/// threads that call them at the same time exactly one sees that the other was there before.
#[derive(Default)]
struct Ends(AtomicU32);

const COMPLETE: u32 = 1;
const FREED: u32 = 2;

impl Ends {
    /// MPI_Grequest_complete; true when the request was freed before.
    fn complete(&self) -> bool {
        self.0.fetch_or(COMPLETE, Ordering::AcqRel) == FREED
    }

    /// MPI_Request_free; true when the operation was complete before.
    fn free(&self) -> bool {
        self.0.fetch_or(FREED, Ordering::AcqRel) == COMPLETE
    }

    fn is_complete(&self) -> bool {
        self.0.load(Ordering::Acquire) & COMPLETE != 0
    }
}

// SAFETY: the pointers are the program's and are only handed back to it.
unsafe impl Send for Generalized {}
// SAFETY: as above.
unsafe impl Sync for Generalized {}

fn checked(code: i32, which: &str) -> Result<()> {
    if code == SUCCESS {
        return Ok(());
    }
    Err(Error::new(code, format!("the {which} function of the generalized request failed with code {code}")))
}

impl Generalized {
    /// An operation that has not completed.
    pub fn new(query: Callback, free: Callback, cancel: Callback, extra: *mut c_void) -> Generalized {
        Generalized { query, free_state: free, cancel, extra, ends: Ends::default(), fortran: AtomicBool::new(false) }
    }

    /// MPI_Grequest_complete.
    pub fn complete(&self) {
        if self.ends.complete() {
            // Freed by MPI_Request_free before it completed: the free function runs now (13.2).
            let _ = self.call_free();
        }
    }

    /// Has the program said that the operation is complete?
    pub fn is_complete(&self) -> bool {
        self.ends.is_complete()
    }

    /// The program gave the functions through MPICH's own Fortran library.
    pub fn mark_fortran(&self) {
        self.fortran.store(true, Ordering::Release);
    }

    /// How the functions are called, where that is not as C calls them.
    fn fortran_calls(&self, face: &'static Face) -> Option<&'static FortranCalls> {
        face.fortran.as_ref().filter(|_| self.fortran.load(Ordering::Acquire))
    }

    /// MPI_Request_free. True when the operation was complete before: the free function is to be
    /// called, which [`Generalized::complete`] does otherwise.
    pub fn free(&self) -> bool {
        self.ends.free()
    }

    /// Asks the program for the status. No lock is held.
    pub fn call_query(&self) -> Result<Status> {
        let face = world::face().expect("a face made the request");
        let call = self.fortran_calls(face).map_or(face.call_grequest_query, |calls| calls.call_grequest_query);
        // SAFETY: the program gave this function for this request.
        let (code, status) = unsafe { call(self.query, self.extra) };
        checked(code, "query").map(|()| status)
    }

    /// Lets the program free its state. No lock is held.
    pub fn call_free(&self) -> Result<()> {
        let face = world::face().expect("a face made the request");
        let call = self.fortran_calls(face).map_or(face.call_grequest_free, |calls| calls.call_grequest_free);
        // SAFETY: as above.
        checked(unsafe { call(self.free_state, self.extra) }, "free")
    }

    /// Tells the program that its operation should be cancelled. No lock is held.
    pub fn call_cancel(&self) -> Result<()> {
        let face = world::face().expect("a face made the request");
        let call = self.fortran_calls(face).map_or(face.call_grequest_cancel, |calls| calls.call_grequest_cancel);
        // SAFETY: as above.
        checked(unsafe { call(self.cancel, self.extra, self.is_complete()) }, "cancel")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_comes_second_frees() {
        for _ in 0..10_000 {
            let ends = Ends::default();
            let (completer, freer) = std::thread::scope(|scope| {
                let completer = scope.spawn(|| ends.complete());
                (ends.free(), completer.join().unwrap())
            });
            assert!(completer != freer, "one of the two calls the free function");
        }
        let ends = Ends::default();
        assert!(!ends.complete() && !ends.complete(), "a request that nobody frees is not freed");
    }
}
