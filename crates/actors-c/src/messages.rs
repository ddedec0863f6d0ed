//! Messages as C sees them: a payload, which the program fills in place, and a part of the header.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::rc::Rc;

use towpath_actors::arrays::{DeviceArray, kept};
use towpath_actors::message::{
    HEADER_BYTES, LONG_PRIORITY, MessageKind, MessageMemory, PRIORITY, SECTION,
};
use towpath_actors::{
    ActorHeader, ActorMessage, ArrayMemory, ChareCallback, CollectionId, Index, MessageArray,
    MessageHandle, Runtime, SectionId,
};

use crate::current::with_runtime;
use crate::failure::status;
use crate::types::{CCallback, CMessage};

const NOT_THE_PROGRAMS: &str = "the message has been sent or freed, was received and not kept, or \
                                was made for more bytes than there can be";

/// Bytes of the longest payload; no machine has more.
pub(crate) const LONGEST_PAYLOAD: usize = 1 << 46;

impl CMessage {
    /// A message that the program does not have. What `towpath_message_new` gives for more bytes
    /// than there can be.
    pub(crate) const NONE: CMessage = CMessage {
        payload: ptr::null_mut(),
        bytes: 0,
        entry: 0,
        flags: 0,
        priority: 0,
        reference: 0,
        memory: ptr::null_mut(),
        arrays: ptr::null(),
        array_count: 0,
    };

    /// Gives a message to the program.
    pub(crate) fn give(message: ActorMessage) -> CMessage {
        let header = *message.header();
        CMessage {
            entry: header.entry,
            flags: u32::from(header.flags),
            priority: header.priority,
            reference: header.reference,
            ..CMessage::give_memory(message)
        }
    }

    /// Gives a message to the program, whose header is arbitrary but for the flags.
    fn give_memory(message: ActorMessage) -> CMessage {
        let mut buffer = message.into_buffer();
        let before = buffer.payload_begin();
        let payload = &mut buffer.bytes_mut()[before..];
        let (payload, bytes) = (payload.as_mut_ptr().cast(), payload.len());
        let (arrays, array_count) = (buffer.arrays().as_ptr(), buffer.arrays().len());
        let memory = Box::into_raw(buffer);
        CMessage { payload, bytes, memory, arrays, array_count, ..CMessage::NONE }
    }

    /// The memory of the message, while the program has it: it was made or kept, and not sent or
    /// freed since.
    ///
    /// # Errors
    /// The program has no such message.
    ///
    /// # Safety
    /// `memory` is that of `give_memory`, or null: the program leaves it as it is.
    pub(crate) unsafe fn buffer(&mut self) -> Result<&mut MessageMemory, String> {
        // SAFETY: the program has it alone, because `take` leaves null.
        unsafe { self.memory.as_mut() }.ok_or_else(|| NOT_THE_PROGRAMS.into())
    }

    /// Takes the memory of a message back, if the program has it.
    ///
    /// # Safety
    /// As for `buffer`.
    unsafe fn take(&mut self) -> Option<Box<MessageMemory>> {
        let memory = std::mem::replace(&mut self.memory, ptr::null_mut());
        if memory.is_null() {
            return None;
        }
        (self.payload, self.arrays, self.array_count) = (ptr::null_mut(), ptr::null(), 0);
        // SAFETY: it was made by `Box::into_raw`, and `memory` is null once it was taken back.
        Some(unsafe { Box::from_raw(memory) })
    }

    /// Adds an array. Returns its number, or -1.
    ///
    /// # Safety
    /// As for `buffer`.
    pub(crate) unsafe fn add(
        &mut self,
        array: impl FnOnce(&Runtime) -> Result<MessageArray, String>,
    ) -> c_int {
        let number = self.array_count;
        let added = with_runtime(|runtime| {
            // SAFETY: as the caller says.
            let buffer = unsafe { self.buffer() }?;
            buffer.add_array(array(runtime)?);
            let arrays = buffer.arrays();
            (self.arrays, self.array_count) = (arrays.as_ptr(), arrays.len());
            Ok(())
        });
        if status(added) == 0 { number as c_int } else { -1 }
    }

