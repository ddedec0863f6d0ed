//! The card of a host: the addresses of the host and the port of each of its processes. Hosts
//! exchange their cards through the launcher.
//!
//! Which address to try first: one in a network that this host is attached to as well; otherwise in
//! the order of the card, which starts with the fastest link. An address that this host also has
//! (container bridges have the same one everywhere) does not lead to the other host, and a loopback
//! address always leads to this host, whichever card contains it. Only hosts that share one kernel
//! and network namespace reach each other by such addresses.
//!
//! An IPv6 link-local address is valid on one link only. So it is tried over each interface that
//! has one, and only if the two hosts have no better addresses.
#![forbid(unsafe_code)]

use std::net::SocketAddr;

use towpath_machine::network::Network;

/// The card of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostAddresses {
    /// Its addresses, the best one first.
    pub networks: Vec<Network>,
    /// The port of each of its processes, in the order of local ranks.
    pub ports: Vec<u16>,
    /// Identifies the kernel and its network namespace: hosts that share both have the same value.
    /// Empty if unknown.
    pub machine: String,
}

impl HostAddresses {
    /// Encodes the card: `address/prefix,...;port,...;machine`.
    pub fn to_text(&self) -> String {
        let networks: Vec<String> = self.networks.iter().map(Network::to_string).collect();
        let ports: Vec<String> = self.ports.iter().map(u16::to_string).collect();
        format!("{};{};{}", networks.join(","), ports.join(","), self.machine)
    }

