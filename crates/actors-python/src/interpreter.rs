//! Functions and structures of the interpreter's stable interface, as its documentation says.

use std::ffi::{c_char, c_double, c_int, c_long, c_longlong, c_uint, c_void};

/// The head of every object.
#[repr(C)]
pub(crate) struct PyObject {
    references: isize,
    pub(crate) kind: *mut PyObject,
}

pub(crate) type FastFunction =
    unsafe extern "C" fn(*mut PyObject, *const *mut PyObject, isize) -> *mut PyObject;

/// A function that Python can call.
#[repr(C)]
pub(crate) struct PyMethodDef {
    pub(crate) name: *const c_char,
    pub(crate) function: FastFunction,
    pub(crate) flags: c_int,
    pub(crate) documentation: *const c_char,
}

/// Arguments come as an array.
pub(crate) const METH_FASTCALL: c_int = 0x80;

/// Memory of an object.
#[repr(C)]
pub(crate) struct PyBuffer {
    pub(crate) memory: *mut c_void,
    object: *mut PyObject,
    pub(crate) bytes: isize,
    item: isize,
    read_only: c_int,
    pub(crate) dimensions: c_int,
    pub(crate) format: *const c_char,
    pub(crate) shape: *mut isize,
    strides: *mut isize,
    suboffsets: *mut isize,
    internal: *mut c_void,
}

/// A function of a type, by the number of its place.
#[repr(C)]
pub(crate) struct PyTypeSlot {
    pub(crate) place: c_int,
    pub(crate) function: *mut c_void,
}

pub(crate) const PY_BF_GETBUFFER: c_int = 1;
pub(crate) const PY_TP_DEALLOC: c_int = 52;

/// What a type is made of.
#[repr(C)]
pub(crate) struct PyTypeSpec {
    pub(crate) name: *const c_char,
    pub(crate) bytes: c_int,
    pub(crate) item: c_int,
    pub(crate) flags: c_uint,
    pub(crate) slots: *mut PyTypeSlot,
}

/// Contiguous in the order of C, with shape and format.
pub(crate) const PYBUF_C_CONTIGUOUS_FORMAT: c_int = 0x20 | 0x10 | 0x08 | 0x04;

