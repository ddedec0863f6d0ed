//! The members of a collective call, and their placement on hosts.

use std::collections::HashMap;
use std::sync::Arc;

use towpath_base::ids::{ContextId, PeerIndex};

use crate::cost::{self, Picoseconds};
use crate::operand::even_parts;

/// Which members of a team share a host. Hosts are numbered in the order of their lowest ranks; the
/// lowest rank of a host is its leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The host of each rank.
    hosts: Vec<usize>,
    /// The ranks of each host, ascending.
    members: Vec<Vec<usize>>,
    /// Which hosts are behind a slow link. Never all of them.
    slow: Vec<bool>,
    /// Time per byte over the slowest link of a host.
    gap_per_byte: Picoseconds,
    ranks_per_core: usize,
}

impl Placement {
    /// Creates a placement from an identifier of each rank's host, in rank order.
    pub fn new(identities: impl IntoIterator<Item = u32>) -> Placement {
        let mut numbers: HashMap<u32, usize> = HashMap::new();
        let mut placement = Placement {
            hosts: Vec::new(),
            members: Vec::new(),
            slow: Vec::new(),
            gap_per_byte: cost::UNKNOWN_LINK,
            ranks_per_core: 1,
        };
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
        placement.slow = vec![false; placement.hosts()];
        placement
    }

    /// The same with the rates of the hosts' links in bytes per second, 0 if unknown. A link is
    /// slow if it has at most half the rate of the fastest one.
    pub fn with_rates(mut self, rate: impl Fn(usize) -> u64) -> Placement {
        let rates: Vec<u64> = (0..self.hosts()).map(rate).collect();
        let fastest = rates.iter().copied().max().unwrap_or(0);
        self.slow = rates.iter().map(|&rate| rate < fastest && rate <= fastest / 2).collect();
        self.gap_per_byte = match rates.iter().min() {
            None | Some(0) => cost::UNKNOWN_LINK,
            Some(slowest) => cost::SECOND / slowest,
        };
        self
    }

    /// The same where this many ranks share a core.
    pub fn with_ranks_per_core(self, number: usize) -> Placement {
        Placement { ranks_per_core: number.max(1), ..self }
    }

    /// How many ranks share a core, on the hosts where most do.
    pub fn ranks_per_core(&self) -> usize {
        self.ranks_per_core
    }

    /// Time per byte over the slowest link of a host.
    pub(crate) fn gap_per_byte(&self) -> Picoseconds {
        self.gap_per_byte
    }

    /// True if a host is behind a slow link. Payload should cross that link once in each direction,
    /// so such a host neither passes on nor folds what others send.
    pub fn is_slow(&self, host: usize) -> bool {
        self.slow[host]
    }

    /// True if a host is behind a slow link.
    pub fn has_slow_hosts(&self) -> bool {
        self.slow.contains(&true)
    }

    /// True if the same hosts are behind slow links in another placement of the same ranks.
    pub fn has_same_slow_hosts(&self, other: &Placement) -> bool {
        self.slow == other.slow
    }

    /// The lowest rank whose host is not behind a slow link.
    pub fn relay(&self) -> usize {
        let is_fast = |&rank: &usize| !self.slow[self.hosts[rank]];
        (0..self.hosts.len()).find(is_fast).unwrap_or(0)
    }

    /// Cuts the elements from `first` to `end` of a vector into a stripe for each rank, even but
    /// for ranks behind slow links, which get none: `starts[rank]` is the first element of its
    /// stripe.
    pub(crate) fn stripes(&self, first: i64, end: i64) -> Vec<i64> {
        let is_fast = |rank: usize| usize::from(!self.slow[self.hosts[rank]]);
        let even = even_parts(end - first, (0..self.hosts.len()).map(is_fast).sum());
        let mut before = 0;
        let mut starts = vec![first];
        for rank in 0..self.hosts.len() {
            before += is_fast(rank);
            starts.push(first + even[before]);
        }
        starts
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

    /// Number of ranks on the host that has most.
    pub fn most_members(&self) -> usize {
        self.members.iter().map(Vec::len).max().unwrap_or(0)
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

    /// The sub-team of the leaders, by host; `None` if this process does not lead.
    pub fn leaders(&self) -> Option<Team> {
        self.of(&self.placement.leaders().collect::<Vec<_>>())
    }

    /// The sub-team of these ranks, in this order and with the same context; `None` if this process
    /// is not among them.
    pub(crate) fn of(&self, ranks: &[usize]) -> Option<Team> {
        let rank = ranks.iter().position(|&rank| rank == self.rank)?;
        let peers = ranks.iter().map(|&rank| self.peers[rank]).collect();
        let whole = &self.placement;
        let hosts = ranks.iter().map(|&rank| whole.host_of(rank) as u32);
        let mut placement = Placement::new(hosts);
        if whole.has_slow_hosts() {
            let slow: Vec<bool> = placement
                .leaders()
                .map(|leader| whole.is_slow(whole.host_of(ranks[leader])))
                .collect();
            // Among slow hosts only, none is slower than the others.
            placement = placement.with_rates(|host| if slow[host] { 1 } else { 2 });
        }
        placement.gap_per_byte = whole.gap_per_byte;
        placement.ranks_per_core = whole.ranks_per_core;
        Some(Team { rank, peers, placement: Arc::new(placement), context: self.context })
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

    #[test]
    fn slow_hosts_get_no_stripes_and_relay_nothing() {
        let rates = [10, 100, 60];
        let placement = Placement::new([7, 8, 9, 8, 7]).with_rates(|host| rates[host]);
        assert_eq!(
            (0..3).map(|host| placement.is_slow(host)).collect::<Vec<_>>(),
            [true, false, false]
        );
        assert_eq!(placement.relay(), 1);
        assert_eq!(placement.stripes(0, 9), [0, 0, 3, 6, 9, 9]);
        let equal = Placement::new([7, 8, 9]).with_rates(|_| 5);
        assert!(!equal.has_slow_hosts() && equal.relay() == 0);
        assert_eq!(equal.stripes(10, 17), [10, 13, 15, 17]);
        let team = Team { placement: Arc::new(placement), ..team(1, &[7, 8, 9, 8, 7]) };
        let part = team.of(&[4, 1]).expect("this rank is a member").placement;
        assert!(part.is_slow(0) && !part.is_slow(1));
    }
}
