//! Delivery of eager payloads to the targets of their receives.
//!
//! Contiguous bytes are copied at once. An unpacker may have to wait for a device. The payload is
//! then kept in a buffer, and every round of progress tries again.

use towpath_base::events::Subscriber;
use towpath_base::transfer::{Step, Target};
use towpath_transport::Payload;

use crate::requests::{Completion, PendingWork, RequestId, Unpacking};
use crate::state::{DeviceWait, State};

/// Copies an eager payload to `room` contiguous bytes at `pointer`. Returns the bytes copied and
/// whether the message was truncated.
///
/// # Safety
/// `payload` must be readable for its length, and `pointer` writable for `room` bytes.
#[inline(always)]
pub(crate) unsafe fn copy(pointer: *mut u8, room: usize, payload: impl Payload) -> (u64, bool) {
    let length = payload.length();
    let taken = length.min(room);
    // SAFETY: `taken` exceeds neither the readable payload nor the writable room.
    unsafe { payload.copy_to(pointer, taken) };
    (taken as u64, length > room)
}

impl<S: Subscriber> State<S> {
    /// Delivers a message of `length` bytes at `payload` to the receive at `index`, and completes
    /// it as soon as the target has all bytes. `message` holds its envelope.
    ///
    /// # Safety
    /// `payload` must be readable for `length` bytes, and the memory behind `target` valid until
    /// the request is complete.
    pub(crate) unsafe fn deliver(
        &mut self,
        index: u32,
        mut target: Target,
        message: Completion,
        payload: *const u8,
        length: usize,
    ) {
        let taken = length.min(target.length());
        self.requests.slot(index).completion =
            Completion { bytes: taken as u64, truncated: length > taken, ..message };
        // SAFETY: `taken` bytes of the payload are readable, and the memory behind the target is
        // valid (this function's contract).
        if taken == 0 || unsafe { target.drain(payload, taken) } != Step::Pending {
            return self.requests.complete(index);
        }
        // SAFETY: `taken` bytes of the payload are readable (this function's contract).
        let buffer = unsafe { self.unexpected.buffers.copy(payload, taken) };
        let unpacking = Unpacking { target, buffer, length: taken };
        self.requests.slot(index).work = PendingWork::Unpacking(Box::new(unpacking));
        self.under_way += 1;
        self.wait_for_device(index);
    }

    /// Adds the request at `index` to those that wait for a device, directly or through the wire.
    /// It stays there until it is complete.
    pub(crate) fn wait_for_device(&mut self, index: u32) {
        self.on_device.push(DeviceWait::Request(self.requests.id(index)));
    }

    /// Polls the unpackers that wait for a device, and fetches messages that have waited for a
    /// receive in vain. Ends the round for the devices. True if anything no longer waits for a
    /// device.
    pub(crate) fn poll_devices(&mut self) -> bool {
        let before = self.on_device.len();
        if before == 0 {
            return false;
        }
        let mut waiting = std::mem::take(&mut self.on_device);
        waiting.retain_mut(|wait| match wait {
            DeviceWait::Request(request) => {
                self.unpack(*request);
                !self.requests.is_complete(*request)
            }
            DeviceWait::Message { message, rounds } => self.waits_for_receive(*message, rounds),
        });
        self.on_device = waiting;
        (self.launch)();
        self.on_device.len() < before
    }

    fn unpack(&mut self, request: RequestId) {
        let Some(index) = self.requests.find(request) else { return };
        let PendingWork::Unpacking(unpacking) = &mut self.requests.slot(index).work else { return };
        let Unpacking { target, buffer, length } = &mut **unpacking;
        let buffer = *buffer;
        // SAFETY: the buffer holds `length` bytes. The request is incomplete, so the memory behind
        // its target is valid (contract of `irecv`).
        if unsafe { target.drain(buffer.pointer, *length) } != Step::Pending {
            self.unexpected.buffers.remove(buffer);
            self.finish(index);
        }
    }
}
