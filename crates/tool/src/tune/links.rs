//! From the figures of pairs of hosts to the links of the hosts, and to a topology file.
#![forbid(unsafe_code)]

use towpath_topology::names::compress;
use towpath_topology::{USUAL_OVERHEAD, readable_latency, readable_rate};

use super::PairFigures;

/// Two figures are equal if the larger one is at most so many times the smaller one.
const EQUAL: f64 = 1.25;
/// Latencies that differ by so many nanoseconds are equal too: that is what a processor that is
/// busy makes of them.
const EQUAL_LATENCY: u64 = 10_000;
/// A path on which both directions together bring less than so many times the rate of one is half
/// duplex. On a path with a full queue the acknowledgements of a direction wait behind the data of
/// the other one: TCP brings 1.2 to 1.7 times as much there.
const HALF_DUPLEX: f64 = 1.1;
/// Fastest link in bytes per second that can be half duplex: Ethernet defines no faster one. On
/// faster links the processors are the limit.
const FASTEST_HALF_DUPLEX: u64 = 150_000_000;
/// Fastest processors that are stated: hosts that the file does not name count as usual ones, and
/// must not count as slow.
const FASTEST_PROCESSOR: f64 = 1.9;
/// How often latencies are adjusted to each other.
const SWEEPS: usize = 50;

/// The link of a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MeasuredLink {
    /// Bytes per second in each direction.
    rate: u64,
    /// Nanoseconds.
    latency: u64,
    half_duplex: bool,
}

/// What the time of a short message consists of, besides the latency of links: what it costs the
/// processors of both hosts. Hosts whose shortest message takes clearly less than it costs usual
/// processors have faster ones.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MeasuredProcessors {
    /// Speed of the fast ones, relative to 1 for an ordinary host.
    speed: f64,
    /// Which hosts have them.
    is_fast: Vec<bool>,
}

impl MeasuredProcessors {
    pub(super) fn of_pairs(pairs: &[PairFigures], hosts: usize) -> MeasuredProcessors {
        let mut shortest = vec![u64::MAX; hosts];
        for pair in pairs {
            for host in [pair.one, pair.other] {
                shortest[host] = shortest[host].min(pair.latency.max(1));
            }
        }
        let is_fast = |&time: &u64| EQUAL * time as f64 <= (2 * USUAL_OVERHEAD) as f64;
        let is_fast = shortest.iter().map(is_fast).collect();
        let least = shortest.iter().copied().min().unwrap_or(u64::MAX);
        let speed = (2 * USUAL_OVERHEAD) as f64 / least as f64;
        MeasuredProcessors { speed: speed.clamp(1.0, FASTEST_PROCESSOR), is_fast }
    }

    /// Nanoseconds that a message costs a host.
    fn overhead(&self, host: usize) -> u64 {
        let speed = if self.is_fast[host] { self.speed } else { 1.0 };
        (USUAL_OVERHEAD as f64 / speed) as u64
    }
}

/// The links of `hosts` hosts, each of which is in some pair.
///
/// A path is as fast as the slower of its two links, so a link is as fast as the fastest path over
/// it; and a path is half duplex if one of its links is.
pub(super) fn of_pairs(
    pairs: &[PairFigures],
    processors: &MeasuredProcessors,
    hosts: usize,
) -> Vec<MeasuredLink> {
    let mut paths: Vec<Vec<(usize, PairFigures)>> = vec![Vec::new(); hosts];
    for &pair in pairs {
        let overheads = processors.overhead(pair.one) + processors.overhead(pair.other);
        let latency = pair.latency.saturating_sub(overheads);
        let pair = PairFigures { latency, ..pair };
        paths[pair.one].push((pair.other, pair));
        paths[pair.other].push((pair.one, pair));
    }
    let latencies = latencies(&paths);
    let is_shared = |(_, pair): &(usize, PairFigures)| {
        pair.rate <= FASTEST_HALF_DUPLEX && (pair.both as f64) < HALF_DUPLEX * pair.rate as f64
    };
    let link = |(paths, latency): (&Vec<(usize, PairFigures)>, f64)| MeasuredLink {
        rate: paths.iter().map(|(_, pair)| pair.rate).max().unwrap_or(1),
        latency: latency as u64,
        half_duplex: paths.iter().all(is_shared),
    };
    paths.iter().zip(latencies).map(link).collect()
}

/// The latency of each link, so that the sum over a path is near what it is there: least
/// squares by the method of Gauss and Seidel.
fn latencies(paths: &[Vec<(usize, PairFigures)>]) -> Vec<f64> {
    let nearest = |paths: &Vec<(usize, PairFigures)>| {
        paths.iter().map(|(_, pair)| pair.latency).min().unwrap_or(0) as f64 / 2.0
    };
    let mut own: Vec<f64> = paths.iter().map(nearest).collect();
    for _ in 0..SWEEPS {
        for (host, paths) in paths.iter().enumerate() {
            let rest = |(other, pair): &(usize, PairFigures)| pair.latency as f64 - own[*other];
            let sum: f64 = paths.iter().map(rest).sum();
            own[host] = (sum / paths.len().max(1) as f64).max(0.0);
        }
    }
    own
}

