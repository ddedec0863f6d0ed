//! Datatypes as objects: a type map with attributes, name and state (MPI 5.0, chapter 5). The C
//! functions are in `chapters::datatypes`.

use std::ffi::c_void;
use std::sync::Mutex;

use towpath_base::sync::{AtomicBool, AtomicI64, Ordering};
use towpath_collective::Element;
use towpath_datatype::Datatype;

use super::attribute::Attributes;
use crate::process::devices;

/// A datatype, as named by a handle.
#[derive(Debug)]
pub(crate) struct Type {
    /// Its type map.
    pub datatype: Datatype,
    /// One element of it, in the form that collectives use.
    pub element: Element,
    /// Cached attributes.
    pub attributes: Attributes,
    /// The name set by MPI_Type_set_name; `None`: the predefined name, or none.
    pub name: Mutex<Option<String>>,
    /// Predefined by MPI: must not be freed.
    pub predefined: bool,
    /// Bytes per element if any number of elements is contiguous and starts at the buffer address;
    /// otherwise -1.
    pub(super) contiguous: i64,
    /// The largest count whose size and offsets fit in 63 bits.
    most: i64,
    /// The largest count allowed in communication: `most`, or 0 before MPI_Type_commit.
    movable: AtomicI64,
    committed: AtomicBool,
}

impl Type {
    /// Creates a datatype, which is not committed unless it is predefined or a named type.
    pub(crate) fn new(datatype: Datatype, predefined: bool) -> Type {
        let contiguous = if datatype.is_contiguous() && datatype.true_lb() == 0 { datatype.size() } else { -1 };
        let (most, committed) = (datatype.greatest_count(), predefined || datatype.is_committed());
        let movable = AtomicI64::new(if committed { most } else { 0 });
        let (attributes, committed) = (Attributes::default(), AtomicBool::new(committed));
        let element = Element::of(&datatype);
        Type { datatype, element, attributes, name: Mutex::new(None), predefined, contiguous, most, movable, committed }
    }

    /// An element of a buffer of `count` elements in a collective call, in the buffer's memory.
    #[inline]
    pub(crate) fn element_at(&self, buffer: *const c_void, count: i64) -> Element {
        if devices::may_exist()
            && count > 0
            && let Some(device) = devices::device_of(&self.datatype, buffer)
        {
            return Element::on_device(&self.datatype, device);
        }
        self.element.clone()
    }

    /// True if it may be used in communication.
    #[inline]
    pub(crate) fn committed(&self) -> bool {
        self.committed.load(Ordering::Relaxed)
    }

    /// MPI_Type_commit.
    pub(crate) fn commit(&self) {
        self.datatype.commit();
        self.movable.store(self.most, Ordering::Relaxed);
        self.committed.store(true, Ordering::Relaxed);
    }

    /// True if this many elements can exist: the count is not negative, and their size and offsets
    /// fit in 63 bits.
    #[inline(always)]
    pub(crate) fn can_have(&self, count: i64) -> bool {
        count as u64 <= self.most as u64
    }

    /// True if this many elements may be sent or received: they can exist, and the datatype is
    /// committed or the count is 0.
    #[inline(always)]
    pub(crate) fn can_move(&self, count: i64) -> bool {
        count as u64 <= self.movable.load(Ordering::Relaxed) as u64
    }

    /// The largest count whose size and offsets fit in 63 bits.
    pub(crate) fn most(&self) -> i64 {
        self.most
    }

    /// True if two buffers of such elements at the same address overlap: not at MPI_BOTTOM, where
    /// the address carries no information.
    #[cold]
    pub(crate) fn needs_distinct(&self, address: *const c_void) -> bool {
        !address.is_null() && self.datatype.size() > 0
    }

    /// True if NULL is not a valid buffer for elements of this type (types with absolute addresses
    /// are used with MPI_BOTTOM).
    #[inline]
    pub(crate) fn needs_buffer(&self) -> bool {
        self.contiguous > 0
    }
}
