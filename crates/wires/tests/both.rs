//! Peers that both CLIC and TCP reach: which wire requests are sent over, and what the end of the
//! connection means for both.

use std::time::{Duration, Instant};

use towpath_base::ids::{JobId, PeerIndex, ProcessId};
use towpath_base::transfer::{Source, Target};
use towpath_clic::key::FrameKey;
use towpath_clic_wire::port::{Port, RawSide, interfaces};
use towpath_clic_wire::{Clic, Identity};
use towpath_machine::memory::create_file;
use towpath_shm::{Segment, Settings};
use towpath_tcp::{ConnectionKey, Listener, Tcp, TcpContact};
use towpath_transport::{Header, MessageWire, RegionWire, Sink, Wire};
use towpath_wires::Wires;

const LENGTH: usize = 1 << 20;

#[derive(Default)]
struct Inbox {
    messages: usize,
    pulled: usize,
    released: usize,
    lost: Vec<PeerIndex>,
}

impl Sink for Inbox {
    fn arrived(&mut self, _: PeerIndex, _: &Header, _: *const u8, _: usize) {
        self.messages += 1;
    }
    fn released(&mut self, _: u64) {
        self.released += 1;
    }
    fn pulled(&mut self, _: u64) {
        self.pulled += 1;
    }
    fn lost(&mut self, peer: PeerIndex) {
        self.lost.push(peer);
    }
}

/// Two processes, nominally on different hosts, with CLIC and a TCP connection between them.
fn pair() -> Vec<(Wires, Inbox)> {
    pair_with(RawSide::Closed)
}

/// Like [`pair`]; CLIC uses UDP, whatever `raw` allows below IP.
fn pair_with(raw: RawSide) -> Vec<(Wires, Inbox)> {
    let interface = interfaces(Some("lo")).remove(0);
    let mut ports: Vec<Option<Port>> =
        (0..2).map(|_| Some(Port::open(&interface, None, raw).unwrap())).collect();
    let ends: Vec<_> =
        ports.iter().flatten().map(|port| (port.endpoint(), port.address())).collect();
    let listeners = [0, 1].map(|_| Listener::open().unwrap());
    let numbers = [listeners[0].port(), listeners[1].port()];
    let make = |(own, listener): (usize, Listener)| {
        let (peer, near) = (PeerIndex(1 - own as u32), PeerIndex(own as u32));
        let process = |peer: PeerIndex| ProcessId { job: JobId(5), rank: peer.0 };
        let places = vec![([127, 0, 0, 1], numbers[1 - own]).into()];
        let contact = TcpContact { peer, process: process(peer), places };
        let key = ConnectionKey::of_secret(b"a test");
        let tcp = Tcp::new(listener, process(near), key, vec![contact]).unwrap();
        let there = towpath_clic_wire::ClicContact {
            peer,
            endpoint: ends[1 - own].0,
            incarnation: 1,
            rails: vec![(0, ends[1 - own].1, false)],
        };
        let key = FrameKey([1, 2]);
        let identity =
            Identity { own: near, endpoint: ends[own].0, incarnation: 1, key, drowsy: false };
        let clic = Clic::new(identity, vec![ports[own].take().unwrap()], &[there]).unwrap();
        let segment = Segment::map(create_file("towpath-both").unwrap(), 1, 0).unwrap();
        let wires = Wires::of_host(segment, vec![near], Settings::default())
            .with_tcp(tcp)
            .with_clic(clic, |_| true);
        (wires, Inbox::default())
    };
    listeners.into_iter().enumerate().map(make).collect()
}

fn until(wires: &mut [(Wires, Inbox)], done: impl Fn(&[(Wires, Inbox)]) -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !done(wires) {
        wires.iter_mut().for_each(|(wires, inbox)| {
            wires.progress(inbox);
        });
        assert!(Instant::now() < end, "it waits for ever");
    }
}

fn say(wires: &mut Wires, to: u32) {
    let header = Header { protocol: 1, words: [0; 2] };
    // SAFETY: the payload is empty.
    unsafe { wires.short(PeerIndex(to), &header, std::ptr::null(), 0) }.unwrap();
}

