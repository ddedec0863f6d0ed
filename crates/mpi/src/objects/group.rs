//! Groups: ordered sets of processes (MPI 5.0, section 7.3), as plain values. The C functions are
//! in `chapters::groups`.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use towpath_base::ids::{ContextId, PeerIndex};
use towpath_collective::{Placement, Team};
use towpath_network::HostNetwork;

use crate::process;

/// An ordered set of processes, identified by their indices in this process's table of peers.
#[derive(Debug)]
pub(crate) struct Group {
    /// Members by rank.
    pub peers: Arc<[PeerIndex]>,
    /// The rank of this process, if it is a member.
    pub rank: Option<usize>,
    ranks: OnceLock<HashMap<PeerIndex, usize>>,
    placement: OnceLock<Arc<Placement>>,
}

/// The relation of two groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    /// Same members in the same order.
    Identical,
    /// Same members in another order.
    Similar,
    /// Different members.
    Unequal,
}

impl Group {
    /// The group of these members, as seen by process `me`.
    pub(crate) fn new(peers: Vec<PeerIndex>, me: PeerIndex) -> Group {
        let rank = peers.iter().position(|&peer| peer == me);
        Group { peers: peers.into(), rank, ranks: OnceLock::new(), placement: OnceLock::new() }
    }

    /// Number of members.
    pub(crate) fn size(&self) -> usize {
        self.peers.len()
    }

    /// Which members share a host, what joins the hosts, and how many ranks share a core. Members
    /// of several jobs do not know the same of each other, so they assume nothing.
    pub(crate) fn placement(&self) -> &Arc<Placement> {
        self.placement.get_or_init(|| Arc::new(self.placement_on(process::host_network)))
    }

    /// The same on the hosts of another network.
    pub(crate) fn placement_on(&self, network: impl FnOnce() -> HostNetwork) -> Placement {
        let peers = &self.peers;
        let placement = Placement::new(peers.iter().map(|&peer| process::host_of(peer)));
        if !peers.iter().all(|&peer| process::rank_in_own_job(peer).is_some()) {
            return placement;
        }
        let placement = if placement.hosts() > 1 { placement.on_network(&network()) } else { placement };
        let (ranks_per_core, shares_evenly) = process::core_sharing();
        placement.with_ranks_per_core(ranks_per_core).sharing_evenly(shares_evenly)
    }

    /// The same with these rates of the links of the job's hosts.
    pub(crate) fn placement_with(&self, rates: &[u64]) -> Placement {
        self.placement_on(|| process::host_network().with_rates(rates))
    }

    /// The group as a team for collectives, with messages in `context`; this process has rank
    /// `rank`.
    pub(crate) fn team(&self, context: ContextId, rank: usize) -> Team {
        Team { context, rank, peers: self.peers.clone(), placement: self.placement().clone() }
    }

    /// The rank of a process in this group.
    pub(crate) fn rank_of(&self, peer: PeerIndex) -> Option<usize> {
        if self.peers.get(peer.slot()) == Some(&peer) {
            return Some(peer.slot());
        }
        self.ranks
            .get_or_init(|| self.peers.iter().enumerate().map(|(rank, &peer)| (peer, rank)).collect())
            .get(&peer)
            .copied()
    }

    /// Compares this group with another.
    pub(crate) fn compare(&self, other: &Group) -> Relation {
        if self.peers == other.peers {
            return Relation::Identical;
        }
        if self.size() == other.size() && self.peers.iter().all(|&peer| other.rank_of(peer).is_some()) {
            return Relation::Similar;
        }
        Relation::Unequal
    }

    /// The members of this group, followed by those of the other that are not in this one.
    pub(crate) fn union(&self, other: &Group) -> Vec<PeerIndex> {
        let mine = self.peers.iter().copied();
        mine.chain(other.peers.iter().copied().filter(|&peer| self.rank_of(peer).is_none())).collect()
    }

    /// The members of this group that are also in the other.
    pub(crate) fn intersection(&self, other: &Group) -> Vec<PeerIndex> {
        self.peers.iter().copied().filter(|&peer| other.rank_of(peer).is_some()).collect()
    }

    /// The members of this group that are not in the other.
    pub(crate) fn difference(&self, other: &Group) -> Vec<PeerIndex> {
        self.peers.iter().copied().filter(|&peer| other.rank_of(peer).is_none()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(peers: &[u32]) -> Group {
        Group::new(peers.iter().map(|&p| PeerIndex(p)).collect(), PeerIndex(2))
    }

    #[test]
    fn set_operations_keep_the_order_of_the_first() {
        let (a, b) = (group(&[3, 2, 0]), group(&[0, 1, 3]));
        assert_eq!(a.union(&b), group(&[3, 2, 0, 1]).peers.to_vec());
        assert_eq!(a.intersection(&b), group(&[3, 0]).peers.to_vec());
        assert_eq!(a.difference(&b), group(&[2]).peers.to_vec());
        assert_eq!(a.rank, Some(1));
        assert_eq!(b.rank, None);
        assert_eq!(a.compare(&group(&[0, 2, 3])), Relation::Similar);
        assert_eq!(a.compare(&b), Relation::Unequal);
        assert_eq!(a.compare(&group(&[3, 2, 0])), Relation::Identical);
    }
}
