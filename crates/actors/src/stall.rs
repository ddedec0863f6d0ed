//! Jobs in which nothing is left to do and that nobody ends. When rank 0 has had nothing to do for a
//! while, it starts waves of quiescence detection of its own. If they find that no rank has
//! anything to do and that nobody waits for quiescence, nothing will ever happen, and the job ends.
//!
//! Waves that find work cost little: the next one comes after a hundred times as long, but not much
//! later, because a rank that is busy for long makes a wave long and not costly.

use std::time::{Duration, Instant};

use crate::control::ExitScope;
use crate::runtime::Runtime;
use crate::state::State;

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
    /// When the wave that is under way began, and whether it is the second one.
    wave: Option<(Instant, bool)>,
}

impl StallWatch {
    pub(crate) fn new() -> StallWatch {
        StallWatch { pause: IDLE, wave: None }
    }

    fn begin(&mut self) {
        self.wave = Some((Instant::now(), false));
    }

    /// A wave that nobody asked for has found that something was left to do, or has changed since
    /// the one before. Whether another wave follows at once: only if messages are all processed.
    pub(crate) fn found_work(&mut self, is_balanced: bool) -> bool {
        let Some((began, is_second)) = self.wave.take() else { return false };
        if is_balanced && !is_second {
            self.wave = Some((Instant::now(), true));
            return true;
        }
        self.pause = began.elapsed().saturating_mul(TIMES).clamp(IDLE, LONGEST);
        false
    }

    /// Waves have ended.
    pub(crate) fn end(&mut self) {
        self.wave = None;
    }
}

impl State {
    /// How long this rank waits before it starts a wave, if it is rank 0.
    fn until_wave(&self) -> Option<Duration> {
        if self.rank != 0 || self.quiescence.is_active() || self.counts.outside > 0 {
            return None;
        }
        // Without other ranks, nothing can arrive.
        Some(if self.ranks == 1 { Duration::ZERO } else { self.stall.pause })
    }
}

impl Runtime {
    /// Waits until there may be something to do. This rank has nothing to do now; if no rank ever
    /// will, the job ends.
    pub fn wait(&self) {
        let mut state = self.state.borrow_mut();
        let limit = state.until_wave();
        let has_passed = limit == Some(Duration::ZERO) || state.layer.wait(limit);
        if has_passed && limit.is_some() {
            state.stall.begin();
            drop(state);
            self.count_messages();
        }
    }

    /// Something on this rank waits for what is neither a message nor a chare, until
    /// [`Runtime::end_outside`]: the job does not end because nothing else is left to do. Whoever
    /// calls this lets the scheduler go on by [`Runtime::step`], because a rank that has nothing to
    /// do sleeps until a message comes.
    pub fn begin_outside(&self) {
        self.state.borrow_mut().counts.outside += 1;
    }

    /// It waits no longer.
    pub fn end_outside(&self) {
        let outside = &mut self.state.borrow_mut().counts.outside;
        *outside = outside.saturating_sub(1);
    }

    /// At rank 0: nothing is left to do, and nobody wants to be told.
    pub(crate) fn stalled(&self, outside: u64) {
        if outside == 0 {
            self.exit_here(1, ExitScope::Stalled);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waves_that_find_work_come_seldom() {
        let mut watch = StallWatch::new();
        assert!(!watch.found_work(true), "somebody else has asked for that wave");
        watch.begin();
        assert!(!watch.found_work(false), "messages are under way");
        assert_eq!(watch.pause, IDLE);
        watch.begin();
        std::thread::sleep(Duration::from_millis(30));
        assert!(watch.found_work(true));
        std::thread::sleep(Duration::from_millis(30));
        assert!(!watch.found_work(true), "something has happened between two waves");
        assert!((3 * IDLE..=LONGEST).contains(&watch.pause), "{:?}", watch.pause);
        watch.wave = Some((Instant::now() - 3 * IDLE, true));
        assert!(!watch.found_work(true), "a rank was busy");
        assert_eq!(watch.pause, LONGEST);
    }
}
