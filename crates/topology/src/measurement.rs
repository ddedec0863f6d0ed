//! Measures the rates of the hosts' links while a job runs, and decides what follows from them.
//!
//! The leaders of the hosts meet in a few rounds of a tournament. A pair exchanges messages in both
//! directions at once, ever longer ones as long as that is quick. The slower of the two clocks
//! counts, since the quicker one may have begun when the data had arrived. After each step all
//! leaders tell each other their times, so all take the same steps and get the same result.
//!
//! A host's link is as fast as the fastest pair of which it is part: one partner with a slow link
//! does not make a host look slow. Hosts that do look slow are measured again, and the best counts:
//! a process that waits for a core can make a link look slower, but never faster.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use crate::tournament::rounds;
use crate::{DEFAULT_RATE, Figure, FigureOrigin};

/// Maximum number of partners of a host.
const PARTNERS: usize = 4;
/// Bytes of the first and the longest message of a pair, and how much longer each is than the one
/// before.
const FIRST: usize = 16 << 10;
const GROWTH: usize = 4;
/// Bytes of the longest message.
pub const LONGEST: usize = FIRST * GROWTH * GROWTH;
/// A message that takes this long is the last one of its pair.
const LONG_ENOUGH: Duration = Duration::from_millis(4);
/// How often a host is measured that looks slow.
const ATTEMPTS: usize = 3;

/// The leaders of all hosts, one process each, as one of them sees them.
pub trait Leaders {
    /// Why messages fail.
    type Error;

    /// Waits until leader `partner` calls this too, sends it so many bytes and receives as many at
    /// the same time. Returns how long that took after the wait.
    ///
    /// # Errors
    /// If the messages fail.
    fn exchange(&mut self, partner: usize, bytes: usize) -> Result<Duration, Self::Error>;

    /// Gathers a word of each leader, by number of its host.
    ///
    /// # Errors
    /// If the messages fail.
    fn gather(&mut self, word: u64) -> Result<Vec<u64>, Self::Error>;
}

/// What the ranks of a host do for each other's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cores {
    /// Each rank has a core.
    Own,
    /// Ranks share cores, so a time may include that of others.
    Shared,
}

impl Cores {
    /// A link is slow whose rate is at most the fastest one divided by this.
    fn factor(self) -> u64 {
        match self {
            Cores::Own => 2,
            Cores::Shared => 4,
        }
    }

    /// Which of these links are slow.
    fn slow(self, rates: &[u64]) -> Vec<bool> {
        let fastest = rates.iter().copied().max().unwrap_or(0);
        rates.iter().map(|&rate| rate < fastest && rate <= fastest / self.factor()).collect()
    }
}

/// Measures the links of `hosts` hosts, and returns their rates in bytes per second: the same at
/// all leaders, which must all call this. This process leads host `own`.
///
/// # Errors
/// If messages fail.
pub fn measure<L: Leaders>(
    leaders: &mut L,
    own: usize,
    hosts: usize,
    cores: Cores,
) -> Result<Vec<u64>, L::Error> {
    let mut best = vec![0; hosts];
    let mut suspects = vec![true; hosts];
    for _ in 0..ATTEMPTS {
        for mut pairs in rounds(hosts, PARTNERS) {
            pairs.retain(|&(one, other)| suspects[one] || suspects[other]);
            measure_pairs(leaders, own, pairs, &mut best)?;
        }
        suspects = cores.slow(&best);
        if !suspects.contains(&true) {
            break;
        }
    }
    Ok(best)
}

/// Returns the rates that this leader knows from before, if all leaders know the same; else
/// measures them like [`measure`].
///
/// # Errors
/// If messages fail.
pub fn known_or_measured<L: Leaders>(
    leaders: &mut L,
    own: usize,
    known: Option<Vec<u64>>,
    hosts: usize,
    cores: Cores,
) -> Result<Vec<u64>, L::Error> {
    let digests = leaders.gather(known.as_deref().map_or(0, digest))?;
    match known {
        Some(rates) if digests.iter().all(|&theirs| theirs == digests[own]) => Ok(rates),
        _ => measure(leaders, own, hosts, cores),
    }
}

