//! Posted arrays: the method that gets the message says where they are to be. Those that the layer
//! has not received by then arrive there, without a copy.

use std::rc::Rc;

use crate::arrays::{MessageArray, UnreceivedArray, WritableArray};
use crate::error::ActorError;
use crate::message::{ActorMessage, COPY, MessageKind, MessageMemory};
use crate::runtime::Runtime;
use crate::state::UnplacedMessage;

/// An array of a message, and the memory into which its beginning goes.
pub type ArrayPlacement = (MessageArray, Box<dyn WritableArray>);

impl Runtime {
    /// A message of the program waits for memory, until [`Runtime::release_held`]. Quiescence waits
    /// for that; if nothing else is left to do, the job ends with a sentence that says what it
    /// waits for.
    pub fn hold_message(&self, message: &MessageMemory, awaited: String) {
        self.release_held(message);
        let header = message.header();
        let is_for_one = header.kind() == Some(MessageKind::Invoke) && header.flags & COPY == 0;
        // Others may hold the arrays of a broadcast, and each is counted once by its sender.
        let is_held = |array: &&MessageArray| {
            is_for_one && array.is_borrowed() && Rc::strong_count(*array) == 1
        };
        let held = 1 + message.arrays().iter().filter(is_held).count() as u64;
        let mut state = self.state.borrow_mut();
        state.counts.sent += 1;
        state.counts.held += held;
        state.held_messages.insert(name_of(message), UnplacedMessage { held, awaited });
    }

    /// The program has said where all arrays of a message are to be, if that was held.
    pub fn release_held(&self, message: &MessageMemory) {
        let mut state = self.state.borrow_mut();
        if let Some(UnplacedMessage { held, .. }) = state.held_messages.remove(&name_of(message)) {
            state.counts.processed += 1;
            state.counts.held -= held;
        }
    }

    /// What a message waits for that is held on this rank.
    pub(crate) fn first_held(&self) -> Option<ActorError> {
        let state = self.state.borrow();
        let UnplacedMessage { awaited, .. } = state.held_messages.values().next()?;
        Some(ActorError::Held { awaited: awaited.clone() })
    }

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
                self.state.borrow_mut().layer.copy(&*array, &mut *memory);
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

/// The address of a message, which stays where it is as long as the program holds it.
fn name_of(message: &MessageMemory) -> usize {
    std::ptr::from_ref(message).addr()
}
