//! Connections from outside the job, or from impostors: they are never accepted, memory and
//! descriptors stay bounded, and the job loses nothing.

use std::collections::VecDeque;
use std::sync::Arc;

use towpath_base::sync::{AtomicBool, Ordering};

use super::*;

/// Maximum number of pending connections that are kept, in jobs of three processes.
const MOST: usize = super::super::socket::MAX_PENDING + 2;

/// Sends a hello and waits for the challenge.
fn say_hello(wire: &mut [(Tcp, Inbox)], stream: &mut TcpStream, hello: Hello) -> [u8; 48] {
    stream.write_all(&hello.encode(&key())).unwrap();
    turns(wire, 100);
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut challenge = [0; 48];
    stream.read_exact(&mut challenge).unwrap();
    challenge
}

/// Sends the proof for a challenged hello and returns the verdict.
fn prove(
    wire: &mut [(Tcp, Inbox)],
    stream: &mut TcpStream,
    hello: Hello,
    challenge: &[u8; 48],
) -> Vec<u8> {
    stream.write_all(&hello.proof(&key(), challenge).unwrap()).unwrap();
    turns(wire, 100);
    let mut verdict = vec![0; VERDICT_BYTES];
    stream.read_exact(&mut verdict).unwrap();
    verdict
}

/// A connection from another address of this host.
fn connect_from(address: [u8; 4], to: SocketAddr) -> TcpStream {
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddr::from((address, 0))).unwrap();
    connect(&socket, &to).unwrap();
    socket.into()
}

#[test]
fn whoever_does_not_know_the_key_gets_nothing() {
    let (mut wire, place) = alone();
    assert!(shake_hands(&mut wire, place, HELLO, &ConnectionKey::of_secret(b"another")).is_none());
    // The right key, but a hello for another process, and one from a process that the job does not
    // have.
    assert!(shake_hands(&mut wire, place, Hello { to: process(9), ..HELLO }, &key()).is_none());
    assert!(shake_hands(&mut wire, place, Hello { from: process(7), ..HELLO }, &key()).is_none());
    turns(&mut wire, 200);
    assert!(wire[0].0.open.is_empty() && wire[0].1.arrived.is_empty() && wire[0].1.lost.is_empty());
    // With the key, the first hello is accepted: it failed at the check of the key.
    let (_stream, verdict) = shake_hands(&mut wire, place, HELLO, &key()).unwrap();
    assert_eq!(verdict, b"accepted");
}

#[test]
fn a_recorded_hello_with_the_proof_of_another_key_is_refused() {
    let (mut wire, place) = alone();
    let mut stream = TcpStream::connect(place).unwrap();
    let challenge = say_hello(&mut wire, &mut stream, HELLO);
    let other = ConnectionKey::of_secret(b"another");
    let nonce = challenge.first_chunk().unwrap();
    let proof = HELLO.proof(&other, &HELLO.challenge(&other, nonce)).unwrap();
    stream.write_all(&proof).unwrap();
    turns(&mut wire, 100);
    assert_eq!(stream.read(&mut [0; VERDICT_BYTES]).unwrap(), 0, "a stranger is answered");
    assert!(wire[0].0.open.is_empty() && wire[0].0.pending.len() == 0);
    // The same hello with the right proof is accepted.
    let mut stream = TcpStream::connect(place).unwrap();
    let challenge = say_hello(&mut wire, &mut stream, HELLO);
    assert_eq!(prove(&mut wire, &mut stream, HELLO, &challenge), b"accepted");
}

#[test]
fn a_recorded_proof_is_worth_nothing_later() {
    let (mut wire, place) = alone();
    let mut stream = TcpStream::connect(place).unwrap();
    stream.write_all(&HELLO.encode(&key())).unwrap();
    turns(&mut wire, 100);
    let mut challenge = [0; 48];
    stream.read_exact(&mut challenge).unwrap();
    let recorded = HELLO.proof(&key(), &challenge).unwrap();
    drop(stream);
    let mut again = TcpStream::connect(place).unwrap();
    again.write_all(&HELLO.encode(&key())).unwrap();
    turns(&mut wire, 100);
    again.read_exact(&mut challenge).unwrap();
    again.write_all(&recorded).unwrap();
    turns(&mut wire, 100);
    again.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let mut verdict = [0; VERDICT_BYTES];
    assert!(again.read_exact(&mut verdict).is_err() && wire[0].0.open.is_empty());
}

