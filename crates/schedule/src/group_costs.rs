//! Which way through groups of hosts takes least time: directly between all hosts, or by one host
//! of each group. The hosts of a placement have a rank each here.
//!
//! The times are sums of what messages cost in a row and what the busiest link carries: estimates,
//! and identical on all ranks.

use crate::cost::{LinkCost, Picoseconds, ceiling_log};
use crate::placement_costs::GroupCosts;
use crate::segments;
use crate::team::Placement;
use crate::tree_costs;

/// Up to this many ranks send their stripe to all others directly, without waiting for each other.
pub(crate) const DIRECT: usize = 16;

impl Placement {
    /// What ways through the groups of hosts cost.
    pub(crate) fn group_costs(&self) -> &GroupCosts {
        self.costs.groups.get_or_init(|| GroupCosts::of(self))
    }
}

impl GroupCosts {
    /// The figures of a placement.
    pub(crate) fn of(placement: &Placement) -> GroupCosts {
        let network = placement.network();
        let links = || network.hosts.iter().map(|host| LinkCost::from(host.link));
        let near = links().map(|link| link.latency).max().unwrap_or(0).saturating_mul(2);
        let outwards = network.hosts.iter().map(|host| {
            let uplinks = host.groups.iter().map(|&group| network.uplinks[group].latency);
            uplinks.fold(host.link.latency, u64::saturating_add)
        });
        let far = outwards.max().unwrap_or(0).saturating_mul(2_000);
        let relays = links().enumerate().filter(|(host, _)| !placement.is_leaf(*host));
        let work = relays.clone().map(|(host, _)| tree_costs::work(network, host));
        let message = 2 * work.max().unwrap_or(0);
        let gap = relays.map(|(_, link)| link.gap_per_byte).max().unwrap_or(0);
        let mut numbers = vec![0; network.uplinks.len()];
        let groups = network.hosts.iter().flat_map(|host| &host.groups);
        groups.for_each(|&group| numbers[group] += 1);
        let uplinks = network.uplinks.iter().map(|&uplink| LinkCost::from(uplink)).zip(numbers);
        GroupCosts {
            hosts: network.hosts.len() as u64,
            far,
            near,
            message,
            gap,
            uplinks: uplinks.collect(),
            sections: sections(placement).unwrap_or_default(),
            ring: if sections(placement).is_some() { Vec::new() } else { ring(placement) },
        }
    }

    /// Number of groups whose hosts lead by one, and most hosts of one of them.
    fn grouped(placement: &Placement) -> Option<(u64, u64)> {
        let grouped = placement.grouped()?;
        Some((grouped.hosts() as u64, grouped.most_members() as u64))
    }

    /// Time per byte on the busiest uplink, if a group of so many hosts sends this share of the
    /// data outwards and receives that one.
    fn crossing(&self, passages: impl Fn(u64) -> (u64, u64)) -> Picoseconds {
        let busy = self.uplinks.iter().map(|(link, hosts)| {
            let (out, into) = passages(*hosts);
            let number = if link.half_duplex { out + into } else { out.max(into) };
            link.gap_per_byte.saturating_mul(number)
        });
        busy.max().unwrap_or(0)
    }

    /// One message after another between any hosts.
    fn rounds(&self, number: u64) -> Picoseconds {
        number.saturating_mul(self.far.saturating_add(self.message))
    }

    /// Messages of all hosts of a group to the one that leads it, or back.
    fn inside(&self, most: u64) -> Picoseconds {
        self.near.saturating_add(most.saturating_sub(1).min(2 * ceiling_log(most)) * self.message)
    }
}

/// The first hosts of sections of consecutive hosts of the same innermost group. `None` if the
/// hosts of some group are not consecutive.
fn sections(placement: &Placement) -> Option<Vec<usize>> {
    let hosts = &placement.network().hosts;
    let mut left = vec![false; placement.network().uplinks.len()];
    let mut sections = vec![0];
    for (host, pair) in hosts.windows(2).enumerate() {
        let (before, after) = (&pair[0].groups, &pair[1].groups);
        if before != after {
            sections.push(host + 1);
        }
        before.iter().filter(|group| !after.contains(group)).for_each(|&group| left[group] = true);
        if after.iter().any(|&group| left[group]) {
            return None;
        }
    }
    Some(sections)
}

/// The hosts in the order of their groups, each of which has the place of its first host.
fn ring(placement: &Placement) -> Vec<usize> {
    let hosts = &placement.network().hosts;
    let mut first = vec![usize::MAX; placement.network().uplinks.len()];
    for (host, facts) in hosts.iter().enumerate() {
        facts.groups.iter().for_each(|&group| first[group] = first[group].min(host));
    }
    let mut order: Vec<usize> = (0..hosts.len()).collect();
    order.sort_by_cached_key(|&host| {
        let groups = hosts[host].groups.iter().map(|&group| first[group]);
        groups.chain([host]).collect::<Vec<usize>>()
    });
    order
}

/// True if a barrier goes by one host of each group.
pub(crate) fn by_groups_in_barrier(placement: &Placement) -> bool {
    let Some((groups, most)) = GroupCosts::grouped(placement) else { return false };
    let costs = placement.group_costs();
    let through = 2 * costs.inside(most) + costs.rounds(ceiling_log(groups));
    through < costs.rounds(ceiling_log(costs.hosts))
}

/// How an allgather passes groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AllgatherWay {
    /// As the table says.
    Table,
    /// One host of each group collects the blocks of the group and distributes all.
    ByGroups,
    /// Around a ring that visits groups one after another.
    Ring,
}

