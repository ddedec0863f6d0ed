//! Calls the program's callback functions with the signatures of this ABI (MPI 5.0, 6.9.5, 7.7,
//! 9.3, 13.2).
//!
//! No lock of Towpath is held during a callback. The callbacks are `extern "C-unwind"`, so that an
//! exception thrown by a C++ function terminates the process with its own message.

use std::ffi::{c_int, c_void};

use towpath_mpi::{Callback, Handle, Kind, Status};

use crate::constants::*;
use crate::handles::*;
use crate::status::{self, MPI_Status};

type Reduction =
    unsafe extern "C-unwind" fn(*mut c_void, *mut c_void, *mut c_int, *mut MPI_Datatype);
type LargeReduction =
    unsafe extern "C-unwind" fn(*mut c_void, *mut c_void, *mut i64, *mut MPI_Datatype);
type Errhandler<T> = unsafe extern "C-unwind" fn(*mut T, *mut c_int, ...);
type Copy<T> = unsafe extern "C-unwind" fn(
    T,
    c_int,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut c_int,
) -> c_int;
type Delete<T> = unsafe extern "C-unwind" fn(T, c_int, *mut c_void, *mut c_void) -> c_int;
type Query = unsafe extern "C-unwind" fn(*mut c_void, *mut MPI_Status) -> c_int;
type Free = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;
type Cancel = unsafe extern "C-unwind" fn(*mut c_void, c_int) -> c_int;

/// Casts the program's pointer to the function type of its registration.
///
/// # Safety
/// The callback must not be NULL, and must point to a function of type `F`.
pub(crate) unsafe fn function<F: std::marker::Copy>(callback: Callback) -> F {
    assert_eq!(size_of::<F>(), size_of::<*const c_void>());
    // SAFETY: `callback.0` points to a function of type `F` (this function's contract), and
    // function pointers have the size of data pointers.
    unsafe { std::mem::transmute_copy::<*const c_void, F>(&callback.0) }
}

/// `MPI_User_function` and `MPI_User_function_c`. Counts above INT_MAX are split into several calls
/// of the small form.
///
/// # Safety
/// See [`towpath_mpi::AbiTable`].
pub(crate) unsafe fn reduction(
    callback: Callback,
    large: bool,
    input: *const c_void,
    inout: *mut c_void,
    count: i64,
    datatype: Handle,
    extent: i64,
) {
    let mut datatype = datatype_out(datatype);
    if large {
        let mut count = count;
        // SAFETY: functions registered with MPI_Op_create_c have this type; `input` and `inout`
        // hold `count` elements of the datatype.
        unsafe {
            function::<LargeReduction>(callback)(input.cast_mut(), inout, &mut count, &mut datatype)
        };
        return;
    }
    let mut done = 0;
    while done < count {
        let part = (count - done).min(i64::from(c_int::MAX));
        let offset = (done * extent) as isize;
        let mut length = part as c_int;
        // SAFETY: functions registered with MPI_Op_create have this type; `input` and `inout` hold
        // `count` elements of the datatype, of which `part` start at `offset`.
        unsafe {
            function::<Reduction>(callback)(
                input.byte_offset(offset).cast_mut(),
                inout.byte_offset(offset),
                &mut length,
                &mut datatype,
            );
        }
        done += part;
    }
}

/// Error handlers. The MPI function returns the error code that the handler leaves in its argument.
///
/// # Safety
/// See [`towpath_mpi::AbiTable`].
pub(crate) unsafe fn errhandler(callback: Callback, kind: Kind, object: Handle, code: i32) -> i32 {
    let mut left = error_code_out(code);
    // SAFETY: the handler was registered for objects of `kind`, and so has the type of that kind.
    unsafe {
        match kind {
            Kind::Win => function::<Errhandler<MPI_Win>>(callback)(&mut win_out(object), &mut left),
            Kind::File => {
                function::<Errhandler<MPI_File>>(callback)(&mut file_out(object), &mut left)
            }
            Kind::Session => {
                function::<Errhandler<MPI_Session>>(callback)(&mut session_out(object), &mut left)
            }
            _ => function::<Errhandler<MPI_Comm>>(callback)(&mut comm_out(object), &mut left),
        }
    }
    error_code_in(left)
}

