//! What joins given hosts, by number: the input of planners, which know no names.
//!
//! All figures are whole numbers, and two processes that have the same text and the same reports
//! get equal networks, so plans that depend on them fit together.

use std::collections::HashMap;

use crate::{DEFAULT_LATENCY, DEFAULT_RATE, GroupNumber, NetworkTopology};

/// Speed of the processors of an ordinary host.
pub const USUAL_SPEED: u64 = 1000;
/// Nanoseconds that a message between hosts costs such processors on each side: a system call that
/// sends or receives by TCP (two hosts on one machine, 2026-11-23).
pub const USUAL_OVERHEAD: u64 = 4_000;

/// A link of a host, or the uplink of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkLink {
    /// Bytes per second in each direction; [`u64::MAX`] if it limits nothing.
    pub rate: u64,
    /// Nanoseconds that it adds to a message.
    pub latency: u64,
    /// Whether both directions share the rate.
    pub half_duplex: bool,
}

impl NetworkLink {
    /// What limits nothing.
    const FREE: NetworkLink = NetworkLink { rate: u64::MAX, latency: 0, half_duplex: false };

    /// This link and another one behind it.
    #[must_use]
    pub fn and(self, other: NetworkLink) -> NetworkLink {
        NetworkLink {
            rate: self.rate.min(other.rate),
            latency: self.latency.saturating_add(other.latency),
            half_duplex: self.half_duplex || other.half_duplex,
        }
    }
}

/// A host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkHost {
    /// Its link to its innermost group.
    pub link: NetworkLink,
    /// Whether a process there may lead others.
    pub leads: bool,
    /// Speed of its processors, in thousandths of the usual.
    pub processor: u64,
    /// The groups around it by number, outermost first.
    pub groups: Vec<usize>,
}

/// Hosts by number, and the groups around them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostNetwork {
    /// The hosts.
    pub hosts: Vec<NetworkHost>,
    /// The uplinks of groups.
    pub uplinks: Vec<NetworkLink>,
}

impl Default for NetworkHost {
    /// A host about which nothing is known.
    fn default() -> NetworkHost {
        let link = NetworkLink { rate: DEFAULT_RATE, latency: DEFAULT_LATENCY, half_duplex: false };
        NetworkHost { link, leads: true, processor: USUAL_SPEED, groups: Vec::new() }
    }
}

impl HostNetwork {
    /// The same with other rates of the hosts' links in bytes per second, by number; 0 changes
    /// nothing.
    #[must_use]
    pub fn with_rates(mut self, rates: &[u64]) -> HostNetwork {
        for (host, &rate) in self.hosts.iter_mut().zip(rates).filter(|(_, rate)| **rate > 0) {
            host.link.rate = rate;
        }
        self
    }

    /// Some of the hosts, numbered anew, with the groups that make a difference among them: those
    /// that contain several of the hosts, but not all. The uplink of a group that contains one of
    /// them belongs to the link of that host, and that of a group around the same hosts as one
    /// inside it to the inner one.
    #[must_use]
    pub fn of(&self, hosts: impl Iterator<Item = usize>) -> HostNetwork {
        let mut hosts: Vec<NetworkHost> =
            hosts.map(|host| self.hosts.get(host).cloned().unwrap_or_default()).collect();
        let mut number = vec![0usize; self.uplinks.len()];
        hosts.iter().flat_map(|host| &host.groups).for_each(|&group| number[group] += 1);
        let all = hosts.len();
        let (mut uplinks, mut known) = (Vec::new(), HashMap::new());
        for host in &mut hosts {
            let mut kept: Vec<usize> = Vec::new();
            // What the next group inwards is to get; the host, if there is none.
            let mut above = NetworkLink::FREE;
            let around = std::mem::take(&mut host.groups);
            for (level, &group) in around.iter().enumerate() {
                above = if number[group] == all {
                    NetworkLink::FREE
                } else {
                    above.and(self.uplinks[group])
                };
                let inner = around.get(level + 1).map_or(1, |&inner| number[inner]);
                if number[group] == all || number[group] == inner {
                    continue;
                }
                kept.push(*known.entry(group).or_insert_with(|| {
                    uplinks.push(above);
                    uplinks.len() - 1
                }));
                above = NetworkLink::FREE;
            }
            host.link = host.link.and(above);
            host.groups = kept;
        }
        HostNetwork { hosts, uplinks }
    }
}

