//! The state of a rank between two calls of the program, and how messages leave it.

use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::arrays::ReturnedArrays;
use crate::balance::rank::Balancing;
use crate::callback::ChareCallback;
use crate::checkpoint::writing::PendingCheckpoint;
use crate::clocks::{Clocks, MethodStart};
use crate::collection::{Collection, CollectionId};
use crate::control::ControlMessage;
use crate::error::ActorError;
use crate::index::Index;
use crate::layer::MachineLayer;
use crate::location::Lookup;
use crate::message::{ActorMessage, COPY, EXPEDITED, MessageHandle, MessageKind};
use crate::observation::Observation;
use crate::persistent::OpenChannel;
use crate::queue::MessageQueue;
use crate::quiescence::{MessageCounts, Quiescence};
use crate::section::SectionId;
use crate::stall::StallWatch;
use crate::timers::Timers;
use crate::tree::SpanningTree;
use crate::wave_pauses::WavePauses;

/// While the queue is not empty and nothing arrives, the layer below is polled once in so many
/// messages.
const UNPOLLED: u32 = 8;

pub(crate) struct State {
    pub(crate) layer: Box<dyn MachineLayer>,
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
    pub(crate) queue: MessageQueue,
    /// Messages until the layer is polled again.
    pub(crate) unpolled: u32,
    pub(crate) counts: MessageCounts,
    pub(crate) collections: FxHashMap<CollectionId, Collection>,
    /// Messages for collections that this rank does not have yet.
    pub(crate) early: FxHashMap<CollectionId, Vec<AheadOfCollection>>,
    pub(crate) collections_made: u32,
    pub(crate) chares_made: u32,
    pub(crate) sections_made: u32,
    /// How many sections a rank had made, at most, when the checkpoint was written from which the
    /// job has restarted.
    pub(crate) old_sections: u32,
    pub(crate) channels_made: u32,
    /// Persistent channels of this rank, by number.
    pub(crate) channels: FxHashMap<u32, OpenChannel>,
    pub(crate) quiescence: Quiescence,
    pub(crate) pauses: WavePauses,
    /// At rank 0: who waits for quiescence.
    pub(crate) quiescence_clients: Vec<ChareCallback>,
    /// The fingerprint of the program and its read-only data, if rank 0 has sent it.
    pub(crate) program: Option<(u64, Vec<u8>)>,
    /// At rank 0: a checkpoint that waits for quiescence, or is being written or restored.
    pub(crate) checkpoint: PendingCheckpoint,
    /// Collections of a checkpoint whose reductions may begin once all elements are restored.
    pub(crate) opening: Vec<CollectionId>,
    pub(crate) stall: StallWatch,
    /// What has arrived before the read-only data; nothing once the rank has begun.
    pub(crate) held: Option<Vec<(u32, ActorMessage)>>,
    /// Messages whose arrays wait for memory, by their addresses.
    pub(crate) held_messages: BTreeMap<usize, UnplacedMessage>,
    /// Arrays of this rank that nobody reads any more.
    pub(crate) returned: ReturnedArrays,
    pub(crate) timers: Timers,
    /// Functions of the program that are called once this rank has nothing to do.
    pub(crate) idle_calls: Vec<u64>,
    pub(crate) balancing: Balancing,
    pub(crate) observation: Observation,
    /// By which methods are measured.
    pub(crate) clocks: Clocks,
    /// When code began that runs outside of methods, the last one at the end; nothing where it is
    /// not measured.
    pub(crate) entered: Vec<Option<MethodStart>>,
    pub(crate) exit: Option<i32>,
    pub(crate) error: Option<ActorError>,
}

/// A message for a collection that this rank does not have yet, and who sent it.
pub(crate) struct AheadOfCollection {
    pub(crate) message: MessageHandle,
    pub(crate) from: Option<u32>,
}

/// A message whose arrays wait until the program says where they are to be.
pub(crate) struct UnplacedMessage {
    /// How much it adds to [`MessageCounts::held`].
    pub(crate) held: u64,
    /// What it waits for.
    pub(crate) awaited: String,
}

/// A message is for an index that no element can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoSuchIndex;

impl State {
    /// What has arrived. Does not always look while there are other messages.
    pub(crate) fn poll(&mut self) -> Option<(u32, ActorMessage)> {
        if self.unpolled > 0 && !self.queue.is_empty() {
            self.unpolled -= 1;
            // The next method may be a long one.
            self.layer.flush();
            return None;
        }
        let arrived = self.layer.receive();
        self.unpolled = if arrived.is_some() { 0 } else { UNPOLLED };
        arrived
    }

    /// Whether this rank has made a section.
    pub(crate) fn has_made(&self, section: SectionId) -> bool {
        section.root == self.rank && (1..=self.sections_made).contains(&section.number)
    }

