//! The table of jobs: which process of which job each [`PeerIndex`] names.
//!
//! The job of this process is the first entry, so its processes have the indices 0..n. Another job
//! that connects gets the next indices, one for each of its processes.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

use towpath_base::ids::{JobId, PeerIndex, ProcessId};
use towpath_launch::client::{Job, Launcher};
use towpath_launch::resources::{HostResources, JobResources};
use towpath_launch::shown::ShownJob;
use towpath_launch::topology::{JobTopology, described};
use towpath_machine::levels::MachineDescription;
use towpath_topology::{Figure, HostNetwork, NetworkTopology};

use crate::error::{Error, Result};

/// One job.
#[derive(Clone, Debug)]
struct JobEntry {
    id: JobId,
    /// Index of its rank 0.
    first: u32,
    /// Host of each rank, numbered over all jobs.
    host_of_rank: Vec<u32>,
}

/// All jobs that a process knows.
#[derive(Clone, Debug)]
pub struct Jobs {
    /// By ascending `first`; never empty.
    entries: Vec<JobEntry>,
    /// Rank of this process in its job.
    rank: u32,
    /// What joins the hosts of this process's job, if a topology file says so.
    topology: Option<Arc<JobTopology>>,
    /// Names of the hosts of this process's job, once its processes know them.
    names: Vec<String>,
    /// The processors and links of this process's job.
    resources: JobResources,
    /// Held open for `towpath info --topology`.
    shown: Arc<Mutex<Option<OwnedFd>>>,
    /// By host: the rate of its link that was measured last; 0 if none was.
    measured: Arc<Mutex<Vec<u64>>>,
}

impl Jobs {
    /// The table of a process that knows its own job only.
    pub fn of(job: &Job) -> Jobs {
        let mut jobs = Jobs::empty(job.rank);
        jobs.add(job.id, &job.node_of_rank);
        jobs
    }

    fn empty(rank: u32) -> Jobs {
        Jobs {
            entries: Vec::new(),
            rank,
            topology: None,
            names: Vec::new(),
            resources: JobResources::default(),
            shown: Arc::default(),
            measured: Arc::default(),
        }
    }

    /// Learns from the launcher what joins the hosts of this process's job, and shows it to
    /// `towpath info`.
    ///
    /// # Errors
    /// If the launcher fails.
    pub fn learn_topology(&mut self, launcher: &mut dyn Launcher) -> Result<()> {
        self.topology = launcher.topology().map_err(Error::new)?.map(Arc::new);
        let shown = self.topology.as_deref().cloned().map(ShownJob::named);
        *self.shown.lock().unwrap() = shown.and_then(|shown| shown.show());
        Ok(())
    }

    /// How many ranks of this process's job share a core, where most do: the same in all its
    /// processes. 1 if all ranks are on one host or on a fabric: then nobody asks.
    pub fn ranks_per_core(&self) -> usize {
        self.resources.ranks_per_core()
    }

    /// True if all hosts of this process's job are containers of one machine with equal shares of
    /// its cores, the same in all its processes.
    pub fn shares_evenly(&self) -> bool {
        self.resources.shares_evenly
    }

    /// Rate of the link of a host of this process's job in bytes per second, the same in all its
    /// processes: as the topology file says, or else as the systems report. Its origin is
    /// [`FigureOrigin::Default`](towpath_topology::FigureOrigin::Default) if the rate is unknown.
    pub fn link_figure(&self, host: u32) -> Figure<u64> {
        let stated = self.topology.as_ref().map(|topology| topology.link(host));
        let reported = self.resources.rates.get(host as usize).copied();
        stated.unwrap_or_else(|| NetworkTopology::default().usual_link()).or_reported(reported).rate
    }

    /// What joins the hosts of this process's job, by number, the same in all its processes: as the
    /// topology file says, or else as the systems report.
    pub fn host_network(&self) -> HostNetwork {
        let reported = &self.resources.rates;
        match &self.topology {
            Some(topology) => {
                let names = topology.hosts().iter().map(|name| Some(&name[..]));
                topology.description().network(names, reported)
            }
            None => {
                let nameless = std::iter::repeat_n(None, self.last_host() as usize + 1);
                NetworkTopology::default().network(nameless, reported)
            }
        }
    }

