//! Internal interface between MPICH's Fortran library (`libmpifort.so.12`, Debian's
//! `libmpichfort.so.12`) and its C library: attributes with Fortran values, and Fortran callbacks,
//! whose calling convention differs from that of C.
//!
//! In Fortran an attribute value is an integer, and all arguments are passed by reference. The
//! Fortran library provides proxies that call attribute functions this way.

use towpath_base::calls::NAMES;
use towpath_mpi::abi::FortranCalls;
use towpath_mpi::error::Result;
use towpath_mpi::{Callback, Handle, Status, attributes, constants};

use crate::callbacks::function;
use crate::prelude::*;
use crate::status::{self, MPI_Status};

/// Kinds of attribute values in MPICH's interface: a pointer, as C sets and reads it, and an
/// integer of address size. Kind 3 is an integer of default size.
const POINTER: c_int = 0;
const INTEGER: c_int = 1;

type CopyProxy = unsafe extern "C-unwind" fn(
    *const c_void,
    c_int,
    c_int,
    *mut c_void,
    c_int,
    *mut c_void,
    *mut *mut c_void,
    *mut c_int,
) -> c_int;
type DeleteProxy = unsafe extern "C-unwind" fn(
    *const c_void,
    c_int,
    c_int,
    c_int,
    *mut c_void,
    *mut c_void,
) -> c_int;
type Query = unsafe extern "C-unwind" fn(*mut c_void, *mut MPI_Status, *mut c_int);
type Free = unsafe extern "C-unwind" fn(*mut c_void, *mut c_int);
type Cancel = unsafe extern "C-unwind" fn(*mut c_void, *mut c_int, *mut c_int);

/// The functions that call Fortran callbacks.
pub(crate) const CALLS: FortranCalls = FortranCalls {
    call_copy: copy,
    call_delete: delete,
    call_grequest_query: query,
    call_grequest_free: free,
    call_grequest_cancel: cancel,
};

/// A handle as an int of this ABI.
fn number(kind: Kind, object: Handle) -> c_int {
    match kind {
        Kind::Datatype => datatype_out(object),
        Kind::Win => win_out(object),
        _ => comm_out(object),
    }
}

/// # Safety
/// `proxy` must be the library's copy proxy for `called`, which was registered for objects of
/// `kind`; see [`FortranCalls`].
unsafe fn copy(
    proxy: Callback,
    called: Callback,
    kind: Kind,
    object: Handle,
    keyval: i32,
    extra: *mut c_void,
    value: i64,
) -> (i32, bool, i64) {
    let mut copied: *mut c_void = std::ptr::null_mut();
    let mut flag: c_int = 0;
    let (object, key, value) = (number(kind, object), keyval_out(keyval), value as *mut c_void);
    // SAFETY: `proxy` is the library's copy proxy and so has this type, and `called` is a function
    // that it can call (this function's contract).
    let code = unsafe {
        function::<CopyProxy>(proxy)(
            called.0,
            object,
            key,
            extra,
            INTEGER,
            value,
            &mut copied,
            &mut flag,
        )
    };
    (error_code_in(code), flag != 0, copied as i64)
}

/// # Safety
/// `proxy` must be the library's delete proxy for `called`, which was registered for objects of
/// `kind`; see [`FortranCalls`].
unsafe fn delete(
    proxy: Callback,
    called: Callback,
    kind: Kind,
    object: Handle,
    keyval: i32,
    value: i64,
    extra: *mut c_void,
) -> i32 {
    let (object, key, value) = (number(kind, object), keyval_out(keyval), value as *mut c_void);
    // SAFETY: `proxy` is the library's delete proxy and so has this type, and `called` is a
    // function that it can call (this function's contract).
    error_code_in(unsafe {
        function::<DeleteProxy>(proxy)(called.0, object, key, INTEGER, value, extra)
    })
}

/// # Safety
/// `called` must be a query function registered from Fortran; see [`FortranCalls`].
unsafe fn query(called: Callback, extra: *mut c_void) -> (i32, Status) {
    let mut status = MPI_Status::default();
    let mut code: c_int = 0;
    let place = (&raw mut status).cast::<c_void>();
    // SAFETY: query functions registered with MPI_GREQUEST_START have this type; `place` points to
    // the local `status`, whose layout is the same in Fortran.
    unsafe {
        status::write(place, 0, &Status::EMPTY, true);
        function::<Query>(called)(extra, &mut status, &mut code);
        (error_code_in(code), status::read(place, 0))
    }
}

