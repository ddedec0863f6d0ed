//! What ranks tell each other about checkpoints.

use serde::{Deserialize, Serialize};

use super::contents::SavedCollection;
use super::files::FileSummary;
use crate::callback::ChareCallback;

/// Who wants a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointClient {
    /// Who is told once it is there, and after a restart.
    pub callback: ChareCallback,
    /// Whether the job ends if there is none; else the callback is told why.
    pub is_required: bool,
}

/// Part of a checkpoint or restart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CheckpointMessage {
    /// To rank 0: write a checkpoint once nothing is under way.
    Start { directory: String, client: CheckpointClient },
    /// To all: write your elements.
    Write { directory: String, generation: u32 },
    /// To rank 0: a rank has written them, or why not.
    Written { rank: u32, part: Result<RankPart, String> },
    /// To all: the elements of a checkpoint are where they belong.
    Restored,
}

/// What a rank has written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankPart {
    /// Its file.
    pub file: FileSummary,
    /// How many collections, single chares and sections it has made.
    pub made: [u32; 3],
    /// All collections.
    pub collections: Vec<SavedCollection>,
}
