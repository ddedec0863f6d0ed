//! MPI_Pack_external and MPI_Unpack_external (MPI 5.0, section 5.3).

use std::ffi::c_void;

use towpath_datatype::{external32_size, pack_external32, unpack_external32};
use towpath_neutral::abi::{Handle, StringArgument};
use towpath_neutral::error::{Result, fail};

use super::packing::{elements, packed};

/// Checks that a data representation is "external32".
fn check_representation(datarep: StringArgument) -> Result<()> {
    let name = datarep.text("datarep")?;
    if name != "external32" {
        fail!(ERR_ARG, "argument datarep is \"{name}\"; only \"external32\" exists");
    }
    Ok(())
}

/// MPI_Pack_external_size.
pub fn pack_external_size(datarep: StringArgument, incount: i64, datatype: Handle) -> Result<i64> {
    check_representation(datarep)?;
    let kind = elements(std::ptr::dangling(), incount, datatype)?;
    Ok(external32_size(&kind.datatype, incount)?)
}

/// MPI_Pack_external.
///
/// # Safety
/// Same as for [`pack`].
pub unsafe fn pack_external(
    datarep: StringArgument,
    inbuf: *const c_void,
    incount: i64,
    datatype: Handle,
    outbuf: *mut c_void,
    outsize: i64,
    position: &mut i64,
) -> Result<()> {
    check_representation(datarep)?;
    let kind = elements(inbuf, incount, datatype)?;
    let needed = external32_size(&kind.datatype, incount)?;
    let to = packed(outbuf, outsize, *position, needed, "outbuf")?;
    // SAFETY: `inbuf` holds `incount` elements and `outbuf` has `outsize` bytes (this function's
    // contract), of which `needed` follow `to` (`packed`).
    unsafe { pack_external32(&kind.datatype, inbuf.cast(), incount, to, needed as usize) }?;
    *position += needed;
    Ok(())
}

/// MPI_Unpack_external.
///
/// # Safety
/// Same as for [`unpack`].
pub unsafe fn unpack_external(
    datarep: StringArgument,
    inbuf: *const c_void,
    insize: i64,
    position: &mut i64,
    outbuf: *mut c_void,
    outcount: i64,
    datatype: Handle,
) -> Result<()> {
    check_representation(datarep)?;
    let kind = elements(outbuf, outcount, datatype)?;
    let needed = external32_size(&kind.datatype, outcount)?;
    let from = packed(inbuf, insize, *position, needed, "inbuf")?;
    // SAFETY: `outbuf` has room for `outcount` elements and `inbuf` has `insize` bytes (this
    // function's contract), of which `needed` follow `from` (`packed`).
    unsafe { unpack_external32(&kind.datatype, outbuf.cast(), outcount, from, needed as usize) }?;
    *position += needed;
    Ok(())
}
