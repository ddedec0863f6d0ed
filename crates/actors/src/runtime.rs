//! The runtime of one rank: what programs call, and the scheduler's loop.
//!
//! The state is borrowed only while no code of the program runs, so methods may call the runtime.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use crate::broadcast::InsertBarrier;
use crate::callback::ChareCallback;
use crate::chares::{ChareId, Chares};
use crate::collection::{CollectionId, CollectionOptions, Deferred};
use crate::control::{CollectionMessage, ControlMessage, ExitScope};
use crate::error::ActorError;
use crate::index::Index;
use crate::layer::MachineLayer;
use crate::location::HomeMap;
use crate::message::{ActorHeader, ActorMessage, BARRIER, MessageKind};
use crate::queue::{MessageQueue, QueueOrder};
use crate::quiescence::{MessageCounts, Quiescence};
use crate::reduction::Contribution;
use crate::state::{NoSuchIndex, State};
use crate::tree::SpanningTree;

/// The runtime of one rank.
pub struct Runtime {
    pub(crate) chares: Box<dyn Chares>,
    pub(crate) state: RefCell<State>,
}

impl Runtime {
    /// A runtime without collections, over a layer that carries its messages.
    #[must_use]
    pub fn new(
        layer: Box<dyn MachineLayer>,
        chares: Box<dyn Chares>,
        order: QueueOrder,
    ) -> Runtime {
        let (rank, ranks) = (layer.rank(), layer.ranks());
        let state = State {
            layer,
            rank,
            ranks,
            queue: MessageQueue::new(order),
            unpolled: 0,
            counts: MessageCounts::default(),
            collections: FxHashMap::default(),
            early: FxHashMap::default(),
            collections_made: 0,
            chares_made: 0,
            quiescence: Quiescence::new(SpanningTree::new(0, rank, ranks).children().count()),
            quiescence_clients: Vec::new(),
            exit: None,
            error: None,
        };
        let runtime = Runtime { chares, state: RefCell::new(state) };
        let options = CollectionOptions {
            chare: u32::MAX,
            constructor: 0,
            map: HomeMap::FirstWord,
            filled: false,
            parameters: Vec::new(),
        };
        runtime.create_here(CollectionId::SINGLE_CHARES, &options);
        runtime
    }

