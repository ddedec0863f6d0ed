//! Reports what is assumed about the links between hosts, and where each figure comes from: by a
//! topology file, in a running job, or for the next job from this host.

use std::collections::HashMap;
use std::path::Path;

use towpath_base::config;
use towpath_base::sync::Ordering;
use towpath_machine::levels::MachineDescription;
use towpath_machine::{cores, network};
use towpath_topology::{
    Figure, FigureOrigin, GroupNumber, HostLink, NetworkTopology, Uplink, readable_latency,
    readable_rate,
};

use super::channel::view_of;
use super::levels;
use crate::report::{CellValue, ReportRow, ReportSection};
use towpath_launch::resources::{HostResources, JobResources};
use towpath_launch::shown::ShownJob;
use towpath_launch::topology::{TopologyChoice, TopologyFile, stored};

/// Returns the groups and hosts of a topology file; those of the job of a process (a rank, or its
/// mpiexec), and the hosts of the job; or what the next job from this host would assume, and this
/// host with its levels.
///
/// # Errors
/// An error message for the user if the file is not valid, or the process does not exist, may not
/// be inspected, or belongs to no job.
pub(super) fn sections(of: Option<&str>) -> Result<Vec<ReportSection>, String> {
    if let Some(pid) = of.and_then(|text| text.parse().ok()) {
        return of_job(pid);
    }
    if let Some(path) = of {
        return Ok(vec![of_file(&TopologyFile::read(Path::new(path))?)]);
    }
    let without = |why: &str| by_default(format!("Links between hosts by default. {why}"));
    let no_file = || without("There is no topology file.");
    let links = match TopologyChoice::of_setting() {
        TopologyChoice::File(path) => of_file(&TopologyFile::read(&path)?),
        // A job does not fail either.
        TopologyChoice::Stored(path) => match stored(&path) {
            Ok(file) => file.as_ref().map_or_else(no_file, of_file),
            Err(warning) => without(&warning),
        },
        TopologyChoice::Nothing => no_file(),
    };
    Ok(vec![links, this_host(), levels::section()?])
}

fn of_file(file: &TopologyFile) -> ReportSection {
    let title = format!("Links between hosts {}", source(&file.description, file.name()));
    tree(title, &file.description, &HashMap::new())
}

/// Where the figures of a file come from, for titles.
fn source(description: &NetworkTopology, file: &str) -> String {
    match description.origin() {
        FigureOrigin::Measured => format!("as measured by towpath tune, in {file}"),
        _ => format!("by the topology file {file}"),
    }
}

fn by_default(title: String) -> ReportSection {
    tree(title, &NetworkTopology::default(), &HashMap::new())
}

fn of_job(pid: u32) -> Result<Vec<ReportSection>, String> {
    let (job, title) = match of_several_hosts(pid)? {
        Some(job) => (job, "Hosts of the job"),
        None => (on_this_host(pid)?, "This host in the job"),
    };
    let links = match &job.topology {
        Some(topology) => {
            let (description, rates) = (topology.description(), resources_of(&job).rates);
            let known = |(host, rate)| Some((description.known_name(host)?, rate));
            let known =
                job.hosts.iter().map(|host| host.name.as_str()).zip(rates).filter_map(known);
            let source = source(description, topology.file());
            let title = format!("Links between hosts in process {pid}'s job {source}");
            tree(title, description, &known.collect())
        }
        None => by_default(format!(
            "Links between hosts by default, because process {pid} has no topology file"
        )),
    };
    Ok(vec![links, hosts(&job, title)])
}

/// A job on several hosts: as a rank on this host knows it that has measured links, or else as the
/// process does.
fn of_several_hosts(pid: u32) -> Result<Option<ShownJob>, String> {
    let has_measured = |job: &ShownJob| job.hosts.iter().any(|host| host.measured.is_some());
    let own = ShownJob::of_process(pid)?;
    let view = if own.is_some() { view_of(pid).ok() } else { None };
    let ranks = view.iter().flat_map(|view| {
        let ranks = view.head().local_ranks.load(Ordering::Relaxed) as usize;
        (0..ranks).map(|rank| view.page(rank).pid.load(Ordering::Relaxed))
    });
    let mut known = ranks.filter_map(|rank| ShownJob::of_process(rank).ok().flatten());
    Ok(known.find(has_measured).or(own))
}

