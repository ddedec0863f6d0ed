//! A rank's part of the observation of a program.

use std::fmt;

use crate::quiescence::UnchangedCounts;
use crate::sample::{Observer, SampleRequest};

/// A rank's part of the observation.
#[derive(Debug, Default)]
pub(crate) struct Observation {
    /// When it began, by the layer's clock.
    pub(crate) begun: Option<u64>,
    pub(crate) until_end: bool,
    /// Chares that have left.
    pub(crate) migrations: u64,
    /// At rank 0: answers of others that are missing, and last ones of all ranks that have come.
    pub(crate) missing: u32,
    pub(crate) ended: u32,
    /// At rank 0: the last request, if so many answers are missing that it is not passed on yet.
    pub(crate) delayed: Option<SampleRequest>,
    /// At rank 0: what it had counted when it was asked.
    pub(crate) counts: UnchangedCounts,
}

impl Observation {
    /// The time since it began.
    pub(crate) fn time(&self, now: u64) -> u64 {
        now.saturating_sub(self.begun.unwrap_or(now))
    }
}

/// The observer of a runtime, which has no state that can be shown.
#[derive(Default)]
pub(crate) struct ObserverPlace(pub(crate) Option<Box<dyn Observer>>);

impl fmt::Debug for ObserverPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ObserverPlace")
    }
}
