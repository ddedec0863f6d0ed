//! Measures long waits, for checks that a wait which ends soon cannot afford.

use std::time::{Duration, Instant};

/// Interval between two checks.
const INTERVAL: Duration = Duration::from_millis(900);
/// Shortest wait that is reported to the user.
pub const LONG: Duration = Duration::from_secs(5);

/// Measures how long a wait has lasted. Reads the clock only when the wait begins and after each
/// sleep.
#[derive(Debug, Default)]
pub struct Watchdog {
    /// The process's sleep count when the clock was last read.
    sleeps: Option<u64>,
    /// When the wait began, and when it was last checked.
    times: Option<(Instant, Instant)>,
}

impl Watchdog {
    /// True if it is time to check the wait again. `sleeps` is the number of times that the process
    /// has slept ([`Waiter::sleeps`](super::Waiter::sleeps)).
    #[inline]
    pub fn is_due(&mut self, sleeps: u64) -> bool {
        Some(sleeps) != self.sleeps && self.is_due_now(sleeps)
    }

    #[cold]
    fn is_due_now(&mut self, sleeps: u64) -> bool {
        self.sleeps = Some(sleeps);
        let now = Instant::now();
        let (_, looked) = self.times.get_or_insert((now, now));
        let due = now - *looked >= INTERVAL;
        if due {
            *looked = now;
        }
        due
    }

    /// True if the wait has lasted [`LONG`] or longer.
    pub fn waits_long(&self) -> bool {
        self.times.is_some_and(|(began, looked)| looked - began >= LONG)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_checked_after_a_sleep_when_time_has_passed() {
        let mut watch = Watchdog::default();
        assert!(!watch.is_due(3), "the wait has just begun");
        let before = Instant::now().checked_sub(LONG).expect("the host is up for seconds");
        watch.times = Some((before, before));
        assert!(!watch.is_due(3), "without a sleep the clock is not read");
        assert!(!watch.waits_long());
        assert!(watch.is_due(4) && watch.waits_long());
        assert!(!watch.is_due(5), "it has just been checked");
    }
}
