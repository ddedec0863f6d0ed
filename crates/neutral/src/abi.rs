//! The interface between an ABI crate and `mpi`, and the accessors for arrays of the program.
//!
//! A process uses one ABI. Nothing here allocates: arrays of handles, statuses, ints and counts
//! stay in the program's memory and are accessed element by element, those of handles and statuses
//! through the ABI's function table.

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::constants::WEIGHTS_EMPTY;
use crate::error::{Result, fail};

/// A handle in the neutral numbering (docs/design/abi.md): predefined objects have their numbers of
/// the standard ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Handle(pub u32);

/// The kind of object that a handle names; its value is the kind bits of created handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// MPI_Comm
    Comm = 1,
    /// MPI_Group
    Group = 2,
    /// MPI_Datatype
    Datatype = 3,
    /// MPI_File
    File = 4,
    /// MPI_Errhandler
    Errhandler = 5,
    /// MPI_Op
    Op = 6,
    /// MPI_Info
    Info = 7,
    /// MPI_Win
    Win = 8,
    /// MPI_Request
    Request = 9,
    /// MPI_Message
    Message = 10,
    /// MPI_Session
    Session = 11,
    /// Attribute keys: plain ints in both ABIs, but with a handle table.
    Keyval = 12,
}

/// A status in neutral form: ranks and tags in the standard's numbering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Rank of the sender in the communicator.
    pub source: i32,
    /// Tag of the message.
    pub tag: i32,
    /// Error code (class and message slot, see `objects::errhandler` in `mpi`); 0 is MPI_SUCCESS.
    pub error: i32,
    /// Received bytes.
    pub bytes: i64,
    /// Whether the operation was cancelled.
    pub cancelled: bool,
}

impl Status {
    /// The empty status of the standard (3.7.3): any source, any tag, no bytes.
    pub const EMPTY: Status = Status {
        source: crate::constants::ANY_SOURCE,
        tag: crate::constants::ANY_TAG,
        error: 0,
        bytes: 0,
        cancelled: false,
    };
}

/// Calls an attribute copy function with object, key, extra state and value; returns code, flag
/// (keep) and new value.
pub type CopyCall = unsafe fn(
    Callback,
    Kind,
    Handle,
    i32,
    extra: *mut c_void,
    value: *mut c_void,
) -> (i32, bool, *mut c_void);

/// Like [`CopyCall`], but the first argument is the proxy through which the Fortran function is
/// called.
pub type FortranCopyCall = unsafe fn(
    Callback,
    Callback,
    Kind,
    Handle,
    i32,
    extra: *mut c_void,
    value: i64,
) -> (i32, bool, i64);

/// Functions that call callbacks registered through MPICH's own Fortran library.
pub struct FortranCalls {
    /// Like [`AbiTable::call_copy`], but the value is an integer, and the call goes through a
    /// proxy: a function of that library that calls the program's.
    pub call_copy: FortranCopyCall,
    /// Like [`AbiTable::call_delete`], through a proxy.
    pub call_delete: unsafe fn(
        proxy: Callback,
        function: Callback,
        kind: Kind,
        object: Handle,
        keyval: i32,
        value: i64,
        extra: *mut c_void,
    ) -> i32,
    /// Like [`AbiTable::call_grequest_query`].
    pub call_grequest_query: unsafe fn(function: Callback, extra: *mut c_void) -> (i32, Status),
    /// Like [`AbiTable::call_grequest_free`].
    pub call_grequest_free: unsafe fn(function: Callback, extra: *mut c_void) -> i32,
    /// Like [`AbiTable::call_grequest_cancel`].
    pub call_grequest_cancel:
        unsafe fn(function: Callback, extra: *mut c_void, complete: bool) -> i32,
}

