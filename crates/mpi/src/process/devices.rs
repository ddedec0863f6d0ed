//! The devices whose memory the program may pass as buffers.

use std::ffi::c_void;

use towpath_datatype::Datatype;
use towpath_datatype::device::Device;
use towpath_device::{Api, DeviceFailures, Gpus};
use towpath_neutral::constants::ERR_OTHER;
use towpath_neutral::error::{Result, fail};

use super::ending::end_job;

pub(crate) static CUDA: Gpus = Gpus::new(Api::Cuda, note_failure);
pub(crate) static HIP: Gpus = Gpus::new(Api::Hip, note_failure);

/// The failures of both that the program has not been told yet. They are kept if an error handler
/// returns. Until then they end the job at once, before other ranks see what a device has not
/// written.
pub(crate) static FAILURES: DeviceFailures = DeviceFailures::new();

#[cold]
fn note_failure(sentence: &str) {
    if !FAILURES.note(sentence) {
        end_job(ERR_OTHER, sentence);
    }
}

/// False if no device memory can exist in this process, at the cost of a few instructions.
#[inline(always)]
pub(crate) fn may_exist() -> bool {
    CUDA.may_be_present() || HIP.may_be_present()
}

/// True if ranks of this host may use the memory of devices, now or later.
#[cold]
pub(crate) fn are_on_host() -> bool {
    CUDA.may_be_on_host() || HIP.may_be_on_host()
}

/// The device whose memory holds elements of `datatype` at `buffer`; `None` if all are in host
/// memory.
#[cold]
pub(crate) fn device_of(datatype: &Datatype, buffer: *const c_void) -> Option<&'static dyn Device> {
    let has_elements = |gpus: &&'static Gpus| gpus.has_elements(datatype, buffer.cast());
    [&CUDA, &HIP].into_iter().find(has_elements).map(|gpus| gpus as &dyn Device)
}

/// The same for elements that are known to be on a device.
#[cold]
pub(crate) fn holder(datatype: &Datatype, buffer: *const c_void) -> Option<&'static dyn Device> {
    match (CUDA.is_present(), HIP.is_present()) {
        (true, false) => Some(&CUDA),
        (false, true) => Some(&HIP),
        _ => device_of(datatype, buffer),
    }
}

/// Refuses device memory where the library itself would access it.
pub(crate) fn refuse(memory: *const c_void, name: std::fmt::Arguments<'_>) -> Result<()> {
    if may_exist() && [&CUDA, &HIP].iter().any(|gpus| gpus.holds(memory.cast())) {
        fail!(ERR_BUFFER, "argument {name} ({memory:p}) is in device memory; pass host memory, which may be pinned");
    }
    Ok(())
}