/// Hosts with equal links, by number, and the link in the middle of theirs.
fn merged(links: &[MeasuredLink]) -> Vec<(Vec<usize>, MeasuredLink)> {
    let mut order: Vec<usize> = (0..links.len()).collect();
    order.sort_by_key(|&host| (std::cmp::Reverse(links[host].rate), links[host].latency, host));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for host in order {
        match groups.iter_mut().find(|group| are_equal(&links[group[0]], &links[host])) {
            Some(group) => group.push(host),
            None => groups.push(vec![host]),
        }
    }
    let median = |group: &[usize], figure: fn(&MeasuredLink) -> u64| {
        let mut figures: Vec<u64> = group.iter().map(|&host| figure(&links[host])).collect();
        figures.sort_unstable();
        figures[figures.len() / 2]
    };
    let link = |group: Vec<usize>| {
        let (rate, latency) =
            (median(&group, |link| link.rate), median(&group, |link| link.latency));
        let link = MeasuredLink { rate, latency, ..links[group[0]] };
        (group, link)
    };
    groups.into_iter().map(link).collect()
}

fn are_equal(one: &MeasuredLink, other: &MeasuredLink) -> bool {
    let near = |one: u64, other: u64| one.max(other) as f64 <= EQUAL * one.min(other) as f64;
    one.half_duplex == other.half_duplex
        && near(one.rate, other.rate)
        && (near(one.latency, other.latency)
            || one.latency.abs_diff(other.latency) <= EQUAL_LATENCY)
}

/// The topology file of hosts with these names and links, which begins with a comment.
pub(super) fn to_toml(
    comment: &str,
    names: &[String],
    processors: &MeasuredProcessors,
    links: &[MeasuredLink],
) -> String {
    let mut text = format!("# {comment}\n");
    for (hosts, link) in merged(links) {
        let hosts = quoted(hosts.iter().map(|&host| names[host].as_str()).collect());
        let (rate, latency) = (readable_rate(rounded(8 * link.rate) / 8), rounded(link.latency));
        let latency = readable_latency(latency);
        text.push_str(&format!(
            "\n[[link]]\nhosts = \"{hosts}\"\nrate = \"{rate}\"\nlatency = \"{latency}\"\n"
        ));
        if link.half_duplex {
            text.push_str("half_duplex = true\n");
        }
    }
    let named = names.iter().zip(&processors.is_fast).filter(|(_, is_fast)| **is_fast);
    let fast: Vec<&str> = named.map(|(name, _)| name.as_str()).collect();
    if !fast.is_empty() {
        let (hosts, speed) = (quoted(fast), processors.speed);
        text.push_str(&format!("\n[[host]]\nhosts = \"{hosts}\"\nprocessor = {speed:.2}\n"));
    }
    text
}

/// These hosts, as they stand in a string of the file.
fn quoted(hosts: Vec<&str>) -> String {
    compress(&hosts).replace('\\', "\\\\").replace('"', "\\\"")
}

/// A number with its first three digits.
fn rounded(number: u64) -> u64 {
    let factor = 10u64.pow(number.checked_ilog10().unwrap_or(0).saturating_sub(2));
    (number + factor / 2) / factor * factor
}

#[cfg(test)]
mod tests {
    use towpath_topology::NetworkTopology;

    use super::*;

    const GBIT: u64 = 125_000_000;

    fn usual(hosts: usize) -> MeasuredProcessors {
        MeasuredProcessors { speed: 1.0, is_fast: vec![false; hosts] }
    }

    /// Pairs of hosts with these rates, latencies and directions at once, and usual processors.
    fn pairs(hosts: &[(u64, u64, bool)]) -> Vec<PairFigures> {
        let all = (0..hosts.len()).flat_map(|one| (one + 1..hosts.len()).map(move |b| (one, b)));
        let pair = |(one, other): (usize, usize)| {
            let (a, b) = (hosts[one], hosts[other]);
            let rate = a.0.min(b.0);
            let both = if a.2 || b.2 { rate } else { 2 * rate };
            let latency = a.1 + b.1 + 2 * USUAL_OVERHEAD;
            PairFigures { one, other, latency, rate, both }
        };
        all.map(pair).collect()
    }

