//! A process that a PMI-1 server started: the Hydra launchers of MPICH and Intel MPI, gforker, Slurm's pmi2 plugin.
//!
//! [`Connection`] speaks the exchanges (one request, one answer, in lines; see `crate::wire`); [`PmiLauncher`] learns the
//! facts of the job from them. Servers differ: limits of lengths, the answer to a missing key, whether they know
//! `PMI_process_mapping`; where it is missing the ranks publish their hosts themselves.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{SendFlags, send};
use towpath_base::config;

use super::{Job, Launcher, duplicate, handover};
use crate::error::Error;
use crate::hosts;
use crate::wire::{LineReader, Message, escape};

/// Longest key of a value in bytes: the servers' limit is 64, and long values get a number behind their key.
const LONGEST_KEY: usize = 56;

/// The connection of one process to a PMI-1 server.
pub(super) struct Connection {
    socket: OwnedFd,
    reader: LineReader,
    launcher: String,
    space: String,
    longest_value: usize,
}

impl Connection {
    /// Takes over a descriptor named in the environment; it becomes close-on-exec.
    pub(super) fn take(number: RawFd, launcher: &str) -> Result<Connection, Error> {
        check_open(number, launcher)?;
        // SAFETY: the descriptor is open, was inherited for this purpose, and nothing else in the process uses it.
        let socket = unsafe { OwnedFd::from_raw_fd(number) };
        let _ = rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC);
        Ok(Connection {
            socket,
            reader: LineReader::default(),
            launcher: launcher.to_owned(),
            space: String::new(),
            longest_value: 1024,
        })
    }

    #[cfg(test)]
    pub(super) fn over(socket: OwnedFd) -> Connection {
        let reader = LineReader::default();
        Connection { socket, reader, launcher: "a test".to_owned(), space: String::new(), longest_value: 1024 }
    }

    /// First exchanges: version, limits, name of the key-value space.
    pub(super) fn initialise(&mut self) -> Result<(), Error> {
        let hello = Message::new("init").with("pmi_version", 1).with("pmi_subversion", 1);
        self.ask(&hello, "response_to_init")?;
        let limits = self.ask(&Message::new("get_maxes"), "maxes")?;
        self.longest_value = limits.number("vallen_max").unwrap_or(1024usize).clamp(64, 64 * 1024);
        let space = self.ask(&Message::new("get_my_kvsname"), "my_kvsname")?;
        self.space = space.get("kvsname").unwrap_or("").to_owned();
        Ok(())
    }

    fn broken(&self, source: io::Error) -> Error {
        Error::Connection { launcher: self.launcher.clone(), source }
    }

    fn send(&self, message: &Message) -> Result<(), Error> {
        let line = message.to_line().map_err(Error::Unsendable)?;
        let mut rest = line.as_slice();
        while !rest.is_empty() {
            let sent = match send(&self.socket, rest, SendFlags::NOSIGNAL) {
                Err(rustix::io::Errno::NOTSOCK) => rustix::io::write(&self.socket, rest),
                other => other,
            };
            match sent {
                Ok(count) => rest = &rest[count..],
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(self.broken(error.into())),
            }
        }
        Ok(())
    }

    /// Waits for bytes and reads what is there.
    fn read_some(&mut self) -> Result<(), Error> {
        let mut piece = [0u8; 4096];
        loop {
            match rustix::io::read(&self.socket, &mut piece) {
                Ok(0) => return Err(self.broken(io::ErrorKind::UnexpectedEof.into())),
                Ok(count) => {
                    self.reader.push(&piece[..count]);
                    return Ok(());
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(self.broken(error.into())),
            }
        }
    }

    fn next_message(&mut self) -> Result<Option<Message>, Error> {
        let line =
            self.reader.next_line().map_err(|detail| Error::Protocol { launcher: self.launcher.clone(), detail })?;
        Ok(line.map(|line| Message::parse(&line)))
    }

    /// Waits for the answer of that name.
    fn answer(&mut self, name: &str) -> Result<Message, Error> {
        loop {
            match self.next_message()? {
                Some(message) if message.command() == name => return Ok(message),
                Some(message) => {
                    let detail = format!("{name} was expected, {} came", message.command());
                    return Err(Error::Protocol { launcher: self.launcher.clone(), detail });
                }
                None => self.read_some()?,
            }
        }
    }

    fn exchange(&mut self, request: &Message, answer: &str) -> Result<Message, Error> {
        self.send(request)?;
        self.answer(answer)
    }

    /// An exchange whose `rc` must be 0 (or absent).
    fn ask(&mut self, request: &Message, answer: &str) -> Result<Message, Error> {
        let reply = self.exchange(request, answer)?;
        match reply.number::<i32>("rc") {
            None | Some(0) => Ok(reply),
            Some(_) => Err(Error::Refused {
                launcher: self.launcher.clone(),
                request: request.command().to_owned(),
                detail: reply.get("msg").unwrap_or("no reason was given").to_owned(),
            }),
        }
    }

    /// A number that the server may or may not know.
    fn optional_number(&mut self, request: &str, answer: &str, key: &str) -> Result<Option<i32>, Error> {
        let reply = self.exchange(&Message::new(request), answer)?;
        Ok(reply.number(key).filter(|&number| number >= 0 && reply.number::<i32>("rc").unwrap_or(0) == 0))
    }

    /// Puts a value of any length: what is longer than the server's limit goes in pieces.
    pub(super) fn put(&mut self, key: &str, value: &str) -> Result<(), Error> {
        if key.is_empty() || key.len() > LONGEST_KEY || key.contains(|c: char| !c.is_ascii_graphic() || c == '=') {
            return Err(Error::Unsendable(format!(
                "The key {key:?} cannot be published: launchers take 1 to {LONGEST_KEY} signs without blanks and '='."
            )));
        }
        let value = escape(value.as_bytes());
        let pieces: Vec<&[u8]> = value.as_bytes().chunks(self.longest_value - 16).collect();
        self.put_piece(key, &format!("{}+{}", pieces.len().max(1), first_text(&pieces)))?;
        for (number, piece) in pieces.iter().enumerate().skip(1) {
            self.put_piece(&format!("{key}+{number}"), &String::from_utf8_lossy(piece))?;
        }
        Ok(())
    }

    fn put_piece(&mut self, key: &str, value: &str) -> Result<(), Error> {
        let request = Message::new("put").with("kvsname", &self.space).with("key", key).with("value", value);
        self.ask(&request, "put_result").map(|_| ())
    }

    /// The value put under a key by [`Connection::put`].
    pub(super) fn get(&mut self, key: &str) -> Result<Option<String>, Error> {
        let Some(first) = self.get_raw(key)? else { return Ok(None) };
        let wrong = || Error::Protocol {
            launcher: "the job".to_owned(),
            detail: format!("the value of {key} was not put by Towpath"),
        };
        let (count, first) = first.split_once('+').ok_or_else(wrong)?;
        let count: usize = count.parse().map_err(|_| wrong())?;
        let mut value = first.to_owned();
        for number in 1..count {
            value.push_str(&self.get_raw(&format!("{key}+{number}"))?.ok_or_else(wrong)?);
        }
        String::from_utf8(crate::wire::unescape(&value)).map(Some).map_err(|_| wrong())
    }

    /// The value of a key as the server has it; `None` when it has none.
    pub(super) fn get_raw(&mut self, key: &str) -> Result<Option<String>, Error> {
        let request = Message::new("get").with("kvsname", &self.space).with("key", key);
        let reply = self.exchange(&request, "get_result")?;
        let found = reply.number::<i32>("rc").unwrap_or(0) == 0;
        Ok(reply.get("value").filter(|_| found).map(str::to_owned))
    }

    /// Waits for all processes of the job.
    pub(super) fn fence(&mut self) -> Result<(), Error> {
        self.ask(&Message::new("barrier_in"), "barrier_out").map(|_| ())
    }

    /// Waits for all processes of the job, and meanwhile calls `serve` whenever `listener` has something to read.
    pub(super) fn fence_serving(&mut self, listener: &OwnedFd, serve: &mut dyn FnMut()) -> Result<(), Error> {
        self.send(&Message::new("barrier_in"))?;
        loop {
            let mut sources = [PollFd::new(&self.socket, PollFlags::IN), PollFd::new(listener, PollFlags::IN)];
            match poll(&mut sources, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(self.broken(error.into())),
            }
            let [from_server, from_ranks] = sources.map(|source| !source.revents().is_empty());
            if from_ranks {
                serve();
            }
            if from_server {
                return self.answer("barrier_out").map(|_| ());
            }
        }
    }

    /// Sends the request to end the job; the server does not answer.
    pub(super) fn abort(&mut self, code: i32, sentence: Option<&str>) -> Result<(), Error> {
        let mut request = Message::new("abort").with("exitcode", code);
        if let Some(sentence) = sentence {
            request = request.with("towpath_message", escape(sentence.as_bytes()));
        }
        self.send(&request)
    }

    /// Says goodbye.
    pub(super) fn finalize(&mut self) -> Result<(), Error> {
        self.exchange(&Message::new("finalize"), "finalize_ack").map(|_| ())
    }
}

