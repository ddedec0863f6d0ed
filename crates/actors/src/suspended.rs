//! Methods that wait: a chare is pinned to its rank while methods of it are suspended.

use crate::chares::ChareId;
use crate::collection::ArrayElement;
use crate::error::ActorError;
use crate::message::{ActorHeader, ActorMessage, MessageKind};
use crate::runtime::{Processed, Runtime};
use crate::state::State;

impl Runtime {
    /// A method of a chare of this rank is suspended: the chare can neither migrate nor be deleted.
    ///
    /// # Errors
    /// The chare is not here.
    pub fn pin(&self, id: ChareId) -> Result<(), ActorError> {
        let mut state = self.state.borrow_mut();
        let not_here = ActorError::NotHere { what: "suspend", rank: state.rank };
        let element = element(&mut state, id).ok_or(not_here)?;
        element.pinned += 1;
        Ok(())
    }

    /// A method that was suspended goes on.
    pub fn unpin(&self, id: ChareId) {
        if let Some(element) = element(&mut self.state.borrow_mut(), id) {
            element.pinned = element.pinned.saturating_sub(1);
        }
    }

    /// Code of a chare of this rank is about to run outside of its entry methods, until
    /// [`Runtime::leave`].
    ///
    /// # Errors
    /// The chare is not here.
    pub fn enter(&self, id: ChareId) -> Result<(), ActorError> {
        self.runs_again(id)?;
        let begun = self.method_begins();
        self.state.borrow_mut().entered.push(begun);
        Ok(())
    }

    /// That code has ended.
    pub fn leave(&self, id: ChareId) {
        let begun = self.state.borrow_mut().entered.pop();
        self.method_ends(id, begun.flatten());
        self.noticed(self.returned(id));
    }

    fn runs_again(&self, id: ChareId) -> Result<(), ActorError> {
        let mut state = self.state.borrow_mut();
        let not_here = ActorError::NotHere { what: "resume", rank: state.rank };
        element(&mut state, id).ok_or(not_here)?.is_running = true;
        Ok(())
    }

    /// Lets a suspended method of a chare of this rank, which began as this entry method, go on
    /// once the running one has returned ([`crate::Chares::resume`]).
    pub fn awaken(&self, id: ChareId, entry: u32, method: u64) {
        let kind = MessageKind::Resume;
        let header = ActorHeader::new(kind, id.collection.0, Some(&id.index), entry);
        let message = ActorMessage::of(header, &method.to_ne_bytes());
        let mut state = self.state.borrow_mut();
        let rank = state.rank;
        state.send(rank, message.into());
    }

    pub(crate) fn resume_now(&self, message: &ActorMessage) -> Processed {
        let (id, entry) = (ChareId::of(message.header()), message.header().entry);
        let method = message.payload().try_into().map_err(|_| self.unknown())?;
        self.state.borrow_mut().counts.processed += 1;
        self.runs_again(id)?;
        self.run_method(id, entry, || self.chares.resume(self, u64::from_ne_bytes(method)))
    }

    pub(crate) fn suspended(&self, id: ChareId) -> ActorError {
        let (chare, _) = self.named(id, 0);
        ActorError::Suspended { chare, index: id.index }
    }
}

fn element(state: &mut State, id: ChareId) -> Option<&mut ArrayElement> {
    state.collections.get_mut(&id.collection)?.element_mut(&id.index)
}
