//! Boards: memory in which all members of a team on one host read what each of them writes.
//!
//! A board is used in rounds that all members count alike. In a round a member may post one message
//! for all others on its line (short ones lie in the line itself, others in the member's area),
//! look at the lines of others, and go on to the next round. Each word has one writer; only a claim
//! is contended. After Graham and Shipman 2008 ("MPI support for multi-core architectures:
//! optimized shared memory collectives") and MPICH's release and gather flags, but flat: with more
//! ranks than cores every step of a tree costs a switch of processes.
//!
//! Invariants: a line and its bytes are written again only when all members have finished the round
//! in which they were written (`done`); a reader uses nothing that lies outside the board, whatever
//! a line says.

mod maker;
mod room;
mod rounds;

use towpath_base::control::PAGE;
use towpath_base::sync::{LongWords, MappedLongWords, Ordering, fence};
use towpath_machine::wait;

use super::layout::LINE;
use super::segment::Segment;
use super::walk::{self, Walk};
use crate::stores::Stores;
use towpath_transport::ahead::{self, PrefetchHint};

pub(super) use maker::Maker;
use maker::{Leaving, Left};
pub use room::Room;
pub use rounds::Want;
pub(super) use rounds::{Memory, Rounds};

/// Bytes of a message that fits into its line.
pub const INLINE: usize = 48;
/// Where a line keeps its parts: the word that is one more than the round; length, place and stamp;
/// bytes.
const DESCRIPTION_AT: usize = 8;
const INLINE_AT: usize = 16;
/// Rounds between the line that is read and the one that is prefetched.
const AHEAD: u64 = 4;
/// Rounds in which a member's last message is looked for: where two members write in turn, and all
/// meet in between, it is so far back.
const REMEMBERED: u64 = 4;
/// Bytes of areas that one board may have in all: half of a usual last-level cache.
const AREAS: usize = 8 << 20;
/// Most bytes of the area of one member among three or more with the shortest walk: many rounds fit
/// into it.
const AREA: usize = 256 << 10;

/// The shape of a board, the same on all members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    members: usize,
    /// Rounds whose lines are kept, a power of two.
    depth: usize,
    /// Bytes of a member's area, a power of two.
    area: usize,
    /// Largest message of a round.
    largest: usize,
}

impl Shape {
    /// The shape for a team of so many members, which write as far as `walk` says before they use
    /// memory again.
    fn new(members: usize, walk: Walk) -> Shape {
        let depth = match members {
            0..=64 => 64,
            65..=256 => 16,
            _ => 8,
        };
        let even = AREAS / members.max(1);
        let area = |most: usize| 1 << even.clamp(PAGE, most).ilog2();
        let short = area(if members <= 2 { walk::SHORTEST } else { AREA });
        let area = if walk.is_long() { area(walk.bytes()) } else { short };
        Shape { members, depth, area, largest: short / 2 }
    }

    fn claims_at(&self) -> usize {
        self.members * LINE
    }

    fn wants_at(&self) -> usize {
        self.claims_at() + (self.depth * 8).next_multiple_of(LINE)
    }

    fn lines_at(&self) -> usize {
        self.wants_at() + (self.members * 8).next_multiple_of(LINE)
    }

    /// Bytes of the lines and counters, in whole pages.
    pub fn head_bytes(&self) -> usize {
        (self.lines_at() + self.depth * self.members * LINE).next_multiple_of(PAGE)
    }

    /// Bytes of the whole board.
    pub fn bytes(&self) -> usize {
        self.head_bytes() + self.members * self.area
    }
}

/// Bits of the length of a message, and of its place in the area.
const LENGTH_BITS: u32 = 24;

/// What was posted on a line.
#[derive(Clone, Copy, Debug)]
pub struct Posted {
    /// What its writer passed as a stamp.
    pub stamp: u16,
    /// First byte; aligned for every type.
    pub pointer: *const u8,
    /// How many.
    pub length: usize,
}

/// Stamp, place in the area and length, out of a line.
fn parts_of(description: u64) -> (u16, usize, usize) {
    let part = |shift: u32| (description >> shift) as usize & ((1 << LENGTH_BITS) - 1);
    ((description >> (2 * LENGTH_BITS)) as u16, part(LENGTH_BITS), part(0))
}

/// A board as one member has it.
#[derive(Debug)]
pub struct Board {
    segment: Segment,
    offset: usize,
    shape: Shape,
    /// Local ranks of the members.
    members: Box<[u32]>,
    rounds: Rounds<MappedLongWords>,
    /// Length, place and stamp of each line's message.
    descriptions: MappedLongWords,
    first_line: *mut u8,
    first_area: *mut u8,
    /// Bytes that I have ever taken out of my area, gaps at its end included.
    taken: u64,
    /// Value of `taken` at the beginning of each of the last rounds.
    starts: Box<[u64]>,
    /// How I write into my area.
    stores: Stores,
    /// Where to say that I left; `None` where another member made the board.
    left: Option<Left>,
}

