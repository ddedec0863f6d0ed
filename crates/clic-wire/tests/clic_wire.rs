//! CLIC as a wire, alone: the descriptor to sleep on, and what is copied.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use towpath_base::ids::PeerIndex;
use towpath_base::transfer::{Fill, Source, Step, Target};
use towpath_clic::key::FrameKey;
use towpath_clic_wire::port::{Address, Port, RawSide, interfaces};
use towpath_clic_wire::{Clic, ClicContact, Identity};
use towpath_transport::{Header, Losses, MessageWire, RegionWire, Sink, Wire};

struct Nothing;

impl Sink for Nothing {
    fn arrived(&mut self, _: PeerIndex, _: &Header, _: *const u8, _: usize) {}
    fn released(&mut self, _: u64) {}
    fn pulled(&mut self, _: u64) {}
    fn lost(&mut self, _: PeerIndex) {}
}

/// Counts completions.
#[derive(Default)]
struct Ends {
    released: u32,
    pulled: u32,
}

impl Sink for Ends {
    fn arrived(&mut self, _: PeerIndex, _: &Header, _: *const u8, _: usize) {}
    fn released(&mut self, _: u64) {
        self.released += 1;
    }
    fn pulled(&mut self, _: u64) {
        self.pulled += 1;
    }
    fn lost(&mut self, _: PeerIndex) {}
}

/// Records messages by the first word of their headers.
#[derive(Default)]
struct Heard(Vec<u64>);

impl Sink for Heard {
    fn arrived(&mut self, _: PeerIndex, header: &Header, bytes: *const u8, length: usize) {
        // SAFETY: the wire passes a payload that is readable for `length` bytes during this call.
        let bytes = unsafe { std::slice::from_raw_parts(bytes, length) };
        assert_eq!(bytes, pattern(length, header.words[0] as usize));
        self.0.push(header.words[0]);
    }
    fn released(&mut self, _: u64) {}
    fn pulled(&mut self, _: u64) {}
    fn lost(&mut self, _: PeerIndex) {}
}

/// Two wires connected by UDP, and their addresses.
fn pair() -> ([Clic; 2], [Address; 2]) {
    pair_with(RawSide::Closed)
}

/// Like [`pair`], with this raw side opened; frames are sent by UDP regardless.
fn pair_with(raw: RawSide) -> ([Clic; 2], [Address; 2]) {
    let interface = interfaces(Some("lo")).remove(0);
    let ports = [(); 2].map(|()| Port::open(&interface, None, raw).unwrap());
    let ends = [0, 1].map(|rank: usize| (ports[rank].endpoint(), ports[rank].address()));
    let mut ports = ports.into_iter();
    let wires = [0, 1].map(|own: usize| {
        let [(endpoint, _), (other_endpoint, other)] = [ends[own], ends[1 - own]];
        let contact = ClicContact {
            peer: PeerIndex(1 - own as u32),
            endpoint: other_endpoint,
            incarnation: 1,
            rails: vec![(0, other, false)],
        };
        let (own, key) = (PeerIndex(own as u32), FrameKey([1, 2]));
        let identity = Identity { own, endpoint, incarnation: 1, key, drowsy: false };
        Clic::new(identity, ports.next().into_iter().collect(), &[contact]).unwrap()
    });
    (wires, ends.map(|(_, address)| address))
}

fn pattern(length: usize, seed: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 7 + at / 251 + seed) as u8).collect()
}

/// Transfers regions with these contents from the first wire to the second, all at the same time,
/// and compares the result.
fn fetch_all([from, to]: &mut [Clic; 2], contents: &[Vec<u8>], source: impl Fn(&[u8]) -> Source) {
    let mut places: Vec<Vec<u8>> = contents.iter().map(|bytes| vec![0; bytes.len()]).collect();
    for (token, (bytes, place)) in (0..).zip(contents.iter().zip(&mut places)) {
        let target = Target::Bytes { pointer: place.as_mut_ptr(), length: place.len() };
        // SAFETY: `contents` and `places` outlive the transfers, which the loop below waits for.
        unsafe {
            let key = from.publish(0, token, source(bytes));
            to.pull(0, key, token, target);
        }
    }
    let (mut sender, mut receiver, begin) = (Ends::default(), Ends::default(), Instant::now());
    let all = contents.len() as u32;
    while (sender.released, receiver.pulled) != (all, all) {
        from.progress(&mut sender);
        to.progress(&mut receiver);
        assert!(
            begin.elapsed() < Duration::from_secs(30),
            "{} and {} of {all}",
            sender.released,
            receiver.pulled
        );
    }
    assert!(places == contents, "other bytes came");
}

/// Packs contiguous bytes.
struct Row(Vec<u8>);

// SAFETY: it reads only its own bytes, and writes at most `capacity` bytes.
unsafe impl Fill for Row {
    unsafe fn fill(&mut self, into: *mut u8, capacity: usize) -> Step {
        let step: Vec<u8> = self.0.drain(..capacity.min(self.0.len())).collect();
        // SAFETY: `step` has at most `capacity` bytes, for which `into` is writable (contract of
        // `Fill::fill`).
        unsafe { into.copy_from_nonoverlapping(step.as_ptr(), step.len()) };
        Step::Done(step.len())
    }
}

