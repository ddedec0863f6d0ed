//! Messages that methods get.

use bytemuck::Pod;
use serde::de::DeserializeOwned;

use towpath_actors::ActorMessage;
use towpath_actors::message::RESULT;

use crate::codec::read;

/// A message that a method gets.
pub struct MethodMessage<'a> {
    message: &'a ActorMessage,
}

impl<'a> MethodMessage<'a> {
    pub(crate) fn new(message: &'a ActorMessage) -> MethodMessage<'a> {
        MethodMessage { message }
    }

    fn is_result(&self) -> bool {
        self.message.header().flags & RESULT != 0
    }

    /// Its parameters, a tuple. The result of a reduction has none.
    ///
    /// # Errors
    /// They are others.
    pub fn parameters<P: DeserializeOwned>(&self) -> Result<P, String> {
        read(if self.is_result() { &[] } else { self.message.payload() })
    }

    /// An array. That of a result is its value.
    ///
    /// # Errors
    /// There is no such array, or it has other elements.
    pub fn array<E: Pod>(&self, number: usize) -> Result<&'a [E], String> {
        let bytes = if self.is_result() && number == 0 {
            self.message.payload()
        } else {
            let array = self.message.arrays().get(number);
            array.ok_or("the message has fewer arrays than the method has parameters")?.bytes()
        };
        if bytes.is_empty() {
            return Ok(&[]);
        }
        bytemuck::try_cast_slice(bytes).map_err(|error| {
            let (length, element) = (bytes.len(), size_of::<E>());
            format!("an array of {length} bytes has no elements of {element} bytes: {error}")
        })
    }
}
