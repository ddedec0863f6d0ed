//! Checkpoints: the elements of all ranks on disk, from which another number of ranks can restart
//! ([`crate::restart`]).
//!
//! Rank 0 waits for quiescence, so no message is under way. Then every rank writes its elements to
//! a file of its own, and rank 0 writes the index once all have. A reduction that some elements
//! have contributed to, a suspended method or an element that waits for load balancing would be
//! lost, so there is no checkpoint then, and the callback is given the reason.

pub(crate) mod contents;
pub(crate) mod files;
pub mod messages;
pub(crate) mod writing;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

pub use contents::SavedCollection;
pub use files::{CheckpointError, FileSummary};

use crate::callback::ChareCallback;
use crate::chares::{ChareId, Chares};
use crate::collection::{ArrayElement, Collection, CollectionId, ObjectId};
use crate::error::ActorError;
use crate::location::HomeMap;
use crate::message::{ActorHeader, MessageKind};
use crate::runtime::{Processed, Runtime};
use contents::{CheckpointIndex, Record};
use files::{CheckpointWriter, write_error};
use messages::{CheckpointClient, CheckpointMessage, RankPart};
use writing::{PendingCheckpoint, Writing, under_way};

/// Bytes between two reports of how far a rank is.
const REPORTED: u64 = 1 << 20;

/// An element that is written.
struct SavedElement {
    id: ChareId,
    chare: u32,
    object: ObjectId,
}

impl Runtime {
    /// Writes a checkpoint to a directory that all ranks see, which is made if it does not exist.
    /// It replaces one that is there, once it is whole. Begins once no message is under way, so the
    /// program sends none until the callback is called: with nothing, or with the reason why there
    /// is no checkpoint. The callback is called after a restart too.
    pub fn start_checkpoint(&self, directory: &str, callback: ChareCallback) {
        self.ask_for_checkpoint(directory, CheckpointClient { callback, is_required: false });
    }

    /// The same, but the job ends if there is no checkpoint.
    pub fn require_checkpoint(&self, directory: &str, callback: ChareCallback) {
        self.ask_for_checkpoint(directory, CheckpointClient { callback, is_required: true });
    }

    fn ask_for_checkpoint(&self, directory: &str, client: CheckpointClient) {
        let directory = directory.to_owned();
        let start = CheckpointMessage::Start { directory, client };
        self.state.borrow_mut().tell(0, CollectionId::SINGLE_CHARES, start);
    }

    pub(crate) fn checkpoint_message(&self, what: CheckpointMessage) -> Processed {
        match what {
            CheckpointMessage::Start { directory, client } => {
                return self.await_checkpoint(directory, client);
            }
            CheckpointMessage::Write { directory, generation } => {
                self.write_here(directory, generation);
            }
            CheckpointMessage::Written { rank, part } => return self.rank_has_written(rank, part),
            CheckpointMessage::Restored => return self.open_restored(),
        }
        Ok(())
    }

    /// At rank 0: somebody wants a checkpoint.
    fn await_checkpoint(&self, directory: String, client: CheckpointClient) -> Processed {
        let mut state = self.state.borrow_mut();
        let pending = &mut state.checkpoint;
        let reason = if !matches!(pending, PendingCheckpoint::Nothing) {
            Some("another one has not ended")
        } else if matches!(client.callback, ChareCallback::Section { .. }) {
            Some("sections are not saved, so a section cannot be told of a restart")
        } else {
            None
        };
        if let Some(reason) = reason {
            drop(state);
            let error = CheckpointError::NotNow { reason: reason.into() };
            return self.tell_of_checkpoint(client, &error.to_string());
        }
        *pending = PendingCheckpoint::Write { directory, client };
        drop(state);
        self.count_messages();
        Ok(())
    }

