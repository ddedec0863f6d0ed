//! Jobs in which nothing is left to do and that nobody ends. If rank 0 has had nothing to do for a
//! while, it starts waves of quiescence detection of its own. If they find that no rank has
//! anything to do and that nobody waits for quiescence, nothing will ever happen, and the job ends.
//!
//! Waves that find work cost little: the next one comes after a hundred times as long, but not much
//! later, because a rank that is busy for long makes a wave long and not costly.

use std::time::Duration;

/// How long rank 0 has nothing to do before it starts a wave, at least.
const IDLE: Duration = Duration::from_secs(1);
/// How many times as long as the last wave that is, at least.
const TIMES: u32 = 100;
/// How long it is at most.
const LONGEST: Duration = Duration::from_secs(10);

/// Rank 0's watch.
#[derive(Debug)]
pub(crate) struct StallWatch {
    /// How long rank 0 has nothing to do before the next wave.
    pause: Duration,
    /// When the wave that is under way began, by the layer's clock, and whether it is the second.
    wave: Option<(u64, bool)>,
}

impl StallWatch {
    pub(crate) fn new() -> StallWatch {
        StallWatch { pause: IDLE, wave: None }
    }

    /// How long rank 0 waits before it starts a wave.
    pub(crate) fn pause(&self) -> Duration {
        self.pause
    }

    /// A wave begins that nobody has asked for, at this moment.
    pub(crate) fn begin(&mut self, now: u64) {
        self.wave = Some((now, false));
    }

    /// A wave that nobody asked for has found that something was left to do, or has changed since
    /// the one before. Whether another wave follows at once: only if messages are all processed.
    pub(crate) fn found_work(&mut self, is_balanced: bool, now: u64) -> bool {
        let Some((began, is_second)) = self.wave.take() else { return false };
        if is_balanced && !is_second {
            self.wave = Some((now, true));
            return true;
        }
        let lasted = Duration::from_nanos(now.saturating_sub(began));
        self.pause = lasted.saturating_mul(TIMES).clamp(IDLE, LONGEST);
        false
    }

    /// Waves have ended.
    pub(crate) fn end(&mut self) {
        self.wave = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waves_that_find_work_come_seldom() {
        let mut watch = StallWatch::new();
        let millisecond = 1_000_000;
        assert!(!watch.found_work(true, 0), "somebody else has asked for that wave");
        watch.begin(0);
        assert!(!watch.found_work(false, millisecond), "messages are under way");
        assert_eq!(watch.pause, IDLE);
        watch.begin(0);
        assert!(watch.found_work(true, 30 * millisecond));
        assert!(!watch.found_work(true, 60 * millisecond), "something has happened since");
        assert_eq!(watch.pause, 3 * IDLE);
        watch.begin(0);
        assert!(watch.found_work(true, 0));
        assert!(!watch.found_work(true, 3000 * millisecond), "a rank was busy");
        assert_eq!(watch.pause, LONGEST);
    }
}
