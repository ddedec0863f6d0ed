//! The tree by which one host's data reaches all hosts. Data enters each group of hosts once: in a
//! group, one host receives it from outside, and all others from hosts of the group.
//!
//! Hosts that are leaves ([`Placement::is_leaf`]) pass nothing on, except for what only they can:
//! inside a group all of whose hosts are leaves, the host that receives for them. If the root's
//! host is a leaf, it sends once, to the nearest host that is none: one of its innermost group if
//! possible.

use std::sync::Arc;

use crate::placement_costs::{HostTree, HostTreeShape};
use crate::team::Placement;
use crate::tree::{Binomial, absolute};

impl Placement {
    /// The tree by which data of a host reaches all hosts.
    pub(crate) fn tree(&self, root: usize, shape: HostTreeShape) -> Arc<HostTree> {
        let build = || Arc::new(HostTree::new(self, root, shape));
        if root == self.relay_host() {
            return self.costs.trees[shape as usize].get_or_init(build).clone();
        }
        build()
    }
}

impl HostTree {
    /// The tree for data of `root`, a host.
    pub(crate) fn new(placement: &Placement, root: usize, shape: HostTreeShape) -> HostTree {
        let hosts = placement.hosts();
        let mut growth = Growth {
            placement,
            root,
            relay: root,
            shape,
            edges: Vec::with_capacity(hosts),
            chain: Vec::new(),
            part_of: vec![0; placement.network().uplinks.len()],
        };
        let all: Vec<usize> = (0..hosts).map(|node| absolute(node, root, hosts)).collect();
        if placement.is_leaf(root) {
            growth.relay = nearest_relay(placement, &all);
            growth.edges.push((root, growth.relay));
        }
        let before = growth.edges.len();
        growth.spread(&all, growth.relay, 0);
        // More hosts are behind the next one of the chain than behind a leaf.
        let chain = growth.chain.windows(2).map(|pair| (pair[0], pair[1]));
        growth.edges.splice(before..before, chain);
        HostTree { edges: growth.edges }
    }

    /// The edges, so that a host receives before it sends; those of a sender keep their order.
    pub(crate) fn in_order(&self, root: usize, hosts: usize) -> Vec<(usize, usize)> {
        let mut starts = vec![0; hosts + 1];
        self.edges.iter().for_each(|edge| starts[edge.0 + 1] += 1);
        (0..hosts).for_each(|host| starts[host + 1] += starts[host]);
        let mut next = starts.clone();
        let mut children = vec![0; self.edges.len()];
        for &(from, to) in &self.edges {
            children[next[from]] = to;
            next[from] += 1;
        }
        let mut ordered = Vec::with_capacity(self.edges.len());
        let below = |host: usize| {
            let own = &children[starts[host]..starts[host + 1]];
            own.iter().map(move |&child| (host, child))
        };
        ordered.extend(below(root));
        let mut seen = 0;
        while let Some(&(_, host)) = ordered.get(seen) {
            ordered.extend(below(host));
            seen += 1;
        }
        ordered
    }

    /// The host from which a host receives, and those to which it sends.
    pub(crate) fn around(&self, host: usize) -> (Option<usize>, Vec<usize>) {
        let parent = self.edges.iter().find(|edge| edge.1 == host).map(|edge| edge.0);
        let children = self.edges.iter().filter(|edge| edge.0 == host).map(|edge| edge.1);
        (parent, children.collect())
    }
}

/// The first host after the first one of these that is no leaf, in the innermost group around the
/// first one that has such a host.
fn nearest_relay(placement: &Placement, hosts: &[usize]) -> usize {
    let groups = |host: usize| &placement.network().hosts[host].groups;
    let root = hosts[0];
    let common =
        |host: usize| groups(root).iter().zip(groups(host)).take_while(|(a, b)| a == b).count();
    let relays = hosts.iter().copied().filter(|&host| !placement.is_leaf(host));
    // The first of the greatest.
    relays.rev().max_by_key(|&host| common(host)).unwrap_or(root)
}

/// A tree that grows from the outermost level inwards.
struct Growth<'a> {
    placement: &'a Placement,
    root: usize,
    /// Whoever distributes the data in the place of the root.
    relay: usize,
    shape: HostTreeShape,
    edges: Vec<(usize, usize)>,
    /// The hosts that pass data on, in the order in which a chain visits them.
    chain: Vec<usize>,
    /// The number of the part that each group is, and 1 more; 0 before its hosts are met.
    part_of: Vec<usize>,
}

/// A part of a group: a host, or a group inside it.
struct Part {
    /// The host that has the data first.
    first: usize,
    /// All of them if it is a group.
    hosts: Vec<usize>,
}

