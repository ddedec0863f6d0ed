//! MPI_Pack and MPI_Unpack (MPI 5.0, section 5.2).

use std::ffi::c_void;
use std::sync::Arc;

use towpath_collective::{Packing, copy_packed};
use towpath_neutral::abi::Handle;
use towpath_neutral::error::{Result, fail};

use super::lookup;
use crate::chapters::point_to_point::check_buffer;
use crate::objects::datatype::Type;
use crate::objects::registry;
use crate::process::devices;

/// Looks up the datatype of elements to pack or unpack, and checks their buffer.
pub(super) fn elements(buffer: *const c_void, count: i64, datatype: Handle) -> Result<Arc<Type>> {
    let kind = lookup(datatype, "datatype")?;
    check_buffer(buffer, count, &kind)?;
    Ok(kind)
}

/// Checks that a buffer of `size` bytes for packed elements has `needed` bytes from `position` on,
/// and returns their address. `name` is the name of the buffer argument, for error messages.
pub(super) fn packed(buffer: *const c_void, size: i64, position: i64, needed: i64, name: &str) -> Result<*mut u8> {
    if position < 0 || size < 0 {
        fail!(
            ERR_ARG,
            "position is {position} and the size of {name} is {size}; \
             neither may be negative"
        );
    }
    if needed > size - position {
        fail!(
            ERR_TRUNCATE,
            "{needed} bytes from position {position} on exceed \
             the {size} bytes of {name}"
        );
    }
    if needed > 0 && buffer.is_null() {
        fail!(
            ERR_ARG,
            "argument {name} is NULL, but the elements have {needed} bytes; \
             pass a buffer"
        );
    }
    Ok(buffer.cast_mut().cast::<u8>().wrapping_add(position as usize))
}

/// MPI_Pack.
///
/// # Safety
/// `inbuf` must hold `incount` elements, and `outbuf` must have room for `outsize` bytes.
pub unsafe fn pack(
    inbuf: *const c_void,
    incount: i64,
    datatype: Handle,
    outbuf: *mut c_void,
    outsize: i64,
    position: &mut i64,
    comm: Handle,
) -> Result<()> {
    registry::comm(comm)?;
    let kind = elements(inbuf, incount, datatype)?;
    let needed = kind.datatype.bytes(incount);
    let to = packed(outbuf, outsize, *position, needed, "outbuf")?;
    // SAFETY: `inbuf` holds `incount` elements and `outbuf` has `outsize` bytes (this function's
    // contract), of which `needed` follow `to` (`packed`).
    unsafe {
        let datatype = &kind.datatype;
        if !(devices::may_exist() && copy_packed(Packing::Pack, (datatype, inbuf, incount), to, devices::device_of)) {
            towpath_datatype::pack(datatype, inbuf.cast(), incount, 0, to, needed as usize);
        }
    };
    *position += needed;
    Ok(())
}

/// MPI_Unpack.
///
/// # Safety
/// `inbuf` must hold `insize` bytes, and `outbuf` must have room for `outcount` elements.
pub unsafe fn unpack(
    inbuf: *const c_void,
    insize: i64,
    position: &mut i64,
    outbuf: *mut c_void,
    outcount: i64,
    datatype: Handle,
    comm: Handle,
) -> Result<()> {
    registry::comm(comm)?;
    let kind = elements(outbuf, outcount, datatype)?;
    let needed = kind.datatype.bytes(outcount);
    let from = packed(inbuf, insize, *position, needed, "inbuf")?;
    // SAFETY: `outbuf` has room for `outcount` elements and `inbuf` has `insize` bytes (this
    // function's contract), of which `needed` follow `from` (`packed`).
    unsafe {
        let datatype = &kind.datatype;
        if !(devices::may_exist()
            && copy_packed(Packing::Unpack, (datatype, outbuf, outcount), from, devices::device_of))
        {
            towpath_datatype::unpack(datatype, outbuf.cast(), outcount, 0, from, needed as usize);
        }
    };
    *position += needed;
    Ok(())
}

/// MPI_Pack_size: exact, because packing adds no overhead.
pub fn pack_size(incount: i64, datatype: Handle, comm: Handle) -> Result<i64> {
    registry::comm(comm)?;
    let kind = elements(std::ptr::dangling(), incount, datatype)?;
    Ok(kind.datatype.bytes(incount))
}
