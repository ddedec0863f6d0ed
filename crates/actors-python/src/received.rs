//! Arrays of numpy in messages that have arrived: over the memory of the message where that is
//! possible, else over a copy.

use std::ffi::c_void;
use std::ptr;

use crate::arrays::{aligned, is_beside};
use crate::interpreter as py;
use crate::memory::HeldMessage;
use crate::message::TowpathMessage;
use crate::module::Module;
use crate::object::Object;

/// Copying shorter arrays costs less than holding a message.
const SHORTEST_HELD: usize = 2048;

/// The data in a message that has arrived.
pub(crate) struct Received<'a> {
    module: &'a Module,
    payload: &'a [u8],
    /// Where the next array in the payload is.
    next: usize,
    /// The number of the next array beside it.
    beside: u32,
    /// What keeps the message, if something does.
    held: Option<HeldMessage>,
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
        // SAFETY: the message exists until the method returns, or as long as it is held.
        unsafe {
            let mut held = None;
            if (*message).bytes - values >= SHORTEST_HELD || (*message).array_count > 0 {
                held = Some(HeldMessage::hold(module, message)?);
            }
            // Holding it may have moved the payload.
            let payload = std::slice::from_raw_parts((*message).payload.cast(), (*message).bytes);
            Some(Received { module, payload, next: aligned(values), beside: 0, held })
        }
    }

    /// The values before the data.
    pub(crate) fn values(&self, from: usize, to: usize) -> Option<&'a [u8]> {
        self.payload.get(from..to)
    }

    /// The next array, of this format and shape, which may be one that is lent.
    pub(crate) fn array(
        &mut self,
        format: &[u8],
        bytes: usize,
        shape: Object,
        is_lent: bool,
    ) -> Option<Object> {
        let memory = if is_lent {
            self.lent(bytes)?
        } else if is_beside(bytes) {
            self.own(bytes)?
        } else {
            self.short(bytes)?
        };
        let all = [shape, self.module.element(format)?, memory];
        // SAFETY: values have arrays only if there is numpy.
        let ndarray = unsafe { Object::shared(self.module.interface.ndarray) };
        ndarray.call(&Object::tuple(all.into_iter())?)
    }

    fn short(&mut self, bytes: usize) -> Option<Object> {
        let start = self.next;
        let end = start.checked_add(bytes).filter(|end| *end <= self.payload.len())?;
        self.next = aligned(end);
        let data = self.payload[start..end].as_ptr();
        // SAFETY: a new object, of bytes that exist: those of a payload that only this array may
        // write, or a copy.
        unsafe {
            match &self.held {
                Some(held) => held.part(self.module, data.cast(), bytes, false),
                None => {
                    let copy = py::PyByteArray_FromStringAndSize(data.cast(), bytes.cast_signed());
                    Object::owned(copy)
                }
            }
        }
    }

    /// The next array beside the payload, as `array_of` gives it.
    fn beside(&mut self, bytes: usize) -> Option<(u32, *const c_void)> {
        let held = self.held.as_ref()?;
        let (number, mut size) = (self.beside, 0);
        self.beside += 1;
        // SAFETY: the message exists.
        let data =
            unsafe { (self.module.interface.array_of)(held.message(), number, &raw mut size) };
        (size == bytes).then_some((number, data))
    }

    /// Memory of an array that its sender waits for.
    fn lent(&mut self, bytes: usize) -> Option<Object> {
        let (_, data) = self.beside(bytes)?;
        let held = self.held.as_ref()?;
        held.begin_lending();
        // SAFETY: the message has so many bytes there.
        unsafe { held.part(self.module, data, bytes, true) }
    }

    /// Memory of an array that the program may write: that of the message, or a copy if others
    /// have the array too.
    fn own(&mut self, bytes: usize) -> Option<Object> {
        let (number, data) = self.beside(bytes)?;
        let (module, held) = (self.module, self.held.as_ref()?);
        // SAFETY: the message exists, and a new one has memory for so many bytes.
        unsafe {
            let mut size = 0;
            let own = (module.interface.own_array)(held.message(), number, &raw mut size);
            if !own.is_null() {
                return held.part(module, own, bytes, false);
            }
            let mut copy = std::mem::zeroed::<TowpathMessage>();
            (module.interface.message_new)(bytes, &raw mut copy);
            ptr::copy_nonoverlapping(data.cast::<u8>(), copy.payload.cast(), bytes);
            HeldMessage::take(module, copy).map(HeldMessage::into_object)
        }
    }
}
