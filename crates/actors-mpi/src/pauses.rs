//! How a rank waits for a limited time: MPI has no function for that, so it tests, with pauses that
//! grow with the time that it has waited. So it notices what arrives late by a small part of that
//! time, and leaves the core to others.

use std::time::{Duration, Instant};

/// Tests between two looks at the clock, which takes as long as some tests.
const TESTS: u32 = 100;
/// A rank that has waited for less than this only gives way.
const BUSY: Duration = Duration::from_millis(2);
/// The part of the time waited that a pause is.
const PART: u32 = 50;
const LONGEST: Duration = Duration::from_millis(20);

/// The pauses of one time of waiting.
#[derive(Debug)]
pub(crate) struct Pauses {
    limit: Duration,
    /// Tests until the clock is looked at.
    tests: u32,
    began: Option<Instant>,
}

impl Pauses {
    /// Waiting begins, for so long at most.
    pub(crate) fn new(limit: Duration) -> Pauses {
        Pauses { limit, tests: TESTS, began: None }
    }

    /// Whether a pause follows the next test.
    pub(crate) fn is_next(&self) -> bool {
        self.tests == 1
    }

    /// A test has found nothing. Whether the time has passed.
    #[inline]
    pub(crate) fn pause(&mut self) -> bool {
        self.tests -= 1;
        self.tests == 0 && self.long_pause()
    }

    fn long_pause(&mut self) -> bool {
        let waited = self.began.get_or_insert_with(Instant::now).elapsed();
        match length(waited) {
            None => {
                self.tests = TESTS;
                std::thread::yield_now();
            }
            Some(pause) => {
                self.tests = 1;
                std::thread::sleep(pause.min(self.limit.saturating_sub(waited)));
            }
        }
        waited >= self.limit
    }
}

/// How long the pause is after so much time; none if the rank only gives way.
fn length(waited: Duration) -> Option<Duration> {
    (waited >= BUSY).then(|| (waited / PART).min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_a_small_part_of_the_time_waited() {
        assert_eq!(length(Duration::from_micros(1999)), None);
        assert_eq!(length(Duration::from_millis(2)), Some(Duration::from_micros(40)));
        assert_eq!(length(Duration::from_millis(500)), Some(Duration::from_millis(10)));
        assert_eq!(length(Duration::from_secs(9)), Some(Duration::from_millis(20)));
    }

    #[test]
    fn waiting_ends_when_the_time_has_passed() {
        let limit = Duration::from_millis(40);
        let (began, mut pauses, mut tests) = (Instant::now(), Pauses::new(limit), 0);
        while !pauses.pause() {
            tests += 1;
        }
        assert!(began.elapsed() >= limit, "{:?}", began.elapsed());
        assert!(tests >= TESTS - 1, "many tests come before a pause: {tests}");
    }
}