/// Moves a large message from the first to the second process. Returns the number of CLIC frames
/// that requested it.
fn pull(wires: &mut [(Wires, Inbox)]) -> usize {
    let (bytes, mut room) = (vec![7; LENGTH], vec![0; LENGTH]);
    let (released, pulled) = (wires[0].1.released, wires[1].1.pulled);
    let sent = |wires: &[(Wires, Inbox)]| {
        wires[1].0.clic().unwrap().endpoint().peer(0).unwrap().under_way()
    };
    let before = sent(wires);
    // SAFETY: `bytes` and `room` live until the end of this function, when both sides are done.
    unsafe {
        let key = wires[0].0.publish(
            PeerIndex(1),
            1,
            Source::Bytes { pointer: bytes.as_ptr(), length: LENGTH },
        );
        wires[1].0.pull(
            PeerIndex(0),
            key,
            2,
            Target::Bytes { pointer: room.as_mut_ptr(), length: LENGTH },
        );
    }
    let frames = sent(wires) - before;
    until(wires, |wires| wires[0].1.released > released && wires[1].1.pulled > pulled);
    assert!(room.iter().all(|byte| *byte == 7));
    frames
}

/// Moves a large message from the first to the second process, and a small one back.
fn exchange(wires: &mut [(Wires, Inbox)]) {
    pull(wires);
    say(&mut wires[1].0, 0);
    until(wires, |wires| wires[0].1.messages == 1);
}

#[test]
fn what_a_connection_carries_is_asked_for_by_a_frame_once_something_has_come_over_it() {
    let mut wires = pair();
    assert_eq!([(); 4].map(|()| pull(&mut wires)), [0, 1, 1, 1]);
    // None of this is visible to the engine.
    assert_eq!((wires[0].1.messages, wires[0].1.released, wires[1].1.pulled), (0, 4, 4));
}

#[test]
fn the_end_of_a_connection_ends_the_peer_by_frames_too_and_is_told_once() {
    let mut wires = pair();
    exchange(&mut wires);
    // What the peer sends before it dies arrives.
    say(&mut wires[1].0, 0);
    say(&mut wires[0].0, 1);
    drop(wires.pop());
    let died = Instant::now();
    until(&mut wires, |wires| !wires[0].1.lost.is_empty());
    assert!(died.elapsed() < Duration::from_secs(5), "noticed after {:?} only", died.elapsed());
    let (wires, inbox) = &mut wires[0];
    (0..1000).for_each(|_| {
        wires.progress(inbox);
    });
    assert_eq!((&inbox.lost[..], inbox.messages), (&[PeerIndex(1)][..], 2));
    // Nothing that the dead peer owes is waited for.
    assert!(!wires.busy());
}

#[test]
fn what_a_peer_has_sent_before_it_dies_arrives_by_whatever_sockets() {
    for _ in 0..20 {
        let mut wires = pair_with(RawSide::Small);
        exchange(&mut wires);
        // Until CLIC assumes that no peer uses UDP in addition to raw frames.
        for _ in 0..10_000 {
            let (wires, inbox) = &mut wires[0];
            wires.progress(inbox);
        }
        say(&mut wires[1].0, 0);
        drop(wires.pop());
        until(&mut wires, |wires| !wires[0].1.lost.is_empty());
        assert_eq!(wires[0].1.messages, 2);
    }
}

#[test]
fn who_says_goodbye_by_a_connection_is_not_lost() {
    let mut wires = pair();
    exchange(&mut wires);
    say(&mut wires[1].0, 0);
    wires[1].0.leave();
    until(&mut wires, |wires| wires[0].1.messages == 2);
    for _ in 0..10_000 {
        wires.iter_mut().for_each(|(wires, inbox)| {
            wires.progress(inbox);
        });
    }
    assert_eq!(wires[0].1.lost, []);
    wires[0].0.leave();
    until(&mut wires, |wires| wires.iter().all(|(wires, _)| !wires.busy()));
}

#[test]
fn a_peer_that_somebody_else_knows_to_be_gone_is_lost_once_or_twice_but_on_both_wires() {
    let mut wires = pair();
    exchange(&mut wires);
    wires[0].0.mark_lost(PeerIndex(1));
    until(&mut wires[..1], |wires| !wires[0].1.lost.is_empty());
    assert!(wires[0].0.tcp().unwrap().is_lost(0) && wires[0].0.clic().unwrap().is_lost(0));
    assert!(!wires[0].0.busy());
}
