//! Asks the proxies of all hosts what their ranks are doing and collects the answers for a limited
//! time.
#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

use super::activity::{Activity, RankPlace, is_worth_telling, report};

/// How long the hosts have to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// A request to all hosts that is being answered.
pub(super) struct HostSurvey {
    /// What is known about each rank.
    ranks: Vec<Option<RankPlace>>,
    /// The user has asked; otherwise the report is printed only if a rank is in MPI.
    asked: bool,
    /// Whether each host has yet to answer.
    open: Vec<bool>,
    due: Instant,
}

impl HostSurvey {
    /// Creates a survey of this many ranks; `open` tells which hosts have been asked.
    pub(super) fn new(ranks: usize, open: Vec<bool>, asked: bool) -> HostSurvey {
        HostSurvey { ranks: vec![None; ranks], asked, open, due: Instant::now() + PATIENCE }
    }

    /// Records the answer of a host about a rank that has not ended. Answers after a rank's end are
    /// not recorded, so ranks that end while other hosts answer are reported as they were.
    pub(super) fn note(&mut self, rank: usize, activity: Activity, initializing: bool) {
        self.ranks[rank] = Some(RankPlace::Runs { activity, initializing });
    }

    /// The lines about all ranks; empty if there is nothing to report.
    pub(super) fn report(self, has_ended: impl Fn(usize) -> bool) -> String {
        let unheard = |rank| if has_ended(rank) { RankPlace::Ended } else { RankPlace::Unknown };
        let ranks = self.ranks.into_iter().enumerate();
        let ranks: Vec<RankPlace> =
            ranks.map(|(rank, place)| place.unwrap_or_else(|| unheard(rank))).collect();
        if self.asked || is_worth_telling(&ranks) { report(&ranks) } else { String::new() }
    }

    /// A host has answered completely, or will not answer.
    pub(super) fn answered(&mut self, host: usize) {
        self.open[host] = false;
    }

    /// True if there is nothing left to wait for.
    pub(super) fn is_over(&self) -> bool {
        !self.open.contains(&true) || self.due <= Instant::now()
    }

    /// When [`HostSurvey::is_over`] must be checked at the latest.
    pub(super) fn due(&self) -> Instant {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_over_when_all_hosts_have_answered() {
        let mut survey = HostSurvey::new(3, vec![true, false, true], true);
        survey.answered(0);
        assert!(!survey.is_over() && survey.due() > Instant::now());
        survey.note(1, Activity::default(), false);
        survey.answered(2);
        assert!(survey.is_over());
        assert_eq!(
            survey.report(|rank| rank == 0),
            "mpiexec: rank 0: ended\nmpiexec: rank 1: before MPI_Init\n\
             mpiexec: rank 2: unknown, because the host does not answer\n"
        );
    }
}
