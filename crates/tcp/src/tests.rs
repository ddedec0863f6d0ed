//! Opening, refusing, leaving and losing connections, between wires in one process.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use towpath_base::ids::{JobId, PeerIndex, ProcessId};
use towpath_base::transfer::{Drain, MemorySpace, Source, Step, Target};

use super::frame::Frame;
use super::hello::{HELLO_BYTES, Hello, VERDICT_BYTES};
use super::{ConnectionKey, Link, Listener, PullRequest, Tcp, TcpContact};
use towpath_transport::{Header, MessageWire, RegionKey, RegionWire, Sink, Wire};

mod jobs;
mod strangers;

#[derive(Default)]
struct Inbox {
    arrived: Vec<(PeerIndex, u64)>,
    released: Vec<u64>,
    pulled: Vec<u64>,
    lost: Vec<PeerIndex>,
    left: Vec<PeerIndex>,
}

impl Sink for Inbox {
    fn arrived(&mut self, from: PeerIndex, header: &Header, _payload: *const u8, _length: usize) {
        self.arrived.push((from, header.words[0]));
    }
    fn released(&mut self, token: u64) {
        self.released.push(token);
    }
    fn pulled(&mut self, token: u64) {
        self.pulled.push(token);
    }
    fn lost(&mut self, peer: PeerIndex) {
        self.lost.push(peer);
    }
    fn left(&mut self, peer: PeerIndex) {
        self.left.push(peer);
    }
}

fn address(listener: &Listener) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], listener.port()))
}

/// A process of the job of these tests.
const fn process(rank: u32) -> ProcessId {
    ProcessId { job: JobId(5), rank }
}

fn key() -> ConnectionKey {
    ConnectionKey::of_secret(b"a test")
}

/// The address at which a wire listens.
fn address_of(wire: &Tcp) -> SocketAddr {
    let name = rustix::net::getsockname(wire.listener.as_ref().unwrap()).unwrap();
    SocketAddr::from(([127, 0, 0, 1], SocketAddr::try_from(name).unwrap().port()))
}

/// Wires of processes that all know each other.
fn wires(count: u32) -> Vec<(Tcp, Inbox)> {
    wires_of(process(0).job, &key(), count)
}

/// Wires of all processes of a job with this key.
fn wires_of(job: JobId, key: &ConnectionKey, count: u32) -> Vec<(Tcp, Inbox)> {
    let listeners: Vec<Listener> = (0..count).map(|_| Listener::open().unwrap()).collect();
    let addresses: Vec<SocketAddr> = listeners.iter().map(address).collect();
    let wire = |(own, listener)| {
        let far = (0..count).filter(|other| *other != own);
        let contact = |other: u32| TcpContact {
            peer: PeerIndex(other),
            process: ProcessId { job, rank: other },
            places: vec![addresses[other as usize]],
        };
        let own = ProcessId { job, rank: own };
        let wire = Tcp::new(listener, own, key.clone(), far.map(contact).collect()).unwrap();
        (wire, Inbox::default())
    };
    (0..count).zip(listeners).map(wire).collect()
}

fn send(wire: &mut Tcp, index: usize, number: u64) {
    let header = Header { protocol: 1, words: [number, 0] };
    // SAFETY: the payload has no bytes.
    unsafe { wire.copied_contiguous(index, &header, std::ptr::null(), 0) }.unwrap();
}

fn turn(wires: &mut [(Tcp, Inbox)]) {
    wires.iter_mut().for_each(|(wire, inbox)| {
        wire.progress(inbox);
    });
}

/// Makes progress on all wires until `done`.
fn until(wires: &mut [(Tcp, Inbox)], done: impl Fn(&[(Tcp, Inbox)]) -> bool) {
    let begin = Instant::now();
    while !done(wires) {
        turn(wires);
        assert!(begin.elapsed() < Duration::from_secs(60), "what was waited for did not come");
    }
}

fn turns(wires: &mut [(Tcp, Inbox)], count: usize) {
    (0..count).for_each(|_| turn(wires));
}

/// Opens a connection as a process of the job with this key would; returns the wire's answer to the
/// proof.
fn shake_hands(
    wire: &mut [(Tcp, Inbox)],
    place: SocketAddr,
    hello: Hello,
    key: &ConnectionKey,
) -> Option<(TcpStream, Vec<u8>)> {
    let mut stream = TcpStream::connect(place).unwrap();
    stream.write_all(&hello.encode(key)).unwrap();
    turns(wire, 100);
    stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let mut challenge = [0; 48];
    stream.read_exact(&mut challenge).ok()?;
    stream.write_all(&hello.proof(key, &challenge)?).unwrap();
    turns(wire, 100);
    let mut verdict = vec![0; VERDICT_BYTES];
    stream.read_exact(&mut verdict).ok()?;
    Some((stream, verdict))
}

