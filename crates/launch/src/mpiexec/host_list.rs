//! The hosts of a job as users and Slurm write them (lists, host files, allocations), and the
//! assignment of ranks to hosts.
#![forbid(unsafe_code)]

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use towpath_topology::names::{MOST_HOSTS, agree, expand};

use crate::hosts::own_name;

/// Where the command line gives the hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HostListSource {
    List(String),
    File(PathBuf),
}

/// A host, and how many ranks it takes if that is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) slots: Option<usize>,
}

impl HostListSource {
    /// Reads the hosts, each once, in order.
    ///
    /// # Errors
    /// An error message for the user.
    pub(crate) fn read(&self) -> Result<Vec<Host>, String> {
        let hosts = match self {
            HostListSource::List(list) => {
                list.split(',').filter(|part| !part.trim().is_empty()).map(entry).collect()
            }
            HostListSource::File(path) => read_file(path),
        }?;
        if hosts.is_empty() {
            return Err("The list of hosts is empty.".to_owned());
        }
        Ok(united(hosts))
    }
}

/// Reads a host file: one host per line as `name`, `name:slots` or `name slots=n`; `#` begins a
/// comment.
fn read_file(path: &Path) -> Result<Vec<Host>, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("The host file {} cannot be read ({error}).", path.display()))?;
    read_lines(&text)
}

fn read_lines(text: &str) -> Result<Vec<Host>, String> {
    let mut hosts = Vec::new();
    for line in text.lines() {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(name) = words.next() else { continue };
        let mut host = entry(name)?;
        for word in words {
            // Other words in host files (max_slots=, user names) are ignored.
            if let Some(slots) = word.strip_prefix("slots=") {
                host.slots = Some(number(slots, line)?);
            }
        }
        hosts.push(host);
    }
    Ok(hosts)
}

fn entry(text: &str) -> Result<Host, String> {
    let text = text.trim();
    let (name, slots) = match text.rsplit_once(':') {
        // Several colons: an IPv6 address.
        Some((name, slots)) if !name.contains(':') => (name, Some(number(slots, text)?)),
        _ => (text, None),
    };
    if name.is_empty()
        || name.starts_with('-')
        || name.chars().any(|c| c.is_whitespace() || c.is_control())
    {
        return Err(format!("{text:?} in the list of hosts is not a host name."));
    }
    Ok(Host { name: name.to_owned(), slots })
}

fn number(text: &str, whole: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|&number| (1..=super::MOST_RANKS).contains(&number));
    number.ok_or_else(|| format!("'{text}' in '{whole}' is not a number of ranks for a host."))
}

/// Merges hosts that are named several times and adds up their slots.
fn united(hosts: Vec<Host>) -> Vec<Host> {
    let mut united: Vec<Host> = Vec::new();
    for host in hosts {
        match united.iter_mut().find(|other| other.name == host.name) {
            Some(other) => other.slots = Some(other.slots.unwrap_or(1) + host.slots.unwrap_or(1)),
            None => united.push(host),
        }
    }
    united
}

/// True if this name belongs to this host.
pub(crate) fn is_this_host(name: &str) -> bool {
    is_loopback(name) || (name.parse::<IpAddr>().is_err() && agree(name, &own_name()))
}

/// True if a name means the host on which it is used, whichever that is.
pub(crate) fn is_loopback(name: &str) -> bool {
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Names for a sentence; the rest is counted.
pub(crate) fn shortened(names: &[&str]) -> String {
    const SHOWN: usize = 8;
    match names.len().checked_sub(SHOWN) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..SHOWN].join(", ")),
    }
}

/// How many ranks the hosts take: `per_host` each, else their slots, else one. Saturates at
/// `usize::MAX`.
pub(crate) fn room(hosts: &[Host], per_host: usize) -> usize {
    hosts.iter().fold(0, |room: usize, host| room.saturating_add(slots_of(host, per_host)))
}

fn slots_of(host: &Host, per_host: usize) -> usize {
    if per_host > 0 { per_host } else { host.slots.unwrap_or(1) }
}

/// The host of each of `size` ranks. Each host in turn takes as many consecutive ranks as it has
/// slots (`per_host` if given), and when all are full the list starts over. If no slots are given,
/// the ranks are divided evenly, in order. With `round`, each host takes one rank at a time until
/// it is full.
pub(crate) fn place(size: usize, hosts: &[Host], per_host: usize, round: bool) -> Vec<u32> {
    let said = per_host > 0 || hosts.iter().any(|host| host.slots.is_some());
    let slots = |host: usize| match said {
        true => slots_of(&hosts[host], per_host),
        false => size / hosts.len() + usize::from(host < size % hosts.len()),
    };
    let places = (0..hosts.len())
        .flat_map(|host| (0..slots(host).min(size)).map(move |slot| (slot, host as u32)));
    let mut places: Vec<(usize, u32)> = places.collect();
    if round {
        places.sort_unstable();
    }
    places.iter().map(|&(_, host)| host).cycle().take(size).collect()
}

/// Expands a hostlist expression of Slurm: `n[1-3,07],login`.
///
/// # Errors
/// An error message for the user.
pub(crate) fn expand_slurm(list: &str) -> Result<Vec<String>, String> {
    expand(list).ok_or_else(|| {
        format!("Slurm's list of nodes {list:?} cannot be read; give the hosts with --hosts.")
    })
}

