//! Hierarchical algorithms, for teams on several hosts: one rank of each host, its *leader*, takes
//! part in the exchange between the hosts, and the others exchange data with their leader.
//!
//! Between hosts a message costs system calls and wake-ups, and ranks of one host share its link.
//! So a call sends one message for each pair of hosts that a flat algorithm connects, instead of
//! one for each pair of ranks. The leader of the root's host is the root itself, which saves a hop;
//! that of any other host is its lowest rank. Every step works for any mapping of ranks to hosts.
//!
//! After Karonis et al. 2000 ("Exploiting hierarchy in parallel computer networks to optimize
//! collective operation performance").

pub(crate) mod blocks;
pub(crate) mod host_tree;
pub(crate) mod movement;
pub mod phases;
mod records;
pub(crate) mod reductions;
pub(crate) mod varying;

use crate::Team;
use crate::placement_costs::HostTreeShape;
use crate::tree::{Binomial, absolute, relative};

/// Up to this many ranks of a host exchange data with their leader directly; more use a tree.
const STAR: usize = 8;

/// The hosts of a team in one call, and their leaders.
pub(crate) struct Hierarchy {
    team: Team,
    /// The leader of each host.
    leaders: Vec<usize>,
    /// The host of this process.
    host: usize,
}

impl Hierarchy {
    /// The hosts of a team. `root` leads its host.
    pub(crate) fn new(team: &Team, root: Option<usize>) -> Hierarchy {
        let mut leaders: Vec<usize> = team.placement.leaders().collect();
        if let Some(root) = root {
            leaders[team.placement.host_of(root)] = root;
        }
        Hierarchy { team: team.clone(), leaders, host: team.placement.host_of(team.rank) }
    }

    /// Number of hosts.
    fn hosts(&self) -> usize {
        self.leaders.len()
    }

    /// The ranks of a host, ascending.
    fn members(&self, host: usize) -> &[usize] {
        self.team.placement.members(host)
    }

    /// The ranks of this process's host, ascending.
    fn own_members(&self) -> &[usize] {
        self.members(self.host)
    }

    /// The leader of this process's host.
    fn leader(&self) -> usize {
        self.leaders[self.host]
    }

    /// True if this process leads its host.
    fn leads(&self) -> bool {
        self.leader() == self.team.rank
    }

    /// True if this process is the only rank of its host.
    fn is_alone(&self) -> bool {
        self.own_members().len() == 1
    }

    /// The leader of this process's host, as a rank of its host.
    fn leader_on_host(&self) -> usize {
        let members = self.own_members();
        members.binary_search(&self.leader()).expect("the leader is on its host")
    }

    /// The ranks of this process's host that do not lead it.
    fn followers(&self) -> impl Iterator<Item = usize> {
        self.own_members().iter().copied().filter(|&rank| rank != self.leader())
    }

    /// The sub-team of the leaders, by host; `None` if this process does not lead.
    fn leader_team(&self) -> Option<Team> {
        self.team.of_leaders(&self.leaders)
    }

    /// The parent of this process, and its children, in the tree of its host, whose root leads.
    /// The child with the largest subtree comes first.
    fn in_host_tree(&self) -> (Option<usize>, Vec<usize>) {
        let members = self.own_members();
        if members.len() <= STAR {
            return match self.leads() {
                true => (None, self.followers().collect()),
                false => (Some(self.leader()), Vec::new()),
            };
        }
        let index = |rank| members.binary_search(&rank).expect("the rank is on this host");
        let (own, lead, size) = (index(self.team.rank), index(self.leader()), members.len());
        let tree = Binomial::new(relative(own, lead, size), size);
        let rank = |node: usize| members[absolute(node, lead, size)];
        let children = tree.children.iter().rev().map(|&(node, _)| rank(node)).collect();
        (tree.parent.map(rank), children)
    }

    /// The parent of this process, which leads its host, and its children, in a tree of the
    /// leaders.
    fn between_hosts(&self, root: usize, shape: HostTreeShape) -> (Option<usize>, Vec<usize>) {
        let placement = &self.team.placement;
        let tree = placement.tree(placement.host_of(root), shape);
        let (parent, children) = tree.around(self.host);
        let leader = |host: usize| self.leaders[host];
        (parent.map(leader), children.into_iter().map(leader).collect())
    }

    /// All ranks, host by host.
    fn by_host(&self) -> Vec<usize> {
        (0..self.hosts()).flat_map(|host| self.members(host)).copied().collect()
    }

    /// The position of each rank among the ranks of all hosts, host by host.
    fn positions(&self) -> Vec<usize> {
        let mut positions = vec![0; self.team.size()];
        let by_host = self.by_host().into_iter();
        by_host.enumerate().for_each(|(position, rank)| positions[rank] = position);
        positions
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use towpath_base::ids::{ContextId, PeerIndex};

    use super::*;
    use crate::team::Placement;

    fn hierarchy(rank: usize, hosts: &[u32], root: Option<usize>) -> Hierarchy {
        let peers = (0..hosts.len() as u32).map(PeerIndex).collect();
        let placement = Arc::new(Placement::new(hosts.iter().copied()));
        Hierarchy::new(&Team { context: ContextId::new(1, 1), rank, peers, placement }, root)
    }

    #[test]
    fn the_root_leads_its_host() {
        let hosts = [5, 3, 5, 3, 5];
        let plain = hierarchy(2, &hosts, None);
        assert_eq!((plain.leaders.clone(), plain.leads()), (vec![0, 1], false));
        let rooted = hierarchy(2, &hosts, Some(2));
        assert_eq!((rooted.leaders.clone(), rooted.leads()), (vec![2, 1], true));
        assert_eq!(rooted.followers().collect::<Vec<_>>(), [0, 4]);
        assert_eq!(rooted.leader_team().expect("rank 2 leads").rank, 0);
        assert!(hierarchy(4, &hosts, Some(2)).leader_team().is_none());
    }

    #[test]
    fn positions_count_host_by_host() {
        assert_eq!(hierarchy(0, &[5, 3, 5, 3, 5], None).positions(), [0, 3, 1, 4, 2]);
    }

    #[test]
    fn the_tree_of_a_host_reaches_all_its_ranks_from_its_leader() {
        for size in [1, 2, 8, 9, 23] {
            let hosts: Vec<u32> = (0..2 * size).map(|rank| rank % 2).collect();
            let root = 2 * (size as usize / 2);
            let mut parents = vec![None; 2 * size as usize];
            for rank in (0..2 * size as usize).step_by(2) {
                let (_, children) = hierarchy(rank, &hosts, Some(root)).in_host_tree();
                children.iter().for_each(|&child| assert_eq!(parents[child].replace(rank), None));
            }
            for rank in (0..2 * size as usize).step_by(2) {
                let (parent, _) = hierarchy(rank, &hosts, Some(root)).in_host_tree();
                assert_eq!((parent, parent.is_none()), (parents[rank], rank == root));
            }
        }
    }

    #[test]
    fn leaders_collect_no_more_than_they_can_hold() {
        let holds = |ranks: u32, bytes| {
            let hosts: Vec<u32> = (0..ranks).map(|rank| rank % 8).collect();
            movement::holds_alltoall(&hierarchy(0, &hosts, None).team, bytes)
        };
        assert!(holds(64, 4096) && holds(512, 1024));
        assert!(!holds(512, 1025) && !holds(64, i64::MAX));
    }
}
