//! Arguments to a message.

use std::cell::RefCell;
use std::ffi::c_long;
use std::ptr;

use crate::arguments::ArgumentWriter;
use crate::arrays::{ArrayData, NotSimple, aligned};
use crate::interpreter::{self as py, PyObject};
use crate::lending;
use crate::message::{HAS_REPLY, SIMPLE, TowpathMessage, VALUES};
use crate::module::{Module, for_caller};
use crate::object::Object;

/// Memory for longer arguments is not kept.
const LONGEST_KEPT: usize = 1 << 20;

/// The status for arguments that only pickle can represent.
const NOT_SIMPLE: c_long = 1;

thread_local! {
    static BYTES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// `send(name of the chare, collection, entry, arguments[, reply])`, all but the last two as
/// integers; a name of 0 is that of all chares. Gives 0, or 1 if the arguments have no
/// representation here, or -1.
pub(crate) unsafe extern "C" fn send(
    _: *mut PyObject,
    arguments: *const *mut PyObject,
    count: isize,
) -> *mut PyObject {
    // SAFETY: the interpreter has an array of so many arguments.
    let arguments = unsafe { std::slice::from_raw_parts(arguments, count.cast_unsigned()) };
    let status = for_caller(|module| Some(sent(module, arguments))).unwrap_or(-1);
    // SAFETY: it makes an integer, unless an exception was raised.
    unsafe {
        if py::PyErr_Occurred().is_null() { py::PyLong_FromLong(status) } else { ptr::null_mut() }
    }
}

fn sent(module: &Module, arguments: &[*mut PyObject]) -> c_long {
    let [name, collection, entry, values, reply @ ..] = arguments else { return -1 };
    let Ok((mut message, copied)) = written(module, *values, reply.first().copied()) else {
        return NOT_SIMPLE;
    };
    // SAFETY: the name is that of a chare in memory of the module, or null.
    unsafe {
        message.entry = py::PyLong_AsUnsignedLongLong(*entry) as u32;
        let name = py::PyLong_AsVoidPtr(*name);
        let status = if name.is_null() {
            let collection = py::PyLong_AsUnsignedLongLong(*collection);
            (module.interface.broadcast)(collection, &raw mut message)
        } else {
            (module.interface.invoke)(name, &raw mut message)
        };
        copied.iter().for_each(lending::tell);
        c_long::from(status)
    }
}

/// A new message with these arguments, and the futures of arrays that were copied, though they
/// might have been lent. Nothing is borrowed when it is sent, because that may call Python.
fn written(
    module: &Module,
    values: *mut PyObject,
    reply: Option<*mut PyObject>,
) -> Result<(TowpathMessage, Vec<Object>), NotSimple> {
    BYTES.with_borrow_mut(|bytes| {
        bytes.clear();
        bytes.shrink_to(LONGEST_KEPT);
        // Where the data of arrays begins is written once it is known.
        bytes.extend_from_slice(&[0; VALUES]);
        let mut writer = ArgumentWriter { values: bytes, data: Vec::new(), module };
        // SAFETY: the module passes tuples.
        unsafe {
            reply.map_or(Ok(()), |reply| writer.tuple(reply, 0))?;
            writer.tuple(values, 0)?;
        }
        let data = writer.data;
        let length = bytes.len() as u64;
        bytes[..VALUES].copy_from_slice(&length.to_ne_bytes());
        let (mut message, copied) = filled(module, bytes, data);
        message.reference = SIMPLE | reply.map_or(0, |_| HAS_REPLY);
        Ok((message, copied))
    })
}

/// A new message with these values, with copies of short data behind them, and with the others.
/// Gives also the futures of the short ones.
fn filled(module: &Module, values: &[u8], data: Vec<ArrayData>) -> (TowpathMessage, Vec<Object>) {
    let (beside, short): (Vec<_>, Vec<_>) = data.into_iter().partition(ArrayData::is_beside);
    let total = short.iter().fold(values.len(), |end, data| aligned(end) + data.bytes());
    // SAFETY: the payload of the new message has so many bytes.
    unsafe {
        let mut message = std::mem::zeroed::<TowpathMessage>();
        (module.interface.message_new)(total, &raw mut message);
        let payload = message.payload.cast::<u8>();
        ptr::copy_nonoverlapping(values.as_ptr(), payload, values.len());
        for data in beside {
            data.add_to(module, &mut message);
        }
        short.iter().fold(values.len(), |end, data| {
            data.copy_to(payload.add(aligned(end)));
            aligned(end) + data.bytes()
        });
        (message, short.into_iter().filter_map(ArrayData::into_future).collect())
    }
}
