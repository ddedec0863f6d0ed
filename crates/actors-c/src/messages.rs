//! Messages as C sees them: a payload, which the program fills in place, and a part of the header.

use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;
use std::ptr;

use towpath_actors::arrays::kept;
use towpath_actors::message::{
    Block, HEADER_BYTES, LONG_PRIORITY, MessageKind, MessageParts, PRIORITY,
};
use towpath_actors::{
    ActorHeader, ActorMessage, ArrayMemory, ChareCallback, CollectionId, Index, MessageArray,
    MessageHandle, Runtime,
};

use crate::current::with_runtime;
use crate::failure::status;
use crate::types::{CCallback, CMessage};

const NOT_THE_PROGRAMS: &str = "the message has been sent or freed, was received and not kept, or \
                                was made for more bytes than there can be";

/// `memory` of a message that the library has, and the program only reads: it was sent, freed, or
/// received and not kept. The program leaves `memory` as it is.
const RECEIVED: [usize; 2] = [0, 0];

/// Bytes of the longest payload; no machine has more.
const LONGEST_PAYLOAD: usize = 1 << 46;

impl CMessage {
    /// What `towpath_message_new` gives for more bytes than there can be.
    const NONE: CMessage = CMessage {
        payload: ptr::null_mut(),
        bytes: 0,
        entry: 0,
        flags: 0,
        priority: 0,
        reference: 0,
        memory: RECEIVED,
        arrays: ptr::null_mut(),
        array_count: 0,
    };

    /// Gives a message to the program.
    fn give(message: ActorMessage) -> CMessage {
        let header = *message.header();
        // Then the payload would not be behind the header.
        debug_assert!(header.flags & LONG_PRIORITY == 0, "no function sends such a message");
        CMessage {
            entry: header.entry,
            flags: u32::from(header.flags),
            priority: header.priority,
            reference: header.reference,
            ..CMessage::give_memory(message)
        }
    }

    /// Gives a message to the program, whose header is arbitrary.
    fn give_memory(message: ActorMessage) -> CMessage {
        let MessageParts { blocks, bytes, arrays } = message.into_parts();
        let mut blocks = ManuallyDrop::new(blocks);
        let (arrays, array_count) = given(arrays);
        CMessage {
            payload: blocks.as_mut_ptr().cast::<u8>().wrapping_add(HEADER_BYTES).cast(),
            bytes: bytes - HEADER_BYTES,
            memory: [blocks.len(), blocks.capacity()],
            arrays,
            array_count,
            ..CMessage::NONE
        }
    }

    /// How many bytes its payload has memory for, while the program has it.
    fn room(&self) -> usize {
        self.memory[0] * size_of::<Block>() - HEADER_BYTES
    }

    /// Takes a message back, with what the program has said in its header.
    ///
    /// # Safety
    /// `give_memory` has made it, and it has not been taken back since.
    unsafe fn take(&mut self) -> ActorMessage {
        let bytes = HEADER_BYTES + self.bytes.min(self.room());
        let [length, capacity] = std::mem::replace(&mut self.memory, RECEIVED);
        let memory = self.payload.cast::<u8>().wrapping_sub(HEADER_BYTES).cast::<Block>();
        // SAFETY: these are the parts of the vector that `give_memory` took apart.
        let blocks = unsafe { Vec::from_raw_parts(memory, length, capacity) };
        self.payload = ptr::null_mut();
        // SAFETY: these are the arrays that `give_memory` gave, or that were added since.
        let arrays = unsafe { self.take_arrays() };
        ActorMessage::from_parts(MessageParts { blocks, bytes, arrays })
    }

    /// Takes the arrays of a message back.
    ///
    /// # Safety
    /// As for `take`.
    unsafe fn take_arrays(&mut self) -> Vec<MessageArray> {
        let arrays = std::mem::replace(&mut self.arrays, ptr::null_mut());
        let count = std::mem::take(&mut self.array_count);
        if arrays.is_null() {
            return Vec::new();
        }
        // SAFETY: `given` has taken a boxed slice of so many arrays apart.
        unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(arrays, count)) }.into_vec()
    }

    /// Adds an array. Returns its number, or -1.
    ///
    /// # Safety
    /// As for `take`, or its `memory` is RECEIVED.
    unsafe fn add(
        &mut self,
        array: impl FnOnce(&Runtime) -> Result<MessageArray, String>,
    ) -> c_int {
        let number = self.array_count;
        let added = with_runtime(|runtime| {
            if self.memory == RECEIVED {
                return Err(NOT_THE_PROGRAMS.into());
            }
            let array = array(runtime)?;
            // SAFETY: `memory` is not RECEIVED, so nothing has taken the message back.
            let mut arrays = unsafe { self.take_arrays() };
            arrays.push(array);
            (self.arrays, self.array_count) = given(arrays);
            Ok(())
        });
        if status(added) == 0 { number as c_int } else { -1 }
    }

    /// The arrays of a message that the program has.
    ///
    /// # Safety
    /// As for `take`, or its `memory` is RECEIVED.
    unsafe fn arrays(&self) -> &[MessageArray] {
        if self.arrays.is_null() {
            return &[];
        }
        // SAFETY: they are those that `given` has given, or those of the handle that
        // `ReceivedMessage` keeps; `take` leaves null.
        unsafe { std::slice::from_raw_parts(self.arrays, self.array_count) }
    }

    /// The message, addressed to one chare or to all of a collection.
    ///
    /// # Errors
    /// The program has no such message.
    ///
    /// # Safety
    /// As for `take`, or its `memory` is RECEIVED.
    pub(crate) unsafe fn addressed(
        &mut self,
        kind: MessageKind,
        collection: CollectionId,
        index: Option<&Index>,
    ) -> Result<ActorMessage, String> {
        if self.memory == RECEIVED {
            return Err(NOT_THE_PROGRAMS.into());
        }
        let room = self.room();
        if self.bytes > room {
            return Err(format!(
                "the message was made for {room} bytes at most, but now says {}; it may shrink, \
                 not grow",
                self.bytes
            ));
        }
        let mut header = ActorHeader::new(kind, collection.0, index, self.entry);
        header.flags = (self.flags & SETTABLE) as u16;
        (header.priority, header.reference) = (self.priority, self.reference);
        // SAFETY: `memory` is not RECEIVED, so `give_memory` has made it and nothing took it back.
        let mut message = unsafe { self.take() };
        *message.header_mut() = header;
        Ok(message)
    }
}

