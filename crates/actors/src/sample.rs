//! What a rank has and has done, for those who observe the program.

use serde::{Deserialize, Serialize};

use crate::collection::{Collection, CollectionId};
use crate::location::HomeMap;
use crate::state::State;

/// One rank at one moment. What is counted is counted from the start of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankSample {
    /// Which rank.
    pub rank: u32,
    /// Nanoseconds since somebody began to observe it.
    pub time: u64,
    /// Nanoseconds in which methods have run, while that was measured.
    pub busy: u64,
    /// Messages that wait for the scheduler.
    pub queue: u64,
    /// Messages that wait for chares which do not exist yet.
    pub waiting: u64,
    /// Messages sent, of the program and between the runtimes.
    pub sent: u64,
    /// Messages processed.
    pub processed: u64,
    /// Bytes sent to other ranks.
    pub bytes: u64,
    /// Chares that have left for other ranks.
    pub migrations: u64,
    /// The program has ended.
    pub is_last: bool,
    /// The collections that the rank knows, in the order of their names.
    pub collections: Vec<CollectionSample>,
}

/// One rank's part of a collection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionSample {
    /// Its name.
    pub collection: CollectionId,
    /// The type of its chares ([`crate::collection::NO_TYPE`]: of the single chares).
    pub chare: u32,
    /// Whether it is a group.
    pub is_group: bool,
    /// Chares on this rank.
    pub elements: u64,
    /// Messages that wait here for elements which do not exist yet.
    pub waiting: u64,
}

impl State {
    /// What this rank has now.
    pub(crate) fn sample(&self) -> RankSample {
        let part = |(id, collection): (&CollectionId, &Collection)| CollectionSample {
            collection: *id,
            chare: collection.chare,
            is_group: *collection.location.map() == HomeMap::FirstWord,
            elements: collection.elements.len() as u64,
            waiting: collection.waiting.values().map(|messages| messages.len() as u64).sum(),
        };
        let mut collections: Vec<CollectionSample> = self.collections.iter().map(part).collect();
        collections.sort_unstable_by_key(|part| part.collection);
        RankSample {
            rank: self.rank,
            time: self.observation.time(self.layer.time()),
            busy: self.observation.busy,
            queue: self.queue.len() as u64,
            waiting: self.counts.waiting,
            sent: self.counts.sent,
            processed: self.counts.processed,
            bytes: self.layer.sent_bytes(),
            migrations: self.observation.migrations,
            is_last: false,
            collections,
        }
    }
}
