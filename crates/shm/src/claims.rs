//! The claims of a split copy: one side takes units from the front, the other one from the back,
//! until they meet. Either side may copy everything, so neither waits for a peer that has left MPI,
//! except for one whose device copies ([`super::exported`]).
//!
//! Words: the number of units that the sender has copied, the number that the receiver has copied,
//! and the claims, which both sides update by compare-and-swap. Each word carries the *generation*
//! of the message, which distinguishes it from words of earlier messages. Invariants: a unit is
//! claimed once, unless it is given back; the sender opens the next generation only when every unit
//! of this one is copied, so a receiver that finds another generation knows that its message is
//! complete.

use towpath_base::sync::LongWords;

const SENDER_DONE: usize = 0;
const RECEIVER_DONE: usize = 1;
const CLAIMS: usize = 2;
/// Number of words.
#[cfg(all(test, loom))]
pub(crate) const WORDS: usize = 3;

const UNIT_BITS: u32 = 20;
/// Maximum number of units of a message.
pub(crate) const MOST_UNITS: usize = (1 << UNIT_BITS) - 1;
const UNITS: u64 = (1 << UNIT_BITS) - 1;

/// A side of a split copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopySide {
    Sender,
    Receiver,
}

/// The claims of one message as seen by one side.
#[derive(Debug)]
pub(crate) struct Claims<W> {
    words: W,
    part: CopySide,
    /// True if this side takes units from the front.
    front: bool,
    generation: u32,
    units: u32,
    /// Units that this side has copied.
    copied: u32,
}

/// What a side does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextUnit {
    /// Copies this unit, which it has claimed.
    Copy(u32),
    /// Waits: the other side has claimed the rest, and may give some of it back.
    Wait,
    /// Nothing: all units are copied.
    Done,
}

/// Number of units claimed from the front, and from the back.
type Claimed = (u32, u32);

impl<W: LongWords> Claims<W> {
    /// Sender: starts a message with no unit claimed. The number of units may be set later.
    pub(crate) fn open(words: W, generation: u32, front: bool) -> Claims<W> {
        words.store_release(CLAIMS, claimed(generation, (0, 0)));
        Claims { words, part: CopySide::Sender, front, generation, units: 0, copied: 0 }
    }

    /// Receiver: follows the claims of a message that the sender has announced.
    pub(crate) fn follow(words: W, generation: u32, front: bool, units: u32) -> Claims<W> {
        Claims { words, part: CopySide::Receiver, front, generation, units, copied: 0 }
    }

    /// Receiver: publishes that it has begun, and everything that it wrote before.
    pub(crate) fn join(&self) {
        self.words.store_release(self.done_word(), done(self.generation, self.copied));
    }

    /// Sender: true if the receiver has begun.
    #[inline]
    pub(crate) fn is_joined(&self) -> bool {
        (self.words.load_acquire(RECEIVER_DONE) >> 32) as u32 == self.generation
    }

    /// Sets the number of units, once it is known.
    pub(crate) fn set_units(&mut self, units: u32) {
        self.units = units;
    }

    /// Sender: leaves all units to the receiver, which takes them in order from the front.
    pub(crate) fn leave_all(&mut self) {
        self.front = false;
    }

    /// Claims the next unit for this side; `None` if none is left.
    #[inline]
    pub(crate) fn claim(&self) -> Option<u32> {
        loop {
            let word = self.words.load_acquire(CLAIMS);
            let (front, back) = self.taken_in(word)?;
            if front + back == self.units {
                return None;
            }
            let (after, unit) = match self.front {
                true => ((front + 1, back), front),
                false => ((front, back + 1), self.units - 1 - back),
            };
            if self.words.replace(CLAIMS, word, claimed(self.generation, after)) {
                return Some(unit);
            }
        }
    }

    /// Claims the next unit for this side, or tells why there is none.
    #[inline]
    pub(crate) fn next_unit(&self) -> NextUnit {
        match self.claim() {
            Some(unit) => NextUnit::Copy(unit),
            // The other side may have given a unit back since, so this reads the claims again.
            None if self.is_complete() => NextUnit::Done,
            None => NextUnit::Wait,
        }
    }

    /// Gives back the unit that was claimed last and is not copied. Either side may claim it again.
    pub(crate) fn unclaim(&self) {
        loop {
            let word = self.words.load_acquire(CLAIMS);
            let Some((front, back)) = self.taken_in(word) else { return };
            let after = if self.front { (front - 1, back) } else { (front, back - 1) };
            if self.words.replace(CLAIMS, word, claimed(self.generation, after)) {
                return;
            }
        }
    }

    /// Publishes that the unit that was claimed last is copied.
    #[inline]
    pub(crate) fn finish(&mut self) {
        self.copied += 1;
        self.join();
    }

    /// The claims; `None` if the sender has started another message, which means that all of this
    /// one is copied.
    pub(crate) fn taken(&self) -> Option<Claimed> {
        self.taken_in(self.words.load_acquire(CLAIMS))
    }

    /// True if all units are claimed and both sides have copied theirs.
    #[inline]
    pub(crate) fn is_complete(&self) -> bool {
        let Some((front, back)) = self.taken() else { return true };
        let theirs = if self.front { back } else { front };
        front + back == self.units && self.other_has_copied(theirs)
    }

    /// True if the other side has copied `units` units, or the whole message is known to be copied.
    fn other_has_copied(&self, units: u32) -> bool {
        if units == 0 {
            return true;
        }
        let word = match self.part {
            CopySide::Sender => RECEIVER_DONE,
            CopySide::Receiver => SENDER_DONE,
        };
        let word = self.words.load_acquire(word);
        match self.part {
            CopySide::Sender => word == done(self.generation, units),
            // The sender may have started a later message, after all of this one was copied.
            CopySide::Receiver => word == done(self.generation, units) || self.taken().is_none(),
        }
    }

    fn done_word(&self) -> usize {
        match self.part {
            CopySide::Sender => SENDER_DONE,
            CopySide::Receiver => RECEIVER_DONE,
        }
    }

    fn taken_in(&self, word: u64) -> Option<Claimed> {
        let same = word >> (2 * UNIT_BITS) == u64::from(self.generation & 0xFF_FFFF);
        same.then_some(((word & UNITS) as u32, (word >> UNIT_BITS & UNITS) as u32))
    }
}

fn claimed(generation: u32, (front, back): Claimed) -> u64 {
    u64::from(generation & 0xFF_FFFF) << (2 * UNIT_BITS)
        | u64::from(back) << UNIT_BITS
        | u64::from(front)
}

fn done(generation: u32, units: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(units)
}
