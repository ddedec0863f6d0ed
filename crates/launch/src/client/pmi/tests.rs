//! Ranks as threads against servers of both dialects.

use std::collections::HashMap;
use std::sync::Mutex;
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use towpath_base::ids::JobId;

use towpath_topology::FigureOrigin;

use super::*;
use crate::client::Launcher;
use crate::key::JobKey;
use crate::mpiexec::server::{Event, Server};
use crate::segment::nonce_of_host;
use crate::wire::{LineReader, PmiMessage, records};
use std::os::fd::{AsFd, OwnedFd};

type Sockets = Vec<OwnedFd>;
type Answers = Vec<(usize, Vec<u8>)>;

/// Sends the answers that `answer` returns for the bytes of each rank, until all ranks have closed
/// their connections.
fn serve(sockets: &Sockets, mut answer: impl FnMut(usize, &[u8]) -> Answers) {
    let mut open: Vec<usize> = (0..sockets.len()).collect();
    while !open.is_empty() {
        let mut sources: Vec<PollFd<'_>> =
            open.iter().map(|&rank| PollFd::new(&sockets[rank], PollFlags::IN)).collect();
        poll(&mut sources, None).unwrap();
        let ready: Vec<bool> = sources.iter().map(|source| !source.revents().is_empty()).collect();
        for (rank, _) in open.clone().into_iter().zip(ready).filter(|&(_, ready)| ready) {
            let mut piece = [0u8; 1000];
            let count = rustix::io::read(&sockets[rank], &mut piece).unwrap_or(0);
            if count == 0 {
                open.retain(|&other| other != rank);
                continue;
            }
            for (to, bytes) in answer(rank, &piece[..count]) {
                rustix::io::write(&sockets[to], &bytes).unwrap();
            }
        }
    }
}

/// `mpiexec`'s own server.
fn lines(mut server: Server, size: usize) -> impl FnMut(usize, &[u8]) -> Answers {
    let mut readers: Vec<LineReader> = (0..size).map(|_| LineReader::default()).collect();
    move |rank, bytes| {
        readers[rank].push(bytes);
        let mut events = Vec::new();
        while let Ok(Some(line)) = readers[rank].next_line() {
            server.line(rank, &line, &mut events);
        }
        let answer =
            |event| if let Event::Answer(to, line) = event { Some((to, line)) } else { None };
        events.into_iter().filter_map(answer).collect()
    }
}

/// A PMI-2 server that behaves like Slurm's.
struct Two {
    mapping: Option<String>,
    greeted: Vec<bool>,
    readers: Vec<records::RecordReader>,
    values: HashMap<String, String>,
    waiting: usize,
}

impl Two {
    fn new(mapping: Option<String>, size: usize) -> Two {
        let readers = (0..size).map(|_| records::RecordReader::default()).collect();
        Two { mapping, greeted: vec![false; size], readers, values: HashMap::new(), waiting: 0 }
    }

    fn bytes(&mut self, rank: usize, bytes: &[u8]) -> Answers {
        if !std::mem::replace(&mut self.greeted[rank], true) {
            assert_eq!(bytes, b"cmd=init pmi_version=2 pmi_subversion=0\n");
            return vec![(
                rank,
                b"cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n".to_vec(),
            )];
        }
        self.readers[rank].push(bytes);
        let mut answers = Vec::new();
        while let Some(record) = self.readers[rank].next_record().unwrap() {
            self.request(rank, &records::parse(&record), &mut answers);
        }
        answers
    }

    fn request(&mut self, rank: usize, request: &PmiMessage, answers: &mut Answers) {
        let size = self.greeted.len();
        let key = request.get("key").unwrap_or_default();
        let reply = PmiMessage::new(&format!("{}-response", request.command())).with("rc", 0);
        let found = |value: Option<&String>| match value {
            Some(value) => reply.clone().with("found", "TRUE").with("value", value),
            None => reply.clone().with("found", "FALSE"),
        };
        let reply = match request.command() {
            "fullinit" => reply.with("rank", rank).with("size", size).with("appnum", -1),
            "info-getjobattr" => {
                found(self.mapping.as_ref().filter(|_| key == "PMI_process_mapping"))
            }
            "kvs-put" => {
                self.values
                    .insert(key.to_owned(), request.get("value").unwrap_or_default().to_owned());
                reply
            }
            "kvs-get" => found(self.values.get(key)),
            "kvs-fence" => {
                self.waiting += 1;
                if self.waiting == size {
                    self.waiting = 0;
                    answers.extend((0..size).map(|to| (to, records::write(&reply).unwrap())));
                }
                return;
            }
            _ => reply,
        };
        answers.push((rank, records::write(&reply).unwrap()));
    }
}

