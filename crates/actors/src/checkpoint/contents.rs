//! What stands in the files of a checkpoint.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::files::{CheckpointError, CheckpointReader, CheckpointWriter, FileSummary};
use crate::callback::ChareCallback;
use crate::collection::CollectionId;
use crate::index::Index;
use crate::location::HomeMap;

/// The index, which rank 0 writes last: without it, there is no checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CheckpointIndex {
    /// How many checkpoints were written to this directory, with this one: they have files with
    /// other names, so the one before is whole until this one is.
    pub(crate) generation: u32,
    /// Fingerprint and read-only data of the program, if it has any.
    pub(crate) program: Option<(u64, Vec<u8>)>,
    /// Who is told, after the checkpoint and after each restart.
    pub(crate) callback: ChareCallback,
    /// No rank has made more collections, single chares or sections.
    pub(crate) collections_made: u32,
    pub(crate) chares_made: u32,
    pub(crate) sections_made: u32,
    pub(crate) collections: Vec<SavedCollection>,
    /// The files of all ranks.
    pub(crate) files: Vec<FileSummary>,
}

/// A collection, as all ranks have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedCollection {
    /// Its name.
    pub id: CollectionId,
    /// The type of its chares.
    pub chare: u32,
    /// The homes of its elements.
    pub map: HomeMap,
    /// Whether reductions may begin.
    pub is_open: bool,
    /// The number of the next reduction of all elements; nothing if the rank that says this has no
    /// element.
    pub reduction: Option<u32>,
    /// Whether elements will be ready for load balancing, as far as this rank knows.
    pub has_joined: bool,
    /// Who is told of results of reductions whose contributions name nobody, as the rank says that
    /// has made it.
    pub client: Option<ChareCallback>,
}

/// A record of the file of a rank.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Record<'a> {
    /// A chare.
    Element { collection: CollectionId, chare: u32, index: Index, packed: &'a [u8] },
    /// The last one: how many chares there are.
    End { elements: u64 },
}

impl CheckpointIndex {
    /// Where the index is.
    pub(crate) fn path(directory: &Path) -> PathBuf {
        directory.join("index.chares")
    }

    /// Where the chares of a rank are.
    pub(crate) fn file_of(directory: &Path, generation: u32, rank: u32) -> PathBuf {
        directory.join(format!("checkpoint-{generation}-rank-{rank}.chares"))
    }

    pub(crate) fn write(&self, directory: &Path) -> Result<(), CheckpointError> {
        let mut writer = CheckpointWriter::create(&CheckpointIndex::path(directory))?;
        let record = postcard::to_allocvec(self).expect("an index has a representation");
        writer.record(&record)?;
        writer.finish().map(|_| ())
    }

    pub(crate) fn read(directory: &Path) -> Result<CheckpointIndex, CheckpointError> {
        let mut reader = CheckpointReader::open(&CheckpointIndex::path(directory), None)?;
        let record = reader.record()?.ok_or_else(|| reader.damaged("it is empty"))?;
        let index: Result<CheckpointIndex, _> = postcard::from_bytes(&record);
        let index = index.map_err(|_| reader.damaged("it is no index"))?;
        if reader.record()?.is_some() || !index.is_valid() {
            return Err(reader.damaged("its numbers do not fit together"));
        }
        Ok(index)
    }

    /// Removes the files of the ranks, which another checkpoint has replaced. What cannot be
    /// removed does no harm.
    pub(crate) fn remove_files(&self, directory: &Path) {
        for rank in 0..self.files.len() as u32 {
            let _ =
                std::fs::remove_file(CheckpointIndex::file_of(directory, self.generation, rank));
        }
    }

    fn is_valid(&self) -> bool {
        let mut names = FxHashSet::default();
        let are_collections = self.collections.iter().all(|collection| {
            collection.map.check(false).is_ok()
                && collection.id != CollectionId::SINGLE_CHARES
                && names.insert(collection.id)
        });
        are_collections && !self.files.is_empty() && u32::try_from(self.files.len()).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index() -> CheckpointIndex {
        CheckpointIndex {
            generation: 1,
            program: Some((5, vec![1, 2, 3])),
            callback: ChareCallback::Ignore,
            collections_made: 3,
            chares_made: 0,
            sections_made: 0,
            collections: vec![SavedCollection {
                id: CollectionId::new(1, 2),
                chare: 7,
                map: HomeMap::Block(vec![3, 4]),
                is_open: true,
                reduction: Some(9),
                has_joined: true,
                client: Some(ChareCallback::Exit),
            }],
            files: vec![FileSummary { bytes: 12, checksum: 1 }; 3],
        }
    }

    #[test]
    fn an_index_that_is_cut_off_or_changed_is_refused_with_a_sentence() {
        let directory = tempfile::tempdir().unwrap();
        index().write(directory.path()).unwrap();
        assert_eq!(CheckpointIndex::read(directory.path()), Ok(index()));
        let path = CheckpointIndex::path(directory.path());
        let whole = std::fs::read(&path).unwrap();
        let refused = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            let error = CheckpointIndex::read(directory.path()).unwrap_err().to_string();
            assert!(error.contains("index.chares"), "{error}");
        };
        for length in 0..whole.len() {
            refused(&whole[..length]);
        }
        for at in 0..whole.len() * 8 {
            let mut flipped = whole.clone();
            flipped[at / 8] ^= 1 << (at % 8);
            refused(&flipped);
        }
        refused(&[&whole[..], &[0]].concat());
    }

    #[test]
    fn an_index_whose_numbers_do_not_fit_together_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let good = index();
        let wrong = [
            CheckpointIndex { files: Vec::new(), ..good.clone() },
            CheckpointIndex {
                collections: [good.collections.clone(), good.collections.clone()].concat(),
                ..good.clone()
            },
            CheckpointIndex {
                collections: vec![SavedCollection {
                    map: HomeMap::Block(vec![1; 9]),
                    ..good.collections[0].clone()
                }],
                ..good
            },
        ];
        for index in wrong {
            index.write(directory.path()).unwrap();
            assert!(CheckpointIndex::read(directory.path()).is_err(), "{index:?}");
        }
    }
}