#[test]
fn a_flood_of_strangers_is_bounded_and_keeps_nobody_out() {
    let (mut wire, place) = alone();
    let mut flood = Vec::new();
    for round in 0..500 {
        let mut stream = TcpStream::connect(place).unwrap();
        // Some are silent, some send a few bytes.
        if round % 2 == 0 {
            stream.write_all(&[round as u8; 10]).unwrap();
        }
        flood.push(stream);
        turns(&mut wire, 4);
    }
    turns(&mut wire, 100);
    assert!(wire[0].0.pending.len() <= MOST, "{}", wire[0].0.pending.len());
    let (mut stream, verdict) = shake_hands(&mut wire, place, HELLO, &key()).unwrap();
    assert_eq!(verdict, b"accepted");
    stream.write_all(&Frame::Message { protocol: 1, length: 0, words: [5, 0] }.encode()).unwrap();
    until(&mut wire, |wire| wire[0].1.arrived == [(PeerIndex(1), 5)]);
}

#[test]
fn frames_before_the_proof_are_not_looked_at() {
    let (mut wire, place) = alone();
    let mut hasty = TcpStream::connect(place).unwrap();
    let frames = [0, 1, 2, 3].map(message).concat();
    hasty.write_all(&frames).unwrap();
    let mut unproved = TcpStream::connect(place).unwrap();
    say_hello(&mut wire, &mut unproved, HELLO);
    unproved.write_all(&frames).unwrap();
    turns(&mut wire, 200);
    assert_eq!((wire[0].0.open.len(), wire[0].0.pending.len(), wire[0].1.arrived.len()), (0, 0, 0));
    let (_stream, verdict) = shake_hands(&mut wire, place, HELLO, &key()).unwrap();
    assert_eq!(verdict, b"accepted");
}

#[test]
fn a_recorded_hello_said_many_times_keeps_nobody_out() {
    let (mut wire, place) = alone();
    let mut stream = TcpStream::connect(place).unwrap();
    let challenge = say_hello(&mut wire, &mut stream, HELLO);
    let recorded = Hello { from: process(2), nonce: [9; 16], ..HELLO }.encode(&key());
    let mut replayed = Vec::new();
    for _ in 0..300 {
        let mut stream = TcpStream::connect(place).unwrap();
        stream.write_all(&recorded).unwrap();
        replayed.push(stream);
        turns(&mut wire, 40);
    }
    assert!(wire[0].0.pending.len() <= MOST, "{}", wire[0].0.pending.len());
    assert_eq!(prove(&mut wire, &mut stream, HELLO, &challenge), b"accepted");
}

#[test]
fn a_flood_from_one_host_does_not_drive_those_of_another_away() {
    let (mut wire, place) = alone();
    let mut stream = TcpStream::connect(place).unwrap();
    turns(&mut wire, 40);
    let mut flood = Vec::new();
    for _ in 0..300 {
        flood.push(connect_from([127, 0, 0, 2], place));
        turns(&mut wire, 4);
    }
    turns(&mut wire, 100);
    assert!(wire[0].0.pending.len() <= MOST, "{}", wire[0].0.pending.len());
    let challenge = say_hello(&mut wire, &mut stream, HELLO);
    assert_eq!(prove(&mut wire, &mut stream, HELLO, &challenge), b"accepted");
}

#[test]
fn a_job_goes_on_through_a_flood() {
    const MESSAGES: u64 = 2000;
    let mut wires = wires(3);
    let place = address_of(&wires[0].0);
    let over = Arc::new(AtomicBool::new(false));
    let is_over = over.clone();
    let flood = std::thread::spawn(move || {
        let mut kept = VecDeque::new();
        let mut count = 0;
        while !is_over.load(Ordering::Relaxed) || count < 200 {
            let Ok(mut stream) = TcpStream::connect_timeout(&place, Duration::from_secs(5)) else {
                continue;
            };
            let _ = stream.write_all(&[count as u8; 80][..count % 81]);
            kept.push_back(stream);
            kept.truncate(500);
            count += 1;
        }
    });
    for number in 0..MESSAGES {
        // The second process opens its connection during the flood.
        let senders = if number < MESSAGES / 2 { 1 } else { 2 };
        wires.iter_mut().skip(1).take(senders).for_each(|(wire, _)| send(wire, 0, number));
        turn(&mut wires);
    }
    until(&mut wires, |wires| wires[0].1.arrived.len() as u64 == MESSAGES + MESSAGES / 2);
    over.store(true, Ordering::Relaxed);
    until(&mut wires, |_| flood.is_finished());
    let of = |peer: u32| {
        wires[0]
            .1
            .arrived
            .iter()
            .filter(move |(from, _)| *from == PeerIndex(peer))
            .map(|(_, number)| *number)
    };
    assert!(of(1).eq(0..MESSAGES) && of(2).eq(MESSAGES / 2..MESSAGES));
    assert!(wires.iter().all(|(wire, inbox)| inbox.lost.is_empty() && wire.pending.len() <= MOST));
}
