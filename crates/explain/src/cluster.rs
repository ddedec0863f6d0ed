//! The described cluster: its hosts, which rank is where, and what messages cost.

use std::path::Path;
use std::sync::Arc;

use towpath_base::ids::{ContextId, PeerIndex, Plane};
use towpath_schedule::cost::{BETWEEN_HOSTS, CostModel, LinkCosts, SAME_HOST};
use towpath_schedule::{Placement, Team};
use towpath_topology::{HostNetwork, LONGEST, NetworkTopology};

use crate::arguments::Request;

/// Messages of more bytes wait for their receiver.
const EAGER: u64 = 64 << 10;

/// A cluster.
pub(crate) struct Cluster {
    /// The hosts, by number in the placement.
    pub(crate) names: Vec<String>,
    /// The groups that hosts are in, in the order of their uplinks, which are behind the links of
    /// the hosts.
    pub(crate) groups: Vec<String>,
    pub(crate) costs: CostModel,
    peers: Arc<[PeerIndex]>,
    placement: Arc<Placement>,
}

impl Cluster {
    pub(crate) fn new(request: &Request) -> Result<Cluster, String> {
        let topology = match &request.topology {
            Some(path) => read(path)?,
            None => NetworkTopology::default(),
        };
        let hosts = hosts_of_ranks(&request.ranks, request.is_cyclic);
        let known = topology.hosts().map(str::to_owned);
        let others = (0..).map(|host| format!("host{host}"));
        let others = others.filter(|name| topology.hosts().all(|known| known != name.as_str()));
        let names: Vec<String> = known.chain(others).take(request.ranks.len()).collect();
        let network = topology.network(names.iter().map(|name| Some(&name[..])), &[]);
        let groups = groups(&topology, &names, &network);
        let placement = Placement::new(hosts.iter().map(|&host| host as u32));
        let placement = placement.on_network(&network);
        let peers = (0..hosts.len() as u32).map(PeerIndex).collect();
        let costs = CostModel {
            same_host: SAME_HOST,
            between_hosts: BETWEEN_HOSTS,
            links: Some(LinkCosts::from(&network)),
            eager: Some(EAGER),
            copy_per_byte: 100,
            reduce_per_element: 500,
            processors: network.hosts.iter().map(|host| host.processor).collect(),
        };
        Ok(Cluster { names, groups, costs, peers, placement: placement.into() })
    }

    /// All ranks, as one of them sees them.
    pub(crate) fn team(&self, rank: usize) -> Team {
        let context = ContextId::new(1, 1).on(Plane::Collective);
        Team { context, rank, peers: self.peers.clone(), placement: self.placement.clone() }
    }

    /// True if no group contains one of these hosts and not the other.
    pub(crate) fn same_group(&self, one: usize, other: usize) -> bool {
        let links = self.costs.links.as_ref();
        links.is_none_or(|links| links.outwards[one][1..] == links.outwards[other][1..])
    }

    pub(crate) fn placement(&self) -> &Placement {
        &self.placement
    }
}

/// The names of the groups, by the number of their uplink in `network`.
fn groups(topology: &NetworkTopology, names: &[String], network: &HostNetwork) -> Vec<String> {
    let mut groups = vec![String::new(); network.uplinks.len()];
    for (name, host) in names.iter().zip(&network.hosts) {
        for (&uplink, group) in host.groups.iter().rev().zip(topology.around(name)) {
            groups[uplink] = topology.group_name(group).to_owned();
        }
    }
    groups
}

fn read(path: &Path) -> Result<NetworkTopology, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let length = std::fs::metadata(path).map_err(|error| failed(&error))?.len();
    if length > LONGEST as u64 {
        return Err(failed(&format!("the file has more than {LONGEST} bytes.")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
    NetworkTopology::parse(&text).map_err(|error| failed(&error))
}

/// The host of each rank. Every host has its first rank before those after it have theirs.
fn hosts_of_ranks(ranks: &[usize], is_cyclic: bool) -> Vec<usize> {
    let most = ranks.iter().copied().max().unwrap_or(0);
    let host = |host: usize| std::iter::repeat_n(host, ranks[host]);
    match is_cyclic {
        false => (0..ranks.len()).flat_map(host).collect(),
        true => (0..most)
            .flat_map(|turn| (0..ranks.len()).filter(move |&host| turn < ranks[host]))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_fill_hosts_or_go_to_them_in_turn() {
        assert_eq!(hosts_of_ranks(&[3, 1, 2], false), [0, 0, 0, 1, 2, 2]);
        assert_eq!(hosts_of_ranks(&[3, 1, 2], true), [0, 1, 2, 0, 2, 0]);
    }

    #[test]
    fn hosts_of_a_group_share_its_uplink() {
        let text = "[[group]]\nname = \"rack\"\nhosts = \"b,c\"\nrate = \"1Gbit\"\n";
        let topology = NetworkTopology::parse(text).unwrap();
        let names = ["a", "b", "c"].map(str::to_owned);
        let costs =
            LinkCosts::from(&topology.network(names.iter().map(|name| Some(&name[..])), &[]));
        assert_eq!(costs.outwards, [vec![0], vec![1, 3], vec![2, 3]]);
        assert_eq!(costs.links[3].gap_per_byte, 8_000);
        assert_eq!(costs.path(1, 2), (&[1][..], &[2][..]));
        assert_eq!(costs.path(0, 2), (&[0][..], &[2, 3][..]));
    }
}
