//! A checkpoint that rank 0 waits for, or that is being written.

use std::collections::BTreeMap;
use std::path::Path;

use super::contents::{CheckpointIndex, SavedCollection};
use super::files::CheckpointError;
use super::messages::{CheckpointClient, RankPart};
use crate::callback::ChareCallback;

/// At rank 0: what quiescence is for, besides those who have asked for it.
#[derive(Debug, Default)]
pub(crate) enum PendingCheckpoint {
    #[default]
    Nothing,
    /// A checkpoint shall be written.
    Write { directory: String, client: CheckpointClient },
    /// It is being written.
    Writing(Writing),
    /// The elements of a checkpoint are on their way.
    Restore { callback: ChareCallback },
}

impl PendingCheckpoint {
    /// Whether quiescence lets it go on.
    pub(crate) fn waits_for_quiescence(&self) -> bool {
        matches!(self, PendingCheckpoint::Write { .. } | PendingCheckpoint::Restore { .. })
    }
}

/// A checkpoint that is being written.
#[derive(Debug)]
pub(crate) struct Writing {
    pub(crate) directory: String,
    pub(crate) client: CheckpointClient,
    pub(crate) generation: u32,
    /// The checkpoint that is in the directory.
    pub(crate) before: Option<CheckpointIndex>,
    /// What the ranks have said.
    pub(crate) parts: BTreeMap<u32, Result<RankPart, String>>,
}

/// Elements have contributed to a reduction of chares with this name, and others have not.
pub(crate) fn under_way(name: &str) -> CheckpointError {
    let reason = format!(
        "a reduction over {} is under way; start the checkpoint when all elements have contributed",
        name
    );
    CheckpointError::NotNow { reason }
}

impl Writing {
    /// All ranks have written their elements: writes the index.
    pub(crate) fn finish(
        &mut self,
        name: &dyn Fn(u32) -> String,
        program: Option<(u64, Vec<u8>)>,
    ) -> Result<(), String> {
        let parts: Result<Vec<RankPart>, String> =
            std::mem::take(&mut self.parts).into_values().collect();
        let parts = parts?;
        let said = |error: CheckpointError| error.to_string();
        let made = |which: fn(&RankPart) -> u32| parts.iter().map(which).max().unwrap_or(0);
        let index = CheckpointIndex {
            generation: self.generation,
            program,
            callback: self.client.callback.clone(),
            collections_made: made(|part| part.made[0]),
            chares_made: made(|part| part.made[1]),
            sections_made: made(|part| part.made[2]),
            collections: all_collections(name, &parts).map_err(said)?,
            files: parts.iter().map(|part| part.file).collect(),
        };
        let directory = Path::new(&self.directory);
        index.write(directory).map_err(said)?;
        if let Some(before) = &self.before {
            before.remove_files(directory);
        }
        Ok(())
    }
}

/// The collections, as all ranks have them, with the number of the next reduction of each and its
/// client.
fn all_collections(
    name: &dyn Fn(u32) -> String,
    parts: &[RankPart],
) -> Result<Vec<SavedCollection>, CheckpointError> {
    let mut collections = parts.first().map_or(Vec::new(), |part| part.collections.clone());
    for part in parts {
        for (saved, other) in collections.iter_mut().zip(&part.collections) {
            saved.has_joined |= other.has_joined;
            match (saved.reduction, other.reduction) {
                (Some(one), Some(another)) if one != another => {
                    return Err(under_way(&name(saved.chare)));
                }
                (None, number) => saved.reduction = number,
                _ => {}
            }
            if saved.client.is_none() {
                saved.client.clone_from(&other.client);
            }
        }
    }
    Ok(collections)
}