/// Arrays as the program's message has them.
fn given(arrays: Vec<MessageArray>) -> (*mut MessageArray, usize) {
    if arrays.is_empty() {
        return (ptr::null_mut(), 0);
    }
    let count = arrays.len();
    (Box::into_raw(arrays.into_boxed_slice()).cast(), count)
}

/// An array in the memory of the program, which does not change it until it is told.
#[derive(Debug)]
struct ProgramArray {
    data: *const u8,
    bytes: usize,
}

impl ArrayMemory for ProgramArray {
    fn bytes(&self) -> &[u8] {
        // SAFETY: the program has said that so many bytes are there, and leaves them as they are.
        unsafe { bytes(self.data.cast(), self.bytes) }
    }
}

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
    pub(crate) fn new(handle: MessageHandle) -> ReceivedMessage {
        let header = handle.header();
        let message = CMessage {
            payload: handle.payload().as_ptr().cast_mut().cast(),
            bytes: handle.payload().len(),
            entry: header.entry,
            flags: u32::from(header.flags),
            priority: header.priority,
            reference: header.reference,
            memory: RECEIVED,
            arrays: handle.arrays().as_ptr().cast_mut(),
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
        // Sending it writes the header.
        0..=LONGEST_PAYLOAD => {
            CMessage::give_memory(ActorMessage::with_bytes(HEADER_BYTES + bytes))
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
    // SAFETY: the message exists.
    let message = unsafe { &mut *message };
    if message.memory != RECEIVED {
        // SAFETY: `memory` is not RECEIVED, so nothing has taken the message back.
        drop(unsafe { message.take() });
    }
}

/// In an entry method: the message belongs to the program.
///
/// # Safety
/// It is the message that the running method was given, or one that the program has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_message_keep(message: *mut CMessage) {
    // SAFETY: the message exists.
    if unsafe { (*message).memory } != RECEIVED {
        return;
    }
    // SAFETY: methods are given the first field of such a structure, which lives until they return.
    let received = unsafe { &mut *message.cast::<ReceivedMessage>() };
    let Some(handle) = received.handle.take() else { return };
    let message = handle.into_owned();
    let arrays = message.arrays().iter().map(kept).collect();
    received.message = CMessage::give(message.with_arrays(arrays));
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
    // SAFETY: the message exists, and the callback if it is not null.
    let (message, done) = unsafe { (&mut *message, done.as_ref()) };
    let array = |runtime: &Runtime| {
        let done = done.map_or(Ok(ChareCallback::Ignore), CCallback::callback)?;
        Ok(runtime.array(Box::new(ProgramArray { data: data.cast(), bytes: length }), done))
    };
    // SAFETY: `give_memory` has made it, unless its `memory` is RECEIVED.
    unsafe { message.add(array) }
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
    // SAFETY: so many bytes are there.
    let content = unsafe { bytes(data, length) };
    // SAFETY: `give_memory` has made it, unless its `memory` is RECEIVED.
    unsafe { (*message).add(|runtime| Ok(runtime.copied_array(content))) }
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
    let arrays = unsafe { (*message).arrays() };
    let bytes = arrays.get(number as usize).map_or(&[][..], |array| array.bytes());
    // SAFETY: the caller has memory for it.
    unsafe { length.write(bytes.len()) };
    if bytes.is_empty() { ptr::null() } else { bytes.as_ptr().cast() }
}

/// The bytes at an address; none at null.
///
/// # Safety
/// There are so many bytes, which nobody changes meanwhile.
pub(crate) unsafe fn bytes<'a>(at: *const c_void, bytes: usize) -> &'a [u8] {
    if at.is_null() || bytes == 0 {
        return &[];
    }
    // SAFETY: the caller says so.
    unsafe { std::slice::from_raw_parts(at.cast(), bytes) }
}
