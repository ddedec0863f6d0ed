//! The wire between endpoints in one process, with the providers that need no hardware. Without
//! libfabric nothing is tested, but a library that TOWPATH_LIBFABRIC names must exist.

use std::time::Duration;

use super::*;
use crate::transfers::OfiPull;
use towpath_base::transfer::{Source, Target};
use towpath_machine::network::networks;
use towpath_transport::{Header, MessageWire, RegionWire, Wire};

#[derive(Default)]
struct Inbox {
    arrived: Vec<(PeerIndex, u64, Vec<u8>)>,
    released: Vec<u64>,
    pulled: Vec<u64>,
    lost: Vec<PeerIndex>,
}

impl Sink for Inbox {
    fn arrived(&mut self, from: PeerIndex, header: &Header, payload: *const u8, length: usize) {
        // SAFETY: `payload` is readable for `length` bytes (contract of `Sink::arrived`).
        let bytes = unsafe { std::slice::from_raw_parts(payload, length) };
        self.arrived.push((from, header.words[0], bytes.to_vec()));
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
}

type Station = (Ofi, Inbox);

fn key() -> FabricKey {
    FabricKey::of_secret(b"a test")
}

/// The shm provider of libfabric 2 fails when endpoints in one process read each other's memory;
/// between processes it works.
fn shm_bears_one_process(library: Option<&str>) -> bool {
    library::Libfabric::open(library).is_ok_and(|library| library.version().0 == 1)
}

/// Runs a test with every available provider.
fn over_each_provider(test: impl Fn(&str, &ProviderChoice)) {
    let named = std::env::var("TOWPATH_LIBFABRIC").ok();
    for provider in ["tcp", "shm"] {
        if provider == "shm" && !shm_bears_one_process(named.as_deref()) {
            continue;
        }
        match choose_from(named.as_deref(), Some(provider), &networks(Some("lo"))) {
            Ok(choice) => test(provider, &choice.unwrap()),
            Err(reason) if named.is_some() => panic!("{reason}"),
            Err(reason) => eprintln!("not tested over {provider}: {reason}"),
        }
    }
}

/// Wires with these keys, each of which knows all others.
fn wires_with_keys(choice: &ProviderChoice, keys: &[FabricKey]) -> Vec<Station> {
    let ports: Vec<BoundEndpoint> =
        keys.iter().map(|key| BoundEndpoint::open(choice, *key, keys.len()).unwrap()).collect();
    let contact = |(rank, port): (u32, &BoundEndpoint)| OfiContact {
        peer: PeerIndex(rank),
        address: port.card().unwrap().address,
    };
    let contacts: Vec<OfiContact> = (0..).zip(&ports).map(contact).collect();
    let wire = |(own, port): (u32, BoundEndpoint)| {
        let others = contacts.iter().filter(|contact| contact.peer.0 != own).cloned().collect();
        (Ofi::new(port, PeerIndex(own), others).unwrap(), Inbox::default())
    };
    (0..).zip(ports).map(wire).collect()
}

fn wires(choice: &ProviderChoice, count: usize) -> Vec<Station> {
    wires_with_keys(choice, &vec![key(); count])
}

fn send(wire: &mut Ofi, index: usize, number: u64) {
    let header = Header { protocol: 1, words: [number, 0] };
    wire.copied(index, &header, 0, |_| {}).unwrap();
}

/// Makes progress on all wires until `done`; fails after a timeout.
fn until(wires: &mut [Station], done: impl Fn(&[Station]) -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !done(wires) {
        wires.iter_mut().for_each(|(wire, inbox)| {
            wire.progress(inbox);
        });
        assert!(Instant::now() < end, "nothing happens any more");
    }
}

fn turns(wires: &mut [Station], count: usize) {
    for _ in 0..count {
        wires.iter_mut().for_each(|(wire, inbox)| {
            wire.progress(inbox);
        });
        std::thread::yield_now();
    }
}

#[test]
fn a_message_comes_back() {
    over_each_provider(|_, choice| {
        let mut wires = wires(choice, 2);
        for round in 0..100 {
            send(&mut wires[0].0, 0, round);
            until(&mut wires, |wires| wires[1].1.arrived.len() as u64 == round + 1);
            send(&mut wires[1].0, 0, round);
            until(&mut wires, |wires| wires[0].1.arrived.len() as u64 == round + 1);
        }
        assert!(wires[1].1.arrived.iter().map(|(_, number, _)| *number).eq(0..100));
    });
}

/// Lets the second process pull `wanted` of `length` bytes from the first one, and checks the
/// result.
fn pull(wires: &mut [Station], length: usize, wanted: usize) {
    let bytes: Vec<u8> = (0..length).map(|at| (at * 7 + length) as u8).collect();
    let source = Source::Bytes { pointer: bytes.as_ptr(), length };
    // SAFETY: `bytes` lives until the region is released, which this function waits for.
    let key = unsafe { wires[0].0.publish(0, length as u64, source) };
    let mut room = vec![0; wanted];
    let target = Target::Bytes { pointer: room.as_mut_ptr(), length: wanted };
    // SAFETY: `room` lives until the pull is reported, which this function waits for.
    unsafe { wires[1].0.pull(0, key, 7, target) };
    until(wires, |wires| !wires[0].1.released.is_empty() && !wires[1].1.pulled.is_empty());
    assert!(
        room[..wanted.min(length)] == bytes[..wanted.min(length)],
        "{wanted} of {length} bytes are damaged"
    );
    assert_eq!(
        (wires[0].1.released.pop(), wires[1].1.pulled.pop()),
        (Some(length as u64), Some(7))
    );
}

/// Wires that have exchanged a message with each other.
fn acquainted(choice: &ProviderChoice, count: usize) -> Vec<Station> {
    let mut wires = wires(choice, count);
    for (wire, _) in &mut wires {
        (0..count - 1).for_each(|index| send(wire, index, 0));
    }
    until(&mut wires, |wires| {
        wires.iter().all(|(wire, inbox)| inbox.arrived.len() == count - 1 && !wire.busy())
    });
    wires.iter_mut().for_each(|(_, inbox)| inbox.arrived.clear());
    wires
}

#[test]
fn regions_come_whole_and_as_far_as_they_are_wanted() {
    over_each_provider(|_, choice| {
        let mut wires = acquainted(choice, 2);
        for length in [1, 40, 4096, 20_000, 100_000, 1 << 20, 20_000_000] {
            pull(&mut wires, length, length);
            pull(&mut wires, length, length / 2 + 1);
            // More than there is.
            pull(&mut wires, length, length + 100);
        }
        assert!(wires.iter().all(|(wire, _)| !wire.busy()));
    });
}

#[test]
fn whoever_does_not_know_the_key_is_not_heard() {
    over_each_provider(|_, choice| {
        let mut wires = wires_with_keys(choice, &[key(), FabricKey::of_secret(b"another"), key()]);
        send(&mut wires[1].0, 0, 5);
        until(&mut wires, |wires| wires[0].0.refused() == 1);
        assert!(wires[0].1.arrived.is_empty() && wires[0].1.lost.is_empty());
        // It does not block other senders.
        send(&mut wires[2].0, 0, 6);
        until(&mut wires, |wires| wires[0].1.arrived.len() == 1);
        assert_eq!(wires[0].1.arrived[0].1, 6);
    });
}

/// Sends raw bytes to the peer at `index`.
fn send_bytes(wire: &mut Ofi, index: usize, bytes: &[u8]) {
    let address = wire.peers[index].address.or_else(|| wire.find(index)).unwrap();
    let slot = wire.large.take(&mut wire.endpoint).unwrap();
    let (at, local, context) =
        (wire.large.at(slot), wire.large.local(slot), wire.large.context(slot, index as u32));
    wire.peers[index].under_way += 1;
    wire.sending += 1;
    // SAFETY: the bytes fit into the buffer, which stays reserved until its completion.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), at, bytes.len());
        assert_eq!(
            wire.endpoint.send(address, at, bytes.len(), local, context),
            endpoint::PostOutcome::Done
        );
    }
}