/// A dialect, and the hosts that the server knows, if any.
#[derive(Clone, Copy, Debug)]
struct Case<'a> {
    dialect: Dialect,
    hosts: Option<&'a [u32]>,
}

fn cases(hosts: &[u32]) -> impl Iterator<Item = Case<'_>> {
    [Dialect::One, Dialect::Two].into_iter().flat_map(move |dialect| {
        [Case { dialect, hosts: Some(hosts) }, Case { dialect, hosts: None }]
    })
}

/// Runs a job of threads against a server.
fn job(size: usize, case: Case<'_>, body: impl Fn(Served<PmiConnection>) + Sync) {
    let nothing = TopologyChoice::Nothing;
    job_with_choice(size, case, &nothing, |launcher| body(launcher.unwrap()));
}

/// The same with a choice of rank 0 about the topology file.
fn job_with_choice(
    size: usize,
    case: Case<'_>,
    choice: &TopologyChoice,
    body: impl Fn(Result<Served<PmiConnection>, Error>) + Sync,
) {
    let pair = || socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None);
    let (server_ends, rank_ends): (Sockets, Sockets) = (0..size).map(|_| pair().unwrap()).unzip();
    let one_host = vec![0; size];
    let mut server = Server::new(
        JobId(5),
        &JobKey([3; 32]),
        None,
        &vec![0; size],
        case.hosts.unwrap_or(&one_host),
    );
    if case.hosts.is_none() {
        server.forget_hosts();
    }
    let mut two = Two::new(case.hosts.map(hosts::write_mapping), size);
    thread::scope(|scope| {
        scope.spawn(move || match case.dialect {
            Dialect::One => serve(&server_ends, lines(server, size)),
            Dialect::Two => serve(&server_ends, move |rank, bytes| two.bytes(rank, bytes)),
        });
        for (rank, socket) in rank_ends.into_iter().enumerate() {
            let body = &body;
            scope.spawn(move || {
                let connection = PmiConnection::over(socket, case.dialect, "a test");
                let choice = if rank == 0 { choice } else { &TopologyChoice::Nothing };
                body(start(connection, rank as u32, size, choice));
            });
        }
    });
}

#[test]
fn ranks_find_each_other_whether_or_not_the_server_knows_the_hosts() {
    for case in cases(&[0; 5]) {
        let seen = Mutex::new(Vec::new());
        job(5, case, |mut launcher| {
            let job = launcher.job().clone();
            assert_eq!((job.size, job.hosts(), job.local_ranks.len()), (5, 1, 5), "{case:?}");
            assert!(crate::segment::belongs_to(
                launcher.segment().unwrap().as_fd(),
                nonce_of_host(job.id, 0)
            ));
            seen.lock().unwrap().push((job.id, launcher.key().unwrap()));
            launcher.finalize().unwrap();
        });
        let seen = seen.into_inner().unwrap();
        assert!(seen.len() == 5 && seen.iter().all(|one| *one == seen[0]), "{case:?}");
    }
}

#[test]
fn what_the_launcher_calls_hosts_have_one_job_and_a_segment_each() {
    let hosts = [0, 1, 0, 1, 1];
    for case in cases(&hosts).filter(|case| case.hosts.is_some()) {
        let seen = Mutex::new(Vec::new());
        job(5, case, |mut launcher| {
            let job = launcher.job().clone();
            assert_eq!((job.hosts(), job.node_of_rank.as_slice()), (2, &hosts[..]), "{case:?}");
            let segment = launcher.segment().unwrap();
            let inode = rustix::fs::fstat(&segment).unwrap().st_ino;
            seen.lock().unwrap().push((
                hosts[job.rank as usize],
                job.id,
                launcher.key().unwrap(),
                inode,
            ));
            // No rank leaves before all have read the inode number, because it may be reused.
            launcher.fence().unwrap();
        });
        let seen = seen.into_inner().unwrap();
        assert!(seen.iter().all(|one| (one.1, &one.2) == (seen[0].1, &seen[0].2)), "{case:?}");
        for (a, b) in seen.iter().flat_map(|a| seen.iter().map(move |b| (a, b))) {
            assert_eq!(a.0 == b.0, a.3 == b.3, "one segment for one host: {case:?}");
        }
    }
}

