//! What the runtime does with each message that has arrived or leaves the queue.

use crate::chares::ChareId;
use crate::collection::{CollectionId, Deferred};
use crate::control::{CollectionMessage, ControlMessage};
use crate::location::Lookup;
use crate::message::{ActorMessage, CHANNEL, COPY, MessageHandle, MessageKind, SYNCHRONIZED};
use crate::runtime::{Processed, Runtime};
use crate::section::SectionId;
use crate::state::NoSuchIndex;

impl Runtime {
    /// A message has arrived, from another rank if `from` says which one.
    pub(crate) fn handle(&self, message: MessageHandle, from: Option<u32>) -> Processed {
        let header = *message.header();
        let kind = header.kind().ok_or_else(|| self.unknown())?;
        if kind == MessageKind::Control {
            return self.control(&message, from);
        }
        match kind {
            // This rank asks itself, once it has the collection.
            MessageKind::BroadcastRequest if from.is_none() => {
                return self.request_broadcast(message);
            }
            MessageKind::InsertRequest if from.is_none() => return self.ask_for_element(message),
            MessageKind::Invoke if header.flags & CHANNEL != 0 => {
                return self.array_for_channel(message.into_owned());
            }
            _ => {}
        }
        let id = CollectionId(header.collection);
        let mut guard = self.state.borrow_mut();
        let state = &mut *guard;
        // Something short has announced it, if it has been overtaken.
        let is_long = state.may_be_overtaken(&message);
        let Some(collection) = state.collections.get_mut(&id) else {
            state.put_aside(message, from);
            return Ok(());
        };
        match kind {
            MessageKind::Invoke | MessageKind::Join => {
                let index = header.index();
                if collection.places.contains_key(&index) {
                    state.queue.push(message);
                    return Ok(());
                }
                if let (Some(from), Some((rank, migrations))) =
                    (from, collection.location.told(&index))
                {
                    state.tell(from, id, CollectionMessage::Located { index, rank, migrations });
                }
                let routed = state.route(message);
                drop(guard);
                return routed.map_err(|NoSuchIndex| self.misdirected(&header));
            }
            MessageKind::Insert => {
                if !(is_long && from.is_some()) {
                    *collection.expected.entry(header.index()).or_default() += 1;
                }
                state.queue.push(message);
                return Ok(());
            }
            MessageKind::Multicast => {
                drop(guard);
                return self.pass_multicast(message);
            }
            _ => state.counts.processed += 1,
        }
        drop(guard);
        match kind {
            MessageKind::BroadcastRequest => self.number_broadcast(message),
            MessageKind::Broadcast => self.pass_broadcast(message),
            MessageKind::InsertRequest => self.place_element(message, is_long),
            MessageKind::Arrival => self.element_arrives(&message, from),
            MessageKind::Resume => Err(self.unknown()),
            MessageKind::MulticastRequest => self.multicast_requested(message),
            MessageKind::Invoke
            | MessageKind::Insert
            | MessageKind::Control
            | MessageKind::Multicast
            | MessageKind::Join => Ok(()),
        }
    }

    /// A message has left the queue.
    pub(crate) fn execute(&self, message: MessageHandle) -> Processed {
        let kind = message.header().kind();
        if kind != Some(MessageKind::Control) && self.has_failed() {
            // The job is about to end.
            return Ok(());
        }
        match kind {
            Some(MessageKind::Invoke) => self.invoke_now(message),
            Some(MessageKind::Resume) => self.resume_now(&message),
            Some(MessageKind::Insert) => self.construct_inserted(&message),
            Some(MessageKind::Broadcast) => self.deliver_broadcast(&message.shared()),
            Some(MessageKind::Multicast) => self.deliver_multicast(&message),
            Some(MessageKind::Join) => self.join_now(message),
            _ => self.handle(message, None),
        }
    }

    pub(crate) fn invoke_now(&self, message: MessageHandle) -> Processed {
        let header = *message.header();
        let id = ChareId::of(&header);
        let mut state = self.state.borrow_mut();
        let collection = state.collections.get_mut(&id.collection);
        let Some(element) = collection.and_then(|known| known.element_mut(&id.index)) else {
            // It has left since.
            let routed = state.route(message);
            drop(state);
            return routed.map_err(|NoSuchIndex| self.misdirected(&header));
        };
        // The element for which a copy of a broadcast or multicast is may exist no more.
        let is_late = header.flags & COPY != 0
            && (header.migrations < element.created
                || SectionId::of(&header).is_some_and(|section| !element.is_member(section)));
        let object = element.object.filter(|_| !is_late);
        element.is_running |= object.is_some();
        state.counts.processed += 1;
        drop(state);
        let Some(object) = object else { return Ok(()) };
        if header.flags & SYNCHRONIZED != 0 {
            return self.resume_object(id, object);
        }
        self.run_method(id, header.entry, || self.chares.invoke(self, id, object, message))
    }

