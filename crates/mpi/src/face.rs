//! What a face gives to the core, and the readers through which the core sees a face's arrays.
//!
//! One process speaks one face. Nothing here allocates: arrays of handles, statuses, ints and
//! counts stay where the program has them and are read element by element through the face's table.

use std::ffi::{c_int, c_void};

/// A handle in the neutral numbering (docs/design/abi.md): predefined objects have the numbers of
/// the standard ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Handle(pub u32);

/// What a handle names; also the kind bits of created handles.
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
    /// Attribute keys: plain ints in both faces, but a table of their own.
    Keyval = 12,
}

/// A status in the neutral form: ranks and tags in the standard's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Rank of the sender in the communicator.
    pub source: i32,
    /// Tag of the message.
    pub tag: i32,
    /// Error code (class and message slot, see `error`); 0 is MPI_SUCCESS.
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

/// Calls an attribute copy function with object, key, extra state and value; gives code, keep, new
/// value.
pub type CopyCall =
    unsafe fn(Callback, Kind, Handle, i32, extra: *mut c_void, value: *mut c_void) -> (i32, bool, *mut c_void);

/// As [`CopyCall`], with the function by which the one of Fortran is called before it.
pub type FortranCopyCall =
    unsafe fn(Callback, Callback, Kind, Handle, i32, extra: *mut c_void, value: i64) -> (i32, bool, i64);

/// How functions are called that a program has registered through MPICH's own Fortran library.
pub struct FortranCalls {
    /// Calls an attribute copy function by its proxy, a function of that library; otherwise as
    /// [`Face::call_copy`], with an integer for a value.
    pub call_copy: FortranCopyCall,
    /// As [`Face::call_delete`], by a proxy.
    pub call_delete: unsafe fn(
        proxy: Callback,
        function: Callback,
        kind: Kind,
        object: Handle,
        keyval: i32,
        value: i64,
        extra: *mut c_void,
    ) -> i32,
    /// As [`Face::call_grequest_query`].
    pub call_grequest_query: unsafe fn(function: Callback, extra: *mut c_void) -> (i32, Status),
    /// As [`Face::call_grequest_free`].
    pub call_grequest_free: unsafe fn(function: Callback, extra: *mut c_void) -> i32,
    /// As [`Face::call_grequest_cancel`].
    pub call_grequest_cancel: unsafe fn(function: Callback, extra: *mut c_void, complete: bool) -> i32,
}

/// The table of one face: how its arrays look and how the program's callbacks are called.
///
/// All functions are called with no lock of Towpath held. Codes are neutral on the Towpath side of
/// each function.
pub struct Face {
    /// `"standard"` or `"mpich"`.
    pub name: &'static str,
    /// Reads element `index` of an array of handles.
    pub read_handle: unsafe fn(array: *const c_void, index: usize, kind: Kind) -> Handle,
    /// Writes element `index` of an array of handles.
    pub write_handle: unsafe fn(array: *mut c_void, index: usize, kind: Kind, handle: Handle),
    /// Reads element `index` of an array of statuses.
    pub read_status: unsafe fn(array: *const c_void, index: usize) -> Status,
    /// Writes element `index` of an array of statuses. The error field is written only when
    /// `with_error`.
    pub write_status: unsafe fn(array: *mut c_void, index: usize, status: &Status, with_error: bool),
    /// Calls a user's reduction function (`MPI_User_function`, or `_c` when `large`); counts above
    /// INT_MAX of the small form are cut by the face into several calls (`extent` is the
    /// datatype's, in bytes).
    pub call_reduction: unsafe fn(
        function: Callback,
        large: bool,
        input: *const c_void,
        inout: *mut c_void,
        count: i64,
        datatype: Handle,
        extent: i64,
    ),
    /// Calls a user's error handler of an object of `kind`; returns the code that the handler left.
    pub call_errhandler: unsafe fn(function: Callback, kind: Kind, object: Handle, code: i32) -> i32,
    /// Calls a user's attribute copy function of an object of `kind`; returns (code, keep, new
    /// value).
    pub call_copy: CopyCall,
    /// Calls a user's attribute delete function of an object of `kind`; returns the code.
    pub call_delete: unsafe fn(
        function: Callback,
        kind: Kind,
        object: Handle,
        keyval: i32,
        value: *mut c_void,
        extra: *mut c_void,
    ) -> i32,
    /// Calls a generalized request's query function: fills and returns (code, status).
    pub call_grequest_query: unsafe fn(function: Callback, extra: *mut c_void) -> (i32, Status),
    /// Calls a generalized request's free function.
    pub call_grequest_free: unsafe fn(function: Callback, extra: *mut c_void) -> i32,
    /// Calls a generalized request's cancel function.
    pub call_grequest_cancel: unsafe fn(function: Callback, extra: *mut c_void, complete: bool) -> i32,
    /// For a library of Fortran bindings that is not part of Towpath; `None` where no such library
    /// fits.
    pub fortran: Option<FortranCalls>,
}

/// A program's function as it handed it over. Predefined attribute functions are small numbers of
/// the standard (`MPI_COMM_NULL_COPY_FN` 0, `MPI_COMM_DUP_FN` 1), whatever the face.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Callback(pub *const c_void);

// SAFETY: a function pointer may be called from any thread; the program promises so with its thread
// level.
unsafe impl Send for Callback {}
// SAFETY: as above.
unsafe impl Sync for Callback {}

/// Array of ints (small form) or counts (large form) that the program passed, read as `i64`.
#[derive(Clone, Copy)]
pub struct Integers {
    pointer: *const c_void,
    wide: bool,
}

