//! A rank of Towpath's own `mpiexec`: everything it needs at the start is in its ticket and in the
//! inherited segment, so it starts without a single exchange. The PMI-1 connection is opened when
//! something is put, fenced or aborted.

use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

use towpath_base::config;

use super::pmi::{Connection, Dialect};
use super::store::Store;
use super::{Job, Launcher, duplicate};
use crate::error::Error;
use crate::hosts;
use crate::key::JobKey;
use crate::segment::{self, nonce_of_host};
use crate::ticket::{self, Ticket};

/// Who the launcher is.
pub(super) const NAME: &str = "Towpath's mpiexec";

/// How long the end of a job that a rank has asked for is waited for.
const LONGEST_END: std::time::Duration = std::time::Duration::from_secs(1);

/// Key under which `mpiexec` keeps the secret of the job.
pub(crate) const KEY: &str = "towpath-key";

/// Towpath's own `mpiexec` as launcher.
pub(super) struct OwnLauncher {
    job: Job,
    segment: OwnedFd,
    connection: Connection,
    initialised: bool,
}

impl OwnLauncher {
    /// Finds the ticket of the environment, and uses nothing yet; `None` when there is none, or
    /// when it was meant for another process and another launcher has started this one.
    pub(super) fn ticket() -> Result<Option<Ticket>, Error> {
        let Some(text) = config::environment(ticket::VARIABLE) else { return Ok(None) };
        let pmi = config::environment("PMI_FD").and_then(|number| number.parse().ok());
        let ticket = Ticket::parse(&text).filter(|ticket| pmi == Some(ticket.pmi));
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

    /// Takes over what the ticket names.
    pub(super) fn start(ticket: &Ticket) -> Result<OwnLauncher, Error> {
        let rank = ticket.rank;
        let nodes = hosts::parse_mapping(&ticket.mapping, ticket.size as usize).ok_or_else(|| Error::Protocol {
            launcher: NAME.to_owned(),
            detail: format!("{} does not say the hosts", ticket::VARIABLE),
        })?;
        let mut job = Job::new(rank, nodes, NAME);
        let missing = |detail: String| Error::Segment { action: "reached", detail };
        if !is_open(ticket.segment) {
            return Err(missing(format!("descriptor {}, inherited from mpiexec, has been closed", ticket.segment)));
        }
        // SAFETY: the descriptor is open (just checked) and was inherited for this purpose alone.
        let segment = unsafe { OwnedFd::from_raw_fd(ticket.segment) };
        let _ = rustix::io::fcntl_setfd(&segment, rustix::io::FdFlags::CLOEXEC);
        if !segment::belongs_to(segment.as_fd(), nonce_of_host(ticket.nonce, job.node_of_rank[rank as usize])) {
            let number = std::os::fd::IntoRawFd::into_raw_fd(segment);
            return Err(missing(format!("descriptor {number} is not the one inherited from mpiexec any more")));
        }
        let owner = segment::owner_of(segment.as_fd(), job.local_rank as usize);
        if owner != 0 && owner != std::process::id() {
            return Err(Error::NoServer(format!(
                "Rank {rank} is process {owner} already: one rank of mpiexec runs one MPI program. Give a second \
                 program an mpiexec of its own."
            )));
        }
        job.nonce = ticket.nonce;
        job.appnum = Some(ticket.appnum);
        job.universe_size = Some(ticket.size as i32);
        let connection = Connection::take(ticket.pmi, Dialect::One, NAME)?;
        Ok(OwnLauncher { job, segment, connection, initialised: false })
    }

    fn connection(&mut self) -> Result<&mut Connection, Error> {
        if !self.initialised {
            self.connection.initialise(self.job.rank as usize, self.job.size as usize)?;
            self.initialised = true;
        }
        Ok(&mut self.connection)
    }
}

fn is_open(number: i32) -> bool {
    // SAFETY: the number is only looked at.
    number > 2 && rustix::io::fcntl_getfd(unsafe { BorrowedFd::borrow_raw(number) }).is_ok()
}

fn is_open_here(ticket: &Ticket) -> bool {
    // SAFETY: the number is only looked at.
    is_open(ticket.pmi)
        && rustix::fs::fstat(unsafe { BorrowedFd::borrow_raw(ticket.pmi) }).is_ok_and(|s| s.st_ino == ticket.inode)
}

impl Launcher for OwnLauncher {
    fn job(&self) -> &Job {
        &self.job
    }

    fn segment(&mut self) -> Result<OwnedFd, Error> {
        duplicate(&self.segment)
    }

    fn key(&mut self) -> Result<JobKey, Error> {
        let text = self.connection()?.get(None, KEY)?;
        text.and_then(|text| JobKey::parse(&text)).ok_or_else(|| Error::Protocol {
            launcher: NAME.to_owned(),
            detail: "it did not say the secret of the job".to_owned(),
        })
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
        self.connection.abort(code, Some(sentence))?;
        if self.job.hosts() > 1 {
            // mpiexec ends this process soon. Until then its connections stay open: ranks of other
            // hosts that notice their end complain about it, and their complaint might reach
            // mpiexec before the cause does.
            std::thread::sleep(LONGEST_END);
        }
        Ok(())
    }

    fn finalize(&mut self) -> Result<(), Error> {
        if self.initialised { self.connection.finalize() } else { Ok(()) }
    }
}
