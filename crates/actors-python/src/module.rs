//! What Python has given.

use std::cell::{Cell, OnceCell};
use std::ffi::{c_int, c_void};

use crate::interpreter::{self as py, PyObject};
use crate::memory;
use crate::message::{TowpathCallback, TowpathMessage};
use crate::object::Object;

/// Functions of `libtowpath_actors.so`, and of the module.
#[repr(C)]
pub(crate) struct PythonInterface {
    pub(crate) message_new: unsafe extern "C" fn(usize, *mut TowpathMessage),
    pub(crate) message_free: unsafe extern "C" fn(*mut TowpathMessage),
    pub(crate) message_hold: unsafe extern "C" fn(*mut TowpathMessage),
    pub(crate) invoke: unsafe extern "C" fn(*const c_void, *mut TowpathMessage) -> c_int,
    pub(crate) broadcast: unsafe extern "C" fn(u64, *mut TowpathMessage) -> c_int,
    pub(crate) add_array: unsafe extern "C" fn(
        *mut TowpathMessage,
        *const c_void,
        usize,
        *const TowpathCallback,
    ) -> c_int,
    pub(crate) add_copy: unsafe extern "C" fn(*mut TowpathMessage, *const c_void, usize) -> c_int,
    pub(crate) add_new: unsafe extern "C" fn(*mut TowpathMessage, usize) -> c_int,
    pub(crate) array_of:
        unsafe extern "C" fn(*const TowpathMessage, u32, *mut usize) -> *const c_void,
    pub(crate) own_array: unsafe extern "C" fn(*mut TowpathMessage, u32, *mut usize) -> *mut c_void,
    pub(crate) rank: unsafe extern "C" fn() -> u32,
    pub(crate) call_after: unsafe extern "C" fn(u64, *const TowpathCallback) -> c_int,
    /// `accept(entry, chare, arguments, reply)`: runs a method that is more than a function.
    accept: *mut PyObject,
    /// `other(entry, chare, message)`: takes a message that this library has not made.
    other: *mut PyObject,
    /// `failed(error)`.
    failed: *mut PyObject,
    /// `flush(chare)`.
    flush: *mut PyObject,
    /// The type of arrays, or null without numpy.
    pub(crate) ndarray: *mut PyObject,
    /// Types of elements by their formats.
    types: *mut PyObject,
    /// The type of arguments that are lent: with an `array` and a `future`.
    pub(crate) lent: *mut PyObject,
    /// Its attribute `current` is the chare that runs.
    job: *mut PyObject,
}

/// What this thread has from Python.
pub(crate) struct Module {
    pub(crate) interface: PythonInterface,
    pub(crate) current: *mut PyObject,
    pub(crate) waiting: *mut PyObject,
    /// The type of `memory.rs`.
    pub(crate) memory: *mut PyObject,
    /// Whether the program has had such an object: only then other threads can drop messages.
    pub(crate) has_given_memory: Cell<bool>,
}

impl Module {
    pub(crate) fn accept(&self) -> Object {
        shared(self.interface.accept)
    }

    pub(crate) fn other(&self) -> Object {
        shared(self.interface.other)
    }

    pub(crate) fn failed(&self) -> Object {
        shared(self.interface.failed)
    }

    pub(crate) fn flush(&self) -> Object {
        shared(self.interface.flush)
    }

    /// The type of elements of this format.
    pub(crate) fn element(&self, format: &[u8]) -> Option<Object> {
        let mut text = [0_u8; 4];
        text.get_mut(..format.len()).filter(|text| text.len() < 4)?.copy_from_slice(format);
        // SAFETY: the dictionary exists, and the text ends with 0. It keeps the type.
        unsafe {
            let found = py::PyDict_GetItemString(self.interface.types, text.as_ptr().cast());
            (!found.is_null()).then(|| Object::shared(found))
        }
    }

    pub(crate) fn job(&self) -> *mut PyObject {
        self.interface.job
    }
}

fn shared(object: *mut PyObject) -> Object {
    // SAFETY: `take_over` has a reference to it, which it never gives back.
    unsafe { Object::shared(object) }
}

thread_local! {
    /// Of the thread that runs the job.
    static MODULE: OnceCell<Module> = const { OnceCell::new() };
}

/// Uses what Python has given; `None` before.
pub(crate) fn with_module<T>(use_it: impl FnOnce(&Module) -> Option<T>) -> Option<T> {
    MODULE.with(|module| module.get().and_then(use_it))
}

/// The same for a function that Python has called, maybe in another thread, where this raises an
/// exception.
pub(crate) fn for_caller<T>(use_it: impl FnOnce(&Module) -> Option<T>) -> Option<T> {
    let is_here = MODULE.with(|module| module.get().is_some());
    if !is_here {
        let text = c"chares are used by the thread that has called charm.start";
        // SAFETY: Python has called this, so its lock is held, and the text is a constant.
        unsafe { py::PyErr_SetString(py::PyExc_RuntimeError, text.as_ptr()) };
    }
    with_module(use_it)
}

/// Takes over what Python gives, once.
///
/// # Safety
/// The structure is filled, its objects exist, and the caller holds the interpreter's lock.
pub(crate) unsafe fn take_over(interface: *const PythonInterface) {
    // SAFETY: the caller has filled it.
    let interface = unsafe { interface.read() };
    let PythonInterface { accept, other, failed, flush, ndarray, types, lent, job, .. } = interface;
    // A second call changes nothing.
    MODULE.with(|module| {
        module.get_or_init(|| {
            for object in [accept, other, failed, flush, ndarray, types, lent, job] {
                // SAFETY: it exists, or is null, for which this does nothing. The reference is
                // never given back, so the object lives as long as the process.
                unsafe { py::Py_IncRef(object) };
            }
            // SAFETY: these make references, which are never given back either.
            let (current, waiting, memory) = unsafe {
                (
                    py::PyUnicode_InternFromString(c"current".as_ptr()),
                    py::PyUnicode_InternFromString(c"_waiting".as_ptr()),
                    memory::new_type(),
                )
            };
            Module { interface, current, waiting, memory, has_given_memory: Cell::new(false) }
        });
    });
}
