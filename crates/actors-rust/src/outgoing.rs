//! Messages that are sent: parameters by serde, then arrays beside them.

use bytemuck::Pod;
use serde::Serialize;

use towpath_actors::message::MessageKind;
use towpath_actors::{ActorHeader, ActorMessage, CollectionId, Index, MessageArray};

use crate::array::SentSlice;
use crate::chare::ChareType;
use crate::codec::written;
use crate::current::current;
use crate::error::ChareError;

/// A message that is about to be sent, as the trait that the macro writes makes it.
pub struct OutgoingMessage {
    entry: Result<u32, ChareError>,
    parameters: Result<Vec<u8>, String>,
    arrays: Vec<MessageArray>,
}

impl OutgoingMessage {
    /// A message to an entry method with these parameters, a tuple.
    #[must_use]
    pub fn new<T: ChareType>(entry: usize, parameters: &impl Serialize) -> OutgoingMessage {
        let entry = current().constructor::<T>().map(|base| base + 1 + entry as u32);
        OutgoingMessage { entry, parameters: written(parameters), arrays: Vec::new() }
    }

    /// Adds an array.
    pub fn add<'a, E: Pod>(&mut self, array: impl Into<SentSlice<'a, E>>) {
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
