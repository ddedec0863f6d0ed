//! How a sender writes payload that another core will read: by ordinary stores, by the processor's
//! string instruction, or past the caches.
//!
//! An ordinary store to a line that the reader still holds first has to take it away from the
//! reader's cache. Between cores that share a cache this costs little. Between cores of different
//! complexes or sockets each line costs a round trip over the fabric, and stores past the caches,
//! which need no ownership, are two to three times as fast (EPYC 7003: 64 KiB in 5.4 instead of 16
//! us). Some processors do without the round trip in `rep movsb` too, and leave the bytes in a
//! cache (EPYC 9005 across complexes: 64 KiB in 2.8 us, past the caches 3.0, by ordinary stores
//! 9.0; on two threads of one core 1.1, 2.9 and 1.3). Which is best depends on processor and
//! placement, so all are timed where they are used.
//!
//! The state of the lines is part of the cost. Lines that nobody has read yet, and lines that
//! stores past the caches have left in memory, are quick for ordinary stores. So nothing is timed
//! in the first lap, the first walk through the memory that the sender uses in turn, and after
//! stores past the caches the other ways run for a lap before they are timed. What a trial shows
//! holds for all lengths that have had none.

use towpath_base::transfer::{Source, Step};

use crate::streamed;
use towpath_transport::ticks::ticks;
use towpath_transport::{ahead, copy};

/// Rows below this length are not worth the fence of streamed stores.
const SHORTEST_LOG: u32 = 11;
/// Lengths that are told apart: 2 to 4 KiB, 4 to 8 KiB, 8 to 16 KiB, and more.
const SIZES: usize = 4;

/// Copies that are timed of each way. Their median counts: where the memory grows, some go to lines
/// that nobody has read.
const TIMED: usize = 15;
/// Copies in each way where the lines are as they will be.
const SHORT: u32 = 32;
/// Laps between the end of a trial and the beginning of the next one: first, and most, when one
/// after the other has had the same outcome.
const REST: u32 = 4;
const LONGEST_REST: u32 = 256;
/// The same where stores past the caches were chosen, which nothing watches.
const LONGEST_STREAMED: u32 = 64;

/// Between trials one copy in so many is timed, unless it is streamed. A process has moved to
/// another core, and a trial begins at once, where all of so many of them take less than half of
/// the time that the trial found, or all more than twice as long. Streamed copies do not tell: they
/// take the same time everywhere.
const WATCHED: u32 = 32;
const SAMPLES: u32 = 8;
const CHANGE: u64 = 2;

/// How many times as quick streamed stores must be. Cores of one complex show 0.5 to 2.8, of two 5
/// to 20.
const GAIN: u64 = 4;
/// Packers store a few bytes at a time, as ordinary stores do. Where those take so many times as
/// long as the best way, packers pack into private memory.
const ASIDE: u64 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Ordinary,
    String,
    Streamed,
}

/// All ways, in the order in which a trial takes them, a stretch of copies for each.
const ALL: &[Way] = &[Way::Ordinary, Way::String, Way::Streamed];
/// Those that leave the bytes in a cache.
const CACHED: &[Way] = &[Way::Ordinary, Way::String];

/// The choice for rows of one size class.
#[derive(Clone, Copy, Debug)]
struct Choice {
    way: Way,
    /// Whether packers should not write to shared memory themselves.
    aside: bool,
    /// Copies in which one way reaches its steady state and is timed.
    lap: u32,
    /// The ways of the next trial, and the copies in each.
    tried: &'static [Way],
    stretch: u32,
    /// Copies left until that ends.
    left: u32,
    /// Laps until the next trial.
    rest: u32,
    /// Where the last copy went, in the first lap; `usize::MAX` after it.
    last: usize,
    /// Ticks of each timed copy in the way under trial, as if it had 64 KiB.
    timed: [u32; TIMED],
    /// The medians of all ways.
    medians: [u64; ALL.len()],
    /// The median of the better way that leaves the bytes in a cache, in the last trial.
    found: u64,
    /// The quickest and the slowest of the `samples` since.
    lately: [u64; 2],
    samples: u32,
}

/// The choices towards each reader, by local rank.
#[derive(Debug)]
pub(crate) struct Stores {
    readers: Vec<[Choice; SIZES]>,
    /// By reader: whether ordinary stores took much longer than others in the latest trial.
    far: Vec<bool>,
    /// Where packers pack what is then stored in another way: those are quick for whole lines only.
    packed: Vec<u8>,
}

