//! The runtime of one rank: what programs call, and the scheduler's loop.
//!
//! The state is borrowed only while no code of the program runs, so methods may call the runtime.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::arrays::{ArrayMemory, MessageArray, ReturnedArrays, SentArray, WritableArray};
use crate::balance::rank::Balancing;
use crate::balance::{Balancer, BalancerOptions, NORMAL_SPEED};
use crate::broadcast::InsertBarrier;
use crate::callback::ChareCallback;
use crate::chares::{ChareId, Chares};
use crate::checkpoint::writing::PendingCheckpoint;
use crate::clocks::Clocks;
use crate::closed::ClosedLayer;
use crate::collection::{CollectionId, CollectionOptions, Deferred, NO_TYPE, ObjectId};
use crate::control::{ControlMessage, ExitScope};
use crate::error::ActorError;
use crate::index::Index;
use crate::layer::MachineLayer;
use crate::location::HomeMap;
use crate::message::{AT_HOME, ActorHeader, ActorMessage, BARRIER, MessageKind};
use crate::observation::{Observation, ObserverPlace};
use crate::queue::{MessageQueue, QueueOrder};
use crate::quiescence::{MessageCounts, Quiescence};
use crate::reduction::Contribution;
use crate::stall::StallWatch;
use crate::state::{NoSuchIndex, State};
use crate::timers::Timers;
use crate::tree::SpanningTree;
use crate::wave_pauses::WavePauses;

