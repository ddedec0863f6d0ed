//! What a rank has and has done, for those who observe the program, and how they ask for it.

use serde::{Deserialize, Serialize};

use crate::collection::CollectionId;

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

/// Who observes the program, at rank 0.
pub trait Observer {
    /// A rank has said what it has. `name` gives the names of types.
    fn sampled(&mut self, sample: &RankSample, name: &dyn Fn(u32) -> String);
}

/// What rank 0 asks of all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleRequest {
    /// Whether they measure from now on how long methods run.
    pub measures: bool,
    /// Whether they give a last sample when the program has ended.
    pub until_end: bool,
}

/// What runtimes tell each other about samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ObserveMessage {
    /// Answer rank 0, and pass this on in the tree of rank 0.
    Request(SampleRequest),
    /// The answer.
    Sample(RankSample),
}
