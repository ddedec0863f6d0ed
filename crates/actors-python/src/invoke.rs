//! A message to a call of an entry method.

use std::ffi::c_void;

use crate::arguments::ArgumentReader;
use crate::failure::report;
use crate::interpreter::{self as py, PyObject};
use crate::lending;
use crate::message::{HAS_REPLY, RESULT, SIMPLE, TowpathMessage, VALUES};
use crate::module::{Module, with_module};
use crate::object::Object;
use crate::received::Received;

/// Runs an entry method. The context is a tuple of the method's description, and of its function if
/// that is all there is to it.
///
/// # Safety
/// The library calls it as `towpath/actors.h` says; context and object are Python's objects.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn towpath_python_invoke(
    context: *mut PyObject,
    object: *mut PyObject,
    _: *const c_void,
    message: *mut TowpathMessage,
) {
    // SAFETY: the interpreter exists while the job runs, and the message until this returns. A
    // method keeps its chare alive even if it deletes itself.
    unsafe {
        let state = py::PyGILState_Ensure();
        let chare = Object::shared(object);
        let done = with_module(|module| {
            lending::free_dropped(module);
            let done = run(module, context, &chare, message);
            lending::watch(module);
            done
        });
        if done.is_none() {
            report(object);
        }
        drop(chare);
        py::PyGILState_Release(state);
    }
}

/// # Safety
/// As for `towpath_python_invoke`.
unsafe fn run(
    module: &Module,
    context: *mut PyObject,
    chare: &Object,
    message: *mut TowpathMessage,
) -> Option<()> {
    // SAFETY: the message exists, its payload has its bytes, and the context has two places.
    unsafe {
        let entry = Object::shared(py::PyTuple_GetItem(context, 0));
        let received = &*message;
        if received.flags & RESULT != 0 || received.reference & SIMPLE == 0 {
            let address = Object::owned(py::PyLong_FromVoidPtr(message.cast()))?;
            let all = [entry, Object::shared(chare.raw()), address];
            return module.other().call(&Object::tuple(all.into_iter())?).map(|_| ());
        }
        let has_reply = received.reference & HAS_REPLY != 0;
        let mut reader = reader(module, message)?;
        let function = py::PyTuple_GetItem(context, 1);
        let is_all = function != &raw mut py::_Py_NoneStruct;
        if is_all && !has_reply {
            let arguments = reader.tuple(Some(Object::shared(chare.raw())))?;
            return call(module, &Object::shared(function), chare, &arguments);
        }
        let reply = if has_reply { reader.tuple(None)? } else { Object::none() };
        let arguments = reader.tuple(None)?;
        let all = [entry, Object::shared(chare.raw()), arguments, reply];
        module.accept().call(&Object::tuple(all.into_iter())?).map(|_| ())
    }
}

/// Reads a message that this library has made.
///
/// # Safety
/// As for `towpath_python_invoke`.
unsafe fn reader(module: &Module, message: *mut TowpathMessage) -> Option<ArgumentReader<'_>> {
    // SAFETY: the payload has its bytes until the method returns, or as long as it is kept.
    unsafe {
        let received = &*message;
        let bytes = std::slice::from_raw_parts(received.payload.cast::<u8>(), received.bytes);
        let length = u64::from_ne_bytes(bytes.get(..VALUES)?.try_into().ok()?);
        let length = usize::try_from(length).ok()?;
        if length > bytes.len() {
            return None;
        }
        let data = Received::of(module, message, length)?;
        Some(ArgumentReader { values: data.values(VALUES, length)?, data })
    }
}

/// Calls the function of a method, and lets run what has waited for what it has done.
fn call(module: &Module, function: &Object, chare: &Object, arguments: &Object) -> Option<()> {
    // SAFETY: all these objects exist, and functions that give references give new ones.
    unsafe {
        let before = Object::owned(py::PyObject_GetAttr(module.job(), module.current))?;
        py::PyObject_SetAttr(module.job(), module.current, chare.raw());
        let result = function.call(arguments);
        let done = result.and_then(|_| {
            let waiting = Object::owned(py::PyObject_GetAttr(chare.raw(), module.waiting))?;
            if py::PyObject_IsTrue(waiting.raw()) == 0 {
                return Some(());
            }
            let all = Object::tuple([Object::shared(chare.raw())].into_iter())?;
            module.flush().call(&all).map(|_| ())
        });
        if done.is_none() {
            report(chare.raw());
        }
        py::PyObject_SetAttr(module.job(), module.current, before.raw());
        Some(())
    }
}