    /// This rank.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.state.borrow().rank
    }

    /// How many ranks the job has.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.state.borrow().ranks
    }

    /// Makes a collection. Its elements on this rank are constructed once the running method has
    /// returned, unless it is a group, whose branch is there at once.
    pub fn create_collection(&self, options: CollectionOptions) -> CollectionId {
        let id = {
            let mut state = self.state.borrow_mut();
            state.collections_made += 1;
            CollectionId::new(state.rank, state.collections_made)
        };
        self.create(id, &options);
        if options.map == HomeMap::FirstWord {
            self.fill(id, &options);
        } else {
            let fill = ControlMessage::Fill(options);
            let mut state = self.state.borrow_mut();
            let rank = state.rank;
            state.tell(rank, id, fill);
        }
        id
    }

    /// Makes a chare of its own on a rank, or on this one, and says its name at once.
    ///
    /// # Errors
    /// There is no such rank.
    pub fn create_chare(
        &self,
        constructor: u32,
        on: Option<u32>,
        parameters: &[u8],
    ) -> Result<ChareId, ActorError> {
        let mut state = self.state.borrow_mut();
        state.chares_made += 1;
        let rank = on.unwrap_or(state.rank);
        let words = [rank, state.rank, state.chares_made].map(u32::cast_signed);
        let index = Index::new(&words).expect("three words");
        let collection = CollectionId::SINGLE_CHARES;
        if rank >= state.ranks {
            drop(state);
            return Err(self.no_such_index(collection, index, constructor));
        }
        let mut header =
            ActorHeader::new(MessageKind::Insert, collection.0, Some(&index), constructor);
        (header.place, header.asker) = (rank, state.rank);
        let message = ActorMessage::of(header, parameters);
        state.send(rank, message.into());
        Ok(ChareId { collection, index })
    }

    /// Lets an element be made, on a rank or on the home of its index. A message for it may be sent
    /// at once.
    ///
    /// # Errors
    /// No element can have this index, or there is no such rank.
    pub fn insert(
        &self,
        id: ChareId,
        constructor: u32,
        on: Option<u32>,
        parameters: &[u8],
    ) -> Result<(), ActorError> {
        let mut guard = self.state.borrow_mut();
        let state = &mut *guard;
        let collection = id.collection;
        let Some(known) = state.collections.get_mut(&collection) else {
            return Err(ActorError::NotHere { what: "insert", rank: state.rank });
        };
        if !known.location.contains(&id.index) || on.is_some_and(|on| on >= state.ranks) {
            drop(guard);
            return Err(self.no_such_index(collection, id.index, constructor));
        }
        let home = known.location.home(&id.index);
        let on = on.unwrap_or(home);
        *known.asked.entry(on).or_default() += 1;
        known.asked_since_barrier = true;
        let kind = MessageKind::InsertRequest;
        let mut header = ActorHeader::new(kind, collection.0, Some(&id.index), constructor);
        (header.place, header.asker) = (on, state.rank);
        let message = ActorMessage::of(header, parameters);
        state.counts.sent += 1;
        if home == state.rank {
            state.counts.processed += 1;
            drop(guard);
            return self.place_element(message.into(), false);
        }
        if message.bytes().len() > state.layer.ordered_bytes() {
            // Messages that are sent to the element may arrive before this.
            state.tell(home, collection, CollectionMessage::Inserting { index: id.index });
        }
        state.layer.send(home, message.into());
        Ok(())
    }

    /// Says that all elements that this rank has inserted so far are the first ones of the
    /// collection: reductions may begin.
    pub fn done_inserting(&self, collection: CollectionId) {
        self.insert_barrier(collection, true);
    }

    fn insert_barrier(&self, id: CollectionId, opens: bool) {
        let mut state = self.state.borrow_mut();
        let source = state.rank;
        let Some(collection) = state.collections.get_mut(&id) else { return };
        collection.asked_since_barrier = false;
        let asked = collection.asked.iter().map(|(rank, asked)| (*rank, *asked)).collect();
        let barrier = InsertBarrier { source, asked, opens };
        let body = postcard::to_allocvec(&barrier).expect("barriers have a representation");
        let mut header = ActorHeader::new(MessageKind::BroadcastRequest, id.0, None, 0);
        header.flags = BARRIER;
        state.send(id.root(), ActorMessage::of(header, &body).into());
    }

    /// Invokes an entry method of one chare; the message's header says which.
    ///
    /// # Errors
    /// No element can have this index.
    pub fn invoke(&self, message: ActorMessage) -> Result<(), ActorError> {
        let header = *message.header();
        let mut state = self.state.borrow_mut();
        state.counts.sent += 1;
        let routed = state.route(message.into());
        drop(state);
        routed.map_err(|NoSuchIndex| self.misdirected(&header))
    }

    /// Invokes an entry method of all chares of a collection; the message's header says which.
    pub fn broadcast(&self, mut message: ActorMessage) {
        let id = CollectionId(message.header().collection);
        message.header_mut().set_kind(MessageKind::BroadcastRequest);
        let inserted = {
            let state = self.state.borrow();
            state.collections.get(&id).is_some_and(|collection| collection.asked_since_barrier)
        };
        if inserted {
            // Elements that this rank has inserted get it too.
            self.insert_barrier(id, false);
        }
        self.state.borrow_mut().send(id.root(), message.into());
    }

    /// Contributes to the next reduction of a chare of this rank, and returns its number.
    ///
    /// # Errors
    /// The chare is not here, or its contribution does not fit to the others.
    pub fn contribute(&self, id: ChareId, contribution: Contribution) -> Result<u32, ActorError> {
        let mut state = self.state.borrow_mut();
        let rank = state.rank;
        let not_here = ActorError::NotHere { what: "contribute", rank };
        let collection = state.collections.get_mut(&id.collection).ok_or(not_here.clone())?;
        let element = collection.element_mut(&id.index).ok_or(not_here)?;
        let number = element.reduction;
        element.reduction += 1;
        let combine =
            |reducer, into: &mut Vec<u8>, value: &[u8]| self.chares.combine(reducer, into, value);
        let steps = collection.reductions.contribute(number, contribution, &combine);
        let chare = collection.chare;
        drop(state);
        self.follow(id.collection, chare, steps)?;
        Ok(number)
    }

    /// Lets a chare of this rank migrate once its running method has returned.
    ///
    /// # Errors
    /// The chare is not here, or there is no such rank.
    pub fn migrate(&self, id: ChareId, to: u32) -> Result<(), ActorError> {
        if to >= self.ranks() {
            return Err(self.no_such_index(id.collection, id.index, 0));
        }
        self.decide(id, Deferred::Migrate(to), "migrate")
    }

    /// Deletes a chare of this rank once its running method has returned.
    ///
    /// # Errors
    /// The chare is not here.
    pub fn delete(&self, id: ChareId) -> Result<(), ActorError> {
        self.decide(id, Deferred::Delete, "delete")
    }

    fn decide(
        &self,
        id: ChareId,
        deferred: Deferred,
        what: &'static str,
    ) -> Result<(), ActorError> {
        let mut state = self.state.borrow_mut();
        let not_here = ActorError::NotHere { what, rank: state.rank };
        let collection = state.collections.get_mut(&id.collection).ok_or(not_here.clone())?;
        let element = collection.element_mut(&id.index).ok_or(not_here)?;
        element.deferred = deferred;
        let idle = element.running == 0;
        drop(state);
        if idle { self.do_deferred(id) } else { Ok(()) }
    }

    /// The object of a chare, if it is on this rank.
    #[must_use]
    pub fn local(&self, id: ChareId) -> Option<crate::collection::ObjectId> {
        let state = self.state.borrow();
        Some(state.collections.get(&id.collection)?.element(&id.index)?.object)
    }

    /// Tells a callback when no message is left anywhere.
    pub fn start_quiescence(&self, callback: ChareCallback) {
        let mut state = self.state.borrow_mut();
        let start = ControlMessage::StartQuiescence(callback);
        state.tell(0, CollectionId::SINGLE_CHARES, start);
    }

    /// Ends the job on all ranks with this code.
    pub fn exit(&self, code: i32) {
        let exit = ControlMessage::Exit { code, scope: ExitScope::Request };
        self.state.borrow_mut().tell(0, CollectionId::SINGLE_CHARES, exit);
    }

    /// Runs the scheduler until the job ends, and returns its code.
    ///
    /// # Errors
    /// Something on this rank has ended the job.
    pub fn run(&self) -> Result<i32, ActorError> {
        loop {
            if let Some(code) = self.ended()? {
                return Ok(code);
            }
            if !self.step() {
                self.state.borrow_mut().layer.wait();
            }
        }
    }

    /// Ends all communication, once all ranks call this. The job has ended.
    pub fn close(&self) {
        self.state.borrow_mut().layer.close();
    }

    /// The code with which the job has ended, if it has.
    ///
    /// # Errors
    /// Something on this rank has ended it.
    pub fn ended(&self) -> Result<Option<i32>, ActorError> {
        let state = self.state.borrow();
        match &state.error {
            Some(error) if state.exit.is_some() => Err(error.clone()),
            _ => Ok(state.exit),
        }
    }

    /// Takes in a message that has arrived, and processes one. Whether there was anything to do.
    pub fn step(&self) -> bool {
        let (arrived, next) = {
            let state = &mut *self.state.borrow_mut();
            let arrived = state.poll();
            let next = if arrived.is_none() { state.queue.pop() } else { None };
            (arrived, next)
        };
        if let Some((from, message)) = arrived {
            self.noticed(self.handle(message.into(), Some(from)));
            let next = self.state.borrow_mut().queue.pop();
            if let Some(message) = next {
                self.noticed(self.execute(message));
            }
            return true;
        }
        match next {
            Some(message) => self.noticed(self.execute(message)),
            None => return self.idle(),
        }
        true
    }

    /// Ends the job because of an error on this rank.
    pub fn fail(&self, error: ActorError) {
        let mut state = self.state.borrow_mut();
        if state.error.is_none() {
            state.error = Some(error);
            drop(state);
            self.exit(1);
        }
    }

    pub(crate) fn noticed(&self, result: Result<(), ActorError>) {
        if let Err(error) = result {
            self.fail(error);
        }
    }

    /// How many messages the rank has sent and processed, and how many wait for chares.
    #[must_use]
    pub fn counts(&self) -> MessageCounts {
        self.state.borrow().counts
    }

    /// The indexes of the chares of a collection on this rank.
    #[must_use]
    pub fn indexes(&self, collection: CollectionId) -> Vec<Index> {
        let state = self.state.borrow();
        let places = state.collections.get(&collection).map(|known| known.places.keys().copied());
        places.into_iter().flatten().collect()
    }
}

/// A message that invokes an entry method of one chare.
#[must_use]
pub fn invocation(id: ChareId, entry: u32, parameters: &[u8]) -> ActorMessage {
    let header = ActorHeader::new(MessageKind::Invoke, id.collection.0, Some(&id.index), entry);
    ActorMessage::of(header, parameters)
}

/// A message for all chares of a collection.
#[must_use]
pub fn broadcast(collection: CollectionId, entry: u32, parameters: &[u8]) -> ActorMessage {
    let header = ActorHeader::new(MessageKind::Broadcast, collection.0, None, entry);
    ActorMessage::of(header, parameters)
}

/// How the processing of a message has ended.
pub(crate) type Processed = Result<(), ActorError>;