unsafe extern "C" {
    pub(crate) fn PyObject_GetBuffer(
        object: *mut PyObject,
        buffer: *mut PyBuffer,
        flags: c_int,
    ) -> c_int;
    pub(crate) fn PyBuffer_Release(buffer: *mut PyBuffer);
    pub(crate) fn PyBuffer_FillInfo(
        buffer: *mut PyBuffer,
        object: *mut PyObject,
        memory: *mut c_void,
        bytes: isize,
        read_only: c_int,
        flags: c_int,
    ) -> c_int;
    pub(crate) fn PyType_FromSpec(spec: *mut PyTypeSpec) -> *mut PyObject;
    pub(crate) fn PyType_GenericAlloc(kind: *mut PyObject, items: isize) -> *mut PyObject;
    pub(crate) fn PyObject_Free(object: *mut c_void);
    pub(crate) fn PyDict_GetItemString(dict: *mut PyObject, key: *const c_char) -> *mut PyObject;
    pub(crate) fn PyObject_GetAttrString(
        object: *mut PyObject,
        name: *const c_char,
    ) -> *mut PyObject;
    pub(crate) fn PyByteArray_FromStringAndSize(bytes: *const c_char, size: isize)
    -> *mut PyObject;

    pub(crate) static mut PyLong_Type: PyObject;
    pub(crate) static mut PyFloat_Type: PyObject;
    pub(crate) static mut PyUnicode_Type: PyObject;
    pub(crate) static mut PyBytes_Type: PyObject;
    pub(crate) static mut PyTuple_Type: PyObject;
    pub(crate) static mut PyList_Type: PyObject;
    pub(crate) static mut _Py_NoneStruct: PyObject;
    pub(crate) static mut _Py_TrueStruct: PyObject;
    pub(crate) static mut _Py_FalseStruct: PyObject;

    pub(crate) fn Py_IncRef(object: *mut PyObject);
    pub(crate) fn Py_DecRef(object: *mut PyObject);
    pub(crate) fn PyGILState_Ensure() -> c_int;
    pub(crate) fn PyGILState_Release(state: c_int);

    pub(crate) fn PyLong_FromLongLong(value: c_longlong) -> *mut PyObject;
    pub(crate) fn PyLong_FromVoidPtr(value: *mut c_void) -> *mut PyObject;
    pub(crate) fn PyLong_FromLong(value: c_long) -> *mut PyObject;
    pub(crate) fn PyLong_AsVoidPtr(object: *mut PyObject) -> *mut c_void;
    pub(crate) fn PyLong_AsLongLongAndOverflow(
        object: *mut PyObject,
        overflow: *mut c_int,
    ) -> c_longlong;
    pub(crate) fn PyLong_AsUnsignedLongLong(object: *mut PyObject) -> u64;
    pub(crate) fn PyFloat_FromDouble(value: c_double) -> *mut PyObject;
    pub(crate) fn PyFloat_AsDouble(object: *mut PyObject) -> c_double;
    pub(crate) fn PyUnicode_FromStringAndSize(text: *const c_char, size: isize) -> *mut PyObject;
    pub(crate) fn PyUnicode_AsUTF8AndSize(object: *mut PyObject, size: *mut isize)
    -> *const c_char;
    pub(crate) fn PyUnicode_InternFromString(text: *const c_char) -> *mut PyObject;
    pub(crate) fn PyBytes_FromStringAndSize(bytes: *const c_char, size: isize) -> *mut PyObject;
    pub(crate) fn PyBytes_AsStringAndSize(
        object: *mut PyObject,
        bytes: *mut *mut c_char,
        size: *mut isize,
    ) -> c_int;
    pub(crate) fn PyTuple_New(size: isize) -> *mut PyObject;
    pub(crate) fn PyTuple_Size(tuple: *mut PyObject) -> isize;
    pub(crate) fn PyTuple_GetItem(tuple: *mut PyObject, place: isize) -> *mut PyObject;
    pub(crate) fn PyTuple_SetItem(tuple: *mut PyObject, place: isize, item: *mut PyObject)
    -> c_int;
    pub(crate) fn PyList_New(size: isize) -> *mut PyObject;
    pub(crate) fn PyList_Size(list: *mut PyObject) -> isize;
    pub(crate) fn PyList_GetItem(list: *mut PyObject, place: isize) -> *mut PyObject;
    pub(crate) fn PyList_SetItem(list: *mut PyObject, place: isize, item: *mut PyObject) -> c_int;
    pub(crate) fn PyObject_Call(
        function: *mut PyObject,
        arguments: *mut PyObject,
        named: *mut PyObject,
    ) -> *mut PyObject;
    pub(crate) fn PyObject_GetAttr(object: *mut PyObject, name: *mut PyObject) -> *mut PyObject;
    pub(crate) fn PyObject_SetAttr(
        object: *mut PyObject,
        name: *mut PyObject,
        value: *mut PyObject,
    ) -> c_int;
    pub(crate) fn PyObject_IsTrue(object: *mut PyObject) -> c_int;
    pub(crate) fn PyCFunction_NewEx(
        definition: *mut PyMethodDef,
        own: *mut PyObject,
        module: *mut PyObject,
    ) -> *mut PyObject;
    pub(crate) static PyExc_RuntimeError: *mut PyObject;
    pub(crate) fn PyErr_SetString(kind: *mut PyObject, text: *const c_char);
    pub(crate) fn PyErr_NoMemory() -> *mut PyObject;
    pub(crate) fn PyErr_Clear();
    pub(crate) fn PyErr_Occurred() -> *mut PyObject;
    pub(crate) fn PyErr_Fetch(
        kind: *mut *mut PyObject,
        value: *mut *mut PyObject,
        traceback: *mut *mut PyObject,
    );
    pub(crate) fn PyErr_NormalizeException(
        kind: *mut *mut PyObject,
        value: *mut *mut PyObject,
        traceback: *mut *mut PyObject,
    );
    pub(crate) fn PyException_SetTraceback(
        exception: *mut PyObject,
        traceback: *mut PyObject,
    ) -> c_int;
    pub(crate) fn PyErr_WriteUnraisable(object: *mut PyObject);
}
