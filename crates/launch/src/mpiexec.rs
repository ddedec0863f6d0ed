//! `mpiexec`: starts the ranks of a job on one or more hosts, serves PMI-1 to them, forwards their
//! output, and ends them all together without leaving a process, file or segment behind.
//!
//! On one host there are three kinds of processes: `mpiexec` itself ([`job`], an event loop), the
//! guardian ([`guardian`], the parent of the ranks, which kills what remains when `mpiexec` is
//! gone), and the ranks, each in a process group of its own. Over several hosts `mpiexec`
//! ([`job_on_hosts`]) has one connection to a proxy on each ([`proxy`]), and each proxy has a
//! guardian and ranks.

mod activity;
pub mod binding;
mod brief;
mod calls;
mod descendants;
mod environment;
mod events;
mod foreign;
pub(crate) mod frames;
mod guardian;
mod host_choice;
pub(crate) mod host_list;
mod input;
mod job;
mod job_on_hosts;
mod link;
mod merge;
mod options;
mod output;
mod plan;
mod proxy;
mod reach;
mod relay;
mod report;
mod requests;
pub(crate) mod server;
mod signals;
mod start;
mod station;
mod streams;
mod survey;
mod table;
mod topology;
mod verdict;

use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use crate::shown::ShownJob;
use options::{Command, JobRequest};
use plan::{HostPart, LaunchPlan, StartRefusal, Surroundings};

/// Upper limit on the number of ranks, to catch typos.
const MOST_RANKS: usize = 1 << 20;

/// Runs the command line of this process and returns its exit code.
pub fn main() -> i32 {
    signals::notice_ends_of_children();
    let arguments = match foreign::with_files(std::env::args_os().skip(1).collect()) {
        Ok(arguments) => arguments,
        Err(sentence) => {
            eprintln!("mpiexec: {sentence}");
            return 2;
        }
    };
    match options::parse(arguments.iter().cloned()) {
        Ok(Command::Run(request)) => run(*request, &arguments).unwrap_or_else(|refusal| {
            eprintln!("mpiexec: {}", refusal.sentence);
            refusal.code
        }),
        Ok(Command::Proxy) => proxy::main(),
        Ok(Command::Help) => show(&table::help()),
        Ok(Command::Version) => show(&format!(
            "mpiexec (Towpath) {}; serves PMI 1.1 on one host or many\n",
            env!("CARGO_PKG_VERSION")
        )),
        Err(sentence) => {
            eprintln!("mpiexec: {sentence}");
            2
        }
    }
}

/// The names of the hosts on which `mpiexec` would run a job with these arguments.
///
/// # Errors
/// An error message for the user.
pub fn names_of_hosts(arguments: &[std::ffi::OsString]) -> Result<Vec<String>, String> {
    match options::parse(arguments.iter().cloned())? {
        Command::Run(mut request) => {
            let hosts = host_choice::Hosts::of(&request)?;
            fill_up(&mut request, hosts.as_ref());
            Ok(topology::names(&request, hosts.as_ref()))
        }
        _ => Ok(Vec::new()),
    }
}

/// Sets the number of ranks of each program for which none was given.
fn fill_up(request: &mut JobRequest, hosts: Option<&host_choice::Hosts>) {
    let (each, one_host) = (request.ranks_per_host, request.ranks_per_host.max(1));
    request.fill_up(hosts.map_or(one_host, |hosts| host_list::room(&hosts.hosts, each)));
}

/// Prints a text. A reader that has closed the pipe is not an error.
fn show(text: &str) -> i32 {
    let _ = std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes());
    0
}

fn run(mut request: JobRequest, arguments: &[std::ffi::OsString]) -> Result<i32, StartRefusal> {
    let hosts =
        host_choice::Hosts::of(&request).map_err(|sentence| StartRefusal { code: 2, sentence })?;
    fill_up(&mut request, hosts.as_ref());
    if request.size() > MOST_RANKS {
        let sentence = format!("A job has at most {MOST_RANKS} ranks, not {}.", request.size());
        return Err(StartRefusal { code: 2, sentence });
    }
    let names = topology::names(&request, hosts.as_ref());
    let topology = topology::of_job(&request, &names)?;
    let failed =
        |what: &str, error: std::io::Error| StartRefusal::from(format!("{what} ({error})."));
    let answered = signals::Set::answered();
    let mask = answered.block();
    let signals =
        answered.descriptor().map_err(|error| failed("Signals cannot be watched", error))?;
    descendants::adopt_orphans();
    if let Some(hosts) = hosts.filter(|hosts| !hosts.here) {
        return Ok(job_on_hosts::JobOnHosts::start(
            &request,
            hosts,
            (topology.as_ref(), names),
            arguments,
            signals,
            mask,
        )?
        .run());
    }
    let _shown = topology.clone().and_then(|topology| ShownJob::named(topology).show());
    let spared = descendants::children();

    let part = HostPart::whole(&request);
    let around = Surroundings {
        environment: towpath_base::config::whole_environment().collect(),
        inherit_input: true,
    };
    let id = part.job;
    let plan = LaunchPlan::make(&request, part, &around, mask)?;
    let key =
        crate::key::JobKey::random().map_err(|error| failed("The job gets no secret", error))?;
    let (commands_of_guardian, commands) =
        rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
            .map_err(|error| failed("The guardian cannot be reached", error.into()))?;
    let size = plan.starts.len();
    let view = crate::segment::View::map(plan.segment.as_fd(), size)
        .map_err(|error| StartRefusal::from(error.to_string()))?;
    let mut own = plan.own_descriptors();
    own.extend([commands.as_raw_fd(), signals.as_raw_fd()]);
    let guardian = guardian::fork_guardian(plan.starts, plan.common, commands_of_guardian, &own)
        .map_err(|error| {
            failed("No process can be started", std::io::Error::from_raw_os_error(error))
        })?;
    let job = job::RunningJob::new(job::JobParts {
        server: server::Server::new(
            id,
            &key,
            topology.as_ref(),
            &request.appnums(),
            &vec![0; size],
        ),
        ends: plan.ends,
        view,
        commands,
        reports: plan.reports,
        signals,
        terminal: input::Terminal::new(plan.input),
        destinations: [rustix::stdio::stdout(), rustix::stdio::stderr()]
            .map(output::OutputStream::new),
        guardian,
        spared,
        tag: request.tag_lines,
        timeout: request.timeout.or_else(timeout_of_environment),
        command_names: request.command_names(),
    });
    Ok(job.map_err(|error| failed("The ranks cannot be watched", error))?.run())
}

/// The time limit in seconds that MPICH's variable sets.
fn timeout_of_environment() -> Option<Duration> {
    let text = towpath_base::config::environment("MPIEXEC_TIMEOUT")?;
    text.trim().parse().ok().filter(|&seconds| seconds > 0).map(Duration::from_secs)
}
