//! Exceptions that methods have raised.

use std::ptr;

use crate::interpreter::{self as py, PyObject};
use crate::module::with_module;
use crate::object::Object;

/// The exception that was raised ends the job.
pub(crate) fn report(object: *mut PyObject) {
    let error = raised();
    let told = with_module(|module| {
        let error = error.unwrap_or_else(Object::none);
        module.failed().call(&Object::tuple([error].into_iter())?)
    });
    if told.is_none() {
        // SAFETY: an exception was raised.
        unsafe { py::PyErr_WriteUnraisable(object) };
    }
}

/// The exception that was raised, with its traceback.
fn raised() -> Option<Object> {
    let (mut kind, mut value, mut traceback) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: the references that this gets are given back or away.
    unsafe {
        py::PyErr_Fetch(&raw mut kind, &raw mut value, &raw mut traceback);
        py::PyErr_NormalizeException(&raw mut kind, &raw mut value, &raw mut traceback);
        let (kind, value) = (Object::owned(kind), Object::owned(value));
        if let (Some(value), Some(traceback)) = (&value, Object::owned(traceback)) {
            py::PyException_SetTraceback(value.raw(), traceback.raw());
        }
        drop(kind);
        value
    }
}