/// A word that differs if the rates do; never 0. Processes of different builds may get different
/// ones for the same rates, and measure then.
fn digest(rates: &[u64]) -> u64 {
    let mut hasher = DefaultHasher::new();
    rates.hash(&mut hasher);
    hasher.finish().max(1)
}

/// Measures pairs of hosts at the same time, and keeps the best rate of each host.
fn measure_pairs<L: Leaders>(
    leaders: &mut L,
    own: usize,
    mut pairs: Vec<(usize, usize)>,
    best: &mut [u64],
) -> Result<(), L::Error> {
    let mut bytes = FIRST;
    while !pairs.is_empty() {
        let partner = pairs.iter().find_map(|&(one, other)| match own {
            own if own == one => Some(other),
            own if own == other => Some(one),
            _ => None,
        });
        let took =
            partner.map_or(Ok(Duration::ZERO), |partner| leaders.exchange(partner, bytes))?;
        let times = leaders.gather(took.as_nanos() as u64)?;
        pairs.retain(|&(one, other)| {
            let took = times[one].max(times[other]).max(1);
            let goes_on = bytes < LONGEST && took < LONG_ENOUGH.as_nanos() as u64;
            if !goes_on {
                let rate = (bytes as u64).saturating_mul(1_000_000_000) / took;
                [one, other].into_iter().for_each(|host| best[host] = best[host].max(rate.max(1)));
            }
            goes_on
        });
        bytes *= GROWTH;
    }
    Ok(())
}

/// True if the rate of one of these links is stated by nobody, so that measuring them can tell
/// something.
pub fn is_useful(assumed: &[Figure<u64>]) -> bool {
    assumed.iter().any(|figure| figure.origin < FigureOrigin::Measured)
}

/// True if what calls have achieved over the hosts' links does not fit what is assumed, both in
/// bytes per second by host, so that the links should be measured again. A call also waits for its
/// ranks, so a lower rate alone proves nothing.
pub fn is_doubtful(observed: &[u64], assumed: &[u64], cores: Cores) -> bool {
    let is_doubtful =
        |(&seen, &rate): (&u64, &u64)| seen / 2 > rate || seen <= rate / cores.factor();
    observed.iter().zip(assumed).any(is_doubtful)
}

