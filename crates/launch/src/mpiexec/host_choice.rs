//! Decides whether a job runs on this host alone or on several, and on which: those that the
//! command line names, else those that Slurm has allocated.
#![forbid(unsafe_code)]

use towpath_base::config;

use super::host_list::{self, Host, HostListSource};
use super::options::JobRequest;
use super::reach::HostLinks;

/// The hosts of a job, and how to reach them.
pub(super) struct Hosts {
    /// All hosts in order, including those that get no ranks.
    pub(super) hosts: Vec<Host>,
    pub(super) way: HostLinks,
    /// `mpiexec` starts all ranks itself, without proxies. True if the launcher is `fork`, or if
    /// every host is this one and the command line does not give both hosts and a launcher.
    pub(super) here: bool,
}

impl Hosts {
    /// The hosts that the command line or Slurm names; `None` if neither does.
    ///
    /// # Errors
    /// An error message for the user.
    pub(super) fn of(request: &JobRequest) -> Result<Option<Hosts>, String> {
        if request.launcher.as_deref() == Some("fork") {
            let way = HostLinks::choose(None, false)?;
            let hosts = request.hosts.as_ref().map(HostListSource::read).transpose()?;
            return Ok(hosts.map(|hosts| Hosts { hosts, way, here: true }));
        }
        let allocation = Allocation::of_environment();
        // Slurm's name of this node may differ from the host's own name.
        let node = allocation.as_ref().and(config::environment("SLURMD_NODENAME"));
        let way = HostLinks::choose(request.launcher.as_deref(), allocation.is_some())?;
        let hosts = match (&request.hosts, allocation) {
            (Some(source), _) => source.read()?,
            (None, Some(allocation)) => allocation.hosts()?,
            (None, None) => return Ok(None),
        };
        let is_here = |name: &str| host_list::is_this_host(name) || node.as_deref() == Some(name);
        let alone = hosts.iter().all(|host| is_here(&host.name));
        let chosen = request.launcher.is_some() && request.hosts.is_some();
        if let Some(option) = request.for_one_host.as_ref().filter(|_| hosts.len() > 1) {
            return Err(format!(
                "mpiexec cannot place ranks on several hosts by {option}; use -ppn, --map-by node or --hosts a:2,b:4."
            ));
        }
        Ok(Some(Hosts { hosts, way, here: alone && !chosen }))
    }

    /// The host of each rank, and how many hosts get ranks, which are the first ones.
    pub(super) fn place(&self, request: &JobRequest) -> (Vec<u32>, usize) {
        let (per_host, round) = (request.ranks_per_host, request.round_hosts);
        let node_of_rank = host_list::place(request.size(), &self.hosts, per_host, round);
        let used = node_of_rank.iter().max().map_or(0, |&last| last as usize + 1);
        (node_of_rank, used)
    }
}

/// What Slurm has allocated to the shell that `mpiexec` runs in.
struct Allocation {
    nodes: String,
    tasks: Option<String>,
}

impl Allocation {
    /// `None` outside an allocation, and inside a step of several tasks, each of which runs
    /// `mpiexec`.
    fn of_environment() -> Option<Allocation> {
        let number =
            |name: &str| config::environment(name).and_then(|text| text.parse::<u64>().ok());
        config::environment("SLURM_JOB_ID")?;
        if number("SLURM_STEP_NUM_TASKS").is_some_and(|tasks| tasks > 1)
            || config::environment("PMI_FD").is_some()
        {
            return None;
        }
        let nodes = config::environment("SLURM_JOB_NODELIST").filter(|nodes| !nodes.is_empty())?;
        Some(Allocation { nodes, tasks: config::environment("SLURM_TASKS_PER_NODE") })
    }

    fn hosts(&self) -> Result<Vec<Host>, String> {
        let names = host_list::expand_slurm(&self.nodes)?;
        let tasks = self.tasks.as_deref().and_then(host_list::expand_tasks);
        let tasks = tasks.filter(|tasks| tasks.len() == names.len());
        let slots = |at: usize| tasks.as_ref().map(|tasks| tasks[at]);
        Ok(names
            .into_iter()
            .enumerate()
            .map(|(at, name)| Host { name, slots: slots(at) })
            .collect())
    }
}
