//! Arguments to a message.

use std::cell::RefCell;
use std::ffi::c_long;
use std::ptr;

use crate::arguments::{NotSimple, write_tuple};
use crate::interpreter::{self as py, PyObject};
use crate::invoke::{HAS_REPLY, SIMPLE};
use crate::module::{Message, Module, with_module};

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
    let status = with_module(|module| Some(sent(module, arguments))).unwrap_or(-1);
    // SAFETY: it makes an integer, unless an exception was raised.
    unsafe {
        if py::PyErr_Occurred().is_null() { py::PyLong_FromLong(status) } else { ptr::null_mut() }
    }
}

fn sent(module: &Module, arguments: &[*mut PyObject]) -> c_long {
    let [name, collection, entry, values, reply @ ..] = arguments else { return -1 };
    BYTES.with_borrow_mut(|bytes| {
        bytes.clear();
        bytes.shrink_to(LONGEST_KEPT);
        let mut reference = SIMPLE;
        // SAFETY: the module passes tuples.
        let written = unsafe {
            if let Some(reply) = reply.first() {
                reference |= HAS_REPLY;
                write_tuple(*reply, 0, bytes)
            } else {
                Ok(())
            }
            .and_then(|()| write_tuple(*values, 0, bytes))
        };
        if let Err(NotSimple) = written {
            return NOT_SIMPLE;
        }
        let interface = &module.interface;
        // SAFETY: a new message has so many bytes; the name is that of a chare in memory of the
        // module, or null.
        unsafe {
            let mut message = std::mem::zeroed::<Message>();
            (interface.message_new)(bytes.len(), &raw mut message);
            ptr::copy_nonoverlapping(bytes.as_ptr(), message.payload.cast(), bytes.len());
            message.entry = py::PyLong_AsUnsignedLongLong(*entry) as u32;
            message.reference = reference;
            let name = py::PyLong_AsVoidPtr(*name);
            c_long::from(if name.is_null() {
                let collection = py::PyLong_AsUnsignedLongLong(*collection);
                (interface.broadcast)(collection, &raw mut message)
            } else {
                (interface.invoke)(name, &raw mut message)
            })
        }
    })
}
