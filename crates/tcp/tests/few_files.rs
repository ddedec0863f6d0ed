//! TCP in a process whose file limit is too low for its connections: it gets an error message, and
//! nothing hangs. The limit applies to the whole process, so this file has one test only.

use std::fs::File;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use towpath_base::ids::{JobId, PeerIndex, ProcessId};
use towpath_tcp::{ConnectionKey, Listener, Tcp, TcpContact};
use towpath_transport::{Header, MessageWire, Sink, Wire};

#[derive(Default)]
struct Inbox {
    lost: Vec<PeerIndex>,
}

impl Sink for Inbox {
    fn arrived(&mut self, _: PeerIndex, _: &Header, _: *const u8, _: usize) {}
    fn released(&mut self, _: u64) {}
    fn pulled(&mut self, _: u64) {}
    fn lost(&mut self, peer: PeerIndex) {
        self.lost.push(peer);
    }
}

fn wires() -> [(Tcp, Inbox); 2] {
    let listeners = [0, 1].map(|_| Listener::open().unwrap());
    let [first, second] = &listeners;
    let ports = [first.port(), second.port()];
    let mut own = 0;
    listeners.map(|listener| {
        let places = vec![([127, 0, 0, 1], ports[1 - own]).into()];
        let process = |rank| ProcessId { job: JobId(5), rank };
        let (peer, there) = (PeerIndex(1 - own as u32), process(1 - own as u32));
        let contact = TcpContact { peer, process: there, places };
        own += 1;
        let wire = Tcp::new(
            listener,
            process(own as u32 - 1),
            ConnectionKey::of_secret(b"a test"),
            vec![contact],
        );
        (wire.unwrap(), Inbox::default())
    })
}

/// Opens files until only `left` more can be opened.
fn take_all_but(left: usize) -> Vec<File> {
    let mut taken: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    taken.truncate(taken.len() - left);
    taken
}

/// Sends from the second process to the first one until `loser` has lost the other one; returns the
/// reason.
fn loss(wires: &mut [(Tcp, Inbox); 2], loser: usize) -> String {
    let header = Header { protocol: 1, words: [0; 2] };
    if wires[1].1.lost.is_empty() {
        wires[1].0.copied(0, &header, 0, |_| {}).unwrap();
    }
    let end = Instant::now() + Duration::from_secs(40);
    while wires[loser].1.lost.is_empty() {
        wires.iter_mut().for_each(|(wire, inbox)| {
            wire.progress(inbox);
        });
        assert!(Instant::now() < end, "it waits for ever");
    }
    let peer = wires[loser].1.lost[0];
    wires[loser].0.losses().of(peer).unwrap()
}

#[test]
fn whoever_may_open_too_few_files_is_told() {
    let limit = Rlimit { current: Some(100), maximum: Some(100) };
    assert!(getrlimit(Resource::Nofile).maximum.is_none_or(|most| most >= 100));
    setrlimit(Resource::Nofile, limit).unwrap();
    let which = "this process may have 100 files open (RLIMIT_NOFILE, ulimit -n)";
    let needed = "connections to 1 rank(s) of other hosts can take 66 beside those of the program";
    // The last free descriptor becomes the socket of the connecting side.
    let mut station = wires();
    let taken = take_all_but(1);
    let sentence = loss(&mut station, 0);
    assert!(
        sentence.starts_with("rank 1 cannot connect: ") && sentence.contains(which),
        "{sentence}"
    );
    assert!(sentence.contains(needed), "{sentence}");
    // The connecting side is told too, and does not stay in the backlog forever.
    let sentence = loss(&mut station, 1);
    assert!(sentence.starts_with("rank 0 cannot be reached: "), "{sentence}");
    drop((taken, station));
    let mut station = wires();
    let _taken = take_all_but(0);
    let sentence = loss(&mut station, 1);
    assert!(
        sentence.starts_with("rank 0 cannot be reached: 127.0.0.1:") && sentence.contains(which),
        "{sentence}"
    );
    assert!(sentence.contains(needed), "{sentence}");
}