impl Integers {
    /// Array of `int`.
    pub fn small(pointer: *const c_int) -> Integers {
        Integers { pointer: pointer.cast(), wide: false }
    }
    /// Array of `MPI_Count`, `MPI_Aint` or `MPI_Offset` (8 bytes each).
    pub fn large(pointer: *const i64) -> Integers {
        Integers { pointer: pointer.cast(), wide: true }
    }
    /// True for NULL (and for the standard's MPI_UNWEIGHTED = 10 and MPI_WEIGHTS_EMPTY = 11, use
    /// [`Integers::address`]).
    pub fn is_null(&self) -> bool {
        self.pointer.is_null()
    }
    /// The pointer as a number, for sentinels.
    pub fn address(&self) -> usize {
        self.pointer as usize
    }
    /// Element `index`.
    ///
    /// # Safety
    /// The program's array must have more than `index` elements.
    #[inline]
    pub unsafe fn get(&self, index: usize) -> i64 {
        // SAFETY: promised by the caller; the width was given by the face. Program arrays are
        // aligned for their type.
        unsafe {
            if self.wide {
                *self.pointer.cast::<i64>().add(index)
            } else {
                i64::from(*self.pointer.cast::<c_int>().add(index))
            }
        }
    }
}

/// Array of ints or counts that the core fills.
#[derive(Clone, Copy)]
pub struct IntegersMut {
    pointer: *mut c_void,
    wide: bool,
}

impl IntegersMut {
    /// Array of `int`.
    pub fn small(pointer: *mut c_int) -> IntegersMut {
        IntegersMut { pointer: pointer.cast(), wide: false }
    }
    /// Array of `MPI_Count`, `MPI_Aint` or `MPI_Offset` (8 bytes each).
    pub fn large(pointer: *mut i64) -> IntegersMut {
        IntegersMut { pointer: pointer.cast(), wide: true }
    }
    /// True for NULL.
    pub fn is_null(&self) -> bool {
        self.pointer.is_null()
    }
    /// The pointer as a number, for sentinels.
    pub fn address(&self) -> usize {
        self.pointer as usize
    }
    /// Element `index`, of an array that the program fills before the call (MPI_Dims_create).
    ///
    /// # Safety
    /// The program's array must have more than `index` elements.
    #[inline]
    pub unsafe fn get(&self, index: usize) -> i64 {
        // SAFETY: promised by the caller.
        unsafe { Integers { pointer: self.pointer, wide: self.wide }.get(index) }
    }
    /// Writes element `index`; a value that an int cannot hold becomes MPI_UNDEFINED.
    ///
    /// # Safety
    /// The program's array must have room for more than `index` elements.
    #[inline]
    pub unsafe fn set(&self, index: usize, value: i64) {
        // SAFETY: promised by the caller.
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
#[derive(Clone, Copy)]
pub struct HandleArray {
    pointer: *mut c_void,
    face: &'static Face,
    kind: Kind,
}

impl HandleArray {
    /// Array that starts at `pointer`; arrays the standard calls input-only are never written.
    pub fn new(pointer: *const c_void, face: &'static Face, kind: Kind) -> HandleArray {
        HandleArray { pointer: pointer.cast_mut(), face, kind }
    }
    /// True for NULL.
    pub fn is_null(&self) -> bool {
        self.pointer.is_null()
    }
    /// Element `index`.
    ///
    /// # Safety
    /// The program's array must have more than `index` elements.
    #[inline]
    pub unsafe fn get(&self, index: usize) -> Handle {
        // SAFETY: promised by the caller.
        unsafe { (self.face.read_handle)(self.pointer, index, self.kind) }
    }
    /// Writes element `index`.
    ///
    /// # Safety
    /// The program's array must be writable and have more than `index` elements.
    #[inline]
    pub unsafe fn set(&self, index: usize, handle: Handle) {
        // SAFETY: promised by the caller.
        unsafe { (self.face.write_handle)(self.pointer, index, self.kind, handle) }
    }
}

/// Array of statuses in the program's memory, or MPI_STATUSES_IGNORE.
#[derive(Clone, Copy)]
pub struct StatusArray {
    pointer: *mut c_void,
    face: &'static Face,
}

impl StatusArray {
    /// Array at `pointer`; the face passes NULL for MPI_STATUSES_IGNORE.
    pub fn new(pointer: *mut c_void, face: &'static Face) -> StatusArray {
        StatusArray { pointer, face }
    }
    /// True when the program does not want statuses.
    pub fn is_ignored(&self) -> bool {
        self.pointer.is_null()
    }
    /// Writes only the error field of element `index` (nothing when ignored).
    ///
    /// # Safety
    /// The program's array must have more than `index` elements.
    pub unsafe fn set_error(&self, index: usize, error: i32) {
        if !self.pointer.is_null() {
            // SAFETY: promised by the caller.
            unsafe {
                let status = Status { error, ..(self.face.read_status)(self.pointer, index) };
                (self.face.write_status)(self.pointer, index, &status, true);
            }
        }
    }

    /// Writes element `index` (nothing when ignored). The error field is written only when
    /// `with_error`.
    ///
    /// # Safety
    /// The program's array must have more than `index` elements.
    #[inline]
    pub unsafe fn set(&self, index: usize, status: &Status, with_error: bool) {
        if !self.pointer.is_null() {
            // SAFETY: promised by the caller.
            unsafe { (self.face.write_status)(self.pointer, index, status, with_error) }
        }
    }
}
