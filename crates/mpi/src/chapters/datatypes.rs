//! Datatype functions (MPI 5.0, chapter 5). Constructors are in `datatypes/constructors`, packing
//! in `datatypes/packing`, queries in `datatypes/queries`.

mod constructors;
mod external;
mod packing;
mod queries;

pub use constructors::*;
pub use external::*;
pub use packing::*;
pub use queries::*;

use std::sync::{Arc, LazyLock};

use towpath_datatype::{Basic, Datatype};
use towpath_neutral::abi::Handle;
use towpath_neutral::constants::*;
use towpath_neutral::error::{Error, Result, fail};

use crate::objects::datatype::Type;
use crate::objects::registry::OBJECTS;

/// Predefined types, indexed by the low byte of their numbers 0x200 to 0x2ff.
static PREDEFINED: LazyLock<[Option<Arc<Type>>; 256]> = LazyLock::new(|| {
    std::array::from_fn(|i| {
        Basic::from_number(0x200 + i as u32).map(|basic| Arc::new(Type::new(Datatype::named(basic), true)))
    })
});

/// Builds the table of predefined datatypes, so that the first message does not pay for its page
/// faults.
pub(crate) fn prepare() {
    LazyLock::force(&PREDEFINED);
}

/// A predefined datatype, whose number is 0x200 to 0x2ff; `None` if no datatype has this number.
#[inline(always)]
fn predefined(datatype: Handle) -> Option<&'static Arc<Type>> {
    PREDEFINED[(datatype.0 & 0xff) as usize].as_ref()
}

/// Looks up a datatype.
pub(crate) fn lookup(datatype: Handle, argument: &str) -> Result<Arc<Type>> {
    let found =
        if datatype.0 & !0xff == 0x200 { predefined(datatype).cloned() } else { OBJECTS.datatypes.share(datatype) };
    match found {
        Some(found) => Ok(found),
        None => unknown(datatype, argument),
    }
}

/// Looks up a datatype without a reference count, for the fast path of small messages.
///
/// # Safety
/// Same as for [`towpath_neutral::handle::Table::borrow`]: the datatype must not be freed while the
/// reference is used.
#[inline(always)]
pub(crate) unsafe fn borrow<'a>(datatype: Handle, argument: &str) -> Result<&'a Arc<Type>> {
    let found = if datatype.0 & !0xff == 0x200 {
        predefined(datatype)
    } else {
        // SAFETY: the datatype is not freed while the reference is used (this function's contract).
        unsafe { OBJECTS.datatypes.borrow(datatype) }
    };
    match found {
        Some(found) => Ok(found),
        None => unknown(datatype, argument),
    }
}

/// Accepts MPI_DATATYPE_NULL with a count of 0, which programs mostly pass together with
/// MPI_PROC_NULL, and which MPICH and Intel MPI accept in point-to-point calls and MPI_Bcast.
/// Returns `error` for anything else.
#[cold]
pub(crate) fn of_no_elements<'a>(datatype: Handle, count: i64, error: Error) -> Result<&'a Arc<Type>> {
    match predefined(BYTE) {
        Some(byte) if datatype == DATATYPE_NULL && count == 0 => Ok(byte),
        _ => Err(error),
    }
}

#[cold]
fn unknown<T>(datatype: Handle, argument: &str) -> Result<T> {
    if datatype == DATATYPE_NULL {
        fail!(ERR_TYPE, "argument {argument} is MPI_DATATYPE_NULL; pass a datatype");
    }
    fail!(ERR_TYPE, "argument {argument} ({}) is not a datatype: it was never created, or was freed", datatype)
}

/// Creates a handle for a type.
pub(crate) fn insert(kind: Type) -> Result<Handle> {
    OBJECTS
        .datatypes
        .insert(Arc::new(kind))
        .ok_or_else(|| Error::new(ERR_NO_MEM, "too many datatypes exist; free some"))
}

/// The error for a count that [`Type::can_have`] rejects.
#[cold]
pub(crate) fn bad_count<T>(count: i64, kind: &Type, argument: &str) -> Result<T> {
    if count < 0 {
        fail!(ERR_COUNT, "argument {argument} is {count}; it must not be negative");
    }
    fail!(
        ERR_COUNT,
        "argument {argument} is {count}; so many elements of {} bytes with an extent of {} bytes do not fit in a signed \
         64-bit address, {} at most do",
        kind.datatype.size(),
        kind.datatype.extent(),
        kind.most()
    )
}
