//! Boards: shared memory in which all members of a team on one host read what each of them writes.
//!
//! A board is used in rounds that all members count alike. In a round a member may post one message
//! for all others on its line (a short message is in the line itself, a longer one in the member's
//! area), read the lines of the others, and go on to the next round. Each word has one writer, but
//! for the word of a round, in which a member claims the common work or members count themselves
//! while they write to memory that one of them exposes ([`exposed`]). After Graham and Shipman 2008
//! ("MPI support for multi-core architectures: optimized shared memory collectives") and MPICH's
//! release and gather flags, but flat: on an oversubscribed host every level of a tree costs a
//! context switch.
//!
//! Invariants: a line and its bytes are reused only when all members have finished the round in
//! which they were written (`done`); a reader never accesses anything outside the board, whatever a
//! line contains, and a member writes to nothing outside the board and the heaps.

mod calls;
mod exposed;
mod maker;
mod room;
mod rounds;
mod wakes;

use std::ptr::NonNull;
use std::sync::Arc;

use towpath_base::control::{ControlPage, PAGE};
use towpath_base::sync::{AtomicU32, LongWords, MappedLongWords};
use towpath_machine::wait;
use towpath_machine::wait::sleep::{HostWords, SleeperWords};

use super::layout::LINE;
use super::segment::Segment;
use super::walk::{self, Walk};
use crate::stores::Stores;
use towpath_transport::ahead::{self, PrefetchHint};

pub use calls::{CallNotices, FinishedCall, NumberedCall, OtherCall};
pub(super) use maker::Maker;
use maker::{Leaving, Left};
pub use room::Room;
pub use rounds::Want;
pub(super) use rounds::{RoundMemory, Rounds};
pub(super) use wakes::Sleepers;

/// Largest message in bytes that fits into its line.
pub const INLINE: usize = 48;
/// Offsets in a line after the word that holds round and call: the description (length, offset
/// and stamp) and the payload.
const DESCRIPTION_AT: usize = 8;
const INLINE_AT: usize = 16;
/// Offset of what a member tells of its call, after its number of finished rounds.
const TOLD_AT: usize = 8;
/// Offset of the word by which a member says that it accesses the board no more.
const LEFT_AT: usize = 16;
/// Offset of the upper bits of the number of its call.
const UPPERS_AT: usize = 24;
/// Distance in rounds between the line that is read and the one that is prefetched.
const AHEAD: u64 = 4;
/// How many rounds back the last message of a member is searched. If two members write alternately,
/// with a round of all members in between, it is this far back.
const REMEMBERED: u64 = 4;
/// Maximum bytes of all areas of a board: half of a usual last-level cache.
const AREAS: usize = 8 << 20;
/// Maximum bytes of a member's area with three or more members and the shortest walk: enough for
/// many rounds.
const AREA: usize = 256 << 10;
/// How many short messages fit into an area of a board for one operation: a member can run this
/// many calls ahead of the others, if there are as many lines.
const CALLS_AHEAD: usize = 32;

/// The shape of a board, the same on all members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoardShape {
    members: usize,
    /// Rounds whose lines are kept, a power of two.
    depth: usize,
    /// Bytes of a member's area, a power of two.
    area: usize,
    /// Largest message of a round.
    largest: usize,
}

impl BoardShape {
    /// The shape for a team of `members` members, which cycle through `walk` bytes.
    fn new(members: usize, walk: Walk) -> BoardShape {
        let most = if walk.is_long() { walk.bytes() } else { Self::short_walk(members) };
        BoardShape::with_area(members, Self::even_area(members, most))
    }

    /// The shape for one operation of such a team, in which a member posts `longest` bytes at most.
    fn of_operation(members: usize, longest: usize) -> BoardShape {
        let needed = longest.saturating_mul(CALLS_AHEAD.min(Self::depth_for(members)));
        let most = needed.clamp(PAGE, Self::short_walk(members)).next_power_of_two();
        BoardShape::with_area(members, Self::even_area(members, most))
    }