#[test]
fn rank_0_reads_the_topology_file_for_all() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("topology.toml");
    let own = hosts::own_name();
    let figures = "latency = \"3us\"\n".to_owned() + &"# more\n".repeat(999);
    std::fs::write(&file, format!("[[link]]\nhosts = \"{own}\"\n{figures}")).unwrap();
    for case in cases(&[0, 1, 1]) {
        job_with_choice(3, case, &TopologyChoice::File(file.clone()), |launcher| {
            let mut launcher = launcher.unwrap();
            let topology = launcher.topology().unwrap().expect("rank 0 has a file");
            assert_eq!(topology.hosts(), vec![own.as_str(); launcher.job().hosts()], "{case:?}");
            assert_eq!(topology.description().link(&own).latency.value, 3000, "{case:?}");
            launcher.fence().unwrap();
        });
        job(3, case, |mut launcher| assert_eq!(launcher.topology().unwrap(), None, "{case:?}"));
    }
}

#[test]
fn a_stored_measurement_is_used_if_it_names_all_hosts() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("topology.toml");
    let own = hosts::own_name();
    let with = |name: &str| format!("[[link]]\nhosts = \"{name}\"\nrate = \"1Gbit\"\n");
    let broken = "[link]".to_owned();
    for (text, used) in
        [(Some(with(&own)), true), (Some(with("x")), false), (Some(broken), false), (None, false)]
    {
        let _ = std::fs::remove_file(&path);
        text.iter().for_each(|text| std::fs::write(&path, text).unwrap());
        for case in cases(&[0, 1, 0]).filter(|case| case.hosts.is_some()) {
            job_with_choice(3, case, &TopologyChoice::Stored(path.clone()), |launcher| {
                let mut launcher = launcher.unwrap();
                let topology = launcher.topology().unwrap();
                assert_eq!(topology.is_some(), used, "{text:?}");
                let origin = topology.map(|topology| topology.link(1).rate.origin);
                assert!(origin.is_none_or(|origin| origin == FigureOrigin::Measured));
                launcher.finalize().unwrap();
            });
        }
    }
}

#[test]
fn a_topology_file_with_a_mistake_fails_all_ranks_alike() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("topology.toml");
    for (text, part) in [(Some("\n[link]"), "topology file line 2: "), (None, "cannot be read")] {
        let _ = std::fs::remove_file(&file);
        if let Some(text) = text {
            std::fs::write(&file, text).unwrap();
        }
        for case in cases(&[0, 1, 1]) {
            job_with_choice(
                3,
                case,
                &TopologyChoice::File(file.clone()),
                |launcher| match launcher.err() {
                    Some(Error::Topology(sentence)) => {
                        assert!(sentence.contains(part), "{sentence}")
                    }
                    other => panic!("{case:?}: {other:?}"),
                },
            );
        }
    }
}

#[test]
fn values_of_any_length_and_content_arrive() {
    for case in cases(&[0, 0, 1]).filter(|case| case.hosts.is_some()) {
        job(3, case, |mut launcher| {
            let rank = launcher.job().rank;
            let values = ["".to_owned(), "a b=c\n%;;".to_owned(), "ü".repeat(3000)];
            for (number, value) in values.iter().enumerate() {
                launcher.put(&format!("v{number}-{rank}"), value).unwrap();
            }
            launcher.fence().unwrap();
            for (number, value) in values.iter().enumerate() {
                let other = (rank + 1) % 3;
                assert_eq!(
                    launcher.get(&format!("v{number}-{other}")).unwrap().as_ref(),
                    Some(value)
                );
            }
            assert_eq!(launcher.get("nothing").unwrap(), None);
            assert!(matches!(launcher.put("a key", ""), Err(Error::Unsendable(_))));
        });
    }
}

#[test]
fn a_server_that_goes_is_an_error() {
    for dialect in [Dialect::One, Dialect::Two] {
        let (server, rank) = std::os::unix::net::UnixStream::pair().unwrap();
        drop(server);
        let mut connection = PmiConnection::over(rank.into(), dialect, "a test");
        assert!(matches!(connection.initialize(0, 2), Err(Error::Connection { .. })));
        let nothing = std::fs::File::open("/dev/null").unwrap();
        assert!(PmiConnection::over(nothing.into(), dialect, "a test").fence().is_err());
    }
}
