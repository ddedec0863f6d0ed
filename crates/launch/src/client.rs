//! The library's interface to its launcher: the trait [`Launcher`], the same for every launcher.
//!
//! [`connect`] determines who started this process: Towpath's own `mpiexec`, a PMI or PMIx server,
//! or no launcher. If the environment shows a launcher of several processes but no server answers,
//! that is an error: a job must never run as N times "rank 0 of 1". The operations for dynamic
//! processes are part of the trait already and return [`Error::Unsupported`] until they are
//! implemented.

mod guard;
mod handover;
pub(crate) mod own;
mod pmi;
pub(crate) mod pmix;
mod served;
mod singleton;
pub(crate) mod store;

use std::os::fd::OwnedFd;
use std::time::Duration;

use towpath_base::ids::JobId;

use crate::error::Error;
use crate::key::JobKey;
use crate::ticket::RankTicket;
use crate::topology::JobTopology;

pub use handover::{Reached, Trial, try_handover};

/// How long to wait for the launcher to end the job after a rank has requested it.
const LONGEST_END: Duration = Duration::from_secs(1);

/// The job that this process belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Rank of this process in MPI_COMM_WORLD.
    pub rank: u32,
    /// Number of processes in MPI_COMM_WORLD.
    pub size: u32,
    /// Number of the program on the launcher's command line (MPI_APPNUM); `None` if the launcher
    /// does not provide it.
    pub appnum: Option<i32>,
    /// How many processes can run (MPI_UNIVERSE_SIZE); `None` if the launcher does not provide it.
    pub universe_size: Option<i32>,
    /// Identifies the job.
    pub id: JobId,
    /// Index of this process among the ranks of its host.
    pub local_rank: u32,
    /// World ranks of the processes of this host, ascending.
    pub local_ranks: Vec<u32>,
    /// Host of each rank, numbered from 0 in order of appearance.
    pub node_of_rank: Vec<u32>,
    /// First rank of each host.
    first_ranks: Vec<u32>,
    /// Name of the launcher, for use in a sentence.
    pub launcher: String,
}