impl NetworkTopology {
    /// What joins the hosts with these names; `None` is one that the file does not name. `reported`
    /// are the rates that their systems report, in the same order; if it is shorter, others are
    /// unknown.
    pub fn network<'a>(
        &self,
        names: impl Iterator<Item = Option<&'a str>>,
        reported: &[u64],
    ) -> HostNetwork {
        let mut network = HostNetwork::default();
        let mut known: HashMap<GroupNumber, usize> = HashMap::new();
        for (number, name) in names.enumerate() {
            let link = name.map_or_else(|| self.usual_link(), |name| self.link(name));
            let link = link.or_reported(reported.get(number).copied());
            let around = name.map(|name| self.around(name)).into_iter().flatten();
            let mut groups: Vec<usize> = around
                .map(|group| {
                    *known.entry(group).or_insert_with(|| {
                        network.uplinks.push(self.uplink_in_numbers(group));
                        network.uplinks.len() - 1
                    })
                })
                .collect();
            groups.reverse();
            let processor = name.map_or(1.0, |name| self.processor(name).value);
            network.hosts.push(NetworkHost {
                link: NetworkLink {
                    rate: link.rate.value,
                    latency: link.latency.value,
                    half_duplex: link.half_duplex.value,
                },
                leads: name.is_none_or(|name| self.leads(name).value),
                processor: ((processor * USUAL_SPEED as f64) as u64).max(1),
                groups,
            });
        }
        network
    }

    fn uplink_in_numbers(&self, group: GroupNumber) -> NetworkLink {
        let uplink = self.uplink(group);
        NetworkLink {
            rate: uplink.rate.map_or(u64::MAX, |rate| rate.value),
            latency: uplink.latency.map_or(0, |latency| latency.value),
            half_duplex: uplink.half_duplex.is_some_and(|half_duplex| half_duplex.value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITES: &str = "[[group]]\nname = \"a\"\nhosts = \"h[0-1]\"\nrate = \"2GB\"\n\
                         [[group]]\nname = \"b\"\nhosts = \"h[2-3]\"\nlatency = \"5us\"\n\
                         [[group]]\nname = \"site\"\ngroups = [\"a\", \"b\"]\nhosts = \"h4\"\n\
                         rate = \"1GB\"\nlatency = \"1ms\"\n\
                         [[host]]\nhosts = \"h1\"\nleads = false\nprocessor = 0.1\n";

    fn network() -> HostNetwork {
        let names = ["h0", "h1", "h2", "h3", "h4", "x"];
        let topology = NetworkTopology::parse(SITES).unwrap();
        topology.network(names.into_iter().map(Some), &[7; 5])
    }

    #[test]
    fn hosts_have_the_figures_of_the_file_and_of_their_systems() {
        let network = network();
        assert_eq!(network.hosts.iter().map(|host| host.link.rate).collect::<Vec<_>>(), {
            let mut rates = vec![7; 5];
            rates.push(crate::DEFAULT_RATE);
            rates
        });
        assert!(network.hosts[0].leads && !network.hosts[1].leads);
        assert_eq!((network.hosts[0].processor, network.hosts[1].processor), (1000, 100));
        let groups: Vec<&[usize]> = network.hosts.iter().map(|host| &host.groups[..]).collect();
        assert_eq!(groups, [&[1, 0][..], &[1, 0], &[1, 2], &[1, 2], &[1], &[]]);
        assert_eq!(
            network.uplinks[1],
            NetworkLink { rate: 1_000_000_000, latency: 1_000_000, half_duplex: false }
        );
        assert_eq!(network.uplinks[2].rate, u64::MAX);
        let nameless = NetworkTopology::default().network(std::iter::repeat_n(None, 2), &[3]);
        assert_eq!((nameless.hosts[0].link.rate, nameless.hosts[1].leads), (3, true));
    }

    #[test]
    fn groups_that_make_no_difference_are_left_out() {
        let all = network();
        // The site contains all of them; the second rack one, whose link gets its uplink.
        let some = all.of([0, 1, 2].into_iter());
        assert_eq!(some.hosts[0].groups, some.hosts[1].groups);
        assert_eq!((some.uplinks.len(), some.hosts[2].groups.len()), (1, 0));
        assert_eq!(some.uplinks[0], all.uplinks[0]);
        assert_eq!(some.hosts[2].link.latency, all.hosts[2].link.latency + 5_000);
        // The site and the first rack are one group.
        let two = all.of([5, 1, 0].into_iter());
        assert_eq!((two.uplinks.len(), two.hosts[2].groups.len()), (1, 1));
        assert_eq!(
            two.uplinks[0],
            NetworkLink { rate: 1_000_000_000, latency: 1_000_000, half_duplex: false }
        );
        assert_eq!(all.of(0..6), all.of(0..6).of(0..6));
        // A lone host gets the uplinks of all its groups.
        let pair = all.of([5, 0].into_iter());
        assert_eq!((pair.uplinks.len(), pair.hosts[1].link.latency), (0, 20_000 + 1_000_000));
        assert_eq!(all.of([3].into_iter()).uplinks, []);
    }
}
