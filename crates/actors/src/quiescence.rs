//! Quiescence detection: waves in the tree of rank 0 count the messages that were sent and those
//! that were processed. Nothing is left to do when two waves in succession give the same sums and
//! as many messages processed, put aside or held as sent (F. Mattern, "Algorithms for distributed
//! termination detection", 1987: the four counter method). A rank answers a wave when its queue is
//! empty.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What a rank counts, or the sums of a subtree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageCounts {
    /// Messages sent, each time that one is.
    pub sent: u64,
    /// Messages processed.
    pub processed: u64,
    /// Messages put aside that are for chares which do not exist yet.
    pub waiting: u64,
    /// Messages that have arrived, and arrays that their senders wait for, that are held until the
    /// program says where the arrays are to be: as many of them as are certain.
    pub held: u64,
    /// Functions that are called when their rank has nothing to do.
    pub idle_calls: u64,
}

impl MessageCounts {
    fn plus(self, other: MessageCounts) -> MessageCounts {
        MessageCounts {
            sent: self.sent + other.sent,
            processed: self.processed + other.processed,
            waiting: self.waiting + other.waiting,
            held: self.held + other.held,
            idle_calls: self.idle_calls + other.idle_calls,
        }
    }

    /// Whether all messages were processed, put aside or are held, unless the counts are of
    /// different times.
    pub(crate) fn are_balanced(self) -> bool {
        self.sent == self.processed + self.waiting + self.held
    }
}

/// The last counts, and since when they have not changed.
#[derive(Debug, Default)]
pub(crate) struct UnchangedCounts(Option<(MessageCounts, u64)>);

impl UnchangedCounts {
    /// How long the counts have not changed, which are these at this moment.
    pub(crate) fn unchanged_for(&mut self, counts: MessageCounts, now: u64) -> Duration {
        let before = self.0.filter(|(before, _)| *before == counts);
        let (_, since) = *self.0.insert(before.unwrap_or((counts, now)));
        Duration::from_nanos(now.saturating_sub(since))
    }
}

/// What has to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaveStep {
    /// Start another wave, if somebody waits: tell the children, and count.
    Start(MessageCounts),
    /// Tell the parent.
    Report(MessageCounts),
    /// Nothing is left to do anywhere.
    Quiescent(MessageCounts),
}

/// One rank's part of the waves.
#[derive(Debug, Default)]
pub struct Quiescence {
    children: usize,
    wave: Option<Wave>,
    /// At the root: what the wave before gave.
    before: Option<MessageCounts>,
}

#[derive(Debug)]
struct Wave {
    missing: usize,
    sums: MessageCounts,
}

impl Quiescence {
    /// The part of a rank with so many children in the tree of rank 0.
    #[must_use]
    pub fn new(children: usize) -> Quiescence {
        Quiescence { children, ..Quiescence::default() }
    }

    /// Whether a wave is under way here.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.wave.is_some()
    }

    /// A wave has come, or starts here.
    pub fn begin(&mut self) {
        self.wave = Some(Wave { missing: self.children, sums: MessageCounts::default() });
    }

    /// What a child has counted.
    pub fn child(&mut self, counts: MessageCounts) {
        if let Some(wave) = &mut self.wave {
            wave.missing = wave.missing.saturating_sub(1);
            wave.sums = wave.sums.plus(counts);
        }
    }

    /// The rank has nothing to do and has counted so much itself.
    pub fn idle(&mut self, own: MessageCounts, is_root: bool) -> Option<WaveStep> {
        let wave = self.wave.take_if(|wave| wave.missing == 0)?;
        let sums = wave.sums.plus(own);
        if !is_root {
            return Some(WaveStep::Report(sums));
        }
        let quiescent = sums.are_balanced() && self.before == Some(sums);
        self.before = (!quiescent).then_some(sums);
        Some(if quiescent { WaveStep::Quiescent(sums) } else { WaveStep::Start(sums) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(sent: u64, processed: u64) -> MessageCounts {
        MessageCounts { sent, processed, ..MessageCounts::default() }
    }

    #[test]
    fn two_equal_waves_are_quiescence() {
        let mut root = Quiescence::new(1);
        let mut wave = |child: MessageCounts, own: MessageCounts| {
            root.begin();
            assert_eq!(root.idle(own, true), None, "a child has not counted yet");
            root.child(child);
            root.idle(own, true)
        };
        let again = |sent, processed| Some(WaveStep::Start(counts(sent, processed)));
        assert_eq!(wave(counts(1, 0), counts(0, 1)), again(1, 1));
        assert_eq!(wave(counts(2, 1), counts(0, 1)), again(2, 2), "it has grown");
        assert_eq!(wave(counts(2, 1), counts(0, 1)), Some(WaveStep::Quiescent(counts(2, 2))));
        assert_eq!(wave(counts(2, 1), counts(0, 1)), again(2, 2), "from the beginning");
    }

    #[test]
    fn messages_that_are_held_are_not_under_way() {
        let mut root = Quiescence::new(0);
        let held = MessageCounts { held: 2, ..counts(4, 2) };
        root.begin();
        assert_eq!(root.idle(held, true), Some(WaveStep::Start(held)));
        root.begin();
        assert_eq!(root.idle(held, true), Some(WaveStep::Quiescent(held)));
    }

    #[test]
    fn messages_under_way_are_no_quiescence() {
        let mut root = Quiescence::new(0);
        for _ in 0..3 {
            root.begin();
            assert_eq!(root.idle(counts(3, 2), true), Some(WaveStep::Start(counts(3, 2))));
        }
    }
}
