//! Reports what is assumed about the links between hosts, and where each figure comes from: by a
//! topology file, in a running job, or by default.

use std::path::{Path, PathBuf};

use towpath_topology::{
    Figure, FigureOrigin, GroupNumber, HostLink, NetworkTopology, Uplink, readable_latency,
    readable_rate,
};

use super::super::report::{CellValue, ReportRow, ReportSection};
use super::channel::view_of;
use crate::topology::{JobTopology, file_of_setting, read};

/// Returns the groups and hosts of a topology file, of the job of a process (a rank, or its
/// mpiexec), or of the file that the setting names; for a job, also its hosts.
///
/// # Errors
/// An error message for the user if the file is not valid, or the process does not exist, may not
/// be inspected, or belongs to no job.
pub(super) fn sections(of: Option<&str>) -> Result<Vec<ReportSection>, String> {
    if let Some(pid) = of.and_then(|text| text.parse().ok()) {
        return of_job(pid);
    }
    match of.map(PathBuf::from).or_else(file_of_setting) {
        Some(path) => Ok(vec![of_file(&path)?]),
        None => {
            let title = "Links between hosts by default, because there is no topology file";
            Ok(vec![tree(title.to_owned(), &NetworkTopology::default())])
        }
    }
}

fn of_file(path: &Path) -> Result<ReportSection, String> {
    let (_, topology) = read(path)?;
    Ok(tree(format!("Links between hosts by the topology file {}", path.display()), &topology))
}

fn of_job(pid: u32) -> Result<Vec<ReportSection>, String> {
    match JobTopology::of_process(pid)? {
        Some(topology) => {
            let title = format!("Links between hosts by the topology file of process {pid}'s job");
            Ok(vec![tree(title, topology.description()), hosts(&topology)])
        }
        None => {
            view_of(pid)?;
            let title = format!(
                "Links between hosts by default, because process {pid} has no topology file"
            );
            Ok(vec![tree(title, &NetworkTopology::default())])
        }
    }
}

/// The groups and hosts, indented by depth.
fn tree(title: String, topology: &NetworkTopology) -> ReportSection {
    let mut rows = Vec::new();
    for group in topology.inside(None) {
        add_group(topology, group, 0, &mut rows);
    }
    let alone: Vec<&str> =
        topology.hosts().filter(|host| topology.around(host).next().is_none()).collect();
    add_hosts(topology, &alone, 0, &mut rows);
    let usual = HostFigures { link: topology.usual_link(), leads: None, processor: None };
    rows.push(usual.row("other hosts".to_owned(), 0, &[]));
    ReportSection {
        key: "topology",
        title,
        headings: &["group or host", "rate", "latency", "half duplex", "leads", "processor"],
        rows,
    }
}

fn add_group(
    topology: &NetworkTopology,
    group: GroupNumber,
    depth: usize,
    rows: &mut Vec<ReportRow>,
) {
    rows.push(group_row(topology.group_name(group), depth, topology.uplink(group)));
    add_hosts(topology, &topology.members(group).collect::<Vec<_>>(), depth + 1, rows);
    for inner in topology.inside(Some(group)) {
        add_group(topology, inner, depth + 1, rows);
    }
}

/// Adds a row for each run of hosts with equal figures.
fn add_hosts(topology: &NetworkTopology, hosts: &[&str], depth: usize, rows: &mut Vec<ReportRow>) {
    let figures = |host: &&str| HostFigures {
        link: topology.link(host),
        leads: Some(topology.leads(host)),
        processor: Some(topology.processor(host)),
    };
    for run in hosts.chunk_by(|one, other| figures(one) == figures(other)) {
        let label = match run {
            [only] => (*only).to_owned(),
            [first, .., last] => format!("{first} to {last} ({} hosts)", run.len()),
            [] => continue,
        };
        rows.push(figures(&run[0]).row(label, depth, run));
    }
}

/// What is known about a host.
#[derive(PartialEq)]
struct HostFigures {
    link: HostLink,
    leads: Option<Figure<bool>>,
    processor: Option<Figure<f64>>,
}