/// Up to this many bytes the table has algorithms of few rounds.
const SHORT_ALLGATHER: u64 = 64 << 10;

/// How an allgather of `bytes` bytes in all blocks together goes.
pub(crate) fn way_of_allgather(placement: &Placement, bytes: i64) -> AllgatherWay {
    let Some((groups, most)) = GroupCosts::grouped(placement) else { return AllgatherWay::Table };
    let (costs, bytes) = (placement.group_costs(), bytes as u64);
    let once = bytes.saturating_mul(costs.crossing(|_| (1, 1)));
    let on_host = bytes.saturating_mul(costs.gap);
    // In the last rounds every host receives from outside its group.
    let table = costs
        .rounds(ceiling_log(costs.hosts))
        .saturating_add(on_host.max(bytes.saturating_mul(costs.crossing(|hosts| (hosts, hosts)))));
    // A block passes all hosts, and most of the way inside groups.
    let hop = costs.near.saturating_add(costs.message);
    let ring = costs
        .hosts
        .saturating_mul(hop)
        .saturating_add(costs.rounds(groups))
        .saturating_add(on_host.max(once));
    let through = (2 * costs.inside(most))
        .saturating_add(costs.rounds(ceiling_log(groups)))
        .saturating_add(on_host.saturating_mul(most).saturating_add(once));
    // The table has a ring for longer data, but one in the order of ranks.
    let short = (bytes <= SHORT_ALLGATHER).then_some((table, AllgatherWay::Table));
    let ways = [(through, AllgatherWay::ByGroups), (ring, AllgatherWay::Ring)];
    let all = short.into_iter().chain(ways);
    all.min_by_key(|way| way.0).map_or(AllgatherWay::Table, |way| way.1)
}

/// True if blocks of `bytes` bytes go to the root, or from it, by one host of each group. That
/// takes one more hop, and saves the root messages.
pub(crate) fn by_groups_to_root(placement: &Placement, bytes: i64) -> bool {
    let Some((groups, most)) = GroupCosts::grouped(placement) else { return false };
    let costs = placement.group_costs();
    let collected = (bytes as u64).saturating_mul(most).saturating_mul(costs.gap);
    costs.inside(most).saturating_add(collected)
        < costs.hosts.saturating_sub(groups) * costs.message
}

/// True if vectors of `bytes` bytes are folded group by group: each group adds its vectors to the
/// sum of the groups before it, so that one vector leaves each group, and one enters. Otherwise
/// hosts send their vectors to where they are folded, all to one host or in stripes. `to_all` if
/// all hosts get the result.
pub(crate) fn folds_by_groups(placement: &Placement, bytes: i64, to_all: bool) -> bool {
    let costs = placement.group_costs();
    if !placement.has_groups() || costs.sections.len() < 2 {
        return false;
    }
    let (bytes, hosts, sections) = (bytes as u64, costs.hosts, costs.sections.len() as u64);
    let ends = costs.sections.iter().skip(1).copied().chain([hosts as usize]);
    let most = costs.sections.iter().zip(ends).map(|(first, end)| (end - first) as u64).max();
    let most = most.unwrap_or(1);
    let transfer = |gap: Picoseconds| bytes.saturating_mul(gap);
    let result = if to_all { segments::time(placement, bytes as i64) } else { 0 };
    let crossing = costs.crossing(|_| (1, 1));
    // The first segment passes one group after another.
    let filling = (crossing.max(costs.gap) * (sections - 2)).saturating_add(costs.gap * most);
    let chain = costs
        .rounds(sections)
        .saturating_add(bytes.min(segments::LEAST as u64).saturating_mul(filling))
        .saturating_add(transfer((costs.gap * (most + 1)).max(crossing)))
        .saturating_add(result);
    let at_one = (costs.gap * (hosts - 1)).max(costs.crossing(|own| (own, hosts - own)));
    let star = costs
        .rounds(1)
        .saturating_add((hosts - 1) * costs.message)
        .saturating_add(transfer(at_one))
        .saturating_add(result);
    // Each host sends all but its own stripe, and then its stripe of the result: to all hosts, if
    // they are few, else to the next one of a ring.
    let is_direct = to_all && (hosts <= DIRECT as u64 || placement.has_leaves());
    let striped = (2 * costs.gap).max(costs.crossing(|own| {
        let share = (own * (hosts - own)).div_ceil(hosts);
        let all = if is_direct { 2 * share } else { share + 1 };
        (all, all)
    }));
    let stripes = costs
        .rounds(2)
        .saturating_add(2 * (hosts - 1) * costs.message)
        .saturating_add(transfer(striped));
    chain < star.min(stripes)
}

#[cfg(test)]
mod tests {
    use towpath_topology::{HostNetwork, NetworkHost};

    use super::*;

    #[test]
    fn messages_cost_what_the_slowest_host_that_is_no_leaf_needs() {
        let message = |processors: [u64; 3]| {
            let host = |processor| NetworkHost { processor, ..NetworkHost::default() };
            let hosts = processors.map(host).to_vec();
            let network = HostNetwork { hosts, uplinks: Vec::new() };
            GroupCosts::of(&Placement::new(0..3).on_network(&network)).message
        };
        let usual = message([1000; 3]);
        assert_eq!(message([2000; 3]), usual / 2);
        assert_eq!(message([1000, 1900, 1900]), usual);
        assert_eq!(message([500, 1000, 1000]), usual, "the first host is a leaf");
    }
}
