//! The devices whose memory the program may pass as buffers.

use std::ffi::c_void;

use towpath_base::transfer::{Source, Target, across};
use towpath_datatype::device::{Device, source_on, target_on};
use towpath_datatype::{Basic, Datatype};
use towpath_device::Cuda;
use towpath_neutral::constants::ERR_OTHER;

use super::ending::end_job;

/// Bytes that a copy between host and device memory with gaps on both sides moves at a time.
const BOUNCE_BYTES: usize = 16 << 10;

static CUDA: Cuda = Cuda::new(fail);

/// Ends the job when a device or its driver fails.
fn fail(sentence: &str) -> ! {
    end_job(ERR_OTHER, sentence)
}

/// False if no device memory can exist in this process, at the cost of a few instructions.
#[inline(always)]
pub(crate) fn may_exist() -> bool {
    CUDA.may_be_present()
}

/// The device whose memory holds the elements of `datatype` at `buffer`; `None` is host memory. The
/// first byte of the first element decides for all of them.
#[cold]
pub(crate) fn device_of(datatype: &Datatype, buffer: *const c_void) -> Option<&'static dyn Device> {
    let first = buffer.cast::<u8>().wrapping_offset(datatype.true_lb() as isize);
    CUDA.holds(first).then(device)
}

/// The device of memory that is in the memory of a device.
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
    let bytes = Datatype::named(Basic::Byte);
    let length = datatype.bytes(count);
    let on_device = |datatype: &Datatype, at: *const c_void| if length > 0 { device_of(datatype, at) } else { None };
    let (elements_device, packed_device) = (on_device(datatype, buffer), on_device(&bytes, packed.cast()));
    if elements_device.is_none() && packed_device.is_none() {
        return false;
    }
    let elements = buffer.cast_mut().cast::<u8>();
    // SAFETY: both sides are valid until the copy is done, and apart (this function's contract).
    unsafe {
        let (source, target) = match how {
            Packing::Pack => (
                source_on(elements_device, datatype, elements, count),
                target_on(packed_device, &bytes, packed, length),
            ),
            Packing::Unpack => (
                source_on(packed_device, &bytes, packed, length),
                target_on(elements_device, datatype, elements, count),
            ),
        };
        copy(source, target);
    }
    true
}

/// Copies a whole message, and waits for the devices whose memory it is in.
///
/// # Safety
/// The memory behind both must be valid, and must not overlap.
unsafe fn copy(mut source: Source, mut target: Target) {
    let (mut bounce, mut held) = (vec![0; BOUNCE_BYTES], 0);
    while target.length() > 0 {
        // SAFETY: the memory is valid (this function's contract). `held` is 0 at first, and later
        // what the previous call left.
        match unsafe { across(&mut source, &mut target, &mut bounce, &mut held) } {
            Some(0) => break,
            Some(_) => {}
            None => std::thread::yield_now(),
        }
    }
}
