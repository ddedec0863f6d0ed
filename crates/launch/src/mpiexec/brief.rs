//! The description of a job that `mpiexec` sends to its proxies: built from `mpiexec`'s
//! environment, interpreted by each proxy in its own.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use towpath_base::config;
use towpath_base::ids::JobId;

use super::frames::JobText;
use super::options::{self, Command, JobRequest};
use super::plan::{HostPart, StartRefusal, Surroundings};
use crate::hosts;

/// Variables of `mpiexec`'s host that have no meaning on another host. A trailing `_` matches all
/// names with that prefix.
const BOUND_TO_A_HOST: &[&str] =
    &["HOSTNAME", "SSH_", "DISPLAY", "XDG_", "DBUS_", "KUBERNETES_", "SLURM_", "SLURMD_", "TMPDIR"];

fn is_bound_to_a_host(name: &[u8]) -> bool {
    let agrees = |bound: &&str| match bound.ends_with('_') {
        true => name.starts_with(bound.as_bytes()),
        false => name == bound.as_bytes(),
    };
    BOUND_TO_A_HOST.iter().any(agrees)
}

/// The current directory under the name that the shell uses for it (PWD), if that is accurate. With
/// symbolic links or an automounter, the kernel's name may not exist on another host.
fn present_directory() -> PathBuf {
    let is_here = |path: &Path| {
        let place = |path: &Path| path.metadata().map(|data| (data.dev(), data.ino())).ok();
        path.is_absolute() && place(path).is_some() && place(path) == place(Path::new("."))
    };
    let by_shell = config::whole_environment()
        .find(|(name, _)| name == "PWD")
        .map(|(_, value)| PathBuf::from(value));
    by_shell
        .filter(|path| is_here(path))
        .or_else(|| std::env::current_dir().ok())
        .unwrap_or_else(|| "/".into())
}

/// Describes a job for the proxy of the first host.
pub(super) fn describe(
    arguments: &[OsString],
    request: &JobRequest,
    id: JobId,
    key: &[u8],
    mapping: &str,
) -> JobText {
    let bytes = |text: &OsString| text.as_bytes().to_vec();
    JobText {
        version: env!("CARGO_PKG_VERSION").as_bytes().to_vec(),
        key: key.to_vec(),
        id,
        host: 0,
        mapping: mapping.as_bytes().to_vec(),
        directory: present_directory().into_os_string().into_vec(),
        arguments: arguments.iter().map(bytes).collect(),
        ranks: request.programs.iter().map(|program| program.ranks as u32).collect(),
        environment: config::whole_environment()
            .flat_map(|(name, value)| [bytes(&name), bytes(&value)])
            .collect(),
    }
}

/// The names of variables that -envlist and -genvlist give.
fn listed(request: &JobRequest) -> impl Iterator<Item = &OsString> {
    let lists =
        request.programs.iter().map(|program| &program.variables).chain([&request.everywhere]);
    lists.filter_map(|variables| variables.only.as_ref()).flatten()
}

/// The variables of this host, overridden by those of `mpiexec`. Host-specific ones are taken from
/// `mpiexec` only if the command line lists them.
fn united_environment(
    mut sent: Vec<(OsString, OsString)>,
    request: &JobRequest,
) -> Vec<(OsString, OsString)> {
    sent.retain(|(name, _)| {
        !is_bound_to_a_host(name.as_bytes()) || listed(request).any(|other| other == name)
    });
    let own = config::whole_environment()
        .filter(|(name, _)| !sent.iter().any(|(other, _)| other == name));
    let own: Vec<_> = own.collect();
    own.into_iter().chain(sent).collect()
}

/// Parses the description of a job: the request, this host's part of it, and the environment.
///
/// # Errors
/// Exit code and error message.
pub(super) fn understand(
    job: &JobText,
) -> Result<(JobRequest, HostPart, Surroundings), StartRefusal> {
    if job.version != env!("CARGO_PKG_VERSION").as_bytes() {
        return Err(StartRefusal::from(format!(
            "Towpath {} is installed here, but mpiexec is of Towpath {}; install the same version everywhere.",
            env!("CARGO_PKG_VERSION"),
            String::from_utf8_lossy(&job.version)
        )));
    }
    let directory = OsString::from_vec(job.directory.clone());
    std::env::set_current_dir(&directory).map_err(|error| {
        StartRefusal::from(format!(
            "The directory {} cannot be entered ({error}).",
            directory.to_string_lossy()
        ))
    })?;
    let text = |bytes: &Vec<u8>| OsString::from_vec(bytes.clone());
    let sent: Vec<_> =
        job.environment.chunks_exact(2).map(|pair| (text(&pair[0]), text(&pair[1]))).collect();
    let arguments = job.arguments.iter().map(|argument| OsString::from_vec(argument.clone()));
    let lookup = |name: &OsString| sent.iter().find(|(other, _)| other == name).cloned();
    let mut request = match options::parse_beside(arguments, &lookup) {
        Ok(Command::Run(request)) if request.programs.len() == job.ranks.len() => *request,
        _ => return Err(StartRefusal::from("The command line cannot be read.".to_owned())),
    };
    let environment = united_environment(sent, &request);
    for (program, &ranks) in request.programs.iter_mut().zip(&job.ranks) {
        program.ranks = ranks as usize;
    }
    let node_of_rank = hosts::parse_mapping(&String::from_utf8_lossy(&job.mapping), request.size())
        .filter(|nodes| nodes.contains(&job.host))
        .ok_or_else(|| StartRefusal::from("The hosts of the ranks cannot be read.".to_owned()))?;
    let part = HostPart { job: job.id, node_of_rank, own: job.host };
    Ok((request, part, Surroundings { environment, inherit_input: false }))
}
