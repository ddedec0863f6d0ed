//! Rounds of probes between the hosts that take part in CLIC frames, and what follows from their
//! results.
//!
//! Nobody waits for the others before the first round, which costs nothing where all processes run.
//! A process that starts late, or that the system does not run for a while, may miss it. Pairs of
//! hosts that have found different results, or nothing that works, therefore probe again, for
//! longer; the exchange of the results has brought them to the same point.

use std::time::Duration;

use towpath_clic_wire::Verdicts;

use crate::error::Result;

/// How long to probe paths that do not answer if frames were requested: the other host may be busy.
const PATIENCE: Duration = Duration::from_secs(4);
/// The same, for the first and the second round, if connections are an alternative.
const SHORT_PATIENCE: [Duration; 2] = [Duration::from_millis(40), Duration::from_millis(120)];

/// A round of probes. All processes of a job go through the same rounds.
pub(super) struct ProbeRound<'a> {
    /// 0 or 1.
    pub number: u8,
    /// How long to probe at most.
    pub patience: Duration,
    /// Whether two hosts probe each other.
    is_probed: &'a dyn Fn(u32, u32) -> bool,
    present: &'a [u32],
}

impl ProbeRound<'_> {
    /// The name under which a host publishes its results.
    pub(super) fn name(&self) -> &'static str {
        if self.number == 0 { "ways" } else { "ways-again" }
    }

    /// The hosts that probe this one.
    pub(super) fn opposites(&self, host: u32) -> impl Iterator<Item = u32> {
        let opposites = self.present.iter().copied();
        opposites.filter(move |other| *other != host && (self.is_probed)(host, *other))
    }

    /// The hosts that take part.
    pub(super) fn hosts(&self) -> impl Iterator<Item = u32> {
        let hosts = self.present.iter().copied();
        hosts.filter(|host| self.opposites(*host).next().is_some())
    }
}

/// The results of all hosts, indexed by host.
#[derive(Default)]
pub(super) struct WorkingPaths(Vec<Verdicts>);

impl WorkingPaths {
    /// Finds what works between the hosts that are present. `requested` says that frames are the
    /// only choice. `probe` performs a round, and returns the results of all hosts in it, indexed
    /// by host.
    pub(super) fn find(
        present: &[u32],
        requested: bool,
        probe: &mut dyn FnMut(&ProbeRound) -> Result<Vec<Verdicts>>,
    ) -> Result<WorkingPaths> {
        let [short, longer] = SHORT_PATIENCE;
        let patience = if requested { PATIENCE } else { short };
        let round = ProbeRound { number: 0, patience, is_probed: &|_, _| true, present };
        let first = WorkingPaths(probe(&round)?);
        let is_probed = |one: u32, other: u32| first.is_doubtful(one, other);
        let round = ProbeRound { number: 1, patience: longer, is_probed: &is_probed, present };
        if requested || round.hosts().next().is_none() {
            return Ok(first);
        }
        let second = WorkingPaths(probe(&round)?);
        let of_host = |host: usize| {
            let newest = |other: usize| {
                let again = is_probed(host as u32, other as u32);
                (if again { &second } else { &first }).rails(host as u32, other as u32).to_vec()
            };
            (0..first.0.len()).map(newest).collect()
        };
        Ok(WorkingPaths((0..first.0.len()).map(of_host).collect()))
    }

    /// What a host has found to work to another one, by rail.
    fn rails(&self, host: u32, other: u32) -> &[u8] {
        self.0.get(host as usize).map_or(&[], |verdicts| verdicts.rails(other as usize))
    }

    /// Whether one of two hosts may not have run while the other one probed: nothing works between
    /// them, or one has found more than the other.
    fn is_doubtful(&self, one: u32, other: u32) -> bool {
        let (there, back) = (self.rails(one, other), self.rails(other, one));
        !there.is_empty() && (there != back || there.iter().all(|works| *works == 0))
    }

    /// What both hosts have found to work over a rail.
    pub(super) fn of(&self, one: u32, other: u32, rail: usize) -> u8 {
        let of = |one, other| self.rails(one, other).get(rail).copied().unwrap_or(0);
        of(one, other) & of(other, one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rounds of three hosts with these results in turn: for each round its name and the hosts
    /// that probe each other, and what works at last between hosts 0 and 1, 0 and 2, 1 and 2.
    fn rounds(requested: bool, results: &[[&str; 3]]) -> (Vec<String>, [u8; 3]) {
        let (mut seen, mut results) = (Vec::new(), results.iter());
        let paths = WorkingPaths::find(&[0, 1, 2], requested, &mut |round| {
            let pairs = round
                .hosts()
                .flat_map(|host| round.opposites(host).map(move |other| format!("{host}-{other}")));
            seen.push(format!("{}: {}", round.name(), pairs.collect::<Vec<_>>().join(" ")));
            Ok(results.next().unwrap().iter().map(|text| Verdicts::parse(text)).collect())
        });
        let Ok(paths) = paths else { unreachable!("no round fails") };
        (seen, [paths.of(0, 1, 0), paths.of(0, 2, 0), paths.of(1, 2, 0)])
    }

    const ALL: &str = "ways: 0-1 0-2 1-0 1-2 2-0 2-1";

    #[test]
    fn one_round_is_enough_if_all_hosts_answer() {
        let first = [",3,2", "3,,3", "2,3,"];
        assert_eq!(rounds(false, &[first]), (vec![ALL.to_owned()], [3, 2, 3]));
    }

    #[test]
    fn hosts_that_share_no_network_are_not_probed_again() {
        let first = [",3,", "3,,3", ",3,"];
        assert_eq!(rounds(false, &[first]), (vec![ALL.to_owned()], [3, 0, 3]));
    }

    #[test]
    fn a_pair_that_has_missed_the_first_round_probes_again() {
        let (first, second) = ([",3,0", "3,,3", "0,3,"], [",,3", "", "3,,"]);
        let again = "ways-again: 0-2 2-0".to_owned();
        assert_eq!(rounds(false, &[first, second]), (vec![ALL.to_owned(), again], [3, 3, 3]));
    }

    #[test]
    fn a_pair_of_which_one_has_found_more_probes_again() {
        let (first, second) = ([",3,3", "1,,3", "3,3,"], [",1,", "1,,", ""]);
        let again = "ways-again: 0-1 1-0".to_owned();
        assert_eq!(rounds(false, &[first, second]), (vec![ALL.to_owned(), again], [1, 3, 3]));
    }

    #[test]
    fn requested_frames_have_one_long_round() {
        let first = [",0,3", "0,,3", "3,3,"];
        assert_eq!(rounds(true, &[first]), (vec![ALL.to_owned()], [0, 3, 3]));
    }
}