impl Growth<'_> {
    /// The parts of these hosts at a depth of nested groups, in the order of their first hosts.
    fn parts(&mut self, hosts: &[usize], depth: usize) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::with_capacity(hosts.len());
        for &host in hosts {
            match self.placement.network().hosts[host].groups.get(depth) {
                None => parts.push(Part { first: host, hosts: Vec::new() }),
                Some(&group) if self.part_of[group] == 0 => {
                    parts.push(Part { first: host, hosts: vec![host] });
                    self.part_of[group] = parts.len();
                }
                Some(&group) => parts[self.part_of[group] - 1].hosts.push(host),
            }
        }
        for part in parts.iter_mut().filter(|part| !part.hosts.is_empty()) {
            part.first = self.entrance(&part.hosts);
        }
        parts
    }

    /// The host of a group by which data enters it.
    fn entrance(&self, hosts: &[usize]) -> usize {
        let known = [self.relay, self.root].into_iter().find(|host| hosts.contains(host));
        known.unwrap_or_else(|| {
            let relays = hosts.iter().copied().filter(|&host| !self.placement.is_leaf(host));
            relays.min().or(hosts.iter().copied().min()).expect("groups have hosts")
        })
    }

    /// Adds the edges by which `first`, one of these hosts, reaches all others.
    fn spread(&mut self, hosts: &[usize], first: usize, depth: usize) {
        let mut parts = self.parts(hosts, depth);
        let start = parts.iter().position(|part| part.first == first);
        parts.rotate_left(start.expect("one part has the data"));
        let passes_on = |part: &Part| part.first == first || !self.placement.is_leaf(part.first);
        let inner: Vec<usize> =
            parts.iter().filter(|part| passes_on(part)).map(|part| part.first).collect();
        // The root has the data, wherever it is.
        let leaves: Vec<usize> = parts
            .iter()
            .filter(|part| !passes_on(part) && part.first != self.root)
            .map(|part| part.first)
            .collect();
        let has_groups = parts.iter().any(|part| !part.hosts.is_empty());
        match self.shape {
            HostTreeShape::Chain => {}
            HostTreeShape::GroupChain if has_groups => {
                self.edges.extend(inner.windows(2).map(|pair| (pair[0], pair[1])));
            }
            _ => self.binomial(&inner),
        }
        let givers = inner.iter().copied().cycle();
        self.edges.extend(givers.zip(leaves));
        let is_chain = self.shape == HostTreeShape::Chain;
        for Part { first, hosts } in parts {
            if !hosts.is_empty() {
                self.spread(&hosts, first, depth + 1);
            } else if is_chain && !self.placement.is_leaf(first) {
                self.chain.push(first);
            }
        }
    }

    /// A binomial tree whose root is the first of these hosts.
    fn binomial(&mut self, hosts: &[usize]) {
        for (node, &host) in hosts.iter().enumerate() {
            let children = Binomial::new(node, hosts.len()).children;
            self.edges.extend(children.iter().rev().map(|&(child, _)| (host, hosts[child])));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, random_placement};

    const SHAPES: [HostTreeShape; 3] =
        [HostTreeShape::Chain, HostTreeShape::GroupChain, HostTreeShape::Binomial];

    /// How often data passes the uplink of each group, outwards and inwards.
    fn passages(placement: &Placement, tree: &HostTree) -> Vec<[usize; 2]> {
        let network = placement.network();
        let mut passages = vec![[0; 2]; network.uplinks.len()];
        for &(from, to) in &tree.edges {
            let (outer, inner) = (&network.hosts[from].groups, &network.hosts[to].groups);
            outer
                .iter()
                .filter(|group| !inner.contains(group))
                .for_each(|&at| passages[at][0] += 1);
            inner
                .iter()
                .filter(|group| !outer.contains(group))
                .for_each(|&at| passages[at][1] += 1);
        }
        passages
    }

    #[test]
    fn every_host_is_reached_and_data_enters_each_group_once() {
        let mut random = Random::new(1);
        for hosts in (1..40).chain([300, 1000]) {
            for _ in 0..20 {
                let placement = random_placement(&mut random, hosts);
                let root = random.below(hosts);
                for shape in SHAPES {
                    let tree = HostTree::new(&placement, root, shape);
                    let mut reached = vec![false; hosts];
                    reached[root] = true;
                    assert_eq!(tree.edges.len(), hosts - 1);
                    for &(_, to) in &tree.edges {
                        assert!(!std::mem::replace(&mut reached[to], true), "{placement:?}");
                    }
                    // No circle: whoever sends has received.
                    let mut has = vec![false; hosts];
                    has[root] = true;
                    for _ in 0..hosts {
                        tree.edges.iter().for_each(|&(from, to)| has[to] |= has[from]);
                        if !has.contains(&false) {
                            break;
                        }
                    }
                    assert!(!has.contains(&false), "{shape:?} {root} {placement:?}");
                    let passages = passages(&placement, &tree);
                    assert!(passages.iter().all(|passed| passed[1] <= 1), "{placement:?}");
                    if shape == HostTreeShape::Chain && !placement.has_leaves() {
                        assert!(passages.iter().all(|passed| passed[0] <= 1), "{placement:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn leaves_pass_on_only_what_nobody_else_can() {
        let mut random = Random::new(2);
        for hosts in 2..40 {
            let placement = random_placement(&mut random, hosts);
            let root = random.below(hosts);
            let groups = |host: usize| &placement.network().hosts[host].groups;
            for shape in SHAPES {
                for (from, to) in HostTree::new(&placement, root, shape).edges {
                    let in_group_of_leaves = groups(from).iter().any(|group| {
                        let members = (0..hosts).filter(|&host| groups(host).contains(group));
                        groups(to).contains(group)
                            && members.clone().all(|at| placement.is_leaf(at))
                    });
                    let is_allowed = !placement.is_leaf(from) || from == root || in_group_of_leaves;
                    assert!(is_allowed, "{shape:?} {from} {to} {placement:?}");
                }
            }
        }
    }
}
