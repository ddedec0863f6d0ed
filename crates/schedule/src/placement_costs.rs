//! What is computed once for a placement, when a plan first needs it: trees of its hosts, the
//! figures from which their costs follow, and the relays of leaves. `hierarchy::host_tree`,
//! `tree_costs`, `group_costs` and `relays` compute it.

use std::sync::{Arc, OnceLock};

use crate::cost::{LinkCost, Picoseconds};

/// The trees of a placement, and figures of their costs.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlacementCosts {
    /// The trees whose root is the lowest host that is no leaf, by shape.
    pub(crate) trees: [OnceLock<Arc<HostTree>>; 3],
    /// What these trees cost.
    pub(crate) tree_costs: [OnceLock<TreeCosts>; 3],
    /// The most that a message costs between hosts that are neighbours in the order of ranks.
    pub(crate) ring: OnceLock<WayCosts>,
    /// What ways through groups cost.
    pub(crate) groups: OnceLock<GroupCosts>,
    /// The relays of the leaves.
    pub(crate) relays: OnceLock<Relays>,
}

/// How data spreads among the hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostTreeShape {
    /// From host to host, group by group: data leaves each group once.
    Chain,
    /// From group to group, and inside each by binomial trees.
    GroupChain,
    /// By binomial trees of the groups, and of the hosts inside each.
    Binomial,
}

/// The edges of a tree, so that those of a sender are in the order in which it should send: those
/// to other groups first, and among equals the one with more hosts behind it.
#[derive(Debug)]
pub(crate) struct HostTree {
    /// Sender and receiver.
    pub(crate) edges: Vec<(usize, usize)>,
}

/// The costs of one tree, whose root is the lowest host that is no leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeCosts {
    /// Time per byte of all data on the link that is busiest with it.
    pub(crate) gap_per_byte: Picoseconds,
    /// What the messages of a segment cost the sender that has most work, and their receivers.
    pub(crate) work: Picoseconds,
    /// Most messages of a segment that one host sends.
    pub(crate) messages: u64,
    /// The greatest latency between a host and the one above it.
    pub(crate) latency: Picoseconds,
    /// The way of a segment to the host that gets it last.
    pub(crate) way: WayCosts,
}

/// The costs of a way over several hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WayCosts {
    /// Messages that are sent one after another.
    pub(crate) messages: u64,
    /// Their work.
    pub(crate) work: Picoseconds,
    /// Time per byte of all of them.
    pub(crate) gap_per_byte: Picoseconds,
    /// The latencies of all links.
    pub(crate) latency: Picoseconds,
}

/// Figures of the hosts and groups of a placement.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupCosts {
    pub(crate) hosts: u64,
    /// The greatest latency between two hosts, and between two of a group.
    pub(crate) far: Picoseconds,
    pub(crate) near: Picoseconds,
    /// What a message costs the processors of both sides, on the slowest hosts that are no leaves.
    pub(crate) message: Picoseconds,
    /// Time per byte on the slowest link of a host that is no leaf.
    pub(crate) gap: Picoseconds,
    /// The uplinks of groups, each with the number of its hosts.
    pub(crate) uplinks: Vec<(LinkCost, u64)>,
    /// The sections of consecutive hosts by which a fold passes from group to group, each with its
    /// first host; none if the hosts of a group are not consecutive.
    pub(crate) sections: Vec<usize>,
    /// The hosts in an order in which those of each group follow each other; empty if that is the
    /// order of their numbers.
    pub(crate) ring: Vec<usize>,
}

/// Which hosts pass on for leaves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Relays {
    /// The hosts that are no leaves, in the order of a ring, each followed by the leaves for which
    /// it relays.
    pub(crate) bundles: Vec<Vec<usize>>,
    /// The bundle of each host.
    pub(crate) places: Vec<usize>,
}