    /// The arrays of a message that the program has.
    ///
    /// # Safety
    /// As for `buffer`.
    pub(crate) unsafe fn arrays(&self) -> &[MessageArray] {
        if self.arrays.is_null() {
            return &[];
        }
        // SAFETY: they are those of the message that `memory` or the handle of `ReceivedMessage`
        // keeps; `take` leaves null.
        unsafe { std::slice::from_raw_parts(self.arrays, self.array_count) }
    }

    /// The message, addressed to one chare or to all of a collection.
    ///
    /// # Errors
    /// The program has no such message.
    ///
    /// # Safety
    /// As for `buffer`.
    #[inline]
    pub(crate) unsafe fn addressed(
        &mut self,
        kind: MessageKind,
        collection: CollectionId,
        index: Option<&Index>,
    ) -> Result<ActorMessage, String> {
        let (bytes, payload) = (self.bytes, self.payload.addr());
        // SAFETY: as the caller says.
        let buffer = unsafe { self.buffer() }?;
        let before = buffer.payload_begin();
        if payload != buffer.bytes().as_ptr().addr() + before {
            return Err("the payload of the message was moved; write to where it is".into());
        }
        let room = buffer.room() - before;
        if bytes > room {
            return Err(format!(
                "the message was made for {room} bytes at most, but now says {bytes}; it may \
                 shrink, not grow"
            ));
        }
        buffer.resize(before + bytes);
        let mut header = ActorHeader::new(kind, collection.0, index, self.entry);
        header.flags = (self.flags & SETTABLE) as u16;
        if before > HEADER_BYTES {
            header.flags |= PRIORITY | LONG_PRIORITY;
        }
        (header.priority, header.reference) = (self.priority, self.reference);
        // SAFETY: as the caller says.
        let buffer = unsafe { self.take() }.ok_or(NOT_THE_PROGRAMS)?;
        let mut message = ActorMessage::from_buffer(buffer);
        *message.header_mut() = header;
        Ok(message)
    }
}

/// An array in the memory of the program, or of a device, which the program does not change until
/// it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProgramArray {
    data: *const u8,
    bytes: usize,
    is_on_device: bool,
}

impl ProgramArray {
    /// So many bytes of the program, which does not change them until it is told.
    pub(crate) fn new(data: *const c_void, bytes: usize) -> ProgramArray {
        ProgramArray { data: data.cast(), bytes, is_on_device: false }
    }

    /// The same in the memory of a device.
    pub(crate) fn on_device(data: *const c_void, bytes: usize) -> ProgramArray {
        ProgramArray { is_on_device: true, ..ProgramArray::new(data, bytes) }
    }

    pub(crate) fn address(&self) -> *const u8 {
        self.data
    }

    /// Its first bytes, or all if it has no more.
    pub(crate) fn first(self, bytes: usize) -> ProgramArray {
        ProgramArray { bytes: bytes.min(self.bytes), ..self }
    }
}

impl ArrayMemory for ProgramArray {
    fn bytes(&self) -> &[u8] {
        if self.is_on_device {
            return &[];
        }
        // SAFETY: the program has said that so many bytes are there, and leaves them as they are.
        unsafe { bytes(self.data.cast(), self.bytes) }
    }

    fn device(&self) -> Option<DeviceArray> {
        let device = DeviceArray { at: self.data.cast_mut(), bytes: self.bytes };
        self.is_on_device.then_some(device)
    }
}

/// `TOWPATH_SHARED`.
const SHARED: u32 = 1 << 16;

/// Flags that a program may set.
const SETTABLE: u32 = (towpath_actors::message::EXPEDITED | PRIORITY) as u32;

/// A message that a method of the program is given.
#[repr(C)]
pub(crate) struct ReceivedMessage {
    /// First, so that a pointer to it points to all.
    pub(crate) message: CMessage,
    handle: Option<MessageHandle>,
}