    /// The levels of this process's host, if a topology file states them.
    pub fn levels(&self) -> Option<&MachineDescription> {
        let topology = self.topology.as_ref()?;
        let host = *self.entries[0].host_of_rank.get(self.rank as usize)?;
        topology.description().levels(topology.hosts().get(host as usize)?)
    }

    /// The same as the text of a topology file has it; `None` if the text has a mistake, or the
    /// names of the hosts are not known.
    pub fn described(&self, text: &str) -> Option<HostNetwork> {
        let names = self.topology.as_ref().map_or(&self.names[..], |topology| topology.hosts());
        let is_known = self.last_host() == 0 || self.last_host() < names.len() as u32;
        described(text, names, &self.resources.rates).filter(|_| is_known)
    }

    /// The highest number of a host of this process's job.
    fn last_host(&self) -> u32 {
        self.entries[0].host_of_rank.iter().max().copied().unwrap_or(0)
    }

    /// Shows rates of links that processes have measured to `towpath info`: in bytes per second, by
    /// number of the host, `None` if another figure counts.
    pub fn show_measured(&self, rates: impl Iterator<Item = (u32, Option<u64>)>) {
        let mut shown = self.shown.lock().unwrap();
        let job = shown.as_ref().and_then(ShownJob::of_file);
        if let Some(file) = job.and_then(|job| job.with_measured(rates).show()) {
            *shown = Some(file);
        }
    }

    /// Remembers what was measured: the rates of the links of these hosts, in bytes per second.
    pub fn remember_rates(&self, hosts: &[u32], rates: &[u64]) {
        let mut measured = self.measured.lock().unwrap();
        for (&host, &rate) in hosts.iter().zip(rates) {
            let needed = measured.len().max(host as usize + 1);
            measured.resize(needed, 0);
            measured[host as usize] = rate;
        }
    }

    /// The rates that this process remembers of these hosts; `None` if one is missing.
    pub fn remembered_rates(&self, hosts: &[u32]) -> Option<Vec<u64>> {
        let measured = self.measured.lock().unwrap();
        let rate = |&host: &u32| measured.get(host as usize).copied().filter(|&rate| rate > 0);
        hosts.iter().map(rate).collect()
    }

    /// Learns the resources of all hosts in order, each with the number of its ranks, and shows
    /// them to `towpath info`. Returns those of the job.
    pub(crate) fn set_resources(&mut self, hosts: Vec<(HostResources, usize)>) -> JobResources {
        self.resources = JobResources::of(hosts.iter().map(|(host, ranks)| (host, *ranks)));
        let shown = ShownJob::of(self.topology.as_deref().cloned(), hosts);
        *self.shown.lock().unwrap() = shown.show();
        self.names = shown.hosts.into_iter().map(|host| host.name).collect();
        self.resources.clone()
    }

    /// Adds a job, whose ranks run on these hosts, numbered within the job from 0. Its processes
    /// share no segment with those of other jobs, so its hosts get new numbers even if the machine
    /// is the same. Returns the index of its rank 0. A job that is already known is not changed.
    pub fn add(&mut self, id: JobId, host_of_rank: &[u32]) -> PeerIndex {
        if let Some(known) = self.entries.iter().find(|entry| entry.id == id) {
            return PeerIndex(known.first);
        }
        let first = self.peers();
        let hosts = self.entries.iter().flat_map(|entry| &entry.host_of_rank);
        let below = hosts.max().map_or(0, |host| host + 1);
        let host_of_rank = host_of_rank.iter().map(|host| below + host).collect();
        self.entries.push(JobEntry { id, first, host_of_rank });
        PeerIndex(first)
    }

    /// Number of indices in use.
    fn peers(&self) -> u32 {
        self.entries.last().map_or(0, |entry| entry.first + entry.host_of_rank.len() as u32)
    }

    /// The process with this rank in the job of this process. The job must have the rank.
    pub fn own_peer(&self, rank: u32) -> PeerIndex {
        PeerIndex(self.entries[0].first + rank)
    }

