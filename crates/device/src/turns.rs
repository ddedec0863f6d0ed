//! Which process of a pair copies between their memory on one device.
//!
//! A device that two processes use in turns switches between their contexts, which takes 135 us on
//! an H200. If the processes only exchange messages, one of them should make all copies of both, so
//! that the device stays in its context. If both also run kernels of their own, the device is in
//! the context of the process that came last: the other one has been waiting for its message, or
//! has sent its own long ago. That process should copy then.
//!
//! Which of the two is the case cannot be asked. So the receiver watches how long copies take, and
//! tries the other rule after a few that took as long as a switch.

use std::sync::Mutex;
use std::time::Duration;

/// A copy is slow if it takes longer than this, and than [`BYTES_PER_NANOSECOND`] allow.
const SLOW: Duration = Duration::from_micros(60);
/// Rate of a copy that is not slow, in spite of its length.
const BYTES_PER_NANOSECOND: u64 = 50;
/// Slow copies in a row after which the other rule is tried.
const PATIENCE: u32 = 3;
/// Rule that names the process that copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Rule {
    /// The one with the lower process number, which is the lower rank where ranks are started in
    /// order.
    #[default]
    Lower,
    /// The one that came last.
    Last,
}

/// What the receiver knows of its copies from one process.
#[derive(Clone, Copy, Debug, Default)]
struct Observed {
    process: u64,
    rule: Rule,
    slow: u32,
}

/// What this process knows of its copies from others.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    observed: Mutex<Vec<Observed>>,
}

impl Turns {
    /// True if the sender should copy, rather than this process. `lower` is true if the sender has
    /// the lower process number, and `last` if it has sent after the receive was posted.
    pub(crate) fn is_senders(&self, sender: u64, lower: bool, last: bool) -> bool {
        match self.with(sender, |observed| observed.rule) {
            Rule::Lower => lower,
            Rule::Last => last,
        }
    }

    /// Takes the time of a copy of `length` bytes into account.
    pub(crate) fn learn(&self, sender: u64, length: usize, nanoseconds: u64) {
        let usual = SLOW.as_nanos() as u64 + length as u64 / BYTES_PER_NANOSECOND;
        self.with(sender, |observed| {
            observed.slow = if nanoseconds > usual { observed.slow + 1 } else { 0 };
            if observed.slow == PATIENCE {
                observed.slow = 0;
                observed.rule = match observed.rule {
                    Rule::Lower => Rule::Last,
                    Rule::Last => Rule::Lower,
                };
            }
        });
    }

    fn with<R>(&self, process: u64, act: impl FnOnce(&mut Observed) -> R) -> R {
        let mut all = self.observed.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(known) = all.iter_mut().find(|observed| observed.process == process) {
            return act(known);
        }
        let mut new = Observed { process, ..Observed::default() };
        let result = act(&mut new);
        all.push(new);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_changes_after_slow_copies_in_a_row() {
        let turns = Turns::default();
        let senders = |lower, last| turns.is_senders(7, lower, last);
        assert!(senders(true, false) && !senders(false, true), "at first the lower one copies");
        for nanoseconds in [200_000, 200_000, 10_000, 200_000, 200_000] {
            turns.learn(7, 8, nanoseconds);
        }
        assert!(senders(true, false), "one was fast");
        turns.learn(7, 8, 200_000);
        assert!(!senders(true, false) && senders(false, true), "now the last one copies");
        assert!(turns.is_senders(8, true, false), "other processes are others");
        (0..PATIENCE).for_each(|_| turns.learn(7, 64 << 20, 1_000_000));
        assert!(!senders(true, false), "a long copy is not slow");
        (0..PATIENCE).for_each(|_| turns.learn(7, 64 << 20, 2_000_000));
        assert!(senders(true, false));
    }
}
