//! Values as bytes: a tag, and what it needs. Numbers are in the byte order of the machine.

use std::ffi::c_char;
use std::ptr;

use crate::arrays::{ArrayData, NotSimple};
use crate::interpreter::{self as py, PyObject};
use crate::module::Module;
use crate::object::Object;
use crate::received::Received;

/// Tuples and lists in one another: deeper ones are left to pickle.
const DEEPEST: usize = 16;

const NONE: u8 = b'n';
const TRUE: u8 = b'1';
const FALSE: u8 = b'0';
const INTEGER: u8 = b'i';
const FLOAT: u8 = b'f';
const TEXT: u8 = b's';
const BYTES: u8 = b'b';
const TUPLE: u8 = b't';
const LIST: u8 = b'l';
const ARRAY: u8 = b'a';
const LENT: u8 = b'v';

/// Values that are written, and the data of arrays that a message has behind them.
pub(crate) struct ArgumentWriter<'a> {
    pub(crate) values: &'a mut Vec<u8>,
    pub(crate) data: Vec<ArrayData>,
    pub(crate) module: &'a Module,
}

impl ArgumentWriter<'_> {
    /// Appends the elements of a tuple.
    ///
    /// # Safety
    /// It is a tuple, to which the caller has a reference.
    pub(crate) unsafe fn tuple(
        &mut self,
        tuple: *mut PyObject,
        depth: usize,
    ) -> Result<(), NotSimple> {
        // SAFETY: the tuple exists, and its places below its size have elements.
        unsafe {
            let size = py::PyTuple_Size(tuple);
            write_size(size, self.values)?;
            (0..size).try_for_each(|place| self.value(py::PyTuple_GetItem(tuple, place), depth))
        }
    }

    /// # Safety
    /// The object exists.
    unsafe fn value(&mut self, object: *mut PyObject, depth: usize) -> Result<(), NotSimple> {
        let into = &mut *self.values;
        if depth > DEEPEST {
            return Err(NotSimple);
        }
        // SAFETY: the object exists, and each function gets an object of its type.
        unsafe {
            let kind = (*object).kind;
            if kind == &raw mut py::PyLong_Type {
                return write_integer(object, into);
            } else if kind == &raw mut py::PyFloat_Type {
                into.push(FLOAT);
                into.extend_from_slice(&py::PyFloat_AsDouble(object).to_ne_bytes());
            } else if object == &raw mut py::_Py_NoneStruct {
                into.push(NONE);
            } else if object == &raw mut py::_Py_TrueStruct {
                into.push(TRUE);
            } else if object == &raw mut py::_Py_FalseStruct {
                into.push(FALSE);
            } else if kind == &raw mut py::PyUnicode_Type {
                let mut size = 0;
                let text = py::PyUnicode_AsUTF8AndSize(object, &raw mut size);
                write_bytes(TEXT, text, size, into)?;
            } else if kind == &raw mut py::PyBytes_Type {
                let (mut bytes, mut size) = (ptr::null_mut(), 0);
                py::PyBytes_AsStringAndSize(object, &raw mut bytes, &raw mut size);
                write_bytes(BYTES, bytes, size, into)?;
            } else if kind == &raw mut py::PyTuple_Type {
                into.push(TUPLE);
                self.tuple(object, depth + 1)?;
            } else if kind == &raw mut py::PyList_Type {
                into.push(LIST);
                let size = py::PyList_Size(object);
                write_size(size, into)?;
                for place in 0..size {
                    self.value(py::PyList_GetItem(object, place), depth + 1)?;
                }
            } else if kind == self.module.interface.ndarray {
                into.push(ARRAY);
                self.data.push(ArrayData::write(self.module, object, None, into)?);
            } else if kind == self.module.interface.lent {
                let array = Object::owned(py::PyObject_GetAttrString(object, c"array".as_ptr()));
                let future = Object::owned(py::PyObject_GetAttrString(object, c"future".as_ptr()));
                let array = array.ok_or(NotSimple)?;
                let tag = into.len();
                into.push(ARRAY);
                let data = ArrayData::write(self.module, array.raw(), future, into)?;
                if data.is_lent() {
                    into[tag] = LENT;
                }
                self.data.push(data);
            } else {
                return Err(NotSimple);
            }
        }
        Ok(())
    }
}

fn write_size(size: isize, into: &mut Vec<u8>) -> Result<(), NotSimple> {
    let size = u32::try_from(size).map_err(|_| NotSimple)?;
    into.extend_from_slice(&size.to_ne_bytes());
    Ok(())
}

