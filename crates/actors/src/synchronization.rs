//! Elements that are ready for load balancing, as with `AtSync` of Charm++.
//!
//! The elements of an array are ready once each has called `at_sync` as often as the others. That
//! is counted as contributions to reductions are, so elements may migrate, begin and end meanwhile.
//! The root of the array tells rank 0 ([`crate::balancing`]), which lets all go on afterwards.

use crate::balance::messages::BalanceMessage;
use crate::chares::ChareId;
use crate::collection::{ArrayElement, CollectionId, NO_TYPE};
use crate::control::CollectionMessage;
use crate::error::ActorError;
use crate::message::{ActorHeader, ActorMessage, COPY, MessageKind, SYNCHRONIZED};
use crate::reduction::{ReductionMessage, ReductionStep};
use crate::runtime::{Processed, Runtime};
use crate::state::State;
use crate::sync_rounds::Steps;

impl Runtime {
    /// Says that an element of an array of this rank is ready for load balancing. It may migrate
    /// then, and [`crate::Chares::resume_from_sync`] is called once all elements of all arrays
    /// that balance loads were ready and have migrated. Messages reach it meanwhile. Returns how
    /// often it was ready before; an element that begins later has missed some.
    ///
    /// # Errors
    /// The chare is not here, is no element of an array, or waits already.
    pub fn at_sync(&self, id: ChareId) -> Result<u32, ActorError> {
        let mut guard = self.state.borrow_mut();
        let state = &mut *guard;
        let not_here = ActorError::NotHere { what: "at_sync", rank: state.rank };
        let collection = state.collections.get_mut(&id.collection).ok_or(not_here.clone())?;
        let is_array = collection.location.is_of_array();
        let place = collection.places.get(&id.index).ok_or(not_here)?;
        let element = &mut collection.elements[place];
        if element.is_ready || !is_array {
            let waits = element.is_ready;
            drop(guard);
            let (chare, _) = self.named(id, 0);
            let index = id.index;
            return Err(if waits {
                ActorError::ReadyTwice { chare, index }
            } else {
                ActorError::NotInArray { chare, index }
            });
        }
        let round = element.round;
        element.round += 1;
        element.is_ready = true;
        if !self.balances() {
            state.go_on(id);
            return Ok(round);
        }
        let steps = collection.syncs.ready(round);
        drop(guard);
        self.follow_rounds(id.collection, steps);
        Ok(round)
    }

    /// Says that elements of an array will be ready for load balancing: others that are ready wait
    /// for them. Without this, an array takes part from the first time on that all its elements are
    /// ready, and others may have gone on before.
    pub fn join_balancing(&self, id: CollectionId) {
        let mut state = self.state.borrow_mut();
        let Some(collection) = state.collections.get_mut(&id) else { return };
        let is_new = !std::mem::replace(&mut collection.syncs.has_joined, true);
        if is_new && collection.location.is_of_array() && self.balances() {
            state.tell(0, id, BalanceMessage::Join);
        }
    }

    /// The type of a chare of this rank.
    #[must_use]
    pub fn chare_of(&self, id: ChareId) -> Option<u32> {
        let state = self.state.borrow();
        Some(state.collections.get(&id.collection)?.element(&id.index)?.chare)
    }

    /// Does what the rounds of an array ask for.
    pub(crate) fn follow_rounds(&self, id: CollectionId, steps: Steps) {
        let mut guard = self.state.borrow_mut();
        let state = &mut *guard;
        let mut has_elements = false;
        for step in steps {
            match step {
                ReductionStep::Send(rank, message) => {
                    state.tell(rank, id, CollectionMessage::Round(message));
                }
                ReductionStep::Complete(_) => has_elements = true,
            }
        }
        let Some(collection) = state.collections.get_mut(&id) else { return };
        let rounds = collection.syncs.complete();
        if rounds > collection.syncs.told {
            collection.syncs.told = rounds;
            state.tell(0, id, BalanceMessage::Ready { rounds, has_elements });
        }
    }

    /// Another rank says something about the rounds of an array.
    pub(crate) fn round_message(&self, id: CollectionId, message: ReductionMessage) {
        let mut state = self.state.borrow_mut();
        let Some(collection) = state.collections.get_mut(&id) else { return };
        let steps = collection.syncs.message(message);
        drop(state);
        self.follow_rounds(id, steps)
    }

    /// At the root of an array: begins its next round, because other arrays are ready. It may have
    /// no elements.
    pub(crate) fn begin_round(&self, id: CollectionId) {
        let next = {
            let state = self.state.borrow();
            let Some(collection) = state.collections.get(&id) else { return };
            collection.syncs.complete()
        };
        self.round_message(id, ReductionMessage::Ask(next))
    }

    /// Lets the elements of an array here go on that were ready for one of the first rounds.
    pub(crate) fn resume_elements(&self, id: CollectionId, rounds: u32) {
        let mut state = self.state.borrow_mut();
        let Some(collection) = state.collections.get_mut(&id) else { return };
        collection.syncs.resumed = collection.syncs.resumed.max(rounds);
        let is_ready = |element: &&ArrayElement| element.is_ready && element.round <= rounds;
        let ready = collection.elements.iter().map(|(_, element)| element).filter(is_ready);
        let ready: Vec<ChareId> =
            ready.map(|element| ChareId { collection: id, index: element.index }).collect();
        for id in ready {
            state.go_on(id);
        }
    }

    /// Calls the method with which an object goes on.
    pub(crate) fn resume_object(&self, id: ChareId, object: u64) -> Processed {
        let begun = self.method_begins();
        let result = self.chares.resume_from_sync(self, id, object);
        self.method_ends(id, begun);
        self.returned(id)?;
        result.map_err(|reason| {
            let (chare, _) = self.named(id, 0);
            let state = self.state.borrow();
            let its = state.collections.get(&id.collection).map_or(NO_TYPE, |known| known.chare);
            let method = self.chares.resuming_method(its);
            ActorError::Method { chare, method, index: id.index, reason }
        })
    }
}

impl State {
    /// Sends an element here the message that lets it go on. It is not for a later element of its
    /// index.
    pub(crate) fn go_on(&mut self, id: ChareId) {
        let collection = self.collections.get_mut(&id.collection);
        let Some(element) = collection.and_then(|known| known.element_mut(&id.index)) else {
            return;
        };
        element.is_ready = false;
        let kind = MessageKind::Invoke;
        let mut header = ActorHeader::new(kind, id.collection.0, Some(&id.index), 0);
        header.flags = COPY | SYNCHRONIZED;
        header.migrations = element.migrations;
        let rank = self.rank;
        self.send(rank, ActorMessage::new(header, 0).into());
    }

    /// An element has arrived that was ready, when others may have gone on already.
    pub(crate) fn catch_up(&mut self, id: ChareId) {
        let Some(collection) = self.collections.get(&id.collection) else { return };
        let resumed = collection.syncs.resumed;
        let is_late = |element: &ArrayElement| element.is_ready && element.round <= resumed;
        if collection.element(&id.index).is_some_and(is_late) {
            self.go_on(id);
        }
    }
}
