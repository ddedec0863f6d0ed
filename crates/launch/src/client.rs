//! What the library asks of its launcher, through one trait, [`Launcher`], whoever the launcher is.
//!
//! [`connect`] finds out who started this process: Towpath's own `mpiexec`, a PMI or PMIx server,
//! or nobody. When the environment shows a launcher of several processes but no server answers, it
//! is an error: a job must never run as N times "rank 0 of 1". Operations of dynamic processes are
//! named from the first day and answer [`Error::Unsupported`] until they are built.

mod guard;
mod handover;
pub(crate) mod own;
mod pmi;
pub(crate) mod pmix;
mod served;
mod singleton;
pub(crate) mod store;

use std::os::fd::OwnedFd;

use crate::error::Error;
use crate::key::JobKey;
use crate::ticket::Ticket;

pub use handover::{Reached, Trial, try_handover};

/// The facts of the job this process belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Rank of this process in MPI_COMM_WORLD.
    pub rank: u32,
    /// Number of processes in MPI_COMM_WORLD.
    pub size: u32,
    /// Number of the program on the launcher's command line (MPI_APPNUM), where the launcher says
    /// it.
    pub appnum: Option<i32>,
    /// How many processes could run (MPI_UNIVERSE_SIZE), where the launcher says it.
    pub universe_size: Option<i32>,
    /// Random number of the job, the same in all its processes, different in every other job. No
    /// secret.
    pub nonce: u64,
    /// Place of this process among the ranks of its host.
    pub local_rank: u32,
    /// World ranks of the processes of this host, ascending.
    pub local_ranks: Vec<u32>,
    /// Host of each rank, numbered from 0 in order of appearance.
    pub node_of_rank: Vec<u32>,
    /// First rank of each host.
    first_ranks: Vec<u32>,
    /// Who started this process, in words for a sentence.
    pub launcher: String,
}

impl Job {
    fn new(rank: u32, node_of_rank: Vec<u32>, launcher: &str) -> Job {
        let own = node_of_rank[rank as usize];
        let local_ranks: Vec<u32> =
            (0..).zip(&node_of_rank).filter(|&(_, &node)| node == own).map(|(rank, _)| rank).collect();
        let local_rank = local_ranks.iter().take_while(|&&other| other < rank).count() as u32;
        let mut first_ranks = Vec::new();
        for (rank, &node) in (0..).zip(&node_of_rank) {
            if node as usize == first_ranks.len() {
                first_ranks.push(rank);
            }
        }
        Job {
            rank,
            size: node_of_rank.len() as u32,
            appnum: None,
            universe_size: None,
            nonce: 0,
            local_rank,
            local_ranks,
            node_of_rank,
            first_ranks,
            launcher: launcher.to_owned(),
        }
    }

    /// How many hosts the job spans.
    pub fn hosts(&self) -> usize {
        self.first_ranks.len()
    }

    /// The first rank of a host, which is below [`Job::hosts`].
    pub fn first_of(&self, host: u32) -> u32 {
        self.first_ranks[host as usize]
    }
}

/// One program of a spawn request.
#[derive(Clone, Debug)]
pub struct SpawnProgram {
    /// The program's name.
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// How many processes of it at most.
    pub processes: u32,
    /// Key and value pairs of the info object.
    pub info: Vec<(String, String)>,
}

/// A process's launcher.
pub trait Launcher: Send {
    /// The facts of the job.
    fn job(&self) -> &Job;

    /// A new descriptor (close-on-exec) of the memory file that the ranks of this host share, with
    /// head and control pages laid out. A process started alone makes a file of its own at the
    /// first call.
    ///
    /// # Errors
    /// [`Error::Segment`] when the file cannot be made or duplicated.
    fn segment(&mut self) -> Result<OwnedFd, Error>;

    /// The secret of the job, the same in all its processes on all hosts: what they prove to each
    /// other.
    ///
    /// # Errors
    /// When the launcher is gone.
    fn key(&mut self) -> Result<JobKey, Error>;

    /// Publishes a value under a key; processes on all hosts see it after the next
    /// [`Launcher::fence`]. Keys: 1 to 56 printable signs without blanks, `=` and `;`, put once in
    /// a job; values of any length.
    ///
    /// # Errors
    /// When the launcher refuses or is gone.
    fn put(&mut self, key: &str, value: &str) -> Result<(), Error>;

    /// The value of a key; `None` when nobody has put it.
    ///
    /// # Errors
    /// When the launcher is gone.
    fn get(&mut self, key: &str) -> Result<Option<String>, Error>;

    /// As [`Launcher::get`] for a value that this rank has put, which some launchers find much
    /// sooner.
    ///
    /// # Errors
    /// When the launcher is gone.
    fn get_from(&mut self, _rank: u32, key: &str) -> Result<Option<String>, Error> {
        self.get(key)
    }

    /// Waits until all processes of the job have called it; what was put before is visible
    /// afterwards.
    ///
    /// # Errors
    /// When the launcher is gone.
    fn fence(&mut self) -> Result<(), Error>;

    /// Asks the launcher to end the whole job with this exit code. The sentence reaches the
    /// person's terminal once, by the launcher where it can, else written to stderr here. The
    /// caller then exits with the same code.
    ///
    /// # Errors
    /// When the launcher is gone.
    fn abort(&mut self, code: i32, sentence: &str) -> Result<(), Error>;

    /// Says that this process has left MPI orderly; nothing may be asked afterwards.
    ///
    /// # Errors
    /// When the launcher is gone.
    fn finalize(&mut self) -> Result<(), Error>;

    /// Starts further processes (MPI_Comm_spawn).
    ///
    /// # Errors
    /// [`Error::Unsupported`] until it is built.
    fn spawn(&mut self, _programs: &[SpawnProgram]) -> Result<Vec<i32>, Error> {
        Err(self.unsupported("starting further processes"))
    }

