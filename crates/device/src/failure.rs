//! What happens to a message when a device or its driver fails: the program is told, and the
//! message ends with undefined content, so that no rank waits for it.

use std::ptr;
use std::sync::Mutex;

use towpath_base::sync::{AtomicBool, Ordering};
use towpath_base::transfer::{Drain, Fill, MemorySpace, Step};

use crate::driver::{DeviceError, Result};

/// Tells the program of failures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reporter(pub(crate) fn(&str));

impl Reporter {
    /// The value; `None` once the failure has been told.
    pub(crate) fn ok<T>(self, result: Result<T>) -> Option<T> {
        result.map_err(|DeviceError(text)| (self.0)(&text)).ok()
    }
}

/// Failures that the program has not been told yet.
#[derive(Debug)]
pub struct DeviceFailures {
    are_kept: AtomicBool,
    exist: AtomicBool,
    /// The first of them; later ones mostly follow from it.
    first: Mutex<Option<String>>,
}

impl DeviceFailures {
    /// There are none, and none are kept.
    pub const fn new() -> DeviceFailures {
        let (are_kept, exist) = (AtomicBool::new(false), AtomicBool::new(false));
        DeviceFailures { are_kept, exist, first: Mutex::new(None) }
    }

    /// Keeps failures from now on.
    pub fn keep(&self) {
        self.are_kept.store(true, Ordering::Relaxed);
    }

    /// Keeps a failure until it is taken. False if failures are not kept.
    pub fn note(&self, sentence: &str) -> bool {
        if !self.are_kept.load(Ordering::Relaxed) {
            return false;
        }
        let mut first = self.first.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        first.get_or_insert_with(|| sentence.to_owned());
        self.exist.store(true, Ordering::Relaxed);
        true
    }

    /// True if a failure is kept.
    #[inline(always)]
    pub fn exist(&self) -> bool {
        self.exist.load(Ordering::Relaxed)
    }

    /// Takes out the first failure.
    #[cold]
    pub fn take(&self) -> Option<String> {
        let mut first = self.first.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.exist.store(false, Ordering::Relaxed);
        first.take()
    }
}

impl Default for DeviceFailures {
    fn default() -> DeviceFailures {
        DeviceFailures::new()
    }
}

/// Takes the place of a packer or an unpacker that has failed: gives zeros, and drops what it gets.
#[derive(Debug)]
pub(crate) struct FailedTransfer {
    /// Bytes that are still to be given.
    left: usize,
}

impl FailedTransfer {
    pub(crate) fn new(left: usize) -> FailedTransfer {
        FailedTransfer { left }
    }
}

// SAFETY: `fill` writes at most `capacity` bytes and reads no memory.
unsafe impl Fill for FailedTransfer {
    unsafe fn fill(&mut self, into: *mut u8, capacity: usize) -> Step {
        let length = capacity.min(self.left);
        // SAFETY: `into` has room for `capacity` bytes (this function's contract).
        unsafe { ptr::write_bytes(into, 0, length) };
        self.left -= length;
        Step::Done(length)
    }

    fn space(&self) -> MemorySpace {
        MemorySpace::Device
    }
}

// SAFETY: no memory is accessed.
unsafe impl Drain for FailedTransfer {
    unsafe fn drain(&mut self, _: *const u8, length: usize) -> Step {
        Step::Done(length)
    }

    fn space(&self) -> MemorySpace {
        MemorySpace::Device
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_has_failed_ends() {
        let (mut failed, mut bytes) = (FailedTransfer::new(5), [7u8; 4]);
        // SAFETY: there is room for the bytes.
        unsafe {
            assert_eq!(failed.fill(bytes.as_mut_ptr(), 3), Step::Done(3));
            assert_eq!(bytes, [0, 0, 0, 7]);
            assert_eq!(failed.fill(bytes.as_mut_ptr(), 4), Step::Done(2));
            assert_eq!(failed.fill(bytes.as_mut_ptr(), 4), Step::Done(0));
            assert_eq!(failed.drain(bytes.as_ptr(), 4), Step::Done(4));
        }
    }

    #[test]
    fn the_first_failure_is_kept_until_it_is_taken() {
        let failures = DeviceFailures::new();
        assert!(!failures.note("ends the job") && !failures.exist());
        failures.keep();
        assert!(failures.note("first") && failures.note("second") && failures.exist());
        assert_eq!(failures.take().as_deref(), Some("first"));
        assert!(!failures.exist() && failures.take().is_none());
    }

    #[test]
    fn a_failure_is_told() {
        let reporter = Reporter(|text| assert_eq!(text, "it burns"));
        assert_eq!(reporter.ok(Ok(3)), Some(3));
        assert_eq!(reporter.ok::<u8>(Err(DeviceError("it burns".to_owned()))), None);
    }
}
