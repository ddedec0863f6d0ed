//! References to Python's objects.

use std::ptr;

use crate::interpreter::{self as py, PyObject};

/// A reference that is given back when this is dropped. The interpreter's lock is held meanwhile.
pub(crate) struct Object(*mut PyObject);

impl Object {
    /// Takes over a reference; `None` for null.
    ///
    /// # Safety
    /// The caller has this reference.
    pub(crate) unsafe fn owned(object: *mut PyObject) -> Option<Object> {
        (!object.is_null()).then_some(Object(object))
    }

    /// Another reference to an object.
    ///
    /// # Safety
    /// Somebody has a reference to it.
    pub(crate) unsafe fn shared(object: *mut PyObject) -> Object {
        // SAFETY: the object exists, as the caller says.
        unsafe { py::Py_IncRef(object) };
        Object(object)
    }

    pub(crate) fn raw(&self) -> *mut PyObject {
        self.0
    }

    /// Gives the reference away.
    pub(crate) fn into_raw(self) -> *mut PyObject {
        let object = self.0;
        std::mem::forget(self);
        object
    }

    pub(crate) fn none() -> Object {
        // SAFETY: None exists always.
        unsafe { Object::shared(&raw mut py::_Py_NoneStruct) }
    }

    /// A tuple of these; `None` without memory.
    pub(crate) fn tuple(items: impl ExactSizeIterator<Item = Object>) -> Option<Object> {
        // SAFETY: a new tuple, whose places get a reference each.
        unsafe {
            let tuple = Object::owned(py::PyTuple_New(items.len().cast_signed()))?;
            for (place, item) in items.enumerate() {
                py::PyTuple_SetItem(tuple.raw(), place.cast_signed(), item.into_raw());
            }
            Some(tuple)
        }
    }

    /// The result of a call; `None` if it has raised an exception.
    pub(crate) fn call(&self, arguments: &Object) -> Option<Object> {
        // SAFETY: both exist, and the arguments are a tuple.
        unsafe { Object::owned(py::PyObject_Call(self.0, arguments.0, ptr::null_mut())) }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: this is the reference that it has.
        unsafe { py::Py_DecRef(self.0) };
    }
}
