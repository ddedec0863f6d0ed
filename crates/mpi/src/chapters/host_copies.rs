//! Access to elements by the processor itself, which cannot reach the memory of a device: it works
//! on copies in host memory then.

use std::ffi::c_void;

use towpath_collective::HostCopies;
use towpath_datatype::Datatype;
use towpath_neutral::error::Result;

use super::internal::plan_failed;
use crate::process::devices;

/// The address of elements in host memory: that of a copy if they are in the memory of a device.
/// The access reads the first `read` elements at `buffer`, and writes the first `written`.
///
/// # Errors
/// MPI_ERR_NO_MEM if there is no memory for the copy.
pub(super) fn in_host_memory(
    copies: &mut HostCopies,
    datatype: &Datatype,
    buffer: *const c_void,
    read: i64,
    written: i64,
) -> Result<*mut u8> {
    let pointer = buffer.cast_mut().cast();
    if devices::may_exist()
        && datatype.bytes(read.max(written)) > 0
        && let Some(device) = devices::device_of(datatype, buffer)
    {
        return copies.add(pointer, read, written, datatype, device).map_err(plan_failed);
    }
    Ok(pointer)
}
