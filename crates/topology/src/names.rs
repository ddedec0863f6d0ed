//! Names of hosts: lists with ranges, as people and Slurm write them, and which names mean the same
//! host.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

/// Maximum number of hosts in a list, to catch mistakes.
pub const MOST_HOSTS: usize = 1 << 16;

/// Maximum number of digits of a number in a host's name, and of numbers in one name; Slurm itself
/// accepts fewer.
const MOST_DIGITS: usize = 18;
const MOST_RANGES: usize = 8;

/// Expands a list of hosts, with the ranges of Slurm's hostlist expressions: `n[1-3,07],login`.
/// Returns `None` if it is not such a list, or names more than about [`MOST_HOSTS`] hosts.
pub fn expand(list: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for part in split_outside_brackets(list) {
        expand_part(part, &mut names)?;
    }
    Some(names)
}

fn split_outside_brackets(list: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut depth) = (Vec::new(), 0, 0i32);
    for (at, sign) in list.char_indices() {
        match sign {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&list[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[begin..]);
    parts.retain(|part| !part.is_empty());
    parts
}

fn expand_part(part: &str, names: &mut Vec<String>) -> Option<()> {
    let Some((before, rest)) = part.split_once('[') else {
        names.push(part.to_owned());
        return Some(());
    };
    if part.matches('[').count() > MOST_RANGES {
        return None;
    }
    let (inside, after) = rest.split_once(']')?;
    for range in inside.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let digits = Some(first.len()).filter(|&digits| digits <= MOST_DIGITS)?;
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if last < first || last - first + names.len() >= MOST_HOSTS {
            return None;
        }
        for number in first..=last {
            expand_part(&format!("{before}{number:0digits$}{after}"), names)?;
        }
    }
    Some(())
}

/// Writes a list of hosts with ranges, which [`expand`] expands to the same names, sorted by the
/// parts around their numbers and then by number.
pub fn compress(names: &[&str]) -> String {
    // Names that differ in one number of so many digits.
    let mut series: BTreeMap<(&str, &str, usize), BTreeSet<u64>> = BTreeMap::new();
    let mut parts: BTreeSet<String> = BTreeSet::new();
    for name in names {
        match numbered(name) {
            Some((before, digits, number, after)) => {
                series.entry((before, after, digits)).or_default().insert(number);
            }
            None => {
                parts.insert((*name).to_owned());
            }
        }
    }
    let numbered = series.into_iter().map(|((before, after, digits), numbers)| {
        let numbers: Vec<u64> = numbers.into_iter().collect();
        let runs: Vec<String> = numbers
            .chunk_by(|one, next| one + 1 == *next)
            .map(|run| match run {
                [first, .., last] => format!("{first:0digits$}-{last:0digits$}"),
                _ => format!("{:0digits$}", run[0]),
            })
            .collect();
        match numbers.as_slice() {
            [_] => format!("{before}{}{after}", runs[0]),
            _ => format!("{before}[{}]{after}", runs.join(",")),
        }
    });
    numbered.chain(parts).collect::<Vec<_>>().join(",")
}

/// Splits a name at the last number of its first label: what is before it, the count of its digits,
/// the number, and what is behind it. `None` if there is none, or for an address.
fn numbered(name: &str) -> Option<(&str, usize, u64, &str)> {
    if name.parse::<IpAddr>().is_ok() {
        return None;
    }
    let label = &name[..name.find('.').unwrap_or(name.len())];
    let end = label.rfind(|sign: char| sign.is_ascii_digit())? + 1;
    let begin = label[..end].rfind(|sign: char| !sign.is_ascii_digit());
    let begin = begin.map_or(0, |at| at + label[at..].chars().next().map_or(1, char::len_utf8));
    let digits = Some(end - begin).filter(|&digits| digits <= MOST_DIGITS)?;
    Some((&name[..begin], digits, name[begin..end].parse().ok()?, &name[end..]))
}

