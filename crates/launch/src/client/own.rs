//! The launcher interface of a rank under Towpath's own `mpiexec`. The ticket and the inherited
//! segment contain everything needed at the start, so the rank starts without any exchange. The
//! first put, get or fence initializes the PMI-1 connection.

use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

use towpath_base::config;

use super::pmi::{Dialect, PmiConnection};
use super::store::Store;
use super::{Job, LONGEST_END, Launcher, duplicate};
use crate::error::Error;
use crate::hosts;
use crate::key::JobKey;
use crate::segment::{self, nonce_of_host};
use crate::ticket::{self, RankTicket};
use crate::topology::{self, JobTopology};

/// Name of the launcher.
pub(super) const NAME: &str = "Towpath's mpiexec";

/// Key under which `mpiexec` stores the secret of the job, and whether the job has a topology.
pub(crate) const KEY: &str = "towpath-key";

/// Towpath's own `mpiexec` as a launcher.
pub(super) struct OwnLauncher {
    job: Job,
    segment: OwnedFd,
    connection: PmiConnection,
    initialized: bool,
    /// What `mpiexec` has stored under [`KEY`], once this rank has read it.
    key: Option<(JobKey, bool)>,
}

impl OwnLauncher {
    /// Finds the ticket in the environment without using it. Returns `None` if there is none, or if
    /// it was meant for another process and another launcher has started this one.
    pub(super) fn ticket() -> Result<Option<RankTicket>, Error> {
        let Some(text) = config::environment(ticket::VARIABLE) else { return Ok(None) };
        let pmi = config::environment("PMI_FD").and_then(|number| number.parse().ok());
        let ticket = RankTicket::parse(&text).filter(|ticket| pmi == Some(ticket.pmi));
        match ticket {
            Some(ticket) if is_open_here(&ticket) => Ok(Some(ticket)),
            Some(ticket) if !is_open(ticket.pmi) => Err(Error::NoServer(format!(
                "This process inherited the environment of rank {} of a job of {} ranks, but not its connection to \
                 mpiexec. To start an MPI program from a process of another MPI job, use mpiexec, or clear {}, PMI_FD \
                 and PMI_SIZE first.",
                ticket.rank,
                ticket.size,
                ticket::VARIABLE
            ))),
            _ => Ok(None),
        }
    }

    /// Takes over the descriptors that the ticket names.
    pub(super) fn start(ticket: &RankTicket) -> Result<OwnLauncher, Error> {
        let rank = ticket.rank;
        let nodes =
            hosts::parse_mapping(&ticket.mapping, ticket.size as usize).ok_or_else(|| {
                Error::Protocol {
                    launcher: NAME.to_owned(),
                    detail: format!("{} does not contain the hosts", ticket::VARIABLE),
                }
            })?;
        let mut job = Job::new(rank, nodes, NAME);
        let missing = |detail: String| Error::Segment { action: "reached", detail };
        if !is_open(ticket.segment) {
            return Err(missing(format!(
                "descriptor {}, inherited from mpiexec, has been closed",
                ticket.segment
            )));
        }
        // SAFETY: the descriptor is open (just checked). `mpiexec` opened it for this rank and no
        // other code owns it. If the program has meanwhile put another file under this number,
        // `into_raw_fd` below gives the number back.
        let segment = unsafe { OwnedFd::from_raw_fd(ticket.segment) };
        let _ = rustix::io::fcntl_setfd(&segment, rustix::io::FdFlags::CLOEXEC);
        if !segment::belongs_to(
            segment.as_fd(),
            nonce_of_host(ticket.job, job.node_of_rank[rank as usize]),
        ) {
            let number = std::os::fd::IntoRawFd::into_raw_fd(segment);
            return Err(missing(format!(
                "descriptor {number} is not the one inherited from mpiexec any more"
            )));
        }
        let owner = segment::owner_of(segment.as_fd(), job.local_rank as usize);
        if owner != 0 && owner != std::process::id() {
            return Err(Error::NoServer(format!(
                "Rank {rank} is process {owner} already: one rank of mpiexec runs one MPI program. Give a second \
                 program an mpiexec of its own."
            )));
        }
        job.id = ticket.job;
        job.appnum = Some(ticket.appnum);
        job.universe_size = Some(ticket.size as i32);
        let connection = PmiConnection::take(ticket.pmi, Dialect::One, NAME)?;
        Ok(OwnLauncher { job, segment, connection, initialized: false, key: None })
    }