impl Stores {
    /// For a sender that walks round `walk` bytes.
    pub(crate) fn new(readers: usize, walk: usize) -> Stores {
        let rows = |size| (walk >> (SHORTEST_LOG as usize + size)) as u32;
        let choices = std::array::from_fn(|size| Choice::new(rows(size) + SHORT));
        Stores { readers: vec![choices; readers], far: vec![false; readers], packed: Vec::new() }
    }

    /// Copies a row into shared memory that local rank `reader` will read.
    ///
    /// # Safety
    /// `from` must be readable and `to` writable for `length` bytes, without overlap.
    #[inline]
    pub(crate) unsafe fn copy(&mut self, reader: usize, from: *const u8, to: *mut u8, length: usize) {
        match size_of_row(length) {
            // SAFETY: the caller's contract is the same.
            None => unsafe { copy::row(from, to, length) },
            // SAFETY: the caller's contract is the same.
            Some(size) => unsafe {
                if self.readers[reader][size].copy(from, to, length) {
                    self.spread(reader, size);
                }
            },
        }
    }

    /// A trial has ended: what it has shown holds for all lengths that had none.
    #[cold]
    fn spread(&mut self, reader: usize, size: usize) {
        let Choice { way, aside, .. } = self.readers[reader][size];
        self.far[reader] = aside;
        for choice in self.readers[reader].iter_mut().filter(|choice| choice.found == 0) {
            (choice.way, choice.aside) = (way, aside);
            if !choice.is_in_trial() {
                choice.stretch = choice.stretch_behind(way);
            }
        }
    }

    /// Lets `fill` write `length` bytes that go to `to` in shared memory.
    ///
    /// # Safety
    /// `to` must be writable for `length` bytes; `fill` must write no more.
    #[inline]
    pub(crate) unsafe fn fill_row(&mut self, reader: usize, to: *mut u8, length: usize, fill: impl FnOnce(*mut u8)) {
        match self.aside(reader, to, length) {
            None => fill(to),
            Some(packed) => {
                fill(packed);
                // SAFETY: `fill` has written the packed bytes; the caller vouches for the target.
                unsafe { self.copy(reader, packed, to, length) };
            }
        }
    }

    /// As [`Source::fill`], into shared memory that local rank `reader` will read.
    ///
    /// # Safety
    /// As there.
    #[inline]
    pub(crate) unsafe fn fill(&mut self, reader: usize, source: &mut Source, to: *mut u8, capacity: usize) -> Step {
        let Source::Bytes { pointer, length } = source else {
            // SAFETY: the caller's contract is the same.
            return unsafe { self.pack(reader, source, to, capacity) };
        };
        let step = capacity.min(*length);
        // SAFETY: the source has `length` bytes, the caller lends `capacity`.
        unsafe {
            self.copy(reader, *pointer, to, step);
            *pointer = pointer.add(step);
        }
        *length -= step;
        Step::Done(step)
    }

    /// As [`Stores::fill`], for a source that is not a row of bytes.
    unsafe fn pack(&mut self, reader: usize, source: &mut Source, to: *mut u8, capacity: usize) -> Step {
        let Some(packed) = self.aside(reader, to, capacity) else {
            ahead::write(to, capacity);
            // SAFETY: the caller of `fill` lends `capacity` bytes.
            return unsafe { source.fill(to, capacity) };
        };
        // SAFETY: there is room for `capacity` bytes at both places.
        unsafe {
            let step = source.fill(packed, capacity);
            if let Step::Done(bytes) = step {
                self.copy(reader, packed, to, bytes);
            }
            step
        }
    }

    /// Whether this reader shares no cache with this process, as far as trials have shown.
    #[inline]
    pub(crate) fn is_far(&self, reader: usize) -> bool {
        self.far[reader]
    }

    /// Private memory for `length` bytes, where a packer should not write to shared memory itself.
    fn aside(&mut self, reader: usize, to: *mut u8, length: usize) -> Option<*mut u8> {
        let choice = &mut self.readers[reader][size_of_row(length)?];
        if !choice.aside && !choice.is_in_trial() && !choice.is_timed() {
            choice.pass(to);
            return None;
        }
        if self.packed.len() < length {
            self.packed.resize(length, 0);
        }
        Some(self.packed.as_mut_ptr())
    }
}

