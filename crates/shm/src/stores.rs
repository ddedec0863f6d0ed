//! Chooses how payload is copied into and out of shared memory. A sender copies by ordinary stores,
//! by the string instruction (`rep movsb`), or by non-temporal stores; a receiver by one of the
//! first two.
//!
//! An ordinary store to a line that the reader still holds first has to take it away from the
//! reader's cache. Between cores that share a cache this costs little. Between cores of different
//! complexes or sockets each line costs a round trip over the fabric, and non-temporal stores,
//! which need no ownership, are two to three times as fast (EPYC 7003: 64 KiB in 5.4 instead of 16
//! us). Some processors avoid the round trip in `rep movsb` too and leave the bytes in a cache
//! (EPYC 9005 across complexes: 64 KiB in 2.8 us, by non-temporal stores 3.0, by ordinary stores
//! 9.0; on two threads of one core 1.1, 2.9 and 1.3). The best method depends on processor and
//! placement, so all are timed at run time.
//!
//! The state of the lines is part of the cost. Lines that have not been read yet, and lines that
//! non-temporal stores have left in memory, are fast for ordinary stores. Therefore a sender times
//! nothing in the first lap, the first pass through the memory that it cycles through, and after
//! non-temporal stores the other methods run for a lap before they are timed. The result of a trial
//! holds for all lengths that have had none.

use towpath_base::transfer::{Source, Step};

use crate::streamed;
use towpath_transport::ticks::ticks;
use towpath_transport::{ahead, copy};

/// Copies below this length are not worth the fence of non-temporal stores.
const SHORTEST_LOG: u32 = 11;
/// Size classes: 2 to 4 KiB, 4 to 8 KiB, 8 to 16 KiB, and more.
const SIZES: usize = 4;

/// Timed copies per method, of which the median is used: while the memory grows, some copies write
/// to lines that have not been read.
const TIMED: usize = 15;
/// Copies per method if the lines are already in their steady state.
const SHORT: u32 = 32;
/// Laps between the end of a trial and the start of the next one: the initial number, and the
/// maximum, which is reached by repeated trials with the same result.
const REST: u32 = 4;
const LONGEST_REST: u32 = 256;
/// The maximum after non-temporal stores were chosen, which are not watched between trials.
const LONGEST_STREAMED: u32 = 64;

/// Between trials, one copy in `WATCHED`, or in `WATCHED_LONG` of the last size class, is timed,
/// unless it is streamed. If all of `SAMPLES` of them take less than half the time that the trial
/// found, or all take more than twice as long, a process has moved to another core, and a trial
/// starts at once. Streamed copies show nothing: they take the same time everywhere.
const WATCHED: u32 = 32;
const WATCHED_LONG: u32 = 4;
const SAMPLES: u32 = 8;
const CHANGE: u64 = 2;

/// How many times as fast non-temporal stores must be. Cores of one complex show 0.5 to 2.8, cores
/// of different complexes 5 to 20.
const GAIN: u64 = 4;
/// Packers store a few bytes at a time, like ordinary stores. If ordinary stores take this many
/// times as long as the best method, packers pack into private memory.
const ASIDE: u64 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StoreWay {
    Ordinary,
    String,
    Streamed,
}

/// All methods of a sender, in the order of a trial, each for a stretch of copies.
const ALL: &[StoreWay] = &[StoreWay::Ordinary, StoreWay::String, StoreWay::Streamed];
/// The methods that leave the bytes in a cache.
const CACHED: &[StoreWay] = &[StoreWay::Ordinary, StoreWay::String];

/// The choice for one size class.
#[derive(Clone, Copy, Debug)]
struct StoreChoice {
    way: StoreWay,
    /// True if packers should not write to shared memory themselves.
    aside: bool,
    /// Copies in which a method reaches its steady state and is timed.
    lap: u32,
    /// All methods that may be chosen.
    all: &'static [StoreWay],
    /// The methods of the next trial, and the copies per method.
    tried: &'static [StoreWay],
    stretch: u32,
    /// Copies left until the end of that trial.
    left: u32,
    /// Laps until the next trial.
    rest: u32,
    /// Target of the last copy in the first lap; `usize::MAX` after it.
    last: usize,
    /// Ticks of each timed copy of the method under trial, scaled to 64 KiB.
    timed: [u32; TIMED],
    /// The medians of all methods.
    medians: [u64; ALL.len()],
    /// The median of the better cached method in the last trial.
    found: u64,
    /// One copy in so many is timed between trials.
    watched: u32,
    /// The fastest and the slowest of the `samples` since then.
    lately: [u64; 2],
    samples: u32,
}