/// The function table of an ABI: how to access its arrays and how to call the program's callbacks.
///
/// No lock of Towpath is held while a callback runs. Arguments and return values are in the neutral
/// numbering.
pub struct AbiTable {
    /// `"standard"` or `"mpich"`.
    pub name: &'static str,
    /// Reads element `index` of an array of handles.
    pub read_handle: unsafe fn(array: *const c_void, index: usize, kind: Kind) -> Handle,
    /// Writes element `index` of an array of handles.
    pub write_handle: unsafe fn(array: *mut c_void, index: usize, kind: Kind, handle: Handle),
    /// Reads element `index` of an array of statuses.
    pub read_status: unsafe fn(array: *const c_void, index: usize) -> Status,
    /// Writes element `index` of an array of statuses; the error field only if `with_error` is set.
    pub write_status:
        unsafe fn(array: *mut c_void, index: usize, status: &Status, with_error: bool),
    /// Calls a user's reduction function (`MPI_User_function`, or `_c` if `large`). For the small
    /// form, the binding splits counts above INT_MAX into several calls; `extent` is the datatype's
    /// extent in bytes.
    pub call_reduction: unsafe fn(
        function: Callback,
        large: bool,
        input: *const c_void,
        inout: *mut c_void,
        count: i64,
        datatype: Handle,
        extent: i64,
    ),
    /// Calls a user's error handler for an object of `kind`; returns the code as the handler left
    /// it.
    pub call_errhandler:
        unsafe fn(function: Callback, kind: Kind, object: Handle, code: i32) -> i32,
    /// Calls a user's attribute copy function for an object of `kind`; returns code, flag (keep)
    /// and new value.
    pub call_copy: CopyCall,
    /// Calls a user's attribute delete function for an object of `kind`; returns the code.
    pub call_delete: unsafe fn(
        function: Callback,
        kind: Kind,
        object: Handle,
        keyval: i32,
        value: *mut c_void,
        extra: *mut c_void,
    ) -> i32,
    /// Calls the query function of a generalized request; returns the code and the status that it
    /// filled in.
    pub call_grequest_query: unsafe fn(function: Callback, extra: *mut c_void) -> (i32, Status),
    /// Calls a generalized request's free function.
    pub call_grequest_free: unsafe fn(function: Callback, extra: *mut c_void) -> i32,
    /// Calls a generalized request's cancel function.
    pub call_grequest_cancel:
        unsafe fn(function: Callback, extra: *mut c_void, complete: bool) -> i32,
    /// For a library of Fortran bindings that is not part of Towpath; `None` if this ABI has no
    /// such library.
    pub fortran: Option<FortranCalls>,
}

/// A callback as passed by the program. Predefined attribute functions have the small numbers of
/// the standard ABI (`MPI_COMM_NULL_COPY_FN` 0, `MPI_COMM_DUP_FN` 1) in every ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Callback(pub *const c_void);

// SAFETY: a function may be called from any thread; the program requests a thread level under which
// its callbacks allow that.
unsafe impl Send for Callback {}
// SAFETY: a `Callback` is an address that never changes.
unsafe impl Sync for Callback {}

/// The number of elements of an array whose count the program passes. Zero for NULL,
/// MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY, and negative counts, which the body rejects.
#[inline]
fn elements(address: usize, count: i64) -> usize {
    if address <= WEIGHTS_EMPTY { 0 } else { usize::try_from(count).unwrap_or(0) }
}

/// Input array of ints (small form) or counts (large form), read as `i64`.
///
/// Invariant: the array has `length` elements.
#[derive(Clone, Copy)]
pub struct Integers {
    pointer: *const c_void,
    length: usize,
    wide: bool,
}

impl Integers {
    /// Array of `int`. It has no elements until [`Integers::with_length`] says how many.
    pub fn small(pointer: *const c_int) -> Integers {
        Integers { pointer: pointer.cast(), length: 0, wide: false }
    }
    /// Array of `MPI_Count`, `MPI_Aint` or `MPI_Offset` (8 bytes each), otherwise as
    /// [`Integers::small`].
    pub fn large(pointer: *const i64) -> Integers {
        Integers { pointer: pointer.cast(), length: 0, wide: true }
    }
    /// The array with its length.
    ///
    /// # Safety
    /// The array must be NULL, MPI_UNWEIGHTED or MPI_WEIGHTS_EMPTY, or have `count` elements for as
    /// long as it is used.
    #[inline]
    #[must_use]
    pub unsafe fn with_length(self, count: i64) -> Integers {
        Integers { length: elements(self.address(), count), ..self }
    }
    /// True for NULL. Not for MPI_UNWEIGHTED (10) and MPI_WEIGHTS_EMPTY (11): compare
    /// [`Integers::address`].
    pub fn is_null(&self) -> bool {
        self.pointer.is_null()
    }
    /// The pointer as a number, for sentinel values.
    pub fn address(&self) -> usize {
        self.pointer as usize
    }
    /// Element `index`, which must be less than the length.
    #[inline]
    pub fn get(&self, index: usize) -> i64 {
        assert!(index < self.length);
        // SAFETY: the array has `length` elements (`with_length`), and `index` is less. `wide`
        // identifies their type, for which MPI requires the program to align the array.
        unsafe {
            if self.wide {
                *self.pointer.cast::<i64>().add(index)
            } else {
                i64::from(*self.pointer.cast::<c_int>().add(index))
            }
        }
    }
}