impl Choice {
    fn new(lap: u32) -> Choice {
        // The string instruction is seldom far from the best.
        Choice {
            way: Way::String,
            aside: false,
            lap,
            tried: ALL,
            stretch: SHORT,
            left: u32::MAX,
            rest: REST,
            last: 0,
            timed: [0; TIMED],
            medians: [u64::MAX; ALL.len()],
            found: 0,
            lately: [u64::MAX, 0],
            samples: 0,
        }
    }

    /// Whether a trial is under way.
    #[inline]
    fn is_in_trial(&self) -> bool {
        self.left <= self.trial()
    }

    /// Copies of a trial.
    #[inline]
    fn trial(&self) -> u32 {
        self.tried.len() as u32 * self.stretch
    }

    /// How the next copy is made.
    #[inline]
    fn way(&self) -> Way {
        if !self.is_in_trial() {
            return self.way;
        }
        self.tried[((self.trial() - self.left) / self.stretch) as usize]
    }

    /// True when a trial has ended.
    ///
    /// # Safety
    /// As [`Stores::copy`].
    #[inline]
    unsafe fn copy(&mut self, from: *const u8, to: *mut u8, length: usize) -> bool {
        if self.last != usize::MAX {
            self.walk_on(to);
        }
        let way = self.way();
        let timed = self.is_timed();
        let started = if timed { ticks() } else { 0 };
        // SAFETY: the caller's contract is the same.
        unsafe {
            match way {
                Way::Ordinary => copy::row(from, to, length),
                Way::String => copy::string(from, to, length),
                Way::Streamed => streamed::copy(from, to, length),
            }
        }
        if timed {
            self.enter(way, ticks().wrapping_sub(started).saturating_mul(1 << 16) / length as u64);
        }
        self.left -= 1;
        if self.left > 0 {
            return false;
        }
        self.decide();
        true
    }

    /// Notes where a copy of the first lap goes; the first trial begins behind the lap.
    fn walk_on(&mut self, to: *mut u8) {
        let ends = to.addr() <= self.last;
        self.left = if ends { self.trial() } else { u32::MAX };
        self.last = if ends { usize::MAX } else { to.addr() };
    }

    /// A row is about to be written to `to` without a choice.
    fn pass(&mut self, to: *mut u8) {
        if self.last == usize::MAX {
            self.left -= 1;
        } else {
            self.walk_on(to);
        }
    }

    /// Copies in each way of a trial that follows copies in this way.
    fn stretch_behind(&self, way: Way) -> u32 {
        if way == Way::Streamed { self.lap } else { SHORT }
    }

    /// Whether the next copy is timed: at the end of each stretch of a trial, and now and then
    /// between trials.
    #[inline]
    fn is_timed(&self) -> bool {
        if self.is_in_trial() {
            return (self.left - 1) % self.stretch < TIMED as u32;
        }
        self.left.is_multiple_of(WATCHED) && self.way != Way::Streamed && self.found > 0
    }

    fn enter(&mut self, way: Way, ticks: u64) {
        if !self.is_in_trial() {
            return self.watch(ticks);
        }
        let left = ((self.left - 1) % self.stretch) as usize;
        self.timed[left] = u32::try_from(ticks).unwrap_or(u32::MAX);
        if left == 0 {
            self.timed.sort_unstable();
            self.medians[way as usize] = self.timed[TIMED / 2].into();
        }
    }

    /// A copy between two trials took so long.
    fn watch(&mut self, ticks: u64) {
        let [quickest, slowest] = &mut self.lately;
        (*quickest, *slowest) = (ticks.min(*quickest), ticks.max(*slowest));
        self.samples += 1;
        if self.samples < SAMPLES {
            return;
        }
        if *quickest > CHANGE * self.found || *slowest < self.found / CHANGE {
            self.tried = ALL;
            self.left = self.trial() + 1;
            self.rest = REST;
        }
        (self.lately, self.samples) = ([u64::MAX, 0], 0);
    }

