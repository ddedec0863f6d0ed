//! The card of a host: on which interfaces frames reach it, and at which ports each of its
//! processes. Hosts exchange cards through the launcher; what two of them have in common are their
//! rails.

#![forbid(unsafe_code)]

use std::net::IpAddr;

use crate::port::Address;
use towpath_clic::rails::MOST_RAILS;

/// Ports of a process on an interface: for small frames, and for bulk.
pub type Ports = [u16; 2];

/// The card of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostCard {
    /// Its interfaces, with the ports of nobody.
    pub interfaces: Vec<Address>,
    /// By local rank and interface.
    pub ports: Vec<Vec<Ports>>,
}

/// Two interfaces that face each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facing {
    /// The one of the own host, as a number in its card.
    pub own: usize,
    /// The one of the other host.
    pub other: usize,
    /// They have a network in common, so frames below IP may get from one to the other.
    pub near: bool,
}

impl HostCard {
    /// As text: `interface,...;ports of a rank,...`, the ports on all interfaces as `small:bulk`
    /// joined by `+`.
    pub fn to_text(&self) -> String {
        let interfaces: Vec<String> = self.interfaces.iter().map(Address::to_text).collect();
        let of_rank = |ports: &Vec<Ports>| {
            let pairs: Vec<String> = ports.iter().map(|[small, bulk]| format!("{small}:{bulk}")).collect();
            pairs.join("+")
        };
        let ports: Vec<String> = self.ports.iter().map(of_rank).collect();
        format!("{};{}", interfaces.join(","), ports.join(","))
    }

    /// Reads a card; `None` when the text is none.
    pub fn parse(text: &str) -> Option<HostCard> {
        let (interfaces, ports) = text.split_once(';')?;
        let filled = |text: &'_ str| text.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let (interfaces, ports): (Vec<String>, Vec<String>) = (filled(interfaces), filled(ports));
        let interfaces: Vec<Address> = interfaces.iter().map(|text| Address::parse(text)).collect::<Option<_>>()?;
        let pair = |text: &str| {
            let (small, bulk) = text.split_once(':')?;
            Some([small.parse().ok()?, bulk.parse().ok()?])
        };
        let of_rank = |text: &String| text.split('+').map(pair).collect::<Option<Vec<Ports>>>();
        let ports: Vec<Vec<Ports>> = ports.iter().map(of_rank).collect::<Option<_>>()?;
        ports.iter().all(|ports| ports.len() == interfaces.len()).then_some(HostCard { interfaces, ports })
    }

    /// Where a local rank is reached on an interface; `None` when the card knows neither.
    pub fn address(&self, rank: usize, interface: usize) -> Option<Address> {
        let [port, bulk_port] = *self.ports.get(rank)?.get(interface)?;
        Some(Address { port, bulk_port, ..*self.interfaces.get(interface)? })
    }

    /// The number that the host's filter looks for on behalf of a local rank: the first of its
    /// ports.
    pub fn endpoint(&self, rank: usize) -> Option<u16> {
        Some(self.ports.get(rank)?.first()?[0])
    }

    /// Which interfaces of this host and another face each other. Both hosts find the same pairs in
    /// the same order: by network. Without a network in common, the first of both, which a router
    /// may connect.
    pub fn facing(&self, other: &HostCard) -> Vec<Facing> {
        let mut pairs: Vec<(IpAddr, Facing)> = Vec::new();
        for (own, here) in self.interfaces.iter().enumerate() {
            let is_free = |place: usize, pairs: &[(IpAddr, Facing)]| pairs.iter().all(|(_, pair)| pair.other != place);
            let theirs = other.interfaces.iter().enumerate().find(|(place, there)| {
                there.network.prefix == here.network.prefix
                    && here.network.holds(&there.network.address)
                    // Bridges of containers have the same address everywhere, and lead nowhere.
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
        let interfaces = interfaces.iter().map(|text| format!("-/{text}/0/0/1500/0")).collect::<Vec<_>>().join(",");
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
        for wrong in
            ["", "-/10.0.0.1/8/0/0/1500/0", "x;", "-/10.0.0.1/8/0/0/1500/0;1", "-/10.0.0.1/8/0/0/1500/0;1:2+3:4"]
        {
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