/// True if two names can belong to one host: one of them may lack its domain.
pub fn agree(one: &str, other: &str) -> bool {
    let one_is_short = !(one.contains('.') && other.contains('.'));
    one.eq_ignore_ascii_case(other)
        || (one_is_short && short(one).eq_ignore_ascii_case(short(other)))
}

/// A name without its domain.
fn short(name: &str) -> &str {
    match name.parse::<IpAddr>() {
        Ok(_) => name,
        Err(_) => name.split('.').next().unwrap_or_default(),
    }
}

/// Finds a host by any of its names, in constant time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NameIndex {
    exact: HashMap<String, usize>,
    /// Names without their domains; `None` if several hosts have this one.
    short: HashMap<String, Option<usize>>,
}

impl NameIndex {
    /// Adds a name that is not in the index.
    pub(crate) fn insert(&mut self, name: &str, index: usize) {
        let name = name.to_ascii_lowercase();
        let short = short(&name).to_owned();
        self.short.entry(short).and_modify(|known| *known = None).or_insert(Some(index));
        self.exact.insert(name, index);
    }

    /// The host with a name that agrees with this one. A name without a domain that several hosts
    /// share is the name of none of them.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        let name = name.to_ascii_lowercase();
        if let Some(&index) = self.exact.get(&name) {
            return Some(index);
        }
        match short(&name) {
            short if short == name => self.short.get(short).copied().flatten(),
            short => self.exact.get(short).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lists_have_ranges() {
        let names = |text: &str| expand(text).unwrap().join(" ");
        assert_eq!(names("n[0-2,07],login"), "n0 n1 n2 n07 login");
        assert_eq!(names("r[1-2]n[08-10]x"), "r1n08x r1n09x r1n10x r2n08x r2n09x r2n10x");
        for text in ["n[1-", "n[0-99999999]", "n[3-2]", "n[]", "n[a]"] {
            assert_eq!(expand(text), None, "{text}");
        }
        assert_eq!(expand(&format!("n[{}1]", "0".repeat(70_000))), None);
        assert_eq!(expand(&"[0]".repeat(9)), None);
    }

    #[test]
    fn lists_are_written_with_ranges() {
        for (names, list) in [
            (&["n2", "n0", "n1", "n07", "login"][..], "n[0-2],n07,login"),
            (&["n9", "n10", "n11"], "n9,n[10-11]"),
            (&["a1.x", "a3.x", "a2.y", "7"], "7,a[1,3].x,a2.y"),
            (&["10.0.0.1", "fe80::1"], "10.0.0.1,fe80::1"),
            (&[], ""),
        ] {
            assert_eq!(compress(names), list);
        }
    }

    proptest! {
        #[test]
        fn a_list_with_ranges_has_the_same_names(
            names in prop::collection::btree_set("[ab]{0,2}[0-9]{1,3}(x|[.]c1)?|[a-c]|é[0-9]", 0..30),
        ) {
            let list = compress(&names.iter().map(String::as_str).collect::<Vec<_>>());
            let mut read = expand(&list).unwrap();
            read.sort_unstable();
            prop_assert_eq!(read, names.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn one_of_two_names_may_lack_its_domain() {
        assert!(agree("n1", "N1.a.example") && agree("n1.a.example", "n1.A.example"));
        assert!(!agree("n1.a.example", "n1.b.example") && !agree("n1", "n2.a.example"));
        assert!(!agree("10.0.0.1", "10"));
    }

    #[test]
    fn the_index_agrees_with_the_names() {
        let mut index = NameIndex::default();
        for (number, name) in ["n1", "n2.a.example", "n3.a.example", "n3.b.example", "10.0.0.1"]
            .into_iter()
            .enumerate()
        {
            index.insert(name, number);
        }
        for (name, found) in [
            ("N1", Some(0)),
            ("n1.a.example", Some(0)),
            ("n2", Some(1)),
            ("n2.b.example", None),
            ("n3", None),
            ("n3.b.example", Some(3)),
            ("10.0.0.1", Some(4)),
            ("10", None),
            ("n4", None),
        ] {
            assert_eq!(index.find(name), found, "{name}");
        }
    }
}