    /// Runs a method of a chare, which is marked as running; then does what it has decided.
    #[inline]
    pub(crate) fn run_method(
        &self,
        id: ChareId,
        entry: u32,
        method: impl FnOnce() -> Result<(), String>,
    ) -> Processed {
        let begun = self.method_begins();
        let result = method();
        self.method_ends(id, begun);
        self.returned(id)?;
        result.map_err(|reason| self.method_failed(id, entry, reason))
    }

    /// A method of a chare has returned.
    pub(crate) fn returned(&self, id: ChareId) -> Processed {
        let mut state = self.state.borrow_mut();
        let collection = state.collections.get_mut(&id.collection);
        let Some(element) = collection.and_then(|known| known.element_mut(&id.index)) else {
            return Ok(());
        };
        element.is_running = false;
        let decided = element.deferred != Deferred::Nothing;
        drop(state);
        if decided { self.do_deferred(id) } else { Ok(()) }
    }

    fn control(&self, message: &ActorMessage, from: Option<u32>) -> Processed {
        let id = CollectionId(message.header().collection);
        let control = ControlMessage::decoded(message).ok_or_else(|| self.unknown())?;
        self.state.borrow_mut().counts.processed += u64::from(control.counts());
        match control {
            ControlMessage::Begin { fingerprint, data } => {
                return self.begin_here(fingerprint, data);
            }
            ControlMessage::Create(options) => {
                self.create(id, &options);
                self.fill(id, &options);
            }
            ControlMessage::Fill(options) => self.fill(id, &options),
            ControlMessage::StartQuiescence(callback) => self.await_quiescence(callback),
            ControlMessage::CountMessages => self.count_messages(),
            ControlMessage::Counted(counts) => self.state.borrow_mut().quiescence.child(counts),
            ControlMessage::CallBack { function, value } => {
                return self.call_function(function, &value);
            }
            ControlMessage::Checkpoint(what) => return self.checkpoint_message(what),
            ControlMessage::Balance(what) => return self.balance_message(id, what),
            ControlMessage::Observe(what) => self.observe_message(what),
            ControlMessage::Exit { code, scope } => self.exit_here(code, scope),
            ControlMessage::OfCollection(what) => return self.about(id, what, message, from),
        }
        Ok(())
    }

    /// Another runtime says something about a collection.
    fn about(
        &self,
        id: CollectionId,
        what: CollectionMessage,
        message: &ActorMessage,
        from: Option<u32>,
    ) -> Processed {
        let mut guard = self.state.borrow_mut();
        let state = &mut *guard;
        let Some(collection) = state.collections.get_mut(&id) else {
            state.counts.processed -= 1;
            let message = message.copy(*message.header());
            state.put_aside(message.into(), from);
            return Ok(());
        };
        match what {
            CollectionMessage::Located { index, rank, migrations } => {
                collection.location.located(index, rank, migrations);
            }
            CollectionMessage::Inserting { index } | CollectionMessage::Expect { index } => {
                *collection.expected.entry(index).or_default() += 1;
            }
            CollectionMessage::Deleted { index, migrations } => {
                collection.location.deleted(index, migrations);
                let is_free = collection.location.find(&index) == Lookup::Deleted;
                let request = if is_free { collection.next_request(&index) } else { None };
                if let Some(request) = request {
                    state.counts.waiting -= 1;
                    state.counts.processed += 1;
                    drop(guard);
                    return self.place_element(request, false);
                }
            }
            CollectionMessage::Settled { index, migrations, broadcasts } => {
                for message in collection.broadcasts.settled(index, migrations, broadcasts) {
                    state.copy(&message, &index, migrations);
                }
                let element = ChareId { collection: id, index };
                self.element_has_settled(state, element, migrations);
            }
            CollectionMessage::Round(message) => {
                drop(guard);
                self.round_message(id, message);
                return Ok(());
            }
            CollectionMessage::Section(section, what) => {
                drop(guard);
                return self.about_section(section, what);
            }
            CollectionMessage::Reduction(message) => {
                let chare = collection.chare;
                let steps = collection.reductions.message(message, &self.combining());
                drop(guard);
                return self.follow(id, chare, steps);
            }
        }
        Ok(())
    }
}
