//! Bonding: the rails between two hosts. A rail pairs an interface of one host with an interface of
//! the other; both hosts number the rails alike.
//!
//! Small frames take the rail with the shortest round trip. Blocks of bulk data take the rail with
//! the earliest estimated completion, given its outstanding bytes and its measured speed, so
//! unequal links get unequal shares. Every arrival and every loss of a block or frame is reported
//! here. A rail that fails three times in succession is down until it answers a probe. If all rails
//! are down, the one with the fewest failures is tried, so they take turns.

#![forbid(unsafe_code)]

use super::Time;
use super::timer::{MILLISECOND, RoundTrip, SECOND, sooner};

/// Maximum number of rails of a peer.
pub const MOST_RAILS: usize = 4;

/// Number of successive losses after which a rail is down.
const PATIENCE: u32 = 3;

/// Interval over which the speed of a rail is measured.
const MEASURED_OVER: Time = MILLISECOND;

/// Assumed speed of a link that reports none, in bytes per second.
const MODEST: u64 = 125_000_000;

/// What is known about a rail in advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RailLink {
    /// Longest body of a frame in bytes: the MTU less the header (and less those of IP and UDP, if
    /// frames are sent over them).
    pub payload: u16,
    /// Nominal speed of the slower end in bytes per second; 0 if unknown.
    pub speed: u64,
}

#[derive(Clone, Copy, Debug)]
struct Rail {
    link: RailLink,
    up: bool,
    misses: u32,
    /// When the last frame was sent or received that decided the state of the rail; older frames
    /// carry no new information.
    judged: Time,
    trip: RoundTrip,
    bulk: RoundTrip,
    owes: u64,
    speed: u64,
    /// Since when bytes have been arriving without a pause. `came` counts the bytes after the first
    /// arrival.
    coming_since: Option<Time>,
    came: u64,
    probe_at: Time,
    probes: u32,
}

/// The rails to one peer.
#[derive(Debug)]
pub struct Rails {
    rails: Vec<Rail>,
}

impl Rails {
    /// Creates one to [`MOST_RAILS`] rails; further links are not used.
    ///
    /// # Panics
    /// If `links` is empty.
    pub fn new(links: &[RailLink]) -> Rails {
        let rail = |link: &RailLink| Rail {
            link: *link,
            up: true,
            misses: 0,
            judged: 0,
            trip: RoundTrip::default(),
            bulk: RoundTrip::default(),
            owes: 0,
            speed: if link.speed > 0 { link.speed } else { MODEST },
            coming_since: None,
            came: 0,
            probe_at: 0,
            probes: 0,
        };
        assert!(!links.is_empty(), "a peer without a rail cannot be reached");
        Rails { rails: links.iter().take(MOST_RAILS).map(rail).collect() }
    }

    /// The number of rails.
    pub fn count(&self) -> u8 {
        self.rails.len() as u8
    }

    /// Longest body that this rail carries.
    pub fn payload(&self, rail: u8) -> usize {
        usize::from(self.rails[usize::from(rail)].link.payload)
    }

    /// Longest body that every rail carries: a frame of this size can be retransmitted over any of
    /// them.
    pub fn least_payload(&self) -> usize {
        self.rails.iter().map(|rail| usize::from(rail.link.payload)).min().unwrap_or(0)
    }

    /// True while the rail is considered working.
    pub fn is_up(&self, rail: u8) -> bool {
        self.rails[usize::from(rail)].up
    }

    /// The round trip of small frames over the best rail.
    pub fn trip(&self) -> &RoundTrip {
        &self.rails[usize::from(self.best())].trip
    }

    /// The round trip from request to answer of bulk over this rail.
    pub fn bulk(&self, rail: u8) -> &RoundTrip {
        &self.rails[usize::from(rail)].bulk
    }

    /// The rail for small frames.
    #[inline]
    pub fn best(&self) -> u8 {
        if self.rails.len() == 1 {
            return 0;
        }
        self.least(|rail| rail.trip.smoothed().unwrap_or(Time::MAX))
    }

    /// The best rail other than this one, on which a frame was lost; without another rail that is
    /// up, the best rail.
    pub fn other_than(&self, rail: u8) -> u8 {
        let others = self
            .rails
            .iter()
            .enumerate()
            .filter(|(index, other)| *index != usize::from(rail) && other.up);
        let best = others.min_by_key(|(_, other)| other.trip.smoothed().unwrap_or(Time::MAX));
        best.map_or_else(|| self.best(), |(index, _)| index as u8)
    }