/// # Safety
/// `called` must be a free function registered from Fortran; see [`FortranCalls`].
unsafe fn free(called: Callback, extra: *mut c_void) -> i32 {
    let mut code: c_int = 0;
    // SAFETY: free functions registered with MPI_GREQUEST_START have this type.
    unsafe { function::<Free>(called)(extra, &mut code) };
    error_code_in(code)
}

/// # Safety
/// `called` must be a cancel function registered from Fortran; see [`FortranCalls`].
unsafe fn cancel(called: Callback, extra: *mut c_void, complete: bool) -> i32 {
    let (mut complete, mut code) = (c_int::from(complete), 0);
    // SAFETY: cancel functions registered with MPI_GREQUEST_START have this type.
    unsafe { function::<Cancel>(called)(extra, &mut complete, &mut code) };
    error_code_in(code)
}

/// The number of a function, for the check that MPI is initialized and for error messages.
const fn call_number(name: &str) -> u16 {
    let mut number = 0;
    while number < NAMES.len() {
        if same(NAMES[number].as_bytes(), name.as_bytes()) {
            return number as u16;
        }
        number += 1;
    }
    panic!("no function has this name")
}

const fn same(first: &[u8], second: &[u8]) -> bool {
    let mut i = 0;
    while i < first.len() && i < second.len() && first[i] == second[i] {
        i += 1;
    }
    i == first.len() && i == second.len()
}

/// Stores an attribute value, which occupies eight bytes whatever its kind, and whether it is set.
///
/// # Safety
/// `place` and `flag` must be NULL or writable, `place` for eight bytes.
unsafe fn give(found: Option<i64>, place: *mut c_void, flag: *mut c_int) -> Result<()> {
    require(place, "attribute_val")?;
    require(flag, "flag")?;
    // SAFETY: neither pointer is NULL, so `place` is writable for eight bytes, and `flag` is
    // writable (this function's contract).
    unsafe {
        if let Some(value) = found {
            place.cast::<i64>().write(value);
        }
        *flag = c_int::from(found.is_some());
    }
    Ok(())
}

/// Converts a key to its internal number. The predefined keys of this ABI are odd in C, and one
/// larger in Fortran.
fn key_in(keyval: c_int) -> i32 {
    let is_predefined = matches!(keyval & !0xff, 0x6440_0000 | 0x6600_0000);
    keyval_in(if is_predefined && keyval % 2 == 0 { keyval - 1 } else { keyval })
}

/// The value of a communicator's attribute, in the form that `kind` names.
fn value_of_comm(comm: Handle, keyval: i32, kind: c_int) -> Result<Option<i64>> {
    let is_predefined = (constants::TAG_UB..=constants::UNIVERSE_SIZE).contains(&keyval);
    if kind != POINTER && !is_predefined {
        return attributes::comm_get_integer(comm, keyval);
    }
    let (value, is_set) = attributes::comm_get_attr(comm, keyval)?;
    let value = attribute_out(keyval, value);
    let word = || match kind {
        POINTER => value as i64,
        // SAFETY: a predefined attribute that is set points to an int.
        _ => i64::from(unsafe { *value.cast::<c_int>() }),
    };
    Ok(is_set.then(word))
}

/// The value of a datatype's attribute, in the form that `kind` names.
fn value_of_type(datatype: Handle, keyval: i32, kind: c_int) -> Result<Option<i64>> {
    if kind != POINTER {
        return attributes::type_get_integer(datatype, keyval);
    }
    let (value, is_set) = attributes::type_get_attr(datatype, keyval)?;
    Ok(is_set.then_some(value as i64))
}

/// MPI_Comm_get_attr with a value of `kind`.
#[unsafe(no_mangle)]
unsafe extern "C" fn MPII_Comm_get_attr(
    comm: MPI_Comm,
    keyval: c_int,
    value: *mut c_void,
    flag: *mut c_int,
    kind: c_int,
) -> c_int {
    const NUMBER: u16 = call_number("MPI_Comm_get_attr");
    call(
        NUMBER,
        || ErrhandlerOwner::Comm(comm_in(comm)),
        || {
            // SAFETY: `value` and `flag` are the program's arguments of MPI_Comm_get_attr, which
            // the Fortran library passes on: writable, or NULL.
            unsafe { give(value_of_comm(comm_in(comm), key_in(keyval), kind)?, value, flag) }
        },
    )
}

/// MPI_Comm_set_attr with a value of `kind`.
#[unsafe(no_mangle)]
unsafe extern "C" fn MPII_Comm_set_attr(
    comm: MPI_Comm,
    keyval: c_int,
    value: *mut c_void,
    kind: c_int,
) -> c_int {
    const NUMBER: u16 = call_number("MPI_Comm_set_attr");
    call(
        NUMBER,
        || ErrhandlerOwner::Comm(comm_in(comm)),
        || match kind {
            POINTER => attributes::comm_set_attr(comm_in(comm), key_in(keyval), value),
            _ => attributes::comm_set_integer(comm_in(comm), key_in(keyval), value as i64),
        },
    )
}

