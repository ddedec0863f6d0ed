//! Generalized requests: operations of the program behind MPI requests (MPI 5.0, section 13.2).

use std::ffi::c_void;

use towpath_base::sync::{AtomicBool, Ordering};

use crate::constants::SUCCESS;
use crate::error::{Error, Result};
use crate::face::{Callback, Status};
use crate::world;

/// The program's functions and whether it said that the operation is complete.
pub struct Generalized {
    query: Callback,
    free: Callback,
    cancel: Callback,
    extra: *mut c_void,
    complete: AtomicBool,
    freed: AtomicBool,
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
        Generalized { query, free, cancel, extra, complete: AtomicBool::new(false), freed: AtomicBool::new(false) }
    }

    /// MPI_Grequest_complete.
    pub fn complete(&self) {
        self.complete.store(true, Ordering::Release);
        if self.freed.load(Ordering::Acquire) {
            // Freed by MPI_Request_free before it completed: the free function runs now (13.2).
            let _ = self.call_free();
        }
    }

    /// Has the program said that the operation is complete?
    pub fn is_complete(&self) -> bool {
        self.complete.load(Ordering::Acquire)
    }

    /// The request was freed while the operation was active.
    pub fn mark_freed(&self) {
        self.freed.store(true, Ordering::Release);
    }

    /// Asks the program for the status. No lock is held.
    pub fn call_query(&self) -> Result<Status> {
        let face = world::face().expect("a face made the request");
        // SAFETY: the program gave this function for this request.
        let (code, status) = unsafe { (face.call_grequest_query)(self.query, self.extra) };
        checked(code, "query").map(|()| status)
    }

    /// Lets the program free its state. No lock is held.
    pub fn call_free(&self) -> Result<()> {
        let face = world::face().expect("a face made the request");
        // SAFETY: as above.
        checked(unsafe { (face.call_grequest_free)(self.free, self.extra) }, "free")
    }

    /// Tells the program that its operation should be cancelled. No lock is held.
    pub fn call_cancel(&self) -> Result<()> {
        let face = world::face().expect("a face made the request");
        // SAFETY: as above.
        checked(unsafe { (face.call_grequest_cancel)(self.cancel, self.extra, self.is_complete()) }, "cancel")
    }
}
