//! How a rank waits until something arrives.

use std::ffi::c_int;
use std::time::Duration;

use crate::abi::BinaryInterface;
use crate::layer::MpiLayer;
use crate::library::LibraryError;
use crate::pauses::Pauses;
use crate::slots::succeeded;

/// How often a rank that waits for anything looks for short messages only, at first.
const SHORT_TESTS: u32 = 100;

impl<A: BinaryInterface> MpiLayer<A> {
    /// Waits until something has arrived or has been sent.
    pub(crate) fn wait_long(&mut self) -> Result<bool, LibraryError> {
        self.send_rest()?;
        self.take_complete()?;
        if !self.arrived.is_empty() {
            return Ok(false);
        }
        // To look for short messages only takes least.
        for _ in 0..if self.receives.is_empty() { SHORT_TESTS } else { 0 } {
            if self.test_slots()? {
                return Ok(false);
            }
        }
        let mut none = A::REQUEST_NULL;
        self.wait_for_any(&mut none)
    }

    /// Waits until something has arrived or has been sent, or a barrier, which may be none, is
    /// complete. Whether it is.
    pub(crate) fn wait_for_any(&mut self, barrier: &mut A::Handle) -> Result<bool, LibraryError> {
        self.send_rest()?;
        self.take_complete()?;
        if !self.arrived.is_empty() {
            return Ok(false);
        }
        let count = self.collect_requests(*barrier);
        let (mut which, mut status) = (0, A::EMPTY);
        let all = self.requests.as_mut_ptr();
        // SAFETY: all of these are active or null; the results are local.
        let code = unsafe { (self.mpi.waitany)(count, all, &mut which, &mut status) };
        succeeded("MPI_Waitany", code)?;
        self.completed(which, &status)
    }

    /// The same without a barrier, for a limited time. Whether that has passed.
    pub(crate) fn wait_at_most(&mut self, limit: Duration) -> Result<bool, LibraryError> {
        self.send_rest()?;
        self.take_complete()?;
        if !self.arrived.is_empty() {
            return Ok(false);
        }
        let mut pauses = Pauses::new(limit);
        loop {
            // Short messages are urgent, and to look for them only takes least.
            let found = if pauses.is_next() || !self.receives.is_empty() {
                self.test_any()?
            } else {
                self.test_slots()?
            };
            if found || pauses.pause() {
                return Ok(!found);
            }
        }
    }

    /// Whether something has arrived in a slot.
    #[inline]
    pub(crate) fn test_slots(&mut self) -> Result<bool, LibraryError> {
        let Some(arrived) = self.slots.poll(&self.mpi)? else { return Ok(false) };
        self.take_in_for_later(arrived)?;
        Ok(true)
    }

    /// Whether something has arrived or has been sent.
    pub(crate) fn test_any(&mut self) -> Result<bool, LibraryError> {
        let count = self.collect_requests(A::REQUEST_NULL);
        let (mut which, mut flag, mut status) = (0, 0, A::EMPTY);
        let all = self.requests.as_mut_ptr();
        // SAFETY: all of these are active or null; the results are local.
        let code = unsafe { (self.mpi.testany)(count, all, &mut which, &mut flag, &mut status) };
        succeeded("MPI_Testany", code)?;
        if flag == 0 {
            let asked = self.look();
            self.arrived.extend(asked);
            return Ok(!self.arrived.is_empty());
        }
        self.completed(which, &status)?;
        Ok(true)
    }

    /// Collects the requests that are complete next: how many they are.
    fn collect_requests(&mut self, barrier: A::Handle) -> c_int {
        let none = A::REQUEST_NULL;
        let receive = self.receives.front().and_then(|receive| receive.requests.front());
        let receive = receive.copied().unwrap_or(none);
        let send = self.sends.front().map_or(none, |(request, _)| *request);
        self.requests.clear();
        self.requests.extend([self.slots.next_request(), receive, send, barrier]);
        self.requests.extend(self.posted_sends.iter().map(|(request, _)| *request));
        self.requests.len() as c_int
    }

    /// One of them is complete. Whether it is the barrier.
    pub(crate) fn completed(
        &mut self,
        which: c_int,
        status: &A::Status,
    ) -> Result<bool, LibraryError> {
        match which {
            0 => {
                let arrived = self.slots.take(&self.mpi, status)?;
                self.take_in_for_later(arrived)?;
            }
            1 => {
                let receive = self.receives.front_mut();
                let is_last = receive.is_some_and(|receive| {
                    receive.requests.pop_front();
                    receive.requests.is_empty()
                });
                if is_last {
                    let complete = self.received()?;
                    self.arrived.extend(complete);
                }
            }
            2 => {
                self.sends.pop_front();
            }
            3 => return Ok(true),
            _ => {
                self.posted_sends.swap_remove(which as usize - 4);
            }
        }
        Ok(false)
    }
}
