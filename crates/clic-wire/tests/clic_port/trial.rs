//! Results of a trial on networks that pass only some of the frames.

use std::time::Duration;

use towpath_base::ids::PeerIndex;
use towpath_clic::key::FrameKey;
use towpath_clic_wire::port::{Port, RawSide};
use towpath_clic_wire::{Identity, Opposite, TrialTerms, try_ways};

use crate::hosts::{Hosts, ip, tool, with_hosts};

/// How long a trial waits where some paths work, even on a busy machine.
const LONG: Duration = Duration::from_secs(4);
/// How long a trial waits where none works.
const SHORT: Duration = Duration::from_millis(500);

/// The verdicts of two hosts about each other.
fn verdicts(ports: [Port; 2], patience: Duration) -> [u8; 2] {
    let ends = [&ports[0], &ports[1]].map(|port| (port.endpoint(), port.address()));
    let mut own = 0;
    let trials = ports.map(|port| {
        let (place, (endpoint, address)) = (own, ends[1 - own]);
        own += 1;
        std::thread::spawn(move || {
            let raw = port.without_raw().is_none().then(|| port.way(&address, true));
            let rails = vec![(0, [raw, Some(port.way(&address, false))])];
            let opposites = [Opposite { rank: 1 - place as u32, endpoint, rails }];
            let (peer, key) = (PeerIndex(place as u32), FrameKey([1, 2]));
            let identity =
                Identity { own: peer, endpoint: ends[place].0, incarnation: 1, key, drowsy: false };
            let terms = TrialTerms { number: 0, needed: 0, patience };
            try_ways(&identity, &mut [port], &opposites, terms).rails(0)[0]
        })
    });
    trials.map(|trial| trial.join().unwrap())
}

fn ports(hosts: &Hosts) -> [Port; 2] {
    [0, 1].map(|host| Port::open(&hosts.interface(host), None, RawSide::Small).unwrap())
}

#[test]
fn a_network_that_loses_the_longest_packets_is_not_used() {
    with_hosts("trial::a_network_that_loses_the_longest_packets_is_not_used", 2, 9000, |hosts| {
        assert_eq!(verdicts(ports(hosts), LONG), [3, 3]);
        // With the second MTU, a raw frame still passes if its body is no longer than what UDP
        // leaves room for.
        for mtu in [1500, 8990] {
            let ports = ports(hosts);
            hosts.enter(1);
            ip(&format!("link set eth mtu {mtu}")).unwrap();
            assert_eq!(verdicts(ports, SHORT), [0, 0], "{mtu}");
            ip("link set eth mtu 9000").unwrap();
        }
    });
}

#[test]
fn a_network_that_loses_trains_or_bulk_is_not_used() {
    with_hosts("trial::a_network_that_loses_trains_or_bulk_is_not_used", 2, 1500, |hosts| {
        hosts.enter(1);
        if let Err(reason) = tool("nft", "add table ip wall") {
            return println!("skipped: {reason}");
        }
        tool("nft", "add chain ip wall arrive { type filter hook input priority 0 ; }").unwrap();
        // Trains come from the port for bulk; bulk is sent to the peer's port for bulk.
        for (end, host) in [("sport", 0), ("dport", 1)] {
            let ports = ports(hosts);
            let port = ports[host].address().bulk_port;
            hosts.enter(1);
            tool("nft", &format!("add rule ip wall arrive udp {end} {port} drop")).unwrap();
            assert_eq!(verdicts(ports, LONG), [0, 3], "{end}");
        }
    });
}