fn check_open(number: RawFd, launcher: &str) -> Result<(), Error> {
    // SAFETY: the number is only looked at; a descriptor that is not open gives an error.
    if number > 2 && rustix::io::fcntl_getfd(unsafe { BorrowedFd::borrow_raw(number) }).is_ok() {
        return Ok(());
    }
    Err(Error::NoServer(format!(
        "The environment says that this process belongs to a job of {launcher} (PMI_FD={number}), but that connection is \
         not open. If a process of another MPI job started this program, clear the PMI variables first."
    )))
}

fn first_text(pieces: &[&[u8]]) -> String {
    pieces.first().map(|piece| String::from_utf8_lossy(piece).into_owned()).unwrap_or_default()
}

/// A PMI-1 server that the environment names, not yet spoken to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Server {
    descriptor: RawFd,
    pub(super) rank: u32,
    pub(super) size: u32,
    /// Who it is, in words.
    pub(super) name: String,
}

impl Server {
    /// The server that PMI_FD names; `None` when the environment names none.
    pub(super) fn from_environment() -> Result<Option<Server>, Error> {
        let number = |name: &str| config::environment(name).and_then(|text| text.trim().parse::<i64>().ok());
        let Some(descriptor) = number("PMI_FD") else { return Ok(None) };
        let name = server_name();
        let (Some(rank), Some(size)) = (number("PMI_RANK"), number("PMI_SIZE")) else {
            return Err(Error::NoServer(format!(
                "{name} set PMI_FD but not PMI_RANK and PMI_SIZE: the rank of this process is not known."
            )));
        };
        if size < 1 || rank < 0 || rank >= size || size > i64::from(i32::MAX) {
            return Err(Error::NoServer(format!("{name} says rank {rank} of {size}, which cannot be.")));
        }
        let descriptor = i32::try_from(descriptor).unwrap_or(-1);
        check_open(descriptor, &name)?;
        Ok(Some(Server { descriptor, rank: rank as u32, size: size as u32, name }))
    }
}