/// One wire that knows process 1, which the test plays.
fn alone() -> (Vec<(Tcp, Inbox)>, SocketAddr) {
    let listener = Listener::open().unwrap();
    let place = address(&listener);
    let contacts = [1, 2].map(|peer| TcpContact {
        peer: PeerIndex(peer),
        process: process(peer),
        places: Vec::new(),
    });
    (
        vec![(Tcp::new(listener, process(0), key(), contacts.into()).unwrap(), Inbox::default())],
        place,
    )
}

/// One wire, process 1, that has a message for process 0, which the test plays.
fn facing(peer: &std::net::TcpListener) -> Vec<(Tcp, Inbox)> {
    let places = vec![peer.local_addr().unwrap()];
    let contact = TcpContact { peer: PeerIndex(0), process: process(0), places };
    let mut wire = Tcp::new(Listener::open().unwrap(), process(1), key(), vec![contact]).unwrap();
    send(&mut wire, 0, 77);
    vec![(wire, Inbox::default())]
}

const HELLO: Hello = Hello { from: process(1), to: process(0), nonce: [3; 16] };

/// The bytes of a message without payload.
fn message(number: u64) -> [u8; 24] {
    Frame::Message { protocol: 1, length: 0, words: [number, 0] }.encode()
}

#[test]
fn whoever_looks_seldom_sees_a_first_message_soon() {
    let mut wires = wires(2);
    send(&mut wires[1].0, 0, 5);
    let (first, second) = wires.split_at_mut(1);
    let mut looks = 0;
    while first[0].1.arrived.is_empty() {
        looks += 1;
        assert!(looks < 10, "nobody who computes most of the time would see it");
        // Longer than any spin between two polls; the sender waits all the time.
        let end = Instant::now() + Duration::from_millis(20);
        while Instant::now() < end {
            turn(second);
        }
        turn(first);
    }
}

#[test]
fn of_two_connections_one_is_kept() {
    for begun_by_the_first in [0, 1, 2, 3, 5, 9] {
        let mut wires = wires(2);
        send(&mut wires[0].0, 0, 10);
        turns(&mut wires[..1], begun_by_the_first);
        send(&mut wires[1].0, 0, 20);
        until(&mut wires, |wires| wires.iter().all(|(_, inbox)| inbox.arrived.len() == 1));
        send(&mut wires[0].0, 0, 11);
        send(&mut wires[1].0, 0, 21);
        until(&mut wires, |wires| wires.iter().all(|(_, inbox)| inbox.arrived.len() == 2));
        assert_eq!(wires[0].1.arrived, [(PeerIndex(1), 20), (PeerIndex(1), 21)]);
        assert_eq!(wires[1].1.arrived, [(PeerIndex(0), 10), (PeerIndex(0), 11)]);
        until(&mut wires, |wires| {
            wires.iter().all(|(wire, _)| wire.pending.len() == 0 && wire.opening.is_empty())
        });
        assert!(wires.iter().all(|(wire, inbox)| wire.open.len() == 1 && inbox.lost.is_empty()));
    }
}

#[test]
fn all_connect_to_all_at_the_same_time() {
    let mut wires = wires(8);
    for (wire, _) in &mut wires {
        (0..7).for_each(|index| send(wire, index, index as u64));
    }
    until(&mut wires, |wires| {
        wires.iter().all(|(wire, inbox)| inbox.arrived.len() == 7 && !wire.busy())
    });
}

#[test]
fn a_frame_that_makes_no_sense_ends_the_connection_with_a_sentence() {
    let senseless = [
        [0xff; 24],
        Frame::Data { number: 0, offset: 0, length: 10 }.encode(),
        Frame::Data { number: u32::MAX, offset: u64::MAX, length: u64::MAX }.encode(),
    ];
    for bytes in senseless {
        let (mut wire, place) = alone();
        let (mut stream, _) = shake_hands(&mut wire, place, HELLO, &key()).unwrap();
        stream.write_all(&bytes).unwrap();
        until(&mut wire, |wire| !wire[0].1.lost.is_empty());
        assert_eq!(wire[0].1.lost, [PeerIndex(1)]);
        let sentence = wire[0].0.losses().of(PeerIndex(1)).unwrap();
        assert!(sentence.starts_with("the connection to rank 1 is broken: it sent "), "{sentence}");
    }
}