impl ReceivedMessage {
    /// What the running method was given; `None` if the program has the message.
    ///
    /// # Safety
    /// It is the message that the running method was given, or one that the program has, and nobody
    /// else looks at it.
    pub(crate) unsafe fn of<'a>(message: *mut CMessage) -> Option<&'a mut ReceivedMessage> {
        // SAFETY: the message exists.
        if unsafe { !(*message).memory.is_null() } {
            return None;
        }
        // SAFETY: methods are given the first field of such a structure, which lives until they
        // return.
        Some(unsafe { &mut *message.cast::<ReceivedMessage>() })
    }

    /// The bytes of an array, to be written; `None` if there is none, or others have it too.
    pub(crate) fn own_array(&mut self, number: usize) -> Option<&mut [u8]> {
        self.handle.as_mut()?.own_array(number)
    }

    pub(crate) fn new(handle: MessageHandle) -> ReceivedMessage {
        let header = handle.header();
        let shared = if matches!(handle, MessageHandle::Shared(_)) { SHARED } else { 0 };
        let message = CMessage {
            payload: handle.payload().as_ptr().cast_mut().cast(),
            bytes: handle.payload().len(),
            entry: header.entry,
            flags: u32::from(header.flags) | shared,
            priority: header.priority,
            reference: header.reference,
            memory: ptr::null_mut(),
            arrays: handle.arrays().as_ptr(),
            array_count: handle.arrays().len(),
        };
        ReceivedMessage { message, handle: Some(handle) }
    }
}

/// Makes a message with a payload of so many bytes.
///
/// # Safety
/// There is memory for a message at `message`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_message_new(bytes: usize, message: *mut CMessage) {
    let made = match bytes {
        0..=LONGEST_PAYLOAD => {
            let mut message = ActorMessage::with_bytes(HEADER_BYTES + bytes);
            // Sending it writes the rest of the header. These say where the payload begins.
            message.header_mut().flags = 0;
            CMessage::give_memory(message)
        }
        _ => CMessage::NONE,
    };
    // SAFETY: the caller has memory for it.
    unsafe { message.write(made) };
}

/// Frees a message that was made and not sent, or that was kept.
///
/// # Safety
/// It is such a message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_message_free(message: *mut CMessage) {
    // SAFETY: the message exists, and the program leaves its `memory` as it is.
    let Some(buffer) = (unsafe { (*message).take() }) else { return };
    // Nobody says where its arrays are to be any more. After the job, nobody waits for that.
    let _ = with_runtime(|runtime| {
        runtime.release_held(&buffer);
        Ok(())
    });
    drop(ActorMessage::from_buffer(buffer));
}

/// In an entry method: the message belongs to the program.
///
/// # Safety
/// It is the message that the running method was given, or one that the program has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_message_keep(message: *mut CMessage) {
    // SAFETY: the caller says so.
    unsafe { own(message, kept) };
}

/// In an entry method: the message belongs to the program, but its arrays stay where they are.
///
/// # Safety
/// As for `towpath_message_keep`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_message_hold(message: *mut CMessage) {
    // SAFETY: the caller says so.
    unsafe { own(message, Rc::clone) };
}

/// Gives the message of the running method to the program, with these arrays instead of its own.
///
/// # Safety
/// As for `towpath_message_keep`.
unsafe fn own(message: *mut CMessage, array: fn(&MessageArray) -> MessageArray) {
    // SAFETY: the caller says so.
    let Some(received) = (unsafe { ReceivedMessage::of(message) }) else { return };
    let Some(handle) = received.handle.take() else { return };
    let message = handle.into_owned();
    let arrays = message.arrays().iter().map(array).collect();
    received.message = CMessage::give(message.with_arrays(arrays));
}

