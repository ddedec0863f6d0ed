//! Pauses between the waves of quiescence detection for which somebody waits. While messages are
//! under way, the next wave comes at once. While all that is left is a callback that is due later,
//! or an array that is lent, waves would keep all ranks busy and find the same.

use std::time::Duration;

use crate::quiescence::{MessageCounts, UnchangedCounts};

/// Sums that have not changed for less than this are no reason for a pause.
const SHORT: Duration = Duration::from_millis(1);
/// The part of the time without a change that a pause is.
const PART: u32 = 10;
const LONGEST: Duration = Duration::from_millis(20);

/// Rank 0's pauses.
#[derive(Debug, Default)]
pub(crate) struct WavePauses {
    sums: UnchangedCounts,
    /// When the pause ends that is under way, by the layer's clock.
    end: Option<u64>,
}

impl WavePauses {
    /// A wave that is no quiescence has given these sums. Whether a pause begins.
    pub(crate) fn begin(&mut self, sums: MessageCounts, now: u64) -> bool {
        let unchanged = self.sums.unchanged_for(sums, now);
        let is_paused = unchanged >= SHORT && !sums.are_balanced();
        let pause = (unchanged / PART).min(LONGEST);
        self.end = is_paused.then(|| now + pause.as_nanos() as u64);
        is_paused
    }

    /// A wave has found nothing but messages that wait for what a rank does when it is idle: a
    /// pause begins.
    pub(crate) fn begin_quiet(&mut self, sums: MessageCounts, now: u64) {
        let pause = (self.sums.unchanged_for(sums, now) / PART).clamp(SHORT, LONGEST);
        self.end = Some(now + pause.as_nanos() as u64);
    }

    /// How long the pause lasts that is under way.
    pub(crate) fn rest(&self, now: impl FnOnce() -> u64) -> Option<Duration> {
        self.end.map(|end| Duration::from_nanos(end.saturating_sub(now())))
    }

    /// A wave begins. Whether a pause was under way.
    pub(crate) fn end(&mut self) -> bool {
        self.end.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: u64 = 1_000_000;

    fn sums(sent: u64, processed: u64) -> MessageCounts {
        MessageCounts { sent, processed, ..MessageCounts::default() }
    }

    #[test]
    fn a_pause_is_a_part_of_the_time_in_which_nothing_has_changed() {
        let mut pauses = WavePauses::default();
        assert!(!pauses.begin(sums(3, 2), 0));
        assert!(!pauses.begin(sums(3, 2), MILLISECOND - 1));
        assert_eq!(pauses.rest(|| 0), None);
        assert!(pauses.begin(sums(3, 2), 10 * MILLISECOND));
        assert_eq!(pauses.rest(|| 10 * MILLISECOND), Some(Duration::from_millis(1)));
        assert_eq!(pauses.rest(|| 12 * MILLISECOND), Some(Duration::ZERO));
        assert!(pauses.end() && !pauses.end());
        assert!(pauses.begin(sums(3, 2), 900 * MILLISECOND));
        assert_eq!(pauses.rest(|| 900 * MILLISECOND), Some(LONGEST));
        assert!(!pauses.begin(sums(4, 2), 920 * MILLISECOND), "something has happened");
    }

    #[test]
    fn nothing_delays_the_second_wave_of_two() {
        let mut pauses = WavePauses::default();
        assert!(!pauses.begin(sums(3, 3), 0) && !pauses.begin(sums(3, 3), 900 * MILLISECOND));
    }
}
