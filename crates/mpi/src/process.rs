//! The facts about this process and its job that hold from MPI_Init on. Everything else in this
//! crate builds on them.
//!
//! They are never destroyed, so late calls get an error instead of crashing.

pub(crate) mod devices;
pub(crate) mod ending;
pub(crate) mod heap;
mod peers;
mod phase;

use std::io::Write as _;
use std::sync::{Mutex, OnceLock};
use std::thread::ThreadId;

use towpath_base::calls::NAMES;
use towpath_base::control::{BlockedCall, ControlPage};
use towpath_base::ids::{ContextId, PeerIndex};
use towpath_base::sync::Ordering;
use towpath_collective::Selection;
use towpath_launch::client::{Job, Launcher};
use towpath_machine::cgroup::ProcessorQuota;
use towpath_machine::cores;
use towpath_machine::levels::MachineDescription;
use towpath_network::Jobs;
use towpath_neutral::error::{Result, fail};
use towpath_shm::{Heap, Segment};
use towpath_transport::Losses;

pub(crate) use peers::{core_sharing, rank_in_own_job};
pub(crate) use peers::{host_among, host_network, host_of, id_of, jobs, me, name_of, peer_of};
pub(crate) use phase::{Phase, abi, enter, leave, not_running, page, phase, refused, set_abi, set_phase};
pub(crate) use towpath_base::contexts::Contexts;

/// This process and its job.
pub(crate) struct Process {
    /// Description of the job.
    pub(crate) job: Job,
    /// The table of jobs, which maps each peer to its job and rank.
    pub(crate) jobs: Jobs,
    /// Provided thread level.
    pub(crate) thread_level: i32,
    /// The thread that called MPI_Init.
    pub(crate) main_thread: ThreadId,
    /// Selection of collective algorithms.
    pub(crate) selection: Selection,
    /// The machine described by TOWPATH_MACHINE or the topology file, used instead of the real one.
    pub(crate) machine: Option<MachineDescription>,
    /// The mapped segment, kept for its control pages.
    pub(crate) segment: Segment,
    /// The CPU quotas of the process's control groups. Opened when the first board is made.
    pub(crate) quota: OnceLock<ProcessorQuota>,
    /// Memory that the peers can access, for MPI_Alloc_mem.
    pub(crate) heap: Mutex<Heap>,
    /// Why processes of other hosts were lost.
    pub(crate) losses: Option<Losses>,
    pub(crate) launcher: Mutex<Box<dyn Launcher>>,
    /// Allocator of the contexts that this process proposes.
    pub(crate) contexts: Contexts,
}

static PROCESS: OnceLock<Process> = OnceLock::new();

/// Stores the facts, once.
///
/// # Errors
/// If another thread has done so.
pub(crate) fn set(process: Process) -> Result<&'static Process> {
    if PROCESS.set(process).is_err() {
        fail!(ERR_OTHER, "two threads initialize MPI at the same time; call MPI_Init in one thread only");
    }
    this()
}

/// The facts, or an error before MPI_Init.
#[inline]
pub(crate) fn this() -> Result<&'static Process> {
    match PROCESS.get() {
        Some(process) => Ok(process),
        None => fail!(ERR_OTHER, "MPI is not initialized; call MPI_Init first"),
    }
}

/// Selection of collective algorithms, or an error before MPI_Init.
pub(crate) fn selection() -> Result<&'static Selection> {
    Ok(&this()?.selection)
}

/// The name of this host.
pub(crate) fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map_or_else(|_| "localhost".to_owned(), |name| name.trim().to_owned())
}

impl Process {
    /// True if the ranks of this host share cores, as far as they have announced their affinity.
    pub(crate) fn ranks_share_cores(&self) -> bool {
        let head = self.segment.head();
        let quota = || self.quota.get_or_init(ProcessorQuota::open).cores();
        cores::are_shared(head, head.local_ranks.load(Ordering::Relaxed), quota)
    }
}

/// The error text for a message from or to a lost process.
pub(crate) fn reason_of_loss(peer: PeerIndex) -> String {
    let known = PROCESS.get().and_then(|process| process.losses.as_ref()?.of(peer));
    known.unwrap_or_else(|| "the other process died before the message was through".to_owned())
}

/// The number that its creator gave a context (0 for MPI_COMM_WORLD, 1 for MPI_COMM_SELF), and the
/// creator's rank; `None` if the creator's number is not that of a rank of this job.
pub(crate) fn maker_of(context: ContextId) -> (u32, Option<u32>) {
    let rank = PROCESS.get().and_then(|process| {
        let first = process.contexts.creator().wrapping_sub(process.job.rank);
        let rank = ((context.0 >> 32) as u32).wrapping_sub(first);
        (rank < process.job.size).then_some(rank)
    });
    (context.0 as u32 >> 2, rank)
}

/// Name of the MPI function that a rank of this host called last.
pub(crate) fn last_call_of(peer: PeerIndex) -> Option<&'static str> {
    name_of_call(page_of(peer)?)
}

/// Name of the MPI function that a rank of this host called last, and whether the rank is still in
/// it; `Some(None)` before its first call.
pub(crate) fn call_of(peer: PeerIndex) -> Option<Option<(&'static str, bool)>> {
    let page = page_of(peer)?;
    Some(name_of_call(page).map(|name| (name, page.in_call.load(Ordering::Relaxed) != 0)))
}

/// The control page of a rank of this host.
fn page_of(peer: PeerIndex) -> Option<&'static ControlPage> {
    let process = PROCESS.get()?;
    let rank = process.jobs.rank_in_own_job(peer)?;
    let local = process.job.local_ranks.iter().position(|&local| local == rank)?;
    Some(process.segment.control(local))
}

/// The calls in which ranks of this host are blocked.
pub(crate) fn blocked_here() -> impl Iterator<Item = (PeerIndex, BlockedCall)> {
    let ranks = PROCESS.get().into_iter().flat_map(|process| {
        process.job.local_ranks.iter().enumerate().map(move |(local, &rank)| (process, local, rank))
    });
    ranks.filter_map(|(process, local, rank)| {
        Some((process.jobs.own_peer(rank), process.segment.control(local).blocked()?))
    })
}

fn name_of_call(page: &ControlPage) -> Option<&'static str> {
    let number = page.last_call.load(Ordering::Relaxed);
    NAMES.get(number as usize).copied().filter(|name| number != 0 && !name.is_empty())
}

/// Prints lines to standard error in one write.
pub(crate) fn say_lines(lines: &str) {
    let _ = std::io::stderr().write_all(format!("{lines}\n").as_bytes());
}

/// Prints a line to standard error in one write, so that the lines of ranks that fail together do
/// not mix.
pub(crate) fn say(sentence: &str) {
    say_lines(&format!("towpath: {sentence}"));
}
