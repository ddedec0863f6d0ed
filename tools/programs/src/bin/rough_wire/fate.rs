//! The fate of a frame: a function of the seed, the port and the number of the frame.

use std::time::Duration;

/// Minimum and maximum delay of a late frame: it arrives after the frames that follow it, and
/// before a retransmission.
const SOONEST: Duration = Duration::from_micros(30);
const LATEST: Duration = Duration::from_micros(1000);

/// Percentage of frames that each fault affects.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Percentages {
    pub(crate) loss: f64,
    pub(crate) duplicate: f64,
    pub(crate) reorder: f64,
}

/// The fate of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fate {
    pub(crate) lost: bool,
    /// Additional delay of the frame.
    pub(crate) late: Option<Duration>,
    /// A duplicate, with this additional delay (possibly zero).
    pub(crate) again: Option<Duration>,
}

/// The sequence of fates for the frames of one port.
#[derive(Debug)]
pub(crate) struct Fates {
    state: u64,
    percentages: Percentages,
}

impl Fates {
    pub(crate) fn new(seed: u64, port: usize, percentages: Percentages) -> Fates {
        let mut fates = Fates { state: seed, percentages };
        fates.state = fates.next().wrapping_add(port as u64);
        fates.next();
        fates
    }

    /// Vigna's splitmix64 generator.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn happens(&mut self, percentage: f64) -> bool {
        let part = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        part * 100.0 < percentage
    }

    fn delay(&mut self) -> Duration {
        let span = (LATEST - SOONEST).as_nanos() as u64;
        SOONEST + Duration::from_nanos(self.next() % span)
    }

    /// The fate of the next frame. Advances the generator by the same number of steps for every
    /// frame.
    pub(crate) fn draw(&mut self) -> Fate {
        let Percentages { loss, duplicate, reorder } = self.percentages;
        let (lost, doubled, late) =
            (self.happens(loss), self.happens(duplicate), self.happens(reorder));
        let (delay, further, at_once) = (self.delay(), self.delay(), self.happens(50.0));
        let again = if at_once { Duration::ZERO } else { further };
        Fate { lost, late: late.then_some(delay), again: doubled.then_some(again) }
    }
}
