//! Memory that the processor cannot address, such as that of a GPU.
//!
//! The layers above name such memory by an address and a [`Device`], which makes the packers of
//! messages to and from it. There is no other access. An address without a device is taken to be in
//! host memory.
//!
//! Host and devices share one address space (unified virtual addressing). Two buffers that start at
//! the same address are the same, whichever device the program names with them.

mod layout;
pub mod simulated;

use std::fmt::Debug;

use towpath_base::transfer::{Drain, Fill, Source, Target};

use crate::basic::Basic;
use crate::cursor::{source, target};
use crate::datatype::Datatype;
use crate::reduce::Operation;

pub use layout::{DeviceBlocks, DeviceLayout, MAX_LOOPS};

/// A kind of device and its memory.
///
/// Its packers must meet the contracts of [`Fill`] and [`Drain`]: they access host memory that a
/// call passes to them only during that call, and dropping a packer ends all access of the device
/// to the elements, if necessary by waiting for it.
pub trait Device: Debug + Sync {
    /// A packer of `count` elements at the device's address `pointer`.
    ///
    /// # Safety
    /// The memory of the elements must be valid for reads until the packer is dropped.
    unsafe fn packer(&self, datatype: &Datatype, pointer: *const u8, count: i64) -> Box<dyn Fill>;

    /// An unpacker of `count` elements at the device's address `pointer`.
    ///
    /// # Safety
    /// The memory of the elements must be valid for writes until the unpacker is dropped.
    unsafe fn unpacker(&self, datatype: &Datatype, pointer: *mut u8, count: i64) -> Box<dyn Drain>;

    /// Starts to compute `inout[i] = input[i] op inout[i]` for `count` elements at two addresses,
    /// with the bits that [`reduce::kernel`](crate::reduce::kernel) gives. Returns `None`, having
    /// done nothing, if the device lacks numbers of this type or the vectors are not in its
    /// memory.
    ///
    /// # Safety
    /// The operation must be defined for the type. Both vectors must hold the elements, be valid
    /// until the work is dropped, and not overlap.
    unsafe fn reduce(
        &self,
        operation: Operation,
        basic: Basic,
        vectors: (*const u8, *mut u8),
        count: i64,
    ) -> Option<Box<dyn DeviceWork>> {
        let _ = (operation, basic, vectors, count);
        None
    }

    /// The device that [reduces](Device::reduce) all of these vectors, given by address and number
    /// of elements, as a number that is the same in all processes and not 0. `None` if there is
    /// none.
    fn reducing(&self, operation: Operation, basic: Basic, vectors: &[(*const u8, i64)]) -> Option<u64> {
        let _ = (operation, basic, vectors);
        None
    }

    /// Allocates `bytes` bytes in the memory of the device that holds the address `like`, aligned
    /// for every type; `None` if it has none left.
    fn allocate(&self, like: usize, bytes: usize) -> Option<Box<dyn DeviceMemory>> {
        let _ = (like, bytes);
        None
    }
}

/// Memory of a device, which is freed when this is dropped.
pub trait DeviceMemory: Debug + Send {
    /// Its first byte.
    fn pointer(&self) -> *mut u8;

    /// Its length in bytes.
    fn bytes(&self) -> usize;
}

/// Work that a device has begun. Dropping it waits for its end.
pub trait DeviceWork: Debug + Send {
    /// True once the work is done.
    fn has_ended(&mut self) -> bool;
}

/// The bytes of an outgoing message in the memory of `device`; `None` is host memory.
///
/// # Safety
/// The memory of the elements must be valid for reads until the source is dropped.
pub unsafe fn source_on(device: Option<&dyn Device>, datatype: &Datatype, pointer: *const u8, count: i64) -> Source {
    // SAFETY: the memory is valid until the source is dropped (this function's contract).
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
/// The memory of the elements must be valid for writes until the target is dropped.
pub unsafe fn target_on(device: Option<&dyn Device>, datatype: &Datatype, pointer: *mut u8, count: i64) -> Target {
    // SAFETY: the memory is valid until the target is dropped (this function's contract).
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
