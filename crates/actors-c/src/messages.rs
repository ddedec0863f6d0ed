//! Messages as C sees them: a payload, which the program fills in place, and a part of the header.

use std::ffi::c_void;
use std::mem::ManuallyDrop;

use towpath_actors::message::MessageKind;
use towpath_actors::message::{Block, HEADER_BYTES, PRIORITY};
use towpath_actors::{ActorHeader, ActorMessage, CollectionId, Index, MessageHandle};

use crate::types::CMessage;

/// `memory` of a message that the library has, and the program only reads.
const RECEIVED: [usize; 2] = [0, 0];

impl CMessage {
    /// Gives a message to the program.
    fn give(message: ActorMessage) -> CMessage {
        let header = *message.header();
        let (blocks, bytes) = message.into_blocks();
        let mut blocks = ManuallyDrop::new(blocks);
        CMessage {
            payload: blocks.as_mut_ptr().cast::<u8>().wrapping_add(HEADER_BYTES).cast(),
            bytes: bytes - HEADER_BYTES,
            entry: header.entry,
            flags: u32::from(header.flags),
            priority: header.priority,
            reference: header.reference,
            memory: [blocks.len(), blocks.capacity()],
        }
    }

    /// Takes a message back, with what the program has said in its header.
    ///
    /// # Safety
    /// `give` has made it, and it has not been taken back since.
    unsafe fn take(&mut self) -> ActorMessage {
        let [length, capacity] = std::mem::replace(&mut self.memory, RECEIVED);
        let memory = self.payload.cast::<u8>().wrapping_sub(HEADER_BYTES).cast::<Block>();
        // SAFETY: these are the parts of the vector that `give` has taken apart.
        let blocks = unsafe { Vec::from_raw_parts(memory, length, capacity) };
        self.payload = std::ptr::null_mut();
        ActorMessage::from_blocks(blocks, HEADER_BYTES + self.bytes)
    }

    /// The message, addressed to one chare or to all of a collection.
    ///
    /// # Errors
    /// The program has no such message.
    ///
    /// # Safety
    /// It was made by [`towpath_message_new`] or kept, or sent or freed since.
    pub(crate) unsafe fn addressed(
        &mut self,
        kind: MessageKind,
        collection: CollectionId,
        index: Option<&Index>,
    ) -> Result<ActorMessage, String> {
        if self.memory == RECEIVED {
            return Err("the message has been sent or freed, or was received and not kept".into());
        }
        let mut header = ActorHeader::new(kind, collection.0, index, self.entry);
        header.flags = (self.flags & SETTABLE) as u16;
        (header.priority, header.reference) = (self.priority, self.reference);
        // SAFETY: the library has not got it yet, so it is as the caller says.
        let mut message = unsafe { self.take() };
        *message.header_mut() = header;
        Ok(message)
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
    let header = ActorHeader::new(MessageKind::Invoke, 0, None, 0);
    // SAFETY: the caller has memory for it.
    unsafe { message.write(CMessage::give(ActorMessage::new(header, bytes))) };
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
        // SAFETY: it has been given to the program and not been taken back.
        drop(unsafe { message.take() });
    }
}

/// In an entry method: the message belongs to the program.
///
/// # Safety
/// It is the message that the running method was given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_message_keep(message: *mut CMessage) {
    // SAFETY: methods are given the first field of such a structure, which lives until they return.
    let received = unsafe { &mut *message.cast::<ReceivedMessage>() };
    let Some(handle) = received.handle.take() else { return };
    received.message = CMessage::give(handle.into_owned());
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
