//! What the driver knows about an address.
//!
//! The driver is asked each time. An answer that is kept would be wrong after the memory is freed
//! and its addresses are used for something else.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

use crate::abi::{
    Address, ContextHandle, DeviceNumber, HANDLE_TYPE_DESCRIPTOR, MEMORY_TYPE_DEVICE, attribute,
};
use crate::api::Api;
use crate::driver::{Driver, Result};

/// An allocation of device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeviceAllocation {
    /// The context in which transfers of this memory run.
    pub(crate) context: ContextHandle,
    /// First address.
    pub(crate) start: Address,
    /// Size in bytes.
    pub(crate) size: usize,
    /// Differs from that of every other allocation of this process, freed ones included.
    pub(crate) buffer: u64,
    /// What it is, if it is virtual memory that can be exported by a descriptor.
    pub(crate) shareable: Option<Mapping>,
}

impl DeviceAllocation {
    /// True if it contains all addresses from `low` to before `high`.
    pub(crate) fn contains(&self, low: Address, high: Address) -> bool {
        self.start <= low && low <= high && high - self.start <= self.size as Address
    }
}

/// True if `address` is in memory of a device that the processor cannot address. Pinned and managed
/// memory is host memory here.
///
/// # Errors
/// If the driver fails.
pub(crate) fn is_on_device(driver: &Driver, address: Address) -> Result<bool> {
    let (mut kind, mut managed): (c_uint, c_uint) = (0, 0);
    // SAFETY: the type of memory is a `c_uint`, and whether it is managed has at most as many
    // bytes.
    let known = unsafe {
        driver.pointer_attributes(
            address,
            [attribute::MEMORY_TYPE, attribute::IS_MANAGED],
            [(&raw mut kind).cast(), (&raw mut managed).cast()],
        )?
    };
    Ok(known && kind == MEMORY_TYPE_DEVICE && managed & 0xff == 0)
}

/// The allocation that contains an address of device memory. `None` if the driver does not know it.
///
/// # Errors
/// If the driver fails.
pub(crate) fn allocation(driver: &Driver, address: Address) -> Result<Option<DeviceAllocation>> {
    let mut context = ContextHandle(ptr::null_mut());
    let (mut start, mut size, mut buffer): (Address, usize, u64) = (0, 0, 0);
    let mut device: DeviceNumber = -1;
    // HIP documents that it tells no context, and tells sizes of 32 bits; numbers that are not used
    // take their places.
    let (mut unused, is_cuda) = ([0u64; 3], driver.api == Api::Cuda);
    let [of_context, of_start, of_size] = match is_cuda {
        true => [(&raw mut context).cast(), (&raw mut start).cast(), (&raw mut size).cast()],
        false => unused.each_mut().map(|word| ptr::from_mut(word).cast()),
    };
    let asked = |attribute| if is_cuda { attribute } else { attribute::BUFFER_ID };
    let values: [*mut c_void; 5] =
        [of_context, of_start, of_size, (&raw mut buffer).cast(), (&raw mut device).cast()];
    let attributes: [c_int; 5] = [
        asked(attribute::CONTEXT),
        asked(attribute::RANGE_START),
        asked(attribute::RANGE_SIZE),
        attribute::BUFFER_ID,
        attribute::DEVICE_ORDINAL,
    ];
    // SAFETY: each variable has the type of its attribute, in the order of both arrays.
    let known = unsafe { driver.pointer_attributes(address, attributes, values)? };
    if !known || device < 0 {
        return Ok(None);
    }
    if !is_cuda {
        // SAFETY: the driver writes one address and one size.
        let found = unsafe { (driver.calls.address_range)(&raw mut start, &raw mut size, address) };
        driver.check("tell the allocation of an address", found)?;
    }
    // Stream-ordered and virtual memory belong to no context.
    if context.0.is_null() {
        let Some(primary) = driver.active_primary(device) else { return Ok(None) };
        context = primary;
        if let Some(mapping) = shareable_mapping(driver, address) {
            let (start, size, shareable) = (mapping.start, mapping.size, Some(mapping));
            return Ok(Some(DeviceAllocation { context, start, size, buffer, shareable }));
        }
    }
    Ok(Some(DeviceAllocation { context, start, size, buffer, shareable: None }))
}

/// A range of addresses to which the program has mapped physical memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) start: Address,
    pub(crate) size: usize,
    /// Differs from that of all other physical memory that exists in this process.
    pub(crate) physical: u64,
}

/// The mapping that contains an address, if it is virtual memory that can be exported by a
/// descriptor. `None` too where the driver is too old to tell.
pub(crate) fn shareable_mapping(driver: &Driver, address: Address) -> Option<Mapping> {
    driver.virtual_memory?;
    let mut mapping = Mapping { start: 0, size: 0, physical: 0 };
    let (mut handle_types, mut pool) = (0u64, ptr::null_mut::<c_void>());
    let values: [*mut c_void; 5] = [
        (&raw mut handle_types).cast(),
        (&raw mut pool).cast(),
        (&raw mut mapping.start).cast(),
        (&raw mut mapping.size).cast(),
        (&raw mut mapping.physical).cast(),
    ];
    let attributes: [c_int; 5] = [
        attribute::ALLOWED_HANDLE_TYPES,
        attribute::MEMPOOL_HANDLE,
        attribute::MAPPING_BASE_ADDR,
        attribute::MAPPING_SIZE,
        attribute::MEMORY_BLOCK_ID,
    ];
    // SAFETY: each variable has the type of its attribute, in the order of both arrays; that of the
    // handle types has room for 64 bits, and is zero where the driver writes fewer.
    let known = unsafe { driver.pointer_attributes(address, attributes, values) };
    let is_shareable = handle_types & HANDLE_TYPE_DESCRIPTOR as u64 != 0 && pool.is_null();
    (known == Ok(true) && is_shareable && mapping.size > 0).then_some(mapping)
}

/// The buffer number of the allocation at an address; `None` if the driver knows no memory there.
pub(crate) fn buffer(driver: &Driver, address: Address) -> Option<u64> {
    let mut buffer = 0u64;
    let values = [(&raw mut buffer).cast::<c_void>()];
    // SAFETY: a buffer number is an `unsigned long long`.
    match unsafe { driver.pointer_attributes(address, [attribute::BUFFER_ID], values) } {
        Ok(true) => Some(buffer),
        _ => None,
    }
}