/// The part of a job that is on this host, as its segment shows it.
fn on_this_host(pid: u32) -> Result<ShownJob, String> {
    let view = view_of(pid)?;
    let (_, mask) = cores::announced(view.head());
    let ranks = view.head().local_ranks.load(Ordering::Relaxed) as usize;
    Ok(ShownJob::of(None, vec![(HostResources::own(mask, None), ranks)]))
}

/// The resources of a job, as its processes know them: none if those of a host are unknown.
fn resources_of(job: &ShownJob) -> JobResources {
    let known: Option<Vec<_>> = job.hosts.iter().map(|host| host.resources.as_ref()).collect();
    let known = known.unwrap_or_default();
    JobResources::of(known.iter().map(|(resources, ranks)| (resources, *ranks)))
}

/// This host as its system reports it.
fn this_host() -> ReportSection {
    let interfaces = config::setting(network::INTERFACES);
    let own = HostResources::own(cores::affinity(), interfaces.as_deref());
    let link = NetworkTopology::default().link(&own.name).or_reported(own.rate);
    let networks = network::chosen(interfaces.as_deref());
    let interface = networks.first().map_or("none".to_owned(), |(interface, network)| {
        format!("{interface} ({network}), the fastest one that jobs may use")
    });
    let text = |key: &str, label: &str, value: String, why: &str| {
        ReportRow::new(key, label, CellValue::Text(value), why)
    };
    let rows = vec![
        text("name", "name", own.name, ""),
        text("rate", "rate", with_origin(link.rate, readable_rate), &interface),
        ReportRow::new(
            "processors",
            "cores allowed",
            CellValue::Number(cores::allowed(&own.mask) as u64),
            "more ranks than these share cores",
        ),
    ];
    ReportSection { key: "host", title: "This host".to_owned(), headings: &[], rows }
}

/// The groups and hosts, indented by depth. `reported` has the rates that the systems of hosts
/// report.
fn tree(title: String, topology: &NetworkTopology, reported: &HashMap<&str, u64>) -> ReportSection {
    let mut tree = LinkTree { topology, reported, rows: Vec::new() };
    for group in topology.inside(None) {
        tree.add_group(group, 0);
    }
    let alone: Vec<&str> =
        topology.hosts().filter(|host| topology.around(host).next().is_none()).collect();
    tree.add_hosts(&alone, 0);
    let mut rows = tree.rows;
    let usual = HostFigures {
        link: topology.usual_link(),
        leads: None,
        processor: None,
        levels: topology.usual_levels(),
    };
    rows.push(usual.row("other hosts".to_owned(), 0, &[]));
    let headings =
        &["group or host", "rate", "latency", "half duplex", "leads", "processor", "levels"];
    let shown = headings.len() - usize::from(!topology.states_levels());
    ReportSection { key: "topology", title, headings: &headings[..shown], rows }
}

/// The rows of groups and hosts so far.
struct LinkTree<'a> {
    topology: &'a NetworkTopology,
    reported: &'a HashMap<&'a str, u64>,
    rows: Vec<ReportRow>,
}

