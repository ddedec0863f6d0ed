//! The topology of a job that `mpiexec` starts: which file the command line, the setting or the
//! user's store provides, the notes that `mpiexec` prints about it, and what `towpath info
//! --topology` shows of the job.

use std::os::fd::OwnedFd;
use std::path::Path;

use towpath_topology::FigureOrigin;

use super::host_choice::Hosts;
use super::host_list;
use super::options::JobRequest;
use super::plan::StartRefusal;
use super::server::Server;
use crate::hosts::own_name;
use crate::resources::{card_key, of_card};
use crate::shown::ShownJob;
use crate::topology::{self, JobTopology, SETTING, TopologyChoice, TopologyFile};

/// Reads the file, if there is one, and prints a note about it. `names` are those of the hosts that
/// get ranks. Called before anything is started.
///
/// # Errors
/// Exit code and error message.
pub(super) fn of_job(
    request: &JobRequest,
    names: &[String],
) -> Result<Option<JobTopology>, StartRefusal> {
    let file = match choice(request) {
        TopologyChoice::File(path) => {
            let refused = |sentence| StartRefusal { code: 2, sentence };
            Some(TopologyFile::read(&path).map_err(refused)?)
        }
        TopologyChoice::Stored(path) if names.len() > 1 => stored(&path, names, request.verbose),
        TopologyChoice::Stored(_) | TopologyChoice::Nothing => None,
    };
    let Some(file) = file else { return Ok(None) };
    let topology = JobTopology::new(file, names.to_vec());
    if let Some(note) = note(request, &topology) {
        eprintln!("mpiexec: {}: {note}", topology.file());
    }
    Ok(Some(topology))
}

/// The stored measurement, if it knows all hosts of the job.
fn stored(path: &Path, names: &[String], verbose: bool) -> Option<TopologyFile> {
    let file = topology::stored(path).unwrap_or_else(|warning| {
        eprintln!("mpiexec: {warning}");
        None
    })?;
    let is_used = file.names_all(names);
    if verbose && !is_used {
        eprintln!(
            "mpiexec: {}: measured by towpath tune, and not in use, because it does not name all \
             hosts of the job.",
            path.display()
        );
    }
    is_used.then_some(file)
}

/// What `--topology` says, or else the setting: the one that the command line passes to all ranks,
/// or else the one in the environment of `mpiexec`.
fn choice(request: &JobRequest) -> TopologyChoice {
    let set = request.everywhere.set.iter().rev().find(|(name, _)| name == SETTING);
    let set = set.and_then(|(_, value)| TopologyChoice::of_value(value));
    let option = request.topology.as_ref().and_then(|path| TopologyChoice::of_value(path.as_ref()));
    option.or(set).unwrap_or_else(TopologyChoice::of_setting)
}

/// The names of the hosts that get ranks.
pub(super) fn names(request: &JobRequest, hosts: Option<&Hosts>) -> Vec<String> {
    let Some(hosts) = hosts.filter(|hosts| !hosts.here) else { return vec![own_name()] };
    let (_, used) = hosts.place(request);
    let name = |name: &str| if host_list::is_loopback(name) { own_name() } else { name.to_owned() };
    hosts.hosts.iter().take(used).map(|host| name(&host.name)).collect()
}

/// A note about a valid file that may not be the one that the user meant.
fn note(request: &JobRequest, topology: &JobTopology) -> Option<String> {
    let several = topology.hosts().len() > 1;
    if !several && !request.verbose {
        return None;
    }
    let (absent, unnamed) = (topology.absent(), topology.unnamed());
    if several && !absent.is_empty() && unnamed.len() == topology.hosts().len() {
        let (names, own) = (host_list::shortened(&absent), host_list::shortened(&unnamed));
        return Some(format!(
            "none of the hosts that the file names is in the job: {names}. The hosts of the job \
             are {own}."
        ));
    }
    if !request.verbose {
        return None;
    }
    let part = |what: &str, names: Vec<&str>| {
        (!names.is_empty()).then(|| format!("{what}: {}", host_list::shortened(&names)))
    };
    let measured = topology.description().origin() == FigureOrigin::Measured;
    let by = if measured { ", as measured by towpath tune" } else { "" };
    let parts = [
        Some(format!("in use as the topology file{by}")),
        part("hosts of the file that are not in the job", absent),
        part("hosts of the job that the file does not name", unnamed),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    Some(format!("{}.", parts.join("; ")))
}

/// A job over several hosts as `towpath info --topology` shows it while `mpiexec` runs.
pub(super) struct ShownByLauncher {
    job: ShownJob,
    _file: Option<OwnedFd>,
    /// Opened barriers of the ranks after the last look.
    barriers: usize,
    is_complete: bool,
}

impl ShownByLauncher {
    pub(super) fn new(topology: Option<&JobTopology>, names: Vec<String>) -> ShownByLauncher {
        let is_complete = names.len() < 2;
        let job = ShownJob::with_names(topology.cloned(), names);
        let file = if is_complete && topology.is_none() { None } else { job.show() };
        ShownByLauncher { job, _file: file, barriers: 0, is_complete }
    }

    /// Adds the resources of the hosts as soon as the first ranks of all have published them.
    pub(super) fn look(&mut self, server: &Server, node_of_rank: &[u32]) {
        if self.is_complete || self.barriers == server.barriers() {
            return;
        }
        self.barriers = server.barriers();
        let mut ranks = vec![0; self.job.hosts.len()];
        node_of_rank.iter().for_each(|&host| ranks[host as usize] += 1);
        let of_host = |(number, ranks)| {
            let card = server.value(&card_key(number))?;
            Some((of_card(&card)?.1, ranks))
        };
        let Some(resources) = (0..).zip(ranks).map(of_host).collect() else { return };
        self.job.add(resources);
        self.is_complete = true;
        // The previous file stays open until there is a new one, so that one can always be found.
        if let Some(file) = self.job.show() {
            self._file = Some(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use towpath_base::ids::JobId;
    use towpath_machine::cores;

    use super::*;
    use crate::client::store::pieces;
    use crate::key::JobKey;
    use crate::resources::{HostResources, card};

    #[test]
    fn resources_are_shown_once_all_hosts_have_published_them() {
        let (names, hosts) = (["a", "b"].map(str::to_owned).to_vec(), [0, 1, 1]);
        let mut server = Server::new(JobId(1), &JobKey([7; 32]), None, &[0; 3], &hosts);
        let mut shown = ShownByLauncher::new(None, names);
        let own = HostResources::own(cores::mask_of(&[0]), None);
        let mut tell = |rank: usize, line: &str| {
            let mut events = Vec::new();
            server.line(rank, line.as_bytes(), &mut events);
            shown.look(&server, &hosts);
            shown.job.hosts.iter().filter_map(|host| host.resources.clone()).collect::<Vec<_>>()
        };
        for host in [0, 1] {
            for (number, piece) in pieces(&card("x", &own), 1024).iter().enumerate() {
                assert_eq!(number, 0, "{piece}");
                let line = format!("cmd=put kvsname=x key={} value={piece}", card_key(host));
                assert_eq!(tell(host as usize, &line), []);
            }
            for rank in [0, 1] {
                assert_eq!(tell(rank, "cmd=barrier_in"), []);
            }
            let known = tell(2, "cmd=barrier_in");
            let wanted = [(own.clone(), 1), (own.clone(), 2)];
            assert_eq!(known, if host == 1 { &wanted[..] } else { &[] });
        }
    }
}