    /// The rail with the earliest estimated completion of `length` further bytes.
    pub fn for_block(&self, length: u64, now: Time) -> u8 {
        if self.rails.len() == 1 {
            return 0;
        }
        self.least(|rail| {
            // The propagation delay alone: queued bytes are already counted in `owes`.
            let trip = rail.trip.smoothed().map_or(100 * MILLISECOND, |_| rail.trip.least());
            let busy = (rail.owes + length).saturating_mul(SECOND) / rail.speed.max(1);
            now.saturating_add(trip).saturating_add(busy)
        })
    }

    /// The rail that is up and has the least `figure`; if none is up, the rail with the fewest
    /// failures.
    fn least(&self, figure: impl Fn(&Rail) -> Time) -> u8 {
        let judge = |(_, rail): &(usize, &Rail)| match rail.up {
            true => (0, figure(rail), rail.misses),
            false => (1, Time::from(rail.misses), 0),
        };
        self.rails.iter().enumerate().min_by_key(judge).map_or(0, |(index, _)| index as u8)
    }

    /// A frame sent at `sent` was not answered in time. Returns true if this takes the rail down.
    pub fn missed(&mut self, rail: u8, sent: Time, now: Time) -> bool {
        let others = self.rails.len() > 1;
        let rail = &mut self.rails[usize::from(rail)];
        if sent < rail.judged {
            return false;
        }
        rail.judged = now;
        rail.misses = rail.misses.saturating_add(1);
        let falls = others && rail.up && rail.misses >= PATIENCE;
        if falls {
            (rail.up, rail.probes, rail.probe_at) = (false, 0, now);
        }
        falls
    }

    /// The local interface of the rail accepts no frames: the rail is down at once, unless it is
    /// the only one.
    pub fn fails(&mut self, rail: u8, now: Time) {
        let others = self.rails.len() > 1;
        let failed = self.rails.get_mut(usize::from(rail)).filter(|rail| others && rail.up);
        if let Some(rail) = failed {
            (rail.up, rail.judged, rail.misses) = (false, now, PATIENCE);
            (rail.probes, rail.probe_at) = (0, now);
        }
    }

    /// The rail has carried a frame. This does not bring up a rail that is down; only an answer to
    /// a probe does.
    pub fn works(&mut self, rail: u8, now: Time) {
        let rail = &mut self.rails[usize::from(rail)];
        if rail.up {
            (rail.misses, rail.judged) = (0, now);
        }
    }

    /// Adds a measured round trip of a small frame over this rail.
    pub fn sample(&mut self, rail: u8, measured: Time, now: Time) {
        self.rails[usize::from(rail)].trip.sample(measured);
        self.works(rail, now);
    }

    /// A probe was answered.
    pub fn answered(&mut self, rail: u8, measured: Time, now: Time) {
        self.rails[usize::from(rail)].up = true;
        self.sample(rail, measured, now);
    }

    /// A rail to probe now: it is down, or has not been measured yet.
    pub fn probe(&self, now: Time) -> Option<u8> {
        self.rails
            .iter()
            .position(|rail| rail.wants_probe() && rail.probe_at <= now)
            .map(|rail| rail as u8)
    }

    /// A probe has been sent.
    pub fn probed(&mut self, rail: u8, now: Time) {
        let rail = &mut self.rails[usize::from(rail)];
        rail.probe_at = now + ((10 * MILLISECOND) << rail.probes.min(10)).min(SECOND);
        rail.probes += 1;
    }

    /// When the next probe is due.
    pub fn next_probe(&self) -> Option<Time> {
        self.rails
            .iter()
            .filter(|rail| rail.wants_probe())
            .map(|rail| rail.probe_at)
            .fold(None, |a, b| sooner(a, Some(b)))
    }

    /// `bytes` bytes have been requested over this rail.
    pub fn asked(&mut self, rail: u8, bytes: u64) {
        self.rails[usize::from(rail)].owes += bytes;
    }

    /// `bytes` bytes are no longer expected over this rail.
    pub fn release(&mut self, rail: u8, bytes: u64) {
        let rail = &mut self.rails[usize::from(rail)];
        rail.owes = rail.owes.saturating_sub(bytes);
        if rail.owes == 0 {
            rail.coming_since = None;
        }
    }

    /// `bytes` bytes of bulk arrived over this rail. Its speed is measured over an interval,
    /// because frames arrive in batches.
    pub fn came(&mut self, rail: u8, bytes: u64, now: Time) {
        let (number, rail) = (rail, &mut self.rails[usize::from(rail)]);
        match rail.coming_since {
            None => (rail.coming_since, rail.came) = (Some(now), 0),
            Some(since) => {
                rail.came += bytes;
                if now >= since + MEASURED_OVER {
                    let measured = rail.came.saturating_mul(SECOND) / (now - since);
                    rail.speed =
                        (rail.speed.saturating_mul(3).saturating_add(measured) / 4).max(1_000);
                    (rail.coming_since, rail.came) = (Some(now), 0);
                }
            }
        }
        self.release(number, bytes);
    }

