//! Two jobs of two processes each, each job on a host of its own: after the start, a process of one
//! job becomes a peer of a process of the other, in addition to its peer in shared memory.

use std::time::{Duration, Instant};

use towpath_base::ids::{JobId, PeerIndex, ProcessId};
use towpath_base::transfer::{Source, Target};
use towpath_machine::memory::create_file;
use towpath_shm::{Segment, Settings};
use towpath_tcp::{ConnectionKey, Listener, Tcp, TcpContact};
use towpath_transport::{Header, MessageWire, RegionWire, Sink, Wire};
use towpath_wires::Wires;

const LENGTH: usize = 1 << 20;
/// The index of the added peer, after the processes of the own job.
const ADDED: PeerIndex = PeerIndex(2);

#[derive(Default)]
struct Inbox {
    from: Vec<PeerIndex>,
    ended: usize,
    lost: Vec<PeerIndex>,
}

impl Sink for Inbox {
    fn arrived(&mut self, from: PeerIndex, _: &Header, _: *const u8, _: usize) {
        self.from.push(from);
    }
    fn released(&mut self, _: u64) {
        self.ended += 1;
    }
    fn pulled(&mut self, _: u64) {
        self.ended += 1;
    }
    fn lost(&mut self, peer: PeerIndex) {
        self.lost.push(peer);
    }
}

type Process = (Wires, Inbox);

/// The processes of a job, and the contact of each for other jobs.
fn job(job: JobId, secret: &[u8]) -> Vec<(Process, TcpContact)> {
    let file = create_file("towpath-jobs").unwrap();
    let near: Vec<PeerIndex> = [0, 1].map(PeerIndex).into();
    let process = |rank: u32| {
        let (listener, name) = (Listener::open().unwrap(), ProcessId { job, rank });
        let places = vec![([127, 0, 0, 1], listener.port()).into()];
        let contact = TcpContact { peer: ADDED, process: name, places };
        let key = ConnectionKey::of_secret(secret);
        let tcp = Tcp::new(listener, name, key, Vec::new()).unwrap();
        let segment = Segment::map(&file, 2, rank as usize).unwrap();
        let wires = Wires::of_host(segment, near.clone(), Settings::default()).with_tcp(tcp);
        ((wires, Inbox::default()), contact)
    };
    [0, 1].map(process).into()
}

/// Processes 0 and 1 of the first job, then those of the second one. Process 1 of the first one
/// and process 0 of the second one are peers.
fn connected_jobs() -> Vec<Process> {
    let both = [job(JobId(1), b"first"), job(JobId(2), b"second")];
    let (mut all, contacts): (Vec<Process>, Vec<TcpContact>) = both.into_iter().flatten().unzip();
    let key = ConnectionKey::of_secret(b"both");
    for (of, to) in [(1, 2), (2, 1)] {
        assert!(all[of].0.add_peers(vec![contacts[to].clone()], &key));
    }
    all
}

fn until(all: &mut [Process], done: impl Fn(&[Process]) -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !done(all) {
        for (wires, inbox) in &mut *all {
            wires.progress(inbox);
        }
        assert!(Instant::now() < end, "it waits for ever");
    }
}

fn say(wires: &mut Wires, to: PeerIndex) {
    let header = Header { protocol: 1, words: [0; 2] };
    // SAFETY: the payload is empty.
    unsafe { wires.short(to, &header, std::ptr::null(), 0) }.unwrap();
}

#[test]
fn an_added_peer_is_reached_like_any_other() {
    let mut all = connected_jobs();
    say(&mut all[0].0, PeerIndex(1));
    say(&mut all[1].0, ADDED);
    say(&mut all[2].0, ADDED);
    until(&mut all, |all| all[1].1.from.len() == 2 && all[2].1.from.len() == 1);
    all[1].1.from.sort();
    assert_eq!(
        (&all[1].1.from[..], &all[2].1.from[..]),
        (&[PeerIndex(0), ADDED][..], &[ADDED][..])
    );

    let (bytes, mut rooms) = (vec![7; LENGTH], [vec![0; LENGTH], vec![0; LENGTH]]);
    for (room, (from, to)) in rooms.iter_mut().zip([(1, 2), (2, 1)]) {
        let source = Source::Bytes { pointer: bytes.as_ptr(), length: LENGTH };
        let target = Target::Bytes { pointer: room.as_mut_ptr(), length: LENGTH };
        // SAFETY: `bytes` and `rooms` live until the end of the test.
        unsafe {
            let key = all[from].0.publish(ADDED, 1, source);
            all[to].0.pull(ADDED, key, 2, target);
        }
    }
    until(&mut all, |all| all[1..3].iter().all(|(_, inbox)| inbox.ended == 2));
    assert!(rooms.iter().all(|room| *room == bytes));
}

#[test]
fn the_loss_of_an_added_peer_is_reported_and_one_never_added_is_lost_at_once() {
    let mut all = connected_jobs();
    say(&mut all[1].0, ADDED);
    say(&mut all[0].0, ADDED);
    until(&mut all, |all| all[2].1.from.len() == 1 && !all[0].1.lost.is_empty());
    assert_eq!(all[0].1.lost, [ADDED]);
    assert_eq!(all[1].1.lost, []);
    drop(all.remove(2));
    until(&mut all, |all| all[1].1.lost == [ADDED]);
}

#[test]
fn without_a_wire_that_takes_them_no_peers_are_added() {
    let segment = Segment::map(create_file("towpath-jobs").unwrap(), 1, 0).unwrap();
    assert!(!Wires::single_host(segment).add_peers(Vec::new(), &ConnectionKey::of_secret(b"both")));
}

#[test]
#[should_panic(expected = "is known")]
fn a_peer_that_is_known_is_not_added_again() {
    let mut all = connected_jobs();
    let (_, contact) = job(JobId(3), b"third").remove(0);
    let _ = all[1].0.add_peers(vec![contact], &ConnectionKey::of_secret(b"both"));
}