#[test]
fn a_region_of_another_peer_is_not_given_away() {
    let (mut wire, place) = alone();
    let secret = [42u8; 100];
    let source = || Source::Bytes { pointer: secret.as_ptr(), length: 100 };
    // SAFETY: `secret` lives until the end of the test.
    let (of_other, own) =
        unsafe { (wire[0].0.publish(1, 1, source()), wire[0].0.publish(0, 2, source())) };
    let (mut stream, _) = shake_hands(&mut wire, place, HELLO, &key()).unwrap();
    for RegionKey([name, _]) in [of_other, own] {
        stream.write_all(&Frame::Pull { number: 9, name, wanted: u64::MAX }.encode()).unwrap();
    }
    turns(&mut wire, 200);
    let mut answer = [0; 24];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(Frame::decode(&answer), Ok(Frame::End { number: 9 }));
    // Its own region is sent up to its length, then ends.
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(Frame::decode(&answer), Ok(Frame::Data { number: 9, offset: 0, length: 100 }));
    let mut rest = [0; 124];
    stream.read_exact(&mut rest).unwrap();
    assert!(rest[..100] == secret && rest[100..] == Frame::End { number: 9 }.encode());
    assert_eq!(wire[0].1.released, [2]);
}

#[test]
fn more_data_than_was_asked_for_is_refused_and_stays_outside() {
    let (mut wire, place) = alone();
    let (mut stream, _) = shake_hands(&mut wire, place, HELLO, &key()).unwrap();
    let mut room = [0u8; 64];
    let target = Target::Bytes { pointer: room.as_mut_ptr(), length: 32 };
    // SAFETY: `room` lives until the end of the test.
    unsafe { wire[0].0.pull(0, RegionKey([0, 0]), 7, target) };
    stream.write_all(&Frame::Data { number: 0, offset: 0, length: 33 }.encode()).unwrap();
    stream.write_all(&[9; 200]).unwrap();
    until(&mut wire, |wire| !wire[0].1.lost.is_empty());
    assert!(room[32..] == [0; 32] && wire[0].1.pulled.is_empty());
}

#[test]
fn what_comes_in_the_place_of_data_is_read_all_the_same() {
    let (mut wire, place) = alone();
    let (mut stream, _) = shake_hands(&mut wire, place, HELLO, &key()).unwrap();
    let mut room = [0u8; 100];
    let target = Target::Bytes { pointer: room.as_mut_ptr(), length: 100 };
    // SAFETY: `room` lives until the end of the test.
    unsafe { wire[0].0.pull(0, RegionKey([0, 0]), 7, target) };
    let mut bytes = Vec::new();
    for number in 0..5 {
        bytes.extend(Frame::Message { protocol: 1, length: 3, words: [number, 0] }.encode());
        bytes.extend([1, 2, 3]);
    }
    let half = |offset| Frame::Data { number: 0, offset, length: 50 }.encode();
    bytes.extend(half(0));
    bytes.extend([8; 50]);
    bytes.extend(Frame::Message { protocol: 1, length: 0, words: [5, 0] }.encode());
    bytes.extend(half(50));
    bytes.extend([9; 50]);
    bytes.extend(Frame::Message { protocol: 1, length: 0, words: [6, 0] }.encode());
    // Cut into small pieces, at positions unrelated to the frames.
    stream.set_nodelay(true).unwrap();
    for piece in bytes.chunks(7) {
        stream.write_all(piece).unwrap();
        turns(&mut wire, 2);
    }
    until(&mut wire, |wire| wire[0].1.arrived.len() == 7);
    assert!(wire[0].1.arrived.iter().map(|(_, number)| *number).eq(0..7));
    assert!(room[..50] == [8; 50] && room[50..] == [9; 50] && wire[0].1.pulled == [7]);
}