#[test]
fn what_was_recorded_and_what_was_made_up_is_refused() {
    over_each_provider(|_, choice| {
        let mut wires = acquainted(choice, 3);
        let way = |from, number| frame::MessageWay { from, to: 0, number };
        let message = FabricFrame::Message { protocol: 1, length: 0, words: [9, 0] };
        let genuine = message.encode(&key(), way(1, 1));
        let made_up = [
            // A replay of an earlier message, forgeries in another's name, one that is too short,
            // and noise.
            message.encode(&key(), way(1, 0)).to_vec(),
            message.encode(&FabricKey::of_secret(b""), way(1, 2)).to_vec(),
            message.encode(&key(), way(77, 1)).to_vec(),
            message.encode(&key(), way(1, 1 << 20)).to_vec(),
            genuine[..20].to_vec(),
            vec![0xa5; COPIED_LIMIT],
        ];
        send_bytes(&mut wires[1].0, 0, &genuine);
        until(&mut wires, |wires| wires[0].1.arrived.len() == 1);
        send_bytes(&mut wires[1].0, 0, &genuine);
        for (count, bytes) in (2..).zip(&made_up) {
            send_bytes(&mut wires[2].0, 0, bytes);
            until(&mut wires, |wires| wires[0].0.refused() == count);
        }
        assert!(wires[0].1.arrived.len() == 1 && wires[0].1.lost.is_empty());
    });
}