/// # Safety
/// It is an integer.
unsafe fn write_integer(object: *mut PyObject, into: &mut Vec<u8>) -> Result<(), NotSimple> {
    let mut overflow = 0;
    // SAFETY: it is an integer, so this raises no exception.
    let value = unsafe { py::PyLong_AsLongLongAndOverflow(object, &raw mut overflow) };
    if overflow != 0 {
        return Err(NotSimple);
    }
    into.push(INTEGER);
    into.extend_from_slice(&value.to_ne_bytes());
    Ok(())
}

/// # Safety
/// There are so many bytes, or the address is null.
unsafe fn write_bytes(
    tag: u8,
    bytes: *const c_char,
    size: isize,
    into: &mut Vec<u8>,
) -> Result<(), NotSimple> {
    if bytes.is_null() {
        // A text that UTF-8 cannot represent.
        // SAFETY: it forgets the exception that says so.
        unsafe { py::PyErr_Clear() };
        return Err(NotSimple);
    }
    into.push(tag);
    write_size(size, into)?;
    // SAFETY: the caller has them, and a size that was written is not negative.
    into.extend_from_slice(unsafe {
        std::slice::from_raw_parts(bytes.cast(), size.cast_unsigned())
    });
    Ok(())
}

/// What is left of the values to read, and the data of the arrays among them.
pub(crate) struct ArgumentReader<'a> {
    pub(crate) values: &'a [u8],
    pub(crate) data: Received<'a>,
}

impl<'a> ArgumentReader<'a> {
    fn take(&mut self, size: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.values.split_at_checked(size)?;
        self.values = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(crate) fn size(&mut self) -> Option<usize> {
        self.array().map(|bytes| u32::from_ne_bytes(bytes) as usize)
    }

    /// A tuple whose first places get these objects; `None` if these are no bytes of a tuple, or
    /// without memory.
    pub(crate) fn tuple(&mut self, first: Option<Object>) -> Option<Object> {
        let size = self.size()?;
        // Every value has a byte at least.
        let items = (size <= self.values.len()).then_some(size)? + usize::from(first.is_some());
        // SAFETY: a new tuple, whose places get a reference each. One that is given up before has
        // nulls in the others, which the interpreter allows.
        unsafe {
            let tuple = Object::owned(py::PyTuple_New(items.cast_signed()))?;
            let start = items - size;
            if let Some(first) = first {
                py::PyTuple_SetItem(tuple.raw(), 0, first.into_raw());
            }
            for place in start..items {
                let value = self.value()?;
                py::PyTuple_SetItem(tuple.raw(), place.cast_signed(), value.into_raw());
            }
            Some(tuple)
        }
    }

    fn list(&mut self) -> Option<Object> {
        let size = self.size().filter(|size| *size <= self.values.len())?;
        // SAFETY: as for tuples.
        unsafe {
            let list = Object::owned(py::PyList_New(size.cast_signed()))?;
            for place in 0..size {
                let value = self.value()?;
                py::PyList_SetItem(list.raw(), place.cast_signed(), value.into_raw());
            }
            Some(list)
        }
    }

    fn ndarray(&mut self, is_lent: bool) -> Option<Object> {
        let [format, dimensions] = self.array()?;
        let format = self.take(usize::from(format))?;
        let bytes = usize::try_from(u64::from_ne_bytes(self.array()?)).ok()?;
        let mut extents = Vec::with_capacity(usize::from(dimensions));
        for _ in 0..dimensions {
            let extent = i64::from_ne_bytes(self.array()?);
            // SAFETY: this makes an integer.
            extents.push(unsafe { Object::owned(py::PyLong_FromLongLong(extent)) }?);
        }
        let shape = Object::tuple(extents.into_iter())?;
        self.data.array(format, bytes, shape, is_lent)
    }

    fn value(&mut self) -> Option<Object> {
        let tag = self.array::<1>()?[0];
        // SAFETY: these functions give new references, to values of the bytes that were read.
        unsafe {
            match tag {
                NONE => Some(Object::none()),
                TRUE => Some(Object::shared(&raw mut py::_Py_TrueStruct)),
                FALSE => Some(Object::shared(&raw mut py::_Py_FalseStruct)),
                INTEGER => {
                    let value = i64::from_ne_bytes(self.array()?);
                    Object::owned(py::PyLong_FromLongLong(value))
                }
                FLOAT => {
                    let value = f64::from_ne_bytes(self.array()?);
                    Object::owned(py::PyFloat_FromDouble(value))
                }
                TEXT | BYTES => {
                    let size = self.size()?;
                    let bytes = self.take(size)?;
                    let make = if tag == TEXT {
                        py::PyUnicode_FromStringAndSize
                    } else {
                        py::PyBytes_FromStringAndSize
                    };
                    Object::owned(make(bytes.as_ptr().cast(), size.cast_signed()))
                }
                TUPLE => self.tuple(None),
                LIST => self.list(),
                ARRAY => self.ndarray(false),
                LENT => self.ndarray(true),
                _ => None,
            }
        }
    }
}
