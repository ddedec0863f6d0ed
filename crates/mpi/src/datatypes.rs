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

use std::ffi::c_void;
use std::sync::{Arc, LazyLock, Mutex};

use towpath_base::sync::{AtomicBool, AtomicI64, Ordering};
use towpath_base::transfer::{Source, Target};
use towpath_datatype::{Basic, Datatype};

use crate::attributes::Attributes;
use crate::constants::*;
use crate::error::{Error, Result, fail};
use crate::face::Handle;
use crate::world::OBJECTS;

/// A datatype, as named by a handle.
#[derive(Debug)]
pub struct Type {
    /// Its type map.
    pub datatype: Datatype,
    /// Cached attributes.
    pub attributes: Attributes,
    /// The name set by MPI_Type_set_name; `None`: the predefined name, or none.
    pub name: Mutex<Option<String>>,
    /// Predefined by MPI: must not be freed.
    pub predefined: bool,
    /// Bytes per element if any number of elements is contiguous and starts at the buffer address;
    /// otherwise -1.
    row: i64,
    /// The largest count whose size and offsets fit in 63 bits.
    most: i64,
    /// The largest count allowed in communication: `most`, or 0 before MPI_Type_commit.
    movable: AtomicI64,
    committed: AtomicBool,
}

impl Type {
    /// Creates a datatype, which is not committed unless it is predefined or a named type.
    pub fn new(datatype: Datatype, predefined: bool) -> Type {
        let row = if datatype.is_contiguous() && datatype.true_lb() == 0 { datatype.size() } else { -1 };
        let (most, committed) = (datatype.greatest_count(), predefined || datatype.is_committed());
        let movable = AtomicI64::new(if committed { most } else { 0 });
        let (attributes, committed) = (Attributes::default(), AtomicBool::new(committed));
        Type { datatype, attributes, name: Mutex::new(None), predefined, row, most, movable, committed }
    }

    /// True if it may be used in communication.
    #[inline]
    pub fn committed(&self) -> bool {
        self.committed.load(Ordering::Relaxed)
    }

    /// MPI_Type_commit.
    pub fn commit(&self) {
        self.datatype.commit();
        self.movable.store(self.most, Ordering::Relaxed);
        self.committed.store(true, Ordering::Relaxed);
    }

    /// True if this many elements can exist: the count is not negative, and their size and offsets
    /// fit in 63 bits.
    #[inline(always)]
    pub fn can_have(&self, count: i64) -> bool {
        count as u64 <= self.most as u64
    }

    /// True if this many elements may be sent or received: they can exist, and the datatype is
    /// committed or the count is 0.
    #[inline(always)]
    pub fn can_move(&self, count: i64) -> bool {
        count as u64 <= self.movable.load(Ordering::Relaxed) as u64
    }

    /// Address and length of `count` elements if they are contiguous. The count must be one that
    /// [`Type::can_have`] allows.
    #[inline]
    pub fn bytes(&self, buffer: *const c_void, count: i64) -> Option<(*const u8, usize)> {
        (self.row >= 0).then(|| (buffer.cast(), (self.row * count) as usize))
    }

    /// True if two buffers of such elements at the same address overlap: not at MPI_BOTTOM, where
    /// the address carries no information.
    #[cold]
    pub fn needs_distinct(&self, address: *const c_void) -> bool {
        !address.is_null() && self.datatype.size() > 0
    }

    /// True if NULL is not a valid buffer for elements of this type (types with absolute addresses
    /// are used with MPI_BOTTOM).
    #[inline]
    pub fn needs_buffer(&self) -> bool {
        self.row > 0
    }
}

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

/// Looks up a datatype.
pub(crate) fn lookup(datatype: Handle, argument: &str) -> Result<Arc<Type>> {
    let found = if datatype.0 & !0xff == 0x200 {
        PREDEFINED[(datatype.0 & 0xff) as usize].clone()
    } else {
        OBJECTS.datatypes.share(datatype)
    };
    match found {
        Some(found) => Ok(found),
        None => unknown(datatype, argument),
    }
}