    /// Decodes a card; `None` if the text is malformed.
    pub fn parse(text: &str) -> Option<HostAddresses> {
        let (networks, rest) = text.split_once(';')?;
        let (ports, machine) = rest.split_once(';').unwrap_or((rest, ""));
        let parts = |text: &'_ str| {
            text.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect()
        };
        let (networks, ports): (Vec<String>, Vec<String>) = (parts(networks), parts(ports));
        Some(HostAddresses {
            networks: networks.iter().map(|text| Network::parse(text)).collect::<Option<_>>()?,
            ports: ports.iter().map(|text| text.parse().ok()).collect::<Option<_>>()?,
            machine: machine.to_owned(),
        })
    }

    /// The addresses of local rank `rank` of this host, as seen from the host with the card `own`;
    /// the best one first.
    pub fn places(&self, rank: usize, own: &HostAddresses) -> Vec<SocketAddr> {
        let Some(&port) = self.ports.get(rank) else { return Vec::new() };
        let is_one_machine = !self.machine.is_empty() && self.machine == own.machine;
        let is_own =
            |network: &Network| own.networks.iter().any(|other| other.address == network.address);
        let leads_there = |network: &Network| {
            is_one_machine || !(network.address.is_loopback() || is_own(network))
        };
        let (on_link, mut far): (Vec<&Network>, Vec<&Network>) = self
            .networks
            .iter()
            .filter(|network| leads_there(network))
            .partition(|network| network.is_link_local());
        let is_routed =
            far.iter().any(|there| own.networks.iter().any(|here| here.is_routed_to(there)));
        if !is_routed && !on_link.is_empty() {
            let over = |there: &Network| -> Vec<SocketAddr> {
                own.scopes(*there, is_one_machine)
                    .map(|scope| there.socket_address(port, scope))
                    .collect()
            };
            return on_link.into_iter().flat_map(over).collect();
        }
        far.sort_by_key(|network| !own.networks.iter().any(|other| other.holds(&network.address)));
        far.into_iter().map(|network| network.socket_address(port, 0)).collect()
    }

    /// The interfaces of this host over which a link-local address may be reachable.
    fn scopes(&self, there: Network, is_own: bool) -> impl Iterator<Item = u32> {
        let on_link = self.networks.iter().filter(|network| network.is_link_local());
        on_link
            .filter(move |network| !is_own || network.address == there.address)
            .map(|network| network.scope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::IpAddr;

    fn network(text: &str) -> Network {
        Network::parse(text).unwrap()
    }

    fn host(networks: &[&str], machine: &str) -> HostAddresses {
        HostAddresses {
            networks: networks.iter().map(|text| network(text)).collect(),
            ports: vec![],
            machine: machine.into(),
        }
    }

    #[test]
    fn a_common_network_comes_first_and_own_addresses_never() {
        let card = HostAddresses::parse(
            "172.17.0.1/16,192.168.5.9/24,10.1.2.3/8,fd00::3/64;4000,4001;there",
        )
        .unwrap();
        let own = host(&["10.9.9.9/8", "172.17.0.1/16"], "here");
        let places: Vec<String> = card.places(1, &own).iter().map(SocketAddr::to_string).collect();
        assert_eq!(places, ["10.1.2.3:4001", "192.168.5.9:4001", "[fd00::3]:4001"]);
        assert_eq!(card.places(0, &host(&["fd00::4/64"], "here"))[0].to_string(), "[fd00::3]:4000");
        assert!(card.places(2, &own).is_empty());
    }

    #[test]
    fn loopback_addresses_of_another_host_are_never_tried() {
        let card = HostAddresses::parse("127.0.0.1/8,127.1.2.3/8,::1/128;9;there").unwrap();
        for own in [
            host(&["10.9.9.9/8"], "here"),
            host(&["127.0.0.1/8", "::1/128"], "here"),
            host(&[], ""),
        ] {
            assert_eq!(card.places(0, &own), []);
        }
        let unknown = HostAddresses::parse("127.0.0.1/8,10.0.0.2/8;9").unwrap();
        assert_eq!(unknown.places(0, &host(&["127.0.0.1/8"], "")), ["10.0.0.2:9".parse().unwrap()]);
    }

    #[test]
    fn link_local_addresses_are_tried_over_own_links_where_nothing_else_leads_there() {
        let card = HostAddresses::parse("10.1.2.3/8,fe80::3/64;9;there").unwrap();
        let mut own = host(&["fe80::1/64", "fe80::2/64"], "here");
        (own.networks[0].scope, own.networks[1].scope) = (4, 7);
        let text =
            |places: Vec<SocketAddr>| places.iter().map(SocketAddr::to_string).collect::<Vec<_>>();
        assert_eq!(text(card.places(0, &own)), ["[fe80::3%4]:9", "[fe80::3%7]:9"]);
        own.networks.push(network("10.9.9.9/8"));
        assert_eq!(text(card.places(0, &own)), ["10.1.2.3:9"]);
        // Two hosts that share a kernel and network namespace.
        let itself = HostAddresses {
            ports: vec![9],
            networks: own.networks[..2].to_vec(),
            machine: "here".into(),
        };
        assert_eq!(text(itself.places(0, &itself)), ["[fe80::1%4]:9", "[fe80::2%7]:9"]);
    }

    #[test]
    fn hosts_in_name_only_find_each_other() {
        let card = HostAddresses::parse("127.0.0.1/8;9;here").unwrap();
        assert_eq!(
            card.places(0, &host(&["127.0.0.1/8"], "here")),
            ["127.0.0.1:9".parse().unwrap()]
        );
    }

    #[test]
    fn nonsense_is_no_card() {
        for text in [
            "",
            "10.0.0.1/8",
            "10.0.0.1;1",
            "10.0.0.1/33;1",
            "fd00::1/129;1",
            "a/8;1",
            "10.0.0.1/8;65536",
        ] {
            assert_eq!(HostAddresses::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_card_is_read_back(
            addresses in proptest::collection::vec((any::<IpAddr>(), 0u8..33), 0..5), ports: Vec<u16>, machine in "[0-9a-f-]{0,9}",
        ) {
            let networks = addresses.into_iter().map(|(address, prefix)| Network::new(address, prefix)).collect();
            let card = HostAddresses { networks, ports, machine };
            prop_assert_eq!(HostAddresses::parse(&card.to_text()), Some(card));
        }

        #[test]
        fn any_text_is_a_card_or_refused(text in "[0-9a-f.:/,;]{0,60}", own in any::<IpAddr>()) {
            if let Some(card) = HostAddresses::parse(&text) {
                let own = HostAddresses { networks: vec![Network::new(own, 9)], ..HostAddresses::default() };
                let places = card.places(0, &own);
                prop_assert!(places.len() <= card.networks.len());
            }
        }
    }
}
