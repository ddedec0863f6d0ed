//! MPI_Pack and MPI_Unpack (MPI 5.0, section 5.2).

use std::ffi::c_void;

use towpath_neutral::abi::Handle;
use towpath_neutral::error::{Result, fail};

use super::lookup;
use crate::chapters::point_to_point::check_buffer;
use crate::objects::registry;

pub(super) fn checked(position: i64, size: i64, needed: i64, buffer: &str) -> Result<()> {
    if position < 0 || size < 0 {
        fail!(ERR_ARG, "position is {position} and the size of {buffer} is {size}; neither may be negative");
    }
    if needed > size - position {
        fail!(ERR_TRUNCATE, "{needed} bytes from position {position} on exceed {buffer} of {size} bytes");
    }
    Ok(())
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
    let kind = lookup(datatype, "datatype")?;
    check_buffer(inbuf, incount, &kind)?;
    let needed = kind.datatype.bytes(incount);
    checked(*position, outsize, needed, "outbuf")?;
    if needed > 0 && outbuf.is_null() {
        fail!(ERR_ARG, "argument outbuf is NULL, but {needed} bytes are to be packed; pass a buffer");
    }
    // SAFETY: `inbuf` holds `incount` elements and `outbuf` has `outsize` bytes (this function's
    // contract); `checked` has verified that `needed` bytes fit from `position`.
    unsafe {
        towpath_datatype::pack(
            &kind.datatype,
            inbuf.cast(),
            incount,
            0,
            outbuf.cast::<u8>().wrapping_add(*position as usize),
            needed as usize,
        )
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
    let kind = lookup(datatype, "datatype")?;
    check_buffer(outbuf, outcount, &kind)?;
    let needed = kind.datatype.bytes(outcount);
    checked(*position, insize, needed, "inbuf")?;
    if needed > 0 && inbuf.is_null() {
        fail!(ERR_ARG, "argument inbuf is NULL, but {needed} bytes are to be unpacked; pass a buffer");
    }
    // SAFETY: `outbuf` has room for `outcount` elements and `inbuf` has `insize` bytes (this
    // function's contract); `checked` has verified that `needed` of them follow `position`.
    unsafe {
        towpath_datatype::unpack(
            &kind.datatype,
            outbuf.cast(),
            outcount,
            0,
            inbuf.cast::<u8>().wrapping_add(*position as usize),
            needed as usize,
        )
    };
    *position += needed;
    Ok(())
}

/// MPI_Pack_size: exact, because packing adds no overhead.
pub fn pack_size(incount: i64, datatype: Handle, comm: Handle) -> Result<i64> {
    registry::comm(comm)?;
    let kind = lookup(datatype, "datatype")?;
    check_buffer(std::ptr::dangling(), incount, &kind)?;
    Ok(kind.datatype.bytes(incount))
}