/// A PMI-1 server as launcher.
pub(super) struct PmiLauncher {
    connection: Connection,
    job: Job,
    segment: OwnedFd,
}

impl PmiLauncher {
    /// Speaks to the server that the environment names.
    pub(super) fn connect(server: &Server) -> Result<PmiLauncher, Error> {
        let connection = Connection::take(server.descriptor, &server.name)?;
        PmiLauncher::start(connection, server.rank, server.size as usize)
    }

    fn start(mut connection: Connection, rank: u32, size: usize) -> Result<PmiLauncher, Error> {
        connection.initialise()?;
        let appnum = connection.optional_number("get_appnum", "appnum", "appnum")?;
        let universe_size = connection.optional_number("get_universe_size", "universe_size", "size")?;
        let nodes = match connection.get_raw("PMI_process_mapping")? {
            Some(mapping) => hosts::parse_mapping(&mapping, size),
            None => None,
        };
        let nodes = match nodes {
            Some(nodes) => nodes,
            None => exchange_hosts(&mut connection, rank as usize, size)?,
        };
        let mut job = Job::new(rank, nodes, &connection.launcher);
        (job.appnum, job.universe_size) = (appnum, universe_size);
        if job.hosts() > 1 {
            return Err(Error::SeveralHosts { hosts: job.hosts(), launcher: job.launcher });
        }
        let segment = handover::share_segment(&mut connection, &mut job)?;
        Ok(PmiLauncher { connection, job, segment })
    }
}

