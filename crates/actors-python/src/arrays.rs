//! Arrays of numpy: their data lies behind the other values of a message, and arrives as arrays
//! over the memory of the message, or over a copy if they are short.

use std::ffi::CStr;
use std::ptr;

use crate::interpreter::{self as py, PYBUF_C_CONTIGUOUS_FORMAT, PyBuffer, PyObject};
use crate::message::TowpathMessage;
use crate::module::Module;
use crate::object::Object;

/// Of the data of arrays in a payload, which has it too.
const ALIGNMENT: usize = 16;
/// Copying shorter messages costs less than keeping them.
const SHORTEST_KEPT: usize = 4096;
/// Longer arrays are not in the payload: the library copies them to where the receiver reads them.
const LONGEST_IN_PAYLOAD: usize = 64 << 10;
const DIMENSIONS: usize = 32;

/// Whether elements are numbers in the byte order of the machine, which `messages.py` names too.
fn is_number(format: &[u8]) -> bool {
    match format {
        [kind] => b"?bBhHiIlLqQefdg".contains(kind),
        [b'Z', kind] => b"fdg".contains(kind),
        _ => false,
    }
}

/// The value has a type, a size or a depth that has no representation here.
pub(crate) struct NotSimple;

pub(crate) fn aligned(offset: usize) -> usize {
    offset.next_multiple_of(ALIGNMENT)
}

/// Data that a message will have, in the memory of an array that exists meanwhile.
pub(crate) struct ArrayData(PyBuffer);

impl ArrayData {
    /// The memory of an array; its format and shape are appended to the values.
    ///
    /// # Safety
    /// The object exists.
    pub(crate) unsafe fn write(
        array: *mut PyObject,
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
            let data = ArrayData(buffer);
            let dimensions = usize::try_from(data.0.dimensions).unwrap_or(DIMENSIONS + 1);
            if data.0.format.is_null() || dimensions > DIMENSIONS || data.0.shape.is_null() {
                return Err(NotSimple);
            }
            let format = CStr::from_ptr(data.0.format).to_bytes();
            if !is_number(format) {
                return Err(NotSimple);
            }
            into.extend_from_slice(&[format.len() as u8, dimensions as u8]);
            into.extend_from_slice(format);
            into.extend_from_slice(&(data.bytes() as u64).to_ne_bytes());
            for extent in std::slice::from_raw_parts(data.0.shape, dimensions) {
                into.extend_from_slice(&(*extent as i64).to_ne_bytes());
            }
            Ok(data)
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.0.bytes.cast_unsigned()
    }

    pub(crate) fn is_long(&self) -> bool {
        self.bytes() > LONGEST_IN_PAYLOAD
    }

    /// Adds a copy to a message that was made. This fails only where the message cannot be sent
    /// either, which is said then.
    pub(crate) fn add_to(&self, module: &Module, message: &mut TowpathMessage) {
        // SAFETY: the array has so many bytes.
        unsafe { (module.interface.add_copy)(message, self.0.memory, self.bytes()) };
    }

    /// # Safety
    /// There is memory for its bytes.
    pub(crate) unsafe fn copy_to(&self, into: *mut u8) {
        // SAFETY: the array has so many bytes, and a new message is elsewhere.
        unsafe { ptr::copy_nonoverlapping(self.0.memory.cast(), into, self.bytes()) };
    }
}

impl Drop for ArrayData {
    fn drop(&mut self) {
        // SAFETY: the interpreter has filled it.
        unsafe { py::PyBuffer_Release(&raw mut self.0) };
    }
}

/// The data in a message that has arrived.
pub(crate) struct Received<'a> {
    module: &'a Module,
    message: *mut TowpathMessage,
    payload: &'a [u8],
    /// How many arrays outside of the payload have been read.
    long: u32,
    /// Where the next array is.
    next: usize,
    /// The object that keeps the message, if one does.
    memory: Option<Object>,
}

impl<'a> Received<'a> {
    /// Of a message with values in so many bytes before; `None` if an exception was raised.
    ///
    /// # Safety
    /// It is the message that the running method was given, whose payload nobody changes.
    pub(crate) unsafe fn of(
        module: &'a Module,
        message: *mut TowpathMessage,
        values: usize,
    ) -> Option<Received<'a>> {
        // SAFETY: the message exists until the method returns, or as long as it is kept.
        unsafe {
            let mut memory = None;
            if (*message).bytes - values >= SHORTEST_KEPT {
                let address = Object::owned(py::PyLong_FromVoidPtr(message.cast()))?;
                memory = Some(module.kept().call(&Object::tuple([address].into_iter())?)?);
            }
            // Keeping it may have moved the payload.
            let payload = std::slice::from_raw_parts((*message).payload.cast(), (*message).bytes);
            Some(Received { module, message, payload, long: 0, next: aligned(values), memory })
        }
    }

    /// The values before the data.
    pub(crate) fn values(&self, from: usize, to: usize) -> Option<&'a [u8]> {
        self.payload.get(from..to)
    }

    /// The next array, of this format and shape.
    pub(crate) fn array(&mut self, format: &[u8], bytes: usize, shape: Object) -> Option<Object> {
        if bytes > LONGEST_IN_PAYLOAD {
            let memory = self.long_copy(bytes)?;
            return self.made(format, shape, memory, 0);
        }
        let start = self.next;
        let end = start.checked_add(bytes).filter(|end| *end <= self.payload.len())?;
        self.next = aligned(end);
        let Some(memory) = &self.memory else {
            let data = self.payload[start..].as_ptr().cast();
            // SAFETY: a new object, of bytes that exist.
            let memory = unsafe {
                Object::owned(py::PyByteArray_FromStringAndSize(data, bytes.cast_signed()))
            }?;
            return self.made(format, shape, memory, 0);
        };
        // SAFETY: this object exists.
        let memory = unsafe { Object::shared(memory.raw()) };
        self.made(format, shape, memory, start)
    }

    /// A copy of the next array outside of the payload, in memory of a message of its own, which
    /// is used again while it is warm.
    fn long_copy(&mut self, bytes: usize) -> Option<Object> {
        let interface = &self.module.interface;
        // SAFETY: the message exists, and the new one has memory for as many bytes as the array
        // has.
        unsafe {
            let mut size = 0;
            let data = (interface.array_of)(self.message, self.long, &raw mut size);
            self.long += 1;
            if data.is_null() || size != bytes {
                return None;
            }
            let mut copy = std::mem::zeroed::<TowpathMessage>();
            (interface.message_new)(bytes, &raw mut copy);
            ptr::copy_nonoverlapping(data.cast::<u8>(), copy.payload.cast(), bytes);
            let address = Object::owned(py::PyLong_FromVoidPtr((&raw mut copy).cast()))?;
            self.module.owned().call(&Object::tuple([address].into_iter())?)
        }
    }

    fn made(&self, format: &[u8], shape: Object, memory: Object, offset: usize) -> Option<Object> {
        // SAFETY: new objects.
        let all = unsafe {
            let format = Object::owned(py::PyUnicode_FromStringAndSize(
                format.as_ptr().cast(),
                format.len().cast_signed(),
            ))?;
            let offset = Object::owned(py::PyLong_FromLongLong(offset as i64))?;
            [format, shape, memory, offset]
        };
        self.module.array().call(&Object::tuple(all.into_iter())?)
    }
}
