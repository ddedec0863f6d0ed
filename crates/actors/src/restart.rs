//! Restarts from a checkpoint, on any number of ranks.
//!
//! Every rank reads the index and some of the files, and sends each element to the home that it has
//! among the ranks of this job. Of a group, every rank has the branch of the rank with its number;
//! ranks that did not exist get the state of branch 0. Rank 0 waits for quiescence, after which all
//! elements are there, reductions may begin, and the callback of the checkpoint is called.

use std::path::Path;

use crate::callback::ChareCallback;
use crate::chares::ChareId;
use crate::checkpoint::contents::{CheckpointIndex, Record, SavedCollection};
use crate::checkpoint::files::CheckpointReader;
use crate::checkpoint::messages::CheckpointMessage;
use crate::checkpoint::writing::PendingCheckpoint;
use crate::collection::CollectionOptions;
use crate::error::ActorError;
use crate::index::Index;
use crate::location::HomeMap;
use crate::message::{ActorHeader, ActorMessage, MessageKind};
use crate::reduction::Reductions;
use crate::runtime::{Processed, Runtime};

/// Which chares of a file are taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RestoredPart {
    /// Those of arrays, single chares, and this rank's branches of groups.
    All,
    /// The branches of rank 0, for a rank that did not exist.
    BranchesOfRank0,
}

/// Where a chare of a file goes.
enum RestorePlace {
    /// To this rank, under this name.
    Here(u32, ChareId),
    /// It is a branch of a rank that does not exist any more.
    Nowhere,
    /// All branches of groups have been read.
    BehindBranches,
    /// No such chare can exist.
    Unknown,
}

impl Runtime {
    /// Restarts from the checkpoint in a directory. All ranks call this instead of making
    /// collections, before they run the scheduler; they need not have begun
    /// ([`Runtime::hold`]).
    ///
    /// # Errors
    /// The checkpoint cannot be read, is damaged, or is of another program; the caller ends the job
    /// ([`Runtime::fail`]).
    pub fn restart(&self, directory: &str) -> Result<(), ActorError> {
        let directory = Path::new(directory);
        self.check_is_new(directory)?;
        let index = CheckpointIndex::read(directory)?;
        let (rank, ranks) = (self.rank(), self.ranks());
        if let Some((fingerprint, data)) = &index.program {
            let begun = self.chares.restart(*fingerprint, data);
            let directory = directory.display().to_string();
            begun.map_err(|reason| ActorError::Restart { directory, reason })?;
        }
        self.restore_collections(&index);
        let files = index.files.len() as u32;
        for file in (rank..files).step_by(ranks as usize) {
            self.read_file(directory, &index, file, RestoredPart::All)?;
        }
        if rank >= files {
            self.read_file(directory, &index, 0, RestoredPart::BranchesOfRank0)?;
        }
        let mut state = self.state.borrow_mut();
        state.held = None;
        if rank == 0 {
            let callback = within(index.callback, ranks);
            state.checkpoint = PendingCheckpoint::Restore { callback };
            drop(state);
            self.count_messages();
        }
        Ok(())
    }

    fn check_is_new(&self, directory: &Path) -> Result<(), ActorError> {
        let state = self.state.borrow();
        if state.collections_made == 0 && state.chares_made == 0 {
            return Ok(());
        }
        let reason = "the program has made chares already; restart before that".into();
        Err(ActorError::Restart { directory: directory.display().to_string(), reason })
    }

    fn restore_collections(&self, index: &CheckpointIndex) {
        for saved in &index.collections {
            let SavedCollection { id, chare, map, is_open, reduction, has_joined, client } =
                saved.clone();
            let (filled, parameters) = (false, Vec::new());
            let options = CollectionOptions { chare, constructor: 0, map, filled, parameters };
            self.create_here(id, &options);
            if self.rank() == 0 && (has_joined || self.chares.takes_part(chare)) {
                self.join_balancing(id);
            }
            let mut state = self.state.borrow_mut();
            if let Some(collection) = state.collections.get_mut(&id) {
                let first = reduction.unwrap_or(0);
                collection.reductions = Reductions::starting_with(collection.tree, first);
                // The root, which uses it, may be another rank than before.
                collection.client = client;
            }
            if is_open {
                state.opening.push(id);
            }
        }
        let mut state = self.state.borrow_mut();
        state.collections_made = index.collections_made;
        state.chares_made = index.chares_made;
        state.sections_made = index.sections_made;
        state.old_sections = index.sections_made;
        state.program.clone_from(&index.program);
    }

