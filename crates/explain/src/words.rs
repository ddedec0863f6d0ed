//! The schedule in words.

use std::fmt::Write;

use towpath_schedule::cost::Picoseconds;
use towpath_topology::{readable_latency, readable_rate};

use crate::arguments::Request;
use crate::cluster::Cluster;
use crate::timeline::{LEVELS, Level, Message, Timeline};

/// The call, its phases in the order of their begin, and the link that is busy for longest.
pub(crate) fn describe(request: &Request, cluster: &Cluster, timeline: &Timeline) -> String {
    let mut text = title(request);
    text.push_str(".\n\n");
    let mut phases: Vec<(Level, Vec<Message>)> = LEVELS.map(|level| (level, Vec::new())).into();
    for message in &timeline.messages {
        let level = timeline.level(cluster, message);
        let phase = phases.iter_mut().find(|phase| phase.0 == level).expect("all levels are there");
        phase.1.push(*message);
    }
    phases.retain(|phase| !phase.1.is_empty());
    let begin = |messages: &[Message]| messages.iter().map(|message| message.begin).min();
    phases.sort_by_key(|phase| begin(&phase.1));
    for (level, messages) in &phases {
        let end = messages.iter().map(|message| message.end).max().unwrap_or(0);
        let from = time(begin(messages).unwrap_or(0));
        let _ = writeln!(text, "{from:>12} to {:>10}   {}", time(end), in_words(*level, cluster));
        let _ = writeln!(text, "{:>29}{}", "", size_of(messages));
    }
    if phases.is_empty() {
        text.push_str("No message is sent.\n");
    }
    let _ = writeln!(text, "\nPredicted: {}.", time(timeline.end));
    if let Some(line) = busiest(cluster, timeline) {
        text.push_str(&line);
    }
    text
}

/// The call in words, without a period.
pub(crate) fn title(request: &Request) -> String {
    let (collective, ranks) = (request.collective, &request.ranks);
    let bytes = match collective.bytes_of {
        "" => String::new(),
        of => format!(" of {} {of}", bytes_in_words(request.bytes as u64)),
    };
    let root = if collective.has_root { format!(", root {}", request.root) } else { String::new() };
    let each = match ranks.iter().all(|&other| other == ranks[0]) {
        true => format!("{} each", plural(ranks[0], "rank")),
        false => format!("{} in all", plural(request.size(), "rank")),
    };
    let mapped = if request.is_cyclic { ", mapped in turn" } else { "" };
    let hosts = plural(ranks.len(), "host");
    format!("{}{bytes}{root}, on {hosts} of {each}{mapped}", collective.function)
}

fn in_words(level: Level, cluster: &Cluster) -> &'static str {
    match level {
        Level::InGroup => "between hosts of the same group",
        Level::BetweenHosts if !cluster.groups.is_empty() => "between the groups",
        Level::ToLeader => "on each host, to its leader",
        Level::BetweenHosts => "between the hosts",
        Level::FromLeader => "on each host, from its leader",
        Level::OnHost => "on each host, between ranks that do not lead",
    }
}

fn size_of(messages: &[Message]) -> String {
    let sizes = || messages.iter().map(|message| message.bytes);
    let (least, most) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
    let number = plural(messages.len(), "message");
    match (least, most) {
        (_, 0) => format!("{number} without data"),
        _ if least == most => format!("{number} of {}", bytes_in_words(most)),
        _ => {
            let total = bytes_in_words(sizes().sum());
            format!("{number} of {least} to {}, {total} in all", bytes_in_words(most))
        }
    }
}

/// The link that is busy for longest, if messages leave their host.
fn busiest(cluster: &Cluster, timeline: &Timeline) -> Option<String> {
    let costs = cluster.costs.links.as_ref()?;
    let placement = cluster.placement();
    let mut bytes = vec![[0u64; 2]; costs.links.len()];
    for message in &timeline.messages {
        let (from, to) = (placement.host_of(message.from), placement.host_of(message.to));
        if from != to {
            let (outwards, inwards) = costs.path(from, to);
            outwards.iter().for_each(|&link| bytes[link][0] += message.bytes);
            inwards.iter().for_each(|&link| bytes[link][1] += message.bytes);
        }
    }
    for (passed, link) in bytes.iter_mut().zip(&costs.links) {
        if link.half_duplex {
            *passed = [passed[0] + passed[1], 0];
        }
    }
    let busy = |link: usize, direction: usize| {
        bytes[link][direction].saturating_mul(costs.links[link].gap_per_byte)
    };
    let lanes = (0..costs.links.len()).flat_map(|link| [(link, 0), (link, 1)]);
    let (link, direction) = lanes.max_by_key(|&(link, direction)| {
        (busy(link, direction), std::cmp::Reverse((link, direction)))
    })?;
    let time_busy = busy(link, direction);
    if time_busy == 0 {
        return None;
    }
    let name = match cluster.names.get(link) {
        Some(name) => format!("the link of {name}"),
        None => format!("the uplink of {}", cluster.groups[link - cluster.names.len()]),
    };
    let rate = readable_rate(1_000_000_000_000 / costs.links[link].gap_per_byte.max(1));
    Some(format!(
        "Of this time {name} ({rate}) is busy for {} %: it carries {} {}.\n",
        time_busy.saturating_mul(100) / timeline.end.max(1),
        bytes_in_words(bytes[link][direction]),
        match costs.links[link].half_duplex {
            true => "in both directions",
            false => ["outwards", "inwards"][direction],
        },
    ))
}

/// A number with its noun.
fn plural(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// A number of bytes in the unit in which it is shortest.
fn bytes_in_words(bytes: u64) -> String {
    for (unit, name) in [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")] {
        if bytes >= unit && bytes.is_multiple_of(unit / 4) {
            return format!("{} {name}", bytes as f64 / unit as f64);
        }
    }
    plural(bytes as usize, "byte")
}

/// A time as text.
pub(crate) fn time(picoseconds: Picoseconds) -> String {
    if picoseconds >= 10_000_000 {
        // Nanoseconds are more than the model can tell.
        let digits = picoseconds.ilog10() - 2;
        let rounded = picoseconds / 10u64.pow(digits) * 10u64.pow(digits);
        return readable_latency(rounded / 1_000);
    }
    readable_latency(picoseconds / 1_000)
}