/// The choices for each reader, by local rank.
#[derive(Debug)]
pub(crate) struct Stores {
    readers: Vec<[StoreChoice; SIZES]>,
    /// By reader: true if ordinary stores took much longer than others in the latest trial; `None`
    /// before the first one.
    far: Vec<Option<bool>>,
    /// Packed bytes that are then stored by another method, since those are fast for whole lines
    /// only.
    packed: Vec<u8>,
}

impl Stores {
    /// For a sender that cycles through `walk` bytes.
    pub(crate) fn new(readers: usize, walk: usize) -> Stores {
        let rows = |size| (walk >> (SHORTEST_LOG as usize + size)) as u32;
        let choices = std::array::from_fn(|size| {
            let watched = if size == SIZES - 1 { WATCHED_LONG } else { WATCHED };
            StoreChoice { watched, ..StoreChoice::new(rows(size) + SHORT, ALL) }
        });
        Stores { readers: vec![choices; readers], far: vec![None; readers], packed: Vec::new() }
    }

    /// Copies contiguous bytes into shared memory that local rank `reader` will read.
    ///
    /// # Safety
    /// `from` must be readable and `to` writable for `length` bytes, without overlap.
    #[inline]
    pub(crate) unsafe fn copy(
        &mut self,
        reader: usize,
        from: *const u8,
        to: *mut u8,
        length: usize,
    ) {
        match size_of_row(length) {
            // SAFETY: `from` is readable and `to` writable for `length` bytes, without overlap
            // (this function's contract).
            None => unsafe { copy::contiguous(from, to, length) },
            // SAFETY: `from` is readable and `to` writable for `length` bytes, without overlap
            // (this function's contract).
            Some(size) => unsafe {
                if self.readers[reader][size].copy(from, to, length) {
                    self.spread(reader, size);
                }
            },
        }
    }

    /// Applies the result of a trial to all size classes that have had none.
    #[cold]
    fn spread(&mut self, reader: usize, size: usize) {
        let StoreChoice { way, aside, .. } = self.readers[reader][size];
        self.far[reader] = Some(aside);
        for choice in self.readers[reader].iter_mut().filter(|choice| choice.found == 0) {
            (choice.way, choice.aside) = (way, aside);
            if !choice.is_in_trial() {
                choice.stretch = choice.stretch_behind(way);
            }
        }
    }

    /// Has `fill` write `length` bytes, and stores them at `to` in shared memory.
    ///
    /// # Safety
    /// `to` must be writable for `length` bytes. `fill` must write all of them, and no more.
    #[inline]
    pub(crate) unsafe fn fill_contiguous(
        &mut self,
        reader: usize,
        to: *mut u8,
        length: usize,
        fill: impl FnOnce(*mut u8),
    ) {
        match self.aside(reader, to, length) {
            None => fill(to),
            Some(packed) => {
                fill(packed);
                // SAFETY: `fill` has written `length` bytes to `packed`, which is private memory;
                // `to` is writable for `length` bytes (this function's contract).
                unsafe { self.copy(reader, packed, to, length) };
            }
        }
    }

    /// Like [`Source::fill`], into shared memory that local rank `reader` will read.
    ///
    /// # Safety
    /// `to` must be writable for `capacity` bytes, and the memory behind `source` must be valid.
    #[inline]
    pub(crate) unsafe fn fill(
        &mut self,
        reader: usize,
        source: &mut Source,
        to: *mut u8,
        capacity: usize,
    ) -> Step {
        let Source::Bytes { pointer, length } = source else {
            // SAFETY: `to` is writable for `capacity` bytes and `source` is valid (this function's
            // contract).
            return unsafe { self.pack(reader, source, to, capacity) };
        };
        let step = capacity.min(*length);
        // SAFETY: the source is readable for `length` bytes and `to` writable for `capacity` bytes
        // (this function's contract); `step` is at most either of them.
        unsafe {
            self.copy(reader, *pointer, to, step);
            *pointer = pointer.add(step);
        }
        *length -= step;
        Step::Done(step)
    }

    /// Like [`Stores::fill`], for a source that is not contiguous.
    ///
    /// # Safety
    /// `to` must be writable for `capacity` bytes, and the memory behind `source` must be valid.
    unsafe fn pack(
        &mut self,
        reader: usize,
        source: &mut Source,
        to: *mut u8,
        capacity: usize,
    ) -> Step {
        let Some(packed) = self.aside(reader, to, capacity) else {
            ahead::write(to, capacity);
            // SAFETY: `to` is writable for `capacity` bytes and `source` is valid (this function's
            // contract).
            return unsafe { source.fill(to, capacity) };
        };
        // SAFETY: `packed` has room for `capacity` bytes and is private memory; `to` is writable
        // for as many and `source` is valid (this function's contract).
        unsafe {
            let step = source.fill(packed, capacity);
            if let Step::Done(bytes) = step {
                self.copy(reader, packed, to, bytes);
            }
            step
        }
    }