    fn read_file(
        &self,
        directory: &Path,
        index: &CheckpointIndex,
        file: u32,
        part: RestoredPart,
    ) -> Result<(), ActorError> {
        let summary = index.files[file as usize];
        let path = CheckpointIndex::file_of(directory, index.generation, file);
        let mut reader = CheckpointReader::open(&path, Some(summary))?;
        let mut elements = 0;
        while let Some(record) = reader.record()? {
            let record = postcard::from_bytes(&record);
            match record.map_err(|_| reader.damaged("a record has another form"))? {
                Record::Element { collection, chare, index, packed } => {
                    elements += 1;
                    let id = ChareId { collection, index };
                    match self.place_saved(id, part) {
                        RestorePlace::Here(to, id) => self.restore(id, chare, packed, to)?,
                        RestorePlace::Nowhere => {}
                        RestorePlace::BehindBranches => return Ok(()),
                        RestorePlace::Unknown => {
                            return Err(reader
                                .damaged("it has an element of no collection")
                                .into());
                        }
                    }
                }
                Record::End { elements: all } if all == elements => {
                    return Ok(reader.finish(summary)?);
                }
                Record::End { .. } => return Err(reader.damaged("elements are missing").into()),
            }
        }
        Err(reader.damaged("its end is missing").into())
    }

    fn place_saved(&self, id: ChareId, part: RestoredPart) -> RestorePlace {
        let state = self.state.borrow();
        let Some(collection) = state.collections.get(&id.collection) else {
            return RestorePlace::Unknown;
        };
        let (rank, location) = (state.rank, &collection.location);
        let is_branch = *location.map() == HomeMap::FirstWord;
        let branch = Index::one(rank.cast_signed());
        match part {
            RestoredPart::BranchesOfRank0 if !is_branch => RestorePlace::BehindBranches,
            RestoredPart::BranchesOfRank0 => {
                RestorePlace::Here(rank, ChareId { index: branch, ..id })
            }
            RestoredPart::All if is_branch && id.index == branch => RestorePlace::Here(rank, id),
            RestoredPart::All if is_branch => RestorePlace::Nowhere,
            RestoredPart::All if location.contains(&id.index) => {
                RestorePlace::Here(location.home(&id.index), id)
            }
            RestoredPart::All => RestorePlace::Unknown,
        }
    }

    /// Begins an element here and sends it to its home, as if it migrated.
    fn restore(&self, id: ChareId, chare: u32, packed: &[u8], to: u32) -> Processed {
        let kind = MessageKind::Arrival;
        let mut header = ActorHeader::new(kind, id.collection.0, Some(&id.index), 0);
        header.asker = chare;
        let (steps, rounds) = {
            let mut state = self.state.borrow_mut();
            let Some(collection) = state.collections.get_mut(&id.collection) else { return Ok(()) };
            header.number = collection.reductions.created();
            header.reference = collection.syncs.created();
            let steps = collection.reductions.departed(header.number, &self.combining());
            (steps, collection.syncs.departed(header.reference))
        };
        self.follow_rounds(id.collection, rounds);
        self.follow(id.collection, chare, steps)?;
        let message = ActorMessage::of(header, packed);
        if to == self.rank() {
            return self.element_arrives(&message, None);
        }
        self.state.borrow_mut().send(to, message.into());
        Ok(())
    }

    /// All elements are where they belong: reductions may begin.
    pub(crate) fn open_restored(&self) -> Processed {
        self.state.borrow_mut().tell_below(&CheckpointMessage::Restored.into());
        let opening = std::mem::take(&mut self.state.borrow_mut().opening);
        opening.into_iter().try_for_each(|id| self.open_reductions(id))
    }
}

/// A callback for a job of so many ranks.
fn within(callback: ChareCallback, ranks: u32) -> ChareCallback {
    match callback {
        ChareCallback::Function { rank, function } => {
            ChareCallback::Function { rank: rank % ranks, function }
        }
        other => other,
    }
}