    /// The tree in which all ranks are told what is about the whole job.
    pub(crate) fn job_tree(&self) -> SpanningTree {
        SpanningTree::new(0, self.rank, self.ranks)
    }

    /// Whether later messages may arrive before this one.
    pub(crate) fn may_be_overtaken(&self, message: &ActorMessage) -> bool {
        message.bytes().len() > self.layer.ordered_bytes() || !message.arrays().is_empty()
    }

    /// Sends a message of the program or a control message to a rank, which may be this one.
    pub(crate) fn send(&mut self, to: u32, message: MessageHandle) {
        self.counts.sent += 1;
        self.pass(to, message);
    }

    /// Passes on a message that has been counted.
    pub(crate) fn pass(&mut self, to: u32, message: MessageHandle) {
        if to == self.rank {
            self.queue.push(message);
        } else {
            self.layer.send(to, message);
        }
    }

    /// Tells another runtime, or this one once the running method has returned.
    pub(crate) fn tell(
        &mut self,
        to: u32,
        collection: CollectionId,
        what: impl Into<ControlMessage>,
    ) {
        let what = what.into();
        let mut message = what.encoded(collection.0);
        message.header_mut().flags |= EXPEDITED;
        self.counts.sent += u64::from(what.counts());
        self.pass(to, message.into());
    }

    /// Tells the ranks below this one in the tree of the job.
    pub(crate) fn tell_below(&mut self, what: &ControlMessage) {
        for child in self.job_tree().children() {
            self.tell(child, CollectionId::SINGLE_CHARES, what.clone());
        }
    }

    /// Keeps a message, which has been counted, until this rank has the collection.
    pub(crate) fn put_aside(&mut self, message: MessageHandle, from: Option<u32>) {
        self.counts.waiting += 1;
        let id = CollectionId(message.header().collection);
        let message = message.kept();
        self.early.entry(id).or_default().push(AheadOfCollection { message, from });
    }

    /// Puts a message, which has been counted, on its way to its chare.
    pub(crate) fn route(&mut self, message: MessageHandle) -> Result<(), NoSuchIndex> {
        let header = *message.header();
        let (id, index) = (CollectionId(header.collection), header.index());
        let Some(collection) = self.collections.get_mut(&id) else {
            self.put_aside(message, None);
            return Ok(());
        };
        if collection.places.contains_key(&index) {
            self.queue.push(message);
            return Ok(());
        }
        if !collection.location.contains(&index) {
            return Err(NoSuchIndex);
        }
        if header.kind() == Some(MessageKind::Join) && collection.is_known_deleted(&index) {
            self.queue.push(message);
            return Ok(());
        }
        let expected = collection.expected.contains_key(&index);
        match collection.location.find(&index) {
            Lookup::At(rank) if !expected && rank != self.rank => {
                self.layer.send(rank, message);
            }
            Lookup::Deleted if !expected && header.flags & COPY != 0 => {
                self.counts.processed += 1;
            }
            // An element that was deleted may be made again, of which this rank may hear later
            // than the sender of the message.
            _ => {
                self.counts.waiting += 1;
                let message = message.kept();
                if collection.is_filled {
                    collection.waiting.entry(index).or_default().push(message);
                } else {
                    collection.unfilled.push(message);
                }
            }
        }
        Ok(())
    }

    /// Sends one element its copy of a broadcast or multicast, which is not for a later one of its
    /// index.
    pub(crate) fn copy(&mut self, broadcast: &Rc<ActorMessage>, index: &Index, migrations: u32) {
        let mut header = *broadcast.header();
        header.set_kind(MessageKind::Invoke);
        header.set_index(index);
        header.flags |= COPY;
        header.migrations = migrations;
        let message = broadcast.copy(header);
        self.counts.sent += 1;
        let routed = self.route(message.into());
        debug_assert!(routed.is_ok(), "there was an element with this index");
    }

    /// The elements with which a collection begins are here: lets messages that waited for them go
    /// on.
    pub(crate) fn filled(&mut self, id: CollectionId) {
        let Some(collection) = self.collections.get_mut(&id) else { return };
        collection.is_filled = true;
        for message in std::mem::take(&mut collection.unfilled) {
            self.counts.waiting -= 1;
            let routed = self.route(message);
            debug_assert!(routed.is_ok(), "there may be an element with this index");
        }
    }

    /// Lets messages that waited for an element go on.
    pub(crate) fn release(&mut self, id: CollectionId, index: &Index) {
        let Some(collection) = self.collections.get_mut(&id) else { return };
        for message in collection.waiting.remove(index).unwrap_or_default() {
            self.counts.waiting -= 1;
            self.queue.push(message);
        }
    }
}