/// The section to which a message was sent.
///
/// # Safety
/// It is the message that the running method was given, or one that the program has.
pub(crate) unsafe fn section_of(message: *const CMessage) -> Option<SectionId> {
    // SAFETY: the message exists.
    let CMessage { memory, flags, .. } = unsafe { &*message };
    if flags & u32::from(SECTION) == 0 {
        return None;
    }
    // SAFETY: `memory` is that of `give_memory`, or null: the program leaves it as it is.
    if let Some(buffer) = unsafe { memory.as_ref() } {
        return SectionId::of(buffer.header());
    }
    // SAFETY: as in `towpath_message_keep`.
    let received = unsafe { &*message.cast::<ReceivedMessage>() };
    SectionId::of(received.handle.as_ref()?.header())
}

/// Adds an array, which is sent from where it is; the number is that in the message.
///
/// # Safety
/// The message was made and not sent. So many bytes are there, and do not change until the callback
/// is told.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_message_add_array(
    message: *mut CMessage,
    data: *const c_void,
    length: usize,
    done: *const CCallback,
) -> c_int {
    // SAFETY: the pointers are as the header says; see above for the array.
    unsafe { add_program_array(message, ProgramArray::new(data, length), done, Runtime::array) }
}

/// Adds an array of the program, in the way that the runtime has for it; the number is that in the
/// message.
///
/// # Safety
/// The message was made and not sent, and the callback exists or is null.
pub(crate) unsafe fn add_program_array(
    message: *mut CMessage,
    array: ProgramArray,
    done: *const CCallback,
    way: fn(&Runtime, Box<dyn ArrayMemory>, ChareCallback) -> MessageArray,
) -> c_int {
    // SAFETY: the message exists, and the callback if it is not null.
    let (message, done) = unsafe { (&mut *message, done.as_ref()) };
    let made = |runtime: &Runtime| {
        check_length(array.bytes)?;
        let done = done.map_or(Ok(ChareCallback::Ignore), CCallback::callback)?;
        Ok(way(runtime, Box::new(array), done))
    };
    // SAFETY: the program leaves its `memory` as it is.
    unsafe { message.add(made) }
}

/// Adds an array with a copy of these bytes; the number is that in the message.
///
/// # Safety
/// The message was made and not sent, and so many bytes are there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_message_add_copy(
    message: *mut CMessage,
    data: *const c_void,
    length: usize,
) -> c_int {
    let array = |runtime: &Runtime| {
        check_length(length)?;
        // SAFETY: so many bytes are there.
        Ok(runtime.copied_array(unsafe { bytes(data, length) }))
    };
    // SAFETY: the program leaves its `memory` as it is.
    unsafe { (*message).add(array) }
}

/// Refuses the length of an array that no memory has: a negative number, most likely.
pub(crate) fn check_length(length: usize) -> Result<(), String> {
    if length > LONGEST_PAYLOAD {
        return Err(format!("an array of {length} bytes is longer than any memory"));
    }
    Ok(())
}

/// An array of a message; null if it has no such array.
///
/// # Safety
/// The message is that of the running method, or was kept. There is memory for the length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_message_array(
    message: *const CMessage,
    number: u32,
    length: *mut usize,
) -> *const c_void {
    // SAFETY: as in `towpath_message_add_copy`.
    let array = unsafe { (*message).arrays() }.get(number as usize);
    let bytes = array.map_or(&[][..], |array| array.bytes());
    // SAFETY: the caller has memory for it.
    unsafe { length.write(array.map_or(0, |array| array.length())) };
    if bytes.is_empty() { ptr::null() } else { bytes.as_ptr().cast() }
}

/// The bytes at an address; none at null.
///
/// # Safety
/// There are so many bytes, which nobody changes meanwhile.
pub(crate) unsafe fn bytes<'a>(at: *const c_void, bytes: usize) -> &'a [u8] {
    // SAFETY: the caller says so.
    unsafe { elements(at.cast(), bytes) }
}

/// The elements at an address; none at null.
///
/// # Safety
/// There are so many elements, which nobody changes meanwhile.
pub(crate) unsafe fn elements<'a, T>(at: *const T, count: usize) -> &'a [T] {
    if at.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: the caller says so.
    unsafe { std::slice::from_raw_parts(at, count) }
}
