//! Packing and unpacking with memory of devices (MPI 5.0, section 5.2).

use std::ffi::c_void;

use towpath_datatype::device::Device;
use towpath_datatype::{Basic, Datatype};
use towpath_schedule::Element;

use crate::memory::copy_pieces;

/// The direction of [`copy_packed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// From elements to packed bytes.
    Pack,
    /// From packed bytes to elements.
    Unpack,
}

/// Packs or unpacks `count` elements if they or the packed bytes are in the memory of a device,
/// which `device_of` tells, and waits for it. False, having done nothing, if both are in host
/// memory.
///
/// # Safety
/// `buffer` must hold the elements and `packed` their packed bytes, readable on one side, writable
/// on the other, and apart.
#[cold]
pub unsafe fn copy_packed(
    how: Packing,
    (datatype, buffer, count): (&Datatype, *const c_void, i64),
    packed: *mut u8,
    device_of: impl Fn(&Datatype, *const c_void) -> Option<&'static dyn Device>,
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