    /// Adds the time from a request to its answer.
    pub fn bulk_sample(&mut self, rail: u8, measured: Time) {
        self.rails[usize::from(rail)].bulk.sample(measured);
    }
}

impl Rail {
    fn wants_probe(&self) -> bool {
        !self.up || self.trip.smoothed().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::super::timer::MICROSECOND;
    use super::*;

    fn rails(speeds: &[u64]) -> Rails {
        Rails::new(
            &speeds
                .iter()
                .map(|speed| RailLink { payload: 1468, speed: *speed })
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn small_frames_take_the_rail_that_answers_soonest() {
        let mut rails = rails(&[0, 0, 0]);
        assert_eq!(rails.best(), 0);
        rails.sample(2, 9_000, 0);
        assert_eq!(rails.best(), 2, "the others are not measured");
        rails.sample(1, 5_000, 0);
        assert_eq!(rails.best(), 1);
    }

    #[test]
    fn blocks_are_shared_out_by_speed() {
        let mut rails = rails(&[300_000_000, 100_000_000]);
        let mut blocks = [0; 2];
        (0..2).for_each(|rail| rails.sample(rail, 10_000, 0));
        for _ in 0..40 {
            let rail = rails.for_block(65_536, 0);
            rails.asked(rail, 65_536);
            blocks[usize::from(rail)] += 1;
        }
        assert_eq!(blocks, [30, 10]);
        // The second turns out to be as fast as the first.
        rails.release(0, u64::MAX);
        rails.release(1, u64::MAX);
        for index in 1..100 {
            let now = index * 218 * MICROSECOND;
            (0..2).for_each(|rail| rails.asked(rail, 2 * 65_536));
            (0..2).for_each(|rail| rails.came(rail, 65_536, now));
        }
        (0..2).for_each(|rail| rails.release(rail, u64::MAX));
        let rail = rails.for_block(65_536, 0);
        rails.asked(rail, 65_536);
        assert_ne!(rails.for_block(65_536, 0), rail);
    }

    #[test]
    fn a_dead_rail_is_left_and_comes_back_by_a_probe() {
        let mut rails = rails(&[0, 0]);
        rails.sample(0, 1_000, 0);
        rails.sample(1, 2_000, 0);
        assert_eq!((rails.best(), rails.next_probe()), (0, None));
        assert!(!rails.missed(0, 10, 100));
        assert!(!rails.missed(0, 20, 110), "sent before the last verdict: the same loss");
        assert!(!rails.missed(0, 100, 200));
        rails.works(0, 250);
        assert!(!rails.missed(0, 300, 400) && !rails.missed(0, 400, 500));
        assert!(rails.missed(0, 500, 600) && !rails.missed(0, 600, 700));
        assert_eq!((rails.best(), rails.for_block(1, 0)), (1, 1));
        rails.works(0, 800);
        assert!(!rails.is_up(0), "an old frame proves nothing");
        assert_eq!(rails.probe(800), Some(0));
        rails.probed(0, 800);
        assert_eq!((rails.probe(900), rails.next_probe()), (None, Some(800 + 10 * MILLISECOND)));
        rails.answered(0, 1_000, 1_000);
        assert_eq!((rails.best(), rails.next_probe()), (0, None));
    }

    #[test]
    fn a_rail_whose_interface_refuses_frames_is_left_at_once() {
        let mut rails = rails(&[0, 0]);
        rails.sample(0, 1_000, 0);
        rails.sample(1, 2_000, 0);
        rails.fails(0, 10);
        rails.fails(9, 10);
        assert_eq!((rails.best(), rails.for_block(1, 10), rails.probe(10)), (1, 1, Some(0)));
        rails.answered(0, 1_000, 20);
        assert_eq!(rails.best(), 0);
    }

    #[test]
    fn when_all_are_down_they_take_turns() {
        let mut rails = rails(&[0, 0]);
        for time in 0..3 {
            rails.missed(0, time, time);
            rails.missed(1, time, time);
        }
        let first = rails.best();
        rails.missed(first, 10, 10);
        assert_ne!(rails.best(), first);
    }

    #[test]
    fn one_rail_alone_is_never_given_up() {
        let mut rails = rails(&[0]);
        assert!((0..100).all(|time| !rails.missed(0, time, time)));
        assert!(rails.is_up(0));
    }
}
