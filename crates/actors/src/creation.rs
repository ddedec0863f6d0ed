//! Makes collections and their chares.

use crate::chares::ChareId;
use crate::collection::{ArrayElement, Collection, CollectionId, CollectionOptions, NO_TYPE};
use crate::control::{CollectionMessage, ControlMessage};
use crate::message::{AT_HOME, ActorHeader, ActorMessage, MessageHandle, MessageKind};
use crate::reduction::Reductions;
use crate::runtime::{Processed, Runtime};
use crate::state::AheadOfCollection;
use crate::sync_rounds::SyncRounds;
use crate::tree::SpanningTree;

/// How an element begins on a rank.
struct Beginning {
    migrations: u32,
    /// It gets broadcasts with greater numbers.
    since: u32,
}

impl Runtime {
    /// Makes a collection on this rank and lets the ranks below do the same.
    pub(crate) fn create(&self, id: CollectionId, options: &CollectionOptions) {
        self.create_here(id, options);
        let mut state = self.state.borrow_mut();
        let tree = SpanningTree::new(id.root(state.ranks), state.rank, state.ranks);
        for child in tree.children() {
            state.tell(child, id, ControlMessage::Create(options.clone()));
        }
    }

    pub(crate) fn create_here(&self, id: CollectionId, options: &CollectionOptions) {
        let mut state = self.state.borrow_mut();
        let mut collection = Collection::new(id, options, state.rank, state.ranks);
        if self.balances() && collection.location.is_of_array() {
            collection.syncs = SyncRounds::new(Some(Reductions::new(collection.tree)));
        }
        state.collections.insert(id, collection);
    }

    /// Constructs the elements with which a collection begins, and takes up what came too early.
    pub(crate) fn fill(&self, id: CollectionId, options: &CollectionOptions) {
        self.noticed(self.construct_first(id, options));
        self.state.borrow_mut().filled(id);
        let early = self.state.borrow_mut().early.remove(&id).unwrap_or_default();
        for AheadOfCollection { message, from } in early {
            self.state.borrow_mut().counts.waiting -= 1;
            self.noticed(self.handle(message, from));
        }
    }

    pub(crate) fn construct_first(
        &self,
        collection: CollectionId,
        options: &CollectionOptions,
    ) -> Processed {
        if !options.filled {
            return Ok(());
        }
        let kind = MessageKind::Insert;
        let header = ActorHeader::new(kind, collection.0, None, options.constructor);
        let message = ActorMessage::of(header, &options.parameters);
        let (rank, ranks) = (self.rank(), self.ranks());
        for index in options.map.homed(rank, ranks) {
            // Broadcasts that this rank has accepted meanwhile are for them too.
            let first = Beginning { migrations: 0, since: 0 };
            self.construct(ChareId { collection, index }, first, &message)?;
        }
        self.open_reductions(collection)
    }

    /// The first elements of a collection are all on this rank.
    pub(crate) fn open_reductions(&self, id: CollectionId) -> Processed {
        let mut state = self.state.borrow_mut();
        let Some(collection) = state.collections.get_mut(&id) else { return Ok(()) };
        let chare = collection.chare;
        let steps = collection.reductions.open(&self.combining());
        let rounds = collection.syncs.open();
        drop(state);
        self.follow_rounds(id, rounds);
        self.follow(id, chare, steps)
    }

    /// Constructs an element on this rank.
    fn construct(
        &self,
        id: ChareId,
        Beginning { migrations, since }: Beginning,
        message: &ActorMessage,
    ) -> Processed {
        {
            let mut guard = self.state.borrow_mut();
            let state = &mut *guard;
            let Some(collection) = state.collections.get_mut(&id.collection) else { return Ok(()) };
            let reduction = collection.reductions.created();
            let chare = match collection.chare {
                NO_TYPE => self.chares.chare_type(message.header().entry),
                chare => chare,
            };
            let round = collection.syncs.created();
            let element = ArrayElement::new(id.index, chare, reduction, since, migrations);
            collection.add(ArrayElement { round, ..element });
        }
        let begun = self.method_begins();
        let object = self.chares.construct(self, id, message);
        self.method_ends(id, begun);
        let object =
            object.map_err(|reason| self.method_failed(id, message.header().entry, reason))?;
        let mut state = self.state.borrow_mut();
        let collection = state.collections.get_mut(&id.collection);
        if let Some(element) = collection.and_then(|known| known.element_mut(&id.index)) {
            element.object = Some(object);
        }
        state.release(id.collection, &id.index);
        drop(state);
        self.returned(id)
    }

