//! Posted arrays: the method that gets the message says where they are to be. Those that the layer
//! has not received by then arrive there, without a copy.

use crate::arrays::{MessageArray, UnreceivedArray, WritableArray};
use crate::error::ActorError;
use crate::message::ActorMessage;
use crate::runtime::Runtime;

/// An array of a message, and the memory into which its beginning goes.
pub type ArrayPlacement = (MessageArray, Box<dyn WritableArray>);

impl Runtime {
    /// Fills memory from arrays, and then invokes an entry method of one chare, as
    /// [`Runtime::invoke`] does.
    ///
    /// # Errors
    /// Some memory is longer than its array, or no element can have this index.
    pub fn place(
        &self,
        placements: Vec<ArrayPlacement>,
        then: ActorMessage,
    ) -> Result<(), ActorError> {
        for (array, memory) in &placements {
            let (array, memory) = (array.length(), memory.length());
            if memory > array {
                return Err(ActorError::ShortArray { array, memory });
            }
        }
        let mut unreceived: Vec<(UnreceivedArray, Box<dyn WritableArray>)> = Vec::new();
        for (array, mut memory) in placements {
            if let Some(name) = array.unreceived() {
                unreceived.push((name, memory));
            } else {
                let bytes = memory.length();
                memory.bytes_mut().copy_from_slice(&array.bytes()[..bytes]);
            }
        }
        if unreceived.is_empty() {
            return self.invoke(then);
        }
        let mut state = self.state.borrow_mut();
        state.counts.sent += 1;
        state.layer.receive_arrays(unreceived, then);
        Ok(())
    }
}
