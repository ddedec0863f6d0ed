//! Arrays in the memory of devices: the MPI library copies them, which knows devices.

use std::ffi::c_int;

use towpath_actors::{ArrayMemory, WritableArray};

use crate::abi::BinaryInterface;
use crate::layer::MpiLayer;
use crate::library::LibraryError;
use crate::requests::{irecv_array, place_of};
use crate::slots::succeeded;

/// Tag of what a rank sends to itself, on the communicator of long messages.
const TO_ITSELF: c_int = 1;

impl<A: BinaryInterface> MpiLayer<A> {
    /// Copies the beginning of an array to memory that has no more bytes; either may be a device's.
    pub(crate) fn copy_array(
        &mut self,
        array: &dyn ArrayMemory,
        memory: &mut dyn WritableArray,
    ) -> Result<(), LibraryError> {
        let bytes = memory.length();
        let (from, has) = place_of(array);
        debug_assert!(bytes <= has, "{bytes} bytes of an array of {has}");
        if array.device().is_none() && memory.device().is_none() {
            memory.bytes_mut().copy_from_slice(&array.bytes()[..bytes]);
            return Ok(());
        }
        // Then a chare has named the memory that another one of this rank has lent.
        if memory.address().cast_const() == from {
            return Ok(());
        }
        let own = self.rank;
        let mut receive = irecv_array(&self.mpi, memory, own, TO_ITSELF, self.long)?;
        let (count, mut send) = (bytes as i64, A::REQUEST_NULL);
        // SAFETY: the array has so many bytes, and exists until the request is complete below.
        let code = unsafe {
            let (own, comm) = (own.cast_signed(), self.long);
            (self.mpi.isend_c)(from.cast(), count, A::BYTE, own, TO_ITSELF, comm, &mut send)
        };
        succeeded("MPI_Isend", code)?;
        for request in [&mut receive, &mut send] {
            let mut status = A::EMPTY;
            // SAFETY: the request is active, and the status is local.
            succeeded("MPI_Wait", unsafe { (self.mpi.wait)(request, &mut status) })?;
        }
        Ok(())
    }
}
