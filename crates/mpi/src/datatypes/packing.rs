//! MPI_Pack and MPI_Unpack, native and external32 (MPI 5.0, sections 5.2 and 5.3).

use std::ffi::{c_char, c_void};

use super::lookup;
use crate::error::{Result, fail};
use crate::face::Handle;
use crate::point_to_point::check_buffer;
use crate::strings::text;
use crate::world;

fn checked(position: i64, size: i64, needed: i64, buffer: &str) -> Result<()> {
    if position < 0 || size < 0 {
        fail!(ERR_ARG, "position is {position} and the size of {buffer} is {size}; neither may be negative");
    }
    if position + needed > size {
        fail!(ERR_TRUNCATE, "{needed} bytes from position {position} on exceed {buffer} of {size} bytes");
    }
    Ok(())
}

/// MPI_Pack.
///
/// # Safety
/// `inbuf` must hold `incount` elements, `outbuf` have room for `outsize` bytes.
pub unsafe fn pack(inbuf: *const c_void, incount: i64, datatype: Handle, outbuf: *mut c_void, outsize: i64, position: &mut i64, comm: Handle) -> Result<()> {
    world::comm(comm)?;
    let kind = lookup(datatype, "datatype")?;
    check_buffer(inbuf, incount, kind)?;
    let needed = kind.datatype.bytes(incount);
    checked(*position, outsize, needed, "outbuf")?;
    if needed > 0 && outbuf.is_null() {
        fail!(ERR_ARG, "argument outbuf is NULL");
    }
    // SAFETY: the room was checked; the program lends the elements.
    unsafe { towpath_datatype::pack(&kind.datatype, inbuf.cast(), incount, 0, outbuf.cast::<u8>().wrapping_add(*position as usize), needed as usize) };
    *position += needed;
    Ok(())
}

/// MPI_Unpack.
///
/// # Safety
/// `inbuf` must hold `insize` bytes, `outbuf` have room for `outcount` elements.
pub unsafe fn unpack(inbuf: *const c_void, insize: i64, position: &mut i64, outbuf: *mut c_void, outcount: i64, datatype: Handle, comm: Handle) -> Result<()> {
    world::comm(comm)?;
    let kind = lookup(datatype, "datatype")?;
    check_buffer(outbuf, outcount, kind)?;
    let needed = kind.datatype.bytes(outcount);
    checked(*position, insize, needed, "inbuf")?;
    if needed > 0 && inbuf.is_null() {
        fail!(ERR_ARG, "argument inbuf is NULL");
    }
    // SAFETY: the bytes are there; the program lends the elements.
    unsafe { towpath_datatype::unpack(&kind.datatype, outbuf.cast(), outcount, 0, inbuf.cast::<u8>().wrapping_add(*position as usize), needed as usize) };
    *position += needed;
    Ok(())
}

/// MPI_Pack_size: exact, since packing adds nothing.
pub fn pack_size(incount: i64, datatype: Handle, comm: Handle) -> Result<i64> {
    world::comm(comm)?;
    let kind = lookup(datatype, "datatype")?;
    check_buffer(std::ptr::dangling(), incount, kind)?;
    Ok(kind.datatype.bytes(incount))
}

/// # Safety
/// `datarep` must be NULL or a NUL-terminated string.
unsafe fn check_representation(datarep: *const c_char) -> Result<()> {
    // SAFETY: promised by the caller.
    let name = unsafe { text(datarep, "datarep") }?;
    if name != "external32" {
        fail!(ERR_ARG, "argument datarep is \"{name}\"; only \"external32\" exists");
    }
    Ok(())
}

/// MPI_Pack_external_size.
///
/// # Safety
/// `datarep` must be NULL or a NUL-terminated string.
pub unsafe fn pack_external_size(datarep: *const c_char, incount: i64, datatype: Handle) -> Result<i64> {
    // SAFETY: promised by the caller.
    unsafe { check_representation(datarep) }?;
    let kind = lookup(datatype, "datatype")?;
    check_buffer(std::ptr::dangling(), incount, kind)?;
    Ok(towpath_datatype::external32::size(&kind.datatype, incount)?)
}

/// MPI_Pack_external.
///
/// # Safety
/// As [`pack`], and `datarep` must be NULL or a NUL-terminated string.
pub unsafe fn pack_external(datarep: *const c_char, inbuf: *const c_void, incount: i64, datatype: Handle, outbuf: *mut c_void, outsize: i64, position: &mut i64) -> Result<()> {
    // SAFETY: promised by the caller.
    unsafe { check_representation(datarep) }?;
    let kind = lookup(datatype, "datatype")?;
    check_buffer(inbuf, incount, kind)?;
    let needed = towpath_datatype::external32::size(&kind.datatype, incount)?;
    checked(*position, outsize, needed, "outbuf")?;
    // SAFETY: the room was checked; the program lends the elements.
    unsafe { towpath_datatype::external32::pack(&kind.datatype, inbuf.cast(), incount, outbuf.cast::<u8>().wrapping_add(*position as usize), needed as usize)? };
    *position += needed;
    Ok(())
}

/// MPI_Unpack_external.
///
/// # Safety
/// As [`unpack`], and `datarep` must be NULL or a NUL-terminated string.
pub unsafe fn unpack_external(datarep: *const c_char, inbuf: *const c_void, insize: i64, position: &mut i64, outbuf: *mut c_void, outcount: i64, datatype: Handle) -> Result<()> {
    // SAFETY: promised by the caller.
    unsafe { check_representation(datarep) }?;
    let kind = lookup(datatype, "datatype")?;
    check_buffer(outbuf, outcount, kind)?;
    let needed = towpath_datatype::external32::size(&kind.datatype, outcount)?;
    checked(*position, insize, needed, "inbuf")?;
    // SAFETY: the bytes are there; the program lends the elements.
    unsafe { towpath_datatype::external32::unpack(&kind.datatype, outbuf.cast(), outcount, inbuf.cast::<u8>().wrapping_add(*position as usize), needed as usize)? };
    *position += needed;
    Ok(())
}