    /// True if this reader shares no cache with this process, as far as trials have shown.
    #[inline]
    pub(crate) fn is_far(&self, reader: usize) -> bool {
        self.far[reader] == Some(true)
    }

    /// True if a trial has shown that this reader shares a cache with this process, and no other
    /// trial with long copies is running.
    #[inline]
    pub(crate) fn is_near(&self, reader: usize) -> bool {
        self.far[reader] == Some(false) && !self.readers[reader][SIZES - 1].is_in_trial()
    }

    /// Private memory for `length` bytes, if a packer should not write to shared memory itself.
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

/// The choices for chunks that another core has written and this one copies out: by vector
/// registers or by `rep movsb`. An EPYC 9005 is 3 to 7 % faster with the latter, an EPYC 9004 4 to
/// 16 % slower (chunks of 8 to 32 KiB, line ping-pong of 23 to 180 and of 31 ns, 2026-11-24).
#[derive(Debug)]
pub(crate) struct Fetches([StoreChoice; SIZES]);

impl Fetches {
    /// The first trial starts with the first copy.
    pub(crate) fn new() -> Fetches {
        let choice = StoreChoice::new(SHORT, CACHED);
        Fetches([StoreChoice { left: choice.trial(), last: usize::MAX, ..choice }; SIZES])
    }

    /// Copies contiguous bytes out of shared memory.
    ///
    /// # Safety
    /// `from` must be readable and `to` writable for `length` bytes, without overlap.
    #[inline]
    pub(crate) unsafe fn copy(&mut self, from: *const u8, to: *mut u8, length: usize) {
        // SAFETY: `from` is readable and `to` writable for `length` bytes, without overlap (this
        // function's contract).
        unsafe {
            match size_of_row(length) {
                None => copy::contiguous(from, to, length),
                Some(size) => {
                    self.0[size].copy(from, to, length);
                }
            }
        }
    }
}

impl StoreChoice {
    fn new(lap: u32, all: &'static [StoreWay]) -> StoreChoice {
        // The string instruction is rarely much slower than the best method.
        StoreChoice {
            way: StoreWay::String,
            aside: false,
            lap,
            all,
            tried: all,
            stretch: SHORT,
            left: u32::MAX,
            rest: REST,
            last: 0,
            timed: [0; TIMED],
            medians: [u64::MAX; ALL.len()],
            found: 0,
            watched: WATCHED,
            lately: [u64::MAX, 0],
            samples: 0,
        }
    }

    /// True during a trial.
    #[inline]
    fn is_in_trial(&self) -> bool {
        self.left <= self.trial()
    }

    /// Number of copies of a trial.
    #[inline]
    fn trial(&self) -> u32 {
        self.tried.len() as u32 * self.stretch
    }

    /// The method for the next copy.
    #[inline]
    fn way(&self) -> StoreWay {
        if !self.is_in_trial() {
            return self.way;
        }
        self.tried[((self.trial() - self.left) / self.stretch) as usize]
    }