// SAFETY: the pointers lead into the segment, which the board holds.
unsafe impl Send for Board {}

impl Board {
    /// The board at `place` of the segment, as member `own` of the members with these local ranks.
    pub(crate) fn new(segment: &Segment, place: usize, members: Box<[u32]>, own: usize, left: Option<Left>) -> Board {
        let (offset, walk) = (place / PAGE * PAGE, Walk::from_number((place % PAGE) as u32));
        let shape = Shape::new(members.len(), walk);
        let at = |place: usize| segment.at(offset + place);
        // SAFETY: the words lie inside the board, whose maker has provided and cleared its head.
        let words = |place: usize, stride: usize| unsafe { MappedLongWords::new(at(place), stride) };
        let memory = Memory {
            done: words(0, LINE / 8),
            claims: words(shape.claims_at(), 1),
            wants: words(shape.wants_at(), 1),
            lines: words(shape.lines_at(), LINE / 8),
        };
        Board {
            offset,
            shape,
            rounds: Rounds::new(members.len(), own, shape.depth, memory),
            descriptions: words(shape.lines_at() + DESCRIPTION_AT, LINE / 8),
            first_line: at(shape.lines_at()),
            first_area: at(shape.head_bytes()),
            segment: segment.clone(),
            members,
            taken: 0,
            starts: vec![0; shape.depth].into(),
            stores: Stores::new(Room::READERS, shape.area),
            left,
        }
    }

    /// Provides the areas of all members, for messages that do not fit into their lines; false
    /// where there are no pages. For the maker; the others must learn the outcome from it.
    pub fn provide_areas(&self) -> bool {
        let (first, bytes) = (self.offset + self.shape.head_bytes(), self.shape.members * self.shape.area);
        self.segment.populate(first, bytes)
    }

    /// Largest message of a round on a board of so many members.
    pub fn largest_of(members: usize) -> usize {
        Shape::new(members, Walk::SHORTEST).largest
    }

    /// How many members.
    #[inline]
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// My number among them.
    #[inline]
    pub fn own(&self) -> usize {
        self.rounds.own
    }

    /// Largest message of a round.
    #[inline]
    pub fn largest(&self) -> usize {
        self.shape.largest
    }

    /// Says what I wait for from now on, before I wait: whoever does it wakes me.
    #[inline]
    pub fn want(&mut self, want: Want) {
        self.rounds.want(want);
    }

    /// Whether a message of `length` bytes can be posted in this round; else the member that must
    /// first go on.
    ///
    /// # Panics
    /// When the message is longer than [`Board::largest`].
    #[inline]
    pub fn has_room(&mut self, length: usize) -> Result<(), usize> {
        self.rounds.line_is_free()?;
        if length > INLINE { self.area_has_room(length) } else { Ok(()) }
    }

    fn area_has_room(&mut self, length: usize) -> Result<(), usize> {
        assert!(length <= self.largest(), "a message of {length} bytes does not fit on the board");
        let (_, end) = self.span(length);
        let oldest = end.saturating_sub(self.shape.area as u64);
        // Bytes of rounds that began at or behind `oldest` may stay; all earlier ones must be
        // finished.
        let mut round = self.rounds.known.max((self.rounds.round + 1).saturating_sub(self.rounds.depth));
        while round < self.rounds.round && self.starts[(round & (self.rounds.depth - 1)) as usize] < oldest {
            round += 1;
        }
        self.rounds.all_have_finished(round)
    }

    /// Begin and end of the next `length` bytes of my area, counted like `taken`: they never cross
    /// its end.
    fn span(&self, length: usize) -> (u64, u64) {
        self.span_behind(self.taken, length)
    }

    /// As [`Board::span`], of an area of which so much was taken.
    fn span_behind(&self, taken: u64, length: usize) -> (u64, u64) {
        let (area, bytes) = (self.shape.area as u64, self.span_of(length));
        let inside = taken & (area - 1);
        let begin = if inside + bytes > area { taken + area - inside } else { taken };
        (begin, begin + bytes)
    }

    /// How many bytes of an area a message takes.
    fn span_of(&self, length: usize) -> u64 {
        // Shorter areas have no room for a gap beside two of the largest messages.
        let gap = if self.shape.area > 2 * self.shape.largest { walk::GAP } else { 0 };
        (length.next_multiple_of(LINE) + gap) as u64
    }