    /// At rank 0: nothing is under way. Whether something shall be done before others are told.
    pub(crate) fn is_for_checkpoint(&self, waiting: u64) -> Result<bool, ActorError> {
        let mut state = self.state.borrow_mut();
        match std::mem::take(&mut state.checkpoint) {
            PendingCheckpoint::Write { directory, client } => {
                let path = Path::new(&directory);
                let made = if waiting == 0 {
                    fs::create_dir_all(path).map_err(|error| write_error(path, &error))
                } else {
                    let reason = format!("{waiting} messages wait for chares that do not exist");
                    Err(CheckpointError::NotNow { reason })
                };
                let before = CheckpointIndex::read(path).ok();
                let generation =
                    before.as_ref().map_or(0, |index| index.generation).wrapping_add(1);
                let parts = BTreeMap::new();
                let writing =
                    Writing { directory: directory.clone(), client, generation, before, parts };
                state.checkpoint = PendingCheckpoint::Writing(writing);
                drop(state);
                match made {
                    Ok(()) => self.write_here(directory, generation),
                    Err(error) => self.end_checkpoint(&error.to_string())?,
                }
                Ok(true)
            }
            PendingCheckpoint::Restore { callback } => {
                let is_awaited = !state.quiescence_clients.is_empty();
                drop(state);
                self.open_restored()?;
                self.call(callback, &[])?;
                if is_awaited {
                    self.count_messages();
                }
                Ok(true)
            }
            other => {
                state.checkpoint = other;
                Ok(false)
            }
        }
    }

    /// Writes the elements of this rank, and lets the ranks below do the same.
    fn write_here(&self, directory: String, generation: u32) {
        let path = directory.clone();
        let write = CheckpointMessage::Write { directory, generation };
        self.state.borrow_mut().tell_below(&write.into());
        let file = CheckpointIndex::file_of(Path::new(&path), generation, self.rank());
        let part = self.write_rank(&file).map_err(|error| error.to_string());
        let written = CheckpointMessage::Written { rank: self.rank(), part };
        self.state.borrow_mut().tell(0, CollectionId::SINGLE_CHARES, written);
    }

    fn write_rank(&self, path: &Path) -> Result<RankPart, CheckpointError> {
        let (collections, elements) = self.saved()?;
        let size = |saved: &SavedElement| {
            let bytes = self.chares.packed_bytes(self, saved.chare, saved.object);
            bytes.map_err(|reason| self.not_packed(saved, &reason))
        };
        let all = elements.iter().map(size).sum::<Result<u64, _>>()?;
        let mut writer = CheckpointWriter::create(path)?;
        let mut reported = 0;
        for saved in &elements {
            let SavedElement { id, chare, object } = saved;
            let kind = MessageKind::Arrival;
            let header = ActorHeader::new(kind, id.collection.0, Some(&id.index), 0);
            let message = self.chares.pack(self, *chare, *object, header);
            let message = message.map_err(|reason| self.not_packed(saved, &reason))?;
            let payload = message.payload();
            let packed = message.arrays().first().map_or(payload, |array| array.bytes());
            let (collection, index) = (id.collection, id.index);
            let chare = *chare;
            writer.record(&encoded(&Record::Element { collection, chare, index, packed }))?;
            if writer.bytes() >= reported + REPORTED {
                reported = writer.bytes();
                self.chares.checkpoint_progress(self, reported, all);
            }
        }
        writer.record(&encoded(&Record::End { elements: elements.len() as u64 }))?;
        let file = writer.finish()?;
        self.chares.checkpoint_progress(self, file.bytes, file.bytes);
        let state = self.state.borrow();
        let made = [state.collections_made, state.chares_made, state.sections_made];
        Ok(RankPart { file, made, collections })
    }

    /// What this rank saves: branches of groups first, which more ranks than now may read.
    fn saved(&self) -> Result<(Vec<SavedCollection>, Vec<SavedElement>), CheckpointError> {
        let state = self.state.borrow();
        let mut collections = Vec::new();
        let mut elements = Vec::new();
        for (id, collection) in &state.collections {
            for (_, element) in &collection.elements {
                let name = ChareId { collection: *id, index: element.index };
                let object = element.object.filter(|_| can_be_saved(element));
                let object = object.ok_or_else(|| self.not_now(name, element))?;
                if !self.chares.can_pack(element.chare) {
                    return Err(self.cannot_pack(name, element.chare));
                }
                let is_branch = *collection.location.map() == HomeMap::FirstWord;
                elements.push((!is_branch, *id, element.index, element.chare, object));
            }
            if *id != CollectionId::SINGLE_CHARES {
                collections.push(saved_collection(self.chares.as_ref(), *id, collection)?);
            }
        }
        elements.sort_unstable();
        collections.sort_unstable_by_key(|collection| collection.id);
        let elements = elements.into_iter().map(|(_, collection, index, chare, object)| {
            SavedElement { id: ChareId { collection, index }, chare, object }
        });
        Ok((collections, elements.collect()))
    }

