//! Callbacks that are told after some time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use crate::callback::ChareCallback;

/// Those of a rank, in the order in which they are due.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    due: BinaryHeap<Reverse<Timer>>,
    made: u64,
}

/// A callback that is due at a moment of the layer's clock. Of several at once, the first that was
/// made comes first.
#[derive(Debug, PartialEq, Eq)]
struct Timer {
    at: u64,
    number: u64,
    callback: ChareCallback,
}

impl Ord for Timer {
    fn cmp(&self, other: &Timer) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl PartialOrd for Timer {
    fn partial_cmp(&self, other: &Timer) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Timers {
    pub(crate) fn is_empty(&self) -> bool {
        self.due.is_empty()
    }

    pub(crate) fn add(&mut self, at: u64, callback: ChareCallback) {
        self.made += 1;
        self.due.push(Reverse(Timer { at, number: self.made, callback }));
    }

    /// The next one, if it is due.
    pub(crate) fn next(&mut self, now: u64) -> Option<ChareCallback> {
        self.due.peek().filter(|Reverse(timer)| timer.at <= now)?;
        self.due.pop().map(|Reverse(timer)| timer.callback)
    }

    /// How long it is until the next one is due.
    pub(crate) fn until_next(&self, now: u64) -> Option<Duration> {
        let Reverse(timer) = self.due.peek()?;
        Some(Duration::from_nanos(timer.at.saturating_sub(now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(function: u64) -> ChareCallback {
        ChareCallback::Function { rank: 0, function }
    }

    #[test]
    fn callbacks_come_in_the_order_of_their_times() {
        let mut timers = Timers::default();
        assert_eq!(timers.until_next(0), None);
        for (at, number) in [(30, 1), (10, 2), (20, 3), (10, 4)] {
            timers.add(at, function(number));
        }
        assert_eq!(timers.until_next(4), Some(Duration::from_nanos(6)));
        assert_eq!(timers.until_next(400), Some(Duration::ZERO));
        assert_eq!(timers.next(9), None);
        assert_eq!(timers.next(10), Some(function(2)));
        assert_eq!(timers.next(10), Some(function(4)));
        assert_eq!(timers.next(19), None);
        assert_eq!(timers.next(99), Some(function(3)));
        assert_eq!(timers.next(99), Some(function(1)));
        assert!(timers.is_empty());
    }
}