#[test]
fn a_message_that_overtakes_another_waits_for_it() {
    over_each_provider(|_, choice| {
        let mut wires = acquainted(choice, 2);
        for number in [3, 2, 4, 1] {
            let message = FabricFrame::Message { protocol: 1, length: 0, words: [number, 0] };
            send_bytes(
                &mut wires[1].0,
                0,
                &message.encode(&key(), frame::MessageWay { from: 1, to: 0, number }),
            );
            turns(&mut wires, 20);
        }
        until(&mut wires, |wires| wires[0].1.arrived.len() == 4);
        assert!(wires[0].1.arrived.iter().map(|(_, number, _)| *number).eq(1..5));
    });
}

#[test]
fn a_flood_of_strangers_is_refused_in_bounded_memory() {
    over_each_provider(|_, choice| {
        let mut wires = wires_with_keys(choice, &[key(), FabricKey::of_secret(b"another")]);
        let header = Header { protocol: 1, words: [0; 2] };
        let mut sent = 0;
        while sent < 5000 {
            if wires[1].0.copied(0, &header, 1000, |_| ()).is_ok() {
                sent += 1;
            } else {
                turns(&mut wires, 1);
            }
        }
        until(&mut wires, |wires| wires[0].0.refused() == 5000);
        assert!(wires[0].1.arrived.is_empty() && wires[0].0.peers[0].held.is_empty());
    });
}

#[test]
fn a_region_of_another_peer_is_not_given_away() {
    over_each_provider(|_, choice| {
        let mut wires = acquainted(choice, 3);
        let secret = [42u8; 100_000];
        let source = Source::Bytes { pointer: secret.as_ptr(), length: secret.len() };
        let mut room = vec![0u8; secret.len()];
        let target = Target::Bytes { pointer: room.as_mut_ptr(), length: room.len() };
        // SAFETY: `secret` and `room` live until the end of the test.
        unsafe {
            let key = wires[0].0.publish(0, 1, source);
            wires[2].0.pull(0, key, 7, target);
        }
        until(&mut wires, |wires| wires[2].1.pulled == [7]);
        assert!(
            room.iter().all(|byte| *byte == 0)
                && wires[0].1.released.is_empty()
                && wires[0].0.busy()
        );
    });
}

#[test]
fn a_genuine_message_that_makes_no_sense_ends_the_peer() {
    let senseless = [
        FabricFrame::Grant { number: 0, last: true, address: 0, key: 0, length: 10 },
        FabricFrame::Grant {
            number: u32::MAX,
            last: false,
            address: u64::MAX,
            key: 1,
            length: u64::MAX,
        },
        FabricFrame::Done { name: 3 },
        FabricFrame::Message { protocol: 1, length: 7, words: [0; 2] },
    ];
    over_each_provider(|_, choice| {
        for frame in senseless {
            let mut wires = acquainted(choice, 2);
            send_bytes(
                &mut wires[1].0,
                0,
                &frame.encode(&key(), frame::MessageWay { from: 1, to: 0, number: 1 }),
            );
            until(&mut wires, |wires| wires[0].1.lost == [PeerIndex(1)]);
            let sentence = wires[0].0.losses().of(PeerIndex(1)).unwrap();
            assert_eq!(sentence, "rank 1 sent a message that no process of this job would send");
        }
    });
}