/// Output array of ints or counts.
///
/// Invariant: the array is writable and has `length` elements.
#[derive(Clone, Copy)]
pub struct IntegersMut {
    pointer: *mut c_void,
    length: usize,
    wide: bool,
}

impl IntegersMut {
    /// Array of `int`. It has no elements until [`IntegersMut::with_length`] says how many.
    pub fn small(pointer: *mut c_int) -> IntegersMut {
        IntegersMut { pointer: pointer.cast(), length: 0, wide: false }
    }
    /// Array of `MPI_Count`, `MPI_Aint` or `MPI_Offset` (8 bytes each), otherwise as
    /// [`IntegersMut::small`].
    pub fn large(pointer: *mut i64) -> IntegersMut {
        IntegersMut { pointer: pointer.cast(), length: 0, wide: true }
    }
    /// The array with its length.
    ///
    /// # Safety
    /// The array must be NULL, MPI_UNWEIGHTED or MPI_WEIGHTS_EMPTY, or be writable and have `count`
    /// elements for as long as it is used.
    #[inline]
    #[must_use]
    pub unsafe fn with_length(self, count: i64) -> IntegersMut {
        IntegersMut { length: elements(self.address(), count), ..self }
    }
    /// True for NULL.
    pub fn is_null(&self) -> bool {
        self.pointer.is_null()
    }
    /// The pointer as a number, for sentinel values.
    pub fn address(&self) -> usize {
        self.pointer as usize
    }
    /// Element `index`, which must be less than the length, of an array that is also an input
    /// (MPI_Dims_create).
    #[inline]
    pub fn get(&self, index: usize) -> i64 {
        Integers { pointer: self.pointer, length: self.length, wide: self.wide }.get(index)
    }
    /// Writes element `index`, which must be less than the length; values that do not fit in an int
    /// become MPI_UNDEFINED.
    #[inline]
    pub fn set(&self, index: usize, value: i64) {
        assert!(index < self.length);
        // SAFETY: the array is writable and has `length` elements (`with_length`), whose type
        // `wide` identifies, and `index` is less.
        unsafe {
            if self.wide {
                *self.pointer.cast::<i64>().add(index) = value;
            } else {
                *self.pointer.cast::<c_int>().add(index) =
                    c_int::try_from(value).unwrap_or(crate::constants::UNDEFINED);
            }
        }
    }
}

/// Array of handles of one kind in the program's memory.
///
/// Invariant: the array has `length` elements, and is writable unless it is an input in the
/// standard.
#[derive(Clone, Copy)]
pub struct HandleArray {
    pointer: *mut c_void,
    length: usize,
    abi: &'static AbiTable,
    kind: Kind,
}

impl HandleArray {
    /// The array at `pointer`. It has no elements until [`HandleArray::with_length`] says how many.
    /// Arrays that are inputs in the standard are never written.
    pub fn new(pointer: *const c_void, abi: &'static AbiTable, kind: Kind) -> HandleArray {
        HandleArray { pointer: pointer.cast_mut(), length: 0, abi, kind }
    }
    /// The array with its length.
    ///
    /// # Safety
    /// The array must be NULL or have `count` elements for as long as it is used, of the handle
    /// type that the ABI has for its kind, writable if a body writes them.
    #[inline]
    #[must_use]
    pub unsafe fn with_length(self, count: i64) -> HandleArray {
        HandleArray { length: elements(self.pointer as usize, count), ..self }
    }
    /// True for NULL.
    pub fn is_null(&self) -> bool {
        self.pointer.is_null()
    }
    /// The pointer as a number.
    pub fn address(&self) -> usize {
        self.pointer as usize
    }
    /// Element `index`, which must be less than the length.
    #[inline]
    pub fn get(&self, index: usize) -> Handle {
        assert!(index < self.length);
        // SAFETY: the array has `length` elements of the handle type that `abi` has for `kind`
        // (`with_length`), and `index` is less.
        unsafe { (self.abi.read_handle)(self.pointer, index, self.kind) }
    }
    /// Writes element `index`, which must be less than the length.
    #[inline]
    pub fn set(&self, index: usize, handle: Handle) {
        assert!(index < self.length);
        // SAFETY: the array is writable and has `length` elements of the handle type that `abi` has
        // for `kind` (`with_length`), and `index` is less.
        unsafe { (self.abi.write_handle)(self.pointer, index, self.kind, handle) }
    }
}

