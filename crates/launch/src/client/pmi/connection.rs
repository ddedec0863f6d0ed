//! The connection of a process to a PMI server, in either dialect: one request, one answer.

use std::io;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SendFlags, send};

use super::dialect::{Dialect, Framing};
use crate::client::patience;
use crate::client::store::Store;
use crate::error::Error;
use crate::wire::{LineReader, PmiMessage, records::RecordReader};

/// Longest line in bytes that every server accepts. Slurm's server accepts no more, although it
/// announces values of this length.
const LONGEST_LINE: usize = 1024;
/// Bytes of a line in addition to the value: command, name of the key-value space, key.
const AROUND_A_VALUE: usize = 256;

/// What the server reports about this process during initialization.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::client) struct PmiIdentity {
    pub(super) appnum: Option<i32>,
    pub(super) universe_size: Option<i32>,
}

/// The connection of a process to a PMI server.
pub(in crate::client) struct PmiConnection {
    socket: OwnedFd,
    framing: Framing,
    dialect: Dialect,
    launcher: String,
    space: String,
    longest_value: usize,
    /// Deadline for the server's first answers. Only a server that has never answered is given a
    /// deadline.
    first_answer: Option<Instant>,
}

impl PmiConnection {
    /// Takes ownership of a descriptor named in the environment and makes it close-on-exec.
    pub(in crate::client) fn take(
        number: RawFd,
        dialect: Dialect,
        launcher: &str,
    ) -> Result<PmiConnection, Error> {
        check_open(number, launcher)?;
        // SAFETY: the descriptor is open (just checked), was inherited for this connection, and no
        // other code in the process uses it.
        let socket = unsafe { OwnedFd::from_raw_fd(number) };
        let _ = rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC);
        Ok(PmiConnection::over(socket, dialect, launcher))
    }

    pub(super) fn over(socket: OwnedFd, dialect: Dialect, launcher: &str) -> PmiConnection {
        PmiConnection {
            socket,
            framing: Framing::Lines(LineReader::default()),
            dialect,
            launcher: launcher.to_owned(),
            space: String::new(),
            longest_value: 1024,
            first_answer: None,
        }
    }

    /// Performs the first exchanges: version, limits, name of the key-value space, and what the
    /// server reports about this process. `rank` and `size` are those of the environment; a server
    /// that reports other values is rejected.
    pub(in crate::client) fn initialize(
        &mut self,
        rank: usize,
        size: usize,
    ) -> Result<PmiIdentity, Error> {
        self.first_answer = Some(Instant::now() + patience());
        self.ask(&self.dialect.hello(), "response_to_init")?;
        let place = match self.dialect {
            Dialect::One => self.initialize_lines(),
            Dialect::Two => self.initialize_records(rank, size),
        }?;
        self.first_answer = None;
        Ok(place)
    }

    fn initialize_lines(&mut self) -> Result<PmiIdentity, Error> {
        let limits = self.ask(&PmiMessage::new("get_maxes"), "maxes")?;
        let longest = limits.number("vallen_max").unwrap_or(LONGEST_LINE);
        self.longest_value = longest.clamp(64, LONGEST_LINE - AROUND_A_VALUE);
        let space = self.ask(&PmiMessage::new("get_my_kvsname"), "my_kvsname")?;
        self.space = space.get("kvsname").unwrap_or("").to_owned();
        Ok(PmiIdentity {
            appnum: self.optional_number("get_appnum", "appnum", "appnum")?,
            universe_size: self.optional_number("get_universe_size", "universe_size", "size")?,
        })
    }

    fn initialize_records(&mut self, rank: usize, size: usize) -> Result<PmiIdentity, Error> {
        self.framing = Framing::Records(RecordReader::default());
        self.space = towpath_base::config::environment("PMI_JOBID").unwrap_or_default();
        let hello = PmiMessage::new("fullinit")
            .with("pmijobid", &self.space)
            .with("pmirank", rank)
            .with("threaded", "FALSE");
        let answer = self.ask(&hello, "fullinit-response")?;
        let said = (answer.number::<usize>("rank"), answer.number::<usize>("size"));
        if said != (Some(rank), Some(size)) {
            return Err(self.nonsense(format!(
                "the environment says rank {rank} of {size}, the server {said:?}"
            )));
        }
        let universe = self.attribute("universeSize")?.and_then(|text| text.trim().parse().ok());
        let not_negative = |number: &i32| *number >= 0;
        Ok(PmiIdentity {
            appnum: answer.number("appnum").filter(not_negative),
            universe_size: universe.filter(not_negative),
        })
    }

    fn broken(&self, source: io::Error) -> Error {
        Error::Connection { launcher: self.launcher.clone(), source }
    }

    fn nonsense(&self, detail: String) -> Error {
        Error::Protocol { launcher: self.launcher.clone(), detail }
    }

    fn send(&self, message: &PmiMessage) -> Result<(), Error> {
        let bytes = self.framing.write(message).map_err(Error::Unsendable)?;
        let mut rest = bytes.as_slice();
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

    /// Waits until data arrives and reads it once.
    fn read_some(&mut self) -> Result<(), Error> {
        self.wait_for_first_answer()?;
        let mut piece = [0u8; 4096];
        loop {
            match rustix::io::read(&self.socket, &mut piece) {
                Ok(0) => return Err(self.broken(io::ErrorKind::UnexpectedEof.into())),
                Ok(count) => {
                    self.framing.push(&piece[..count]);
                    return Ok(());
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(self.broken(error.into())),
            }
        }
    }

    fn wait_for_first_answer(&self) -> Result<(), Error> {
        let Some(until) = self.first_answer else { return Ok(()) };
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let limit =
                Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
            match poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&limit)) {
                Ok(0) if left == Duration::ZERO => return Err(silent(&self.launcher)),
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(self.broken(error.into())),
            }
        }
    }

    /// Waits for the answer with this command name.
    fn answer(&mut self, name: &str) -> Result<PmiMessage, Error> {
        loop {
            match self.framing.next().map_err(|detail| self.nonsense(detail))? {
                Some(message) if message.command() == name => return Ok(message),
                Some(message) => {
                    return Err(self.nonsense(format!(
                        "{name} was expected, but {} arrived",
                        message.command()
                    )));
                }
                None => self.read_some()?,
            }
        }
    }

    fn exchange(&mut self, request: &PmiMessage, answer: &str) -> Result<PmiMessage, Error> {
        self.send(request)?;
        self.answer(answer)
    }

    /// Performs an exchange whose `rc` must be 0 or absent.
    fn ask(&mut self, request: &PmiMessage, answer: &str) -> Result<PmiMessage, Error> {
        let reply = self.exchange(request, answer)?;
        self.accepted(request, reply)
    }

    /// Returns the answer if its `rc` is 0 or absent, the server's refusal otherwise.
    fn accepted(&self, request: &PmiMessage, reply: PmiMessage) -> Result<PmiMessage, Error> {
        match reply.number::<i32>("rc") {
            None | Some(0) => Ok(reply),
            Some(_) => Err(Error::Refused {
                launcher: self.launcher.clone(),
                request: request.command().to_owned(),
                detail: reply
                    .get("msg")
                    .or(reply.get("errmsg"))
                    .unwrap_or("no reason was given")
                    .to_owned(),
            }),
        }
    }

    /// Requests a number that the server may not know.
    fn optional_number(
        &mut self,
        request: &str,
        answer: &str,
        key: &str,
    ) -> Result<Option<i32>, Error> {
        let reply = self.exchange(&PmiMessage::new(request), answer)?;
        Ok(reply
            .number(key)
            .filter(|&number| number >= 0 && reply.number::<i32>("rc").unwrap_or(0) == 0))
    }

    /// Requests what the launcher itself provides about the job under a key.
    pub(super) fn attribute(&mut self, key: &str) -> Result<Option<String>, Error> {
        let (request, answer) = self.dialect.attribute(&self.space, key);
        let reply = self.exchange(&request, answer)?;
        Ok(self.dialect.value(&reply).map(str::to_owned))
    }
}

