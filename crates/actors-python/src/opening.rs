//! What Python calls to begin.

use std::ffi::c_char;
use std::ptr;

use crate::interpreter::{self as py, METH_FASTCALL, PyMethodDef, PyObject};
use crate::module::{PythonInterface, take_over};
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

/// Takes over what Python gives, once, and returns the function that sends messages.
///
/// # Safety
/// The structure is filled, and its objects exist. The caller holds the interpreter's lock.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn towpath_python_open(
    interface: *const PythonInterface,
) -> *mut PyObject {
    // SAFETY: `library.py` has filled the structure, which refers to its objects during this call,
    // and PyDLL keeps the lock. The definition is a constant.
    unsafe {
        take_over(interface);
        let definition = (&raw const SEND.0).cast_mut();
        py::PyCFunction_NewEx(definition, ptr::null_mut(), ptr::null_mut())
    }
}
