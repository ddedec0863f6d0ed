//! Datatype functions (MPI 5.0, chapter 5). Constructors are in `datatypes/constructors`, packing
//! in `datatypes/packing`.

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

/// A datatype as programs hold it.
#[derive(Debug)]
pub struct Type {
    /// Its layout.
    pub datatype: Datatype,
    /// Cached attributes.
    pub attributes: Attributes,
    /// MPI_Type_set_name; `None`: the predefined name, or none.
    pub name: Mutex<Option<String>>,
    /// Made by MPI: must not be freed.
    pub predefined: bool,
    /// Bytes of one element where any count of elements is a row of bytes that starts at the
    /// buffer; else -1.
    row: i64,
    /// The greatest count whose bytes and offsets fit in 63 bits.
    most: i64,
    /// The greatest count that communication takes: `most`, or 0 before MPI_Type_commit.
    movable: AtomicI64,
    committed: AtomicBool,
}

impl Type {
    /// A datatype that is not committed unless it is named.
    pub fn new(datatype: Datatype, predefined: bool) -> Type {
        let row = if datatype.is_contiguous() && datatype.true_lb() == 0 { datatype.size() } else { -1 };
        let (most, committed) = (datatype.greatest_count(), predefined || datatype.is_committed());
        let movable = AtomicI64::new(if committed { most } else { 0 });
        let (attributes, committed) = (Attributes::default(), AtomicBool::new(committed));
        Type { datatype, attributes, name: Mutex::new(None), predefined, row, most, movable, committed }
    }

    /// May it be used in communication?
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

    /// Whether so many elements can exist: the count is not negative, and their bytes and offsets
    /// fit in 63 bits.
    #[inline(always)]
    pub fn can_have(&self, count: i64) -> bool {
        count as u64 <= self.most as u64
    }

    /// Whether so many elements may be sent or received: they can exist, and the datatype is
    /// committed or there are none.
    #[inline(always)]
    pub fn can_move(&self, count: i64) -> bool {
        count as u64 <= self.movable.load(Ordering::Relaxed) as u64
    }

    /// Address and length where `count` elements, which [`Type::can_have`] allows, are one row of
    /// bytes.
    #[inline]
    pub fn bytes(&self, buffer: *const c_void, count: i64) -> Option<(*const u8, usize)> {
        (self.row >= 0).then(|| (buffer.cast(), (self.row * count) as usize))
    }

    /// Whether two buffers of such elements at this address share bytes: not at MPI_BOTTOM, where
    /// the address says nothing.
    #[cold]
    pub fn needs_distinct(&self, address: *const c_void) -> bool {
        !address.is_null() && self.datatype.size() > 0
    }

    /// Whether NULL is no address for elements of this type (types with absolute addresses go with
    /// MPI_BOTTOM).
    #[inline]
    pub fn needs_buffer(&self) -> bool {
        self.row > 0
    }
}

/// Predefined types by their number, 0x200 to 0x2ff.
static PREDEFINED: LazyLock<[Option<Arc<Type>>; 256]> = LazyLock::new(|| {
    std::array::from_fn(|i| {
        Basic::from_number(0x200 + i as u32).map(|basic| Arc::new(Type::new(Datatype::named(basic), true)))
    })
});

/// Makes the table of predefined datatypes, whose pages the first message would otherwise wait for.
pub(crate) fn prepare() {
    LazyLock::force(&PREDEFINED);
}

/// Finds a datatype.
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

/// Finds a datatype for the small path.
///
/// # Safety
/// As [`crate::handle::Table::borrow`].
#[inline(always)]
pub(crate) unsafe fn borrow<'a>(datatype: Handle, argument: &str) -> Result<&'a Arc<Type>> {
    let found = if datatype.0 & !0xff == 0x200 {
        PREDEFINED[(datatype.0 & 0xff) as usize].as_ref()
    } else {
        // SAFETY: promised by the caller.
        unsafe { OBJECTS.datatypes.borrow(datatype) }
    };
    match found {
        Some(found) => Ok(found),
        None => unknown(datatype, argument),
    }
}

/// A datatype for no elements of MPI_DATATYPE_NULL, which programs pass beside MPI_PROC_NULL above
/// all, and which MPICH and Intel MPI take in point-to-point calls and MPI_Bcast. Anything else is
/// the error.
#[cold]
pub(crate) fn of_no_elements<'a>(datatype: Handle, count: i64, error: Error) -> Result<&'a Arc<Type>> {
    if datatype == DATATYPE_NULL && count == 0 {
        // SAFETY: a predefined type is never freed.
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

/// Makes a handle for a type.
pub(crate) fn insert(kind: Type) -> Result<Handle> {
    OBJECTS
        .datatypes
        .insert(Arc::new(kind))
        .ok_or_else(|| Error::new(ERR_NO_MEM, "too many datatypes exist; free some"))
}

/// The error for a count that [`Type::can_have`] refuses.
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

/// Where the bytes of `count` elements at `buffer` come from when they are sent.
pub(crate) fn source(datatype: &Datatype, buffer: *const c_void, count: i64) -> Source {
    // SAFETY: the source touches no memory before a wire fills from it, while the operation is
    // under way, and until then the program lends the elements.
    unsafe { towpath_datatype::source(datatype, buffer.cast(), count) }
}

/// Where the bytes of a message for `count` elements at `buffer` go.
pub(crate) fn target(datatype: &Datatype, buffer: *mut c_void, count: i64) -> Target {
    // SAFETY: as in `source`.
    unsafe { towpath_datatype::target(datatype, buffer.cast(), count) }
}

/// A copy of the bytes of `count` elements at `buffer`.
///
/// # Errors
/// MPI_ERR_NO_MEM; nothing is read then.
///
/// # Safety
/// `buffer` must hold so many elements, and [`Type::can_have`] allow them.
pub(crate) unsafe fn packed(datatype: &Datatype, buffer: *const c_void, count: i64) -> Result<Vec<u8>> {
    let length = datatype.bytes(count) as usize;
    let mut copy = Vec::<u8>::new();
    if copy.try_reserve_exact(length).is_err() {
        fail!(ERR_NO_MEM, "there is no memory for the copy of a message of {length} bytes");
    }
    // SAFETY: the copy has room for all bytes, and `pack` writes them; the caller vouches for the
    // elements.
    unsafe {
        towpath_datatype::pack(datatype, buffer.cast(), count, 0, copy.as_mut_ptr(), length);
        copy.set_len(length);
    }
    Ok(copy)
}

/// The class of an error of the datatype crate.
pub(crate) fn class_of(error: &towpath_datatype::Error) -> i32 {
    match error {
        towpath_datatype::Error::Count { .. } | towpath_datatype::Error::Overflow { .. } => ERR_COUNT,
        towpath_datatype::Error::Truncated { .. } => ERR_TRUNCATE,
        _ => ERR_ARG,
    }
}