    /// Posts `length` bytes, which `fill` writes, and a stamp to all members. At most once in a
    /// round, after [`Board::has_room`] said so.
    #[inline]
    pub fn post(&mut self, stamp: u16, length: usize, fill: impl FnOnce(Room<'_>)) {
        let (line, mut place) = (self.rounds.line(self.rounds.own), 0);
        // SAFETY: the line is inside the board, and has `INLINE` bytes behind its words, which
        // nobody reads before the commit below.
        let mut at = unsafe { self.first_line.add(line * LINE + INLINE_AT) };
        if length > INLINE {
            let (begin, end) = self.span(length);
            place = begin & (self.shape.area as u64 - 1);
            self.taken = end;
            // SAFETY: `span` stays inside the area, which nobody reads any more (`has_room`).
            at = unsafe { self.area(self.rounds.own).add(place as usize) };
        }
        fill(Room { stores: &mut self.stores, at, length });
        let description = u64::from(stamp) << (2 * LENGTH_BITS) | place << LENGTH_BITS | length as u64;
        self.descriptions.store_release(line, description);
        self.rounds.commit();
        if wait::somebody_sleeps(self.segment.head()) {
            self.wake_readers();
        }
    }

    fn area(&self, member: usize) -> *mut u8 {
        // SAFETY: inside the board.
        unsafe { self.first_area.add(member * self.shape.area) }
    }

    /// What a member posted in this round.
    #[inline]
    pub fn look(&self, member: usize) -> Option<Posted> {
        if !self.rounds.is_written(member) {
            return None;
        }
        let line = self.rounds.line(member);
        let description = self.descriptions.load_acquire(line);
        // SAFETY: the line is inside the board; its writer has finished it and keeps it while we
        // are in this round.
        let inline = unsafe { self.first_line.add(line * LINE + INLINE_AT) };
        let (stamp, place, length) = parts_of(description);
        if length <= INLINE {
            return Some(Posted { stamp, pointer: inline, length });
        }
        assert!(place + length <= self.shape.area, "member {member} names bytes outside its area of the board");
        // SAFETY: inside the area of that member.
        Some(Posted { stamp, pointer: unsafe { self.area(member).add(place) }, length })
    }

    /// Where a member's message of this round lies if it is as long as its last one in the area.
    pub fn prefetch_hint(&self, member: usize) -> PrefetchHint {
        for rounds in 1..=REMEMBERED {
            let Some(line) = self.rounds.line_written_before(member, rounds) else { continue };
            // The writer may overwrite this line meanwhile; the hint is wrong then, which is
            // harmless.
            let (_, place, length) = parts_of(self.descriptions.load_acquire(line));
            if length > PrefetchHint::MOST {
                break;
            }
            if length > INLINE {
                let (begin, _) = self.span_behind(place as u64 + self.span_of(length), length);
                let place = begin as usize & (self.shape.area - 1);
                return PrefetchHint::new(self.area(member).wrapping_add(place), length);
            }
        }
        PrefetchHint::NOTHING
    }

    /// Prefetches a line that a member who is some rounds ahead has written.
    #[inline]
    pub fn prefetch(&self, member: usize) {
        let line = self.rounds.line_ahead(member, AHEAD);
        // SAFETY: the line is inside the board.
        ahead::read(unsafe { self.first_line.add(line * LINE) }, LINE);
    }

    /// Tries to be the one member that does the common work of this round.
    pub fn claim(&self) -> bool {
        self.rounds.claim()
    }

    /// The member that does the common work of this round, if one has claimed it.
    pub fn claimant(&self) -> Option<usize> {
        self.rounds.claimant()
    }

    /// Goes on to the next round: what was seen in this one is gone.
    #[inline]
    pub fn finish(&mut self) {
        self.rounds.finish();
        let slot = self.rounds.slot();
        self.starts[slot] = self.taken;
        if wait::somebody_sleeps(self.segment.head()) {
            self.wake_those_that_want(Want::End(self.rounds.own));
        }
    }

    /// Wakes those that want the line that I have written.
    #[cold]
    fn wake_readers(&self) {
        self.wake_those_that_want(Want::Line(self.rounds.own));
        // Two members that post last must not both overlook the line of the other.
        fence(Ordering::SeqCst);
        if self.rounds.all_are_written() {
            self.wake_those_that_want(Want::AllLines);
        }
    }

    #[cold]
    fn wake_those_that_want(&self, done: Want) {
        for member in self.rounds.those_that_want(done) {
            let page = self.segment.control(self.members[member] as usize);
            if page.sleep.load(Ordering::Relaxed) != 0 {
                wait::wake(page);
            }
        }
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        if let Some(left) = &self.left {
            left.lock().unwrap().push(Leaving { offset: self.offset, shape: self.shape, rounds: self.rounds.round });
        }
    }
}
