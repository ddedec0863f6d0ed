//! Generalized requests: operations of the program behind MPI requests (MPI 5.0, section 13.2).

use std::ffi::c_void;

use towpath_base::sync::{AtomicBool, AtomicU32, Ordering};
use towpath_neutral::abi::{AbiTable, Callback, FortranCalls, Status};
use towpath_neutral::constants::SUCCESS;
use towpath_neutral::error::{Error, Result};

use crate::process;

/// The program's callbacks, and whether the program has completed the operation.
pub(crate) struct Generalized {
    query: Callback,
    free_state: Callback,
    cancel: Callback,
    extra: *mut c_void,
    ends: CompletionFlags,
    /// True if the callbacks are Fortran functions.
    fortran: AtomicBool,
}

/// Which of MPI_Grequest_complete and MPI_Request_free have been called. Both flags are in one
/// word, so that of two concurrent calls exactly one sees that the other was first.
#[derive(Default)]
struct CompletionFlags(AtomicU32);

const COMPLETE: u32 = 1;
const FREED: u32 = 2;

impl CompletionFlags {
    /// MPI_Grequest_complete. Returns true if the request was freed before.
    fn complete(&self) -> bool {
        self.0.fetch_or(COMPLETE, Ordering::AcqRel) == FREED
    }

    /// MPI_Request_free. Returns true if the operation was complete before.
    fn free(&self) -> bool {
        self.0.fetch_or(FREED, Ordering::AcqRel) == COMPLETE
    }

    fn is_complete(&self) -> bool {
        self.0.load(Ordering::Acquire) & COMPLETE != 0
    }
}

// SAFETY: Towpath never dereferences `extra`; it only passes it to the program's callbacks, which
// MPI allows to run in any thread.
unsafe impl Send for Generalized {}
// SAFETY: all other fields are immutable or atomic, and `extra` is only passed to the program's
// callbacks.
unsafe impl Sync for Generalized {}

fn checked(code: i32, which: &str) -> Result<()> {
    if code == SUCCESS {
        return Ok(());
    }
    Err(Error::new(code, format!("the {which} function of the generalized request failed with code {code}")))
}

impl Generalized {
    /// Creates an operation that is not complete.
    pub(crate) fn new(query: Callback, free: Callback, cancel: Callback, extra: *mut c_void) -> Generalized {
        Generalized {
            query,
            free_state: free,
            cancel,
            extra,
            ends: CompletionFlags::default(),
            fortran: AtomicBool::new(false),
        }
    }

    /// MPI_Grequest_complete.
    pub(crate) fn complete(&self) {
        if self.ends.complete() {
            // MPI_Request_free came first: the free function is called now (13.2).
            let _ = self.call_free();
        }
    }

    /// True if the program has completed the operation.
    pub(crate) fn is_complete(&self) -> bool {
        self.ends.is_complete()
    }

    /// Marks the callbacks as registered through MPICH's own Fortran library.
    pub(crate) fn mark_fortran(&self) {
        self.fortran.store(true, Ordering::Release);
    }

    /// The functions that call Fortran callbacks; `None` if the callbacks are C functions.
    fn fortran_calls(&self, abi: &'static AbiTable) -> Option<&'static FortranCalls> {
        abi.fortran.as_ref().filter(|_| self.fortran.load(Ordering::Acquire))
    }

    /// MPI_Request_free. Returns true if the operation was complete before; the caller must then
    /// call the free function. Otherwise [`Generalized::complete`] calls it.
    pub(crate) fn free(&self) -> bool {
        self.ends.free()
    }

    /// Calls the query function for the status. No lock may be held.
    pub(crate) fn call_query(&self) -> Result<Status> {
        let abi = process::abi().expect("an ABI made the request");
        let call = self.fortran_calls(abi).map_or(abi.call_grequest_query, |calls| calls.call_grequest_query);
        // SAFETY: the program registered `query` and `extra` for this request, and `call` uses the
        // calling convention of its language.
        let (code, status) = unsafe { call(self.query, self.extra) };
        checked(code, "query").map(|()| status)
    }

    /// Calls the free function. No lock may be held.
    pub(crate) fn call_free(&self) -> Result<()> {
        let abi = process::abi().expect("an ABI made the request");
        let call = self.fortran_calls(abi).map_or(abi.call_grequest_free, |calls| calls.call_grequest_free);
        // SAFETY: the program registered `free_state` and `extra` for this request, and `call` uses
        // the calling convention of its language.
        checked(unsafe { call(self.free_state, self.extra) }, "free")
    }

    /// Calls the cancel function. No lock may be held.
    pub(crate) fn call_cancel(&self) -> Result<()> {
        let abi = process::abi().expect("an ABI made the request");
        let call = self.fortran_calls(abi).map_or(abi.call_grequest_cancel, |calls| calls.call_grequest_cancel);
        // SAFETY: the program registered `cancel` and `extra` for this request, and `call` uses the
        // calling convention of its language.
        checked(unsafe { call(self.cancel, self.extra, self.is_complete()) }, "cancel")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_comes_second_frees() {
        for _ in 0..10_000 {
            let ends = CompletionFlags::default();
            let (completer, freer) = std::thread::scope(|scope| {
                let completer = scope.spawn(|| ends.complete());
                (ends.free(), completer.join().unwrap())
            });
            assert!(completer != freer, "one of the two calls the free function");
        }
        let ends = CompletionFlags::default();
        assert!(!ends.complete() && !ends.complete(), "a request that nobody frees is not freed");
    }
}
