//! Relays: where blocks of all hosts go to all hosts, a host that is no leaf passes on for each one
//! that is ([`Placement::is_leaf`]).
//!
//! A leaf sends its block to its relay, one of its innermost group if possible; leaves take relays
//! in turn. The other blocks come from the relay too, so that they enter its group once, and by one
//! connection, which costs fewer acknowledgements. But where that would take the links of relays
//! longer than those of leaves, and there are no groups, each block comes from the host that has it
//! first.

use towpath_topology::NetworkHost;

use crate::cost::LinkCost;
use crate::placement_costs::Relays;
use crate::team::Placement;

impl Placement {
    /// The relays of the leaves.
    pub(crate) fn relays(&self) -> &Relays {
        self.costs.relays.get_or_init(|| Relays::of(self))
    }
}

impl Relays {
    /// None, among this many hosts.
    pub(crate) fn none(hosts: usize) -> Relays {
        let bundles = (0..hosts).map(|host| vec![host]).collect();
        Relays { bundles, places: (0..hosts).collect(), by_one: false }
    }

    /// The relays of a placement. The ring visits groups of hosts one after another.
    fn of(placement: &Placement) -> Relays {
        let (hosts, network) = (placement.hosts(), placement.network());
        let has_groups = placement.has_groups();
        let order = if has_groups { &placement.group_costs().ring[..] } else { &[] };
        let all = (0..hosts).map(|place| order.get(place).copied().unwrap_or(place));
        let (leaves, passing): (Vec<usize>, Vec<usize>) =
            all.partition(|&host| placement.is_leaf(host));
        let mut places = vec![0; hosts];
        passing.iter().enumerate().for_each(|(place, &host)| places[host] = place);
        let mut bundles: Vec<Vec<usize>> = passing.iter().map(|&host| vec![host]).collect();
        // The places of the relays in each group, and of all; and how many leaves have one of them.
        let outside = network.uplinks.len();
        let mut within: Vec<(Vec<usize>, usize)> = vec![Default::default(); outside + 1];
        for (place, &host) in passing.iter().enumerate() {
            let groups = network.hosts[host].groups.iter().copied();
            groups.chain([outside]).for_each(|group| within[group].0.push(place));
        }
        for leaf in leaves {
            let groups = network.hosts[leaf].groups.iter().rev().copied().chain([outside]);
            let nearest = groups.into_iter().find(|&group| !within[group].0.is_empty());
            let (relays, served) = &mut within[nearest.expect("one host is no leaf")];
            places[leaf] = relays[*served % relays.len()];
            *served += 1;
            bundles[places[leaf]].push(leaf);
        }
        let by_one = has_groups || have_time(&network.hosts, &bundles);
        Relays { bundles, places, by_one }
    }

    /// The relay of a leaf; any other host itself.
    pub(crate) fn relay(&self, host: usize) -> usize {
        self.bundles[self.places[host]][0]
    }

    /// The hosts of the bundle that is so many places before that of a host in the ring.
    pub(crate) fn before(&self, host: usize, places: usize) -> &[usize] {
        let number = self.bundles.len();
        &self.bundles[(self.places[host] + number - places) % number]
    }

    /// The leaves to which `host`, which is none, sends a block of another host, or its own one.
    pub(crate) fn given(&self, host: usize, block: usize) -> impl Iterator<Item = usize> {
        let has_it_first = self.places[block] == self.places[host];
        let own = &self.bundles[self.places[host]..][..1];
        let to = match (self.by_one, has_it_first) {
            (true, _) => own,
            (false, true) => &self.bundles[..],
            (false, false) => &[],
        };
        to.iter().flat_map(|bundle| &bundle[1..]).copied().filter(move |&leaf| leaf != block)
    }

    /// The hosts that send blocks to a leaf, each with the block, in the order in which they have
    /// them: those that wait for another leaf come last.
    pub(crate) fn givers(&self, leaf: usize) -> Vec<(usize, usize)> {
        let bundles = || (0..self.bundles.len()).map(|places| self.before(leaf, places));
        let giver = |bundle: &[usize]| if self.by_one { self.relay(leaf) } else { bundle[0] };
        let first = bundles().map(|bundle| (giver(bundle), bundle[0]));
        let relayed =
            bundles().flat_map(|bundle| bundle[1..].iter().map(move |&from| (giver(bundle), from)));
        first.chain(relayed.filter(|&(_, from)| from != leaf)).collect()
    }
}

/// True if links of relays carry everything for each of their leaves, and what goes around the
/// ring, in the time that a leaf's link takes.
fn have_time(hosts: &[NetworkHost], bundles: &[Vec<usize>]) -> bool {
    let gap = |&host: &usize| LinkCost::from(hosts[host].link).gap_per_byte;
    let least = bundles.iter().flat_map(|bundle| &bundle[1..]).map(gap).min();
    bundles.iter().all(|bundle| {
        let passages = bundle.len() as u64 + u64::from(hosts[bundle[0]].link.half_duplex);
        least.is_none_or(|least| gap(&bundle[0]).saturating_mul(passages) <= least)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, random_placement};

    #[test]
    fn leaves_take_relays_in_turn() {
        let slow = [0, 3, 4, 5];
        let placement =
            Placement::new(0..7).with_rates(|host| if slow.contains(&host) { 1 } else { 10 });
        let relays = placement.relays();
        assert_eq!(relays.bundles, [&[1, 0, 5][..], &[2, 3], &[6, 4]]);
        assert_eq!([0, 1, 4].map(|host| relays.relay(host)), [1, 1, 6]);
        assert_eq!(relays.before(3, 1), [1, 0, 5]);
        // A relay has the time to give its leaf all blocks.
        assert_eq!(relays.given(2, 1).collect::<Vec<_>>(), [3]);
        assert_eq!(relays.given(2, 3).count(), 0);
        let placement = placement.with_rates(|host| if slow.contains(&host) { 40 } else { 100 });
        let relays = placement.relays();
        assert_eq!(relays.given(2, 1).count(), 0);
        assert_eq!(relays.given(2, 3).collect::<Vec<_>>(), [0, 5, 4]);
    }

    #[test]
    fn each_leaf_gets_each_block_once() {
        let mut random = Random::new(1);
        for hosts in 1..30 {
            let placement = random_placement(&mut random, hosts);
            let relays = placement.relays();
            let mut all = relays.bundles.concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..hosts));
            let leaves = (0..hosts).filter(|&host| placement.is_leaf(host));
            for leaf in leaves {
                assert!(!placement.is_leaf(relays.relay(leaf)));
                let mut sent: Vec<(usize, usize)> = Vec::new();
                for host in (0..hosts).filter(|&host| !placement.is_leaf(host)) {
                    let blocks = (0..hosts).filter(|&b| relays.given(host, b).any(|to| to == leaf));
                    sent.extend(blocks.map(|block| (host, block)));
                }
                let mut givers = relays.givers(leaf);
                givers.sort_unstable();
                sent.sort_unstable();
                assert_eq!(givers, sent);
                let mut blocks: Vec<usize> = sent.iter().map(|one| one.1).collect();
                blocks.sort_unstable();
                assert!(blocks.into_iter().eq((0..hosts).filter(|&host| host != leaf)));
            }
        }
    }
}
