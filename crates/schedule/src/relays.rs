//! Relays: where blocks of all hosts go to all hosts, a host that is no leaf passes on for each one
//! that is ([`Placement::is_leaf`]).
//!
//! A leaf sends its block to its relay, a host of its innermost group; leaves take relays in turn.
//! The other blocks come from the relay too, so that they enter the group once, and by one
//! connection, which costs fewer acknowledgements. Leaves have no relays, and pass on like others,
//! where a group has only leaves, or where the link of a relay would be busy longer than a leaf's.

use towpath_topology::NetworkHost;

use crate::cost::LinkCost;
use crate::placement_costs::Relays;
use crate::team::Placement;

/// Of fewer bytes in all, the number of messages in a row counts, and not what a slow link carries.
pub(crate) const LONG: i64 = 64 << 10;

impl Placement {
    /// The relays of the leaves.
    pub(crate) fn relays(&self) -> &Relays {
        self.costs.relays.get_or_init(|| Relays::of(self))
    }
}

impl Relays {
    /// None, among hosts that a ring visits in this order.
    pub(crate) fn none(ring: impl IntoIterator<Item = usize>) -> Relays {
        let bundles: Vec<Vec<usize>> = ring.into_iter().map(|host| vec![host]).collect();
        let mut places = vec![0; bundles.len()];
        bundles.iter().enumerate().for_each(|(place, bundle)| places[bundle[0]] = place);
        Relays { bundles, places }
    }

    /// The relays of a placement. The ring visits groups of hosts one after another.
    fn of(placement: &Placement) -> Relays {
        let hosts = placement.hosts();
        let order = if placement.has_groups() { &placement.group_costs().ring[..] } else { &[] };
        let ring: Vec<usize> = if order.is_empty() { (0..hosts).collect() } else { order.to_vec() };
        Relays::of_leaves(placement, &ring)
            .filter(|relays| relays.have_time(&placement.network().hosts))
            .unwrap_or_else(|| Relays::none(ring))
    }

    /// A relay of its innermost group for each leaf; `None` if a group has only leaves.
    fn of_leaves(placement: &Placement, ring: &[usize]) -> Option<Relays> {
        let network = placement.network();
        let (leaves, passing): (Vec<usize>, Vec<usize>) =
            ring.iter().partition(|&&host| placement.is_leaf(host));
        let mut bundles: Vec<Vec<usize>> = passing.iter().map(|&host| vec![host]).collect();
        let mut places = vec![0; ring.len()];
        passing.iter().enumerate().for_each(|(place, &host)| places[host] = place);
        // The places of the relays by innermost group, and how many leaves have one of them.
        let outside = network.uplinks.len();
        let group = |host: usize| network.hosts[host].groups.last().copied().unwrap_or(outside);
        let mut within: Vec<(Vec<usize>, usize)> = vec![Default::default(); outside + 1];
        passing.iter().enumerate().for_each(|(place, &host)| within[group(host)].0.push(place));
        for leaf in leaves {
            let (relays, served) = &mut within[group(leaf)];
            if relays.is_empty() {
                return None;
            }
            places[leaf] = relays[*served % relays.len()];
            *served += 1;
            bundles[places[leaf]].push(leaf);
        }
        Some(Relays { bundles, places })
    }

    /// True if some leaf has a relay.
    pub(crate) fn serve_leaves(&self) -> bool {
        self.bundles.len() < self.places.len()
    }

    /// The most leaves that have the same relay.
    pub(crate) fn most_leaves(&self) -> usize {
        self.bundles.iter().map(Vec::len).max().map_or(0, |longest| longest - 1)
    }

    /// The relay of a leaf; any other host itself.
    pub(crate) fn relay(&self, host: usize) -> usize {
        self.bundles[self.places[host]][0]
    }

    /// The leaves whose relay is `host`.
    pub(crate) fn leaves_of(&self, host: usize) -> &[usize] {
        match &self.bundles[self.places[host]][..] {
            [relay, leaves @ ..] if *relay == host => leaves,
            _ => &[],
        }
    }