#[test]
fn a_region_may_be_asked_for_otherwise_once_something_has_come_over_the_connection() {
    const LENGTH: usize = 3_000_000;
    let mut wires = wires(2);
    let bytes = vec![7; LENGTH];
    let mut room = vec![0; LENGTH];
    let mut pull = |wires: &mut [(Tcp, Inbox)],
                    token: u64,
                    otherwise: &mut dyn FnMut(&PullRequest) -> bool| {
        room.fill(0);
        // SAFETY: `bytes` and `room` live until the end of the test.
        unsafe {
            let key = wires[0].0.publish(
                0,
                token,
                Source::Bytes { pointer: bytes.as_ptr(), length: LENGTH },
            );
            let target = Target::Bytes { pointer: room.as_mut_ptr(), length: LENGTH };
            wires[1].0.pull_asking(0, key, token, target, otherwise);
        }
    };
    let ended = |wires: &[(Tcp, Inbox)], token: u64| wires[1].1.pulled.contains(&token);
    let too_early = &mut |_: &PullRequest| panic!("the peer may know nothing of the connection");
    pull(&mut wires, 1, too_early);
    until(&mut wires, |wires| ended(wires, 1));

    let mut asked = None;
    pull(&mut wires, 2, &mut |ask: &PullRequest| asked.replace(*ask).is_none());
    turns(&mut wires, 1000);
    assert!(
        !ended(&wires, 2) && wires[0].1.released == [1],
        "it was asked for by the connection all the same"
    );
    wires[0].0.asked(0, &asked.unwrap());
    until(&mut wires, |wires| ended(wires, 2) && wires[0].1.released == [1, 2]);

    pull(&mut wires, 3, &mut |_: &PullRequest| false);
    until(&mut wires, |wires| ended(wires, 3) && wires[0].1.released == [1, 2, 3]);
    assert!(
        room == bytes && wires.iter().all(|(wire, inbox)| !wire.busy() && inbox.lost.is_empty())
    );
}

/// An unpacker whose device is busy for some calls.
struct SlowUnpacker {
    busy: u32,
}

// SAFETY: `drain` accesses only its own fields.
unsafe impl Drain for SlowUnpacker {
    unsafe fn drain(&mut self, _from: *const u8, length: usize) -> Step {
        let is_busy = self.busy > 0;
        self.busy = self.busy.saturating_sub(1);
        if is_busy { Step::Pending } else { Step::Done(length) }
    }

    fn space(&self) -> MemorySpace {
        MemorySpace::Device
    }
}

#[test]
fn bytes_that_wait_for_a_device_need_no_others_to_follow() {
    for count in [2, 5] {
        let mut wires = wires(count);
        // Every process has a connection to every other one.
        wires.iter_mut().for_each(|(wire, _)| {
            (0..count as usize - 1).for_each(|index| send(wire, index, 1));
        });
        until(&mut wires, |wires| {
            wires.iter().all(|(_, inbox)| inbox.arrived.len() == count as usize - 1)
        });
        let bytes = [7; 100];
        // SAFETY: `bytes` lives until the end of the iteration, and the unpacker has no memory.
        unsafe {
            let source = Source::Bytes { pointer: bytes.as_ptr(), length: bytes.len() };
            let key = wires[0].0.publish(0, 1, source);
            let drain = Box::new(SlowUnpacker { busy: 50 });
            let target = Target::Unpacker { drain, length: bytes.len() };
            wires[1].0.pull(0, key, 2, target);
        }
        until(&mut wires, |wires| wires[1].1.pulled == [2]);
    }
}

#[test]
fn whoever_cannot_be_reached_is_lost_with_a_sentence() {
    let (mut wire, _) = alone();
    let nobody = address(&Listener::open().unwrap());
    wire[0].0.peers[0].contact.places = vec![nobody];
    send(&mut wire[0].0, 0, 1);
    send(&mut wire[0].0, 1, 1);
    until(&mut wire, |wire| wire[0].1.lost.len() == 2);
    let sentence = wire[0].0.losses().of(PeerIndex(1)).unwrap();
    assert!(sentence.starts_with(&format!("rank 1 cannot be reached: {nobody} (")), "{sentence}");
    assert_eq!(
        wire[0].0.losses().of(PeerIndex(2)).as_deref(),
        Some(
            "rank 2 cannot be reached: its host has published no address that is reachable from \
             this one"
        )
    );
    assert!(!wire[0].0.busy(), "a message to the lost peer still waits");
}

