//! The members of a collective call, and their placement on hosts.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use towpath_base::ids::{ContextId, PeerIndex};
use towpath_topology::{DEFAULT_RATE, HostNetwork, NetworkHost};

use crate::operand::even_parts;
use crate::placement_costs::PlacementCosts;

/// Which members of a team share a host, and what joins the hosts. Hosts are numbered in the order
/// of their lowest ranks.
#[derive(Clone, Debug)]
pub struct Placement {
    /// The host of each rank.
    hosts: Vec<usize>,
    /// The ranks of each host, ascending.
    members: Vec<Vec<usize>>,
    /// The leader of each host.
    leaders: Vec<usize>,
    /// The identifier of each host.
    identities: Vec<u32>,
    /// What joins the hosts, by host.
    network: Arc<HostNetwork>,
    /// Which hosts are leaves. Never all of them.
    leaves: Arc<[bool]>,
    ranks_per_core: usize,
    shares_evenly: bool,
    /// The leaders alone.
    among_leaders: OnceLock<Arc<Placement>>,
    /// Where each rank has a host, the innermost groups in the place of hosts.
    grouped: OnceLock<Option<Arc<Placement>>>,
    /// What ways between the hosts cost.
    pub(crate) costs: PlacementCosts,
}

impl Placement {
    /// Creates a placement from an identifier of each rank's host, in rank order.
    pub fn new(identities: impl IntoIterator<Item = u32>) -> Placement {
        let mut numbers: HashMap<u32, usize> = HashMap::new();
        let mut placement = Placement {
            hosts: Vec::new(),
            members: Vec::new(),
            leaders: Vec::new(),
            identities: Vec::new(),
            network: Arc::default(),
            leaves: Arc::default(),
            ranks_per_core: 1,
            shares_evenly: false,
            among_leaders: OnceLock::new(),
            grouped: OnceLock::new(),
            costs: PlacementCosts::default(),
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
                placement.leaders.push(rank);
                placement.identities.push(identity);
            }
            placement.members[host].push(rank);
            placement.hosts.push(host);
        }
        placement.with_rates(|_| DEFAULT_RATE)
    }

    /// The same on hosts that `network` joins: the identifier of a host is its number there.
    pub fn on_network(self, network: &HostNetwork) -> Placement {
        let own = network.of(self.identities.iter().map(|&identity| identity as usize));
        self.joined_by(own)
    }

    /// The same with the rates of the hosts' links in bytes per second, 0 if unknown, and nothing
    /// else known.
    pub fn with_rates(self, rate: impl Fn(usize) -> u64) -> Placement {
        let facts = |host| {
            let mut facts = NetworkHost::default();
            facts.link.rate = if rate(host) == 0 { DEFAULT_RATE } else { rate(host) };
            facts
        };
        let hosts = (0..self.hosts()).map(facts).collect();
        self.joined_by(HostNetwork { hosts, uplinks: Vec::new() })
    }

    /// The same with this network of its hosts.
    fn joined_by(self, network: HostNetwork) -> Placement {
        let leaves = leaves(&network.hosts);
        Placement {
            network: network.into(),
            leaves: leaves.into(),
            among_leaders: OnceLock::new(),
            grouped: OnceLock::new(),
            costs: PlacementCosts::default(),
            ..self
        }
    }

    /// The same where this many ranks share a core.
    pub fn with_ranks_per_core(self, number: usize) -> Placement {
        Placement { ranks_per_core: number.max(1), ..self }
    }

    /// The same, and whether all hosts are containers that share the cores of a machine evenly.
    pub fn sharing_evenly(self, shares_evenly: bool) -> Placement {
        Placement { shares_evenly, ..self }
    }

    /// True if ranks share cores with ranks of other hosts, all hosts alike.
    pub(crate) fn hosts_share_cores(&self) -> bool {
        self.shares_evenly && self.ranks_per_core > 1
    }

    /// How many ranks share a core, on the hosts where most do.
    pub fn ranks_per_core(&self) -> usize {
        self.ranks_per_core
    }

    /// What joins the hosts, by host.
    pub(crate) fn network(&self) -> &HostNetwork {
        &self.network
    }

    /// True if a host is a leaf of all trees between hosts: its link or its processors have at most
    /// half the speed of the fastest ones, or nobody there should lead. It neither passes on nor
    /// folds what others send, so that payload crosses its link once in each direction.
    pub fn is_leaf(&self, host: usize) -> bool {
        self.leaves[host]
    }

    fn greatest_rate(&self) -> u64 {
        self.network.hosts.iter().map(|host| host.link.rate).max().unwrap_or(0)
    }

    /// True if the link of a host has at most half the rate of the fastest one.
    pub(crate) fn has_slow_link(&self, host: usize) -> bool {
        is_slow(self.network.hosts[host].link.rate, self.greatest_rate())
    }

    /// True if some host has such a link.
    pub(crate) fn has_slow_links(&self) -> bool {
        if !self.has_leaves() {
            return false;
        }
        let fastest = self.greatest_rate();
        self.network.hosts.iter().any(|host| is_slow(host.link.rate, fastest))
    }

    /// True if a host is a leaf.
    pub fn has_leaves(&self) -> bool {
        self.leaves.contains(&true)
    }

    /// True if the same hosts are leaves in another placement of the same ranks.
    pub fn has_same_leaves(&self, other: &Placement) -> bool {
        self.leaves == other.leaves
    }

    /// True if some of the hosts form a group that not all of them are in.
    pub fn has_groups(&self) -> bool {
        !self.network.uplinks.is_empty()
    }

    /// The lowest host that is no leaf.
    pub(crate) fn relay_host(&self) -> usize {
        self.leaves.iter().position(|&is_leaf| !is_leaf).unwrap_or(0)
    }

    /// The lowest rank whose host is not a leaf.
    pub fn relay(&self) -> usize {
        let passes_on = |&rank: &usize| !self.leaves[self.hosts[rank]];
        (0..self.hosts.len()).find(passes_on).unwrap_or(0)
    }

    /// Cuts the elements from `first` to `end` of a vector into a stripe for each rank, even but
    /// for ranks on leaves, which get none: `starts[rank]` is the first element of its stripe.
    pub(crate) fn stripes(&self, first: i64, end: i64) -> Vec<i64> {
        let folds = |rank: usize| usize::from(!self.leaves[self.hosts[rank]]);
        let even = even_parts(end - first, (0..self.hosts.len()).map(folds).sum());
        let mut before = 0;
        let mut starts = vec![first];
        for rank in 0..self.hosts.len() {
            before += folds(rank);
            starts.push(first + even[before]);
        }
        starts
    }

    /// The leaders alone, in the order of the hosts, whichever ranks lead.
    fn among_leaders(&self) -> &Arc<Placement> {
        self.among_leaders.get_or_init(|| {
            let alone: Vec<usize> = (0..self.hosts()).collect();
            Arc::new(Placement {
                hosts: alone.clone(),
                members: alone.iter().map(|&host| vec![host]).collect(),
                leaders: alone,
                identities: self.identities.clone(),
                among_leaders: OnceLock::new(),
                grouped: OnceLock::new(),
                costs: PlacementCosts::default(),
                ..self.clone()
            })
        })
    }

    /// The same ranks, each of which has a host to itself, with the innermost groups in the place
    /// of hosts; `None` if there are none. The lowest rank whose host is no leaf leads a group.
    pub(crate) fn grouped(&self) -> Option<&Arc<Placement>> {
        let build = || {
            let hosts = &self.network.hosts;
            let deepest = hosts.iter().map(|host| host.groups.len()).max()?.checked_sub(1)?;
            let alone = self.network.uplinks.len();
            let identity = |(host, facts): (usize, &NetworkHost)| {
                facts.groups.get(deepest).copied().unwrap_or(alone + host) as u32
            };
            let mut grouped = Placement::new(hosts.iter().enumerate().map(identity));
            let passes_on = |host: &usize| !self.leaves[*host];
            let leader =
                |group: &Vec<usize>| group.iter().copied().find(passes_on).unwrap_or(group[0]);
            grouped.leaders = grouped.members.iter().map(leader).collect();
            let group = |&leader: &usize| {
                let mut facts = hosts[leader].clone();
                if let Some(group) = facts.groups.get(deepest) {
                    facts.link = facts.link.and(self.network.uplinks[*group]);
                }
                facts.groups.truncate(deepest);
                facts.leads = !self.leaves[leader];
                facts
            };
            let facts = grouped.leaders.iter().map(group).collect();
            let network = HostNetwork { hosts: facts, uplinks: self.network.uplinks.clone() };
            let number = grouped.hosts();
            let grouped = grouped.joined_by(network.of(0..number));
            // Not as sharing cores evenly: messages through one rank would cross uplinks twice.
            Some(Arc::new(grouped.with_ranks_per_core(self.ranks_per_core)))
        };
        self.grouped.get_or_init(|| if self.has_levels() { None } else { build() }).as_ref()
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

    /// The leader of a host: its lowest rank.
    pub fn leader(&self, host: usize) -> usize {
        self.leaders[host]
    }

    /// True if there are several hosts, and several of the ranks on one of them.
    pub fn has_levels(&self) -> bool {
        self.hosts() > 1 && self.hosts() < self.hosts.len()
    }

    /// True if the ranks of each host are consecutive.
    pub fn is_consecutive(&self) -> bool {
        self.hosts.is_sorted()
    }

    /// The leaders of all hosts.
    pub fn leaders(&self) -> impl Iterator<Item = usize> {
        self.leaders.iter().copied()
    }
}

