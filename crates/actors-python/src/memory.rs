//! Memory of messages as objects of Python, which arrays lie in: a message is freed when the last
//! array in it is gone.

use std::ffi::{c_int, c_uint, c_void};
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

use crate::dropped;
use crate::interpreter::{
    self as py, PY_BF_GETBUFFER, PY_TP_DEALLOC, PyBuffer, PyObject, PyTypeSlot, PyTypeSpec,
};
use crate::message::TowpathMessage;
use crate::module::{Module, with_module};
use crate::object::Object;

/// An object with memory of a message: the message itself and its payload, or a part of it.
#[repr(C)]
struct MessageMemory {
    head: PyObject,
    /// Of a part: what has the message.
    owner: *mut PyObject,
    at: *mut c_void,
    bytes: isize,
    is_read_only: c_int,
    /// Whether an array of the message is lent.
    is_lending: bool,
    message: TowpathMessage,
}

/// A message that the program has, as long as this object exists.
pub(crate) struct HeldMessage(Object);

impl HeldMessage {
    /// Takes over the message that the running method was given.
    ///
    /// # Safety
    /// It is that message, or one that was taken over.
    pub(crate) unsafe fn hold(
        module: &Module,
        message: *mut TowpathMessage,
    ) -> Option<HeldMessage> {
        // SAFETY: the message exists, and is the program's afterwards.
        unsafe {
            (module.interface.message_hold)(message);
            HeldMessage::take(module, message.read())
        }
    }

    /// Takes over a message that the program has.
    ///
    /// # Safety
    /// It has it, and nothing else frees it.
    pub(crate) unsafe fn take(module: &Module, message: TowpathMessage) -> Option<HeldMessage> {
        let (at, bytes) = (message.payload, message.bytes.cast_signed());
        // SAFETY: null is no owner.
        unsafe { made(module, ptr::null_mut(), at, bytes, false, message) }.map(HeldMessage)
    }

    /// Takes over a new message with an array of so many bytes, and gives the memory of that.
    pub(crate) fn allocate(module: &Module, bytes: usize) -> Option<Object> {
        // SAFETY: the message is made here, and so is its array.
        unsafe {
            let mut message = std::mem::zeroed::<TowpathMessage>();
            (module.interface.message_new)(0, &raw mut message);
            let number = (module.interface.add_new)(&raw mut message, bytes);
            let held = HeldMessage::take(module, message)?;
            let (number, mut size) = (u32::try_from(number).ok()?, 0);
            let own = (module.interface.own_array)(held.message(), number, &raw mut size);
            held.part(module, own, size, false)
        }
    }

    pub(crate) fn into_object(self) -> Object {
        self.0
    }

    /// The message, which is changed only through this.
    pub(crate) fn message(&self) -> *mut TowpathMessage {
        // SAFETY: `take` has made the object.
        unsafe { &raw mut (*self.0.raw().cast::<MessageMemory>()).message }
    }

    /// The program has an array of it that is lent.
    pub(crate) fn begin_lending(&self) {
        // SAFETY: `take` has made the object, which only the holder of the interpreter's lock uses.
        let is_lending = unsafe { &mut (*self.0.raw().cast::<MessageMemory>()).is_lending };
        if !std::mem::replace(is_lending, true) {
            dropped::begin_lending();
        }
    }

    /// An object for a part of the memory.
    ///
    /// # Safety
    /// The message has so many bytes there, which may be written unless it is for reading only.
    pub(crate) unsafe fn part(
        &self,
        module: &Module,
        at: *const c_void,
        bytes: usize,
        is_read_only: bool,
    ) -> Option<Object> {
        // numpy takes null for no memory, and makes its own.
        let at =
            if bytes == 0 { NonNull::<u128>::dangling().as_ptr().cast() } else { at.cast_mut() };
        // SAFETY: the part keeps the object that keeps the message. A part has no message.
        unsafe {
            let owner = Object::shared(self.0.raw()).into_raw();
            let none = std::mem::zeroed();
            made(module, owner, at, bytes.cast_signed(), is_read_only, none)
        }
    }
}

/// A new object.
///
/// # Safety
/// The caller gives a reference to the owner, which keeps the memory, unless the message does.
unsafe fn made(
    module: &Module,
    owner: *mut PyObject,
    at: *mut c_void,
    bytes: isize,
    is_read_only: bool,
    message: TowpathMessage,
) -> Option<Object> {
    module.has_given_memory.set(true);
    // SAFETY: the type is that of `new_type`, so the object has room for a `MessageMemory`, whose
    // head is filled.
    unsafe {
        let object = Object::owned(py::PyType_GenericAlloc(module.memory, 0))?;
        let memory = object.raw().cast::<MessageMemory>();
        (&raw mut (*memory).owner).write(owner);
        (&raw mut (*memory).at).write(at);
        (&raw mut (*memory).bytes).write(bytes);
        (&raw mut (*memory).is_read_only).write(c_int::from(is_read_only));
        (&raw mut (*memory).is_lending).write(false);
        (&raw mut (*memory).message).write(message);
        Some(object)
    }
}

/// The type of these objects.
pub(crate) fn new_type() -> *mut PyObject {
    let mut slots = [
        PyTypeSlot { place: PY_BF_GETBUFFER, function: get_buffer as *mut c_void },
        PyTypeSlot { place: PY_TP_DEALLOC, function: deallocate as *mut c_void },
        PyTypeSlot { place: 0, function: ptr::null_mut() },
    ];
    let mut spec = PyTypeSpec {
        name: c"towpath.charm.MessageMemory".as_ptr(),
        bytes: size_of::<MessageMemory>() as c_int,
        item: 0,
        flags: 0 as c_uint,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the interpreter copies what it is told here, and the name is a constant.
    unsafe { py::PyType_FromSpec(&raw mut spec) }
}

unsafe extern "C" fn get_buffer(
    object: *mut PyObject,
    buffer: *mut PyBuffer,
    flags: c_int,
) -> c_int {
    // SAFETY: the interpreter passes an object of this type, and a structure to be filled.
    unsafe {
        let memory = &*object.cast::<MessageMemory>();
        let MessageMemory { at, bytes, is_read_only, .. } = *memory;
        py::PyBuffer_FillInfo(buffer, object, at, bytes, is_read_only, flags)
    }
}

unsafe extern "C" fn deallocate(object: *mut PyObject) {
    // SAFETY: nothing refers to the object any more. It has a reference to its type, to its owner,
    // and the message if there is one. A message that was freed has no memory of its own.
    unsafe {
        let kind = (*object).kind;
        let memory = object.cast::<MessageMemory>();
        let mut message = ManuallyDrop::new((&raw const (*memory).message).read());
        if !message.memory.is_null() {
            let freed = with_module(|module| {
                (module.interface.message_free)(&raw mut *message);
                Some(())
            });
            if freed.is_none() {
                dropped::leave(ManuallyDrop::into_inner(message));
            }
        }
        if (*memory).is_lending {
            dropped::end_lending();
        }
        py::Py_DecRef((*memory).owner);
        py::PyObject_Free(object.cast());
        py::Py_DecRef(kind);
    }
}