    #[test]
    fn links_follow_from_pairs() {
        let hosts = [(10 * GBIT, 5_000, false), (GBIT, 40_000, true), (9 * GBIT, 7_000, false)];
        let links = of_pairs(&pairs(&hosts), &usual(3), 3);
        let rates: Vec<u64> = links.iter().map(|link| link.rate).collect();
        // Nobody else is as fast as the first host, so it shows the rate of the second fastest.
        assert_eq!(rates, [9 * GBIT, GBIT, 9 * GBIT]);
        for (link, (_, latency, half_duplex)) in links.iter().zip(hosts) {
            assert!(link.latency.abs_diff(latency) < 100, "{links:?}");
            assert_eq!(link.half_duplex, half_duplex);
        }
    }

    #[test]
    fn busy_processors_and_queues_make_no_link_half_duplex() {
        let pair = |rate, both| PairFigures { one: 0, other: 1, latency: 10, rate, both };
        let is_half = |rate, both| of_pairs(&[pair(rate, both)], &usual(2), 2)[0].half_duplex;
        assert!(is_half(GBIT, GBIT) && is_half(GBIT / 100, GBIT / 100));
        assert!(!is_half(GBIT, GBIT * 12 / 10) && !is_half(10 * GBIT, 10 * GBIT));
    }

    #[test]
    fn two_hosts_share_what_is_measured() {
        let links = of_pairs(&pairs(&[(GBIT, 10_000, true), (GBIT, 30_000, false)]), &usual(2), 2);
        let link = MeasuredLink { rate: GBIT, latency: 20_000, half_duplex: true };
        assert_eq!(links, [link, link]);
    }

    #[test]
    fn short_messages_tell_of_fast_processors() {
        let pair =
            |one, other, latency| PairFigures { one, other, latency, rate: GBIT, both: 2 * GBIT };
        let of = |latency| {
            let pairs = [pair(0, 1, latency), pair(0, 2, 90_000), pair(1, 2, 90_000)];
            MeasuredProcessors::of_pairs(&pairs, 3)
        };
        assert_eq!(of(8_000), usual(3));
        assert_eq!((of(6_400).is_fast[0], of(6_401).is_fast[0]), (true, false));
        assert_eq!((of(5_000).speed, of(1_000).speed), (1.6, 1.9));
        assert_eq!(of(5_000).is_fast, [true, true, false]);
        assert_eq!(of_pairs(&[pair(0, 1, 5_000)], &of(5_000), 2)[0].latency, 0);
        assert_eq!(of_pairs(&[pair(0, 1, 28_000)], &usual(2), 2)[0].latency, 10_000);
        let names = ["a1", "a2", "slow"].map(str::to_owned);
        let text = to_toml("Measured.", &names, &of(5_000), &[]);
        let topology = NetworkTopology::parse(&text).unwrap();
        assert_eq!(["a2", "slow"].map(|name| topology.processor(name).value), [1.6, 1.0], "{text}");
    }

    #[test]
    fn equal_links_are_merged() {
        let link = |rate: u64, latency, half_duplex| MeasuredLink { rate, latency, half_duplex };
        let links = [
            link(1000, 20_000, false),
            link(100, 20_000, false),
            link(800, 21_000, false),
            link(1000, 50_000, false),
            link(900, 20_000, true),
            link(900, 29_000, false),
            link(799, 20_000, false),
        ];
        let groups: Vec<Vec<usize>> = merged(&links).into_iter().map(|group| group.0).collect();
        assert_eq!(groups, [vec![0, 5, 2], vec![3], vec![4], vec![6], vec![1]]);
        assert_eq!(merged(&links)[0].1, link(900, 21_000, false));
    }

    #[test]
    fn the_file_is_a_topology_file() {
        let names: Vec<String> = (0..4).map(|host| format!("n{host}")).collect();
        let hosts = [(8 * GBIT, 5_123, false), (GBIT / 10, 40_000, true)];
        let links = of_pairs(&pairs(&[hosts[0], hosts[1], hosts[0], hosts[0]]), &usual(4), 4);
        let text = to_toml("Measured.", &names, &usual(4), &links);
        let expected = "# Measured.\n\n[[link]]\nhosts = \"n0,n[2-3]\"";
        assert!(text.starts_with(&expected.replace("n0,n[2-3]", "n[0,2-3]")), "{text}");
        let topology = NetworkTopology::parse(&text).unwrap();
        assert_eq!(topology.link("n3").rate.value, 8 * GBIT);
        assert_eq!(topology.link("n1").rate.value, GBIT / 10);
        assert!(topology.link("n1").half_duplex.value && !topology.link("n0").half_duplex.value);
        assert!(topology.link("n0").latency.value.abs_diff(5_123) < 50, "{text}");
    }

    #[test]
    fn three_digits_are_kept() {
        let numbers = [0, 7, 123, 1234, 1235, 999_999];
        assert_eq!(numbers.map(rounded), [0, 7, 123, 1230, 1240, 1_000_000]);
    }
}
