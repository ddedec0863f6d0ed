//! MPI_Pack_external and MPI_Unpack_external (MPI 5.0, section 5.3).

use std::ffi::c_void;

use towpath_datatype::{external32_size, pack_external32, unpack_external32};
use towpath_neutral::abi::{Handle, StringArgument};
use towpath_neutral::error::{Result, fail};

use super::lookup;
use super::packing::checked;
use crate::chapters::point_to_point::check_buffer;

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
    let kind = lookup(datatype, "datatype")?;
    check_buffer(std::ptr::dangling(), incount, &kind)?;
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
    let kind = lookup(datatype, "datatype")?;
    check_buffer(inbuf, incount, &kind)?;
    let needed = external32_size(&kind.datatype, incount)?;
    checked(*position, outsize, needed, "outbuf")?;
    // SAFETY: `inbuf` holds `incount` elements and `outbuf` has `outsize` bytes (this function's
    // contract); `checked` has verified that `needed` bytes fit from `position`.
    unsafe {
        pack_external32(
            &kind.datatype,
            inbuf.cast(),
            incount,
            outbuf.cast::<u8>().wrapping_add(*position as usize),
            needed as usize,
        )?
    };
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
    let kind = lookup(datatype, "datatype")?;
    check_buffer(outbuf, outcount, &kind)?;
    let needed = external32_size(&kind.datatype, outcount)?;
    checked(*position, insize, needed, "inbuf")?;
    // SAFETY: `outbuf` has room for `outcount` elements and `inbuf` has `insize` bytes (this
    // function's contract); `checked` has verified that `needed` of them follow `position`.
    unsafe {
        unpack_external32(
            &kind.datatype,
            outbuf.cast(),
            outcount,
            inbuf.cast::<u8>().wrapping_add(*position as usize),
            needed as usize,
        )?
    };
    *position += needed;
    Ok(())
}
