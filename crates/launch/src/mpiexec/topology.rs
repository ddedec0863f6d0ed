//! The topology file of a job that `mpiexec` starts: which file the command line or the setting
//! names, and the notes that `mpiexec` prints about it.

use std::path::PathBuf;

use super::host_choice::Hosts;
use super::host_list;
use super::options::JobRequest;
use super::plan::StartRefusal;
use crate::hosts::own_name;
use crate::topology::{self, JobTopology, SETTING};

/// Reads the file, if there is one, and prints a note about it. Called before anything is started.
///
/// # Errors
/// Exit code and error message.
pub(super) fn of_job(
    request: &JobRequest,
    hosts: Option<&Hosts>,
) -> Result<Option<JobTopology>, StartRefusal> {
    let Some(path) = file_of(request) else { return Ok(None) };
    let refused = |sentence| StartRefusal { code: 2, sentence };
    let topology = JobTopology::of_file(&path, names(request, hosts)).map_err(refused)?;
    if let Some(note) = note(request, &topology) {
        eprintln!("mpiexec: {}: {note}", path.display());
    }
    Ok(Some(topology))
}

/// The file that `--topology` names, or else the setting: the one that the command line passes to
/// all ranks, or else the one in the environment of `mpiexec`.
fn file_of(request: &JobRequest) -> Option<PathBuf> {
    let set = request.everywhere.set.iter().rev().find(|(name, _)| name == SETTING);
    let set =
        set.map(|(_, value)| PathBuf::from(value)).filter(|path| !path.as_os_str().is_empty());
    request.topology.clone().or(set).or_else(topology::file_of_setting)
}

/// The names of the hosts that get ranks.
fn names(request: &JobRequest, hosts: Option<&Hosts>) -> Vec<String> {
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
    let parts = [
        part("hosts of the file that are not in the job", absent),
        part("hosts of the job that the file does not name", unnamed),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("{}.", parts.join("; ")))
}
