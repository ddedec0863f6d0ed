//! Wires over sockets of this machine, between ranks that are nominally on several hosts.

use towpath_base::ids::{JobId, PeerIndex, ProcessId};
use towpath_clic::key::FrameKey;
use towpath_clic_wire::port::{Port, RawSide, interfaces};
use towpath_clic_wire::{Clic, Identity};
use towpath_machine::memory::create_file;
use towpath_machine::network::networks;
use towpath_shm::{Segment, Settings};
use towpath_tcp::{ConnectionKey, HostAddresses, Listener, Tcp, TcpContact};
use towpath_wires::Wires;

/// The wires of `ranks` ranks on hosts of `per_host` ranks each.
pub(crate) fn tcp_wires(ranks: usize, per_host: usize, settings: Settings) -> Vec<Wires> {
    let mut listeners: Vec<Option<Listener>> =
        (0..ranks).map(|_| Some(Listener::open().unwrap())).collect();
    let own = HostAddresses {
        networks: networks(Some("lo")),
        machine: "here".to_owned(),
        ..HostAddresses::default()
    };
    let ports: Vec<u16> = listeners.iter().flatten().map(Listener::port).collect();
    let cards: Vec<HostAddresses> = ports
        .chunks(per_host)
        .map(|ports| HostAddresses { ports: ports.to_vec(), ..own.clone() })
        .collect();
    let key = ConnectionKey::of_secret(b"a test");
    let mut wires = Vec::new();
    for first in (0..ranks).step_by(per_host) {
        let file = create_file("towpath-conformance").unwrap();
        let near: Vec<PeerIndex> =
            (first..ranks.min(first + per_host)).map(|rank| PeerIndex(rank as u32)).collect();
        for local in 0..near.len() {
            let segment = Segment::map(&file, near.len(), local).unwrap();
            let far = (0..ranks).filter(|rank| rank / per_host != first / per_host);
            let process = |rank: usize| ProcessId { job: JobId(5), rank: rank as u32 };
            let contact = |rank: usize| TcpContact {
                peer: PeerIndex(rank as u32),
                process: process(rank),
                places: cards[rank / per_host].places(rank % per_host, &own),
            };
            let listener = listeners[first + local].take().unwrap();
            let own = process(first + local);
            let tcp = Tcp::new(listener, own, key.clone(), far.map(contact).collect()).unwrap();
            wires.push(Wires::of_host(segment, near.clone(), settings).with_tcp(tcp));
        }
    }
    wires
}

/// Like [`tcp_wires`], with CLIC over UDP. Every third rank copies before it sends.
pub(crate) fn clic_wires(ranks: usize, per_host: usize, settings: Settings) -> Vec<Wires> {
    let interface = interfaces(Some("lo")).remove(0);
    let mut ports: Vec<Option<Port>> =
        (0..ranks).map(|_| Some(Port::open(&interface, None, RawSide::Closed).unwrap())).collect();
    let ends: Vec<_> =
        ports.iter().flatten().map(|port| (port.endpoint(), port.address())).collect();
    let mut wires = Vec::new();
    for first in (0..ranks).step_by(per_host) {
        let file = create_file("towpath-conformance").unwrap();
        let near: Vec<PeerIndex> =
            (first..ranks.min(first + per_host)).map(|rank| PeerIndex(rank as u32)).collect();
        for local in 0..near.len() {
            let segment = Segment::map(&file, near.len(), local).unwrap();
            let contact = |rank: usize| towpath_clic_wire::ClicContact {
                peer: PeerIndex(rank as u32),
                endpoint: ends[rank].0,
                incarnation: 1,
                rails: vec![(0, ends[rank].1, false)],
            };
            let far: Vec<_> = (0..ranks)
                .filter(|rank| rank / per_host != first / per_host)
                .map(contact)
                .collect();
            let (own, key) = (first + local, FrameKey([1, 2]));
            let identity = Identity {
                own: near[local],
                endpoint: ends[own].0,
                incarnation: 1,
                key,
                drowsy: local % 2 == 1,
            };
            let clic = Clic::new(identity, vec![ports[own].take().unwrap()], &far)
                .unwrap()
                .copying(own % 3 == 1);
            wires.push(Wires::of_host(segment, near.clone(), settings).with_clic(clic, |_| false));
        }
    }
    wires
}
