//! What Python calls to begin.

use std::ffi::c_char;
use std::ptr;

use crate::arrays::is_beside;
use crate::interpreter::{self as py, METH_FASTCALL, PyMethodDef, PyObject};
use crate::memory::HeldMessage;
use crate::module::{PythonInterface, for_caller, take_over};
use crate::object::Object;
use crate::send::send;

struct Definition(PyMethodDef);

// SAFETY: it points to constants only, and nobody writes it.
unsafe impl Sync for Definition {}

static SEND: Definition = Definition(PyMethodDef {
    name: c"send".as_ptr(),
    function: send,
    flags: METH_FASTCALL,
    documentation: ptr::null::<c_char>(),
});

static HOLD: Definition = Definition(PyMethodDef {
    name: c"hold".as_ptr(),
    function: hold,
    flags: METH_FASTCALL,
    documentation: ptr::null::<c_char>(),
});

/// `hold(address)`: writable memory of the message that the running method was given, which exists
/// as long as this object.
unsafe extern "C" fn hold(
    _: *mut PyObject,
    arguments: *const *mut PyObject,
    _: isize,
) -> *mut PyObject {
    // SAFETY: the module passes the address of that message.
    let held = for_caller(|module| unsafe {
        HeldMessage::hold(module, py::PyLong_AsVoidPtr(*arguments).cast())
    });
    held.map_or(ptr::null_mut(), |held| held.into_object().into_raw())
}

static ALLOCATE: Definition = Definition(PyMethodDef {
    name: c"allocate".as_ptr(),
    function: allocate,
    flags: METH_FASTCALL,
    documentation: ptr::null::<c_char>(),
});

/// `allocate(bytes)`: writable memory that other ranks can read, if there is such. None for so few
/// bytes that they are copied anyway.
unsafe extern "C" fn allocate(
    _: *mut PyObject,
    arguments: *const *mut PyObject,
    _: isize,
) -> *mut PyObject {
    // SAFETY: the module passes a number of bytes.
    let bytes = unsafe { py::PyLong_AsUnsignedLongLong(*arguments) };
    let memory = for_caller(|module| {
        if !is_beside(bytes as usize) {
            return Some(Object::none());
        }
        let allocated = HeldMessage::allocate(module, bytes as usize);
        // SAFETY: this raises an exception.
        allocated.or_else(|| unsafe { Object::owned(py::PyErr_NoMemory()) })
    });
    memory.map_or(ptr::null_mut(), Object::into_raw)
}

/// Takes over what Python gives, once, and returns the functions that send and hold messages, and
/// allocate memory.
///
/// # Safety
/// The structure is filled, and its objects exist. The caller holds the interpreter's lock.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn towpath_python_open(
    interface: *const PythonInterface,
) -> *mut PyObject {
    // SAFETY: `library.py` has filled the structure, which refers to its objects during this call,
    // and PyDLL keeps the lock. Definitions are constants.
    unsafe {
        take_over(interface);
        let function = |definition: &'static Definition| {
            let definition = (&raw const definition.0).cast_mut();
            Object::owned(py::PyCFunction_NewEx(definition, ptr::null_mut(), ptr::null_mut()))
        };
        let all = [function(&SEND), function(&HOLD), function(&ALLOCATE)].into_iter();
        let all = all.collect::<Option<Vec<Object>>>();
        let all = all.and_then(|all| Object::tuple(all.into_iter()));
        all.map_or(ptr::null_mut(), Object::into_raw)
    }
}