/// Words for the server, as far as its variables show who it is.
fn server_name() -> String {
    let set = |name: &str| config::environment(name).is_some();
    if set("SLURM_STEP_ID") || set("SLURM_STEPID") {
        "srun".to_owned()
    } else if set("I_MPI_HYDRA_UUID") || set("I_MPI_HYDRA_ENV") {
        "the Hydra launcher of Intel MPI".to_owned()
    } else if set("HYDI_CONTROL_FD") || set("PMI_HOSTNAME") {
        "the Hydra launcher (mpiexec of MPICH)".to_owned()
    } else {
        "the PMI-1 launcher".to_owned()
    }
}

/// Hydra ends a job at once and drops what it has not read of its output, so the sentence must be on its way before the
/// request. Gives up after a while: nobody may be reading.
fn wait_for_readers(stream: BorrowedFd<'_>) {
    for _ in 0..100 {
        std::thread::sleep(std::time::Duration::from_millis(5));
        if !matches!(rustix::io::ioctl_fionread(stream), Ok(waiting) if waiting > 0) {
            return;
        }
    }
}

/// Where the server does not know the hosts: each rank publishes its own, rank 0 collects and publishes the mapping.
fn exchange_hosts(connection: &mut Connection, rank: usize, size: usize) -> Result<Vec<u32>, Error> {
    if size == 1 {
        return Ok(vec![0]);
    }
    connection.put(&format!("towpath-host-{rank}"), &hosts::own_host())?;
    connection.fence()?;
    if rank == 0 {
        let names: Vec<Option<String>> =
            (0..size).map(|other| connection.get(&format!("towpath-host-{other}"))).collect::<Result<_, _>>()?;
        connection.put("towpath-hosts", &hosts::write_mapping(&hosts::number_by_appearance(&names)))?;
    }
    connection.fence()?;
    let mapping = connection.get("towpath-hosts")?;
    mapping.and_then(|mapping| hosts::parse_mapping(&mapping, size)).ok_or_else(|| Error::Protocol {
        launcher: connection.launcher.clone(),
        detail: "rank 0's list of hosts did not arrive".to_owned(),
    })
}

impl Launcher for PmiLauncher {
    fn job(&self) -> &Job {
        &self.job
    }

    fn segment(&mut self) -> Result<OwnedFd, Error> {
        duplicate(&self.segment)
    }

    fn put(&mut self, key: &str, value: &str) -> Result<(), Error> {
        self.connection.put(key, value)
    }

    fn get(&mut self, key: &str) -> Result<Option<String>, Error> {
        self.connection.get(key)
    }

    fn fence(&mut self) -> Result<(), Error> {
        self.connection.fence()
    }

    fn abort(&mut self, code: i32, sentence: &str) -> Result<(), Error> {
        eprintln!("{sentence}");
        wait_for_readers(std::io::stderr().as_fd());
        self.connection.abort(code, None)
    }