/// The rates to assume after a measurement, by host, from those that were assumed before, of which
/// the ones of origin [`FigureOrigin::Default`] have no meaning.
///
/// What a topology file states is not changed. A slow link has the rate that was measured for it.
/// The others differ by chance, so they get one rate: that of the fastest, if it is clearly below
/// what the systems report, and if ranks do not share cores. Otherwise the reports stand. No rate
/// is above what the system reports.
pub fn corrected(measured: &[u64], assumed: &[Figure<u64>], cores: Cores) -> Vec<Figure<u64>> {
    let slow = cores.slow(measured);
    let fastest = measured.iter().copied().max().unwrap_or(0);
    let reported = |figure: &&Figure<u64>| figure.origin == FigureOrigin::System;
    let most = assumed.iter().filter(reported).map(|figure| figure.value).max();
    let is_clear = cores == Cores::Own && fastest <= most.unwrap_or(0) / cores.factor();
    let usual = if is_clear { fastest } else { fastest.max(most.unwrap_or(DEFAULT_RATE)) };
    let rate = |(host, before): (usize, &Figure<u64>)| {
        let value = if slow[host] { measured[host] } else { usual };
        match before.origin {
            FigureOrigin::System if before.value <= value => *before,
            FigureOrigin::System | FigureOrigin::Default => {
                Figure { value, origin: FigureOrigin::Measured }
            }
            _ => *before,
        }
    };
    assumed.iter().enumerate().map(rate).collect()
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::{Barrier, Mutex};
    use std::thread;

    use super::*;

    const MEGABYTE: u64 = 1_000_000;

    /// Hosts whose links have these rates. All leaders meet at the barrier.
    struct FakeNetwork {
        rates: Vec<u64>,
        /// How much longer an exchange takes than the links need: by attempt of a leader, and host.
        delay: fn(usize, usize) -> Duration,
        words: Mutex<Vec<u64>>,
        /// What each leader exchanges in this step.
        exchanges: Mutex<Vec<Option<(usize, usize)>>>,
        barrier: Barrier,
    }

    struct FakeLeader<'a> {
        network: &'a FakeNetwork,
        own: usize,
        exchanges: usize,
        spent: Duration,
    }

    impl Leaders for FakeLeader<'_> {
        type Error = Infallible;

        fn exchange(&mut self, partner: usize, bytes: usize) -> Result<Duration, Infallible> {
            let FakeNetwork { rates, delay, exchanges, .. } = self.network;
            exchanges.lock().unwrap()[self.own] = Some((partner, bytes));
            let rate = rates[self.own].min(rates[partner]);
            let alone = Duration::from_secs_f64(50e-6 + bytes as f64 / rate as f64);
            let took = alone + delay(self.exchanges, self.own);
            self.exchanges += 1;
            self.spent += took;
            Ok(took)
        }

        fn gather(&mut self, word: u64) -> Result<Vec<u64>, Infallible> {
            let FakeNetwork { words, exchanges, barrier, .. } = self.network;
            words.lock().unwrap()[self.own] = word;
            barrier.wait();
            let all = words.lock().unwrap().clone();
            let partner_of = exchanges.lock().unwrap().clone();
            if let Some((partner, bytes)) = partner_of[self.own] {
                assert_eq!(partner_of[partner], Some((self.own, bytes)));
            }
            barrier.wait();
            exchanges.lock().unwrap()[self.own] = None;
            barrier.wait();
            Ok(all)
        }
    }

    /// What the leaders measure, and the longest time that one has exchanged messages.
    fn measured(rates: &[u64], delay: fn(usize, usize) -> Duration) -> (Vec<u64>, Duration) {
        found(rates, delay, |_| None)
    }

    /// The same where each leader may know something, by host.
    fn found(
        rates: &[u64],
        delay: fn(usize, usize) -> Duration,
        known: impl Fn(usize) -> Option<Vec<u64>> + Sync,
    ) -> (Vec<u64>, Duration) {
        let hosts = rates.len();
        let network = FakeNetwork {
            rates: rates.to_vec(),
            delay,
            words: Mutex::new(vec![0; hosts]),
            exchanges: Mutex::new(vec![None; hosts]),
            barrier: Barrier::new(hosts),
        };
        let lead = |own| {
            let mut leader =
                FakeLeader { network: &network, own, exchanges: 0, spent: Duration::ZERO };
            let Ok(rates) = known_or_measured(&mut leader, own, known(own), hosts, Cores::Own);
            (rates, leader.spent)
        };
        let results: Vec<_> = thread::scope(|scope| {
            let lead = &lead;
            let leaders: Vec<_> = (0..hosts).map(|own| scope.spawn(move || lead(own))).collect();
            leaders.into_iter().map(|leader| leader.join().unwrap()).collect()
        });
        assert!(results.iter().all(|(rates, _)| *rates == results[0].0), "leaders disagree");
        let longest = results.iter().map(|(_, spent)| *spent).max().unwrap();
        (results[0].0.clone(), longest)
    }

    fn at_once(_: usize, _: usize) -> Duration {
        Duration::ZERO
    }

    #[test]
    fn a_slow_host_is_found_wherever_it_is() {
        for hosts in [3, 4, 5, 8, 9] {
            for slow in 0..hosts {
                let mut rates = vec![1250 * MEGABYTE; hosts];
                rates[slow] = 12 * MEGABYTE;
                let (found, spent) = measured(&rates, at_once);
                let expected: Vec<bool> = (0..hosts).map(|host| host == slow).collect();
                assert_eq!(Cores::Shared.slow(&found), expected, "{found:?}");
                assert!(found[slow].abs_diff(12 * MEGABYTE) < MEGABYTE, "{found:?}");
                assert!(spent < Duration::from_millis(200), "{spent:?}");
            }
        }
    }

    #[test]
    fn slow_hosts_do_not_make_others_look_slow() {
        let rates = [1250, 12, 12, 1250, 1250, 1250].map(|rate| rate * MEGABYTE);
        let found = Cores::Own.slow(&measured(&rates, at_once).0);
        assert_eq!(found, [false, true, true, false, false, false]);
    }

    #[test]
    fn it_takes_milliseconds_on_fast_links_and_is_bounded_on_slow_ones() {
        let time = |rate| measured(&[rate; 8], at_once).1;
        assert!(time(1250 * MEGABYTE) < Duration::from_millis(3));
        assert!(time(125 * MEGABYTE) < Duration::from_millis(15));
        assert!(time(MEGABYTE) < Duration::from_millis(100));
        let one_of = |rate| measured(&[125 * MEGABYTE, 125 * MEGABYTE, rate], at_once).1;
        assert!(one_of(MEGABYTE) < Duration::from_millis(200));
    }

    #[test]
    fn what_all_leaders_know_is_not_measured_again() {
        let (links, before) = ([1250 * MEGABYTE; 4], vec![90, 12, 90, 90]);
        let known = found(&links, at_once, |_| Some(before.clone()));
        assert_eq!(known, (before.clone(), Duration::ZERO));
        let one_knows_nothing = |own| (own != 2).then(|| before.clone());
        let one_knows_another = |own| Some(vec![90, 12, 90, if own == 2 { 80 } else { 90 }]);
        for rates in [
            found(&links, at_once, one_knows_nothing).0,
            found(&links, at_once, one_knows_another).0,
        ] {
            assert!(rates.iter().all(|&rate| rate > 100 * MEGABYTE), "{rates:?}");
        }
    }

    #[test]
    fn a_process_that_waits_for_a_core_now_and_then_does_not_look_slow() {
        let delay = |exchange: usize, host: usize| {
            let random =
                (exchange as u64 * 64 + host as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            Duration::from_micros((random >> 40) % 12_000).saturating_sub(Duration::from_millis(6))
        };
        let (found, _) = measured(&[1250 * MEGABYTE; 8], delay);
        assert!(!Cores::Own.slow(&found).contains(&true), "{found:?}");
    }

    fn figures(origin: FigureOrigin, values: &[u64]) -> Vec<Figure<u64>> {
        values.iter().map(|&value| Figure { value, origin }).collect()
    }

    #[test]
    fn equal_links_stay_as_reported() {
        let reported = figures(FigureOrigin::System, &[100; 4]);
        for cores in [Cores::Own, Cores::Shared] {
            assert_eq!(corrected(&[60, 80, 70, 90], &reported, cores), reported);
        }
        // Where ranks share cores, even if all are slower.
        assert_eq!(corrected(&[10, 8, 7, 9], &reported, Cores::Shared), reported);
        let slower = figures(FigureOrigin::Measured, &[10; 4]);
        assert_eq!(corrected(&[10, 8, 7, 9], &reported, Cores::Own), slower);
    }

    #[test]
    fn a_slow_link_has_its_measured_rate() {
        let rates = |origin, values: &[u64], cores| -> Vec<u64> {
            let found = corrected(&[60, 80, 20, 90], &figures(origin, values), cores);
            found.iter().map(|figure| figure.value).collect()
        };
        let shared = Cores::Shared;
        assert_eq!(rates(FigureOrigin::System, &[100; 4], shared), [100, 100, 20, 100]);
        assert_eq!(rates(FigureOrigin::System, &[100, 100, 10, 10], shared), [100, 100, 10, 10]);
        assert_eq!(rates(FigureOrigin::System, &[1000; 4], Cores::Own), [90, 90, 20, 90]);
        assert_eq!(rates(FigureOrigin::File, &[7; 4], shared), [7; 4]);
        let unknown = rates(FigureOrigin::Default, &[0; 4], shared);
        assert_eq!(unknown, [DEFAULT_RATE, DEFAULT_RATE, 20, DEFAULT_RATE]);
    }

    #[test]
    fn rates_that_do_not_fit_are_measured_again() {
        let is_doubtful = |observed: &[u64]| is_doubtful(observed, &[100, 10], Cores::Own);
        assert!(!is_doubtful(&[90, 8]) && !is_doubtful(&[51, 20]));
        assert!(is_doubtful(&[50, 8]) && is_doubtful(&[90, 22]) && is_doubtful(&[90, 5]));
    }

    #[test]
    fn what_a_file_states_needs_no_measurement() {
        assert!(!is_useful(&figures(FigureOrigin::File, &[1, 2])));
        assert!(is_useful(&figures(FigureOrigin::System, &[1, 2])));
        assert!(is_useful(&figures(FigureOrigin::Default, &[0])));
    }
}
