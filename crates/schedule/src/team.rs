//! The members of a collective call, and their placement on hosts.

use std::collections::HashMap;
use std::sync::Arc;

use towpath_base::ids::{ContextId, PeerIndex};

/// Which members of a team share a host. Hosts are numbered in the order of their lowest ranks; the
/// lowest rank of a host is its leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The host of each rank.
    hosts: Vec<usize>,
    /// The ranks of each host, ascending.
    members: Vec<Vec<usize>>,
}

impl Placement {
    /// Creates a placement from an identifier of each rank's host, in rank order.
    pub fn new(identities: impl IntoIterator<Item = u32>) -> Placement {
        let mut numbers: HashMap<u32, usize> = HashMap::new();
        let mut placement = Placement { hosts: Vec::new(), members: Vec::new() };
        // Most ranks are on the same host as the one before.
        let mut last = None;
        for (rank, identity) in identities.into_iter().enumerate() {
            let host = match last {
                Some((known, host)) if known == identity => host,
                _ => *numbers.entry(identity).or_insert(placement.members.len()),
            };
            last = Some((identity, host));
            if host == placement.members.len() {
                placement.members.push(Vec::new());
            }
            placement.members[host].push(rank);
            placement.hosts.push(host);
        }
        placement
    }

    /// All of `size` ranks on one host.
    pub fn on_one_host(size: usize) -> Placement {
        Placement::new(std::iter::repeat_n(0, size))
    }

    /// Number of hosts.
    pub fn hosts(&self) -> usize {
        self.members.len()
    }

    /// The host of a rank.
    pub fn host_of(&self, rank: usize) -> usize {
        self.hosts[rank]
    }

    /// The ranks of a host, ascending.
    pub fn members(&self, host: usize) -> &[usize] {
        &self.members[host]
    }

    /// The leader of a host.
    pub fn leader(&self, host: usize) -> usize {
        self.members[host][0]
    }

    /// True if there are several hosts, and several of the ranks on one of them.
    pub fn has_levels(&self) -> bool {
        self.hosts() > 1 && self.hosts() < self.hosts.len()
    }

    /// True if the ranks of each host are consecutive.
    pub fn is_consecutive(&self) -> bool {
        self.hosts.is_sorted()
    }

    /// The leaders of all hosts, ascending.
    pub fn leaders(&self) -> impl Iterator<Item = usize> {
        self.members.iter().map(|ranks| ranks[0])
    }
}

/// A communicator as schedules see it: its members in rank order, their placement, and the context.
#[derive(Clone, Debug)]
pub struct Team {
    /// The context in which the schedule's messages are matched, plane included:
    /// `Plane::Collective` for collectives.
    pub context: ContextId,
    /// This process's rank in the team.
    pub rank: usize,
    /// The members by rank.
    pub peers: Arc<[PeerIndex]>,
    /// The hosts of the members.
    pub placement: Arc<Placement>,
}

impl Team {
    /// Number of members.
    pub fn size(&self) -> usize {
        self.peers.len()
    }

    /// The sub-team of the members on this process's host, in rank order.
    pub fn on_my_host(&self) -> Team {
        let ranks = self.placement.members(self.placement.host_of(self.rank));
        self.of(ranks).expect("this process is on its host")
    }

    /// The sub-team of these ranks, in this order and with the same context; `None` if this process
    /// is not among them.
    pub(crate) fn of(&self, ranks: &[usize]) -> Option<Team> {
        let rank = ranks.iter().position(|&rank| rank == self.rank)?;
        let peers = ranks.iter().map(|&rank| self.peers[rank]).collect();
        let hosts = ranks.iter().map(|&rank| self.placement.host_of(rank) as u32);
        Some(Team {
            rank,
            peers,
            placement: Arc::new(Placement::new(hosts)),
            context: self.context,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A team whose rank r is peer 10 + r.
    fn team(rank: usize, hosts: &[u32]) -> Team {
        let peers = (0..hosts.len() as u32).map(|rank| PeerIndex(10 + rank)).collect();
        let placement = Arc::new(Placement::new(hosts.iter().copied()));
        Team { context: ContextId::new(1, 1), rank, peers, placement }
    }

    fn peers(team: &Team) -> Vec<u32> {
        team.peers.iter().map(|peer| peer.0).collect()
    }

    #[test]
    fn hosts_are_numbered_in_the_order_of_their_leaders() {
        let placement = Placement::new([9, 4, 9, 7, 4, 9]);
        assert_eq!(placement.hosts(), 3);
        assert_eq!(
            (0..6).map(|rank| placement.host_of(rank)).collect::<Vec<_>>(),
            [0, 1, 0, 2, 1, 0]
        );
        assert_eq!(placement.members(0), [0, 2, 5]);
        assert_eq!(placement.leaders().collect::<Vec<_>>(), [0, 1, 3]);
        assert_eq!(placement.leader(1), 1);
        assert_eq!(Placement::on_one_host(4).members(0), [0, 1, 2, 3]);
        assert!(placement.has_levels() && !placement.is_consecutive());
        let (whole, each) = (Placement::on_one_host(4), Placement::new(0..4));
        assert!(!whole.has_levels() && !each.has_levels());
        assert!(whole.is_consecutive() && each.is_consecutive());
    }

    #[test]
    fn the_sub_team_of_a_host_has_its_ranks_alone() {
        let own = team(4, &[9, 4, 9, 7, 4, 9]).on_my_host();
        assert_eq!((own.rank, peers(&own)), (1, vec![11, 14]));
        assert_eq!(own.placement.hosts(), 1);
        let alone = team(3, &[9, 4, 9, 7, 4, 9]).on_my_host();
        assert_eq!((alone.rank, peers(&alone)), (0, vec![13]));
    }
}