#[test]
fn a_read_that_fails_is_no_message() {
    over_each_provider(|provider, choice| {
        let mut wires = acquainted(choice, 2);
        // The shm provider never completes a read of memory that is not registered.
        if provider != "tcp" {
            wires[1].0.patience = Duration::from_millis(100);
        }
        let mut room = [0u8; 1000];
        let target = Target::Bytes { pointer: room.as_mut_ptr(), length: room.len() };
        let number = wires[1].0.pulls.begin(OfiPull::new(0, 1, 7, target));
        // This memory is not registered.
        let grant = FabricFrame::Grant {
            number,
            last: true,
            address: 4096,
            key: 0x1234_5678,
            length: room.len() as u64,
        };
        wires[0].0.control(0, grant);
        until(&mut wires, |wires| !wires[1].1.lost.is_empty());
        assert!(wires[1].1.pulled.is_empty(), "what did not come is reported as here");
        let sentence = wires[1].0.losses().of(PeerIndex(0)).unwrap();
        let wanted = match provider {
            "tcp" => "the way to rank 0 over the fabric is broken: ",
            _ => "rank 0 answers, but reads of its memory over the fabric do not complete",
        };
        assert!(sentence.starts_with(wanted), "{sentence}");
        turns(&mut wires, 20);
        assert!(
            wires[1].1.lost == [PeerIndex(0)] && wires[1].1.pulled.is_empty() && !wires[1].0.busy()
        );
    });
}

/// The first process publishes `bytes`, and the second one starts to pull them into `room`.
///
/// # Safety
/// `bytes` and `room` must live until the wires have finished with them.
unsafe fn begin_pull(wires: &mut [Station], bytes: &[u8], room: &mut [u8]) {
    let source = Source::Bytes { pointer: bytes.as_ptr(), length: bytes.len() };
    let target = Target::Bytes { pointer: room.as_mut_ptr(), length: room.len() };
    // SAFETY: `bytes` and `room` live long enough (this function's contract).
    unsafe {
        let key = wires[0].0.publish(0, 1, source);
        wires[1].0.pull(0, key, 7, target);
    }
}

#[test]
fn nothing_is_written_after_a_loss_is_reported() {
    over_each_provider(|provider, choice| {
        // The shm provider reads without the help of the target process.
        if provider != "tcp" {
            return;
        }
        let mut wires = acquainted(choice, 3);
        let (bytes, mut room) = (vec![7u8; 100_000], vec![0u8; 100_000]);
        // SAFETY: `bytes` and `room` live until the end of the test.
        unsafe { begin_pull(&mut wires, &bytes, &mut room) };
        until(&mut wires, |wires| wires[1].0.peers[0].reading > 0);
        // The peer is reported as ended, while it only computes.
        wires[1].0.mark_lost(0);
        until(&mut wires[1..2], |wires| wires[0].1.lost.first() == Some(&PeerIndex(0)));
        let before = room.clone();
        turns(&mut wires, 200);
        assert!(room == before, "a read that nobody waits for has written");
        // What has stopped that read has closed the endpoint for all other peers too.
        assert_eq!(wires[1].1.lost, [PeerIndex(0), PeerIndex(2)]);
        let sentence = wires[1].0.losses().of(PeerIndex(2)).unwrap();
        assert!(
            sentence.starts_with("the way to rank 2 over the fabric was closed: "),
            "{sentence}"
        );
        send(&mut wires[1].0, 1, 1);
        turns(&mut wires, 20);
        assert!(!wires[1].0.busy() && wires[1].1.pulled.is_empty());
    });
}

#[test]
fn no_more_of_a_lost_peer_is_read_than_is_under_way() {
    over_each_provider(|provider, choice| {
        // The shm provider reads without the help of the target process.
        if provider != "tcp" {
            return;
        }
        let mut wires = acquainted(choice, 3);
        let (bytes, mut room) = (vec![7u8; 100_000], vec![0u8; 100_000]);
        wires[1].0.longest_read = 1000;
        // SAFETY: `bytes` and `room` live until the end of the test.
        unsafe { begin_pull(&mut wires, &bytes, &mut room) };
        until(&mut wires, |wires| wires[1].0.peers[0].reading > 0);
        wires[1].0.mark_lost(0);
        until(&mut wires, |wires| !wires[1].1.lost.is_empty());
        assert_eq!(wires[1].1.lost, [PeerIndex(0)], "the way to others was closed");
        let read = room.iter().filter(|byte| **byte == 7).count();
        assert!(read <= 20_000, "{read} bytes were read");
    });
}

