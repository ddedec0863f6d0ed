//! Broadcasts from their request to the methods that they invoke: see [`crate::broadcast`].

use std::rc::Rc;

use crate::broadcast::Numbered;
use crate::chares::ChareId;
use crate::collection::CollectionId;
use crate::message::{ActorMessage, BARRIER, MessageHandle, MessageKind};
use crate::runtime::{Processed, Runtime};

impl Runtime {
    /// Asks the root of a collection for a broadcast, which has been counted as sent.
    pub(crate) fn request_broadcast(&self, message: MessageHandle) -> Processed {
        let header = *message.header();
        let id = CollectionId(header.collection);
        let mut guard = self.state.borrow_mut();
        let state = &mut *guard;
        let Some(collection) = state.collections.get(&id) else {
            state.put_aside(message, None);
            return Ok(());
        };
        let root = collection.tree.root();
        let is_barrier = header.flags & BARRIER != 0;
        if is_barrier && message.payload().is_empty() {
            // It was not possible to say what had been inserted.
            state.counts.processed += 1;
            drop(guard);
            self.insert_barrier(id, true);
            return Ok(());
        }
        if !is_barrier && !collection.asked.is_empty() {
            // Elements that this rank has inserted get it too.
            drop(guard);
            self.insert_barrier(id, false);
            guard = self.state.borrow_mut();
        }
        let state = &mut *guard;
        if root != state.rank {
            state.layer.send(root, message);
            return Ok(());
        }
        state.counts.processed += 1;
        drop(guard);
        self.number_broadcast(message)
    }

    /// At the root of a collection: numbers a broadcast.
    pub(crate) fn number_broadcast(&self, message: MessageHandle) -> Processed {
        let mut header = *message.header();
        let id = CollectionId(header.collection);
        header.set_kind(MessageKind::Broadcast);
        {
            let mut state = self.state.borrow_mut();
            let Some(collection) = state.collections.get_mut(&id) else { return Ok(()) };
            header.number = collection.broadcasts.number();
        }
        let mut numbered = message.into_owned();
        *numbered.header_mut() = header;
        self.pass_broadcast(numbered.into())
    }

    /// A numbered broadcast has come: passes it on, and accepts what can be accepted.
    pub(crate) fn pass_broadcast(&self, message: MessageHandle) -> Processed {
        let header = *message.header();
        let id = CollectionId(header.collection);
        let item = if header.flags & BARRIER == 0 {
            None
        } else {
            let barrier = postcard::from_bytes(message.payload()).map_err(|_| self.unknown())?;
            Some(Numbered::Barrier(barrier))
        };
        {
            let mut guard = self.state.borrow_mut();
            let state = &mut *guard;
            let Some(collection) = state.collections.get_mut(&id) else { return Ok(()) };
            // What waits for others does not let its sender wait.
            let is_next = header.number == collection.broadcasts.accepted() + 1;
            let message = if is_next { message } else { message.kept() }.shared();
            for child in collection.tree.children() {
                state.counts.sent += 1;
                state.layer.send(child, MessageHandle::Shared(message.clone()));
            }
            let item = item.unwrap_or(Numbered::Message(message));
            collection.broadcasts.arrived(header.number, item);
        }
        self.accept_broadcasts(id)
    }

    /// Accepts all broadcasts whose turn it is.
    pub(crate) fn accept_broadcasts(&self, id: CollectionId) -> Processed {
        loop {
            let mut guard = self.state.borrow_mut();
            let state = &mut *guard;
            let Some(collection) = state.collections.get_mut(&id) else { return Ok(()) };
            let Some((_, item)) = collection.broadcasts.accept(state.rank) else { return Ok(()) };
            match item {
                Numbered::Message(message) => {
                    let owed = collection.broadcasts.owed();
                    state.counts.sent += 1;
                    state.queue.push(MessageHandle::Shared(message.clone()));
                    for (index, migrations) in owed {
                        state.copy(&message, &index, migrations);
                    }
                }
                Numbered::Barrier(barrier) if barrier.opens => {
                    drop(guard);
                    self.open_reductions(id)?;
                }
                Numbered::Barrier(_) => {}
            }
        }
    }

    /// Invokes the method of a broadcast on all elements that were here when it was accepted.
    pub(crate) fn deliver_broadcast(&self, message: &Rc<ActorMessage>) -> Processed {
        let header = *message.header();
        let collection = CollectionId(header.collection);
        let mut place = 0;
        loop {
            let mut state = self.state.borrow_mut();
            let Some(known) = state.collections.get_mut(&collection) else { return Ok(()) };
            if place == known.elements.capacity() {
                known.broadcasts.delivered(header.number);
                state.counts.processed += 1;
                return Ok(());
            }
            let element = known.elements.get_mut(place);
            place += 1;
            known.broadcasts.delivering(header.number, place);
            let element = element.filter(|element| element.since < header.number);
            let Some(element) = element else { continue };
            let Some(object) = element.object else { continue };
            element.is_running = true;
            let index = element.index;
            drop(state);
            let id = ChareId { collection, index };
            let copy = MessageHandle::Shared(message.clone());
            self.run_method(id, header.entry, || self.chares.invoke(self, id, object, copy))?;
        }
    }
}