#[test]
fn the_connection_to_a_peer_that_was_found_lost_elsewhere_stays_open_for_a_while() {
    let mut wires = wires(2);
    for (from, to) in [(0, 1), (1, 0)] {
        send(&mut wires[from].0, 0, 1);
        until(&mut wires, |wires| wires[to].1.arrived.len() == 1);
    }
    let lost_at = Instant::now();
    wires[0].0.mark_lost(0);
    until(&mut wires, |wires| wires[0].1.lost == [PeerIndex(1)]);
    assert!(lost_at.elapsed() < Duration::from_secs(1), "this side knows at once");
    until(&mut wires, |wires| !wires[1].1.lost.is_empty());
    assert!(
        lost_at.elapsed() >= Duration::from_secs(2),
        "the other one took it for the end of the process"
    );
}

#[test]
fn a_connection_that_breaks_before_the_first_message_is_opened_again() {
    let mut wires = wires(2);
    send(&mut wires[0].0, 0, 1);
    until(&mut wires, |wires| wires[1].1.arrived.len() == 1);
    // Pretend that nothing was sent over it.
    wires[0].0.peers[0].output.written = 0;
    if let Link::Open(connection) = &mut wires[1].0.peers[0].link {
        connection.input.read = 0;
    }
    wires[0].0.broke(0, "a test");
    send(&mut wires[0].0, 0, 2);
    until(&mut wires, |wires| wires[1].1.arrived.len() == 2);
    assert!(wires.iter().all(|(_, inbox)| inbox.lost.is_empty()));
    // After that it is a loss.
    wires[0].0.broke(0, "a test");
    until(&mut wires, |wires| wires.iter().all(|(_, inbox)| inbox.lost.len() == 1));
    assert_eq!(
        wires[0].0.losses().of(PeerIndex(1)).as_deref(),
        Some("the connection to rank 1 is broken: a test")
    );
}

#[test]
fn a_process_that_ends_is_lost_and_one_that_leaves_is_not() {
    let mut wires = wires(3);
    (1..3).for_each(|from| send(&mut wires[from].0, 0, from as u64));
    until(&mut wires, |wires| wires[0].1.arrived.len() == 2);
    drop(wires.pop());
    until(&mut wires, |wires| wires[0].1.lost == [PeerIndex(2)]);
    wires.iter_mut().for_each(|(wire, _)| wire.leave());
    assert!(wires.iter().all(|(wire, _)| wire.busy()));
    until(&mut wires, |wires| wires.iter().all(|(wire, _)| !wire.busy()));
    assert!(wires[0].1.lost.len() == 1 && wires[1].1.lost.is_empty());
}

#[test]
fn whoever_waits_for_a_place_where_nobody_answers_takes_the_connection_of_the_peer() {
    let (mut wire, place) = alone();
    // The kernel accepts connections to this address, but no process answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    wire[0].0.peers[0].contact.places = vec![silent.local_addr().unwrap()];
    send(&mut wire[0].0, 0, 77);
    turns(&mut wire, 100);
    let (mut stream, verdict) = shake_hands(&mut wire, place, HELLO, &key()).unwrap();
    assert_eq!(verdict, b"accepted");
    let mut sent = [0; 24];
    stream.read_exact(&mut sent).unwrap();
    assert_eq!(sent, message(77));
    assert!(wire[0].0.opening.is_empty() && wire[0].0.open.len() == 1);
}

#[test]
fn refusals_of_a_peer_that_prefers_its_own_connection_do_not_count_as_failures() {
    let peer = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut wire = facing(&peer);
    let peer = std::thread::spawn(move || {
        for accepted in [false; 7].into_iter().chain([true]) {
            let (mut stream, _) = peer.accept().unwrap();
            let mut said = [0; HELLO_BYTES];
            stream.read_exact(&mut said).unwrap();
            let key = key();
            let (hello, key) = Hello::decode(&said, |_| Some(&key)).unwrap();
            stream.write_all(&hello.challenge(key, &[1; 16])).unwrap();
            stream.read_exact(&mut [0; 32]).unwrap();
            stream.write_all(&super::hello::verdict(accepted)).unwrap();
            if accepted {
                stream.read_exact(&mut said[..24]).unwrap();
                return Some((said[..24].to_vec(), stream));
            }
        }
        None
    });
    until(&mut wire, |wire| peer.is_finished() || !wire[0].1.lost.is_empty());
    assert!(wire[0].1.lost.is_empty(), "{:?}", wire[0].0.losses().of(PeerIndex(0)));
    assert_eq!(peer.join().unwrap().unwrap().0, message(77));
}

