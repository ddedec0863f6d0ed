//! Arrays that are received into memory of the program: posted ones, and those of persistent
//! channels.

use std::ffi::{CStr, c_char, c_int, c_void};

use towpath_actors::arrays::DeviceArray;
use towpath_actors::message::MessageKind;
use towpath_actors::persistent::ChannelMemory;
use towpath_actors::posted::ArrayPlacement;
use towpath_actors::{ArrayMemory, MessageArray, Runtime, WritableArray};

use crate::calls::sentence;
use crate::current::with_runtime;
use crate::failure::status;
use crate::messages::{
    ProgramArray, add_program_array, check_length, elements, towpath_message_free,
};
use crate::types::{CCallback, CChannel, CChareId, CMessage, CPlacement};

/// Memory of the program, or of a device, which the library fills.
#[derive(Clone, Copy, Debug)]
struct ProgramMemory(ProgramArray);

impl ArrayMemory for ProgramMemory {
    fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }

    fn device(&self) -> Option<DeviceArray> {
        self.0.device()
    }
}

impl WritableArray for ProgramMemory {
    fn bytes_mut(&mut self) -> &mut [u8] {
        let bytes = self.0.bytes().len();
        if bytes == 0 {
            return &mut [];
        }
        // SAFETY: so many bytes of the program are there until it is told, and nobody looks at them
        // but the library, which has no other slice of them while this one exists.
        unsafe { std::slice::from_raw_parts_mut(self.0.address().cast_mut(), bytes) }
    }

    fn into_array(self: Box<Self>) -> MessageArray {
        std::rc::Rc::new(*self)
    }
}

impl ChannelMemory for ProgramMemory {
    fn first(&self, bytes: usize) -> Box<dyn WritableArray> {
        Box::new(ProgramMemory(self.0.first(bytes)))
    }
}

/// Adds an array, which is sent from where it is to where the receiving method says.
///
/// # Safety
/// As for `towpath_message_add_array`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_message_add_posted_array(
    message: *mut CMessage,
    data: *const c_void,
    length: usize,
    done: *const CCallback,
) -> c_int {
    let array = ProgramArray::new(data, length);
    // SAFETY: the pointers are as the header says.
    unsafe { add_program_array(message, array, done, Runtime::posted_array) }
}

/// The same in the memory of a device.
///
/// # Safety
/// As for `towpath_message_add_array`, but nobody else than the MPI library reads the array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_message_add_device_array(
    message: *mut CMessage,
    data: *const c_void,
    length: usize,
    done: *const CCallback,
) -> c_int {
    let array = ProgramArray::on_device(data, length);
    // SAFETY: the pointers are as the header says.
    unsafe { add_program_array(message, array, done, Runtime::posted_array) }
}

/// The arrays of a message wait until the program says where they are to be.
///
/// # Safety
/// The program has kept or held the message, and `awaited` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_await_place(
    message: *mut CMessage,
    awaited: *const c_char,
) -> c_int {
    // SAFETY: the message exists, and this is a C string.
    let (message, awaited) = unsafe { (&mut *message, CStr::from_ptr(awaited)) };
    let result = with_runtime(|runtime| {
        // SAFETY: the program leaves its `memory` as it is.
        runtime.hold_message(unsafe { message.buffer() }?, awaited.to_string_lossy().into());
        Ok(())
    });
    status(result)
}

/// Fills memory from arrays of a message, and then sends another message to a chare.
///
/// # Safety
/// The pointers are as the header says; the first message was kept or held, the second one made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_place(
    from: *mut CMessage,
    placements: *const CPlacement,
    count: usize,
    id: *const CChareId,
    then: *mut CMessage,
) -> c_int {
    // SAFETY: the caller has both messages, such a name, and so many placements.
    let (source, id, sent, placements) =
        unsafe { (&mut *from, &*id, &mut *then, elements(placements, count)) };
    let result = with_runtime(|runtime| {
        // SAFETY: the program leaves its `memory` as it is.
        if let Ok(held) = unsafe { source.buffer() } {
            runtime.release_held(held);
        }
        // SAFETY: as above.
        let arrays = unsafe { source.arrays() };
        let mut placed = Vec::new();
        let placement = |one: &CPlacement| {
            check_length(one.bytes)?;
            if placed.contains(&one.array) {
                return Err(format!("array {} of the message was placed twice", one.array));
            }
            placed.push(one.array);
            let array = arrays.get(one.array as usize).cloned();
            let array = array.ok_or_else(|| {
                format!("the message has {} arrays, but {} was placed", arrays.len(), one.array)
            })?;
            let new =
                if one.is_on_device == 0 { ProgramArray::new } else { ProgramArray::on_device };
            let memory = ProgramMemory(new(one.memory, one.bytes));
            Ok((array, Box::new(memory) as Box<dyn WritableArray>))
        };
        let placements = placements.iter().map(placement);
        let placements: Vec<ArrayPlacement> = placements.collect::<Result<_, String>>()?;
        let to = id.id()?;
        let (kind, index) = (MessageKind::Invoke, Some(&to.index));
        // SAFETY: as above.
        let then = unsafe { sent.addressed(kind, to.collection, index) }?;
        runtime.place(placements, then).map_err(sentence)
    });
    // SAFETY: the first was kept; this does nothing with a message that was sent.
    unsafe {
        towpath_message_free(from);
        towpath_message_free(then);
    }
    status(result)
}

/// Opens a persistent channel of a chare.
///
/// # Safety
/// The pointers are as the header says. So many bytes are there until the channel is closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_open_channel(
    id: *const CChareId,
    memory: *mut c_void,
    length: usize,
    channel: *mut CChannel,
) -> c_int {
    // SAFETY: the caller has such a name.
    let id = unsafe { *id };
    status(with_runtime(|runtime| {
        check_length(length)?;
        runtime.pin(id.id()?).map_err(sentence)?;
        let memory = ProgramMemory(ProgramArray::new(memory, length));
        let opened = runtime.open_channel(Box::new(memory), length);
        // SAFETY: the caller has memory for the name.
        unsafe { channel.write(CChannel::new(id, opened)) };
        Ok(())
    }))
}

/// Closes a persistent channel of this rank.
///
/// # Safety
/// The pointer is as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_close_channel(channel: *const CChannel) -> c_int {
    // SAFETY: the caller has such a name.
    let channel = unsafe { &*channel };
    status(with_runtime(|runtime| {
        let (channel, chare) = channel.channel()?;
        runtime.close_channel(&channel).map_err(sentence)?;
        runtime.unpin(chare);
        Ok(())
    }))
}

/// Puts an array into a persistent channel, and then sends a message to its chare.
///
/// # Safety
/// The pointers are as the header says; the message was made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_put(
    channel: *const CChannel,
    data: *const c_void,
    length: usize,
    done: *const CCallback,
    then: *mut CMessage,
) -> c_int {
    // SAFETY: the caller has such a name, the message, and a callback or null.
    let (channel, sent, done) = unsafe { (&*channel, &mut *then, done.as_ref()) };
    let result = with_runtime(|runtime| {
        check_length(length)?;
        let (channel, to) = channel.channel()?;
        let done = done.map(CCallback::callback).transpose()?;
        let (kind, index) = (MessageKind::Invoke, Some(&to.index));
        // SAFETY: the program leaves its `memory` as it is.
        let then = unsafe { sent.addressed(kind, to.collection, index) }?;
        let array = ProgramArray::new(data, length);
        runtime.put(&channel, Box::new(array), done, then).map_err(sentence)
    });
    // SAFETY: this does nothing with a message that was sent.
    unsafe { towpath_message_free(then) };
    status(result)
}
