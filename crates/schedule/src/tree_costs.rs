//! What a tree of hosts costs: the figures from which the time of a broadcast follows for any
//! length, computed once for each placement and shape.

use towpath_topology::{HostNetwork, NetworkLink};

use crate::cost::{BETWEEN_HOSTS, LinkCost, Picoseconds, at_speed, ceiling_log};
use crate::placement_costs::{HostTreeShape, TreeCosts, WayCosts};
use crate::team::Placement;

impl WayCosts {
    /// The most that a message costs between hosts whose numbers follow each other, or between the
    /// last one and the first.
    pub(crate) fn around(network: &HostNetwork) -> WayCosts {
        let hosts = network.hosts.len();
        let mut most = WayCosts { messages: 1, ..WayCosts::default() };
        let differing = if are_equal(network) { 1 } else { hosts };
        for host in 0..differing {
            let path = path(network, host, (host + 1) % hosts);
            let gap = path.gap_per_byte.saturating_mul(1 + u64::from(path.half_duplex));
            most.gap_per_byte = most.gap_per_byte.max(gap);
            most.latency = most.latency.max(path.latency);
            most.work = most.work.max(work(network, host));
        }
        most
    }

    /// Time of a segment, for the comparison of ways.
    fn time(&self, bytes: u64) -> Picoseconds {
        let transferred = self.gap_per_byte.saturating_mul(bytes);
        self.work.saturating_add(transferred).saturating_add(self.latency)
    }
}

/// Bytes for which the longest way is sought.
const TYPICAL: u64 = 64 << 10;

/// True if hosts do not differ and form no groups.
fn are_equal(network: &HostNetwork) -> bool {
    network.hosts.windows(2).all(|pair| pair[0] == pair[1])
}

/// What a message costs a host's processor.
pub(crate) fn work(network: &HostNetwork, host: usize) -> Picoseconds {
    at_speed(BETWEEN_HOSTS.overhead, network.hosts[host].processor)
}

/// What two hosts have between them, without the links that both have in common.
pub(crate) fn path(network: &HostNetwork, from: usize, to: usize) -> LinkCost {
    let mut all: Option<NetworkLink> = None;
    on_path(network, from, to, |at, _| {
        let link = link(network, at);
        all = Some(all.map_or(link, |so_far| so_far.and(link)));
    });
    LinkCost::from(all.unwrap_or(network.hosts[from].link))
}

/// Calls `pass` with the number of each link between two hosts, and whether it is passed inwards.
/// Links of hosts come before uplinks.
fn on_path(network: &HostNetwork, from: usize, to: usize, mut pass: impl FnMut(usize, bool)) {
    let (out, into) = (&network.hosts[from].groups, &network.hosts[to].groups);
    let common = out.iter().zip(into).take_while(|(one, other)| one == other).count();
    let hosts = network.hosts.len();
    pass(from, false);
    out[common..].iter().for_each(|group| pass(hosts + group, false));
    into[common..].iter().for_each(|group| pass(hosts + group, true));
    pass(to, true);
}

fn link(network: &HostNetwork, at: usize) -> NetworkLink {
    let hosts = network.hosts.len();
    if at < hosts { network.hosts[at].link } else { network.uplinks[at - hosts] }
}

impl Placement {
    /// What a tree of the hosts costs.
    pub(crate) fn tree_costs(&self, shape: HostTreeShape) -> &TreeCosts {
        self.costs.tree_costs[shape as usize].get_or_init(|| TreeCosts::of(self, shape))
    }

    /// What a message between hosts costs at most that are neighbours in the order of ranks.
    pub(crate) fn ring_costs(&self) -> &WayCosts {
        self.costs.ring.get_or_init(|| WayCosts::around(self.network()))
    }
}

impl TreeCosts {
    /// The costs among hosts that do not differ and form no groups.
    fn among_equals(network: &HostNetwork, shape: HostTreeShape) -> TreeCosts {
        let hosts = network.hosts.len() as u64;
        if hosts < 2 {
            return TreeCosts::default();
        }
        let LinkCost { gap_per_byte, latency, half_duplex } = path(network, 0, 1);
        let work = 2 * work(network, 0);
        let rounds = ceiling_log(hosts);
        let (sent, way, passages) = match shape {
            HostTreeShape::Chain => (1, hosts - 1, 1 + u64::from(half_duplex && hosts > 2)),
            _ => (rounds, rounds, rounds),
        };
        TreeCosts {
            gap_per_byte: gap_per_byte.saturating_mul(passages),
            work: work.saturating_mul(sent),
            messages: sent,
            latency,
            way: WayCosts {
                messages: way,
                work: work.saturating_mul(way),
                gap_per_byte: gap_per_byte.saturating_mul(way),
                latency: latency.saturating_mul(way),
            },
        }
    }

