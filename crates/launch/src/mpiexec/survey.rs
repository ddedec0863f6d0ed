//! Asking the proxies of all hosts where their ranks are, and waiting a moment for what they say.
#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

use super::activity::{Activity, Whereabouts, is_worth_telling, report};

/// How long the hosts have to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// A question to all hosts that is being answered.
pub(super) struct Survey {
    /// What is known of each rank.
    ranks: Vec<Option<Whereabouts>>,
    /// A person has asked; else it is told only if a rank is in MPI.
    asked: bool,
    /// Whether each host has still to answer.
    open: Vec<bool>,
    due: Instant,
}

impl Survey {
    /// Of so many ranks, on hosts of which these have been asked.
    pub(super) fn new(ranks: usize, open: Vec<bool>, asked: bool) -> Survey {
        Survey { ranks: vec![None; ranks], asked, open, due: Instant::now() + PATIENCE }
    }

    /// A host has said where a rank is that has not ended. What comes after the rank's end is not
    /// noted, so ranks that end while other hosts answer are told where they were.
    pub(super) fn note(&mut self, rank: usize, activity: Activity, initialising: bool) {
        self.ranks[rank] = Some(Whereabouts::Runs { activity, initialising });
    }

    /// The lines about all ranks; nothing where nothing is worth telling.
    pub(super) fn report(self, has_ended: impl Fn(usize) -> bool) -> String {
        let unheard = |rank| if has_ended(rank) { Whereabouts::Ended } else { Whereabouts::Unknown };
        let ranks = self.ranks.into_iter().enumerate();
        let ranks: Vec<Whereabouts> = ranks.map(|(rank, place)| place.unwrap_or_else(|| unheard(rank))).collect();
        if self.asked || is_worth_telling(&ranks) { report(&ranks) } else { String::new() }
    }

    /// A host has said everything, or will say nothing.
    pub(super) fn answered(&mut self, host: usize) {
        self.open[host] = false;
    }

    /// Whether there is nothing to wait for any more.
    pub(super) fn is_over(&self) -> bool {
        !self.open.contains(&true) || self.due <= Instant::now()
    }

    /// When [`Survey::is_over`] is to be asked at the latest.
    pub(super) fn due(&self) -> Instant {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_over_when_all_hosts_have_answered() {
        let mut survey = Survey::new(3, vec![true, false, true], true);
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
