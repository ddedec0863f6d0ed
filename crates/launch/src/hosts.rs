//! The host of each rank as launchers describe it (`PMI_process_mapping`), and an identifier of
//! this host for launchers that do not.
//!
//! The value is `(vector,(first host,hosts,ranks per host),...)`. Each triple assigns the next
//! ranks to `hosts` hosts starting at `first host`, `ranks per host` consecutive ranks each. If
//! ranks remain, the list starts over (PMI-1 as Hydra serves it). Hydra of MPICH 5 writes `host`
//! for `(host,1,1)` and `[...]xN` for N repetitions.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;

use towpath_machine::process;

/// Parses a process mapping for `size` ranks. Returns the host of each rank, numbered from 0 in
/// order of appearance, or `None` if the text is not a process mapping.
pub fn parse_mapping(text: &str, size: usize) -> Option<Vec<u32>> {
    let inside = text.trim().strip_prefix('(')?.strip_suffix(')')?.trim();
    let list = inside.strip_prefix("vector")?.trim_start().strip_prefix(',')?;
    let compact: String = list.chars().filter(|sign| !sign.is_whitespace()).collect();
    let triples = blocks(&compact, size)?;
    if size > 0 && triples.is_empty() {
        return None;
    }
    let of_triple = |&(first, hosts, ranks): &Triple| {
        (0..hosts).flat_map(move |host| std::iter::repeat_n(first.checked_add(host), ranks))
    };
    let places: Option<Vec<usize>> =
        triples.iter().cycle().flat_map(of_triple).take(size).collect();
    Some(number_by_appearance(&places?))
}

/// First host, number of hosts, ranks per host.
type Triple = (usize, usize, usize);

/// Parses blocks separated by commas: triples, single hosts of one rank, and bracketed lists of
/// both with a repeat count. Drops blocks without ranks and stops repeating a list once there are
/// as many blocks as ranks.
fn blocks(mut rest: &str, size: usize) -> Option<Vec<Triple>> {
    let mut triples = Vec::new();
    while !rest.is_empty() {
        if let Some(behind) = rest.strip_prefix('[') {
            let (list, behind) = behind.split_once("]x")?;
            let (times, behind) = behind.split_at(behind.find(',').unwrap_or(behind.len()));
            let (repeated, times) = (simple_blocks(list)?, times.parse::<usize>().ok()?);
            for _ in 0..times {
                if repeated.is_empty() || triples.len() >= size {
                    break;
                }
                triples.extend_from_slice(&repeated);
            }
            rest = behind;
        } else {
            let end = rest.find(",[").unwrap_or(rest.len());
            triples.extend(simple_blocks(&rest[..end])?);
            rest = &rest[end..];
        }
        if !rest.is_empty() {
            rest = rest.strip_prefix(',').filter(|rest| !rest.is_empty())?;
        }
    }
    Some(triples)
}

/// Parses blocks without repetitions.
fn simple_blocks(mut rest: &str) -> Option<Vec<Triple>> {
    let mut triples = Vec::new();
    loop {
        let (text, behind) = match rest.strip_prefix('(') {
            Some(inside) => inside.split_once(')')?,
            None => rest.split_at(rest.find(',').unwrap_or(rest.len())),
        };
        let numbers: Vec<usize> = text.split(',').map(str::parse).collect::<Result<_, _>>().ok()?;
        match (numbers.as_slice(), rest.starts_with('(')) {
            (&[first, hosts, ranks], true) if hosts > 0 && ranks > 0 => {
                triples.push((first, hosts, ranks))
            }
            (&[_, _, _], true) => {}
            (&[host], false) => triples.push((host, 1, 1)),
            _ => return None,
        }
        if behind.is_empty() {
            return Some(triples);
        }
        rest = behind.strip_prefix(',')?;
    }
}

/// Encodes the hosts of all ranks as a process mapping. Consecutive hosts with the same number of
/// ranks share a triple, and a periodic list is written once: PMI-1 clients accept values of about
/// a thousand bytes at most.
pub fn write_mapping(node_of_rank: &[u32]) -> String {
    let (whole, once) = (triples(node_of_rank), triples(&node_of_rank[..period(node_of_rank)]));
    let shorter = if once.len() < whole.len() { once } else { whole };
    let texts: Vec<String> =
        shorter.iter().map(|(first, hosts, ranks)| format!(",({first},{hosts},{ranks})")).collect();
    format!("(vector{})", texts.concat())
}

/// The smallest period of a list (Knuth, Morris and Pratt).
fn period(list: &[u32]) -> usize {
    // `borders[at]`: length of the longest proper prefix of `list[..=at]` that is also its suffix.
    let mut borders = vec![0; list.len()];
    for at in 1..list.len() {
        let mut border: usize = borders[at - 1];
        while border > 0 && list[border] != list[at] {
            border = borders[border - 1];
        }
        borders[at] = border + usize::from(list[border] == list[at]);
    }
    list.len() - borders.last().copied().unwrap_or(0)
}

/// Runs of ranks: first host, number of hosts, ranks per host.
fn triples(node_of_rank: &[u32]) -> Vec<(u32, u32, usize)> {
    let mut triples: Vec<(u32, u32, usize)> = Vec::new();
    let mut rest = node_of_rank;
    while let Some(&node) = rest.first() {
        let run = rest.iter().take_while(|&&other| other == node).count();
        match triples.last_mut() {
            Some((first, hosts, ranks)) if *ranks == run && *first + *hosts == node => *hosts += 1,
            _ => triples.push((node, 1, run)),
        }
        rest = &rest[run..];
    }
    triples
}

