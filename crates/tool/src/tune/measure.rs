//! What a rank of `towpath tune` does: in each round of the tournament it measures with its
//! partner. The lower rank of a pair gives orders and takes the times, the other one obeys.
#![forbid(unsafe_code)]

use std::path::Path;
use std::time::{Duration, Instant};

use towpath_topology::tournament::rounds;

use super::mpi::{LONGEST, Mpi};
use super::{MOST_ROUNDS, PairFigures};

/// What the partner is to do: numbers of an order's first word; the others are a count and a length
/// of messages.
const END: u64 = 0;
/// Return each of these messages.
const RETURN: u64 = 1;
/// Receive these messages, send them, or both, and then say so.
const RECEIVE: u64 = 2;
const SEND: u64 = 3;
const BOTH: u64 = 4;

/// Length of a message for the latency, and of the one that says that an order is carried out.
const SHORT: usize = 8;
/// Length of the first message for the rate.
const FIRST: usize = 64 << 10;
/// How long a measurement of the rate should take. Messages of [`FIRST`] bytes replace longer ones
/// where one of those takes longer than this.
const SPAN: Duration = Duration::from_millis(100);
/// Maximum number of messages in a measurement of the rate.
const MOST_MESSAGES: usize = 256;
/// How often each rate is measured; the best counts.
const REPEATS: usize = 3;
/// How long the messages for the latency should take together, and how many there are.
const LATENCY_SPAN: Duration = Duration::from_millis(50);
const LATENCY_MESSAGES: std::ops::RangeInclusive<usize> = 11..=1000;

/// Measures with all partners, and prints a line for each pair that this rank leads.
///
/// # Errors
/// An error message for the user if the library cannot be used.
pub(super) fn run(library: &Path) -> Result<(), String> {
    let mut mpi = Mpi::start(library)?;
    let own = mpi.rank;
    for (one, other) in rounds(mpi.size, MOST_ROUNDS).into_iter().flatten() {
        if one == own {
            println!("{}", Leader { mpi: &mut mpi, partner: other }.figures().to_line());
        } else if other == own {
            obey(&mut mpi, one);
        }
    }
    mpi.finalize();
    Ok(())
}

/// Carries out the orders of the leader of a pair.
fn obey(mpi: &mut Mpi, leader: usize) {
    loop {
        let [order, count, bytes] = mpi.hear(leader);
        let (count, bytes) = (count as usize, bytes as usize);
        match order {
            RETURN => {
                for _ in 0..count {
                    mpi.pass(leader, bytes, 0, 1);
                    mpi.pass(leader, bytes, 1, 0);
                }
            }
            RECEIVE => mpi.pass(leader, bytes, 0, count),
            SEND => mpi.pass(leader, bytes, count, 0),
            BOTH => mpi.pass(leader, bytes, count, count),
            _ => return,
        }
        mpi.pass(leader, SHORT, 1, 0);
    }
}

/// The rank of a pair that measures.
struct Leader<'a> {
    mpi: &'a mut Mpi,
    partner: usize,
}

/// Messages of one measurement of the rate.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Load {
    count: usize,
    bytes: usize,
}

impl Load {
    /// The load that takes about [`SPAN`] at a rate in bytes per second.
    fn for_rate(rate: f64) -> Load {
        let in_span = rate * SPAN.as_secs_f64();
        let bytes = if in_span < LONGEST as f64 { FIRST } else { LONGEST };
        Load { count: ((in_span / bytes as f64) as usize).clamp(1, MOST_MESSAGES), bytes }
    }

    fn total(self) -> f64 {
        (self.count * self.bytes) as f64
    }
}

impl Leader<'_> {
    fn figures(&mut self) -> PairFigures {
        self.round_trips(3);
        let few = self.round_trips(*LATENCY_MESSAGES.start());
        let count = (LATENCY_SPAN.as_secs_f64() / few.as_secs_f64().max(1e-9)) as usize;
        let round_trip =
            self.round_trips(count.clamp(*LATENCY_MESSAGES.start(), *LATENCY_MESSAGES.end()));
        // Twice, because the first message is too short to tell much of a fast link.
        let first = self.rate(RECEIVE, Load { count: 1, bytes: FIRST }, round_trip);
        let second = self.rate(RECEIVE, Load::for_rate(first), round_trip);
        let load = Load::for_rate(second);
        let mut best = |order| {
            (0..REPEATS).map(|_| self.rate(order, load, round_trip)).fold(0.0, f64::max) as u64
        };
        let rate = best(RECEIVE).min(best(SEND)).max(1);
        let both = best(BOTH);
        self.mpi.tell(self.partner, [END, 0, 0]);
        let latency = round_trip.as_nanos() as u64 / 2;
        PairFigures { one: self.mpi.rank, other: self.partner, latency, rate, both }
    }

    /// The median time of a message and its return.
    fn round_trips(&mut self, count: usize) -> Duration {
        self.mpi.tell(self.partner, [RETURN, count as u64, SHORT as u64]);
        let mut times: Vec<Duration> = (0..count)
            .map(|_| {
                let begin = Instant::now();
                self.mpi.pass(self.partner, SHORT, 1, 0);
                self.mpi.pass(self.partner, SHORT, 0, 1);
                begin.elapsed()
            })
            .collect();
        self.mpi.pass(self.partner, SHORT, 0, 1);
        times.sort_unstable();
        times[count / 2]
    }

    /// The rate in bytes per second at which an order about these messages is carried out; of both
    /// directions together.
    fn rate(&mut self, order: u64, load: Load, round_trip: Duration) -> f64 {
        let Load { count, bytes } = load;
        let begin = Instant::now();
        self.mpi.tell(self.partner, [order, count as u64, bytes as u64]);
        let (sends, receives) =
            (if order == SEND { 0 } else { count }, if order == RECEIVE { 0 } else { count });
        self.mpi.pass(self.partner, bytes, sends, receives);
        self.mpi.pass(self.partner, SHORT, 0, 1);
        let elapsed = begin.elapsed();
        // The order and the last message take a round trip.
        let took = elapsed.saturating_sub(round_trip).max(elapsed / 4);
        let directions = if order == BOTH { 2.0 } else { 1.0 };
        directions * load.total() / took.as_secs_f64().max(1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_takes_about_the_same_time_on_any_link() {
        for (rate, count, bytes) in [
            (1e3, 1, FIRST),
            (1e6, 1, FIRST),
            (1e7, 15, FIRST),
            (1.25e8, 11, LONGEST),
            (1e11, MOST_MESSAGES, LONGEST),
        ] {
            assert_eq!(Load::for_rate(rate), Load { count, bytes }, "{rate}");
        }
    }
}
