//! The processors and links that the job has, as the systems of its hosts report them. All
//! processes agree on them, since the first rank of each host publishes its own: schedules of
//! collectives depend on them.

use std::collections::BTreeMap;
use std::str::FromStr;

use towpath_machine::cores::{self, MASK_WORDS, Mask};
use towpath_machine::{cgroup, network};

use crate::hosts::{own_kernel, own_name};
use crate::wire::{escape, unescape};

/// Separates the two parts of a host's card, which its first rank publishes: addresses, for the
/// transports, and resources.
const BETWEEN_PARTS: char = '|';

/// Key under which the card of host `number` is published.
pub fn card_key(number: u32) -> String {
    format!("towpath-card-{number}")
}

/// A card with these addresses and resources.
pub fn card(addresses: &str, resources: &HostResources) -> String {
    format!("{addresses}{BETWEEN_PARTS}{}", resources.to_text())
}

/// The addresses and the resources of a card; `None` if the text is malformed.
pub fn of_card(text: &str) -> Option<(&str, HostResources)> {
    let (addresses, resources) = text.split_once(BETWEEN_PARTS)?;
    Some((addresses, HostResources::parse(resources)?))
}

/// The processors and the link of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostResources {
    /// The host's own name for itself.
    pub name: String,
    /// Identifies the kernel.
    pub kernel: String,
    /// The processors that the ranks of the host may use together; empty if unknown.
    pub mask: Mask,
    /// The control group's limit; `None` without one.
    pub quota: Option<usize>,
    /// Rate of its fastest interface in bytes per second, in each direction; `None` if unknown.
    pub rate: Option<u64>,
}

impl HostResources {
    /// Those of this host, whose ranks may use the processors of `mask` together. `interfaces` are
    /// the ones that the job may use.
    pub fn own(mask: Mask, interfaces: Option<&str>) -> HostResources {
        let (quota, rate) = (cgroup::processor_quota(), network::fastest_rate(interfaces));
        HostResources { name: own_name(), kernel: own_kernel(), mask, quota, rate }
    }

    /// Encodes them: `name;kernel;mask;quota;rate`, the mask as hexadecimal words, the lowest
    /// first.
    pub fn to_text(&self) -> String {
        let used = self.mask.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
        let words: Vec<String> = self.mask[..used].iter().map(|word| format!("{word:x}")).collect();
        let quota = self.quota.map(|quota| quota.to_string()).unwrap_or_default();
        let rate = self.rate.map(|rate| rate.to_string()).unwrap_or_default();
        let name = escape(self.name.as_bytes());
        format!("{name};{};{};{quota};{rate}", self.kernel, words.join("."))
    }

    /// Decodes them; `None` if the text is malformed.
    pub fn parse(text: &str) -> Option<HostResources> {
        let [name, kernel, words, quota, rate]: [&str; 5] =
            text.split(';').collect::<Vec<_>>().try_into().ok()?;
        let mut mask = [0; MASK_WORDS];
        for (number, word) in words.split('.').filter(|word| !word.is_empty()).enumerate() {
            *mask.get_mut(number)? = u64::from_str_radix(word, 16).ok()?;
        }
        let (quota, rate) = (optional(quota)?, optional(rate)?);
        let name = String::from_utf8(unescape(name)).ok()?;
        Some(HostResources { name, kernel: kernel.to_owned(), mask, quota, rate })
    }
}

/// A number that may be missing; `None` if the text is something else.
fn optional<T: FromStr>(text: &str) -> Option<Option<T>> {
    if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) }
}

/// What schedules and the choice of transports depend on, the same in all processes of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobResources {
    /// Number of ranks that share a core of each host's kernel, by number of the host.
    pub sharers: Vec<usize>,
    /// Rates of the hosts' links in bytes per second, by number of the host; none if one is
    /// unknown.
    pub rates: Vec<u64>,
    /// True if all hosts are containers of one machine that may use as many of its cores each.
    pub shares_evenly: bool,
}

impl JobResources {
    /// Those of all hosts in order, each with the number of its ranks.
    pub fn of<'a>(hosts: impl Iterator<Item = (&'a HostResources, usize)> + Clone) -> JobResources {
        let rates: Option<Vec<u64>> = hosts.clone().map(|(host, _)| host.rate).collect();
        let share = |host: &'a HostResources| (&host.kernel, cores::count(&host.mask), host.quota);
        let mut shares = hosts.clone().map(|(host, _)| share(host));
        let first = shares.next();
        let shares_evenly = shares.all(|share| Some(share) == first);
        JobResources { sharers: sharers(hosts), rates: rates.unwrap_or_default(), shares_evenly }
    }

    /// The greatest number of ranks that share a core of some kernel.
    pub fn ranks_per_core(&self) -> usize {
        self.sharers.iter().copied().max().unwrap_or(1)
    }
}

/// The processors of one kernel, and the ranks on its hosts.
#[derive(Default)]
struct Kernel {
    mask: Mask,
    /// The sum of the quotas; `None` if a host has none.
    quota: Option<usize>,
    ranks: usize,
}