/// Expands Slurm's number of tasks on each node: `2(x3),1`.
pub(crate) fn expand_tasks(list: &str) -> Option<Vec<usize>> {
    let mut tasks = Vec::new();
    for part in list.split(',') {
        let (count, times) = match part.split_once("(x") {
            Some((count, times)) => (count, times.strip_suffix(')')?.parse().ok()?),
            None => (part, 1),
        };
        let count: usize = count.parse().ok().filter(|&count| count > 0)?;
        if times > MOST_HOSTS - tasks.len().min(MOST_HOSTS) {
            return None;
        }
        tasks.extend(std::iter::repeat_n(count, times));
    }
    Some(tasks)
}

/// For [`crate::fuzz`]: all formats of host lists.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz(text: &str) {
    for hosts in [HostListSource::List(text.to_owned()).read(), read_lines(text).map(united)]
        .into_iter()
        .flatten()
    {
        assert!(hosts.iter().all(|host| host.slots.is_none_or(|slots| slots > 0)), "{hosts:?}");
        if !hosts.is_empty() {
            for places in [place(7, &hosts, 0, false), place(7, &hosts, 0, true)] {
                assert!(
                    places.len() == 7 && places.iter().all(|&place| (place as usize) < hosts.len())
                );
            }
        }
    }
    if let Ok(names) = expand_slurm(text) {
        assert!(names.len() <= 2 * MOST_HOSTS + text.len());
    }
    if let Some(tasks) = expand_tasks(text) {
        assert!(tasks.len() <= MOST_HOSTS && tasks.iter().all(|&tasks| tasks > 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(text: &str) -> Result<Vec<Host>, String> {
        HostListSource::List(text.to_owned()).read()
    }

    fn host(name: &str, slots: Option<usize>) -> Host {
        Host { name: name.to_owned(), slots }
    }

    #[test]
    fn lists_and_files() {
        assert_eq!(
            list("a,b:4,::1"),
            Ok(vec![host("a", None), host("b", Some(4)), host("::1", None)])
        );
        assert_eq!(list("a,b,a"), Ok(vec![host("a", Some(2)), host("b", None)]));
        for text in ["", ",", "a:0", "a:x", "-oProxyCommand=x", "a b", ":3"] {
            assert!(list(text).is_err(), "{text}");
        }
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("hosts");
        std::fs::write(&file, "# ours\na slots=4 max_slots=9\nb:2  # more\n\nc\n").unwrap();
        let read = HostListSource::File(file).read();
        assert_eq!(read, Ok(vec![host("a", Some(4)), host("b", Some(2)), host("c", None)]));
        assert!(
            HostListSource::File(directory.path().join("none"))
                .read()
                .unwrap_err()
                .contains("cannot be read")
        );
    }

    #[test]
    fn names_of_this_host() {
        let own = own_name();
        for name in ["localhost", "127.0.0.1", "::1", &own] {
            assert!(is_this_host(name), "{name}");
        }
        for name in ["node17", "10.1.2.3", "127.evil.example"] {
            assert!(!is_this_host(name), "{name}");
        }
    }

    #[test]
    fn ranks_fill_hosts_in_order() {
        let hosts = list("a:1,b:2").unwrap();
        assert_eq!(place(5, &hosts, 0, false), [0, 1, 1, 0, 1]);
        assert_eq!(place(4, &hosts, 2, false), [0, 0, 1, 1]);
        assert_eq!(place(5, &list("a,b").unwrap(), 0, false), [0, 0, 0, 1, 1]);
        assert_eq!(place(1, &list("a,b,c").unwrap(), 0, false), [0]);
        assert_eq!(place(6, &list("a:1,b:3").unwrap(), 0, true), [0, 1, 1, 1, 0, 1]);
        assert_eq!(place(5, &list("a,b").unwrap(), 0, true), [0, 1, 0, 1, 0]);
        assert_eq!((room(&hosts, 0), room(&hosts, 4), room(&list("a,b,c").unwrap(), 0)), (3, 8, 3));
    }

    #[test]
    fn slurm_writes_short() {
        assert_eq!(expand_slurm("n[0-2],login").unwrap().join(" "), "n0 n1 n2 login");
        assert!(expand_slurm("n[1-").unwrap_err().contains("--hosts"));
        assert_eq!(expand_tasks("2(x3),1"), Some(vec![2, 2, 2, 1]));
        assert_eq!((expand_tasks("2(x"), expand_tasks("0(x2)")), (None, None));
    }

    proptest! {
        #[test]
        fn garbage_never_panics(text in "[an0-9,\\[\\]():x=#-]{0,40}") {
            let _ = (list(&text), expand_slurm(&text), expand_tasks(&text));
        }

        #[test]
        fn every_rank_has_a_host(size in 1usize..200, slots in proptest::collection::vec(proptest::option::of(1usize..5), 1..9), per_host in 0usize..4, round: bool) {
            let hosts: Vec<Host> = slots.iter().enumerate().map(|(n, &slots)| host(&format!("h{n}"), slots)).collect();
            let places = place(size, &hosts, per_host, round);
            prop_assert_eq!(places.len(), size);
            prop_assert!(places.iter().all(|&place| (place as usize) < hosts.len()));
        }
    }
}