impl HostFigures {
    fn row(&self, label: String, depth: usize, hosts: &[&str]) -> ReportRow {
        let HostLink { rate, latency, half_duplex } = self.link;
        let optional = |text: Option<String>| text.map_or(CellValue::Nothing(""), CellValue::Text);
        let cells = vec![
            ("rate", CellValue::Text(with_origin(rate, readable_rate))),
            ("latency", CellValue::Text(with_origin(latency, readable_latency))),
            ("half_duplex", CellValue::Text(with_origin(half_duplex, yes_or_no))),
            ("leads", optional(self.leads.map(|leads| with_origin(leads, yes_or_no)))),
            (
                "processor",
                optional(self.processor.map(|speed| with_origin(speed, |n| n.to_string()))),
            ),
        ];
        row("host", &label, depth, cells)
            .with("bytes_per_second", CellValue::Number(rate.value))
            .with("nanoseconds", CellValue::Number(latency.value))
            .with("hosts", CellValue::Text(hosts.join(" ")))
    }
}

/// A row about the uplink of a group.
fn group_row(name: &str, depth: usize, uplink: Uplink) -> ReportRow {
    let default = |words: &str| format!("{words} ({})", FigureOrigin::Default.word());
    let number = |figure: Option<Figure<u64>>| {
        figure.map_or(CellValue::Nothing("none"), |figure| CellValue::Number(figure.value))
    };
    let rate =
        uplink.rate.map_or_else(|| default("no limit"), |rate| with_origin(rate, readable_rate));
    let latency = uplink
        .latency
        .map_or_else(|| default("none"), |latency| with_origin(latency, readable_latency));
    let half_duplex =
        uplink.half_duplex.map_or_else(|| default("no"), |half| with_origin(half, yes_or_no));
    let cells = vec![
        ("rate", CellValue::Text(rate)),
        ("latency", CellValue::Text(latency)),
        ("half_duplex", CellValue::Text(half_duplex)),
    ];
    row("group", &format!("{name}:"), depth, cells)
        .with("bytes_per_second", number(uplink.rate))
        .with("nanoseconds", number(uplink.latency))
}

fn row(kind: &str, label: &str, depth: usize, cells: Vec<(&'static str, CellValue)>) -> ReportRow {
    ReportRow {
        key: format!("{kind} {}", label.trim_end_matches(':')),
        label: format!("{:indent$}{label}", "", indent = 2 * depth),
        cells,
        further: Vec::new(),
    }
}

/// A figure for people, and its origin.
fn with_origin<T: Copy>(figure: Figure<T>, readable: impl Fn(T) -> String) -> String {
    format!("{} ({})", readable(figure.value), figure.origin.word())
}

fn yes_or_no(flag: bool) -> String {
    CellValue::Flag(flag).for_person()
}

/// The hosts of a job: their groups, and the paths to them from the first one.
fn hosts(topology: &JobTopology) -> ReportSection {
    let description = topology.description();
    let first = topology.hosts().first().map_or("", String::as_str);
    let line = |(number, name): (usize, &String)| {
        let groups: Vec<&str> =
            description.around(name).map(|group| description.group_name(group)).collect();
        let groups = if groups.is_empty() { "none".to_owned() } else { groups.join(" in ") };
        let path = description.path(first, name).filter(|_| number > 0);
        let path = path.map(|path| {
            let (rate, latency) = (with_origin(path.rate, readable_rate), path.latency);
            format!("{rate}, {}", with_origin(latency, readable_latency))
        });
        let cells = vec![
            ("groups", CellValue::Text(groups)),
            ("path", path.map_or(CellValue::Nothing(""), CellValue::Text)),
        ];
        ReportRow {
            key: number.to_string(),
            label: format!("{number}: {name}"),
            cells,
            further: Vec::new(),
        }
    };
    ReportSection {
        key: "hosts",
        title: "Hosts of the job".to_owned(),
        headings: &["host", "group", "path from host 0"],
        rows: topology.hosts().iter().enumerate().map(line).collect(),
    }
}
