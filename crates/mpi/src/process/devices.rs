//! The devices whose memory the program may pass as buffers.

use std::ffi::c_void;

use towpath_collective::{Element, copy_pieces};
use towpath_datatype::device::Device;
use towpath_datatype::{Basic, Datatype};
use towpath_device::Cuda;
use towpath_neutral::constants::ERR_OTHER;
use towpath_neutral::error::{Result, fail};

use super::ending::end_job;

/// Ends the job when a device or its driver fails.
static CUDA: Cuda = Cuda::new(|sentence| end_job(ERR_OTHER, sentence));

/// False if no device memory can exist in this process, at the cost of a few instructions.
#[inline(always)]
pub(crate) fn may_exist() -> bool {
    CUDA.may_be_present()
}

/// The device whose memory holds elements of `datatype` at `buffer`; `None` if all are in host
/// memory.
#[cold]
pub(crate) fn device_of(datatype: &Datatype, buffer: *const c_void) -> Option<&'static dyn Device> {
    CUDA.has_elements(datatype, buffer.cast()).then(device)
}

/// Refuses device memory where the library itself would access it.
pub(crate) fn refuse(memory: *const c_void, name: std::fmt::Arguments<'_>) -> Result<()> {
    if may_exist() && CUDA.holds(memory.cast()) {
        fail!(
            ERR_BUFFER,
            "argument {name} ({memory:p}) is in device memory; pass host memory, which may be \
             pinned"
        );
    }
    Ok(())
}

/// All devices of the driver; each packer uses the one whose memory it is for.
pub(crate) fn device() -> &'static dyn Device {
    &CUDA
}

/// The direction of [`copy_packed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    /// From elements to packed bytes.
    Pack,
    /// From packed bytes to elements.
    Unpack,
}

/// Packs or unpacks `count` elements if they or the packed bytes are in the memory of a device, and
/// waits for it. False, having done nothing, if both are in host memory.
///
/// # Safety
/// `buffer` must hold the elements and `packed` their packed bytes, readable on one side, writable
/// on the other, and apart.
#[cold]
pub(crate) unsafe fn copy_packed(
    how: Packing,
    datatype: &Datatype,
    buffer: *const c_void,
    count: i64,
    packed: *mut u8,
) -> bool {
    let length = datatype.bytes(count);
    if length == 0 {
        return false;
    }
    let bytes = Datatype::named(Basic::Byte);
    let side = |datatype: &Datatype, at: *mut u8, count: i64| {
        let element = match device_of(datatype, at.cast()) {
            Some(device) => Element::on_device(datatype, device),
            None => Element::of(datatype),
        };
        element.piece(at, 0, count)
    };
    let elements = side(datatype, buffer.cast_mut().cast(), count);
    let packed = side(&bytes, packed, length);
    if elements.device().is_none() && packed.device().is_none() {
        return false;
    }
    let pieces = match how {
        Packing::Pack => (elements, packed),
        Packing::Unpack => (packed, elements),
    };
    // SAFETY: both sides are valid until the copy is done, and apart (this function's contract).
    unsafe { copy_pieces(&[pieces], &mut std::thread::yield_now) };
    true
}
