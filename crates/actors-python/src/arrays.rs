//! Arrays of numpy as they are sent: short ones lie behind the other values of a message, others
//! beside its payload.

use std::ffi::CStr;
use std::ptr;

use crate::interpreter::{self as py, PYBUF_C_CONTIGUOUS_FORMAT, PyBuffer, PyObject};
use crate::lending;
use crate::message::{TowpathCallback, TowpathMessage};
use crate::module::Module;
use crate::object::Object;

/// Of the data of arrays in a payload, which has it too.
const ALIGNMENT: usize = 16;
/// Arrays of so many bytes are not in the payload: the library copies them to where the receiver
/// reads them.
const SHORTEST_BESIDE: usize = 16 << 10;
const DIMENSIONS: usize = 32;

/// The value has a type, a size or a depth that has no representation here.
pub(crate) struct NotSimple;

/// Whether an array of so many bytes is not in the payload.
pub(crate) fn is_beside(bytes: usize) -> bool {
    bytes >= SHORTEST_BESIDE
}

pub(crate) fn aligned(offset: usize) -> usize {
    offset.next_multiple_of(ALIGNMENT)
}

/// Data that a message will have, in the memory of an array that exists meanwhile.
pub(crate) struct ArrayData {
    buffer: PyBuffer,
    /// Of `nocopy`: the future that is told when nobody reads the array any more, or None.
    future: Option<Object>,
}

impl ArrayData {
    /// The memory of an array, whose elements have a type of the module; its format and shape are
    /// appended to the values.
    ///
    /// # Safety
    /// The object exists.
    pub(crate) unsafe fn write(
        module: &Module,
        array: *mut PyObject,
        future: Option<Object>,
        into: &mut Vec<u8>,
    ) -> Result<ArrayData, NotSimple> {
        // SAFETY: the interpreter fills the structure, or raises an exception, which is forgotten.
        // The format is a text, and the shape has its dimensions.
        unsafe {
            let mut buffer = std::mem::zeroed::<PyBuffer>();
            if py::PyObject_GetBuffer(array, &raw mut buffer, PYBUF_C_CONTIGUOUS_FORMAT) != 0 {
                py::PyErr_Clear();
                return Err(NotSimple);
            }
            let data = ArrayData { buffer, future };
            let dimensions = usize::try_from(data.buffer.dimensions).unwrap_or(DIMENSIONS + 1);
            if data.buffer.format.is_null()
                || dimensions > DIMENSIONS
                || data.buffer.shape.is_null()
            {
                return Err(NotSimple);
            }
            let format = CStr::from_ptr(data.buffer.format).to_bytes();
            if module.element(format).is_none() {
                return Err(NotSimple);
            }
            into.extend_from_slice(&[format.len() as u8, dimensions as u8]);
            into.extend_from_slice(format);
            into.extend_from_slice(&(data.bytes() as u64).to_ne_bytes());
            for extent in std::slice::from_raw_parts(data.buffer.shape, dimensions) {
                into.extend_from_slice(&(*extent as i64).to_ne_bytes());
            }
            Ok(data)
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.buffer.bytes.cast_unsigned()
    }

    pub(crate) fn is_beside(&self) -> bool {
        is_beside(self.bytes())
    }

    /// Whether it is sent without a copy.
    pub(crate) fn is_lent(&self) -> bool {
        self.future.is_some() && self.is_beside()
    }

    /// The future of an array that was copied, though it might have been lent.
    pub(crate) fn into_future(mut self) -> Option<Object> {
        self.future.take()
    }

    /// Adds the array, or a copy of it, to a message that was made. This fails only where the
    /// message cannot be sent either, which is said then.
    pub(crate) fn add_to(mut self, module: &Module, message: &mut TowpathMessage) {
        let (data, bytes) = (self.buffer.memory, self.bytes());
        // SAFETY: the array has so many bytes, which exist and do not change as long as they are
        // lent: the program says so, and the callback has the array.
        unsafe {
            let Some(future) = self.future.take() else {
                (module.interface.add_copy)(message, data, bytes);
                return;
            };
            let returned = lending::lent(Box::new(self), future);
            let done = TowpathCallback::function((module.interface.rank)(), returned);
            (module.interface.add_array)(message, data, bytes, &raw const done);
        }
    }

    /// # Safety
    /// There is memory for its bytes.
    pub(crate) unsafe fn copy_to(&self, into: *mut u8) {
        // SAFETY: the array has so many bytes, and a new message is elsewhere.
        unsafe { ptr::copy_nonoverlapping(self.buffer.memory.cast(), into, self.bytes()) };
    }
}

impl Drop for ArrayData {
    fn drop(&mut self) {
        // SAFETY: the interpreter has filled it.
        unsafe { py::PyBuffer_Release(&raw mut self.buffer) };
    }
}
