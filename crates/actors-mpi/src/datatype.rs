//! Arrays that a datatype of the MPI library describes.

use std::ffi::c_void;

use crate::abi::{BinaryInterface, Mpich, Standard};
use crate::library::{Functions, LibraryAbi, LibraryError, find};
use crate::slots::succeeded;

/// What the MPI library does with datatypes.
trait DatatypePacking {
    /// # Safety
    /// The datatype is a handle of this library.
    unsafe fn bytes(&self, datatype: usize) -> Result<i64, LibraryError>;

    /// # Safety
    /// As above, and the data are there.
    unsafe fn pack(
        &self,
        data: *const c_void,
        count: i64,
        datatype: usize,
        into: &mut [u8],
    ) -> Result<i64, LibraryError>;
}

impl<A: BinaryInterface> DatatypePacking for Functions<A> {
    unsafe fn bytes(&self, datatype: usize) -> Result<i64, LibraryError> {
        let mut bytes = 0;
        // SAFETY: the datatype is a handle of the library whose function this is; the result is
        // local.
        let code = unsafe { (self.type_size_c)(A::handle(datatype), &mut bytes) };
        succeeded("MPI_Type_size_c", code)?;
        Ok(bytes)
    }

    unsafe fn pack(
        &self,
        data: *const c_void,
        count: i64,
        datatype: usize,
        into: &mut [u8],
    ) -> Result<i64, LibraryError> {
        let (at, room, mut position) = (into.as_mut_ptr().cast(), into.len() as i64, 0);
        let datatype = A::handle(datatype);
        // SAFETY: the datatype is a handle of the library whose function this is, and what so many
        // elements of it describe is there. There is so much room, and the position is local.
        let code =
            unsafe { (self.pack_c)(data, count, datatype, at, room, &mut position, A::COMM_WORLD) };
        succeeded("MPI_Pack_c", code)?;
        Ok(position)
    }
}

thread_local! {
    static PACKING: Result<Box<dyn DatatypePacking>, LibraryError> = opened();
}

fn opened() -> Result<Box<dyn DatatypePacking>, LibraryError> {
    let (library, interface) = find()?;
    Ok(match interface {
        LibraryAbi::Standard => Box::new(Functions::<Standard>::of(library)?),
        LibraryAbi::Mpich => Box::new(Functions::<Mpich>::of(library)?),
    })
}

fn with_packing<T>(
    use_it: impl FnOnce(&dyn DatatypePacking) -> Result<T, LibraryError>,
) -> Result<T, LibraryError> {
    PACKING.with(|packing| match packing {
        Ok(packing) => use_it(&**packing),
        Err(error) => Err(error.clone()),
    })
}

/// How many bytes so many elements of a datatype describe.
///
/// # Errors
/// There is no MPI library, or they are more than any machine has.
///
/// # Safety
/// The datatype is a handle of the MPI library of this process.
pub unsafe fn packed_bytes(count: usize, datatype: usize) -> Result<usize, LibraryError> {
    with_packing(|packing| {
        // SAFETY: the datatype is a handle of the library of this process, which `packing` is.
        let bytes = usize::try_from(unsafe { packing.bytes(datatype) }?).ok();
        let all = bytes.and_then(|bytes| bytes.checked_mul(count));
        all.filter(|all| *all <= isize::MAX as usize).ok_or(LibraryError::TooMany { count })
    })
}

/// Writes them one behind the other.
///
/// # Errors
/// The MPI library packs them in another way.
///
/// # Safety
/// As for `packed_bytes`, and what the elements describe is there.
pub unsafe fn pack(
    data: *const c_void,
    count: usize,
    datatype: usize,
    into: &mut [u8],
) -> Result<(), LibraryError> {
    let expected = into.len() as i64;
    // SAFETY: as in `packed_bytes`, and what the elements describe is there.
    let packed =
        with_packing(|packing| unsafe { packing.pack(data, count as i64, datatype, into) })?;
    if packed == expected { Ok(()) } else { Err(LibraryError::Packed { expected, packed }) }
}