    /// The hosts of the bundle that is so many places before that of a host in the ring.
    pub(crate) fn before(&self, host: usize, places: usize) -> &[usize] {
        let number = self.bundles.len();
        &self.bundles[(self.places[host] + number - places) % number]
    }

    /// The blocks that a leaf gets from its relay, in the order in which that has them: those of
    /// other leaves come last.
    pub(crate) fn blocks_for(&self, leaf: usize) -> impl Iterator<Item = usize> {
        let bundles = move || (0..self.bundles.len()).map(move |places| self.before(leaf, places));
        let of_leaves = bundles().flat_map(|bundle| &bundle[1..]).copied();
        bundles().map(|bundle| bundle[0]).chain(of_leaves.filter(move |&from| from != leaf))
    }

    /// True if links of relays carry everything for each of their leaves, and what goes around the
    /// ring, in the time that a leaf's link takes.
    fn have_time(&self, hosts: &[NetworkHost]) -> bool {
        let gap = |&host: &usize| LinkCost::from(hosts[host].link).gap_per_byte;
        let least = self.bundles.iter().flat_map(|bundle| &bundle[1..]).map(gap).min();
        self.bundles.iter().all(|bundle| {
            let passages = bundle.len() as u64 + u64::from(hosts[bundle[0]].link.half_duplex);
            least.is_none_or(|least| gap(&bundle[0]).saturating_mul(passages) <= least)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, random_placement};

    fn of_rates(rates: &[u64]) -> Placement {
        Placement::new(0..rates.len() as u32).with_rates(|host| rates[host])
    }

    #[test]
    fn leaves_take_relays_in_turn() {
        let placement = of_rates(&[1, 10, 10, 1, 1, 1, 10]);
        let relays = placement.relays();
        assert_eq!(relays.bundles, [&[1, 0, 5][..], &[2, 3], &[6, 4]]);
        assert_eq!([0, 1, 4].map(|host| relays.relay(host)), [1, 1, 6]);
        assert_eq!(relays.before(3, 1), [1, 0, 5]);
        assert_eq!([1, 2, 3].map(|host| relays.leaves_of(host)), [&[0, 5][..], &[3], &[]]);
        assert_eq!(relays.blocks_for(3).collect::<Vec<_>>(), [2, 1, 6, 0, 5, 4]);
        assert_eq!((relays.serve_leaves(), relays.most_leaves()), (true, 2));
    }

    #[test]
    fn links_of_relays_are_busy_no_longer_than_those_of_leaves() {
        for (rates, serve) in [
            (&[4, 10, 10, 10][..], true),
            (&[5, 10, 10, 10], true),
            (&[4, 4, 4, 10], false),
            (&[2, 2, 2, 10], true),
            (&[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 10], false),
        ] {
            assert_eq!(of_rates(rates).relays().serve_leaves(), serve, "{rates:?}");
        }
    }

    #[test]
    fn each_leaf_gets_each_block_once() {
        let (mut random, mut served) = (Random::new(1), 0);
        for hosts in (0..20).flat_map(|_| 2..20) {
            let placement = random_placement(&mut random, hosts);
            let relays = placement.relays();
            let mut all = relays.bundles.concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..hosts));
            for leaf in (0..hosts).filter(|&host| relays.relay(host) != host) {
                served += 1;
                let groups = |host: usize| placement.network().hosts[host].groups.last();
                assert!(placement.is_leaf(leaf) && !placement.is_leaf(relays.relay(leaf)));
                assert_eq!(groups(leaf), groups(relays.relay(leaf)));
                assert!(relays.leaves_of(relays.relay(leaf)).contains(&leaf));
                let mut blocks: Vec<usize> = relays.blocks_for(leaf).collect();
                blocks.sort_unstable();
                assert!(blocks.into_iter().eq((0..hosts).filter(|&host| host != leaf)));
            }
        }
        assert!(served > 10, "{served} leaves");
    }
}
