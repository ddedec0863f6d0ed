//! The card of a host: the interfaces on which it receives frames, and the ports of each of its
//! processes. Hosts exchange cards through the launcher; the interfaces that two of them have in
//! common become their rails.

#![forbid(unsafe_code)]

use std::net::IpAddr;

use crate::port::Address;
use towpath_clic::rails::MOST_RAILS;

/// Ports of a process on an interface: for small frames and for bulk.
pub type Ports = [u16; 2];

/// The card of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostCard {
    /// Its interfaces; the port numbers in these addresses are not used.
    pub interfaces: Vec<Address>,
    /// Ports by local rank and interface.
    pub ports: Vec<Vec<Ports>>,
}

/// A pair of interfaces, one of this host and one of another, that can reach each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facing {
    /// Index of this host's interface in its card.
    pub own: usize,
    /// Index of the other host's interface in its card.
    pub other: usize,
    /// They share a network, so raw Ethernet frames may get from one to the other.
    pub near: bool,
}

impl HostCard {
    /// Encodes the card as text: `interface,...;ports of a rank,...`, the ports on all interfaces
    /// as `small:bulk` joined by `+`.
    pub fn to_text(&self) -> String {
        let interfaces: Vec<String> = self.interfaces.iter().map(Address::to_text).collect();
        let of_rank = |ports: &Vec<Ports>| {
            let pairs: Vec<String> =
                ports.iter().map(|[small, bulk]| format!("{small}:{bulk}")).collect();
            pairs.join("+")
        };
        let ports: Vec<String> = self.ports.iter().map(of_rank).collect();
        format!("{};{}", interfaces.join(","), ports.join(","))
    }

    /// Parses a card; `None` if the text is malformed.
    pub fn parse(text: &str) -> Option<HostCard> {
        let (interfaces, ports) = text.split_once(';')?;
        let filled = |text: &'_ str| {
            text.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect()
        };
        let (interfaces, ports): (Vec<String>, Vec<String>) = (filled(interfaces), filled(ports));
        let interfaces: Vec<Address> =
            interfaces.iter().map(|text| Address::parse(text)).collect::<Option<_>>()?;
        let pair = |text: &str| {
            let (small, bulk) = text.split_once(':')?;
            Some([small.parse().ok()?, bulk.parse().ok()?])
        };
        let of_rank = |text: &String| text.split('+').map(pair).collect::<Option<Vec<Ports>>>();
        let ports: Vec<Vec<Ports>> = ports.iter().map(of_rank).collect::<Option<_>>()?;
        ports
            .iter()
            .all(|ports| ports.len() == interfaces.len())
            .then_some(HostCard { interfaces, ports })
    }

    /// The address of a local rank on an interface; `None` if the card contains no such rank or
    /// interface.
    pub fn address(&self, rank: usize, interface: usize) -> Option<Address> {
        let [port, bulk_port] = *self.ports.get(rank)?.get(interface)?;
        Some(Address { port, bulk_port, ..*self.interfaces.get(interface)? })
    }

    /// The endpoint number of a local rank, which the host's packet filter matches: the first of
    /// its ports.
    pub fn endpoint(&self, rank: usize) -> Option<u16> {
        Some(self.ports.get(rank)?.first()?[0])
    }

    /// Pairs up the interfaces of this host and another one. Both hosts compute the same pairs in
    /// the same order, by network. Without a common network, the pair is the first interface of
    /// each, which a router may connect.
    pub fn facing(&self, other: &HostCard) -> Vec<Facing> {
        let mut pairs: Vec<(IpAddr, Facing)> = Vec::new();
        for (own, here) in self.interfaces.iter().enumerate() {
            let is_free = |place: usize, pairs: &[(IpAddr, Facing)]| {
                pairs.iter().all(|(_, pair)| pair.other != place)
            };
            let theirs = other.interfaces.iter().enumerate().find(|(place, there)| {
                there.network.prefix == here.network.prefix
                    && here.network.holds(&there.network.address)
                    // Container bridges have the same address on every host, and do not connect
                    // them.
                    && (here.network.address != there.network.address || here.network.address.is_loopback())
                    && is_free(*place, &pairs)
            });
            if let Some((place, there)) = theirs {
                let lower = here.network.address.min(there.network.address);
                pairs.push((lower, Facing { own, other: place, near: !lower.is_loopback() }));
            }
        }
        pairs.sort_by_key(|(lower, _)| *lower);
        if pairs.is_empty() && !self.interfaces.is_empty() && !other.interfaces.is_empty() {
            return vec![Facing { own: 0, other: 0, near: false }];
        }
        pairs.into_iter().map(|(_, pair)| pair).take(MOST_RAILS).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn card(interfaces: &[&str]) -> HostCard {
        let interfaces = interfaces
            .iter()
            .map(|text| format!("-/{text}/0/0/1500/0"))
            .collect::<Vec<_>>()
            .join(",");
        HostCard::parse(&format!("{interfaces};")).unwrap()
    }

    #[test]
    fn interfaces_face_each_other_by_network_and_both_hosts_agree() {
        let one = card(&["10.77.1.1/24", "10.77.0.1/24", "192.168.0.1/24"]);
        let other = card(&["10.77.0.2/24", "10.77.1.2/24", "172.16.0.1/16"]);
        let there = |own, other| Facing { own, other, near: true };
        assert_eq!(one.facing(&other), [there(1, 0), there(0, 1)]);
        assert_eq!(other.facing(&one), [there(0, 1), there(1, 0)]);
        assert_eq!(one.facing(&card(&["10.0.0.1/8"])), [Facing { own: 0, other: 0, near: false }]);
        assert_eq!(one.facing(&card(&[])), []);
        let bridged = card(&["172.17.0.1/16", "10.77.0.1/24"]);
        assert_eq!(bridged.facing(&card(&["172.17.0.1/16", "10.77.0.2/24"])), [there(1, 1)]);
        let local = card(&["127.0.0.1/8"]);
        assert_eq!(
            local.facing(&local),
            [Facing { own: 0, other: 0, near: false }],
            "no frames below IP on the loopback"
        );
    }

    #[test]
    fn nonsense_is_no_card() {
        let right = "-/10.0.0.1/8/0/0/1500/0;4000:4001,4002:4003";
        let read = HostCard::parse(right).unwrap();
        assert_eq!(read.to_text(), right);
        assert_eq!((read.endpoint(1), read.endpoint(2)), (Some(4002), None));
        assert_eq!(read.address(1, 0).unwrap().bulk_port, 4003);
        for wrong in [
            "",
            "-/10.0.0.1/8/0/0/1500/0",
            "x;",
            "-/10.0.0.1/8/0/0/1500/0;1",
            "-/10.0.0.1/8/0/0/1500/0;1:2+3:4",
        ] {
            assert_eq!(HostCard::parse(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_card_or_refused(text in "[0-9a-f.:/,;+-]{0,80}") {
            if let Some(card) = HostCard::parse(&text) {
                prop_assert!(card.facing(&card).len() <= card.interfaces.len());
            }
        }
    }
}
