//! Identifies peers: which process of which job a [`PeerIndex`] is, and on which host it runs.

use towpath_base::ids::{PeerIndex, ProcessId};
use towpath_network::{HostNetwork, Jobs};
use towpath_neutral::error::{Result, fail};

use super::{PROCESS, this};

pub(crate) fn jobs() -> Option<&'static Jobs> {
    PROCESS.get().map(|process| &process.jobs)
}

/// This process.
pub(crate) fn me() -> PeerIndex {
    jobs().map_or(PeerIndex(0), Jobs::own)
}

/// The identifier of a peer that all processes use; `None` before MPI_Init.
pub(crate) fn id_of(peer: PeerIndex) -> Option<ProcessId> {
    jobs()?.process(peer)
}

/// The peer with an identifier; `None` if this process does not know its job.
pub(crate) fn peer_of(process: ProcessId) -> Option<PeerIndex> {
    jobs()?.peer(process)
}

/// The rank of a peer in MPI_COMM_WORLD; `None` if it is of another job.
pub(crate) fn rank_in_own_job(peer: PeerIndex) -> Option<u32> {
    jobs()?.rank_in_own_job(peer)
}

/// The name of a peer in a sentence for the user.
pub(crate) fn name_of(peer: PeerIndex) -> String {
    let name = jobs().and_then(|jobs| Some(jobs.process(peer)?.in_words(jobs.own_id())));
    name.unwrap_or_else(|| "a process that MPI does not know".to_owned())
}

/// Number of the host on which a peer runs, in this process's table of jobs; 0 before MPI_Init.
pub(crate) fn host_of(peer: PeerIndex) -> u32 {
    jobs().and_then(|jobs| jobs.host_of(peer)).unwrap_or(0)
}

/// What joins the hosts of this process's job, the same in all its processes.
pub(crate) fn host_network() -> HostNetwork {
    jobs().map(Jobs::host_network).unwrap_or_default()
}

/// How many ranks of this process's job share a core, and whether its hosts share the cores of
/// one machine evenly: the same in all its processes.
pub(crate) fn core_sharing() -> (usize, bool) {
    jobs().map_or((1, false), |jobs| (jobs.ranks_per_core(), jobs.shares_evenly()))
}

/// Number of the host on which this process runs: the same in all of `members` that run there.
///
/// # Errors
/// If some of them are of another job, since each process numbers the hosts of its own job first.
pub(crate) fn host_among<'a>(mut members: impl Iterator<Item = &'a PeerIndex>) -> Result<u32> {
    let jobs = &this()?.jobs;
    if members.any(|&peer| jobs.rank_in_own_job(peer).is_none()) {
        fail!(ERR_UNSUPPORTED_OPERATION, "the hosts of processes of several jobs cannot be told apart");
    }
    Ok(host_of(jobs.own()))
}