    fn finalize(&mut self) -> Result<(), Error> {
        self.connection.finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpiexec::server::{Event, Server};
    use std::sync::Mutex;
    use std::thread;

    type Sockets = Vec<OwnedFd>;

    /// Serves all ranks until they have closed their connections.
    fn serve(mut server: Server, sockets: &Sockets) {
        let mut readers: Vec<LineReader> = sockets.iter().map(|_| LineReader::default()).collect();
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
                }
                readers[rank].push(&piece[..count]);
                let mut events = Vec::new();
                while let Ok(Some(line)) = readers[rank].next_line() {
                    server.line(rank, &line, &mut events);
                }
                for event in events {
                    if let Event::Answer(to, line) = event {
                        rustix::io::write(&sockets[to], &line).unwrap();
                    }
                }
            }
        }
    }

    /// Runs a job of threads against a server.
    fn job(size: usize, knows_hosts: bool, body: impl Fn(PmiLauncher) + Sync) {
        let pair = || {
            let flags = rustix::net::SocketFlags::CLOEXEC;
            rustix::net::socketpair(rustix::net::AddressFamily::UNIX, rustix::net::SocketType::STREAM, flags, None)
        };
        let (server_ends, rank_ends): (Sockets, Sockets) = (0..size).map(|_| pair().unwrap()).unzip();
        let mut server = Server::new(5, &vec![0; size]);
        if !knows_hosts {
            server.forget_hosts();
        }
        thread::scope(|scope| {
            scope.spawn(|| serve(server, &server_ends));
            for (rank, socket) in rank_ends.into_iter().enumerate() {
                let body = &body;
                scope.spawn(move || body(PmiLauncher::start(Connection::over(socket), rank as u32, size).unwrap()));
            }
        });
    }

    #[test]
    fn ranks_find_each_other_whether_or_not_the_server_knows_the_hosts() {
        for knows_hosts in [true, false] {
            let nonces = Mutex::new(Vec::new());
            job(5, knows_hosts, |mut launcher| {
                let job = launcher.job().clone();
                assert_eq!((job.size, job.hosts(), job.local_ranks.len()), (5, 1, 5));
                assert_eq!((job.appnum, job.universe_size), (Some(0), Some(5)));
                assert!(crate::segment::belongs_to(launcher.segment().unwrap().as_fd(), job.nonce));
                nonces.lock().unwrap().push(job.nonce);
                launcher.finalize().unwrap();
            });
            let nonces = nonces.into_inner().unwrap();
            assert!(nonces.len() == 5 && nonces.iter().all(|nonce| *nonce == nonces[0]));
        }
    }

    #[test]
    fn values_of_any_length_and_content_arrive() {
        job(3, true, |mut launcher| {
            let rank = launcher.job().rank;
            let values = ["".to_owned(), "a b=c\n%".to_owned(), "ü".repeat(3000)];
            for (number, value) in values.iter().enumerate() {
                launcher.put(&format!("v{number}-{rank}"), value).unwrap();
            }
            launcher.fence().unwrap();
            for (number, value) in values.iter().enumerate() {
                let other = (rank + 1) % 3;
                assert_eq!(launcher.get(&format!("v{number}-{other}")).unwrap().as_ref(), Some(value));
            }
            assert_eq!(launcher.get("nothing").unwrap(), None);
            assert!(matches!(launcher.put("a key", ""), Err(Error::Unsendable(_))));
        });
    }

    #[test]
    fn a_server_that_goes_is_an_error() {
        let (server, rank) = std::os::unix::net::UnixStream::pair().unwrap();
        drop(server);
        let mut connection = Connection::over(rank.into());
        assert!(matches!(connection.initialise(), Err(Error::Connection { .. })));
        let mut other = Connection::over(std::fs::File::open("/dev/null").unwrap().into());
        assert!(other.fence().is_err());
    }
}
