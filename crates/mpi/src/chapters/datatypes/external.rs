//! MPI_Pack_external and MPI_Unpack_external (MPI 5.0, section 5.3).

use std::ffi::c_void;

use towpath_collective::{HostCopies, Packing, on_copies};
use towpath_datatype::{Basic, Datatype, external32_size, pack_external32, unpack_external32};
use towpath_neutral::abi::{Handle, StringArgument};
use towpath_neutral::error::{Result, fail};

use super::packing::{elements, packed};
use crate::chapters::host_copies::in_host_memory;

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

/// Calls `convert` with elements and packed bytes, or host copies of those in device memory.
///
/// # Safety
/// `elements` must hold `count` elements of `datatype` and `packed` the `length` bytes for them.
unsafe fn on_host(
    how: Packing,
    datatype: &Datatype,
    (elements, count): (*const c_void, i64),
    (packed, length): (*mut u8, i64),
    convert: impl FnOnce(*mut u8, *mut u8) -> Result<usize>,
) -> Result<()> {
    let (mut copies, bytes) = (HostCopies::default(), Datatype::named(Basic::Byte));
    let ((read, unpacked), (taken, written)) = match how {
        Packing::Pack => ((count, 0), (0, length)),
        Packing::Unpack => ((0, count), (length, 0)),
    };
    let elements = in_host_memory(&mut copies, datatype, elements, read, unpacked)?;
    let packed = in_host_memory(&mut copies, &bytes, packed.cast(), taken, written)?;
    // SAFETY: both sides are valid during this call (this function's contract).
    unsafe { on_copies(&copies, || convert(elements, packed).map(drop)) }
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
    unsafe {
        let elements = (inbuf, incount);
        on_host(Packing::Pack, &kind.datatype, elements, (to, needed), |elements, to| {
            Ok(pack_external32(&kind.datatype, elements, incount, to, needed as usize)?)
        })
    }?;
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
    unsafe {
        let elements = (outbuf.cast_const(), outcount);
        on_host(Packing::Unpack, &kind.datatype, elements, (from, needed), |elements, from| {
            Ok(unpack_external32(&kind.datatype, elements, outcount, from, needed as usize)?)
        })
    }?;
    *position += needed;
    Ok(())
}
