//! Timers: round-trip estimation, retransmission timeouts, delayed acknowledgements, and batching
//! of frames to a sleeping peer.
//!
//! Round-trip times are smoothed as in RFC 6298, from echoed timestamps only, so that retransmitted
//! frames cannot distort them. The variance term is left out: four times the mean, with a floor, is
//! far above it on a single segment.

#![forbid(unsafe_code)]

use super::Time;

/// A microsecond.
pub const MICROSECOND: Time = 1_000;
/// A millisecond.
pub const MILLISECOND: Time = 1_000_000;
/// A second.
pub const SECOND: Time = 1_000_000_000;

/// Minimum retransmission timeout while the receiver spins.
pub const AWAKE_FLOOR: Time = 200 * MICROSECOND;
/// Minimum retransmission timeout for a receiver that sleeps, or before the first measurement.
pub const ASLEEP_FLOOR: Time = 5 * MILLISECOND;
/// Longest time between two attempts.
pub const CEILING: Time = 100 * MILLISECOND;
/// Maximum delay of an acknowledgement.
pub const ACKNOWLEDGE_AFTER: Time = 50 * MICROSECOND;
/// How long a leaving process waits for a peer that has also said goodbye but has not acknowledged:
/// the peer may be gone.
pub const LINGER: Time = 50 * MILLISECOND;
/// How long a leaving process waits for a peer that has not said goodbye.
pub const PATIENCE: Time = 2 * SECOND;
/// After this many samples the recorded maximum has decayed to about a third.
const MEMORY: u64 = 256;
/// Interval over which timestamps are comparable: half their wrap-around period.
const STAMPS: Time = 1 << (31 + 6);
/// Frames to a sleeping peer are sent as a batch once this many are waiting.
pub const GATHERED: usize = 8;
/// Longest time that a frame to a sleeping peer waits for others.
pub const GATHER_FOR: Time = 10 * MICROSECOND;

/// Estimate of a round-trip time.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundTrip {
    smoothed: Option<Time>,
    least: Time,
    /// The recent maximum; it decays slowly.
    longest: Time,
}

impl RoundTrip {
    /// Adds one measured round trip.
    pub fn sample(&mut self, measured: Time) {
        let measured = measured.min(CEILING);
        self.longest = measured.max(self.longest - self.longest / MEMORY);
        match &mut self.smoothed {
            None => (self.smoothed, self.least) = (Some(measured), measured),
            Some(smoothed) => {
                *smoothed = (*smoothed * 7 + measured) / 8;
                self.least = self.least.min(measured);
            }
        }
    }

    /// The smoothed time; `None` before the first sample.
    pub fn smoothed(&self) -> Option<Time> {
        self.smoothed
    }

    /// The minimum ever measured; 0 before the first sample.
    pub fn least(&self) -> Time {
        self.least
    }

    /// The retransmission timeout of a frame that has been retransmitted `tries` times without
    /// success.
    pub fn timeout(&self, asleep: bool, tries: u32) -> Time {
        let (base, floor) = match self.smoothed {
            Some(smoothed) => (
                smoothed.saturating_mul(4).max(self.longest * 2),
                if asleep { ASLEEP_FLOOR } else { AWAKE_FLOOR },
            ),
            None => (0, ASLEEP_FLOOR),
        };
        let patience = base.max(floor);
        (patience << tries.min(16)).min(CEILING.max(patience))
    }

    /// The reordering window: a frame counts as lost once another has arrived that was sent more
    /// than this much later.
    pub fn slack(&self) -> Time {
        (self.smoothed.unwrap_or(ASLEEP_FLOOR) / 4).max(10 * MICROSECOND)
    }
}

/// The newest ordered frame, which an acknowledgement echoes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Newest {
    /// Its timestamp.
    pub stamp: u32,
    /// The rail that it arrived over. The acknowledgement returns over the same rail, which may be
    /// the only one that works.
    pub rail: u8,
    /// When it arrived.
    pub at: Time,
}

/// When to acknowledge.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delay {
    newest: Option<Newest>,
    due: Option<Time>,
    frames: u32,
}

impl Delay {
    /// An ordered frame arrived. `at_once`: it leaves a gap, or is a duplicate. The acknowledgement
    /// is also due at once after `every` frames. A frame that was sent before the newest one
    /// arrived late; echoing its timestamp would make the round trip look as long as its delay.
    pub fn arrived(&mut self, newest: Newest, at_once: bool, every: u32) {
        let late = self.newest.is_some_and(|before| {
            is_older(newest.stamp, before.stamp) && newest.at < before.at + STAMPS
        });
        if !late {
            self.newest = Some(newest);
        }
        self.frames += 1;
        let latest =
            if at_once || self.frames >= every { newest.at } else { newest.at + ACKNOWLEDGE_AFTER };
        self.due = Some(self.due.map_or(latest, |due| due.min(latest)));
    }

