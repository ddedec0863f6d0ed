//! The card of a host: at which addresses its processes can be reached, and at which port each of them. Hosts exchange their
//! cards through the launcher.
//!
//! Which address to try first: one of a network in which this host has an address too; else in the order of the
//! card, which begins with the fastest link. An address that this host has itself (bridges of containers have the same
//! one everywhere) is not the other host's, and a loopback address leads to this host whoever has told it. Only hosts
//! that are two in name, in one network of one kernel, reach each other by such addresses.
#![forbid(unsafe_code)]

use std::net::{IpAddr, SocketAddr};

/// An address of a host and how many of its leading bits name the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// The address.
    pub address: IpAddr,
    /// Leading bits that all addresses of the network share.
    pub prefix: u8,
}

impl Network {
    /// Whether the other address lies in the same network.
    pub(crate) fn holds(&self, other: &IpAddr) -> bool {
        let differ = match (self.address, other) {
            (IpAddr::V4(own), IpAddr::V4(other)) => u128::from(own.to_bits() ^ other.to_bits()) << 96,
            (IpAddr::V6(own), IpAddr::V6(other)) => own.to_bits() ^ other.to_bits(),
            _ => return false,
        };
        differ.leading_zeros() >= u32::from(self.prefix)
    }
}

/// The card of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Card {
    /// Its addresses, the best one first.
    pub networks: Vec<Network>,
    /// The port of each of its processes, in the order of its local ranks.
    pub ports: Vec<u16>,
    /// Names the kernel and its network: hosts that are two in name only have it in common. Empty where nobody knows.
    pub machine: String,
}

impl Card {
    /// As text: `address/prefix,...;port,...;machine`.
    pub fn to_text(&self) -> String {
        let networks: Vec<String> = self.networks.iter().map(|n| format!("{}/{}", n.address, n.prefix)).collect();
        let ports: Vec<String> = self.ports.iter().map(u16::to_string).collect();
        format!("{};{};{}", networks.join(","), ports.join(","), self.machine)
    }

    /// Reads a card; `None` when the text is none.
    pub fn parse(text: &str) -> Option<Card> {
        let (networks, rest) = text.split_once(';')?;
        let (ports, machine) = rest.split_once(';').unwrap_or((rest, ""));
        let network = |text: &str| {
            let (address, prefix) = text.split_once('/')?;
            let network = Network { address: address.parse().ok()?, prefix: prefix.parse().ok()? };
            (network.prefix <= if network.address.is_ipv4() { 32 } else { 128 }).then_some(network)
        };
        let parts = |text: &'_ str| text.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let (networks, ports): (Vec<String>, Vec<String>) = (parts(networks), parts(ports));
        Some(Card {
            networks: networks.iter().map(|text| network(text)).collect::<Option<_>>()?,
            ports: ports.iter().map(|text| text.parse().ok()).collect::<Option<_>>()?,
            machine: machine.to_owned(),
        })
    }

    /// Where to look for the local rank `rank` of this host, seen from the host with the card `own`; the best place first.
    pub fn places(&self, rank: usize, own: &Card) -> Vec<SocketAddr> {
        let Some(&port) = self.ports.get(rank) else { return Vec::new() };
        let is_one_machine = !self.machine.is_empty() && self.machine == own.machine;
        let is_own = |network: &Network| own.networks.iter().any(|other| other.address == network.address);
        let leads_there = |network: &Network| is_one_machine || !(network.address.is_loopback() || is_own(network));
        let mut far: Vec<&Network> = self.networks.iter().filter(|network| leads_there(network)).collect();
        far.sort_by_key(|network| !own.networks.iter().any(|other| other.holds(&network.address)));
        far.into_iter().map(|network| SocketAddr::new(network.address, port)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn network(text: &str) -> Network {
        Card::parse(&format!("{text};")).unwrap().networks[0]
    }

    fn host(networks: &[&str], machine: &str) -> Card {
        Card { networks: networks.iter().map(|text| network(text)).collect(), ports: vec![], machine: machine.into() }
    }

    #[test]
    fn a_common_network_comes_first_and_own_addresses_never() {
        let card = Card::parse("172.17.0.1/16,192.168.5.9/24,10.1.2.3/8,fd00::3/64;4000,4001;there").unwrap();
        let own = host(&["10.9.9.9/8", "172.17.0.1/16"], "here");
        let places: Vec<String> = card.places(1, &own).iter().map(SocketAddr::to_string).collect();
        assert_eq!(places, ["10.1.2.3:4001", "192.168.5.9:4001", "[fd00::3]:4001"]);
        assert_eq!(card.places(0, &host(&["fd00::4/64"], "here"))[0].to_string(), "[fd00::3]:4000");
        assert!(card.places(2, &own).is_empty());
    }

    #[test]
    fn loopback_addresses_of_another_host_are_never_tried() {
        let card = Card::parse("127.0.0.1/8,127.1.2.3/8,::1/128;9;there").unwrap();
        for own in [host(&["10.9.9.9/8"], "here"), host(&["127.0.0.1/8", "::1/128"], "here"), host(&[], "")] {
            assert_eq!(card.places(0, &own), []);
        }
        let unknown = Card::parse("127.0.0.1/8,10.0.0.2/8;9").unwrap();
        assert_eq!(unknown.places(0, &host(&["127.0.0.1/8"], "")), ["10.0.0.2:9".parse().unwrap()]);
    }

    #[test]
    fn hosts_in_name_only_find_each_other() {
        let card = Card::parse("127.0.0.1/8;9;here").unwrap();
        assert_eq!(card.places(0, &host(&["127.0.0.1/8"], "here")), ["127.0.0.1:9".parse().unwrap()]);
    }

    #[test]
    fn nonsense_is_no_card() {
        for text in ["", "10.0.0.1/8", "10.0.0.1;1", "10.0.0.1/33;1", "fd00::1/129;1", "a/8;1", "10.0.0.1/8;65536"] {
            assert_eq!(Card::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_card_is_read_back(
            addresses in proptest::collection::vec((any::<IpAddr>(), 0u8..33), 0..5), ports: Vec<u16>, machine in "[0-9a-f-]{0,9}",
        ) {
            let networks = addresses.into_iter().map(|(address, prefix)| Network { address, prefix }).collect();
            let card = Card { networks, ports, machine };
            prop_assert_eq!(Card::parse(&card.to_text()), Some(card));
        }

        #[test]
        fn any_text_is_a_card_or_refused(text in "[0-9a-f.:/,;]{0,60}", own in any::<IpAddr>()) {
            if let Some(card) = Card::parse(&text) {
                let own = Card { networks: vec![Network { address: own, prefix: 9 }], ..Card::default() };
                let places = card.places(0, &own);
                prop_assert!(places.len() <= card.networks.len());
            }
        }
    }
}
