//! A rank's part of the observation of a program.

use std::fmt;
use std::time::Duration;

use crate::quiescence::MessageCounts;
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
    /// At rank 0: what it had counted when it was asked, and since when it has not changed.
    pub(crate) unchanged: Option<(MessageCounts, u64)>,
}

impl Observation {
    /// The time since it began.
    pub(crate) fn time(&self, now: u64) -> u64 {
        now.saturating_sub(self.begun.unwrap_or(now))
    }

    /// How long these counts have not changed.
    pub(crate) fn unchanged_for(&mut self, counts: MessageCounts, now: u64) -> Duration {
        let before = self.unchanged.filter(|(before, _)| *before == counts);
        let (_, since) = *self.unchanged.insert(before.unwrap_or((counts, now)));
        Duration::from_nanos(now.saturating_sub(since))
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