    /// Copies by the current method. True if this ended a trial.
    ///
    /// # Safety
    /// `from` must be readable and `to` writable for `length` bytes, without overlap.
    #[inline]
    unsafe fn copy(&mut self, from: *const u8, to: *mut u8, length: usize) -> bool {
        if self.last != usize::MAX {
            self.walk_on(to);
        }
        let way = self.way();
        let timed = self.is_timed();
        let started = if timed { ticks() } else { 0 };
        // SAFETY: `from` is readable and `to` writable for `length` bytes, without overlap (this
        // function's contract).
        unsafe {
            match way {
                StoreWay::Ordinary => copy::contiguous(from, to, length),
                StoreWay::String => copy::string(from, to, length),
                StoreWay::Streamed => streamed::copy(from, to, length),
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

    /// Tracks the targets of copies in the first lap; the first trial starts after that lap.
    fn walk_on(&mut self, to: *mut u8) {
        let ends = to.addr() <= self.last;
        self.left = if ends { self.trial() } else { u32::MAX };
        self.last = if ends { usize::MAX } else { to.addr() };
    }

    /// Counts a copy to `to` that a packer writes itself.
    fn pass(&mut self, to: *mut u8) {
        if self.last == usize::MAX {
            self.left -= 1;
        } else {
            self.walk_on(to);
        }
    }

    /// Copies per method in a trial that follows copies by method `way`.
    fn stretch_behind(&self, way: StoreWay) -> u32 {
        if way == StoreWay::Streamed { self.lap } else { SHORT }
    }

    /// True if the next copy is to be timed: at the end of each stretch of a trial, and now and
    /// then between trials.
    #[inline]
    fn is_timed(&self) -> bool {
        if self.is_in_trial() {
            return (self.left - 1) % self.stretch < TIMED as u32;
        }
        self.left.is_multiple_of(self.watched) && self.way != StoreWay::Streamed && self.found > 0
    }

    fn enter(&mut self, way: StoreWay, ticks: u64) {
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

    /// Records the time of a copy between two trials.
    fn watch(&mut self, ticks: u64) {
        let [quickest, slowest] = &mut self.lately;
        (*quickest, *slowest) = (ticks.min(*quickest), ticks.max(*slowest));
        self.samples += 1;
        if self.samples < SAMPLES {
            return;
        }
        if *quickest > CHANGE * self.found || *slowest < self.found / CHANGE {
            self.tried = self.all;
            self.left = self.trial() + 1;
            self.rest = REST;
        }
        (self.lately, self.samples) = ([u64::MAX, 0], 0);
    }

    /// Ends a trial. The reader finds streamed bytes in memory, which takes it longer than from a
    /// cache. Only distant cores gain from it: between them, other stores take many times as long.
    #[cold]
    fn decide(&mut self) {
        let [ordinary, string, streamed] = self.medians;
        let cached = ordinary.min(string);
        let way = match () {
            () if streamed < cached / GAIN => StoreWay::Streamed,
            () if string < ordinary => StoreWay::String,
            () => StoreWay::Ordinary,
        };
        let before = std::mem::replace(&mut self.way, way);
        let longest = if way == StoreWay::Streamed { LONGEST_STREAMED } else { LONGEST_REST };
        self.rest = if before == way { longest.min(2 * self.rest) } else { REST };
        self.aside = way == StoreWay::Streamed || cached < ordinary / ASIDE;
        // Slow methods are rarely tried. A method that was not tried counts as slow.
        self.tried = if streamed < cached || self.rest == longest { self.all } else { CACHED };
        self.stretch = self.stretch_behind(way);
        self.left = self.rest * self.lap + self.trial();
        self.found = cached;
        (self.lately, self.samples) = ([u64::MAX, 0], 0);
        self.medians = [u64::MAX; ALL.len()];
    }
}

/// The size class of a length; `None` if there is no choice.
#[inline]
fn size_of_row(length: usize) -> Option<usize> {
    (length >= 1 << SHORTEST_LOG).then(|| ((length.ilog2() - SHORTEST_LOG) as usize).min(SIZES - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALK: usize = 64 << 10;

    /// Runs one trial in which the methods take these times.
    fn decided(choice: &mut StoreChoice, ticks: [u64; 3]) -> StoreWay {
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
        assert_eq!(choice.way(), StoreWay::String, "before anything is known");
        assert_eq!(
            decided(choice, [900, 800, 190]),
            StoreWay::Streamed,
            "cores that share no cache"
        );
        assert_eq!(choice.left, (REST + 3) * choice.lap, "soon tried again, a lap in each way");
        assert!(choice.aside);
        assert_eq!(decided(choice, [900, 800, 190]), StoreWay::Streamed);
        assert_eq!(choice.left, (2 * REST + 3) * choice.lap);
        assert_eq!(
            decided(choice, [300, 350, 190]),
            StoreWay::Ordinary,
            "the reader takes longer then"
        );
        assert_eq!(
            decided(choice, [100, 120, 190]),
            StoreWay::Ordinary,
            "cores that share a cache"
        );
        assert!(!choice.aside);
        assert_eq!(choice.left, 2 * REST * choice.lap + 2 * SHORT, "streamed stores were slower");
        assert_eq!(decided(choice, [100, 120, 190]), StoreWay::Ordinary);
    }

    #[test]
    fn chunks_that_are_read_are_tried_at_once_and_never_streamed() {
        let Fetches([choice, ..]) = &mut Fetches::new();
        assert!(choice.is_in_trial());
        assert_eq!(decided(choice, [100, 90, 1]), StoreWay::String);
        // With the longest rest, a sender would try all methods next.
        choice.rest = LONGEST_REST;
        assert_eq!(decided(choice, [90, 100, 1]), StoreWay::Ordinary);
        assert_eq!(choice.tried, CACHED);
    }

    #[test]
    fn the_string_instruction_is_used_where_it_is_quicker() {
        let mut stores = Stores::new(1, WALK);
        let choice = &mut stores.readers[0][2];
        assert_eq!((decided(choice, [100, 90, 190]), choice.aside), (StoreWay::String, false));
        assert_eq!(
            (decided(choice, [900, 250, 190]), choice.aside),
            (StoreWay::String, true),
            "packers pack aside"
        );
    }

    /// Writes blocks of 4 KiB to eight positions in turn, by a packer or not.
    fn walk(stores: &mut Stores, laps: u32, packs: bool) {
        let (from, mut to) = (vec![7u8; 4096], vec![0u8; 8 * 4096]);
        for place in (0..laps).flat_map(|_| 0..8) {
            // SAFETY: `from` has 4096 bytes, and `to` has 4096 bytes at each of the eight
            // positions.
            unsafe {
                let place = to.as_mut_ptr().add(place * 4096);
                match packs {
                    false => stores.copy(0, from.as_ptr(), place, 4096),
                    true => stores.fill_contiguous(0, place, 4096, |row| row.write_bytes(7, 4096)),
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
            // SAFETY: both vectors have 4096 bytes.
            unsafe { stores.copy(0, from.as_ptr(), to.as_mut_ptr(), 4096) };
        }
        assert!(stores.readers[0][1].is_in_trial());
    }

    #[test]
    fn a_trial_holds_for_all_lengths_that_had_none() {
        let mut stores = Stores::new(1, WALK);
        assert_eq!(decided(&mut stores.readers[0][0], [100, 120, 190]), StoreWay::Ordinary);
        assert_eq!(decided(&mut stores.readers[0][2], [900, 800, 190]), StoreWay::Streamed);
        stores.spread(0, 2);
        let [known, others @ ..] = stores.readers[0];
        assert_eq!((known.way, known.aside), (StoreWay::Ordinary, false));
        for choice in others {
            assert_eq!(
                (choice.way, choice.aside, choice.stretch),
                (StoreWay::Streamed, true, choice.lap)
            );
        }
        assert!(stores.is_far(0) && !stores.is_near(0));
    }

    #[test]
    fn all_ways_are_tried_now_and_then() {
        let mut stores = Stores::new(1, WALK);
        let choice = &mut stores.readers[0][0];
        let tried: Vec<bool> = (0..20)
            .map(|_| decided(choice, [100, 90, 190]) == StoreWay::String && choice.tried == ALL)
            .collect();
        assert!(!tried[0] && tried.contains(&true));
    }

    #[test]
    fn a_change_between_trials_begins_one() {
        let mut stores = Stores::new(1, 16 * WALK);
        let choice = &mut stores.readers[0][1];
        assert_eq!(decided(choice, [100, 110, 190]), StoreWay::Ordinary);
        choice.rest = LONGEST_REST;
        choice.left += LONGEST_REST * choice.lap;
        let copies = |ticks: &mut dyn FnMut(u32) -> u64, choice: &mut StoreChoice| {
            (0..4 * SAMPLES * WATCHED).position(|number| {
                if choice.is_timed() {
                    choice.enter(choice.way(), ticks(number));
                }
                choice.left -= 1;
                choice.is_in_trial()
            })
        };
        assert_eq!(
            copies(&mut |number| if number % 3 == 0 { 110 } else { 900 }, choice),
            None,
            "interruptions"
        );
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
        let from: Vec<u8> =
            (0..40_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let (mut stores, mut to) = (Stores::new(2, WALK), vec![0xa5u8; 40_000]);
        for (way, aside) in ALL.iter().flat_map(|way| [(*way, false), (*way, true)]) {
            for (round, length) in
                (0..64).flat_map(|round| [4095, 4096, 8192, 20_000].map(|length| (round, length)))
            {
                for choice in &mut stores.readers[1] {
                    (choice.way, choice.aside, choice.left, choice.last) =
                        (way, aside, u32::MAX, usize::MAX);
                }
                to.fill(0xa5);
                let source = &from[round..round + length];
                // SAFETY: `source` and `to` have at least `length` bytes.
                unsafe {
                    match round % 2 {
                        0 => stores.copy(1, source.as_ptr(), to.as_mut_ptr(), length),
                        _ => stores.fill_contiguous(1, to.as_mut_ptr(), length, |place| {
                            source.as_ptr().copy_to_nonoverlapping(place, length)
                        }),
                    }
                }
                assert!(
                    to[..length] == *source && to[length] == 0xa5,
                    "{length} bytes, {way:?}, {aside}"
                );
            }
        }
    }
}