    fn connection(&mut self) -> Result<&mut PmiConnection, Error> {
        if !self.initialized {
            self.connection.initialize(self.job.rank as usize, self.job.size as usize)?;
            self.initialized = true;
        }
        Ok(&mut self.connection)
    }

    /// The secret of the job, and whether the job has a topology: one request for both.
    fn key_and_topology(&mut self) -> Result<(JobKey, bool), Error> {
        if self.key.is_none() {
            let text = self.connection()?.get(None, KEY)?;
            self.key = text.and_then(|text| JobKey::parse_with(&text));
        }
        self.key.clone().ok_or_else(|| Error::Protocol {
            launcher: NAME.to_owned(),
            detail: "it did not report the secret of the job".to_owned(),
        })
    }
}

fn is_open(number: i32) -> bool {
    // SAFETY: `number` is above 2, so it is not -1. The borrow ends with this `fcntl`, which
    // returns EBADF for a closed descriptor and accesses no memory.
    number > 2 && rustix::io::fcntl_getfd(unsafe { BorrowedFd::borrow_raw(number) }).is_ok()
}

fn is_open_here(ticket: &RankTicket) -> bool {
    // SAFETY: `is_open` has just found the descriptor open, and the borrow ends with this `fstat`.
    is_open(ticket.pmi)
        && rustix::fs::fstat(unsafe { BorrowedFd::borrow_raw(ticket.pmi) })
            .is_ok_and(|s| s.st_ino == ticket.inode)
}

impl Launcher for OwnLauncher {
    fn job(&self) -> &Job {
        &self.job
    }

    fn segment(&mut self) -> Result<OwnedFd, Error> {
        duplicate(&self.segment)
    }

    fn key(&mut self) -> Result<JobKey, Error> {
        Ok(self.key_and_topology()?.0)
    }

    fn topology(&mut self) -> Result<Option<JobTopology>, Error> {
        if !self.key_and_topology()?.1 {
            return Ok(None);
        }
        let text = self.connection()?.get(None, topology::KEY)?;
        let topology = text.and_then(|text| JobTopology::parse(&text));
        match topology.filter(|topology| topology.hosts().len() == self.job.hosts()) {
            Some(topology) => Ok(Some(topology)),
            None => Err(Error::Protocol {
                launcher: NAME.to_owned(),
                detail: "it did not report the topology of the job".to_owned(),
            }),
        }
    }

    fn put(&mut self, key: &str, value: &str) -> Result<(), Error> {
        self.connection()?.put(key, value)
    }

    fn get(&mut self, key: &str) -> Result<Option<String>, Error> {
        self.connection()?.get(None, key)
    }

    fn fence(&mut self) -> Result<(), Error> {
        self.connection()?.fence()
    }

    fn abort(&mut self, code: i32, sentence: &str) -> Result<(), Error> {
        self.connection.abort(code, Some(sentence))
    }

    fn await_end(&self) {
        // The connections to ranks on other hosts must stay open until `mpiexec` ends this process:
        // those ranks report a closed connection as an error, and that report may reach `mpiexec`
        // before the reason.
        if self.job.hosts() > 1 {
            std::thread::sleep(LONGEST_END);
        }
    }

    fn finalize(&mut self) -> Result<(), Error> {
        if self.initialized { self.connection.finalize() } else { Ok(()) }
    }
}