/// Array of statuses in the program's memory, or MPI_STATUSES_IGNORE.
///
/// Invariant: the array is NULL, or is writable and has `length` elements of the ABI's type.
#[derive(Clone, Copy)]
pub struct StatusArray {
    pointer: *mut c_void,
    length: usize,
    abi: &'static AbiTable,
}

impl StatusArray {
    /// The array at `pointer`; the binding passes NULL for MPI_STATUSES_IGNORE. It has no elements
    /// until [`StatusArray::with_length`] says how many.
    pub fn new(pointer: *mut c_void, abi: &'static AbiTable) -> StatusArray {
        StatusArray { pointer, length: 0, abi }
    }
    /// The array with its length.
    ///
    /// # Safety
    /// The array must be NULL, or be writable and have `count` elements of the ABI's type for as
    /// long as it is used.
    #[inline]
    #[must_use]
    pub unsafe fn with_length(self, count: i64) -> StatusArray {
        StatusArray { length: elements(self.pointer as usize, count), ..self }
    }
    /// True if the program does not want statuses.
    pub fn is_ignored(&self) -> bool {
        self.pointer.is_null()
    }
    /// Writes only the error field of element `index`, which must be less than the length. Does
    /// nothing if statuses are ignored.
    pub fn set_error(&self, index: usize, error: i32) {
        if !self.pointer.is_null() {
            assert!(index < self.length);
            // SAFETY: the array is not NULL, so it is writable and has `length` elements of the
            // ABI's status type (`with_length`), and `index` is less.
            unsafe {
                let status = Status { error, ..(self.abi.read_status)(self.pointer, index) };
                (self.abi.write_status)(self.pointer, index, &status, true);
            }
        }
    }

    /// Writes element `index`, which must be less than the length. Writes its error field only if
    /// `with_error` is set. Does nothing if statuses are ignored.
    #[inline]
    pub fn set(&self, index: usize, status: &Status, with_error: bool) {
        if !self.pointer.is_null() {
            assert!(index < self.length);
            // SAFETY: the array is not NULL, so it is writable and has `length` elements of the
            // ABI's status type (`with_length`), and `index` is less.
            unsafe { (self.abi.write_status)(self.pointer, index, status, with_error) }
        }
    }
}

/// A string argument of the program.
///
/// Invariant: the pointer is NULL or a NUL-terminated string.
#[derive(Clone, Copy)]
pub struct StringArgument(*const c_char);

impl StringArgument {
    /// The string at `pointer`.
    ///
    /// # Safety
    /// `pointer` must be NULL or a NUL-terminated string for as long as this value is used.
    pub unsafe fn new(pointer: *const c_char) -> StringArgument {
        StringArgument(pointer)
    }
    /// A copy of the string; NULL is an error that names the argument.
    ///
    /// # Errors
    /// MPI_ERR_ARG.
    pub fn text(&self, argument: &str) -> Result<String> {
        if self.0.is_null() {
            fail!(ERR_ARG, "argument {argument} is NULL; pass a string");
        }
        // SAFETY: the pointer is not NULL, so it is a NUL-terminated string (`new`).
        Ok(unsafe { CStr::from_ptr(self.0) }.to_string_lossy().into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_have_the_elements_that_the_program_counts() {
        let (small, mut large) = ([3, 4], [5i64, 6]);
        // SAFETY: both arrays have two elements.
        let (given, wanted) = unsafe {
            (
                Integers::small(small.as_ptr()).with_length(2),
                IntegersMut::large(large.as_mut_ptr()).with_length(2),
            )
        };
        wanted.set(0, 7);
        assert_eq!((given.get(1), wanted.get(0), wanted.get(1)), (4, 7, 6));
    }

    #[test]
    fn special_values_and_negative_counts_have_no_elements() {
        for address in [0, crate::constants::UNWEIGHTED, WEIGHTS_EMPTY] {
            assert_eq!(elements(address, 9), 0);
        }
        assert_eq!((elements(4096, -1), elements(4096, 9)), (0, 9));
    }

    #[test]
    #[should_panic(expected = "index < self.length")]
    fn an_array_of_unknown_length_has_no_elements() {
        Integers::small([1].as_ptr()).get(0);
    }

    #[test]
    fn strings_are_copied_and_null_is_an_error() {
        // SAFETY: NUL-terminated, or NULL.
        let (text, null) = unsafe {
            (StringArgument::new(c"key".as_ptr()), StringArgument::new(std::ptr::null()))
        };
        assert_eq!(text.text("key").unwrap(), "key");
        assert_eq!(null.text("key").unwrap_err().class(), crate::constants::ERR_ARG);
    }
}
