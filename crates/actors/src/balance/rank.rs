//! What a rank knows about load balancing between two messages.

use std::collections::{BTreeMap, BTreeSet};

use super::MigrationCost;
use super::group::GroupBalance;
use super::hierarchical::GroupLoad;
use crate::collection::CollectionId;
use crate::index::Index;

/// One rank's part of load balancing.
#[derive(Debug, Default)]
pub(crate) struct Balancing {
    /// What migrations have cost this rank.
    pub(crate) cost: MigrationCost,
    /// Orders that are not done: elements that have left, and how often each has migrated then.
    pub(crate) moving: BTreeSet<(CollectionId, Index, u32)>,
    /// Whether the leader waits to hear that they are.
    pub(crate) has_orders: bool,
    /// Of a leader.
    pub(crate) group: GroupBalance,
    /// Of rank 0.
    pub(crate) arrays: BTreeMap<CollectionId, ArrayRounds>,
    pub(crate) is_under_way: bool,
    pub(crate) groups: Vec<Option<GroupLoad>>,
    pub(crate) group_cost: MigrationCost,
    pub(crate) groups_moved: u32,
}

/// What rank 0 knows about an array.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ArrayRounds {
    /// How often its elements have been ready.
    pub(crate) ready: u32,
    /// How often they have gone on.
    pub(crate) resumed: u32,
    /// The round that its root was asked to begin.
    pub(crate) asked: Option<u32>,
}