/// Looks up a datatype without a reference count, for the fast path of small messages.
///
/// # Safety
/// As for [`crate::handle::Table::borrow`]: the datatype must not be freed while the reference is
/// used.
#[inline(always)]
pub(crate) unsafe fn borrow<'a>(datatype: Handle, argument: &str) -> Result<&'a Arc<Type>> {
    let found = if datatype.0 & !0xff == 0x200 {
        PREDEFINED[(datatype.0 & 0xff) as usize].as_ref()
    } else {
        // SAFETY: the datatype is not freed while the reference is used (this function's contract).
        unsafe { OBJECTS.datatypes.borrow(datatype) }
    };
    match found {
        Some(found) => Ok(found),
        None => unknown(datatype, argument),
    }
}

/// Accepts MPI_DATATYPE_NULL with a count of 0, which programs pass mostly together with
/// MPI_PROC_NULL, and which MPICH and Intel MPI accept in point-to-point calls and MPI_Bcast.
/// Returns `error` for anything else.
#[cold]
pub(crate) fn of_no_elements<'a>(datatype: Handle, count: i64, error: Error) -> Result<&'a Arc<Type>> {
    if datatype == DATATYPE_NULL && count == 0 {
        // SAFETY: MPI_BYTE is a predefined type, which is never freed.
        return unsafe { borrow(BYTE, "datatype") };
    }
    Err(error)
}

#[cold]
fn unknown<T>(datatype: Handle, argument: &str) -> Result<T> {
    if datatype == DATATYPE_NULL {
        fail!(ERR_TYPE, "argument {argument} is MPI_DATATYPE_NULL; pass a datatype");
    }
    fail!(ERR_TYPE, "argument {argument} ({}) is no datatype: it was never made, or was freed", datatype)
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
        kind.most
    )
}

/// The source of a message of `count` elements at `buffer`.
pub(crate) fn source(datatype: &Datatype, buffer: *const c_void, count: i64) -> Source {
    // SAFETY: the source does not access memory until a wire reads from it during the operation,
    // and MPI requires the program to keep the elements valid and unchanged until it completes.
    unsafe { towpath_datatype::source(datatype, buffer.cast(), count) }
}

/// The target of a message for `count` elements at `buffer`.
pub(crate) fn target(datatype: &Datatype, buffer: *mut c_void, count: i64) -> Target {
    // SAFETY: the target does not access memory until a wire writes to it during the operation, and
    // MPI requires the program to keep the buffer valid and untouched until it completes.
    unsafe { towpath_datatype::target(datatype, buffer.cast(), count) }
}

/// Copies the bytes of `count` elements at `buffer`.
///
/// # Errors
/// MPI_ERR_NO_MEM; nothing is read then.
///
/// # Safety
/// `buffer` must hold `count` elements, and [`Type::can_have`] must allow that count.
pub(crate) unsafe fn packed(datatype: &Datatype, buffer: *const c_void, count: i64) -> Result<Vec<u8>> {
    let length = datatype.bytes(count) as usize;
    let mut copy = Vec::<u8>::new();
    if copy.try_reserve_exact(length).is_err() {
        fail!(ERR_NO_MEM, "there is no memory for the copy of a message of {length} bytes");
    }
    // SAFETY: `buffer` holds `count` elements (this function's contract). `copy` has room for their
    // `length` bytes, which `pack` initializes.
    unsafe {
        towpath_datatype::pack(datatype, buffer.cast(), count, 0, copy.as_mut_ptr(), length);
        copy.set_len(length);
    }
    Ok(copy)
}

/// The MPI error class of an error of the datatype crate.
pub(crate) fn class_of(error: &towpath_datatype::Error) -> i32 {
    match error {
        towpath_datatype::Error::Count { .. } | towpath_datatype::Error::Overflow { .. } => ERR_COUNT,
        towpath_datatype::Error::Truncated { .. } => ERR_TRUNCATE,
        _ => ERR_ARG,
    }
}