    /// Another frame carried the acknowledgement, or the acknowledgement itself was sent.
    pub fn carried(&mut self) {
        (self.due, self.frames) = (None, 0);
    }

    /// When an acknowledgement must be sent.
    pub fn due(&self) -> Option<Time> {
        self.due
    }

    /// The frame that it echoes.
    pub fn newest(&self) -> Option<Newest> {
        self.newest
    }
}

fn is_older(stamp: u32, other: u32) -> bool {
    stamp.wrapping_sub(other) >= 1 << 31
}

/// Until when frames to a peer that sleeps (`asleep`) are held back; `None`: send them now, because
/// the peer is awake, there are enough of them, or the oldest has waited long enough.
pub fn gather_until(asleep: bool, waiting: usize, oldest: Time, now: Time) -> Option<Time> {
    let until = oldest + GATHER_FOR;
    (asleep && waiting < GATHERED && now < until).then_some(until)
}

/// The earlier of two times; `None` means never.
pub(super) fn sooner(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        _ => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_follows_the_round_trip_and_doubles() {
        let mut trip = RoundTrip::default();
        assert_eq!(trip.timeout(false, 0), ASLEEP_FLOOR, "nothing is known yet");
        trip.sample(10 * MICROSECOND);
        assert_eq!((trip.timeout(false, 0), trip.timeout(true, 0)), (AWAKE_FLOOR, ASLEEP_FLOOR));
        assert_eq!(trip.timeout(false, 3), 8 * AWAKE_FLOOR);
        assert_eq!(trip.timeout(false, 60), CEILING);
        (0..100).for_each(|_| trip.sample(MILLISECOND));
        let patience = trip.timeout(false, 0);
        assert!(patience > 3_900 * MICROSECOND && patience <= 4 * MILLISECOND, "{patience}");
        assert_eq!(trip.least(), 10 * MICROSECOND);
        (0..100).for_each(|_| trip.sample(80 * MILLISECOND));
        assert!(
            trip.timeout(false, 0) > 300 * MILLISECOND,
            "a slow way is not tried again before it can answer"
        );
        (0..100).for_each(|_| trip.sample(60 * SECOND));
        assert!(trip.timeout(true, 60) <= 4 * CEILING, "a receiver that computes is no slow way");
    }

    #[test]
    fn acknowledgements_wait_for_company_but_not_long() {
        let mut delay = Delay::default();
        let newest = |at| Newest { stamp: 1, rail: 0, at };
        assert_eq!(delay.due(), None);
        delay.arrived(newest(1000), false, 3);
        delay.arrived(newest(2000), false, 3);
        assert_eq!(delay.due(), Some(1000 + ACKNOWLEDGE_AFTER));
        delay.arrived(newest(3000), false, 3);
        assert_eq!(delay.due(), Some(3000), "a quarter of the window is full");
        delay.carried();
        delay.arrived(newest(4000), true, 3);
        assert_eq!((delay.due(), delay.newest()), (Some(4000), Some(newest(4000))));
    }

    #[test]
    fn late_frames_do_not_echo_their_stamps() {
        let mut delay = Delay::default();
        let newest = |stamp, at| Newest { stamp, rail: 0, at };
        delay.arrived(newest(5, 1000), false, 3);
        delay.arrived(newest(u32::MAX, 2000), true, 3);
        assert_eq!(delay.newest(), Some(newest(5, 1000)), "it was sent before");
        delay.arrived(newest(5, 3000), false, 3);
        assert_eq!(delay.newest(), Some(newest(5, 3000)));
        delay.arrived(newest(4, 3000 + STAMPS), false, 3);
        assert_eq!(delay.newest(), Some(newest(4, 3000 + STAMPS)), "stamps have come round");
    }

    #[test]
    fn a_sleeper_is_not_woken_for_each_frame() {
        assert_eq!(gather_until(false, 1, 0, 0), None);
        assert_eq!(gather_until(true, 1, 500, 600), Some(500 + GATHER_FOR));
        assert_eq!(gather_until(true, GATHERED, 500, 600), None);
        assert_eq!(gather_until(true, 1, 500, 500 + GATHER_FOR), None);
    }
}
