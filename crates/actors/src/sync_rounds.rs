//! Rounds in which the elements of an array get ready for load balancing, counted as reductions
//! are.

use crate::reduction::{Combine, Contribution, ReductionMessage, ReductionStep, Reductions};

/// What elements contribute when they are ready is only counted.
const COUNTED: Combine = &|_, _, _| Ok(());

/// What reductions have to do next.
pub(crate) type Steps = Vec<ReductionStep>;

/// One rank's part of the rounds of an array in which its elements get ready.
#[derive(Debug, Default)]
pub(crate) struct SyncRounds {
    /// Nothing if the job does not balance loads, or if this is no array.
    rounds: Option<Reductions>,
    /// Whether rank 0 was told by this rank that the array takes part.
    pub(crate) has_joined: bool,
    /// Elements that were ready for rounds before this one go on.
    pub(crate) resumed: u32,
    /// At the root: rounds of which rank 0 was told.
    pub(crate) told: u32,
}

impl SyncRounds {
    pub(crate) fn new(rounds: Option<Reductions>) -> SyncRounds {
        SyncRounds { rounds, ..SyncRounds::default() }
    }

    /// Lets the reductions, which only count and therefore do not fail, do something.
    fn follow(&mut self, what: impl FnOnce(&mut Reductions) -> Result<Steps, String>) -> Steps {
        self.rounds.as_mut().and_then(|rounds| what(rounds).ok()).unwrap_or_default()
    }

    pub(crate) fn open(&mut self) -> Steps {
        self.follow(|rounds| rounds.open(COUNTED))
    }

    /// An element begins here: the first round for which it gets ready.
    pub(crate) fn created(&mut self) -> u32 {
        self.rounds.as_mut().map_or(0, Reductions::created)
    }

    pub(crate) fn arrived(&mut self, round: u32) {
        if let Some(rounds) = &mut self.rounds {
            rounds.arrived(round);
        }
    }

    pub(crate) fn departed(&mut self, round: u32) -> Steps {
        self.follow(|rounds| rounds.departed(round, COUNTED))
    }

    pub(crate) fn deleted(&mut self, round: u32) -> Steps {
        self.follow(|rounds| rounds.deleted(round, COUNTED))
    }

    pub(crate) fn ready(&mut self, round: u32) -> Steps {
        let one = Contribution { reducer: 0, elements: 1, callback: None, value: Vec::new() };
        self.follow(|rounds| rounds.contribute(round, one, COUNTED))
    }

    pub(crate) fn message(&mut self, message: ReductionMessage) -> Steps {
        self.follow(|rounds| rounds.message(message, COUNTED))
    }

    /// How many rounds are complete.
    pub(crate) fn complete(&self) -> u32 {
        self.rounds.as_ref().map_or(0, Reductions::completed)
    }
}