    /// The processes of this process's job, by rank.
    pub fn own_peers(&self) -> Vec<PeerIndex> {
        (0..self.entries[0].host_of_rank.len() as u32).map(|rank| self.own_peer(rank)).collect()
    }

    /// The identifier of this process's job.
    pub fn own_id(&self) -> JobId {
        self.entries[0].id
    }

    /// This process.
    pub fn own(&self) -> PeerIndex {
        self.own_peer(self.rank)
    }

    /// The entry of a peer's job, and the peer's rank there.
    fn entry_of(&self, peer: PeerIndex) -> Option<(&JobEntry, u32)> {
        let behind = self.entries.partition_point(|entry| entry.first <= peer.0);
        let entry = &self.entries[behind.checked_sub(1)?];
        let rank = peer.0 - entry.first;
        ((rank as usize) < entry.host_of_rank.len()).then_some((entry, rank))
    }

    /// The process that an index names; `None` if the index is not in use.
    pub fn process(&self, peer: PeerIndex) -> Option<ProcessId> {
        self.entry_of(peer).map(|(entry, rank)| ProcessId { job: entry.id, rank })
    }

    /// The index of a process; `None` if its job is not known or has no such rank.
    pub fn peer(&self, process: ProcessId) -> Option<PeerIndex> {
        let entry = self.entries.iter().find(|entry| entry.id == process.job)?;
        let is_rank = (process.rank as usize) < entry.host_of_rank.len();
        is_rank.then(|| PeerIndex(entry.first + process.rank))
    }

    /// The rank of a peer in this process's job; `None` if the peer is of another job.
    pub fn rank_in_own_job(&self, peer: PeerIndex) -> Option<u32> {
        self.process(peer)
            .filter(|process| process.job == self.own_id())
            .map(|process| process.rank)
    }

    /// Number of the host on which a peer runs; `None` if the index is not in use.
    pub fn host_of(&self, peer: PeerIndex) -> Option<u32> {
        self.entry_of(peer).map(|(entry, rank)| entry.host_of_rank[rank as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: JobId = JobId(1);
    const OTHER: JobId = JobId(2);

    /// Rank 1 of three on two hosts.
    fn jobs() -> Jobs {
        let mut jobs = Jobs::empty(1);
        jobs.add(OWN, &[0, 1, 0]);
        jobs
    }

    #[test]
    fn the_own_job_has_the_first_indices() {
        let jobs = jobs();
        assert_eq!((jobs.own_id(), jobs.own()), (OWN, PeerIndex(1)));
        assert_eq!(jobs.own_peers(), [0, 1, 2].map(PeerIndex));
        assert_eq!(jobs.process(PeerIndex(2)), Some(ProcessId { job: OWN, rank: 2 }));
        assert_eq!([1, 2, 3].map(|peer| jobs.host_of(PeerIndex(peer))), [Some(1), Some(0), None]);
        assert_eq!(jobs.peer(ProcessId { job: OTHER, rank: 0 }), None);
    }

    #[test]
    fn a_second_job_follows_with_hosts_of_its_own() {
        let mut jobs = jobs();
        assert_eq!(jobs.add(OTHER, &[0, 0]), PeerIndex(3));
        assert_eq!(jobs.add(OTHER, &[0, 0]), PeerIndex(3), "a job is added once");
        for (rank, peer) in [(0, PeerIndex(3)), (1, PeerIndex(4))] {
            let process = ProcessId { job: OTHER, rank };
            assert_eq!((jobs.peer(process), jobs.process(peer)), (Some(peer), Some(process)));
            assert_eq!((jobs.host_of(peer), jobs.rank_in_own_job(peer)), (Some(2), None));
        }
        assert_eq!(jobs.peer(ProcessId { job: OTHER, rank: 2 }), None);
        assert_eq!(jobs.process(PeerIndex(5)), None);
        assert_eq!(jobs.rank_in_own_job(PeerIndex(2)), Some(2));
        assert_eq!(jobs.add(JobId(3), &[0]), PeerIndex(5));
        assert_eq!(jobs.host_of(PeerIndex(5)), Some(3));
    }
}
