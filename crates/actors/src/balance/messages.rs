//! What ranks tell each other to balance loads.

use serde::{Deserialize, Serialize};

use super::hierarchical::{GroupLoad, Offer, WorkFlow};
use super::{MigrationCost, RankLoad};
use crate::collection::CollectionId;
use crate::index::Index;

/// Part of load balancing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BalanceMessage {
    /// To rank 0: an array takes part.
    Join,
    /// To rank 0: the elements of an array have been ready so many times, if it has any.
    Ready { rounds: u32, has_elements: bool },
    /// To the root of an array: begin its next round.
    BeginRound,
    /// To all: tell your leader your loads.
    Measure,
    /// To the leader: what a rank does.
    Loads(RankReport),
    /// From the leader of a group to rank 0: what the group does.
    Group { group: u32, load: GroupLoad, cost: MigrationCost },
    /// From rank 0 to a leader: work that leaves or enters the group, and what migrations cost.
    Flows { flows: Vec<WorkFlow>, cost: MigrationCost },
    /// To the leader of another group: elements that it may have.
    Offers { group: u32, offers: Vec<Offer> },
    /// The answer of a group: the rank of each of them, if it takes them.
    Taken { group: u32, ranks: Vec<Option<u32>> },
    /// From the leader: what migrates.
    Orders(Vec<Order>),
    /// To the leader: the orders are done.
    Moved,
    /// From a leader to rank 0: all orders of the group are done.
    GroupMoved,
    /// To all: elements that have been ready so many times go on.
    GoOn(Vec<(CollectionId, u32)>),
}

/// What a rank has measured since the last balancing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankReport {
    /// The rank.
    pub rank: u32,
    /// What it does besides.
    pub load: RankLoad,
    /// What migrations have cost it since the job began.
    pub cost: MigrationCost,
    /// Elements that can migrate.
    pub elements: Vec<Measured>,
}

/// The load of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Measured {
    /// Its collection.
    pub collection: CollectionId,
    /// Its index.
    pub index: Index,
    /// Its work.
    pub work: u64,
    /// Its size in a message, or 0 if that is not known.
    pub bytes: u64,
}

/// An element migrates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Its collection.
    pub collection: CollectionId,
    /// Its index.
    pub index: Index,
    /// The rank to which it goes.
    pub to: u32,
}