    /// The costs of the tree of a shape.
    pub(crate) fn of(placement: &Placement, shape: HostTreeShape) -> TreeCosts {
        let network = placement.network();
        if are_equal(network) {
            return TreeCosts::among_equals(network, shape);
        }
        let root = placement.relay_host();
        let tree = placement.tree(root, shape);
        let hosts = network.hosts.len();
        let mut load = vec![[0u64; 2]; hosts + network.uplinks.len()];
        let mut costs = TreeCosts::default();
        let mut ways = vec![WayCosts::default(); hosts];
        // What a host has sent so far.
        let mut sent = vec![WayCosts::default(); hosts];
        for &(from, to) in &tree.in_order(root, hosts) {
            on_path(network, from, to, |at, is_inwards| load[at][usize::from(is_inwards)] += 1);
            let LinkCost { gap_per_byte, latency, .. } = path(network, from, to);
            let before = &mut sent[from];
            before.messages += 1;
            before.work =
                before.work.saturating_add(work(network, from)).saturating_add(work(network, to));
            before.gap_per_byte = before.gap_per_byte.saturating_add(gap_per_byte);
            let (above, before) = (ways[from], *before);
            ways[to] = WayCosts {
                messages: above.messages + before.messages,
                work: above.work.saturating_add(before.work),
                gap_per_byte: above.gap_per_byte.saturating_add(before.gap_per_byte),
                latency: above.latency.saturating_add(latency),
            };
            costs.messages = costs.messages.max(before.messages);
            costs.work = costs.work.max(before.work);
            costs.latency = costs.latency.max(latency);
        }
        let busy = load.iter().enumerate().map(|(at, [out, into])| {
            let LinkCost { gap_per_byte, half_duplex, .. } = LinkCost::from(link(network, at));
            let passages = if half_duplex { out + into } else { *out.max(into) };
            gap_per_byte.saturating_mul(passages)
        });
        costs.gap_per_byte = busy.max().unwrap_or(0);
        costs.way = ways.into_iter().max_by_key(|way| way.time(TYPICAL)).unwrap_or_default();
        costs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_sends_once_and_a_binomial_tree_in_rounds() {
        let placement = Placement::new(0..8).with_rates(|_| 1_000_000_000);
        let [chain, binomial] = [HostTreeShape::Chain, HostTreeShape::Binomial]
            .map(|shape| TreeCosts::of(&placement, shape));
        assert_eq!((chain.gap_per_byte, chain.messages, chain.way.messages), (1000, 1, 7));
        assert_eq!((binomial.gap_per_byte, binomial.messages, binomial.way.messages), (3000, 3, 3));
        assert_eq!((chain.way.gap_per_byte, binomial.way.gap_per_byte), (7000, 3000));
        assert_eq!(chain.way.latency, 7 * chain.latency);
    }

    #[test]
    fn both_directions_of_a_half_duplex_uplink_count() {
        let link = |rate, half_duplex| NetworkLink { rate, latency: 3, half_duplex };
        let host = |groups: &[usize]| towpath_topology::NetworkHost {
            link: link(1_000_000_000, false),
            groups: groups.to_vec(),
            ..Default::default()
        };
        let hosts = vec![host(&[0]), host(&[0]), host(&[1]), host(&[1]), host(&[])];
        let network =
            HostNetwork { hosts, uplinks: vec![link(u64::MAX, false), link(500_000_000, true)] };
        let placement = Placement::new(0..5).on_network(&network);
        let costs = TreeCosts::of(&placement, HostTreeShape::Chain);
        assert_eq!((costs.gap_per_byte, costs.latency), (4000, 4 * 3_000));
        assert_eq!(path(&network, 0, 1).gap_per_byte, 1000);
        assert_eq!(path(&network, 3, 0).gap_per_byte, 2000);
    }
}
