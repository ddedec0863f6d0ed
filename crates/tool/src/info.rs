//! `towpath info`: reports what is installed, what was found on this machine, which choices follow
//! from it and why, and all settings. Nothing is decided here: every choice comes from the code
//! that makes it when a job starts.

mod asked;
mod channel;
mod chares;
mod choices;
mod installed;
mod levels;
mod machine;
mod routes;
mod settings;
mod topology;

use crate::report::{self, ReportSection};
use towpath_launch::client::{self, Seen};

pub(super) const HELP: &str = "\
Usage: towpath info [--ranks N] [--levels] [--networks] [--device] [--topology [FILE|PID]]
                    [--channel PID] [--routes PID] [--chares PID] [--json]

Prints what is installed, what was found on this machine, what Towpath would choose for a job and why, and all
settings with their current values. Nothing is changed and nothing stays behind.

  --ranks N    the choices for a job of N ranks on this host (when not given: the job that this process belongs to,
               else as many ranks as there are cores allowed)
  --levels     only the levels of the machine by which ranks are placed when a topology is reordered
  --networks   only what leads to other hosts: fabrics, libfabric and its providers, interfaces, and what each can do
  --device     only the devices whose memory programs may pass as buffers, and which path such messages take and why
  --topology [FILE|PID]
               only what is assumed about the links between hosts, and where each figure comes from:
               by this topology file, in the running job of a process (a rank, or its mpiexec), or
               with the present settings
  --channel PID
               only how the shared memory of a running job is divided: who has a ring to whom, how large, and why;
               PID is a rank of the job on this host, or its mpiexec
  --routes PID only how the ranks of a running job on this host reach each other host
  --chares PID only the chares of a running job, and what its ranks do within half a second
  --json       one JSON object instead of text: section, row, cell
  -h, --help   print this
";

/// The options of the command line.
#[derive(Default)]
struct Wish {
    ranks: Option<usize>,
    json: bool,
    levels: bool,
    networks: bool,
    device: bool,
    /// The file or process, if one is named.
    topology: Option<Option<String>>,
    channel: Option<u32>,
    routes: Option<u32>,
    chares: Option<u32>,
}

/// Parses the options and returns the whole report as text or JSON.
pub(super) fn answer(arguments: &[String]) -> Result<String, String> {
    let wish = read(arguments)?;
    let sections = match (wish.channel, wish.routes, wish.chares) {
        (Some(pid), _, _) => vec![channel::section(pid)?],
        (None, Some(pid), _) => vec![routes::section(pid)?],
        (None, None, Some(pid)) => chares::sections(pid)?,
        _ if wish.topology.is_some() => topology::sections(wish.topology.flatten().as_deref())?,
        _ if wish.levels => vec![levels::section()?],
        _ if wish.networks => vec![asked::section(&asked::NETWORKS)],
        _ if wish.device => vec![asked::section(&asked::DEVICES)],
        _ => sections(wish.ranks),
    };
    Ok(if wish.json { report::to_json(&sections) } else { report::to_text(&sections) })
}

fn read(arguments: &[String]) -> Result<Wish, String> {
    let mut wish = Wish::default();
    let mut rest = arguments.iter().peekable();
    while let Some(argument) = rest.next() {
        let (name, attached) = match argument.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (argument.as_str(), None),
        };
        match name {
            "--json" if attached.is_none() => wish.json = true,
            "--levels" if attached.is_none() => wish.levels = true,
            "--networks" if attached.is_none() => wish.networks = true,
            "--device" if attached.is_none() => wish.device = true,
            "--topology" => {
                let named = attached.map(str::to_owned);
                let behind = || rest.next_if(|word| !word.starts_with('-')).cloned();
                wish.topology = Some(named.or_else(behind));
            }
            "--channel" | "--routes" | "--chares" => {
                let text = attached.or_else(|| rest.next().map(String::as_str)).unwrap_or_default();
                let number =
                    text.parse().map_err(|_| format!("{name} needs a process ID, not '{text}'."));
                *match name {
                    "--channel" => &mut wish.channel,
                    "--routes" => &mut wish.routes,
                    _ => &mut wish.chares,
                } = Some(number?);
            }
            "--ranks" | "-n" => {
                let text = attached.or_else(|| rest.next().map(String::as_str)).unwrap_or_default();
                wish.ranks = Some(read_ranks(text)?);
            }
            _ => {
                return Err(format!(
                    "towpath info has no option {argument}; it has --ranks N, --levels, \
                     --networks, --device, --topology [FILE|PID], --channel PID, \
                     --routes PID, --chares PID, --json and --help."
                ));
            }
        }
    }
    Ok(wish)
}

fn read_ranks(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=1_000_000).contains(number));
    number
        .ok_or_else(|| format!("--ranks needs a number of ranks from 1 to 1000000, not '{text}'."))
}

fn sections(ranks: Option<usize>) -> Vec<ReportSection> {
    let seen = client::seen();
    let size =
        seen.as_ref().ok().and_then(|seen: &Seen| seen.rank_and_size?.1).map(|size| size as usize);
    let ranks = ranks.or(size).unwrap_or_else(machine::allowed_cores);
    let trial = client::try_handover();
    let mut sections = vec![
        installed::section(),
        machine::section(trial.as_ref()),
        choices::section(ranks, &seen, trial.as_ref()),
        asked::section(&asked::NETWORKS),
        settings::section(),
    ];
    sections.extend(settings::unknown());
    sections
}