    /// Constructs an element that some rank has asked for.
    pub(crate) fn construct_inserted(&self, message: &ActorMessage) -> Processed {
        let header = *message.header();
        let id = ChareId::of(&header);
        let since = {
            let mut state = self.state.borrow_mut();
            state.counts.processed += 1;
            let Some(collection) = state.collections.get_mut(&id.collection) else { return Ok(()) };
            collection.no_longer_expected(&id.index);
            collection.broadcasts.accepted()
        };
        let beginning = Beginning { migrations: header.migrations, since };
        self.construct(id, beginning, message)?;
        {
            let mut state = self.state.borrow_mut();
            let Some(collection) = state.collections.get_mut(&id.collection) else { return Ok(()) };
            collection.broadcasts.constructed(header.asker, header.number);
        }
        self.accept_broadcasts(id.collection)
    }

    /// Asks the home of an index for an element; the request has been counted as sent.
    pub(crate) fn ask_for_element(&self, mut message: MessageHandle) -> Processed {
        let mut header = *message.header();
        let (id, index) = (CollectionId(header.collection), header.index());
        let mut guard = self.state.borrow_mut();
        let state = &mut *guard;
        let Some(collection) = state.collections.get_mut(&id) else {
            state.put_aside(message, None);
            return Ok(());
        };
        if !collection.location.contains(&index) {
            state.counts.sent -= 1;
            drop(guard);
            return Err(self.misdirected(&header));
        }
        let home = collection.location.home(&index);
        if header.place == AT_HOME {
            header.place = home;
        }
        header.number = collection.barriers;
        *collection.asked.entry(header.place).or_default() += 1;
        if let MessageHandle::Owned(message) = &mut message {
            *message.header_mut() = header;
        }
        if home == state.rank {
            state.counts.processed += 1;
            drop(guard);
            return self.place_element(message, false);
        }
        if state.may_be_overtaken(&message) {
            // Messages that are sent to the element may arrive before this.
            state.tell(home, id, CollectionMessage::Inserting { index });
        }
        state.layer.send(home, message);
        Ok(())
    }

    /// At the home of an index: says where its element is constructed. It may have been announced
    /// that this would be asked.
    pub(crate) fn place_element(&self, message: MessageHandle, was_announced: bool) -> Processed {
        let mut header = *message.header();
        let index = header.index();
        let mut guard = self.state.borrow_mut();
        let state = &mut *guard;
        let id = CollectionId(header.collection);
        let Some(collection) = state.collections.get_mut(&id) else { return Ok(()) };
        if was_announced {
            collection.no_longer_expected(&index);
        }
        let on = header.place;
        let is_filled = collection.is_filled;
        let is_free = is_filled && !collection.places.contains_key(&index);
        let location = Some(&mut collection.location).filter(|_| is_free);
        let Some(migrations) = location.and_then(|known| known.created(index, on)) else {
            // There is one or will be, with which the collection begins; it may be deleted.
            collection.inserting.entry(index).or_default().push(message);
            state.counts.processed -= 1;
            state.counts.waiting += 1;
            state.release(id, &index);
            return Ok(());
        };
        header.set_kind(MessageKind::Insert);
        header.migrations = migrations;
        let insert = message.copy(header);
        state.counts.sent += 1;
        if on == state.rank {
            drop(guard);
            return self.handle(insert.into(), None);
        }
        if state.may_be_overtaken(&insert) {
            state.tell(on, id, CollectionMessage::Expect { index });
        }
        state.layer.send(on, insert.into());
        // What has waited for the element goes after it.
        state.release(id, &index);
        Ok(())
    }
}