/// Numbers distinct values from 0 in order of first appearance.
pub fn number_by_appearance<T: Eq + std::hash::Hash + Clone>(things: &[T]) -> Vec<u32> {
    let mut numbers: HashMap<T, u32> = HashMap::new();
    things
        .iter()
        .map(|thing| {
            let next = numbers.len() as u32;
            *numbers.entry(thing.clone()).or_insert(next)
        })
        .collect()
}

/// Returns the name of this host.
pub(crate) fn own_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Returns a text that is the same in two processes exactly if they run on one kernel in one
/// network namespace: the kernel's boot ID and the namespace's inode. Uses the host's name if the
/// boot ID is not available.
pub fn own_host() -> String {
    let network = std::fs::metadata("/proc/self/ns/net").map(|m| m.ino()).unwrap_or(0);
    format!("{}-{network}", own_kernel())
}

/// Returns a text that is the same in two processes exactly if they run on one kernel: its boot ID,
/// or the host's name if that is not available.
pub fn own_kernel() -> String {
    let name = process::boot_id().unwrap_or_else(own_name);
    crate::wire::escape(name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn mappings_of_real_launchers() {
        assert_eq!(parse_mapping("(vector,(0,1,2))", 2), Some(vec![0, 0]));
        assert_eq!(parse_mapping("(vector,(0,2,2))", 4), Some(vec![0, 0, 1, 1]));
        assert_eq!(parse_mapping("(vector,(0,2,1))", 4), Some(vec![0, 1, 0, 1]));
        assert_eq!(parse_mapping("(vector, (5,1,1), (3,1,2))", 3), Some(vec![0, 1, 1]));
        // Hydra of MPICH 5.0.2, where the ranks do not fill the hosts evenly.
        assert_eq!(parse_mapping("(vector,(0,2,2),(0,1,2),1)", 7), Some(vec![0, 0, 1, 1, 0, 0, 1]));
        assert_eq!(parse_mapping("(vector,(0,1,2),1)", 3), Some(vec![0, 0, 1]));
        assert_eq!(parse_mapping("(vector,[(0,2,1)]x2,0)", 5), Some(vec![0, 1, 0, 1, 0]));
        assert_eq!(parse_mapping("(vector,7,[0,(1,2,1)]x2)", 7), Some(vec![0, 1, 2, 3, 1, 2, 3]));
        // Slurm: 3 + 1 ranks, in blocks and cyclically.
        assert_eq!(parse_mapping("(vector,(0,1,3),(1,1,1))", 4), Some(vec![0, 0, 0, 1]));
        assert_eq!(parse_mapping("(vector,(0,2,1),(0,1,1),(0,1,1))", 4), Some(vec![0, 1, 0, 0]));
    }

    #[test]
    fn nonsense_is_not_a_mapping() {
        for text in [
            "",
            "vector",
            "(vector)",
            "(vector,(0,0,3))",
            "(vector,(0,1))",
            "(vector,(a,1,1))",
            "(list,(0,1,1))",
        ] {
            assert_eq!(parse_mapping(text, 2), None, "{text}");
        }
        for text in [
            "0,",
            ",0",
            "(0,1,1),",
            "[0x2",
            "[0]x",
            "[]x2",
            "[0]xa",
            "0 1,(1,2)",
            "[[0]x2]x2",
            "(0,1,1)x2",
            "0,1)",
        ] {
            assert_eq!(parse_mapping(&format!("(vector,{text})"), 2), None, "{text}");
        }
    }

    #[test]
    fn regular_mappings_are_short() {
        let nodes: Vec<u32> = (0..256).map(|rank| rank / 32).collect();
        assert_eq!(write_mapping(&nodes), "(vector,(0,8,32))");
        assert_eq!(write_mapping(&[0, 0, 1, 1, 0]), "(vector,(0,2,2))");
        assert_eq!(write_mapping(&[0, 1, 1, 0, 2]), "(vector,(0,1,1),(1,1,2),(0,1,1),(2,1,1))");
        let in_turn: Vec<u32> = (0..999).map(|rank| rank % 3).collect();
        assert_eq!(write_mapping(&in_turn), "(vector,(0,3,1))");
        assert_eq!(write_mapping(&[]), "(vector)");
    }

    proptest! {
        #[test]
        fn a_written_mapping_is_read_back(hosts in proptest::collection::vec(0u32..4, 1..40)) {
            let numbered = number_by_appearance(&hosts);
            prop_assert_eq!(parse_mapping(&write_mapping(&hosts), hosts.len()), Some(numbered));
        }

        #[test]
        fn ranks_dealt_out_in_turn_come_back_to_their_hosts(hosts in 1usize..9, each in 1usize..5, size in 1usize..60) {
            let places = parse_mapping(&format!("(vector,(0,{hosts},{each}))"), size).unwrap();
            let expected: Vec<u32> = (0..size).map(|rank| (rank / each % hosts) as u32).collect();
            prop_assert_eq!(places, expected);
        }

        #[test]
        fn garbage_never_panics(text in "[\\[\\]()vectorx,0-9 ]{0,60}", size in 0usize..50) {
            for text in [format!("(vector,{text})"), text] {
                if let Some(places) = parse_mapping(&text, size) {
                    prop_assert_eq!(places.len(), size);
                }
            }
        }
    }
}
