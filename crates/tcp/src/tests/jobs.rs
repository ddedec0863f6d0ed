//! Two jobs of two processes, each job with its own key; processes of different jobs become peers
//! after the start.

use super::*;

/// The index of the added peer in both processes.
const ADDED: PeerIndex = PeerIndex(2);
/// Its index in their wires, after that of the other process of their job.
const PLACE: usize = 1;

/// Processes 0 and 1 of the first job, then those of the second one.
fn two_jobs() -> Vec<(Tcp, Inbox)> {
    let mut all = wires_of(JobId(1), &ConnectionKey::of_secret(b"first"), 2);
    all.extend(wires_of(JobId(2), &ConnectionKey::of_secret(b"second"), 2));
    all
}

/// Makes process `to` a peer of process `of`.
fn add(all: &mut [(Tcp, Inbox)], to: usize, of: usize, secret: &[u8]) {
    let (process, places) = (all[to].0.own, vec![address_of(&all[to].0)]);
    let contact = TcpContact { peer: ADDED, process, places };
    all[of].0.add_peers(vec![contact], &ConnectionKey::of_secret(secret));
}

/// The two jobs; process 1 of the first one and process 0 of the second one are peers.
fn connected_jobs() -> Vec<(Tcp, Inbox)> {
    let mut all = two_jobs();
    add(&mut all, 2, 1, b"both");
    add(&mut all, 1, 2, b"both");
    all
}

#[test]
fn processes_of_two_jobs_exchange_messages() {
    for begun_by_the_first in [0, 1, 2, 3, 5, 9] {
        let mut all = connected_jobs();
        send(&mut all[0].0, 0, 30);
        send(&mut all[1].0, PLACE, 10);
        turns(&mut all[1..2], begun_by_the_first);
        send(&mut all[2].0, PLACE, 20);
        until(&mut all, |all| all[1].1.arrived.len() == 2 && all[2].1.arrived.len() == 1);
        all[1].1.arrived.sort();
        assert_eq!(all[1].1.arrived, [(PeerIndex(0), 30), (ADDED, 20)]);
        assert_eq!(all[2].1.arrived, [(ADDED, 10)]);
        assert!(all.iter().all(|(_, inbox)| inbox.lost.is_empty()));
    }
}

#[test]
fn processes_of_two_jobs_fetch_each_others_regions() {
    const LENGTH: usize = 3_000_000;
    let mut all = connected_jobs();
    let bytes = vec![7; LENGTH];
    let mut rooms = [vec![0; LENGTH], vec![0; LENGTH]];
    for (room, (from, to)) in rooms.iter_mut().zip([(1, 2), (2, 1)]) {
        let source = Source::Bytes { pointer: bytes.as_ptr(), length: LENGTH };
        let target = Target::Bytes { pointer: room.as_mut_ptr(), length: LENGTH };
        // SAFETY: `bytes` and `rooms` live until the end of the test.
        unsafe {
            let key = all[from].0.publish(PLACE, 1, source);
            all[to].0.pull(PLACE, key, 2, target);
        }
    }
    until(&mut all, |all| {
        all[1..3].iter().all(|(_, inbox)| inbox.released == [1] && inbox.pulled == [2])
    });
    assert!(rooms.iter().all(|room| *room == bytes));
}

#[test]
fn a_process_of_another_job_is_refused_until_it_is_added() {
    let mut all = connected_jobs();
    add(&mut all, 1, 3, b"both");
    send(&mut all[3].0, PLACE, 9);
    turns(&mut all, 2000);
    assert!(all[1].0.open.is_empty() && all[1].1.arrived.is_empty());
    let (process, places) = (all[3].0.own, Vec::new());
    let contact = TcpContact { peer: PeerIndex(3), process, places };
    all[1].0.add_peers(vec![contact], &ConnectionKey::of_secret(b"both"));
    until(&mut all, |all| all[1].1.arrived == [(PeerIndex(3), 9)]);
}

#[test]
fn a_peer_with_another_key_is_refused() {
    let mut all = two_jobs();
    add(&mut all, 2, 1, b"both");
    let hello = Hello { from: all[2].0.own, to: all[1].0.own, nonce: [3; 16] };
    let place = address_of(&all[1].0);
    // Neither the key of its own job nor that of the other one is the common key.
    for secret in [b"second".as_slice(), b"first"] {
        let key = ConnectionKey::of_secret(secret);
        assert!(shake_hands(&mut all[1..2], place, hello, &key).is_none());
    }
    assert!(all[1].0.open.is_empty() && all[1].1.lost.is_empty());
    // The same hello with the common key is accepted: the others failed at the check of the key.
    let key = ConnectionKey::of_secret(b"both");
    let (_stream, verdict) = shake_hands(&mut all[1..2], place, hello, &key).unwrap();
    assert_eq!(verdict, b"accepted");
}

#[test]
fn a_peer_that_is_added_after_the_end_of_listening_is_lost_at_once() {
    let mut all = two_jobs();
    // As after the system has refused to accept connections for too long.
    all[1].0.pending.refuse_long_ago(std::io::ErrorKind::OutOfMemory.into());
    all[1].0.lose_refused();
    until(&mut all, |all| all[1].1.lost == [PeerIndex(0)]);
    add(&mut all, 2, 1, b"both");
    assert!(all[1].0.is_lost(PLACE), "it waits for a connection");
    until(&mut all, |all| all[1].1.lost == [PeerIndex(0), ADDED]);
    let sentence = all[1].0.losses().of(ADDED).unwrap();
    assert!(sentence.starts_with("rank 0 of another job cannot connect: "), "{sentence}");
}

#[test]
fn the_loss_of_a_peer_of_another_job_is_reported_and_leaves_the_own_job_alone() {
    let mut all = connected_jobs();
    send(&mut all[0].0, 0, 1);
    send(&mut all[1].0, PLACE, 2);
    send(&mut all[2].0, PLACE, 3);
    until(&mut all, |all| all[1].1.arrived.len() == 2 && all[2].1.arrived.len() == 1);
    drop(all.remove(2));
    until(&mut all, |all| all[1].1.lost == [ADDED]);
    let sentence = all[1].0.losses().of(ADDED).unwrap();
    let begin = "the connection to rank 0 of another job is broken: ";
    assert!(sentence.starts_with(begin), "{sentence}");
    send(&mut all[1].0, 0, 4);
    until(&mut all, |all| all[0].1.arrived == [(PeerIndex(1), 4)]);
    assert_eq!(all[0].1.lost, []);
}