#[test]
fn whoever_computes_is_waited_for_while_its_memory_is_read() {
    over_each_provider(|provider, choice| {
        // The shm provider reads without the help of the target process.
        if provider != "tcp" {
            return;
        }
        let mut wires = acquainted(choice, 2);
        wires[1].0.patience = Duration::from_millis(20);
        let (bytes, mut room) = (vec![7u8; 100_000], vec![0u8; 100_000]);
        // SAFETY: `bytes` and `room` live until the end of the test.
        unsafe { begin_pull(&mut wires, &bytes, &mut room) };
        until(&mut wires, |wires| wires[1].0.peers[0].reading > 0 || !wires[1].1.pulled.is_empty());
        until(&mut wires[1..], |wires| {
            wires[0].0.peers[0].reading == 0 || wires[0].0.peers[0].probes == 1
        });
        // It is probed once, and may take as long as it needs.
        let end = Instant::now() + 5 * wires[1].0.patience;
        while Instant::now() < end {
            turns(&mut wires[1..], 2 * stalled::SELDOM as usize);
        }
        assert!(wires[1].0.peers[0].probes <= 1);
        until(&mut wires, |wires| wires[1].1.pulled == [7] && wires[0].1.released == [1]);
        assert!(room == bytes && wires[1].1.lost.is_empty());
    });
}

#[test]
fn reads_are_no_longer_than_the_provider_takes() {
    over_each_provider(|_, choice| {
        let mut wires = acquainted(choice, 2);
        wires[1].0.longest_read = 20_000;
        let bytes: Vec<u8> = (0..150_000).map(|at| (at * 7) as u8).collect();
        for bounces in [false, true] {
            let mut room = vec![0u8; bytes.len()];
            let target = Target::Bytes { pointer: room.as_mut_ptr(), length: room.len() };
            let source = Source::Bytes { pointer: bytes.as_ptr(), length: bytes.len() };
            // SAFETY: `bytes` and `room` live until the pull is reported, which the loop below
            // waits for.
            unsafe {
                let key = wires[0].0.publish(0, 1, source);
                wires[1].0.pull(0, key, 7, target);
            }
            wires[1].0.pulls.at(0).unwrap().bounces = bounces;
            let (mut longest, end) = (0, Instant::now() + Duration::from_secs(30));
            while wires[1].1.pulled.is_empty() || wires[0].1.released.is_empty() {
                turns(&mut wires, 1);
                assert!(Instant::now() < end, "nothing happens any more");
                longest = wires[1].0.reads.iter().map(|read| read.length).fold(longest, usize::max);
            }
            assert_eq!(longest, 20_000);
            assert!(room == bytes, "bytes are damaged");
            (wires[1].1.pulled, wires[0].1.released) = (Vec::new(), Vec::new());
        }
    });
}

#[test]
fn whoever_waits_for_the_provider_sleeps_a_little() {
    over_each_provider(|_, choice| {
        // The other process does not answer, so some providers accept nothing.
        let mut wires = wires(choice, 2);
        send(&mut wires[0].0, 0, 1);
        turns(&mut wires[..1], 20);
        let wire = &mut wires[0].0;
        let begin = Instant::now();
        while !wire.may_sleep() {
            wire.progress(&mut Inbox::default());
            assert!(
                begin.elapsed() < Duration::from_secs(10),
                "it never sleeps, with {} waiting",
                wire.writing.len()
            );
        }
        let descriptor = wire.descriptor();
        let mut sources = [rustix::event::PollFd::new(&descriptor, rustix::event::PollFlags::IN)];
        let longest = rustix::event::Timespec { tv_sec: 10, tv_nsec: 0 };
        assert_eq!(rustix::event::poll(&mut sources, Some(&longest)), Ok(1), "nothing wakes it");
        until(&mut wires, |wires| wires[1].1.arrived.len() == 1);
    });
}

#[test]
fn whoever_waits_for_long_sleeps_long() {
    over_each_provider(|_, choice| {
        let mut wires = acquainted(choice, 2);
        let (begin, mut sleeps) = (Instant::now(), 0);
        while begin.elapsed() < Duration::from_secs(1) {
            let (wire, inbox) = &mut wires[0];
            if !wire.progress(inbox) && wire.may_sleep() {
                let descriptor = wire.descriptor();
                let mut sources =
                    [rustix::event::PollFd::new(&descriptor, rustix::event::PollFlags::IN)];
                let _ = rustix::event::poll(&mut sources, None);
                sleeps += 1;
            }
        }
        // With the shortest sleeps that would be 200, and 2000 without a descriptor.
        let most = if wires[0].0.endpoint.descriptor().is_some() { 100 } else { 500 };
        assert!((1..most).contains(&sleeps), "{sleeps} sleeps in a second");
        // A message after that is noticed soon.
        send(&mut wires[1].0, 0, 1);
        until(&mut wires, |wires| wires[0].1.arrived.len() == 1);
        assert!(wires[0].0.quiet.is_none());
    });
}