    fn not_now(&self, id: ChareId, element: &ArrayElement) -> CheckpointError {
        let chare = self.chares.chare_name(element.chare);
        let why = if element.is_ready {
            "waits for load balancing"
        } else {
            "has suspended methods, or memory that others fill"
        };
        CheckpointError::NotNow { reason: format!("{chare}{} {why}", id.index) }
    }

    fn cannot_pack(&self, id: ChareId, chare: u32) -> CheckpointError {
        let chare = self.chares.chare_name(chare);
        let reason = format!("{chare}{} has no function that packs it", id.index);
        CheckpointError::NotNow { reason }
    }

    fn not_packed(&self, saved: &SavedElement, reason: &str) -> CheckpointError {
        let chare = self.chares.chare_name(saved.chare);
        let reason = format!("{chare}{} cannot be packed: {reason}", saved.id.index);
        CheckpointError::NotNow { reason }
    }

    /// At rank 0: a rank has written its elements.
    fn rank_has_written(&self, rank: u32, part: Result<RankPart, String>) -> Processed {
        let mut state = self.state.borrow_mut();
        let ranks = state.ranks as usize;
        let program = state.program.clone();
        let PendingCheckpoint::Writing(writing) = &mut state.checkpoint else { return Ok(()) };
        writing.parts.insert(rank, part);
        if writing.parts.len() < ranks {
            return Ok(());
        }
        let reason = writing.finish(&|chare| self.chares.chare_name(chare), program).err();
        drop(state);
        self.end_checkpoint(reason.as_deref().unwrap_or_default())
    }

    /// At rank 0: tells the callback, and lets others wait for quiescence again.
    fn end_checkpoint(&self, reason: &str) -> Processed {
        let mut state = self.state.borrow_mut();
        let pending = std::mem::take(&mut state.checkpoint);
        let is_awaited = !state.quiescence_clients.is_empty();
        drop(state);
        if let PendingCheckpoint::Writing(Writing { client, .. }) = pending {
            self.tell_of_checkpoint(client, reason)?;
        }
        if is_awaited {
            self.count_messages();
        }
        Ok(())
    }

    fn tell_of_checkpoint(&self, client: CheckpointClient, reason: &str) -> Processed {
        if client.is_required && !reason.is_empty() {
            return Err(ActorError::NoCheckpoint { reason: reason.into() });
        }
        self.call(client.callback, reason.as_bytes())
    }
}

fn encoded(record: &Record) -> Vec<u8> {
    postcard::to_allocvec(record).expect("records have a representation")
}

fn can_be_saved(element: &ArrayElement) -> bool {
    !element.is_running && element.pinned == 0 && !element.is_ready
}

/// What is saved of a collection besides its elements.
fn saved_collection(
    chares: &dyn Chares,
    id: CollectionId,
    collection: &Collection,
) -> Result<SavedCollection, CheckpointError> {
    if collection.sections.values().any(|section| section.reductions.are_under_way()) {
        let name = format!("a section of {}", chares.chare_name(collection.chare));
        return Err(under_way(&name));
    }
    let mut numbers = collection.elements.iter().map(|(_, element)| element.reduction);
    let reduction = numbers.next();
    let is_open = collection.reductions.is_open();
    if numbers.any(|number| Some(number) != reduction) || (!is_open && reduction.unwrap_or(0) > 0) {
        return Err(under_way(&chares.chare_name(collection.chare)));
    }
    let client = collection.client.clone().filter(|_| collection.tree.parent().is_none());
    if let Some(ChareCallback::Function { .. } | ChareCallback::Section { .. }) = client {
        let reason = format!(
            "the reduction client of {} is a function or a section, which does not exist after a \
             restart: let it be an entry method",
            chares.chare_name(collection.chare)
        );
        return Err(CheckpointError::NotNow { reason });
    }
    let (chare, map) = (collection.chare, collection.location.map().clone());
    let has_joined = collection.syncs.has_joined;
    Ok(SavedCollection { id, chare, map, is_open, reduction, has_joined, client })
}