#[test]
fn what_is_sent_is_copied_once_or_not_at_all_and_arrives_whole() {
    let lengths = [1, 1000, 61_439, 65_536, 100_001, 1 << 20, 3_000_001];
    let contents: Vec<Vec<u8>> =
        (0..).zip(lengths).map(|(seed, length)| pattern(length, seed)).collect();
    let all = lengths.iter().sum::<usize>() as u64;
    for copies in [false, true] {
        let mut wires = pair().0.map(|wire| wire.copying(copies));
        fetch_all(&mut wires, &contents, |bytes| Source::Bytes {
            pointer: bytes.as_ptr(),
            length: bytes.len(),
        });
        let copied = wires[0].copied_before_sending();
        // Frames that were lost in transit were sent, and copied, again.
        assert!(
            if copies { copied >= all } else { copied == 0 },
            "{copied} bytes of {all} were copied ({copies})"
        );
        fetch_all(&mut wires, &contents, |bytes| Source::Packer {
            fill: Box::new(Row(bytes.to_vec())),
            length: bytes.len(),
        });
        assert_eq!(wires[0].copied_before_sending(), copied, "what was packed is copied already");
        assert_eq!(wires[1].copied_before_sending(), 0, "a receiver sends none of it");
    }
}

fn is_readable(clic: &Clic) -> bool {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(&clic.descriptor(), PollFlags::IN)], Some(&at_once)).unwrap() > 0
}

#[test]
fn bulk_that_nobody_waits_for_keeps_nobody_awake() {
    let ([mut clic, _other], [address, _]) = pair();
    let stranger = UdpSocket::bind((address.network.address, 0)).unwrap();
    for _ in 0..20 {
        stranger.send_to(&[0; 500], (address.network.address, address.bulk_port)).unwrap();
    }
    assert!(is_readable(&clic));
    let begin = Instant::now();
    while is_readable(&clic) {
        clic.progress(&mut Nothing);
        clic.fall_asleep();
        assert!(begin.elapsed() < Duration::from_secs(10), "it would never sleep again");
    }
}

/// Sends a message with this number, once there is room for it.
fn send(from: &mut Clic, number: u64, length: usize) {
    let (header, bytes) =
        (Header { protocol: 1, words: [number, 0] }, pattern(length, number as usize));
    let fill = |into: *mut u8| {
        // SAFETY: the wire has reserved `length` bytes at `into`.
        unsafe { into.copy_from_nonoverlapping(bytes.as_ptr(), length) };
    };
    while from.copied(0, &header, length, fill).is_err() {
        from.progress(&mut Nothing);
    }
}

#[test]
fn whoever_is_woken_takes_what_came_by_whatever_socket() {
    let ([mut from, mut to], _) = pair_with(RawSide::Small);
    for number in 0..20 {
        // Until the UDP side seems unused next to the raw one.
        for _ in 0..10_000 {
            to.progress(&mut Nothing);
        }
        to.fall_asleep();
        send(&mut from, number, 100);
        from.progress(&mut Nothing);
        assert!(is_readable(&to));
        let mut heard = Heard::default();
        to.progress(&mut heard);
        assert_eq!(heard.0, [number]);
    }
}

/// Polls until this many messages have arrived, or nothing has arrived for a while.
fn hear(to: &mut Clic, heard: &mut Heard, most: usize) {
    let mut since = Instant::now();
    while heard.0.len() < most && since.elapsed() < Duration::from_millis(300) {
        if to.progress(heard) {
            since = Instant::now();
        }
    }
}

#[test]
fn messages_to_a_busy_peer_wait_for_each_other_until_the_next_look() {
    let ([mut from, mut to], _) = pair();
    let mut heard = Heard::default();
    let all: Vec<u64> = (0..100).collect();
    for number in &all {
        send(&mut from, *number, 100);
    }
    hear(&mut to, &mut heard, all.len());
    assert!(
        (84..100).contains(&heard.0.len()),
        "{} of 100 messages went out at once",
        heard.0.len()
    );
    from.progress(&mut Nothing);
    hear(&mut to, &mut heard, all.len());
    assert_eq!(heard.0, all);
}

#[test]
fn messages_of_all_lengths_come_whole_and_in_order() {
    let ([mut from, mut to], _) = pair();
    let (mut heard, mut sent) = (Heard::default(), 0);
    let limit = from.copied_limit(0);
    for round in 0..200 {
        for length in [0, 1, 1400, 9000, 20_000 + round, limit].map(|length| length.min(limit)) {
            send(&mut from, sent, length);
            sent += 1;
            to.progress(&mut heard);
        }
    }
    let begin = Instant::now();
    while from.busy() || heard.0.len() < sent as usize {
        from.progress(&mut Nothing);
        to.progress(&mut heard);
        assert!(begin.elapsed() < Duration::from_secs(30), "{} of {sent}", heard.0.len());
    }
    assert_eq!(heard.0, (0..sent).collect::<Vec<u64>>());
}

#[test]
fn whoever_is_given_up_by_a_living_peer_can_say_so() {
    let ([mut gives_up, other], _) = pair();
    let losses = Losses::default();
    let (mut other, mut heard) = (other.noting_in(losses.clone()), Heard::default());
    send(&mut gives_up, 0, 8);
    hear(&mut other, &mut heard, 1);
    gives_up.mark_lost(0);
    let begin = Instant::now();
    while losses.of(PeerIndex(0)).is_none() {
        gives_up.progress(&mut Nothing);
        send(&mut other, 0, 8);
        other.progress(&mut Nothing);
        assert!(begin.elapsed() < Duration::from_secs(30), "no reason was noted");
    }
    assert!(losses.of(PeerIndex(0)).unwrap().starts_with("rank 0 has given up on this rank"));
}