/// Attribute copy functions. Returns the error code, whether the attribute is copied, and its
/// value.
///
/// # Safety
/// See [`towpath_mpi::AbiTable`].
pub(crate) unsafe fn copy(
    callback: Callback,
    kind: Kind,
    object: Handle,
    keyval: i32,
    extra: *mut c_void,
    value: *mut c_void,
) -> (i32, bool, *mut c_void) {
    let mut copied: *mut c_void = std::ptr::null_mut();
    let mut flag: c_int = 0;
    let place = (&raw mut copied).cast::<c_void>();
    let key = keyval_out(keyval);
    // SAFETY: the function was registered for objects of `kind`, and so has the type of that kind.
    let code = unsafe {
        match kind {
            Kind::Datatype => function::<Copy<MPI_Datatype>>(callback)(
                datatype_out(object),
                key,
                extra,
                value,
                place,
                &mut flag,
            ),
            Kind::Win => function::<Copy<MPI_Win>>(callback)(
                win_out(object),
                key,
                extra,
                value,
                place,
                &mut flag,
            ),
            _ => function::<Copy<MPI_Comm>>(callback)(
                comm_out(object),
                key,
                extra,
                value,
                place,
                &mut flag,
            ),
        }
    };
    (error_code_in(code), flag != 0, copied)
}

/// Calls an attribute delete function.
///
/// # Safety
/// See [`towpath_mpi::AbiTable`].
pub(crate) unsafe fn delete(
    callback: Callback,
    kind: Kind,
    object: Handle,
    keyval: i32,
    value: *mut c_void,
    extra: *mut c_void,
) -> i32 {
    let key = keyval_out(keyval);
    // SAFETY: the function was registered for objects of `kind`, and so has the type of that kind.
    let code = unsafe {
        match kind {
            Kind::Datatype => {
                function::<Delete<MPI_Datatype>>(callback)(datatype_out(object), key, value, extra)
            }
            Kind::Win => function::<Delete<MPI_Win>>(callback)(win_out(object), key, value, extra),
            _ => function::<Delete<MPI_Comm>>(callback)(comm_out(object), key, value, extra),
        }
    };
    error_code_in(code)
}

/// The query function of a generalized request.
///
/// # Safety
/// See [`towpath_mpi::AbiTable`].
pub(crate) unsafe fn query(callback: Callback, extra: *mut c_void) -> (i32, Status) {
    let mut status = MPI_Status::default();
    let place = (&raw mut status).cast::<c_void>();
    // SAFETY: query functions registered with MPI_Grequest_start have this type; `place` points to
    // the local `status`.
    unsafe {
        status::write(place, 0, &Status::EMPTY, true);
        let code = function::<Query>(callback)(extra, &mut status);
        (error_code_in(code), status::read(place, 0))
    }
}

/// The free function of a generalized request.
///
/// # Safety
/// See [`towpath_mpi::AbiTable`].
pub(crate) unsafe fn free(callback: Callback, extra: *mut c_void) -> i32 {
    // SAFETY: free functions registered with MPI_Grequest_start have this type.
    error_code_in(unsafe { function::<Free>(callback)(extra) })
}

/// The cancel function of a generalized request.
///
/// # Safety
/// See [`towpath_mpi::AbiTable`].
pub(crate) unsafe fn cancel(callback: Callback, extra: *mut c_void, complete: bool) -> i32 {
    // SAFETY: cancel functions registered with MPI_Grequest_start have this type.
    error_code_in(unsafe { function::<Cancel>(callback)(extra, c_int::from(complete)) })
}
