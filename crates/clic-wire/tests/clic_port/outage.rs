//! A wire whose interface goes down.

use std::time::{Duration, Instant};

use towpath_base::ids::PeerIndex;
use towpath_clic::key::FrameKey;
use towpath_clic_wire::port::{Port, RawSide};
use towpath_clic_wire::{Clic, ClicContact, Identity};
use towpath_transport::{Header, Losses, MessageWire, Sink, Wire};

use crate::hosts::{ip, with_hosts};

#[derive(Default)]
struct Inbox {
    arrived: usize,
    lost: Vec<PeerIndex>,
}

impl Sink for Inbox {
    fn arrived(&mut self, _: PeerIndex, _: &Header, _: *const u8, _: usize) {
        self.arrived += 1;
    }
    fn released(&mut self, _: u64) {}
    fn pulled(&mut self, _: u64) {}
    fn lost(&mut self, peer: PeerIndex) {
        self.lost.push(peer);
    }
}

/// The wires of two processes whose ports can reach each other.
fn wires(ports: [Port; 2], raw: bool, losses: &Losses) -> [Clic; 2] {
    let ends = [&ports[0], &ports[1]].map(|port| (port.endpoint(), port.address()));
    let mut own = 0;
    ports.map(|port| {
        let (endpoint, address) = ends[1 - own];
        let rails = vec![(0, address, raw)];
        let contact =
            ClicContact { peer: PeerIndex(1 - own as u32), endpoint, incarnation: 1, rails };
        let (key, peer) = (FrameKey([1, 2]), PeerIndex(own as u32));
        let identity =
            Identity { own: peer, endpoint: ends[own].0, incarnation: 1, key, drowsy: false };
        own += 1;
        Clic::new(identity, vec![port], &[contact]).unwrap().noting_in(losses.clone())
    })
}

fn send(wire: &mut Clic) {
    wire.copied(0, &Header { protocol: 1, words: [0; 2] }, 0, |_| {}).unwrap();
}

fn whoever_is_behind_it_is_lost(name: &str, raw: bool, words: &str) {
    with_hosts(name, 2, 1500, |hosts| {
        let ports = [0, 1].map(|host| {
            let side = if raw { RawSide::Small } else { RawSide::Closed };
            Port::open(&hosts.interface(host), None, side).unwrap()
        });
        let losses = Losses::default();
        let [mut sender, mut receiver] = wires(ports, raw, &losses);
        let (mut own, mut other) = (Inbox::default(), Inbox::default());
        let mut until = |sender: &mut Clic, done: &dyn Fn(&Inbox, &Inbox) -> bool| {
            let end = Instant::now() + Duration::from_secs(30);
            while !done(&own, &other) {
                sender.progress(&mut own);
                receiver.progress(&mut other);
                assert!(Instant::now() < end, "nothing happens any more");
            }
        };
        send(&mut sender);
        until(&mut sender, &|_, other| other.arrived == 1);
        hosts.enter(0);
        ip("link set eth down").unwrap();
        send(&mut sender);
        // It comes back soon enough: nothing is lost.
        let soon = Instant::now() + Duration::from_secs(1);
        until(&mut sender, &|own, _| Instant::now() > soon || !own.lost.is_empty());
        ip("link set eth up").unwrap();
        hosts.wait_for_link(0).unwrap();
        until(&mut sender, &|_, other| other.arrived == 2);
        ip("link set eth down").unwrap();
        send(&mut sender);
        until(&mut sender, &|own, _| !own.lost.is_empty());
        assert!(own.lost == [PeerIndex(1)] && other.arrived == 2);
        let sentence = losses.of(PeerIndex(1)).unwrap();
        assert_eq!(
            sentence,
            format!("rank 1 cannot be reached any more: eth accepts no frames ({words})")
        );
    });
}

#[test]
fn raw_frames_that_an_interface_refuses_lose_their_receiver() {
    let name = "outage::raw_frames_that_an_interface_refuses_lose_their_receiver";
    whoever_is_behind_it_is_lost(name, true, "Network is down (os error 100)");
}

#[test]
fn datagrams_that_an_interface_refuses_lose_their_receiver() {
    let name = "outage::datagrams_that_an_interface_refuses_lose_their_receiver";
    whoever_is_behind_it_is_lost(name, false, "Network is unreachable (os error 101)");
}