impl Job {
    fn new(rank: u32, node_of_rank: Vec<u32>, launcher: &str) -> Job {
        let own = node_of_rank[rank as usize];
        let local_ranks: Vec<u32> = (0..)
            .zip(&node_of_rank)
            .filter(|&(_, &node)| node == own)
            .map(|(rank, _)| rank)
            .collect();
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
            id: JobId(0),
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

/// One program of a spawn request (MPI_Comm_spawn_multiple).
#[derive(Clone, Debug)]
pub struct SpawnProgram {
    /// Name of the program.
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Maximum number of processes.
    pub processes: u32,
    /// Key-value pairs of the info object.
    pub info: Vec<(String, String)>,
}

/// The launcher of a process.
pub trait Launcher: Send {
    /// The job that this process belongs to.
    fn job(&self) -> &Job;

    /// Returns a new close-on-exec descriptor of this host's segment, with head and control pages
    /// laid out. A singleton creates its own file at the first call.
    ///
    /// # Errors
    /// [`Error::Segment`] if the file cannot be created or duplicated.
    fn segment(&mut self) -> Result<OwnedFd, Error>;

    /// Returns the secret of the job, the same in all its processes on all hosts, with which they
    /// authenticate to each other.
    ///
    /// # Errors
    /// If the launcher is gone.
    fn key(&mut self) -> Result<JobKey, Error>;

    /// Returns the topology of the job, the same in all its processes; `None` without a topology
    /// file, and for a process without a launcher.
    ///
    /// # Errors
    /// If the launcher is gone.
    fn topology(&mut self) -> Result<Option<JobTopology>, Error>;

    /// Publishes a value under a key. Processes on all hosts see it after the next
    /// [`Launcher::fence`]. A key has 1 to 56 printable ASCII characters without blanks, `=` and
    /// `;`, and is put at most once in a job. A value may have any length.
    ///
    /// # Errors
    /// If the launcher refuses or is gone.
    fn put(&mut self, key: &str, value: &str) -> Result<(), Error>;

    /// Returns the value of a key; `None` if no process has put it.
    ///
    /// # Errors
    /// If the launcher is gone.
    fn get(&mut self, key: &str) -> Result<Option<String>, Error>;

    /// Like [`Launcher::get`] for a value that the given rank has put, which some launchers find
    /// much faster.
    ///
    /// # Errors
    /// If the launcher is gone.
    fn get_from(&mut self, _rank: u32, key: &str) -> Result<Option<String>, Error> {
        self.get(key)
    }

    /// Waits until all processes of the job have called it. Values put before the call are visible
    /// afterwards.
    ///
    /// # Errors
    /// If the launcher is gone.
    fn fence(&mut self) -> Result<(), Error>;

    /// Asks the launcher to end the whole job with this exit code. The user sees `sentence` exactly
    /// once: the launcher prints it if it can, otherwise this process writes it to stderr. The
    /// caller then awaits the end ([`Launcher::await_end`]) and exits with the same code.
    ///
    /// # Errors
    /// If the launcher is gone.
    fn abort(&mut self, code: i32, sentence: &str) -> Result<(), Error>;

    /// Waits for the launcher to end this process, for a second at most, after this or another
    /// rank has called [`Launcher::abort`]. Returns at once if processes may exit by themselves.
    fn await_end(&self) {}

    /// Tells the launcher that this process has finalized MPI. No other request may follow.
    ///
    /// # Errors
    /// If the launcher is gone.
    fn finalize(&mut self) -> Result<(), Error>;

    /// Starts more processes (MPI_Comm_spawn).
    ///
    /// # Errors
    /// [`Error::Unsupported`] until it is implemented.
    fn spawn(&mut self, _programs: &[SpawnProgram]) -> Result<Vec<i32>, Error> {
        Err(self.unsupported("starting further processes"))
    }

    /// Publishes a port under a service name (MPI_Publish_name).
    ///
    /// # Errors
    /// [`Error::Unsupported`] until it is implemented.
    fn publish(&mut self, _service: &str, _port: &str) -> Result<(), Error> {
        Err(self.unsupported("publishing a name"))
    }

    /// Returns the port of a service name (MPI_Lookup_name).
    ///
    /// # Errors
    /// [`Error::Unsupported`] until it is implemented.
    fn lookup(&mut self, _service: &str) -> Result<Option<String>, Error> {
        Err(self.unsupported("looking a name up"))
    }

    /// Withdraws a published service name (MPI_Unpublish_name).
    ///
    /// # Errors
    /// [`Error::Unsupported`] until it is implemented.
    fn unpublish(&mut self, _service: &str) -> Result<(), Error> {
        Err(self.unsupported("withdrawing a name"))
    }

    /// Returns the port of the parent job; `None` if this job was not spawned.
    ///
    /// # Errors
    /// If the launcher is gone.
    fn parent_port(&mut self) -> Result<Option<String>, Error> {
        Ok(None)
    }

    /// Returns the ranks that have died since the last call.
    ///
    /// # Errors
    /// [`Error::Unsupported`] from a launcher that does not report deaths; none does yet.
    fn deaths(&mut self) -> Result<Vec<u32>, Error> {
        Err(self.unsupported("notice of a process's death"))
    }

    /// The error for an operation that this launcher, or this version of Towpath, does not support.
    fn unsupported(&self, operation: &'static str) -> Error {
        Error::Unsupported { operation, launcher: self.job().launcher.clone() }
    }
}

/// Finds the launcher of this process and retrieves the job. MPI_Init calls it once. Under any
/// launcher but Towpath's own it is collective over the processes of the job.
///
/// # Errors
/// An error message for the user if the environment shows a launcher that does not answer, or if
/// its answer is unusable.
pub fn connect() -> Result<Box<dyn Launcher>, Error> {
    Ok(match FoundLauncher::in_environment()? {
        FoundLauncher::Own(ticket) => Box::new(own::OwnLauncher::start(&ticket)?),
        FoundLauncher::Pmi(server) => Box::new(pmi::connect(&server)?),
        FoundLauncher::Pmix(server) => match pmix::connect(&server) {
            Ok(launcher) => Box::new(launcher),
            // A single process has no peers to find.
            Err(Error::NoServer(_)) if server.size == Some(1) => {
                Box::new(singleton::Singleton::new())
            }
            Err(error) => return Err(error),
        },
        FoundLauncher::Nobody => Box::new(singleton::Singleton::new()),
    })
}

/// The launcher that the environment shows.
enum FoundLauncher {
    Own(RankTicket),
    Pmi(pmi::PmiAddress),
    Pmix(pmix::PmixAddress),
    Nobody,
}

impl FoundLauncher {
    /// Reads the environment without contacting the launcher.
    fn in_environment() -> Result<FoundLauncher, Error> {
        if let Some(ticket) = own::OwnLauncher::ticket()? {
            return Ok(FoundLauncher::Own(ticket));
        }
        if let Some(server) = pmi::PmiAddress::from_environment()? {
            return Ok(FoundLauncher::Pmi(server));
        }
        if let Some(server) = pmix::PmixAddress::from_environment()? {
            return Ok(FoundLauncher::Pmix(server));
        }
        guard::no_other_launcher()?;
        Ok(FoundLauncher::Nobody)
    }
}

/// How the ranks of Towpath's own mpiexec obtain the segment, for messages.
pub const BY_OWN_MPIEXEC: &str = "inherited from mpiexec";

/// How the ranks of any other launcher obtain the segment, for messages.
const FROM_FIRST_RANK: &str = "from the first rank";

/// What the environment shows about the launcher of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Name of the launcher.
    pub launcher: String,
    /// Rank of this process and number of ranks, as far as the environment provides them; `None`
    /// for a process without a launcher.
    pub rank_and_size: Option<(u32, Option<u32>)>,
    /// How its ranks obtain the segment, as shown to the user.
    pub handover: &'static str,
}

/// Finds the launcher that [`connect`] would contact, without contacting it.
///
/// # Errors
/// The error with which [`connect`] would fail.
pub fn seen() -> Result<Seen, Error> {
    Ok(match FoundLauncher::in_environment()? {
        FoundLauncher::Own(ticket) => Seen {
            launcher: own::NAME.to_owned(),
            rank_and_size: Some((ticket.rank, Some(ticket.size))),
            handover: BY_OWN_MPIEXEC,
        },
        FoundLauncher::Pmi(server) => Seen {
            launcher: server.name,
            rank_and_size: Some((server.rank, Some(server.size))),
            handover: FROM_FIRST_RANK,
        },
        FoundLauncher::Pmix(server) => Seen {
            launcher: server.name,
            rank_and_size: Some((server.rank, server.size)),
            handover: FROM_FIRST_RANK,
        },
        FoundLauncher::Nobody => {
            Seen { launcher: "nobody".to_owned(), rank_and_size: None, handover: "private" }
        }
    })
}

/// How long to wait for a launcher or host that has never answered; at most a year.
pub(crate) fn patience() -> std::time::Duration {
    let seconds = towpath_base::config::number("TOWPATH_LAUNCHER_SECONDS").unwrap_or(60);
    std::time::Duration::from_secs(seconds.min(365 * 24 * 3600))
}

/// Duplicates the segment's descriptor, close-on-exec.
fn duplicate(segment: &OwnedFd) -> Result<OwnedFd, Error> {
    rustix::io::fcntl_dupfd_cloexec(segment, 3).map_err(|refusal| Error::Segment {
        action: "reached",
        detail: std::io::Error::from(refusal).to_string(),
    })
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