/// True if a speed is at most half of the fastest one.
fn is_slow(speed: u64, fastest: u64) -> bool {
    speed < fastest && speed <= fastest / 2
}

/// Which of these hosts are leaves.
fn leaves(hosts: &[NetworkHost]) -> Vec<bool> {
    let fastest = |speed: fn(&NetworkHost) -> u64| hosts.iter().map(speed).max().unwrap_or(0);
    let rate: fn(&NetworkHost) -> u64 = |host| host.link.rate;
    let processor: fn(&NetworkHost) -> u64 = |host| host.processor;
    let (fast_link, fast_processor) = (fastest(rate), fastest(processor));
    let is_leaf = |host: &NetworkHost| {
        !host.leads || is_slow(host.link.rate, fast_link) || is_slow(host.processor, fast_processor)
    };
    let mut leaves: Vec<bool> = hosts.iter().map(is_leaf).collect();
    if !leaves.contains(&false)
        && let Some(lowest) = hosts.iter().position(|host| !is_slow(host.link.rate, fast_link))
    {
        leaves[lowest] = false;
    }
    leaves
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

    /// The sub-team of the leaders of all hosts, by host; `None` if this process does not lead.
    pub fn leaders(&self) -> Option<Team> {
        self.of_leaders(&self.placement.leaders().collect::<Vec<_>>())
    }

    /// The sub-team of the leaders of all hosts, which are these; `None` if this process is not
    /// among them.
    pub(crate) fn of_leaders(&self, leaders: &[usize]) -> Option<Team> {
        let rank = leaders.iter().position(|&leader| leader == self.rank)?;
        let peers = leaders.iter().map(|&leader| self.peers[leader]).collect();
        let placement = self.placement.among_leaders().clone();
        Some(Team { rank, peers, placement, context: self.context })
    }

    /// This team, whose members have a host each, with groups in the place of hosts; `None` if
    /// there are none.
    pub(crate) fn grouped(&self) -> Option<Team> {
        let placement = self.placement.grouped()?.clone();
        Some(Team { placement, ..self.clone() })
    }

    /// The sub-team of these ranks, in this order and with the same context; `None` if this process
    /// is not among them.
    pub(crate) fn of(&self, ranks: &[usize]) -> Option<Team> {
        let rank = ranks.iter().position(|&rank| rank == self.rank)?;
        let peers = ranks.iter().map(|&rank| self.peers[rank]).collect();
        let whole = &self.placement;
        let hosts = ranks.iter().map(|&rank| whole.host_of(rank) as u32);
        let mut placement = Placement::new(hosts);
        if placement.hosts() > 1 {
            let among = placement.identities.iter().map(|&host| host as usize);
            let network = whole.network.of(among);
            placement = placement.joined_by(network);
        }
        (placement.ranks_per_core, placement.shares_evenly) =
            (whole.ranks_per_core, whole.shares_evenly);
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
    fn sub_teams_share_the_cores_that_their_team_shares() {
        let placement = Placement::new([7, 8, 7, 9]);
        let shares = |ranks_per_core, shares_evenly| {
            let placement = placement.clone().with_ranks_per_core(ranks_per_core);
            let placement = Arc::new(placement.sharing_evenly(shares_evenly));
            let team = Team { placement, ..team(0, &[7, 8, 7, 9]) };
            let parts = [team.of(&[0, 3]), team.leaders(), Some(team)];
            parts.map(|part| part.expect("rank 0 is a member").placement.hosts_share_cores())
        };
        assert_eq!(shares(2, true), [true; 3]);
        assert_eq!([shares(2, false), shares(1, true)], [[false; 3]; 2]);
    }

    #[test]
    fn leaves_get_no_stripes_and_relay_nothing() {
        let rates = [10, 100, 60];
        let placement = Placement::new([7, 8, 9, 8, 7]).with_rates(|host| rates[host]);
        assert_eq!(
            (0..3).map(|host| placement.is_leaf(host)).collect::<Vec<_>>(),
            [true, false, false]
        );
        assert_eq!(placement.relay(), 1);
        assert_eq!(placement.stripes(0, 9), [0, 0, 3, 6, 9, 9]);
        let equal = Placement::new([7, 8, 9]).with_rates(|_| 5);
        assert!(!equal.has_leaves() && equal.relay() == 0);
        assert_eq!(equal.stripes(10, 17), [10, 13, 15, 17]);
        let team = Team { placement: Arc::new(placement), ..team(1, &[7, 8, 9, 8, 7]) };
        let part = team.of(&[4, 1]).expect("this rank is a member").placement;
        assert!(part.is_leaf(0) && !part.is_leaf(1));
    }

    /// One rank on each of eight hosts: two racks of two hosts and two others in a site, and two
    /// hosts outside.
    fn racks() -> Placement {
        let text = "[[group]]\nname = \"a\"\nhosts = \"h[0-1]\"\n\
                    [[group]]\nname = \"b\"\nhosts = \"h[2-3]\"\n\
                    [[group]]\nname = \"site\"\ngroups = [\"a\", \"b\"]\nhosts = \"h[4-5]\"\n\
                    [[host]]\nhosts = \"h0,h2,h3\"\nleads = false\n\
                    [[host]]\nhosts = \"h7\"\nprocessor = 0.5\n";
        let topology = towpath_topology::NetworkTopology::parse(text).unwrap();
        let names: Vec<String> = (0..8).map(|host| format!("h{host}")).collect();
        let network = topology.network(names.iter().map(|name| Some(&name[..])), &[]);
        Placement::new(0..8).on_network(&network)
    }

    #[test]
    fn hosts_that_should_not_lead_and_slow_processors_are_leaves() {
        let placement = racks();
        let leaves: Vec<usize> = (0..8).filter(|&host| placement.is_leaf(host)).collect();
        assert_eq!((leaves, placement.relay()), (vec![0, 2, 3, 7], 1));
        let mut hosts = placement.network().hosts.clone();
        hosts.iter_mut().for_each(|host| host.leads = false);
        hosts[0].link.rate /= 2;
        assert_eq!(super::leaves(&hosts), [true, false, true, true, true, true, true, true]);
    }

    #[test]
    fn groups_take_the_place_of_hosts_from_the_innermost_on() {
        let grouped = racks().grouped().expect("there are racks").clone();
        assert_eq!(grouped.members, [&[0, 1][..], &[2, 3], &[4], &[5], &[6], &[7]]);
        assert_eq!(grouped.leaders, [1, 2, 4, 5, 6, 7]);
        assert!(grouped.is_leaf(1) && !grouped.is_leaf(0) && grouped.has_groups());
        let sites = grouped.among_leaders().grouped().expect("there is a site").clone();
        assert_eq!(sites.members, [&[0, 1, 2, 3][..], &[4], &[5]]);
        assert!(sites.among_leaders().grouped().is_none());
        assert!(Placement::on_one_host(4).grouped().is_none());
    }
}
