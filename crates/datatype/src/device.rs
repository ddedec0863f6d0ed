//! Memory that the processor cannot address, such as that of a GPU.
//!
//! The layers above name such memory by an address and a [`Device`], which makes the packers of
//! messages to and from it. This is the only way in: whoever has no device reads and writes the
//! address directly.

pub mod simulated;

use std::fmt::Debug;

use towpath_base::transfer::{Drain, Fill, Source, Target};

use crate::cursor::{source, target};
use crate::datatype::Datatype;

/// A kind of device and its memory.
pub trait Device: Debug + Sync {
    /// A packer of `count` elements at the device's address `pointer`.
    ///
    /// # Safety
    /// The memory of the elements must be valid for reads for as long as the packer is used.
    unsafe fn packer(&self, datatype: &Datatype, pointer: *const u8, count: i64) -> Box<dyn Fill>;

    /// An unpacker of `count` elements at the device's address `pointer`.
    ///
    /// # Safety
    /// The memory of the elements must be valid for writes for as long as the unpacker is used.
    unsafe fn unpacker(&self, datatype: &Datatype, pointer: *mut u8, count: i64) -> Box<dyn Drain>;
}

/// The bytes of an outgoing message in the memory of `device`; `None` is host memory.
///
/// # Safety
/// The memory of the elements must be valid for reads for as long as the source is used.
pub unsafe fn source_on(device: Option<&dyn Device>, datatype: &Datatype, pointer: *const u8, count: i64) -> Source {
    // SAFETY: the memory is valid for as long as the source is used (this function's contract).
    unsafe {
        match device {
            None => source(datatype, pointer, count),
            Some(device) => {
                let fill = device.packer(datatype, pointer, count);
                Source::Packer { fill, length: datatype.bytes(count) as usize }
            }
        }
    }
}

/// The buffer of an incoming message in the memory of `device`; `None` is host memory.
///
/// # Safety
/// The memory of the elements must be valid for writes for as long as the target is used.
pub unsafe fn target_on(device: Option<&dyn Device>, datatype: &Datatype, pointer: *mut u8, count: i64) -> Target {
    // SAFETY: the memory is valid for as long as the target is used (this function's contract).
    unsafe {
        match device {
            None => target(datatype, pointer, count),
            Some(device) => {
                let drain = device.unpacker(datatype, pointer, count);
                Target::Unpacker { drain, length: datatype.bytes(count) as usize }
            }
        }
    }
}