impl LinkTree<'_> {
    fn add_group(&mut self, group: GroupNumber, depth: usize) {
        let topology = self.topology;
        self.rows.push(group_row(topology.group_name(group), depth, topology.uplink(group)));
        self.add_hosts(&topology.members(group).collect::<Vec<_>>(), depth + 1);
        for inner in topology.inside(Some(group)) {
            self.add_group(inner, depth + 1);
        }
    }

    /// Adds a row for each run of hosts with equal figures.
    fn add_hosts(&mut self, hosts: &[&str], depth: usize) {
        let topology = self.topology;
        let figures = |host: &&str| HostFigures {
            link: topology.link(host).or_reported(self.reported.get(host).copied()),
            leads: Some(topology.leads(host)),
            processor: Some(topology.processor(host)),
            levels: topology.levels(host),
        };
        for run in hosts.chunk_by(|one, other| figures(one) == figures(other)) {
            let label = match run {
                [only] => (*only).to_owned(),
                [first, .., last] => format!("{first} to {last} ({} hosts)", run.len()),
                [] => continue,
            };
            self.rows.push(figures(&run[0]).row(label, depth, run));
        }
    }
}

/// What is known about a host.
#[derive(PartialEq)]
struct HostFigures<'a> {
    link: HostLink,
    leads: Option<Figure<bool>>,
    processor: Option<Figure<f64>>,
    levels: Option<&'a MachineDescription>,
}

impl HostFigures<'_> {
    fn row(&self, label: String, depth: usize, hosts: &[&str]) -> ReportRow {
        let HostLink { rate, latency, half_duplex } = self.link;
        let optional = |text: Option<String>| text.map_or(CellValue::Nothing(""), CellValue::Text);
        let mut cells = vec![
            ("rate", CellValue::Text(with_origin(rate, readable_rate))),
            ("latency", CellValue::Text(with_origin(latency, readable_latency))),
            ("half_duplex", CellValue::Text(with_origin(half_duplex, yes_or_no))),
            ("leads", optional(self.leads.map(|leads| with_origin(leads, yes_or_no)))),
            (
                "processor",
                optional(self.processor.map(|speed| with_origin(speed, |n| n.to_string()))),
            ),
        ];
        cells.extend(self.levels.map(|levels| ("levels", CellValue::Text(levels.to_string()))));
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

/// The hosts of a job: their groups, links and ranks, and the paths to them from the first one.
fn hosts(job: &ShownJob, title: &str) -> ReportSection {
    let by_default = NetworkTopology::default();
    let description = job.topology.as_ref().map_or(&by_default, |topology| topology.description());
    let JobResources { sharers, rates, .. } = resources_of(job);
    let link = |number: usize| {
        let reported = rates.get(number).copied();
        let host = &job.hosts[number];
        description.link(&host.name).or_reported(reported).or_measured(host.measured)
    };
    let row = |number: usize| {
        let name = job.hosts[number].name.as_str();
        let groups: Vec<&str> =
            description.around(name).map(|group| description.group_name(group)).collect();
        let groups = if groups.is_empty() { "none".to_owned() } else { groups.join(" in ") };
        let first = (job.hosts[0].name.as_str(), link(0));
        let path = description.path_over(first, (name, link(number))).filter(|_| number > 0);
        let path = path.map(|path| {
            let (rate, latency) = (with_origin(path.rate, readable_rate), path.latency);
            format!("{rate}, {}", with_origin(latency, readable_latency))
        });
        let number_of = |number: Option<usize>| {
            number.map_or(CellValue::Nothing("?"), |number| CellValue::Number(number as u64))
        };
        let ranks = job.hosts[number].resources.as_ref().map(|(_, ranks)| *ranks);
        let cells = vec![
            ("groups", CellValue::Text(groups)),
            ("rate", CellValue::Text(with_origin(link(number).rate, readable_rate))),
            ("ranks", number_of(ranks)),
            ("ranks_per_core", number_of(sharers.get(number).copied())),
            ("path", path.map_or(CellValue::Nothing(""), CellValue::Text)),
        ];
        let label = format!("{number}: {name}");
        ReportRow { key: number.to_string(), label, cells, further: Vec::new() }
    };
    ReportSection {
        key: "hosts",
        title: title.to_owned(),
        headings: &["host", "group", "rate", "ranks", "ranks per core", "path from host 0"],
        rows: (0..job.hosts.len()).map(row).collect(),
    }
}