/// MPI_Type_get_attr with a value of `kind`.
#[unsafe(no_mangle)]
unsafe extern "C" fn MPII_Type_get_attr(
    datatype: MPI_Datatype,
    keyval: c_int,
    value: *mut c_void,
    flag: *mut c_int,
    kind: c_int,
) -> c_int {
    const NUMBER: u16 = call_number("MPI_Type_get_attr");
    call(
        NUMBER,
        || ErrhandlerOwner::None,
        || {
            // SAFETY: `value` and `flag` are the program's arguments of MPI_Type_get_attr, which
            // the Fortran library passes on: writable, or NULL.
            unsafe {
                give(value_of_type(datatype_in(datatype), keyval_in(keyval), kind)?, value, flag)
            }
        },
    )
}

/// MPI_Type_set_attr with a value of `kind`.
#[unsafe(no_mangle)]
unsafe extern "C" fn MPII_Type_set_attr(
    datatype: MPI_Datatype,
    keyval: c_int,
    value: *mut c_void,
    kind: c_int,
) -> c_int {
    const NUMBER: u16 = call_number("MPI_Type_set_attr");
    call(
        NUMBER,
        || ErrhandlerOwner::None,
        || match kind {
            POINTER => attributes::type_set_attr(datatype_in(datatype), keyval_in(keyval), value),
            _ => {
                attributes::type_set_integer(datatype_in(datatype), keyval_in(keyval), value as i64)
            }
        },
    )
}

/// MPI_Win_get_attr with a value of `kind`; fails like MPI_Win_get_attr.
#[unsafe(no_mangle)]
unsafe extern "C" fn MPII_Win_get_attr(
    _win: MPI_Win,
    _keyval: c_int,
    _value: *mut c_void,
    _flag: *mut c_int,
    _kind: c_int,
) -> c_int {
    const NUMBER: u16 = call_number("MPI_Win_get_attr");
    call(NUMBER, || ErrhandlerOwner::None, || Err(not_built()))
}

/// MPI_Win_set_attr with a value of `kind`; fails like MPI_Win_set_attr.
#[unsafe(no_mangle)]
unsafe extern "C" fn MPII_Win_set_attr(
    _win: MPI_Win,
    _keyval: c_int,
    _value: *mut c_void,
    _kind: c_int,
) -> c_int {
    const NUMBER: u16 = call_number("MPI_Win_set_attr");
    call(NUMBER, || ErrhandlerOwner::None, || Err(not_built()))
}

/// Registers the library's proxies for the callbacks of a key.
#[unsafe(no_mangle)]
unsafe extern "C" fn MPII_Keyval_set_proxy(
    keyval: c_int,
    copy: *const c_void,
    delete: *const c_void,
) {
    attributes::set_proxies(keyval_in(keyval), Callback(copy), Callback(delete));
}

/// Marks the callbacks of a generalized request as Fortran functions.
#[unsafe(no_mangle)]
unsafe extern "C" fn MPII_Grequest_set_lang_f77(request: MPI_Request) {
    towpath_mpi::requests::grequest_of_fortran(request_in(request));
}

export! {
    /// MPICH's name for MPI_Remove_error_class before MPI 4.1.
    PMPIX_Delete_error_class, MPIX_Delete_error_class(errorclass: c_int) {
        const NUMBER: u16 = call_number("MPI_Remove_error_class");
        call_any_time(NUMBER, || ErrhandlerOwner::None, || {
            towpath_mpi::errors::remove_error_class(error_class_in(errorclass))
        })
    }
}

export! {
    /// MPICH's name for MPI_Remove_error_code before MPI 4.1.
    PMPIX_Delete_error_code, MPIX_Delete_error_code(errorcode: c_int) {
        const NUMBER: u16 = call_number("MPI_Remove_error_code");
        call_any_time(NUMBER, || ErrhandlerOwner::None, || towpath_mpi::errors::remove_error_code(error_code_in(errorcode)))
    }
}

export! {
    /// MPICH's name for MPI_Remove_error_string before MPI 4.1.
    PMPIX_Delete_error_string, MPIX_Delete_error_string(errorcode: c_int) {
        const NUMBER: u16 = call_number("MPI_Remove_error_string");
        call_any_time(NUMBER, || ErrhandlerOwner::None, || towpath_mpi::errors::remove_error_string(error_code_in(errorcode)))
    }
}