#[test]
fn a_process_that_ends_is_lost_to_whoever_sends_to_it() {
    over_each_provider(|provider, choice| {
        // The shm provider does not report the end of a peer; tcp of libfabric 2 retries to connect
        // to it for ever.
        if provider != "tcp" || choice.description().version.0 > 1 {
            return;
        }
        let mut wires = acquainted(choice, 2);
        wires.pop().into_iter().for_each(die);
        send(&mut wires[0].0, 0, 1);
        let end = Instant::now() + Duration::from_secs(30);
        while wires[0].1.lost.is_empty() && Instant::now() < end {
            turns(&mut wires, 1);
            // A message may still find an open socket.
            if wires[0].0.peers[0].under_way == 0 && wires[0].0.peers[0].link != OfiLink::Lost {
                send(&mut wires[0].0, 0, 2);
            }
        }
        assert_eq!(wires[0].1.lost, [PeerIndex(1)]);
        let sentence = wires[0].0.losses().of(PeerIndex(1)).unwrap();
        assert!(
            sentence.starts_with("the way to rank 1 over the fabric is broken: "),
            "{sentence}"
        );
        assert!(!wires[0].0.busy());
    });
}

#[test]
fn processes_that_leave_wait_for_each_other() {
    over_each_provider(|_, choice| {
        let mut wires = acquainted(choice, 3);
        wires[0].0.leave();
        turns(&mut wires, 50);
        // The others receive the goodbye and answer; for them the process is gone.
        until(&mut wires, |wires| !wires[0].0.busy());
        assert!(wires[0].1.lost.is_empty());
        until(&mut wires, |wires| wires[1..].iter().all(|(_, inbox)| inbox.lost == [PeerIndex(0)]));
        wires[1..].iter_mut().for_each(|(wire, _)| wire.leave());
        until(&mut wires, |wires| wires.iter().all(|(wire, _)| !wire.busy()));
        assert!(wires[1..].iter().all(|(_, inbox)| inbox.lost.len() == 1));
    });
}

#[test]
fn a_stranger_that_ends_takes_no_memory_for_arrivals_with_it() {
    over_each_provider(|provider, choice| {
        // The end of a process is not detected over shared memory.
        if provider != "tcp" {
            return;
        }
        let mut wires = wires_with_keys(choice, &[key(), key(), FabricKey::of_secret(b"another")]);
        let mut stranger = wires.split_off(2);
        let header = Header { protocol: 1, words: [0; 2] };
        send(&mut stranger[0].0, 0, 1);
        while wires[0].0.refused() == 0 || stranger[0].0.busy() {
            turns(&mut stranger, 1);
            turns(&mut wires, 1);
        }
        // As many as there are receive buffers, and so long that they would be read from the
        // stranger's memory.
        while stranger[0].0.copied(0, &header, COPIED_LIMIT, |_| {}).is_ok() {}
        turns(&mut wires, 100);
        stranger.into_iter().for_each(die);
        turns(&mut wires, 100);
        send(&mut wires[1].0, 0, 2);
        until(&mut wires, |wires| wires[0].1.arrived.len() == 1);
        assert!(wires[0].1.lost.is_empty());
    });
}

/// Ends a wire as if its process had died: its sockets are closed.
fn die((mut wire, _): Station) {
    wire.close_endpoint();
}

#[test]
fn whoever_closes_while_strangers_send_ends() {
    over_each_provider(|_, choice| {
        // What is in flight when the endpoint closes differs between rounds.
        for round in 0..12 {
            let other = FabricKey::of_secret(b"another");
            let mut wires = wires_with_keys(choice, &[key(), other, other]);
            let mut strangers = wires.split_off(1);
            let header = Header { protocol: 1, words: [0; 2] };
            let flood = |strangers: &mut [Station], length| {
                for (stranger, _) in strangers {
                    while stranger.copied(0, &header, length, |_| {}).is_ok() {}
                }
            };
            while wires[0].0.refused() < 40 + round {
                flood(&mut strangers, [40, 1000, COPIED_LIMIT][round as usize % 3]);
                turns(&mut strangers, 1);
                turns(&mut wires, 1);
            }
            flood(&mut strangers, 1000);
            drop(wires);
        }
    });
}