/// Number of ranks that share a core of each host's kernel. Hosts that are containers on one kernel
/// share its processors.
fn sharers<'a>(hosts: impl Iterator<Item = (&'a HostResources, usize)> + Clone) -> Vec<usize> {
    let mut kernels: BTreeMap<&str, Kernel> = BTreeMap::new();
    for (host, ranks) in hosts.clone() {
        let kernel = kernels
            .entry(&host.kernel)
            .or_insert_with(|| Kernel { quota: Some(0), ..Kernel::default() });
        kernel.mask.iter_mut().zip(&host.mask).for_each(|(all, own)| *all |= own);
        kernel.quota = kernel.quota.zip(host.quota).map(|(sum, own)| sum.saturating_add(own));
        kernel.ranks += ranks;
    }
    let share = |kernel: &Kernel| {
        let cores = match cores::count(&kernel.mask) {
            0 => kernel.ranks,
            known => known,
        };
        kernel.ranks.div_ceil(kernel.quota.map_or(cores, |quota| quota.min(cores)).max(1))
    };
    hosts.map(|(host, _)| share(&kernels[host.kernel.as_str()]).max(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(kernel: &str, processors: &[usize], quota: Option<usize>) -> HostResources {
        let (name, mask) = ("n 1;".into(), cores::mask_of(processors));
        HostResources { name, kernel: kernel.into(), mask, quota, rate: None }
    }

    fn of(hosts: &[(HostResources, usize)]) -> Vec<usize> {
        sharers(hosts.iter().map(|(host, ranks)| (host, *ranks)))
    }

    #[test]
    fn text_names_every_processor() {
        let fast = HostResources { rate: Some(125_000_000), ..host("b", &[5], None) };
        for one in [host("a", &[0, 63, 64, 1023], Some(3)), host("", &[], None), fast] {
            assert_eq!(HostResources::parse(&one.to_text()), Some(one));
        }
        let many = format!("n;a;{};;", ["1"; 17].join("."));
        for wrong in ["", "n;a;1;", "n;a;xyz;;", "n;a;1;-1;", "n;a;1;;x", "n;a;1;;;", &many] {
            assert_eq!(HostResources::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_card_has_two_parts() {
        let one = host("a", &[1], None);
        let text = card("addresses", &one);
        assert_eq!(of_card(&text), Some(("addresses", one)));
        assert_eq!((of_card("addresses"), of_card("addresses|n")), (None, None));
    }

    #[test]
    fn hosts_on_one_kernel_share_its_processors() {
        let two = || host("a", &[0, 1], None);
        assert_eq!(of(&[(two(), 2), (host("b", &[0, 1], None), 2)]), [1, 1]);
        assert_eq!(of(&[(two(), 2), (two(), 2)]), [2, 2]);
        assert_eq!(of(&[(two(), 1), (host("a", &[2, 3, 4], None), 4)]), [1, 1]);
        assert_eq!(of(&[(two(), 8), (host("b", &[0, 1, 2, 3], None), 4)]), [4, 1]);
    }

    #[test]
    fn hosts_share_evenly_on_one_kernel_with_equal_quotas() {
        let share = |hosts: &[(&str, Option<usize>)]| {
            let hosts = hosts.iter().map(|&(kernel, quota)| host(kernel, &[0], quota));
            let hosts: Vec<_> = hosts.collect();
            JobResources::of(hosts.iter().map(|host| (host, 1))).shares_evenly
        };
        assert!(share(&[("a", None); 3]) && share(&[("a", Some(2)); 3]));
        assert!(!share(&[("a", None), ("a", None), ("b", None)]));
        assert!(!share(&[("a", Some(1)), ("a", None), ("a", None)]));
        let hosts = [host("a", &[0], None), host("a", &[1], None), host("a", &[2, 3], None)];
        let evenly = |hosts: &[HostResources]| {
            JobResources::of(hosts.iter().map(|host| (host, 1))).shares_evenly
        };
        assert!(evenly(&hosts[..2]) && !evenly(&hosts));
    }

    #[test]
    fn a_quota_counts_if_all_hosts_of_a_kernel_have_one() {
        let limited = || host("a", &[0, 1, 2, 3], Some(1));
        assert_eq!(of(&[(limited(), 4)]), [4]);
        assert_eq!(of(&[(limited(), 2), (limited(), 2)]), [2, 2]);
        assert_eq!(of(&[(limited(), 4), (host("a", &[0, 1, 2, 3], None), 4)]), [2, 2]);
    }

    #[test]
    fn rates_count_if_all_are_known() {
        let with = |rate| HostResources { rate, ..host("a", &[0], None) };
        let rates =
            |hosts: &[HostResources]| JobResources::of(hosts.iter().map(|host| (host, 1))).rates;
        assert_eq!(rates(&[with(Some(10)), with(Some(1))]), [10, 1]);
        assert_eq!(rates(&[with(Some(10)), with(None)]), []);
    }

    #[test]
    fn a_host_without_a_known_mask_has_enough() {
        assert_eq!(of(&[(host("a", &[], None), 64)]), [1]);
        assert_eq!(JobResources::default().ranks_per_core(), 1);
    }
}