    /// The shape with the number that its maker has told the others.
    ///
    /// # Panics
    /// If no shape has that number.
    fn from_number(members: usize, number: usize) -> BoardShape {
        let area = PAGE << number;
        assert!(area <= walk::LONGEST, "no board has areas of {area} bytes");
        BoardShape::with_area(members, area)
    }

    /// What distinguishes the shape from others for as many members: less than a page.
    fn number(&self) -> usize {
        (self.area / PAGE).ilog2() as usize
    }

    /// Bytes of a member's area with the shortest walk, if memory does not limit it.
    fn short_walk(members: usize) -> usize {
        if members <= 2 { walk::SHORTEST } else { AREA }
    }

    /// The largest area of each member up to `most` bytes.
    fn even_area(members: usize, most: usize) -> usize {
        1 << (AREAS / members.max(1)).clamp(PAGE, most).ilog2()
    }

    /// Rounds whose lines are kept.
    fn depth_for(members: usize) -> usize {
        match members {
            0..=64 => 64,
            65..=256 => 16,
            _ => 8,
        }
    }

    fn with_area(members: usize, area: usize) -> BoardShape {
        let depth = Self::depth_for(members);
        let short = Self::even_area(members, Self::short_walk(members));
        BoardShape { members, depth, area, largest: area.min(short) / 2 }
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

/// Bits of the length of a message, and of its offset in the area.
const LENGTH_BITS: u32 = 24;

/// A message that was posted on a line.
#[derive(Clone, Copy, Debug)]
pub struct Posted {
    /// The stamp that its writer passed.
    pub stamp: u16,
    /// First byte; aligned for every type. Never null, so that a function that fails instead
    /// returns no further word.
    pub pointer: NonNull<u8>,
    /// Length in bytes.
    pub length: usize,
}

/// Decodes stamp, offset in the area and length from the description in a line.
fn parts_of(description: u64) -> (u16, usize, usize) {
    let part = |shift: u32| (description >> shift) as usize & ((1 << LENGTH_BITS) - 1);
    ((description >> (2 * LENGTH_BITS)) as u16, part(LENGTH_BITS), part(0))
}

/// A board as used by one member.
#[derive(Debug)]
pub struct Board {
    segment: Segment,
    offset: usize,
    shape: BoardShape,
    /// Local ranks of the members.
    members: Box<[u32]>,
    rounds: Rounds<MappedLongWords>,
    /// Length, offset and stamp of each line's message.
    descriptions: MappedLongWords,
    first_line: *mut u8,
    first_area: *mut u8,
    /// Number of calls so far.
    calls: u64,
    /// How this member writes into its area.
    stores: Stores,
    /// How it writes to memory that others expose, once it has.
    heap_stores: Option<Stores>,
    /// Where to record that this member left; `None` if another member made the board.
    left: Option<Left>,
    /// The member that is in another call, once one has been found.
    other_call: Option<OtherCall>,
    presence: Arc<Presence>,
}

/// A member's use of a board, by the board itself and by [`CallNotices`]: until the last of them is
/// dropped, the memory is used for no other board.
#[derive(Debug)]
struct Presence {
    /// Contains the word.
    _segment: Segment,
    left: MappedLongWords,
    own: usize,
}

// SAFETY: the word is in the segment, which this holds, and is only accessed with atomics.
unsafe impl Send for Presence {}
// SAFETY: as above.
unsafe impl Sync for Presence {}

impl Drop for Presence {
    fn drop(&mut self) {
        self.left.store_release(self.own, 1);
    }
}

// SAFETY: the pointers point into the segment, which the board holds.
unsafe impl Send for Board {}

impl Board {
    /// The board at `location` in the segment, for member `own`; `members` holds the local ranks of
    /// all members.
    pub(crate) fn new(
        segment: &Segment,
        location: usize,
        members: Box<[u32]>,
        own: usize,
        left: Option<Left>,
    ) -> Board {
        let offset = location / PAGE * PAGE;
        let shape = BoardShape::from_number(members.len(), location % PAGE);
        let at = |within: usize| segment.at(offset + within);
        // SAFETY: the words are inside the board, 8-aligned, and only accessed with atomics. The
        // maker has populated and cleared the board's head.
        let words =
            |within: usize, stride: usize| unsafe { MappedLongWords::new(at(within), stride) };
        let memory = RoundMemory {
            done: words(0, LINE / 8),
            claims: words(shape.claims_at(), 1),
            wants: words(shape.wants_at(), 1),
            lines: words(shape.lines_at(), LINE / 8),
            told: words(TOLD_AT, LINE / 8),
            uppers: words(UPPERS_AT, LINE / 8),
        };
        let presence = Presence { _segment: segment.clone(), left: words(LEFT_AT, LINE / 8), own };
        Board {
            presence: Arc::new(presence),
            offset,
            shape,
            rounds: Rounds::new(members.len(), own, shape.depth, memory),
            descriptions: words(shape.lines_at() + DESCRIPTION_AT, LINE / 8),
            first_line: at(shape.lines_at()),
            first_area: at(shape.head_bytes()),
            segment: segment.clone(),
            members,
            calls: 0,
            stores: Stores::new(Room::READERS, shape.area),
            heap_stores: None,
            left,
            other_call: None,
        }
    }

    /// Populates the areas of all members, for messages that do not fit into their lines; false if
    /// memory is short. Only the maker calls this; the others must learn the result from it.
    pub fn provide_areas(&self) -> bool {
        let (first, bytes) =
            (self.offset + self.shape.head_bytes(), self.shape.members * self.shape.area);
        self.segment.populate(first, bytes)
    }

    /// Largest message of a round on a board of `members` members.
    pub fn largest_of(members: usize) -> usize {
        BoardShape::new(members, Walk::SHORTEST).largest
    }

    /// Number of members.
    #[inline]
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// This member's number.
    #[inline]
    pub fn own(&self) -> usize {
        self.rounds.own
    }

    /// Largest message of a round.
    #[inline]
    pub fn largest(&self) -> usize {
        self.shape.largest
    }

    /// Begins a call of one or more rounds.
    #[inline]
    pub fn begin(&mut self, call: NumberedCall) {
        self.calls += 1;
        self.rounds.begin(call);
    }

    /// Number of calls so far.
    #[inline]
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// True if a member is in another call than this one, or was in one of the last rounds. Looks
    /// for one only if the wait is `late`, and remembers it: in a process with several threads,
    /// another one may have looked for this call. The board must then not be used any more.
    #[inline]
    pub fn is_out_of_step(&mut self, late: bool) -> bool {
        self.other_call.is_some() || late && self.looks_out_of_step()
    }

    #[cold]
    fn looks_out_of_step(&mut self) -> bool {
        self.other_call = self.rounds.find_other_call();
        if self.other_call.is_some() {
            // Its memory is not used again: others must learn what this member tells.
            self.left = None;
        }
        self.other_call.is_some()
    }

    /// The member that [`Board::is_out_of_step`] has found.
    pub fn other_call(&self) -> Option<OtherCall> {
        self.other_call
    }

    /// The call whose last round this member has just finished.
    pub fn finished_call(&self) -> FinishedCall {
        self.rounds.finished_call()
    }

    /// What the members tell of their calls.
    pub fn notices(&self) -> CallNotices {
        CallNotices::new(self.presence.clone(), &self.rounds, self.descriptions)
    }

    /// Publishes what this member waits for. Must precede the announcement of a sleep, and not only
    /// the last look: the member that completes it then wakes this one.
    #[inline]
    pub fn want(&mut self, want: Want) {
        self.rounds.want(want);
    }

    /// Checks if a message of `length` bytes can be posted in this round. If not, returns the
    /// member that must finish a round first.
    ///
    /// # Panics
    /// If the message is longer than [`Board::largest`].
    #[inline]
    pub fn has_room(&mut self, length: usize) -> Result<(), usize> {
        self.rounds.line_is_free()?;
        if length > INLINE { self.area_has_room(length) } else { Ok(()) }
    }

    fn area_has_room(&mut self, length: usize) -> Result<(), usize> {
        assert!(length <= self.largest(), "a message of {length} bytes does not fit on the board");
        let (_, end) = self.span(length);
        let oldest = end.saturating_sub(self.shape.area as u64);
        // Bytes of rounds that started at or after `oldest` may remain; all earlier rounds must be
        // finished.
        let mut round =
            self.rounds.known.max((self.rounds.round + 1).saturating_sub(self.rounds.depth));
        while round < self.rounds.round && self.rounds.taken_before(round) < oldest {
            round += 1;
        }
        self.rounds.all_have_finished(round)
    }

    /// Begin and end of the next `length` bytes of this member's area, counted like `taken`. They
    /// never wrap around.
    fn span(&self, length: usize) -> (u64, u64) {
        self.span_behind(self.rounds.taken, length)
    }

    /// Like [`Board::span`], for an area of which `taken` bytes were allocated.
    fn span_behind(&self, taken: u64, length: usize) -> (u64, u64) {
        let (area, bytes) = (self.shape.area as u64, self.span_of(length));
        let inside = taken & (area - 1);
        let begin = if inside + bytes > area { taken + area - inside } else { taken };
        (begin, begin + bytes)
    }

    /// Bytes of an area that a message occupies.
    fn span_of(&self, length: usize) -> u64 {
        // Smaller areas have no room for a gap after each of two messages of the largest size.
        let gap = if self.shape.area > 2 * self.shape.largest { walk::GAP } else { 0 };
        (length.next_multiple_of(LINE) + gap) as u64
    }

    /// Posts `length` bytes, which `fill` writes, and a stamp to all members.
    ///
    /// # Safety
    /// [`Board::has_room`] must have returned `Ok` for this length, and this rank must not have
    /// posted in this round.
    #[inline]
    pub unsafe fn post(&mut self, stamp: u16, length: usize, fill: impl FnOnce(Room<'_>)) {
        let (line, mut offset) = (self.rounds.line(self.rounds.own), 0);
        // SAFETY: the line is inside the board and has `INLINE` bytes after its words. It is the
        // line of a round in which this rank has not posted (this function's contract), so no
        // member reads it before the commit below.
        let mut at = unsafe { self.first_line.add(line * LINE + INLINE_AT) };
        if length > INLINE {
            let (begin, end) = self.span(length);
            offset = begin & (self.shape.area as u64 - 1);
            self.rounds.taken = end;
            // SAFETY: `has_room` has returned `Ok` (this function's contract), so `length` fits
            // into the area and no member still reads the bytes of `span`, which is inside the
            // area.
            at = unsafe { self.area(self.rounds.own).add(offset as usize) };
        }
        fill(Room { stores: &mut self.stores, at, length });
        let description =
            u64::from(stamp) << (2 * LENGTH_BITS) | offset << LENGTH_BITS | length as u64;
        self.descriptions.store_release(line, description);
        self.rounds.post(&BoardMembers { segment: &self.segment, ranks: &self.members });
    }

    /// Offset in the ranks' heaps of `length` bytes; `None` unless all of them are there.
    pub fn offset_in_heaps(&self, pointer: *const u8, length: usize) -> Option<usize> {
        self.segment.in_heaps(pointer, length)
    }

    /// Lets `fill` write `length` bytes at an offset in the ranks' heaps, which a member exposes in
    /// this round. False if that is impossible: these heaps are not mapped here, or the member has
    /// withdrawn the memory.
    ///
    /// # Safety
    /// A member must have posted in this round that this member may write to these bytes, and
    /// neither access them nor let others do so until this member has posted, unless it withdraws
    /// them ([`Board::withdraw`]).
    pub unsafe fn write_to_exposed(
        &mut self,
        offset: usize,
        length: usize,
        fill: impl FnOnce(Room<'_>),
    ) -> bool {
        let at = self.segment.heap_address(offset);
        let Some(at) = at.filter(|&at| self.segment.in_heaps(at, length).is_some()) else {
            return false;
        };
        let is_allowed = self.rounds.begin_write();
        if is_allowed {
            let stores = self.heap_stores.get_or_insert_with(|| Stores::new(Room::READERS, length));
            fill(Room { stores, at, length });
            self.rounds.end_write();
        }
        is_allowed
    }

    /// Withdraws the memory that this member exposes in this round. True if no member writes to it
    /// any more; false as long as one does. This member must not finish the round.
    pub fn withdraw(&self) -> bool {
        self.rounds.withdraw()
    }

    fn area(&self, member: usize) -> *mut u8 {
        // SAFETY: `member` is a member, so its area is inside the board.
        unsafe { self.first_area.add(member * self.shape.area) }
    }

    /// The message that a member has posted in this round, if any.
    #[inline]
    pub fn look(&self, member: usize) -> Option<Posted> {
        if !self.rounds.is_written(member) {
            return None;
        }
        let line = self.rounds.line(member);
        let description = self.descriptions.load_acquire(line);
        // SAFETY: the line is inside the board, so the pointer is not null, and its writer does not
        // write it again before this member has finished the round.
        let inline =
            unsafe { NonNull::new_unchecked(self.first_line.add(line * LINE + INLINE_AT)) };
        let (stamp, offset, length) = parts_of(description);
        if length <= INLINE {
            return Some(Posted { stamp, pointer: inline, length });
        }
        assert!(
            offset + length <= self.shape.area,
            "member {member} names bytes outside its area of the board"
        );
        // SAFETY: `offset + length` is at most the size of the member's area, which is inside the
        // board.
        let pointer = unsafe { NonNull::new_unchecked(self.area(member).add(offset)) };
        Some(Posted { stamp, pointer, length })
    }

    /// Where a member's message of this round is if it is as long as its last one in the area.
    pub fn prefetch_hint(&self, member: usize) -> PrefetchHint {
        for rounds in 1..=REMEMBERED {
            let Some(line) = self.rounds.line_written_before(member, rounds) else { continue };
            // The writer may overwrite this line concurrently. Then the hint is wrong, which is
            // harmless.
            let (_, offset, length) = parts_of(self.descriptions.load_acquire(line));
            if length > PrefetchHint::MOST {
                break;
            }
            if length > INLINE {
                let (begin, _) = self.span_behind(offset as u64 + self.span_of(length), length);
                let offset = begin as usize & (self.shape.area - 1);
                return PrefetchHint::new(self.area(member).wrapping_add(offset), length);
            }
        }
        PrefetchHint::NOTHING
    }

    /// Prefetches a line that a member may already have written for a later round.
    #[inline]
    pub fn prefetch(&self, member: usize) {
        let line = self.rounds.line_ahead(member, AHEAD);
        // SAFETY: the line is inside the board.
        ahead::read(unsafe { self.first_line.add(line * LINE) }, LINE);
    }

    /// Tries to claim the common work of this round; true for the one member that succeeds.
    pub fn claim(&self) -> bool {
        self.rounds.claim()
    }

    /// The member that has claimed the common work of this round, if any.
    pub fn claimant(&self) -> Option<usize> {
        self.rounds.claimant()
    }

    /// Goes on to the next round. Messages that were read in this one are no longer valid.
    #[inline]
    pub fn finish(&mut self) {
        self.rounds.leave(&BoardMembers { segment: &self.segment, ranks: &self.members });
    }
}

/// The members of a board, by local rank.
struct BoardMembers<'a> {
    segment: &'a Segment,
    ranks: &'a [u32],
}

impl BoardMembers<'_> {
    fn page(&self, member: usize) -> &ControlPage {
        self.segment.control(self.ranks[member] as usize)
    }
}

impl Sleepers for BoardMembers<'_> {
    type Word = AtomicU32;
    #[inline]
    fn host(&self) -> HostWords<'_, AtomicU32> {
        self.segment.head().into()
    }
    fn words(&self, member: usize) -> SleeperWords<'_, AtomicU32> {
        self.page(member).into()
    }
    fn wake(&self, member: usize) {
        wait::wake(self.page(member));
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        if let Some(left) = &self.left {
            left.lock().unwrap().push(Leaving { offset: self.offset, shape: self.shape });
        }
    }
}