#[test]
fn whoever_closes_before_a_word_is_tried_for_long() {
    let peer = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut wire = facing(&peer);
    let peer = std::thread::spawn(move || (0..8).for_each(|_| drop(peer.accept().unwrap())));
    until(&mut wire, |wire| peer.is_finished() || !wire[0].1.lost.is_empty());
    assert!(wire[0].1.lost.is_empty(), "{:?}", wire[0].0.losses().of(PeerIndex(0)));
    // The attempts end when no process listens any more.
    until(&mut wire, |wire| !wire[0].1.lost.is_empty());
}

#[test]
fn who_has_lost_a_peer_is_lost_by_it_too() {
    let mut wires = wires(2);
    wires[0].0.mark_lost(0);
    send(&mut wires[1].0, 0, 1);
    until(&mut wires, |wires| !wires[1].1.lost.is_empty());
    let sentence = wires[1].0.losses().of(PeerIndex(0)).unwrap();
    assert!(sentence.contains("it considers this process lost"), "{sentence}");
}

#[test]
fn a_connection_that_breaks_before_the_first_message_is_opened_again_though_nothing_waits() {
    let mut wires = wires(2);
    send(&mut wires[0].0, 0, 1);
    until(&mut wires, |wires| wires[1].1.arrived.len() == 1);
    // The first process has written to the connection, but the second one has read nothing.
    if let Link::Open(connection) = &mut wires[1].0.peers[0].link {
        connection.input.read = 0;
    }
    wires[1].0.broke(0, "a test");
    until(&mut wires, |wires| wires.iter().all(|(_, inbox)| inbox.lost.len() == 1));
}

#[test]
fn a_copy_of_a_socket_in_a_forked_process_keeps_no_connection_open() {
    let mut wires = wires(2);
    send(&mut wires[0].0, 0, 1);
    until(&mut wires, |wires| wires[1].1.arrived.len() == 1);
    let Link::Open(connection) = &wires[1].0.peers[0].link else {
        panic!("the connection has gone")
    };
    let _copy = connection.socket.try_clone().unwrap();
    wires[0].0.leave();
    until(&mut wires, |wires| wires[1].0.has_left(0));
    until(&mut wires, |wires| !wires[0].0.busy());
}

#[test]
fn a_peer_that_asks_for_a_region_and_dies_leaves_nothing_to_wait_for() {
    let (mut wire, place) = alone();
    let bytes = [42u8; 100];
    let source = Source::Bytes { pointer: bytes.as_ptr(), length: 100 };
    // SAFETY: `bytes` lives until the end of the test.
    let RegionKey([name, _]) = unsafe { wire[0].0.publish(0, 1, source) };
    let (mut stream, _) = shake_hands(&mut wire, place, HELLO, &key()).unwrap();
    stream.write_all(&Frame::Pull { number: 9, name, wanted: 100 }.encode()).unwrap();
    stream.write_all(&[0xff; 24]).unwrap();
    drop(stream);
    until(&mut wire, |wire| wire[0].1.lost == [PeerIndex(1)]);
    turns(&mut wire, 100);
    assert!(!wire[0].0.busy() && wire[0].1.arrived.is_empty());
}

#[test]
fn what_a_peer_gave_back_before_it_left_is_free() {
    let mut wires = wires(2);
    let bytes = [42u8; 100];
    let source = Source::Bytes { pointer: bytes.as_ptr(), length: 100 };
    // SAFETY: `bytes` lives until the end of the test.
    let key = unsafe { wires[1].0.publish(0, 77, source) };
    // Nothing has been sent yet: the release opens the connection.
    let nothing = Target::Bytes { pointer: std::ptr::null_mut(), length: 0 };
    // SAFETY: a target of length 0 is never written to.
    unsafe { wires[0].0.pull(0, key, 5, nothing) };
    until(&mut wires, |wires| !wires[0].0.busy() && wires[0].1.pulled == [5]);
    assert!(wires[1].1.released.is_empty() || wires[1].1.released == [77]);
    // SAFETY: `bytes` lives until the end of the test.
    let key = unsafe {
        wires[1].0.publish(0, 78, Source::Bytes { pointer: bytes.as_ptr(), length: 100 })
    };
    let nothing = Target::Bytes { pointer: std::ptr::null_mut(), length: 0 };
    // SAFETY: a target of length 0 is never written to.
    unsafe { wires[0].0.pull(0, key, 6, nothing) };
    wires[0].0.leave();
    turns(&mut wires[..1], 100);
    until(&mut wires, |wires| wires[1].1.left == [PeerIndex(0)]);
    assert_eq!(wires[1].1.released, [77, 78], "both arrived before the goodbye");
}
