//! Random placements for tests.

use std::collections::HashMap;

use towpath_topology::{HostNetwork, NetworkHost, NetworkLink};

use crate::team::Placement;

/// Numbers that look random, the same in every run (splitmix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }

    fn link(&mut self) -> NetworkLink {
        NetworkLink {
            rate: [12_500_000, 125_000_000, 1_250_000_000][self.below(3)],
            latency: [0, 5_000, 20_000, 10_000_000][self.below(4)],
            half_duplex: self.below(4) == 0,
        }
    }
}

/// One rank on each of `hosts` hosts, which [`random_network`] joins.
pub(crate) fn random_placement(random: &mut Random, hosts: usize) -> Placement {
    Placement::new(0..hosts as u32).on_network(&random_network(random, hosts))
}

/// Hosts in random groups of up to three levels, with random links, leaders and processors. In half
/// of the cases groups are consecutive.
pub(crate) fn random_network(random: &mut Random, hosts: usize) -> HostNetwork {
    let depth = random.below(4);
    let is_spread = random.below(2) == 0;
    let (few_lead, alike) = (random.below(4) == 0, random.below(2) == 0);
    let usual = random.link();
    let mut uplinks = Vec::new();
    let mut known: HashMap<Vec<usize>, usize> = HashMap::new();
    let mut host = |place: usize| {
        let levels = if random.below(5) == 0 { 0 } else { depth };
        // Half of the hosts, a quarter, an eighth.
        let path: Vec<usize> = (0..levels).map(|level| place * (2 << level) / hosts).collect();
        let groups = (1..=levels).map(|level| {
            *known.entry(path[..level].to_vec()).or_insert_with(|| {
                uplinks.push(random.link());
                uplinks.len() - 1
            })
        });
        let groups = groups.collect();
        NetworkHost {
            link: if alike { usual } else { random.link() },
            leads: if few_lead { random.below(4) == 0 } else { alike || random.below(4) > 0 },
            processor: if alike || random.below(4) > 0 { 1000 } else { 100 },
            groups,
        }
    };
    let place = |number: usize| if is_spread { number * 7 % hosts } else { number };
    let hosts = (0..hosts).map(|number| host(place(number))).collect();
    HostNetwork { hosts, uplinks }
}
