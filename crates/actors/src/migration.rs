//! Elements leave a rank, arrive at another one, or are deleted.

use crate::broadcast::Departure;
use crate::chares::ChareId;
use crate::collection::{ArrayElement, Deferred, ObjectId};
use crate::control::CollectionMessage;
use crate::error::ActorError;
use crate::index::Index;
use crate::message::{ActorHeader, ActorMessage, MessageKind, SYNCHRONIZED};
use crate::runtime::{Processed, Runtime};
use crate::section::{Membership, append_memberships, split_memberships};

impl Runtime {
    /// Does with a chare what was decided while its method ran.
    pub(crate) fn do_deferred(&self, id: ChareId) -> Processed {
        let mut state = self.state.borrow_mut();
        let rank = state.rank;
        let collection = state.collections.get_mut(&id.collection);
        let Some(element) = collection.and_then(|known| known.element_mut(&id.index)) else {
            return Ok(());
        };
        let deferred = std::mem::take(&mut element.deferred);
        let pinned = element.pinned;
        drop(state);
        if pinned > 0 && deferred != Deferred::Nothing {
            return Err(self.suspended(id));
        }
        match deferred {
            Deferred::Migrate(to) if to != rank => self.depart(id, to),
            Deferred::Delete => self.delete_now(id),
            Deferred::Migrate(_) | Deferred::Nothing => Ok(()),
        }
    }

    /// Sends an element to another rank.
    fn depart(&self, id: ChareId, to: u32) -> Processed {
        let index = id.index;
        let (element, chare, copies, steps, rounds) = {
            let mut state = self.state.borrow_mut();
            let Some(collection) = state.collections.get_mut(&id.collection) else { return Ok(()) };
            let Some((place, mut element)) = collection.remove(&id.index) else { return Ok(()) };
            element.migrations += 1;
            let chare = element.chare;
            let (migrations, since) = (element.migrations, element.since);
            let leaving = Departure { index, migrations, since, place };
            let copies = collection.broadcasts.departs(leaving);
            let steps = collection.reductions.departed(element.reduction, &self.combining());
            let rounds = collection.syncs.departed(element.round);
            collection.location.located(id.index, to, element.migrations);
            element.since = collection.broadcasts.accepted().max(since);
            (element, chare, copies, steps, rounds)
        };
        let Some(object) = element.object else { return Ok(()) };
        let migrations = element.migrations;
        let begun = self.method_begins();
        self.chares.leaves(self, chare, object);
        let packed = self.chares.pack(self, chare, object, arrival(id, &element));
        let mut message =
            packed.map_err(|reason| self.object_failed(chare, "packing", index, reason))?;
        self.destroy(chare, object, index)?;
        append_memberships(&mut message, &element.memberships);
        {
            let mut state = self.state.borrow_mut();
            if state.may_be_overtaken(&message) {
                // Messages that are sent to it from here may arrive before it.
                state.tell(to, id.collection, CollectionMessage::Expect { index: id.index });
            }
            let bytes = message.sent_bytes();
            state.send(to, message.into());
            state.has_moved(bytes, begun);
            state.observation.migrations += 1;
            for message in copies {
                state.copy(&message, &index, migrations);
            }
        }
        self.follow_rounds(id.collection, rounds);
        self.follow(id.collection, chare, steps)?;
        self.member_left(id, chare, element.memberships, false)
    }

    /// An element has come from another rank.
    pub(crate) fn element_arrives(&self, message: &ActorMessage, from: Option<u32>) -> Processed {
        let header = *message.header();
        let id = ChareId::of(&header);
        let (migrations, index) = (header.migrations, id.index);
        let (payload, memberships) = split_memberships(message).ok_or_else(|| self.unknown())?;
        let packed = message.arrays().first().map_or(payload, |array| array.bytes());
        let chare = {
            let mut guard = self.state.borrow_mut();
            let state = &mut *guard;
            let rank = state.rank;
            let is_expected = state.may_be_overtaken(message);
            let Some(collection) = state.collections.get_mut(&id.collection) else { return Ok(()) };
            let broadcasts = collection.broadcasts.accepted();
            let since = broadcasts.max(header.place);
            if is_expected {
                collection.no_longer_expected(&index);
            }
            let chare = header.asker;
            let element = ArrayElement::new(index, chare, header.number, since, migrations);
            let (round, is_ready) = (header.reference, header.flags & SYNCHRONIZED != 0);
            let created = header.entry;
            for Membership { section, reduction } in &memberships {
                collection.section(*section).reductions.arrived(*reduction);
            }
            collection.add(ArrayElement { created, round, is_ready, memberships, ..element });
            collection.syncs.arrived(round);
            collection.reductions.arrived(header.number);
            collection.location.located(index, rank, migrations);
            let home = collection.location.home(&index);
            if home != rank {
                let located = CollectionMessage::Located { index, rank, migrations };
                state.tell(home, id.collection, located);
            }
            if let Some(from) = from {
                let settled = CollectionMessage::Settled { index, migrations, broadcasts };
                state.tell(from, id.collection, settled);
            }
            chare
        };
        let begun = self.method_begins();
        let object = self.chares.unpack(self, chare, id, packed);
        let object =
            object.map_err(|reason| self.object_failed(chare, "unpacking", index, reason))?;
        let mut state = self.state.borrow_mut();
        let collection = state.collections.get_mut(&id.collection);
        if let Some(element) = collection.and_then(|known| known.element_mut(&index)) {
            element.object = Some(object);
        }
        state.has_moved(message.sent_bytes(), begun);
        state.release(id.collection, &index);
        state.catch_up(id);
        drop(state);
        self.returned(id)
    }

    fn destroy(&self, chare: u32, object: ObjectId, index: Index) -> Processed {
        let destroyed = self.chares.destroy(self, chare, object);
        destroyed.map_err(|reason| self.object_failed(chare, "destruction", index, reason))
    }

    fn object_failed(&self, chare: u32, what: &str, index: Index, reason: String) -> ActorError {
        let (chare, method) = (self.chares.chare_name(chare), what.into());
        ActorError::Method { chare, method, index, reason }
    }

    fn delete_now(&self, id: ChareId) -> Processed {
        let (object, chare, steps, rounds, memberships) = {
            let mut guard = self.state.borrow_mut();
            let state = &mut *guard;
            let Some(collection) = state.collections.get_mut(&id.collection) else { return Ok(()) };
            let Some((_, element)) = collection.remove(&id.index) else { return Ok(()) };
            let (index, migrations, chare) = (id.index, element.migrations, element.chare);
            let steps = collection.reductions.deleted(element.reduction, &self.combining());
            let rounds = collection.syncs.deleted(element.round);
            collection.location.deleted(index, migrations);
            let home = collection.location.home(&index);
            let deleted = CollectionMessage::Deleted { index, migrations };
            state.tell(home, id.collection, deleted);
            (element.object, chare, steps, rounds, element.memberships)
        };
        if let Some(object) = object {
            self.destroy(chare, object, id.index)?;
        }
        self.follow_rounds(id.collection, rounds);
        self.follow(id.collection, chare, steps)?;
        self.member_left(id, chare, memberships, true)
    }
}

/// The header of the message that carries an element.
fn arrival(id: ChareId, element: &ArrayElement) -> ActorHeader {
    let kind = MessageKind::Arrival;
    let mut header = ActorHeader::new(kind, id.collection.0, Some(&id.index), element.created);
    header.migrations = element.migrations;
    (header.place, header.number) = (element.since, element.reduction);
    (header.reference, header.asker) = (element.round, element.chare);
    header.flags = if element.is_ready { SYNCHRONIZED } else { 0 };
    header
}