    /// Publishes a port under a service name (MPI_Publish_name).
    ///
    /// # Errors
    /// [`Error::Unsupported`] until it is built.
    fn publish(&mut self, _service: &str, _port: &str) -> Result<(), Error> {
        Err(self.unsupported("publishing a name"))
    }

    /// The port of a service name (MPI_Lookup_name).
    ///
    /// # Errors
    /// [`Error::Unsupported`] until it is built.
    fn lookup(&mut self, _service: &str) -> Result<Option<String>, Error> {
        Err(self.unsupported("looking a name up"))
    }

    /// Takes a published name back (MPI_Unpublish_name).
    ///
    /// # Errors
    /// [`Error::Unsupported`] until it is built.
    fn unpublish(&mut self, _service: &str) -> Result<(), Error> {
        Err(self.unsupported("withdrawing a name"))
    }

    /// The port of the parent job; `None` when this job was not spawned.
    ///
    /// # Errors
    /// When the launcher is gone.
    fn parent_port(&mut self) -> Result<Option<String>, Error> {
        Ok(None)
    }

    /// Ranks that have died since the last call.
    ///
    /// # Errors
    /// [`Error::Unsupported`] until it is built.
    fn deaths(&mut self) -> Result<Vec<u32>, Error> {
        Err(self.unsupported("notice of a process's death"))
    }

    /// The error for an operation that this launcher or version does not have.
    fn unsupported(&self, operation: &'static str) -> Error {
        Error::Unsupported { operation, launcher: self.job().launcher.clone() }
    }
}

/// Finds the launcher of this process and learns the facts of the job. Called once, by MPI_Init;
/// collective over the processes of the job under a launcher that is not ours.
///
/// # Errors
/// One sentence when the environment shows a launcher that does not answer, or the answer is of no
/// use.
pub fn connect() -> Result<Box<dyn Launcher>, Error> {
    Ok(match Found::in_environment()? {
        Found::Own(ticket) => Box::new(own::OwnLauncher::start(&ticket)?),
        Found::Pmi(server) => Box::new(pmi::connect(&server)?),
        Found::Pmix(server) => match pmix::connect(&server) {
            Ok(launcher) => Box::new(launcher),
            // One process has nobody to find.
            Err(Error::NoServer(_)) if server.size == Some(1) => Box::new(singleton::Singleton::new()),
            Err(error) => return Err(error),
        },
        Found::Nobody => Box::new(singleton::Singleton::new()),
    })
}

/// The launcher that the environment shows.
enum Found {
    Own(Ticket),
    Pmi(pmi::Server),
    Pmix(pmix::Server),
    Nobody,
}

impl Found {
    /// Looks without touching anything.
    fn in_environment() -> Result<Found, Error> {
        if let Some(ticket) = own::OwnLauncher::ticket()? {
            return Ok(Found::Own(ticket));
        }
        if let Some(server) = pmi::Server::from_environment()? {
            return Ok(Found::Pmi(server));
        }
        if let Some(server) = pmix::Server::from_environment()? {
            return Ok(Found::Pmix(server));
        }
        guard::no_other_launcher()?;
        Ok(Found::Nobody)
    }
}

/// How ranks of Towpath's own mpiexec come by the segment, in words.
pub const BY_OWN_MPIEXEC: &str = "inherited from mpiexec";

/// How ranks of any other launcher come by the segment, in words.
const FROM_FIRST_RANK: &str = "from the first rank";

/// What a process sees of its launcher before it speaks to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Who it is, in words.
    pub launcher: String,
    /// Rank of this process and number of ranks, where the environment says it; `None` when nobody
    /// has launched it.
    pub place: Option<(u32, Option<u32>)>,
    /// How its ranks come to share the segment, in words.
    pub handover: &'static str,
}

/// Looks for the launcher that [`connect`] would speak to, without speaking to it.
///
/// # Errors
/// The sentence with which [`connect`] would refuse.
pub fn seen() -> Result<Seen, Error> {
    Ok(match Found::in_environment()? {
        Found::Own(ticket) => Seen {
            launcher: own::NAME.to_owned(),
            place: Some((ticket.rank, Some(ticket.size))),
            handover: BY_OWN_MPIEXEC,
        },
        Found::Pmi(server) => {
            Seen { launcher: server.name, place: Some((server.rank, Some(server.size))), handover: FROM_FIRST_RANK }
        }
        Found::Pmix(server) => {
            Seen { launcher: server.name, place: Some((server.rank, server.size)), handover: FROM_FIRST_RANK }
        }
        Found::Nobody => Seen { launcher: "nobody".to_owned(), place: None, handover: "private" },
    })
}

/// How long a launcher, or a host, that has never answered is waited for: no longer than a year.
pub(crate) fn patience() -> std::time::Duration {
    let seconds = towpath_base::config::number("TOWPATH_LAUNCHER_SECONDS").unwrap_or(60);
    std::time::Duration::from_secs(seconds.min(365 * 24 * 3600))
}

/// A close-on-exec duplicate of the segment's descriptor.
fn duplicate(segment: &OwnedFd) -> Result<OwnedFd, Error> {
    rustix::io::fcntl_dupfd_cloexec(segment, 3)
        .map_err(|refusal| Error::Segment { action: "reached", detail: std::io::Error::from(refusal).to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_ranks_follow_the_hosts() {
        let job = Job::new(3, vec![0, 0, 1, 0, 1], "a test");
        assert_eq!((job.size, job.local_rank, job.hosts()), (5, 2, 2));
        assert_eq!(job.local_ranks, [0, 1, 3]);
        assert_eq!((job.first_of(0), job.first_of(1)), (0, 2));
    }
}