impl Store for PmiConnection {
    fn launcher(&self) -> &str {
        &self.launcher
    }

    fn longest_value(&self) -> usize {
        self.longest_value
    }

    fn put_raw(&mut self, key: &str, value: &str) -> Result<(), Error> {
        let (request, answer) = self.dialect.put(&self.space, key, value);
        self.ask(&request, answer).map(|_| ())
    }

    fn get_raw(&mut self, _owner: Option<u32>, key: &str) -> Result<Option<String>, Error> {
        let (request, answer) = self.dialect.get(&self.space, key);
        let reply = self.exchange(&request, answer)?;
        Ok(self.dialect.value(&reply).map(str::to_owned))
    }

    fn fence(&mut self) -> Result<(), Error> {
        let (request, answer) = self.dialect.fence();
        self.ask(&request, answer).map(|_| ())
    }

    fn fence_serving(&mut self, listener: &OwnedFd, serve: &mut dyn FnMut()) -> Result<(), Error> {
        let (request, answer) = self.dialect.fence();
        self.send(&request)?;
        loop {
            let mut sources =
                [PollFd::new(&self.socket, PollFlags::IN), PollFd::new(listener, PollFlags::IN)];
            match poll(&mut sources, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(self.broken(error.into())),
            }
            let [from_server, from_ranks] = sources.map(|source| !source.revents().is_empty());
            if from_ranks {
                serve();
            }
            if from_server {
                let reply = self.answer(answer)?;
                return self.accepted(&request, reply).map(|_| ());
            }
        }
    }

    fn abort(&mut self, code: i32, sentence: Option<&str>) -> Result<(), Error> {
        self.send(&self.dialect.abort(code, sentence))
    }

    /// Hydra speaks PMI-1. Its `mpiexec` sends a proxy the order to kill the ranks. If they have
    /// all exited by then, the proxy has too, and SIGPIPE kills the `mpiexec` of Intel MPI. Slurm
    /// speaks PMI-2, and returns the code of a rank that it kills instead of that of the abort.
    fn ends_ranks(&self) -> bool {
        matches!(self.dialect, Dialect::One)
    }

    fn finalize(&mut self) -> Result<(), Error> {
        let (request, answer) = self.dialect.finalize();
        self.exchange(&request, answer).map(|_| ())
    }
}

/// The error for a launcher that does not answer.
pub(in crate::client) fn silent(launcher: &str) -> Error {
    Error::NoServer(format!(
        "This process was started by {launcher}, which has not answered for {} s (TOWPATH_LAUNCHER_SECONDS); without it \
         the other processes of the job cannot be found.",
        patience().as_secs()
    ))
}

pub(in crate::client) fn check_open(number: RawFd, launcher: &str) -> Result<(), Error> {
    // SAFETY: `number` is above 2, so it is not -1. The borrow ends with this `fcntl`, which
    // returns EBADF for a closed descriptor and accesses no memory.
    if number > 2 && rustix::io::fcntl_getfd(unsafe { BorrowedFd::borrow_raw(number) }).is_ok() {
        return Ok(());
    }
    Err(Error::NoServer(format!(
        "The environment says that this process belongs to a job of {launcher} (PMI_FD={number}), but that connection is \
         not open. If a process of another MPI job started this program, clear the PMI variables first."
    )))
}