/// The runtime of one rank.
pub struct Runtime {
    pub(crate) chares: Box<dyn Chares>,
    pub(crate) balancing: BalancerOptions,
    /// Whether it is measured how long methods run.
    pub(crate) measures: Cell<bool>,
    pub(crate) observer: RefCell<ObserverPlace>,
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
            sections_made: 0,
            old_sections: 0,
            channels_made: 0,
            channels: FxHashMap::default(),
            quiescence: Quiescence::new(SpanningTree::new(0, rank, ranks).children().count()),
            pauses: WavePauses::default(),
            quiescence_clients: Vec::new(),
            stall: StallWatch::new(),
            held: None,
            held_messages: BTreeMap::new(),
            returned: ReturnedArrays::default(),
            timers: Timers::default(),
            idle_calls: Vec::new(),
            program: None,
            checkpoint: PendingCheckpoint::Nothing,
            opening: Vec::new(),
            balancing: Balancing::default(),
            observation: Observation::default(),
            clocks: Clocks::default(),
            entered: Vec::new(),
            exit: None,
            error: None,
        };
        let balancing = BalancerOptions { balancer: Balancer::None, speed: NORMAL_SPEED };
        let runtime = Runtime {
            chares,
            balancing,
            measures: Cell::new(false),
            observer: RefCell::default(),
            state: RefCell::new(state),
        };
        let options = CollectionOptions {
            chare: NO_TYPE,
            constructor: 0,
            map: HomeMap::SingleChares,
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
    ///
    /// # Errors
    /// An array has more dimensions than an index has words, or an extent that no index can reach.
    pub fn create_collection(
        &self,
        options: CollectionOptions,
    ) -> Result<CollectionId, ActorError> {
        options.map.check(options.filled).map_err(|extents| ActorError::Extents { extents })?;
        let id = {
            let mut state = self.state.borrow_mut();
            state.collections_made += 1;
            CollectionId::new(state.rank, state.collections_made)
        };
        self.create(id, &options);
        if self.chares.takes_part(options.chare) {
            self.join_balancing(id);
        }
        if options.map == HomeMap::FirstWord {
            self.fill(id, &options);
        } else {
            let fill = ControlMessage::Fill(options);
            let mut state = self.state.borrow_mut();
            let rank = state.rank;
            state.tell(rank, id, fill);
        }
        Ok(id)
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
        self.check_rank(on)?;
        let mut state = self.state.borrow_mut();
        state.chares_made += 1;
        let rank = on.unwrap_or(state.rank);
        let words = [rank, state.rank, state.chares_made].map(u32::cast_signed);
        let index = Index::new(&words).expect("three words");
        let collection = CollectionId::SINGLE_CHARES;
        let kind = MessageKind::Insert;
        let mut header = ActorHeader::new(kind, collection.0, Some(&index), constructor);
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
        self.check_rank(on)?;
        let kind = MessageKind::InsertRequest;
        let mut header = ActorHeader::new(kind, id.collection.0, Some(&id.index), constructor);
        {
            let mut state = self.state.borrow_mut();
            (header.place, header.asker) = (on.unwrap_or(AT_HOME), state.rank);
            state.counts.sent += 1;
        }
        self.ask_for_element(ActorMessage::of(header, parameters).into())
    }

    /// Says that all elements that this rank has inserted so far are the first ones of the
    /// collection: reductions may begin.
    pub fn done_inserting(&self, collection: CollectionId) {
        self.insert_barrier(collection, true);
    }

    pub(crate) fn insert_barrier(&self, id: CollectionId, opens: bool) {
        let mut header = ActorHeader::new(MessageKind::BroadcastRequest, id.0, None, 0);
        header.flags = BARRIER;
        let mut guard = self.state.borrow_mut();
        let state = &mut *guard;
        // Without the collection, this is said later.
        let body = state.collections.get_mut(&id).map(|collection| {
            let (source, epoch) = (state.rank, collection.barriers);
            collection.barriers += 1;
            let asked = collection.asked.drain().collect();
            let barrier = InsertBarrier { source, epoch, asked, opens };
            postcard::to_allocvec(&barrier).expect("barriers have a representation")
        });
        state.counts.sent += 1;
        drop(guard);
        let message = ActorMessage::of(header, &body.unwrap_or_default());
        self.noticed(self.request_broadcast(message.into()));
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
        state.counts.sent -= u64::from(routed.is_err());
        drop(state);
        routed.map_err(|NoSuchIndex| self.misdirected(&header))
    }

    /// An array for a message ([`ActorMessage::with_arrays`]). The callback is told once nobody
    /// reads it any more; quiescence waits for that.
    pub fn array(&self, memory: Box<dyn ArrayMemory>, done: ChareCallback) -> MessageArray {
        self.sent_array(memory, done, false)
    }

    /// The same, and the method that gets the message says where the array is to be
    /// ([`Runtime::place`]).
    pub fn posted_array(&self, memory: Box<dyn ArrayMemory>, done: ChareCallback) -> MessageArray {
        self.sent_array(memory, done, true)
    }

    fn sent_array(
        &self,
        memory: Box<dyn ArrayMemory>,
        done: ChareCallback,
        is_posted: bool,
    ) -> MessageArray {
        let mut state = self.state.borrow_mut();
        state.counts.sent += 1;
        Rc::new(SentArray::new(memory, done, state.returned.clone(), is_posted))
    }

    /// An array for a message, with a copy of these bytes: nobody has to be told.
    #[must_use]
    pub fn copied_array(&self, content: &[u8]) -> MessageArray {
        let mut array = self.new_array(content.len());
        array.bytes_mut().copy_from_slice(content);
        array.into_array()
    }

    /// The length from which on arrays are sent faster beside the payload of a message than in it.
    #[must_use]
    pub fn shortest_array(&self) -> usize {
        self.state.borrow().layer.shortest_array()
    }

    /// An array for a message, to be written: nobody has to be told.
    #[must_use]
    pub fn new_array(&self, bytes: usize) -> Box<dyn WritableArray> {
        self.state.borrow_mut().layer.array(bytes)
    }

    /// Tells whom arrays belong that nobody reads any more. Whether there are such.
    fn arrays_return(&self) -> bool {
        let returned = self.state.borrow().returned.take();
        let has_returned = !returned.is_empty();
        self.state.borrow_mut().counts.processed += returned.len() as u64;
        for done in returned {
            self.noticed(self.call(done, &[]));
        }
        has_returned
    }

    /// Invokes an entry method of all chares of a collection; the message's header says which.
    pub fn broadcast(&self, mut message: ActorMessage) {
        message.header_mut().set_kind(MessageKind::BroadcastRequest);
        self.state.borrow_mut().counts.sent += 1;
        self.noticed(self.request_broadcast(message.into()));
    }

    /// The number of the next reduction of a chare of this rank.
    ///
    /// # Errors
    /// The chare is not here.
    pub fn next_reduction(&self, id: ChareId) -> Result<u32, ActorError> {
        let state = self.state.borrow();
        let collection = state.collections.get(&id.collection);
        let element = collection.and_then(|known| known.element(&id.index));
        let not_here = ActorError::NotHere { what: "contribute", rank: state.rank };
        Ok(element.ok_or(not_here)?.reduction)
    }

    /// Contributes to the next reduction of a chare of this rank, and returns its number.
    ///
    /// # Errors
    /// The chare is not here or has no collection of its own, or its contribution does not fit to
    /// the others.
    pub fn contribute(
        &self,
        id: ChareId,
        mut contribution: Contribution,
    ) -> Result<u32, ActorError> {
        contribution.elements = 1;
        if id.collection == CollectionId::SINGLE_CHARES {
            return Err(ActorError::NoReduction { index: id.index });
        }
        let mut state = self.state.borrow_mut();
        let rank = state.rank;
        let not_here = ActorError::NotHere { what: "contribute", rank };
        let collection = state.collections.get_mut(&id.collection).ok_or(not_here.clone())?;
        let chare = collection.chare;
        let element = collection.element_mut(&id.index).ok_or(not_here)?;
        contribution.value = self.prepared(chare, contribution.reducer, contribution.value)?;
        let number = element.reduction;
        element.reduction += 1;
        let steps = collection.reductions.contribute(number, contribution, &self.combining());
        drop(state);
        self.follow(id.collection, chare, steps)?;
        Ok(number)
    }

    /// Lets a chare of this rank migrate once its running method has returned.
    ///
    /// # Errors
    /// The chare is not here, or there is no such rank.
    pub fn migrate(&self, id: ChareId, to: u32) -> Result<(), ActorError> {
        self.check_rank(Some(to))?;
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
        if element.deferred != Deferred::Delete {
            element.deferred = deferred;
        }
        let idle = !element.is_running;
        drop(state);
        if idle { self.do_deferred(id) } else { Ok(()) }
    }

    /// The object of a chare, if it is on this rank.
    #[must_use]
    pub fn local(&self, id: ChareId) -> Option<ObjectId> {
        let state = self.state.borrow();
        state.collections.get(&id.collection)?.element(&id.index)?.object
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
        let code = loop {
            if let Some(ended) = self.ended().transpose() {
                break ended;
            }
            if !self.step() {
                self.wait();
            }
        };
        // Others learn it from this rank, whose program may do something else first.
        self.flush();
        code
    }

    /// Sends all messages at once, also those that wait for others: the program is about to wait
    /// for something else than messages.
    pub fn flush(&self) {
        self.state.borrow_mut().layer.flush();
    }

    /// Ends all communication, once all ranks call this. The job has ended. What is sent afterwards
    /// is dropped.
    pub fn close(&self) {
        self.end_observation();
        let mut state = self.state.borrow_mut();
        state.layer.close();
        state.layer = Box::new(ClosedLayer { rank: state.rank, ranks: state.ranks });
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
        let (arrived, next, is_awaited) = {
            let state = &mut *self.state.borrow_mut();
            let arrived = state.poll();
            let next = if arrived.is_none() { state.queue.pop() } else { None };
            (arrived, next, !state.returned.borrow().is_empty() || !state.timers.is_empty())
        };
        let has_told = is_awaited && (self.arrays_return() | self.timers_end());
        if let Some((from, message)) = arrived {
            if let Some(message) = self.let_in(from, message) {
                self.noticed(self.handle(message.into(), Some(from)));
            }
            let next = self.state.borrow_mut().queue.pop();
            if let Some(message) = next {
                self.noticed(self.execute(message));
            }
            return true;
        }
        match next {
            Some(message) => self.noticed(self.execute(message)),
            None => return has_told || self.idle(),
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

    /// Whether something on this rank has ended the job.
    pub(crate) fn has_failed(&self) -> bool {
        self.state.borrow().error.is_some()
    }

    /// An error unless the job has this rank.
    pub(crate) fn check_rank(&self, rank: Option<u32>) -> Result<(), ActorError> {
        let ranks = self.ranks();
        match rank.filter(|rank| *rank >= ranks) {
            Some(rank) => Err(ActorError::NoSuchRank { rank, ranks }),
            None => Ok(()),
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
        let elements = state.collections.get(&collection).map(|known| known.elements.iter());
        elements.into_iter().flatten().map(|(_, element)| element.index).collect()
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
