//! A seeded wire between the interfaces of a few hosts: it drops, duplicates, delays and reorders
//! frames, replays old ones, and injects forged ones. Time is a number.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use towpath_clic::Time;

/// Splitmix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }
    pub(crate) fn chance(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }
}

/// Behaviour of a wire; probabilities per mille, times in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Temper {
    pub(crate) lose: u64,
    pub(crate) double: u64,
    pub(crate) late: u64,
    pub(crate) replay: u64,
    pub(crate) forge: u64,
    pub(crate) delay: Time,
    pub(crate) jitter: Time,
    /// Nanoseconds per byte on each rail, times 16; 0: no delay.
    pub(crate) byte: [u64; 3],
    /// Maximum queueing delay of a slow rail.
    pub(crate) queue: Time,
}

struct Flight {
    at: Time,
    number: u64,
    to: usize,
    rail: u8,
    bytes: Vec<u8>,
}

impl PartialEq for Flight {
    fn eq(&self, other: &Flight) -> bool {
        (self.at, self.number) == (other.at, other.number)
    }
}
impl Eq for Flight {}
impl PartialOrd for Flight {
    fn partial_cmp(&self, other: &Flight) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Flight {
    fn cmp(&self, other: &Flight) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

pub(crate) struct Wire {
    pub(crate) temper: Temper,
    pub(crate) random: Random,
    pub(crate) down: [bool; 3],
    /// Hosts that are switched off.
    pub(crate) dead: Vec<usize>,
    pub(crate) frames: u64,
    pub(crate) bytes: [u64; 3],
    flights: BinaryHeap<Reverse<Flight>>,
    busy: HashMap<(usize, usize, u8), Time>,
    old: VecDeque<(usize, u8, Vec<u8>)>,
}

impl Wire {
    pub(crate) fn new(temper: Temper, seed: u64) -> Wire {
        let (flights, busy, old) = (BinaryHeap::new(), HashMap::new(), VecDeque::new());
        Wire {
            temper,
            random: Random(seed),
            down: [false; 3],
            dead: vec![],
            frames: 0,
            bytes: [0; 3],
            flights,
            busy,
            old,
        }
    }

    /// Returns false if the queue of the interface is full.
    pub(crate) fn send(
        &mut self,
        now: Time,
        from: usize,
        to: usize,
        rail: u8,
        bytes: Vec<u8>,
    ) -> bool {
        let temper = self.temper;
        let per_byte = temper.byte[usize::from(rail)];
        let mut gone = now;
        if per_byte > 0 {
            let busy = self.busy.entry((from, to, rail)).or_default();
            if busy.saturating_sub(now) > temper.queue {
                return false;
            }
            *busy = now.max(*busy) + bytes.len() as u64 * per_byte / 16;
            gone = *busy;
        }
        self.frames += 1;
        self.bytes[usize::from(rail)] += bytes.len() as u64;
        let away = self.dead.contains(&to) || self.dead.contains(&from);
        if self.down[usize::from(rail)] || away || self.random.chance(temper.lose) {
            return true;
        }
        if temper.replay > 0 {
            self.remember(gone, to, rail, &bytes);
        }
        if self.random.chance(temper.forge) {
            self.forge(gone, to, rail, &bytes);
        }
        if self.random.chance(temper.double) {
            self.deliver(gone, to, rail, bytes.clone());
        }
        self.deliver(gone, to, rail, bytes);
        true
    }

    fn deliver(&mut self, gone: Time, to: usize, rail: u8, bytes: Vec<u8>) {
        let Temper { delay, jitter, late, .. } = self.temper;
        let mut at = gone + delay * (u64::from(rail) + 1) + self.random.below(jitter + 1);
        if self.random.chance(late) {
            at += self.random.below(20 * (delay + jitter) + 1);
        }
        let number = self.random.next() >> 40 << 40 | self.frames;
        // Without jitter, order is preserved.
        let number = if jitter == 0 { self.frames } else { number };
        self.flights.push(Reverse(Flight { at, number, to, rail, bytes }));
    }

    /// Records a frame, and occasionally replays an old one.
    fn remember(&mut self, gone: Time, to: usize, rail: u8, bytes: &[u8]) {
        if self.random.chance(100) {
            self.old.push_back((to, rail, bytes.to_vec()));
        }
        if self.old.len() > 3000 {
            self.old.pop_front();
        }
        if self.random.chance(self.temper.replay) && !self.old.is_empty() {
            let index = self.random.below(self.old.len() as u64) as usize;
            let (to, rail, bytes) = self.old[index].clone();
            self.deliver(gone, to, rail, bytes);
        }
    }

    /// Flips bits of a header, or sends a stranger's random bytes. (Message bytes are not
    /// protected: that is left to the frame check sequence of the wire.)
    fn forge(&mut self, gone: Time, to: usize, rail: u8, bytes: &[u8]) {
        let mut bytes = bytes.to_vec();
        match self.random.below(3) {
            0 => bytes = (0..self.random.below(100)).map(|_| self.random.next() as u8).collect(),
            1 => bytes.truncate(self.random.below(bytes.len() as u64) as usize),
            _ => {
                let at = self.random.below(32) as usize;
                bytes[at] ^= 1 << self.random.below(8);
            }
        }
        self.deliver(gone, to, rail, bytes);
    }

    /// When the next frame arrives.
    pub(crate) fn next(&self) -> Option<Time> {
        self.flights.peek().map(|Reverse(flight)| flight.at)
    }

    pub(crate) fn take(&mut self) -> Option<(Time, usize, u8, Vec<u8>)> {
        self.flights.pop().map(|Reverse(flight)| (flight.at, flight.to, flight.rail, flight.bytes))
    }
}