    /// The trial is over. The reader of streamed bytes finds them in memory, which takes it longer
    /// than from a cache: only far cores, where other stores take many times as long, gain by that.
    #[cold]
    fn decide(&mut self) {
        let [ordinary, string, streamed] = self.medians;
        let cached = ordinary.min(string);
        let way = match () {
            () if streamed < cached / GAIN => Way::Streamed,
            () if string < ordinary => Way::String,
            () => Way::Ordinary,
        };
        let before = std::mem::replace(&mut self.way, way);
        let longest = if way == Way::Streamed { LONGEST_STREAMED } else { LONGEST_REST };
        self.rest = if before == way { longest.min(2 * self.rest) } else { REST };
        self.aside = way == Way::Streamed || cached < ordinary / ASIDE;
        // What is slow is tried seldom. What was not tried counts as slow.
        self.tried = if streamed < cached || self.rest == longest { ALL } else { CACHED };
        self.stretch = self.stretch_behind(way);
        self.left = self.rest * self.lap + self.trial();
        self.found = cached;
        (self.lately, self.samples) = ([u64::MAX, 0], 0);
        self.medians = [u64::MAX; ALL.len()];
    }
}

/// The size class of a row; `None` where there is no choice.
#[inline]
fn size_of_row(length: usize) -> Option<usize> {
    (length >= 1 << SHORTEST_LOG).then(|| ((length.ilog2() - SHORTEST_LOG) as usize).min(SIZES - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALK: usize = 64 << 10;

    /// Runs one trial in which the ways take so long.
    fn decided(choice: &mut Choice, ticks: [u64; 3]) -> Way {
        choice.left = choice.left.min(choice.trial());
        let (mut timed, tried) = ([0; 3], choice.tried);
        while choice.left > 0 {
            let way = choice.way();
            if choice.is_timed() {
                timed[way as usize] += 1;
                choice.enter(way, ticks[way as usize]);
            }
            choice.left -= 1;
        }
        assert_eq!(timed, [0, 1, 2].map(|way| if way < tried.len() { TIMED } else { 0 }));
        choice.last = usize::MAX;
        choice.decide();
        choice.way()
    }

    #[test]
    fn the_way_follows_the_distance_of_the_cores() {
        let mut stores = Stores::new(1, WALK);
        let choice = &mut stores.readers[0][3];
        assert_eq!(choice.way(), Way::String, "before anything is known");
        assert_eq!(decided(choice, [900, 800, 190]), Way::Streamed, "cores that share no cache");
        assert_eq!(choice.left, (REST + 3) * choice.lap, "soon tried again, a lap in each way");
        assert!(choice.aside);
        assert_eq!(decided(choice, [900, 800, 190]), Way::Streamed);
        assert_eq!(choice.left, (2 * REST + 3) * choice.lap);
        assert_eq!(decided(choice, [300, 350, 190]), Way::Ordinary, "the reader takes longer then");
        assert_eq!(decided(choice, [100, 120, 190]), Way::Ordinary, "cores that share a cache");
        assert!(!choice.aside);
        assert_eq!(choice.left, 2 * REST * choice.lap + 2 * SHORT, "streamed stores were slower");
        assert_eq!(decided(choice, [100, 120, 190]), Way::Ordinary);
    }

    #[test]
    fn the_string_instruction_is_used_where_it_is_quicker() {
        let mut stores = Stores::new(1, WALK);
        let choice = &mut stores.readers[0][2];
        assert_eq!((decided(choice, [100, 90, 190]), choice.aside), (Way::String, false));
        assert_eq!((decided(choice, [900, 250, 190]), choice.aside), (Way::String, true), "packers pack aside");
    }

    /// Writes rows of 4 KiB to eight places in turn, by a packer or not.
    fn walk(stores: &mut Stores, laps: u32, packs: bool) {
        let (from, mut to) = (vec![7u8; 4096], vec![0u8; 8 * 4096]);
        for place in (0..laps).flat_map(|_| 0..8) {
            // SAFETY: source and place have that length.
            unsafe {
                let place = to.as_mut_ptr().add(place * 4096);
                match packs {
                    false => stores.copy(0, from.as_ptr(), place, 4096),
                    true => stores.fill_row(0, place, 4096, |row| row.write_bytes(7, 4096)),
                }
            }
        }
        assert!(laps == 0 || to.iter().all(|byte| *byte == 7));
    }

    #[test]
    fn a_trial_follows_the_first_lap() {
        for packs in [false, true] {
            let mut stores = Stores::new(1, 16 * WALK);
            walk(&mut stores, 1, packs);
            assert!(!stores.readers[0][1].is_in_trial());
            walk(&mut stores, 1, packs);
            assert!(stores.readers[0][1].is_in_trial());
            walk(&mut stores, ALL.len() as u32 * SHORT / 8, packs);
            assert!(!stores.readers[0][1].is_in_trial());
            assert!(stores.readers[0][1].left > ALL.len() as u32 * SHORT, "the trial has ended");
        }
    }

    #[test]
    fn one_place_that_is_used_again_is_a_lap_too() {
        let (from, mut to) = (vec![7u8; 4096], vec![0u8; 4096]);
        let mut stores = Stores::new(1, WALK);
        for _ in 0..2 {
            // SAFETY: both rows have that length.
            unsafe { stores.copy(0, from.as_ptr(), to.as_mut_ptr(), 4096) };
        }
        assert!(stores.readers[0][1].is_in_trial());
    }

    #[test]
    fn a_trial_holds_for_all_lengths_that_had_none() {
        let mut stores = Stores::new(1, WALK);
        assert_eq!(decided(&mut stores.readers[0][0], [100, 120, 190]), Way::Ordinary);
        assert_eq!(decided(&mut stores.readers[0][2], [900, 800, 190]), Way::Streamed);
        stores.spread(0, 2);
        let [known, others @ ..] = stores.readers[0];
        assert_eq!((known.way, known.aside), (Way::Ordinary, false));
        for choice in others {
            assert_eq!((choice.way, choice.aside, choice.stretch), (Way::Streamed, true, choice.lap));
        }
        assert!(stores.is_far(0));
    }

    #[test]
    fn all_ways_are_tried_now_and_then() {
        let mut stores = Stores::new(1, WALK);
        let choice = &mut stores.readers[0][0];
        let tried: Vec<bool> =
            (0..20).map(|_| decided(choice, [100, 90, 190]) == Way::String && choice.tried == ALL).collect();
        assert!(!tried[0] && tried.contains(&true));
    }

    #[test]
    fn a_change_between_trials_begins_one() {
        let mut stores = Stores::new(1, 16 * WALK);
        let choice = &mut stores.readers[0][1];
        assert_eq!(decided(choice, [100, 110, 190]), Way::Ordinary);
        choice.rest = LONGEST_REST;
        choice.left += LONGEST_REST * choice.lap;
        let copies = |ticks: &mut dyn FnMut(u32) -> u64, choice: &mut Choice| {
            (0..4 * SAMPLES * WATCHED).position(|number| {
                if choice.is_timed() {
                    choice.enter(choice.way(), ticks(number));
                }
                choice.left -= 1;
                choice.is_in_trial()
            })
        };
        assert_eq!(copies(&mut |number| if number % 3 == 0 { 110 } else { 900 }, choice), None, "interruptions");
        assert_eq!(
            copies(&mut |number| if number % 3 == 0 { 40 } else { 110 }, choice),
            None,
            "lines that nobody read"
        );
        assert_eq!(copies(&mut |_| 180, choice), None, "not as far as that");
        assert!(copies(&mut |_| 300, &mut choice.clone()).is_some());
        assert!(copies(&mut |_| 40, choice).is_some());
        assert_eq!(choice.tried, ALL);
    }

    #[test]
    fn every_way_writes_all_bytes() {
        let from: Vec<u8> = (0..40_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let (mut stores, mut to) = (Stores::new(2, WALK), vec![0xa5u8; 40_000]);
        for (way, aside) in ALL.iter().flat_map(|way| [(*way, false), (*way, true)]) {
            for (round, length) in (0..64).flat_map(|round| [4095, 4096, 8192, 20_000].map(|length| (round, length))) {
                for choice in &mut stores.readers[1] {
                    (choice.way, choice.aside, choice.left, choice.last) = (way, aside, u32::MAX, usize::MAX);
                }
                to.fill(0xa5);
                let source = &from[round..round + length];
                // SAFETY: source and target have that length.
                unsafe {
                    match round % 2 {
                        0 => stores.copy(1, source.as_ptr(), to.as_mut_ptr(), length),
                        _ => stores.fill_row(1, to.as_mut_ptr(), length, |place| {
                            source.as_ptr().copy_to_nonoverlapping(place, length)
                        }),
                    }
                }
                assert!(to[..length] == *source && to[length] == 0xa5, "{length} bytes, {way:?}, {aside}");
            }
        }
    }
}
