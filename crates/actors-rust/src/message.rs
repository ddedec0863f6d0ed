//! Messages: parameters by serde, then arrays beside them.

use bytemuck::Pod;
use serde::Serialize;
use serde::de::DeserializeOwned;

use towpath_actors::message::{MessageKind, RESULT};
use towpath_actors::{ActorHeader, ActorMessage, CollectionId, Index, MessageArray};

use crate::array::Array;
use crate::chare::Chare;
use crate::job::{ChareError, current};

/// A message that is about to be sent, as the trait that the macro writes makes it.
pub struct Outgoing {
    entry: Result<u32, ChareError>,
    parameters: Result<Vec<u8>, String>,
    arrays: Vec<MessageArray>,
}

impl Outgoing {
    /// A message to an entry method with these parameters, a tuple.
    #[must_use]
    pub fn new<T: Chare>(entry: usize, parameters: &impl Serialize) -> Outgoing {
        let entry = current().constructor::<T>().map(|base| base + 1 + entry as u32);
        Outgoing { entry, parameters: written(parameters), arrays: Vec::new() }
    }

    /// Adds an array.
    pub fn add<'a, E: Pod>(&mut self, array: impl Into<Array<'a, E>>) {
        let runtime = current().runtime;
        self.arrays.push(array.into().of_message(&runtime));
    }

    pub(crate) fn addressed(
        self,
        kind: MessageKind,
        collection: CollectionId,
        index: Option<&Index>,
    ) -> Result<ActorMessage, String> {
        let entry = self.entry.map_err(|error| error.to_string())?;
        let header = ActorHeader::new(kind, collection.0, index, entry);
        Ok(ActorMessage::of(header, &self.parameters?).with_arrays(self.arrays))
    }
}

/// A message that a method gets.
pub struct Received<'a> {
    message: &'a ActorMessage,
}

impl<'a> Received<'a> {
    pub(crate) fn new(message: &'a ActorMessage) -> Received<'a> {
        Received { message }
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

/// A value as bytes.
pub(crate) fn written<T: Serialize>(value: &T) -> Result<Vec<u8>, String> {
    postcard::to_allocvec(value).map_err(|error| format!("serde cannot write it: {error}"))
}

/// A value of these bytes, all of them.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let failed = |error| format!("serde cannot read {} bytes: {error}", bytes.len());
    let (value, rest) = postcard::take_from_bytes(bytes).map_err(failed)?;
    if !rest.is_empty() {
        return Err(format!("{} of {} bytes are left over", rest.len(), bytes.len()));
    }
    Ok(value)
}
